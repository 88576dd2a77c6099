// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures arithmetic without register reuse between consecutive instructions,
// with one to three warps per scheduler, alone and next to wgmma.

#include "wgmma.h"
#include <utility>

static constexpr int kOperandBytes = 48 * 1024, kLength = 128, kValues = 32;

enum class Work {
  Fadd, Fmul, Ffma, FfmaReused, Lop3, Lop3Two, Prmt, Pack, Halves, Ex2, Softmax, Unpack, LogicHalves
};

/// Executes instruction K of kLength. Its operands are the results of the
/// instructions 23, 16 and 9 positions earlier.
template <Work WORK, int K> __device__ void step(uint32_t (&x)[kValues], const uint32_t (&y)[3]) {
  constexpr int kPart = K % 7;
  constexpr Work kWork =
      WORK == Work::Softmax  ? (kPart == 6                 ? Work::Pack
                                : kPart == 4 || kPart == 5 ? Work::Fadd
                                : kPart % 2                ? Work::Ex2
                                                           : Work::Softmax)
      : WORK == Work::Unpack ? (K % 4 == 0   ? Work::Unpack
                                : K % 4 == 1 ? Work::Lop3Two
                                : K % 4 == 2 ? Work::Prmt
                                             : Work::Halves)
      : WORK == Work::LogicHalves ? (K % 2 ? Work::Halves : Work::Lop3Two)
                                  : WORK;
  uint32_t &to = x[K % kValues];
  uint32_t a = x[(K + 9) % kValues], b = x[(K + 16) % kValues], c = x[(K + 23) % kValues];
  if constexpr (kWork == Work::Fadd)
    asm volatile("add.rn.f32 %0, %1, %2;" : "=r"(to) : "r"(a), "r"(b));
  else if constexpr (kWork == Work::Fmul)
    asm volatile("mul.rn.f32 %0, %1, %2;" : "=r"(to) : "r"(a), "r"(b));
  else if constexpr (kWork == Work::Ffma)
    asm volatile("fma.rn.f32 %0, %1, %2, %3;" : "=r"(to) : "r"(a), "r"(b), "r"(c));
  else if constexpr (kWork == Work::FfmaReused)
    asm volatile("fma.rn.f32 %0, %1, %2, %3;" : "=r"(to) : "r"(a), "r"(y[0]), "r"(b));
  else if constexpr (kWork == Work::Lop3)
    asm volatile("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(to) : "r"(a), "r"(b), "r"(c));
  else if constexpr (kWork == Work::Lop3Two)
    asm volatile("lop3.b32 %0, %1, 0x80008000, %2, 0x6a;" : "=r"(to) : "r"(a), "r"(b));
  else if constexpr (kWork == Work::Prmt)
    asm volatile("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(to) : "r"(a), "r"(b));
  else if constexpr (kWork == Work::Pack)
    asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(to) : "r"(a), "r"(b));
  else if constexpr (kWork == Work::Halves)
    asm volatile("mul.bf16x2 %0, %1, %2;" : "=r"(to) : "r"(a), "r"(b));
  else if constexpr (kWork == Work::Ex2)
    asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=r"(to) : "r"(a));
  else if constexpr (kWork == Work::Softmax)
    asm volatile("fma.rn.f32 %0, %1, %2, %3;" : "=r"(to) : "r"(a), "r"(y[0]), "r"(y[1 + K / 7 % 2]));
  else if constexpr (kWork == Work::Unpack)
    asm volatile("shr.u32 %0, %1, 4;" : "=r"(to) : "r"(a));
}

template <Work WORK, int... K>
__device__ void work(uint32_t (&x)[kValues], const uint32_t (&y)[3], std::integer_sequence<int, K...>) {
  (step<WORK, K>(x, y), ...);
}

template <int N, bool REGISTERS>
__device__ void multiply(float (&d)[N / 2], const uint32_t (&x)[4], uint64_t a, uint64_t b) {
  fenceMmas();
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if constexpr (REGISTERS)
      Wgmma<N, BF16>::fromRegisters(d, x, b + 2 * (k % 4));
    else
      Wgmma<N, BF16>::fromShared(d, a + 2 * (k % 4), b + 2 * (k % 4));
  commitMmas();
}

/// Warpgroup 0 runs `batches` batches of wgmma, or idles. Until it ends, the
/// other warpgroups run arithmetic and count the instructions.
template <int N, bool REGISTERS, Work WORK, int WARPGROUPS>
__global__ void __launch_bounds__(128 * (WARPGROUPS + 1), 1)
    beside(long long *cycles, long long *mmas, uint32_t y0, uint32_t y1, uint32_t y2, int batches,
           float *out) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ volatile int ended;
  clearShared(memory, kOperandBytes);
  uint64_t a = describe(smemAddress(memory)), b = describe(smemAddress(memory) + 16384);
  if (threadIdx.x == 0)
    ended = 0;
  __syncthreads();
  long long begin = clock64();
  if (threadIdx.x < 128) {
    uint32_t x[4] = {y0, y1, y2, threadIdx.x};
    float d[N / 2] = {};
    for (int i = 0; i < batches; ++i) {
      multiply<N, REGISTERS>(d, x, a, b);
      waitMmas<1>();
    }
    waitMmas<0>();
    if (threadIdx.x == 0)
      mmas[blockIdx.x] = batches ? (clock64() - begin) * 1000 / (batches * 4) : 0;
    while (clock64() - begin < 50000)
      __nanosleep(1000);
    if (threadIdx.x == 0)
      ended = 1;
    float sum = 0;
    for (float value : d)
      sum += value;
    if (sum == 1)
      *out = sum;
  } else {
    uint32_t x[kValues], y[3] = {y0 + threadIdx.x, y1 - threadIdx.x, y2 ^ threadIdx.x};
    for (int c = 0; c < kValues; ++c)
      x[c] = threadIdx.x + c;
    int rounds = 0;
#pragma unroll 1
    for (; !ended; ++rounds)
      work<WORK>(x, y, std::make_integer_sequence<int, kLength>());
    if (threadIdx.x % 128 == 0)
      cycles[blockIdx.x * 4 + threadIdx.x / 128] = (clock64() - begin) * 1000 / (rounds * kLength);
    uint32_t all = 0;
    for (uint32_t value : x)
      all ^= value;
    if (all == 12345)
      *out = all;
  }
}

