// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures simultaneous loads of all SMs for several numbers of bytes in flight
// per SM: throughput and latency of loads by threads and of copies, from L2 and
// from HBM.

#include "common.h"

/// Each warp issues LOADS loads of 512 bytes and waits for all loads. Warps of
/// all SMs read adjacent data. With KEEPS, loads allocate in L1.
template <int LOADS, bool KEEPS>
__global__ void loads(const uint4 *data, size_t mask, int rounds, long long *cycles,
                      uint4 *out) {
  size_t warp = (size_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  size_t warps = size_t(gridDim.x) * blockDim.x / 32;
  size_t place = warp;
  uint32_t sum = 0;
  long long begin = 0;
  for (int round = -1; round < rounds; ++round) {
    if (!round)
      begin = clock64();
    uint4 x[LOADS];
    size_t first = place * (LOADS * 32) + lane + (sum & 1);
#pragma unroll
    for (int j = 0; j < LOADS; ++j)
      if (KEEPS)
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[j].x), "=r"(x[j].y), "=r"(x[j].z), "=r"(x[j].w)
                     : "l"(data + ((first + j * 32) & mask)));
      else
        asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[j].x), "=r"(x[j].y), "=r"(x[j].z), "=r"(x[j].w)
                     : "l"(data + ((first + j * 32) & mask)));
#pragma unroll
    for (int j = 0; j < LOADS; ++j)
      sum |= x[j].x | x[j].y | x[j].z | x[j].w;
    place += warps;
  }
  __syncthreads();
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
  if (sum)
    *out = {};
}

/// One thread keeps `inFlight` copies of `bytes` in flight.
__global__ void copies(const uint8_t *data, size_t mask, uint32_t bytes, int inFlight, int rounds,
                       long long *cycles) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ __align__(8) uint64_t bars[16];
  for (int i = 0; i < inFlight; ++i)
    initBarrier(smemAddress(bars + i), 1);
  fenceInit();
  long long begin = 0;
  size_t place = blockIdx.x;
  for (int i = 0; i <= rounds; ++i) {
    if (i == 1)
      begin = clock64();
    for (int slot = 0; slot < inFlight; ++slot, place += gridDim.x) {
      uint32_t bar = smemAddress(bars + slot);
      if (i)
        waitBarrier(bar, i + 1 & 1);
      expectBytes(bar, bytes);
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                   "[%0], [%1], %2, [%3];" ::"r"(smemAddress(memory) + slot * bytes),
                   "l"(data + (place * bytes & mask)), "r"(bytes), "r"(bar) : "memory");
    }
  }
  cycles[blockIdx.x] = clock64() - begin;
  for (int slot = 0; slot < inFlight; ++slot)
    waitBarrier(smemAddress(bars + slot), rounds & 1);
}

static const char *const kFrom[] = {"L2", "HBM"};
static const size_t kBytes[] = {size_t(16) << 20, size_t(1) << 30};
static int sms;

template <int LOADS, bool KEEPS = true>
void measureLoads(const uint8_t *data, int warps, int from, int ctas, size_t bytes = 0) {
  Cycles cycles(ctas);
  bytes = bytes ? bytes : kBytes[from];
  constexpr int kRounds = 192;
  // Loads from HBM read a different part each time; loads from L2 read the same
  // part.
  for (int i = 0; i < 3; ++i)
    loads<LOADS, KEEPS><<<ctas, warps * 32>>>(
        (const uint4 *)(data + (from ? size_t(i) << 30 : 0)), bytes / 16 - 1, kRounds,
        cycles.device, nullptr);
  char name[128];
  snprintf(name, sizeof name, "%d loads of each of %d warps, %g KiB under way, from %s%s, %s", LOADS,
           warps, LOADS * warps * .5, kFrom[from],
           KEEPS ? "" : (" of " + std::to_string(bytes >> 20) + " MiB without L1").c_str(),
           ctas == 1 ? "one SM" : "all SMs");
  emit(name, cycles.median() / kRounds, "cycles");
}

template <int LOADS> void measureLoads(const uint8_t *data, int warps) {
  for (int from = 0; from < 2; ++from)
    measureLoads<LOADS>(data, warps, from, sms);
}

int main() {
  sms = countSMs();
  uint8_t *data;
  CHECK(cudaMalloc(&data, size_t(4) << 30));
  CHECK(cudaMemset(data, 0, size_t(4) << 30));
  measureLoads<1>(data, 1);
  measureLoads<1>(data, 8);
  measureLoads<2>(data, 8);
  measureLoads<4>(data, 8);
  measureLoads<2>(data, 16);
  measureLoads<1>(data, 32);
  measureLoads<2>(data, 32);
  measureLoads<4>(data, 32);
  for (int warps : {8, 32})
    measureLoads<2>(data, warps, 0, 1);
  // L2 evicts lines of loads that bypass L1 first.
  for (int mib : {1, 4, 16})
    measureLoads<1, false>(data, 1, 0, sms, size_t(mib) << 20);
  CHECK(cudaFuncSetAttribute(copies, cudaFuncAttributeMaxDynamicSharedMemorySize, 128 << 10));
  Cycles cycles(sms);
  struct {
    int bytes, inFlight;
  } shapes[] = {{512, 1}, {2048, 1}, {4096, 1}, {8192, 1}, {16384, 1}, {2048, 4},
                {8192, 2}, {8192, 4}, {8192, 8}};
  for (int from = 0; from < 2; ++from)
    for (auto [bytes, inFlight] : shapes) {
      int rounds = std::min(256, (2 << 20) / bytes / inFlight * 2);
      for (int i = 0; i < 2; ++i)
        copies<<<sms, 1, 128 << 10>>>(data + (from ? size_t(i) << 31 : 0), kBytes[from] - 1, bytes,
                                      inFlight, rounds, cycles.device);
      char name[128];
      snprintf(name, sizeof name, "%d copies of %d bytes under way, from %s", inFlight, bytes,
               kFrom[from]);
      emit(name, cycles.median() / rounds, "cycles");
    }
}
