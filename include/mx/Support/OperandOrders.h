//===- OperandOrders.h - Sizes of operand orders ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of #mxgpu.k_order and #mxgpu.fragment_64x64. In wgmma, thread t (modulo
// 4) holds elements 2t, 2t + 1, 2t + 8 and 2t + 9 of every 16 elements of A
// along K (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16"). K may
// be permuted if both operands use the same order. #mxgpu.k_order permutes K so
// that thread t loads elements 16t to 16t + 15 of every 64 elements at once,
// or, if 64 does not divide K, elements 8t to 8t + 7 of every 32.
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_OPERANDORDERS_H
#define MX_SUPPORT_OPERANDORDERS_H

#include <cstdint>

namespace mx {

/// Threads that share a row, and elements that stay adjacent.
inline constexpr int64_t kReductionLanes = 4, kReductionPair = 2;
/// Required divisor of a permuted K.
inline constexpr int64_t kReductionMultiple = 32;

/// Returns the size of the permuted blocks for a K of `k` elements.
constexpr int64_t getReductionBlock(int64_t k) {
  return k % (2 * kReductionMultiple) ? kReductionMultiple
                                      : 2 * kReductionMultiple;
}

/// Size of a weight tile, number of its threads, and elements per thread.
inline constexpr int64_t kWeightTileRows = 64, kWeightTileColumns = 64;
inline constexpr int64_t kWeightTileThreads = 128, kWeightTileValues = 32;

} // namespace mx

#endif // MX_SUPPORT_OPERANDORDERS_H
