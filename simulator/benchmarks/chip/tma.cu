// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures loads by the copy engines of all SMs: bytes per cycle and SM for
// boxes of several heights with rows of 128 bytes, from L2 and from HBM, and
// with multicast to both CTAs of a cluster (each loads half). Also measures the
// latency of a single load.

#include "maps.h"

static constexpr int kStageBytes = 32768, kStages = 6, kRowBytes = 128;

__device__ void load(const CUtensorMap *map, uint32_t to, uint32_t bar, int column, int row,
                     bool multicast) {
  if (multicast)
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to), "l"(map),
                 "r"(column), "r"(row), "r"(bar), "h"(uint16_t(3)) : "memory");
  else
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(column), "r"(row), "r"(bar)
                 : "memory");
}

/// One thread loads stages of 32 KiB, at most `inFlight` in flight, and another
/// thread consumes them. Adjacent CTAs or clusters load adjacent panels of the
/// same rows.
template <bool MULTICAST>
__global__ void stream(const __grid_constant__ CUtensorMap map, long long *cycles, int boxRows,
                       int rows, int stages, int inFlight) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ __align__(8) uint64_t full[kStages], empty[kStages];
  constexpr int kCtas = MULTICAST ? 2 : 1;
  int rank = blockIdx.x % kCtas;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      initBarrier(smemAddress(full + i), 1);
      initBarrier(smemAddress(empty + i), kCtas);
    }
    fenceInit();
  }
  if (MULTICAST)
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  __syncthreads();
  constexpr int kStageRows = kStageBytes / kRowBytes, kOwn = kStageRows / kCtas;
  long long start = clock64();
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) {
      int slot = i % inFlight;
      waitBarrier(smemAddress(empty + slot), (i / inFlight & 1) ^ 1);
      uint32_t bar = smemAddress(full + slot);
      expectBytes(bar, kStageBytes);
      long place = blockIdx.x / kCtas + long(i) * (gridDim.x / kCtas);
      int panel = int(place % 32), group = int(place / 32 % (rows / kStageRows));
      uint32_t to = smemAddress(memory) + slot * kStageBytes + rank * kOwn * kRowBytes;
      for (int row = 0; row < kOwn; row += boxRows)
        load(&map, to + row * kRowBytes, bar, panel * kRowBytes,
             group * kStageRows + rank * kOwn + row, MULTICAST);
    }
  } else if (threadIdx.x == 32) {
    for (int i = 0; i < stages; ++i) {
      int slot = i % inFlight;
      waitBarrier(smemAddress(full + slot), i / inFlight & 1);
      if constexpr (!MULTICAST)
        arrive(smemAddress(empty + slot));
      for (int cta = 0; MULTICAST && cta < 2; ++cta)
        asm volatile("{\n.reg .b32 r;\nmapa.shared::cluster.u32 r, %0, %1;\n"
                     "mbarrier.arrive.shared::cluster.b64 _, [r];\n}" ::"r"(
                         smemAddress(empty + slot)), "r"(cta) : "memory");
    }
    cycles[blockIdx.x] = clock64() - start;
  }
  if (MULTICAST)
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

template <bool MULTICAST>
double run(void *data, int rows, int boxRows, int stages, int inFlight) {
  auto kernel = stream<MULTICAST>;
  int bytes = kStages * kStageBytes, count = countSMs();
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  CUtensorMap map = makeMap(data, rows, kRowBytes, boxRows);
  Cycles cycles(count);
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {MULTICAST ? 2u : 1u, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(count);
  config.blockDim = dim3(64);
  config.dynamicSmemBytes = bytes;
  config.attrs = &attribute;
  config.numAttrs = 1;
  for (int i = 0; i < 2; ++i)
    CHECK(cudaLaunchKernelEx(&config, kernel, map, cycles.device, boxRows, rows, stages, inFlight));
  return double(kStageBytes) * stages / cycles.median();
}

__global__ void once(const __grid_constant__ CUtensorMap map, long long *cycles, int rounds) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ __align__(8) uint64_t bar[1];
  initBarrier(smemAddress(bar), 1);
  fenceInit();
  long long begin = clock64();
  for (int i = 0; i < rounds; ++i) {
    expectBytes(smemAddress(bar), 8 * kRowBytes);
    load(&map, smemAddress(memory), smemAddress(bar), 0, i * 8, false);
    waitBarrier(smemAddress(bar), i & 1);
  }
  *cycles = (clock64() - begin) / rounds;
}

int main() {
  const int small = 4096, large = 1 << 19; // rows of 4 KiB: 16 MiB and 2 GiB
  void *data;
  CHECK(cudaMalloc(&data, size_t(large) * 4096));
  CHECK(cudaMemset(data, 0, size_t(large) * 4096));
  for (int boxRows : {8, 16, 32, 64, 128, 256}) {
    std::string name = "box of " + std::to_string(boxRows) + " x 128 bytes";
    emit(name + " from L2", run<false>(data, small, boxRows, 512, kStages), "bytes/cycle/SM");
  }
  for (int boxRows : {64, 128})
    emit("box of " + std::to_string(boxRows) + " x 128 bytes from HBM",
         run<false>(data, large, boxRows, 384, kStages), "bytes/cycle/SM");
  for (int boxRows : {64, 128})
    emit("box of " + std::to_string(boxRows) + " x 128 bytes from L2, multicast to 2",
         run<true>(data, small, boxRows, 512, kStages), "bytes/cycle/SM");
  for (int inFlight : {1, 2, 3, 4})
    emit(std::to_string(32 * inFlight) + " KiB under way, from HBM",
         run<false>(data, large, 128, 384, inFlight), "bytes/cycle/SM");
  Cycles cycles(1);
  for (bool hit : {false, true}) {
    CUtensorMap map = makeMap((char *)data + (size_t(1) << 30), 4096, kRowBytes, 8);
    once<<<1, 1, 4096>>>(map, cycles.device, 64);
    emit(std::string("latency of a box of 1 KiB from ") + (hit ? "L2" : "HBM"), cycles.median(),
         "cycles");
  }
}
