// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the cycles of wgmma per instruction and SM for several N, for bf16,
// f16 and e4m3, with A in shared memory and in registers, and with 1 and 2
// warpgroups. As in main loops, batches of 4 run with one batch in flight.
// run.py generates wgmma.inc.

#include "wgmma.h"

static constexpr int kBatches = 512, kInBatch = 4;

template <int N, Kind KIND, bool REGISTERS>
__global__ void __launch_bounds__(256) multiply(long long *cycles, float *out) {
  extern __shared__ __align__(1024) uint8_t memory[];
  for (int i = threadIdx.x; i < 48 * 1024 / 4; i += blockDim.x)
    reinterpret_cast<uint32_t *>(memory)[i] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  uint64_t a = describe(smemAddress(memory) + threadIdx.x / 128 * 8192);
  uint64_t b = describe(smemAddress(memory) + 16384);
  uint32_t registers[4 * kInBatch] = {};
  float d[N / 2] = {};
  long long begin = clock64();
  for (int i = 0; i < kBatches; ++i) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int k = 0; k < kInBatch; ++k)
      if constexpr (REGISTERS)
        Wgmma<N, KIND>::fromRegisters(d, registers + 4 * k, b + 2 * k);
      else
        Wgmma<N, KIND>::fromShared(d, a + 2 * k, b + 2 * k);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
  float sum = 0;
  for (float x : d)
    sum += x;
  if (sum == 1)
    *out = sum;
}

template <int N, Kind KIND, bool REGISTERS> void measure() {
  auto kernel = multiply<N, KIND, REGISTERS>;
  int bytes = 48 * 1024;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  for (int groups : {1, 2}) {
    Cycles cycles(countSMs());
    for (int i = 0; i < 2; ++i)
      kernel<<<countSMs(), 128 * groups, bytes>>>(cycles.device, nullptr);
    double each = cycles.median() / (kBatches * kInBatch * groups);
    std::string name = kindName(KIND) + " m64n" + std::to_string(N) +
                       (KIND == E4M3 ? "k32" : "k16") + ", A in " + (REGISTERS ? "registers" : "shared memory") + ", " +
                       std::to_string(groups) + (groups > 1 ? " warpgroups" : " warpgroup");
    emit(name, each, "cycles");
  }
}

template <int N> void measureShape() {
  measure<N, BF16, false>();
  measure<N, BF16, true>();
}

int main() {
  measureShape<8>();
  measureShape<16>();
  measureShape<32>();
  measureShape<64>();
  measureShape<128>();
  measureShape<192>();
  measureShape<256>();
  measure<64, F16, true>();
  measure<256, F16, false>();
  measure<256, F16, true>();
  measure<64, E4M3, false>();
  measure<128, E4M3, false>();
  measure<128, E4M3, true>();
  measure<256, E4M3, false>();
}
