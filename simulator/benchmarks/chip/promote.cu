// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures e4m3 wgmma with promotion: each warpgroup awaits batches of four
// wgmma, and adds their result to accumulators in f32.

#include "wgmma.h"

static constexpr int kRounds = 64, kOperandBytes = 48 * 1024;

/// A round runs BATCHES batches of K = 128, then an FFMA for each result
/// (SCALES = 1), or an FMUL and an FFMA (SCALES = 2).
template <int N, int BATCHES, int SCALES, int WARPGROUPS>
__global__ void __launch_bounds__(128 * (WARPGROUPS + 1), 1)
    promote(long long *cycles, float s0, float s1, float *out) {
  extern __shared__ __align__(1024) uint8_t memory[];
  clearShared(memory, kOperandBytes);
  uint64_t a = describe(smemAddress(memory)), b = describe(smemAddress(memory) + 16384);
  // The last warpgroup lends its registers.
  if (threadIdx.x >= 128 * WARPGROUPS) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  float d[N / 2], all[N / 2] = {};
  long long begin = clock64();
#pragma unroll 1
  for (int i = 0; i < kRounds; ++i) {
    for (float &x : d) {
      x = 0;
      asm volatile("" : "+f"(x)::"memory");
    }
    fenceMmas();
#pragma unroll
    for (int k = 0; k < 4 * BATCHES; ++k)
      Wgmma<N, E4M3>::fromShared(d, a + 2 * (k % 4), b + 2 * (k % 4));
    commitMmas();
    waitMmas<0>();
    float s = s0 * i, t = s1 * i;
#pragma unroll
    for (int j = 0; j < N / 2; ++j) {
      asm volatile("" : "+f"(d[j])::"memory");
      float scale = j & 2 ? s : t, other = j & 1 ? s1 : s0;
      all[j] = SCALES == 1 ? fmaf(d[j], scale, all[j]) : fmaf(d[j] * scale, other, all[j]);
    }
  }
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
  float sum = 0;
  for (float x : all)
    sum += x;
  if (sum == 1)
    *out = sum;
}

template <int N, int BATCHES, int SCALES, int WARPGROUPS> void measure() {
  auto kernel = promote<N, BATCHES, SCALES, WARPGROUPS>;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kOperandBytes));
  Cycles cycles(countSMs());
  for (int i = 0; i < 2; ++i)
    kernel<<<countSMs(), 128 * (WARPGROUPS + 1), kOperandBytes>>>(cycles.device, 1.5f, 2.5f, nullptr);
  emit("e4m3 n" + std::to_string(N) + " promoted every " + std::to_string(128 * BATCHES) + " of K, " +
           std::to_string(SCALES) + (SCALES > 1 ? " scales, " : " scale, ") + std::to_string(WARPGROUPS) +
           (WARPGROUPS > 1 ? " warpgroups" : " warpgroup"),
       cycles.median() / kRounds / BATCHES, "cycles/128 of K");
}

template <int N, int SCALES> void measureBatches() {
  measure<N, 1, SCALES, 1>();
  measure<N, 1, SCALES, 2>();
  measure<N, 2, SCALES, 2>();
  measure<N, 4, SCALES, 2>();
}

int main() {
  measureBatches<64, 1>();
  measureBatches<128, 1>();
  measureBatches<192, 1>();
  measureBatches<64, 2>();
  measureBatches<128, 2>();
}
