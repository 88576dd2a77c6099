// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Throughput of the instructions of dequantization, in lanes per cycle and SM,
// with 32 warps of 8 independent chains each.

#include "common.h"

static constexpr int kRounds = 256, kChains = 8;

#define OPERATION(NAME, ...)                                                   \
  struct NAME {                                                                \
    static __device__ void run(uint32_t &x, uint32_t y) { __VA_ARGS__; }       \
  };

OPERATION(UnpackE4M3, asm volatile("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %0;\n"
                                   "cvt.rn.f16x2.e4m3x2 %0, l;\n}" : "+r"(x)))
OPERATION(UnpackE5M2, asm volatile("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %0;\n"
                                   "cvt.rn.f16x2.e5m2x2 %0, l;\n}" : "+r"(x)))
OPERATION(PackE4M3, asm volatile("{\n.reg .b16 l;\n"
                                 "cvt.rn.satfinite.e4m3x2.f32 l, %0, %1;\n"
                                 "mov.b32 %0, {l, l};\n}" : "+r"(x) : "r"(y)))
OPERATION(PackBF16, asm volatile("cvt.rn.bf16x2.f32 %0, %0, %1;" : "+r"(x) : "r"(y)))
OPERATION(Permute, asm volatile("prmt.b32 %0, %0, %1, 0x5140;" : "+r"(x) : "r"(y)))
OPERATION(Logic, asm volatile("lop3.b32 %0, %0, %1, 0x80008000, 0x6a;" : "+r"(x) : "r"(y)))
OPERATION(Shift, asm volatile("shf.r.wrap.b32 %0, %0, %1, 4;" : "+r"(x) : "r"(y)))
OPERATION(MulBF16, asm volatile("mul.rn.bf16x2 %0, %0, %1;" : "+r"(x) : "r"(y)))
OPERATION(FmaBF16, asm volatile("fma.rn.bf16x2 %0, %0, %1, %1;" : "+r"(x) : "r"(y)))
OPERATION(MulF16, asm volatile("mul.rn.f16x2 %0, %0, %1;" : "+r"(x) : "r"(y)))
OPERATION(FmaF32, asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+r"(x) : "r"(y)))
OPERATION(MaxBF16, asm volatile("max.bf16x2 %0, %0, %1;" : "+r"(x) : "r"(y)))
OPERATION(Exp2, asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+r"(x)))
OPERATION(Shuffle, asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, -1;" : "+r"(x)))

template <typename Op>
__global__ void __launch_bounds__(1024) repeat(long long *cycles, uint32_t *out, uint32_t y) {
  uint32_t x[kChains];
  for (int i = 0; i < kChains; ++i)
    x[i] = threadIdx.x * 77 + i;
  __syncthreads();
  long long begin = clock64();
  for (int i = 0; i < kRounds / 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j)
#pragma unroll
      for (int c = 0; c < kChains; ++c)
        Op::run(x[c], y);
  __syncthreads();
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
  uint32_t sum = 0;
  for (uint32_t value : x)
    sum ^= value;
  if (sum == 0x12345)
    *out = sum;
}

template <typename Op> void measure(const char *name) {
  Cycles cycles(countSMs());
  for (int i = 0; i < 2; ++i)
    repeat<Op><<<countSMs(), 1024>>>(cycles.device, nullptr, 0x3f803f80);
  emit(name, 1024.0 * kRounds * kChains / cycles.median(), "lanes/cycle");
}

int main() {
  measure<UnpackE4M3>("cvt.rn.f16x2.e4m3x2");
  measure<UnpackE5M2>("cvt.rn.f16x2.e5m2x2");
  measure<PackE4M3>("cvt.rn.satfinite.e4m3x2.f32 and a mov");
  measure<PackBF16>("cvt.rn.bf16x2.f32");
  measure<Permute>("prmt");
  measure<Logic>("lop3");
  measure<Shift>("shf");
  measure<MulBF16>("mul.bf16x2");
  measure<FmaBF16>("fma.bf16x2");
  measure<MulF16>("mul.f16x2");
  measure<FmaF32>("fma.f32");
  measure<MaxBF16>("max.bf16x2");
  measure<Exp2>("ex2.approx.f32");
  measure<Shuffle>("shfl.bfly");
}
