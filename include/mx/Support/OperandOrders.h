//===- OperandOrders.h - Sizes of operand orders ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of #mxgpu.k_order and #mxgpu.fragment_64x64. In wgmma, thread t (modulo
// 4) holds elements 2t, 2t + 1, 2t + 8 and 2t + 9 of each 16 of A's K (PTX ISA,
// "Register Fragments for wgmma.mma_async.m64nNk16"). K may be permuted if both
// operands use the same order. With elements 16t to 16t + 15 of each 64
// adjacent in memory, thread t needs one load. If 64 does not divide K, thread
// t holds 8t to 8t + 7 of each 32.
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_OPERANDORDERS_H
#define MX_SUPPORT_OPERANDORDERS_H

#include <cstdint>

namespace mx {

/// Threads that share rows, and elements that stay adjacent.
inline constexpr int64_t kReductionLanes = 4, kReductionPair = 2;
/// Required divisor of a K that is permuted.
inline constexpr int64_t kReductionMultiple = 32;

/// Returns the number of elements within which a K of `k` is permuted.
constexpr int64_t getReductionBlock(int64_t k) {
  return k % (2 * kReductionMultiple) ? kReductionMultiple
                                      : 2 * kReductionMultiple;
}

/// Tile of weights, its threads, and the elements per thread.
inline constexpr int64_t kWeightTileRows = 64, kWeightTileColumns = 64;
inline constexpr int64_t kWeightTileThreads = 128, kWeightTileValues = 32;

} // namespace mx

#endif // MX_SUPPORT_OPERANDORDERS_H
