//===- ReductionOrder.h - The order of a permuted reduction -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// wgmma.mma_async gives a thread of A elements 2 t, 2 t + 1, 2 t + 8 and
// 2 t + 9 of each 16 of the reduction, where t is its number modulo 4 (PTX ISA,
// "Register Fragments for wgmma.mma_async.m64nNk16"). The order of a reduction
// is free if both operands have the same: one in which thread t has elements
// 16 t to 16 t + 15 of each 64, adjacent in memory, costs it one load.
//
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_REDUCTIONORDER_H
#define MX_SUPPORT_REDUCTIONORDER_H

#include <cstdint>

namespace mx {

/// Threads that share rows, adjacent elements that each has, and elements of
/// all of them, which are permuted among each other.
inline constexpr int64_t kReductionLanes = 4, kReductionRun = 16;
inline constexpr int64_t kReductionBlock = kReductionLanes * kReductionRun;
/// Adjacent elements of a thread that stay adjacent.
inline constexpr int64_t kReductionPair = 2;

/// Where element `k` of a reduction lies in the permuted one: of each 64,
/// element 16 t + 4 s + 2 h + j at 16 s + 8 h + 2 t + j.
constexpr int64_t getPermutedPlace(int64_t k) {
  int64_t block = k - k % kReductionBlock, in = k % kReductionBlock;
  int64_t lane = in / kReductionRun, pair = in % kReductionRun / kReductionPair;
  return block + (pair * kReductionLanes + lane) * kReductionPair +
         in % kReductionPair;
}

} // namespace mx

#endif // MX_SUPPORT_REDUCTIONORDER_H
