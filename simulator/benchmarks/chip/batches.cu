// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures batches of wgmma from one or two warpgroups. After each batch, a wait
// leaves zero or one batch in flight. Also measures wgmma next to other shared
// memory traffic.

#include "wgmma.h"

static constexpr int kBatches = 256, kOperandBytes = 48 * 1024;

/// Runs batches of COUNT instructions and waits after each until LEFT batches
/// are in flight, with ACCUMULATORS accumulators in rotation.
template <int N, Kind KIND, bool REGISTERS, int COUNT, int LEFT, int ACCUMULATORS>
__global__ void __launch_bounds__(256) batches(long long *cycles, float *out) {
  extern __shared__ __align__(1024) uint8_t memory[];
  clearShared(memory, kOperandBytes);
  uint64_t a = describe(smemAddress(memory) + threadIdx.x / 128 * 8192);
  uint64_t b = describe(smemAddress(memory) + 16384);
  uint32_t registers[4] = {};
  float d[ACCUMULATORS][N / 2] = {};
  long long begin = clock64();
  for (int i = 0; i < kBatches; i += ACCUMULATORS)
#pragma unroll
    for (int s = 0; s < ACCUMULATORS; ++s) {
      fenceMmas();
#pragma unroll
      for (int k = 0; k < COUNT; ++k)
        if constexpr (REGISTERS)
          Wgmma<N, KIND>::fromRegisters(d[s], registers, b + 2 * (k % 4));
        else
          Wgmma<N, KIND>::fromShared(d[s], a + 2 * (k % 4), b + 2 * (k % 4));
      commitMmas();
      waitMmas<LEFT>();
    }
  waitMmas<0>();
  __syncthreads();
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
  float sum = 0;
  for (auto &set : d)
    for (float x : set)
      sum += x;
  if (sum == 1)
    *out = sum;
}

template <int N, Kind KIND, bool REGISTERS, int COUNT, int LEFT, int ACCUMULATORS>
void measure(int warpgroups) {
  auto kernel = batches<N, KIND, REGISTERS, COUNT, LEFT, ACCUMULATORS>;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kOperandBytes));
  Cycles cycles(countSMs());
  for (int i = 0; i < 2; ++i)
    kernel<<<countSMs(), 128 * warpgroups, kOperandBytes>>>(cycles.device, nullptr);
  emit(kindName(KIND) + " n" + std::to_string(N) + (REGISTERS ? ", A in registers" : "") +
           ", batches of " + std::to_string(COUNT) + ", wait for all but " +
           std::to_string(LEFT) +
           (ACCUMULATORS > 1 ? ", " + std::to_string(ACCUMULATORS) + " accumulators" : "") + ", " +
           std::to_string(warpgroups) + (warpgroups > 1 ? " warpgroups" : " warpgroup"),
       cycles.median() / kBatches, "cycles/batch");
}

template <int N, bool REGISTERS> void measureBatches() {
  measure<N, BF16, REGISTERS, 1, 0, 1>(1);
  measure<N, BF16, REGISTERS, 2, 0, 1>(1);
  measure<N, BF16, REGISTERS, 4, 0, 1>(1);
  measure<N, BF16, REGISTERS, 8, 0, 1>(1);
  measure<N, BF16, REGISTERS, 1, 1, 1>(1);
  measure<N, BF16, REGISTERS, 4, 0, 1>(2);
}

enum class Beside { Nothing, Loads, Stores, Copies, Additions };

