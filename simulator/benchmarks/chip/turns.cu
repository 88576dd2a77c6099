// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures warps that share schedulers: arithmetic with one to four warps per
// scheduler, alone and next to wgmma, and arithmetic that alternates with
// awaited batches of wgmma, as in kernels with A in registers.

#include "wgmma.h"
#include <utility>

static constexpr int kRounds = 128, kOperandBytes = 48 * 1024, kLength = 128;

enum class Work { Logic, Halves, Mads, Floats, Both, HalvesMads, HalvesFloats, MadsFloats, Unpack };

/// Executes instruction K of kLength.
template <Work WORK, int K> __device__ void step(uint32_t &value, uint32_t y) {
  constexpr int kTurn = K / 8 % 4;
  constexpr bool kOdd = kTurn % 2;
  constexpr Work kWork = WORK == Work::Both           ? (kOdd ? Work::Halves : Work::Logic)
                         : WORK == Work::HalvesMads   ? (kOdd ? Work::Halves : Work::Mads)
                         : WORK == Work::HalvesFloats ? (kOdd ? Work::Halves : Work::Floats)
                         : WORK == Work::MadsFloats   ? (kOdd ? Work::Mads : Work::Floats)
                         : WORK == Work::Unpack       ? (kTurn == 1   ? Work::Mads
                                                         : kTurn == 2 ? Work::Halves
                                                                      : Work::Logic)
                                                      : WORK;
  if constexpr (kWork == Work::Logic)
    asm volatile("lop3.b32 %0, %0, %1, 0x80008000, 0x6a;" : "+r"(value) : "r"(y));
  else if constexpr (kWork == Work::Halves)
    asm volatile("mul.bf16x2 %0, %0, %1;" : "+r"(value) : "r"(y));
  else if constexpr (kWork == Work::Mads)
    asm volatile("mad.lo.u32 %0, %0, %1, %1;" : "+r"(value) : "r"(y));
  else
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+r"(value) : "r"(y));
}

__device__ void fill(uint32_t (&x)[8]) {
  for (int c = 0; c < 8; ++c)
    x[c] = threadIdx.x + c;
}

/// Executes kLength instructions on eight independent chains.
template <Work WORK, int... K>
__device__ void workOf(uint32_t (&x)[8], uint32_t y, std::integer_sequence<int, K...>) {
  (step<WORK, K>(x[K % 8], y), ...);
}
template <Work WORK> __device__ void work(uint32_t (&x)[8], uint32_t y) {
  workOf<WORK>(x, y, std::make_integer_sequence<int, kLength>());
}

template <int N, bool REGISTERS, int COUNT>
__device__ void multiply(float (&d)[N / 2], const uint32_t (&x)[8], uint64_t a, uint64_t b) {
  uint32_t registers[4] = {x[0], x[1], x[2], x[3]};
  fenceMmas();
#pragma unroll
  for (int k = 0; k < COUNT; ++k)
    if constexpr (REGISTERS)
      Wgmma<N, BF16>::fromRegisters(d, registers, b + 2 * (k % 4));
    else
      Wgmma<N, BF16>::fromShared(d, a + 2 * (k % 4), b + 2 * (k % 4));
  commitMmas();
}

template <int N> __device__ void keep(const float (&d)[N / 2], const uint32_t (&x)[8], float *out) {
  float sum = 0;
  for (float value : d)
    sum += value;
  for (uint32_t value : x)
    sum += __uint_as_float(value);
  if (sum == 1)
    *out = sum;
}

/// Warpgroup 0 runs `batches` batches of wgmma, or idles. Until it ends, the
/// other warpgroups run arithmetic and count the instructions.
template <int N, bool REGISTERS, Work WORK>
__global__ void __launch_bounds__(512)
    beside(long long *cycles, long long *mmas, uint32_t y, int batches, float *out) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ volatile int ended;
  clearShared(memory, kOperandBytes);
  uint64_t a = describe(smemAddress(memory)), b = describe(smemAddress(memory) + 16384);
  uint32_t x[8];
  fill(x);
  float d[N / 2] = {};
  if (threadIdx.x == 0)
    ended = 0;
  __syncthreads();
  long long begin = clock64();
  if (threadIdx.x < 128) {
    for (int i = 0; i < batches; ++i) {
      multiply<N, REGISTERS, 4>(d, x, a, b);
      waitMmas<1>();
    }
    waitMmas<0>();
    if (threadIdx.x == 0)
      mmas[blockIdx.x] = batches ? (clock64() - begin) * 1000 / (batches * 4) : 0;
    while (clock64() - begin < 50000)
      __nanosleep(1000);
    if (threadIdx.x == 0)
      ended = 1;
  } else {
    int rounds = 0;
    for (; !ended; ++rounds)
      work<WORK>(x, y);
    if (threadIdx.x % 128 == 0)
      cycles[blockIdx.x * 4 + threadIdx.x / 128] = (clock64() - begin) * 1000 / (rounds * kLength);
  }
  keep<N>(d, x, out);
}

