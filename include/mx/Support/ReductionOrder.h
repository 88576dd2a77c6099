//===- ReductionOrder.h - The order of a permuted reduction -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// wgmma.mma_async gives a thread of A elements 2 t, 2 t + 1, 2 t + 8 and
// 2 t + 9 of each 16 of the reduction, where t is its number modulo 4 (PTX ISA,
// "Register Fragments for wgmma.mma_async.m64nNk16"). The order of a reduction
// is free if both operands have the same: one in which thread t has adjacent
// elements in memory, 16 t to 16 t + 15 of each 64, costs it one load. Where 64
// do not divide the reduction, thread t has 8 t to 8 t + 7 of each 32.
//
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_REDUCTIONORDER_H
#define MX_SUPPORT_REDUCTIONORDER_H

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
/// Adjacent elements of a thread.
constexpr int64_t getReductionRun(int64_t k) {
  return getReductionBlock(k) / kReductionLanes;
}

} // namespace mx

#endif // MX_SUPPORT_REDUCTIONORDER_H