/// Warpgroup 0 runs wgmma; warpgroup 1 runs other traffic until warpgroup 0
/// ends.
template <int N, bool REGISTERS, Beside BESIDE>
__global__ void __launch_bounds__(256)
    beside(const uint8_t *source, long long *cycles, long long *amounts, float *out) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ volatile int ended;
  __shared__ __align__(8) uint64_t bars[2];
  clearShared(memory, kOperandBytes + 32768);
  if (threadIdx.x == 0) {
    ended = 0;
    initBarrier(smemAddress(bars), 1);
    initBarrier(smemAddress(bars + 1), 1);
    fenceInit();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    uint64_t a = describe(smemAddress(memory)), b = describe(smemAddress(memory) + 16384);
    uint32_t registers[4] = {};
    float d[N / 2] = {};
    long long begin = clock64();
    for (int i = 0; i < kBatches * 2; ++i) {
      fenceMmas();
#pragma unroll
      for (int k = 0; k < 4; ++k)
        if constexpr (REGISTERS)
          Wgmma<N, BF16>::fromRegisters(d, registers, b + 2 * k);
        else
          Wgmma<N, BF16>::fromShared(d, a + 2 * k, b + 2 * k);
      commitMmas();
      waitMmas<1>();
    }
    waitMmas<0>();
    if (threadIdx.x == 0) {
      cycles[blockIdx.x] = clock64() - begin;
      ended = 1;
    }
    float sum = 0;
    for (float x : d)
      sum += x;
    if (sum == 1)
      *out = sum;
    return;
  }
  uint32_t place = smemAddress(memory) + kOperandBytes + (threadIdx.x - 128) * 16;
  long long amount = 0, begin = clock64();
  uint32_t x = threadIdx.x, y = 0;
  for (int round = 0; !ended; ++round) {
    if constexpr (BESIDE == Beside::Copies) {
      if (threadIdx.x != 128)
        break;
      uint32_t bar = smemAddress(bars + round % 2);
      // Two copies of 16 KiB in flight.
      if (round > 1)
        waitBarrier(bar, (round / 2 + 1) & 1);
      expectBytes(bar, 16384);
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                   "[%0], [%1], %2, [%3];" ::"r"(
                       smemAddress(memory) + kOperandBytes + round % 2 * 16384),
                   "l"(source + blockIdx.x * 65536 + round % 4 * 16384), "r"(16384), "r"(bar)
                   : "memory");
      amount += 16384;
    } else {
#pragma unroll
      for (int k = 0; k < 8; ++k)
        if constexpr (BESIDE == Beside::Loads) {
          uint32_t z, u, v, w;
          asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                       : "=r"(z), "=r"(u), "=r"(v), "=r"(w) : "r"(place + k * 2048));
          y ^= z ^ u ^ v ^ w;
        } else if constexpr (BESIDE == Beside::Stores) {
          asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(place + k * 2048), "r"(x));
        } else if constexpr (BESIDE == Beside::Additions) {
          asm volatile("lop3.b32 %0, %0, %1, 0x80008000, 0x6a;" : "+r"(x) : "r"(y));
        }
      amount += 8 * 2048;
    }
  }
  // Copies in flight must arrive before the CTA ends.
  if (BESIDE == Beside::Copies && threadIdx.x == 128)
    for (int k = 0; k < 2; ++k) {
      long long rounds = amount / 16384 - 1 - k;
      if (rounds >= 0)
        waitBarrier(smemAddress(bars + rounds % 2), rounds / 2 & 1);
    }
  if (threadIdx.x == 128)
    amounts[blockIdx.x] = amount * 1000 / (clock64() - begin);
  if (x == 1 && y == 7)
    *out = 1;
}

template <int N, bool REGISTERS, Beside BESIDE> void measureBeside(const char *name) {
  auto kernel = beside<N, REGISTERS, BESIDE>;
  int bytes = kOperandBytes + 32768;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  Cycles cycles(countSMs()), amounts(countSMs());
  uint8_t *source;
  CHECK(cudaMalloc(&source, countSMs() * 65536));
  CHECK(cudaMemset(source, 0, countSMs() * 65536));
  for (int i = 0; i < 2; ++i)
    kernel<<<countSMs(), 256, bytes>>>(source, cycles.device, amounts.device, nullptr);
  std::string what = "bf16 n" + std::to_string(N) + (REGISTERS ? ", A in registers" : "") +
                     ", beside " + name;
  emit(what, cycles.median() / (kBatches * 8), "cycles");
  if (BESIDE != Beside::Nothing && BESIDE != Beside::Additions)
    emit(what + ", those", amounts.median() / 1000, "bytes/cycle");
  CHECK(cudaFree(source));
}

template <int N, bool REGISTERS> void measureTraffic() {
  measureBeside<N, REGISTERS, Beside::Nothing>("nothing");
  measureBeside<N, REGISTERS, Beside::Loads>("loads of a warpgroup");
  measureBeside<N, REGISTERS, Beside::Stores>("stores of a warpgroup");
  measureBeside<N, REGISTERS, Beside::Copies>("copies from L2");
  measureBeside<N, REGISTERS, Beside::Additions>("lop3 of a warpgroup");
}

int main() {
  measureBatches<8, false>();
  measureBatches<64, false>();
  measureBatches<128, false>();
  measureBatches<256, false>();
  measureBatches<8, true>();
  measureBatches<64, true>();
  measureBatches<128, true>();
  measureBatches<256, true>();
  measure<128, BF16, false, 4, 1, 2>(1);
  measure<64, BF16, true, 4, 1, 2>(1);
  measure<128, E4M3, false, 4, 0, 1>(1);
  measure<256, E4M3, false, 1, 0, 1>(1);
  measure<256, E4M3, false, 4, 0, 1>(2);
  measureTraffic<32, false>();
  measureTraffic<128, false>();
  measureTraffic<256, false>();
  measureTraffic<32, true>();
  measureTraffic<128, true>();
}
