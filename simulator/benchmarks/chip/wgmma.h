// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs wgmma on zero operands, for timing. run.py generates wgmma.inc.
#pragma once
#include "common.h"
#include "wgmma.inc"

__device__ inline uint64_t describe(uint32_t address) {
  // 128-byte rows with 128-byte swizzle; groups of 8 rows are 1024 bytes apart.
  return (uint64_t(address & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32 |
         1ull << 62;
}
__device__ inline void fenceMmas() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void commitMmas() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int LEFT>
__device__ void waitMmas() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}
__device__ inline void clearShared(uint8_t *memory, int bytes) {
  for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x)
    reinterpret_cast<uint32_t *>(memory)[i] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}
inline std::string kindName(Kind kind) {
  return kind == BF16 ? "bf16" : kind == F16 ? "f16" : "e4m3";
}