template <int N, bool REGISTERS, Work WORK, int WARPGROUPS>
void measureBeside(const char *name, bool multiplies) {
  auto kernel = beside<N, REGISTERS, WORK, WARPGROUPS>;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kOperandBytes));
  Cycles cycles(4 * countSMs()), mmas(countSMs());
  for (int i = 0; i < 2; ++i)
    kernel<<<countSMs(), 128 * (WARPGROUPS + 1), kOperandBytes>>>(
        cycles.device, mmas.device, 77, 78, 79, multiplies ? 60000 / (2 * N) : 0, nullptr);
  CHECK(cudaGetLastError());
  std::string what = std::string(name) + ", " + std::to_string(WARPGROUPS) +
                     (WARPGROUPS > 1 ? " warps a scheduler" : " warp a scheduler");
  if (multiplies)
    what += ", beside bf16 n" + std::to_string(N) + (REGISTERS ? ", A in registers" : "");
  std::vector<long long> all(4 * countSMs());
  CHECK(cudaMemcpy(all.data(), cycles.device, all.size() * 8, cudaMemcpyDeviceToHost));
  double rate = 0;
  for (int k = 1; k <= WARPGROUPS; ++k)
    rate += 1000. / all[k];
  emit(what, 1 / rate, "cycles/instruction");
  if (multiplies)
    emit(what + ", the wgmma", mmas.median() / 1000, "cycles");
}

template <Work WORK, int WARPGROUPS> void measureWarps(const char *name) {
  measureBeside<64, false, WORK, WARPGROUPS>(name, false);
  measureBeside<64, false, WORK, WARPGROUPS>(name, true);
  measureBeside<128, false, WORK, WARPGROUPS>(name, true);
  measureBeside<128, true, WORK, WARPGROUPS>(name, true);
  if constexpr (WARPGROUPS < 3) // more warpgroups exceed the register file
    measureBeside<256, false, WORK, WARPGROUPS>(name, true);
}
template <Work WORK> void measureWork(const char *name) {
  measureWarps<WORK, 1>(name);
  measureWarps<WORK, 2>(name);
  measureWarps<WORK, 3>(name);
}

int main() {
  measureWork<Work::Fadd>("fadd");
  measureWork<Work::Fmul>("fmul");
  measureWork<Work::Ffma>("ffma of three");
  measureWork<Work::FfmaReused>("ffma of two and one reused");
  measureWork<Work::Lop3>("lop3 of three");
  measureWork<Work::Lop3Two>("lop3 of two");
  measureWork<Work::Prmt>("prmt");
  measureWork<Work::Pack>("cvt.bf16x2");
  measureWork<Work::Halves>("mul.bf16x2");
  measureWork<Work::LogicHalves>("lop3 of two and mul.bf16x2");
  measureWork<Work::Ex2>("ex2");
  measureWork<Work::Softmax>("ffma, ex2, fadd and cvt.bf16x2");
  measureWork<Work::Unpack>("shr, lop3, prmt and mul.bf16x2");
}