template <int N, bool REGISTERS, Work WORK>
void measureBeside(const char *name, int warpgroups, bool multiplies) {
  auto kernel = beside<N, REGISTERS, WORK>;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kOperandBytes));
  Cycles cycles(4 * countSMs()), mmas(countSMs());
  for (int i = 0; i < 2; ++i)
    kernel<<<countSMs(), 128 * (warpgroups + 1), kOperandBytes>>>(
        cycles.device, mmas.device, 77, multiplies ? 100000 / (N < 64 ? 64 : 2 * N) : 0, nullptr);
  std::string what = std::string(name) + ", " + std::to_string(warpgroups) +
                     (warpgroups > 1 ? " warps a scheduler" : " warp a scheduler");
  if (multiplies)
    what += ", beside bf16 n" + std::to_string(N) + (REGISTERS ? ", A in registers" : "");
  std::vector<long long> all(4 * countSMs());
  CHECK(cudaMemcpy(all.data(), cycles.device, all.size() * 8, cudaMemcpyDeviceToHost));
  double rate = 0;
  for (int k = 1; k <= warpgroups; ++k)
    rate += 1000. / all[k];
  emit(what, 1 / rate, "cycles/instruction");
  if (warpgroups == 3)
    emit(what + ", first to last warp", double(all[1]) / all[3], "");
  if (multiplies)
    emit(what + ", the wgmma", mmas.median() / 1000, "cycles");
}

template <Work WORK> void measureWork(const char *name) {
  measureBeside<16, true, WORK>(name, 1, false);
  measureBeside<16, true, WORK>(name, 2, false);
  measureBeside<16, true, WORK>(name, 3, false);
  measureBeside<16, true, WORK>(name, 3, true);
  measureBeside<16, false, WORK>(name, 3, true);
  measureBeside<128, true, WORK>(name, 1, true);
  measureBeside<128, true, WORK>(name, 3, true);
  measureBeside<128, false, WORK>(name, 3, true);
}

/// Each warpgroup runs arithmetic, then COUNT wgmma, and waits.
template <int N, bool REGISTERS, int COUNT>
__global__ void __launch_bounds__(512) rounds(long long *cycles, uint32_t y, float *out) {
  extern __shared__ __align__(1024) uint8_t memory[];
  clearShared(memory, kOperandBytes);
  uint64_t a = describe(smemAddress(memory)), b = describe(smemAddress(memory) + 16384);
  uint32_t x[8];
  fill(x);
  float d[N / 2] = {};
  __syncthreads();
  long long begin = clock64();
#pragma unroll 1
  for (int i = 0; i < kRounds; ++i) {
    work<Work::Unpack>(x, y);
    multiply<N, REGISTERS, COUNT>(d, x, a, b);
    waitMmas<0>();
  }
  __syncthreads();
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
  keep<N>(d, x, out);
}

template <int N, bool REGISTERS, int COUNT> void measureRounds(int warpgroups) {
  auto kernel = rounds<N, REGISTERS, COUNT>;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kOperandBytes));
  Cycles cycles(countSMs());
  for (int i = 0; i < 2; ++i)
    kernel<<<countSMs(), 128 * warpgroups, kOperandBytes>>>(cycles.device, 77, nullptr);
  emit("rounds of " + std::to_string(kLength) + " instructions and " + std::to_string(COUNT) +
           " of bf16 n" + std::to_string(N) + (REGISTERS ? ", A in registers" : "") + ", " +
           std::to_string(warpgroups) + (warpgroups > 1 ? " warpgroups" : " warpgroup"),
       cycles.median() / kRounds, "cycles/round");
}

template <int N, bool REGISTERS, int COUNT> void measureRoundsOf() {
  for (int warpgroups = 1; warpgroups <= 4; ++warpgroups)
    measureRounds<N, REGISTERS, COUNT>(warpgroups);
}

int main() {
  measureWork<Work::Logic>("lop3");
  measureWork<Work::Halves>("mul.bf16x2");
  measureWork<Work::Mads>("mad");
  measureWork<Work::Floats>("fma.f32");
  measureWork<Work::Both>("lop3 and mul.bf16x2");
  measureBeside<16, true, Work::HalvesMads>("mul.bf16x2 and mad", 3, false);
  measureBeside<16, true, Work::HalvesFloats>("mul.bf16x2 and fma.f32", 3, false);
  measureBeside<16, true, Work::MadsFloats>("mad and fma.f32", 3, false);
  measureWork<Work::Unpack>("lop3, mad and mul.bf16x2");
  measureRoundsOf<16, true, 8>();
  measureRoundsOf<16, false, 8>();
  measureRoundsOf<32, true, 4>();
  measureRoundsOf<64, true, 4>();
  measureRoundsOf<128, true, 4>();
  measureRoundsOf<128, false, 4>();
}
