//===- OperandOrders.h - Sizes of the orders of operands --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Sizes of #mxgpu.k_order and #mxgpu.fragment_64x64. wgmma.mma_async gives a
// thread of A elements 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 of each 16 of the
// reduction, where t is its number modulo 4 (PTX ISA, "Register Fragments for
// wgmma.mma_async.m64nNk16"). The order of a reduction is free if both operands
// have the same: one in which thread t has adjacent elements in memory, 16 t to
// 16 t + 15 of each 64, costs it one load. Where 64 do not divide the
// reduction, thread t has 8 t to 8 t + 7 of each 32.
//
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_OPERANDORDERS_H
#define MX_SUPPORT_OPERANDORDERS_H

#include <cstdint>

namespace mx {

/// Threads that share rows, and adjacent elements that stay adjacent.
inline constexpr int64_t kReductionLanes = 4, kReductionPair = 2;
/// What divides a reduction that can be permuted.
inline constexpr int64_t kReductionMultiple = 32;

/// Elements of a reduction of `k` that are permuted among each other.
constexpr int64_t getReductionBlock(int64_t k) {
  return k % (2 * kReductionMultiple) ? kReductionMultiple
                                      : 2 * kReductionMultiple;
}

/// A tile of weights, the threads that hold it, and elements of each.
inline constexpr int64_t kWeightTileRows = 64, kWeightTileColumns = 64;
inline constexpr int64_t kWeightTileThreads = 128, kWeightTileValues = 32;

} // namespace mx

#endif // MX_SUPPORT_OPERANDORDERS_H
