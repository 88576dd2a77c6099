// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the cycles of each step by which a kernel modifies a tensor map, as
// in grouped matmuls: from the change in shared memory to the first box
// loaded with the map.

#include "maps.h"

__device__ void load(const CUtensorMap *map, uint32_t to, uint32_t bar, int row) {
  expectBytes(bar, 1024);
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(0), "r"(row), "r"(bar)
               : "memory");
}

enum Step { Replace, Copy, Acquire, First, Next, kSteps };

/// Runs one warp. Writes kSteps values to `cycles` for each CTA.
__global__ void change(const __grid_constant__ CUtensorMap map, CUtensorMap *maps,
                       const char *data, int rounds, long long *cycles) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ __align__(128) CUtensorMap copy;
  __shared__ __align__(8) uint64_t bars[1];
  int lane = threadIdx.x;
  CUtensorMap *own = maps + blockIdx.x;
  uint32_t bar = smemAddress(bars), changed = smemAddress(&copy);
  ((uint32_t *)&copy)[lane] = ((const uint32_t *)&map)[lane];
  if (lane == 0) {
    initBarrier(bar, 1);
    fenceInit();
  }
  __syncwarp();
  long long sums[kSteps] = {};
  for (int i = 0; i < rounds; ++i) {
    long long at[kSteps + 1];
    at[0] = clock64();
    if (lane == 0)
      asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(
                       changed), "l"(data) : "memory");
    __syncwarp();
    at[Copy] = clock64();
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync"
                 ".aligned [%0], [%1], 128;" ::"l"(own), "r"(changed) : "memory");
    at[Acquire] = clock64();
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(own) : "memory");
    for (int k = 0; k < 2; ++k) {
      at[First + k] = clock64();
      if (lane == 0)
        load(own, smemAddress(memory), bar, i * 8 % 4096);
      waitBarrier(bar, k);
    }
    at[kSteps] = clock64();
    for (int k = 0; k < kSteps; ++k)
      sums[k] += at[k + 1] - at[k];
  }
  if (lane == 0)
    for (int k = 0; k < kSteps; ++k)
      cycles[blockIdx.x * kSteps + k] = sums[k] / rounds;
}

int main() {
  char *data;
  CUtensorMap *maps;
  CHECK(cudaMalloc(&data, 64 << 20));
  CHECK(cudaMemset(data, 0, 64 << 20));
  CHECK(cudaMalloc(&maps, countSMs() * sizeof(CUtensorMap)));
  CUtensorMap map = makeMap(data, 4096, 128, 8);
  const char *const names[kSteps] = {"tensormap.replace", "its copy to global memory, given",
                                     "fence of a map that was changed", "the first box by it",
                                     "the next"};
  for (int ctas : {1, countSMs()}) {
    Cycles cycles(ctas * kSteps);
    for (int i = 0; i < 2; ++i)
      change<<<ctas, 32, 4096>>>(map, maps, data, 32, cycles.device);
    std::vector<long long> all(ctas * kSteps);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(all.data(), cycles.device, all.size() * 8, cudaMemcpyDeviceToHost));
    for (int k = 0; k < kSteps; ++k) {
      std::vector<long long> one;
      for (int c = 0; c < ctas; ++c)
        one.push_back(all[c * kSteps + k]);
      std::sort(one.begin(), one.end());
      emit(std::string(names[k]) + (ctas == 1 ? ", one SM" : ", all SMs"), double(one[ctas / 2]),
           "cycles");
    }
  }
}
