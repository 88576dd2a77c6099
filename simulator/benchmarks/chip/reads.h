// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "common.h"

static constexpr int kThreads = 512;

/// Reads `pieces` pieces of 16 bytes, with UNROLL loads in flight per thread.
/// `pieces` is a multiple of 512 * UNROLL. Groups of `sharing` consecutive CTAs
/// read the same pieces.
template <int UNROLL>
__global__ void __launch_bounds__(kThreads)
    readAll(const uint4 *data, size_t pieces, int rounds, int sharing,
            long long *cycles, uint4 *out) {
  uint4 sum = {};
  size_t part = blockIdx.x / sharing,
         parts = (gridDim.x + sharing - 1) / sharing;
  long long begin = clock64();
  for (int round = 0; round < rounds; ++round)
    for (size_t i = part * kThreads * UNROLL + threadIdx.x; i < pieces;
         i += parts * kThreads * UNROLL) {
      uint4 x[UNROLL];
#pragma unroll
      for (int j = 0; j < UNROLL; ++j)
        asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[j].x), "=r"(x[j].y), "=r"(x[j].z), "=r"(x[j].w)
                     : "l"(data + i + j * kThreads));
#pragma unroll
      for (int j = 0; j < UNROLL; ++j) {
        sum.x ^= x[j].x ^ x[j].y;
        sum.z ^= x[j].z ^ x[j].w;
      }
    }
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = clock64() - begin;
  if (sum.x == 1 && sum.z == 7)
    *out = sum;
}
