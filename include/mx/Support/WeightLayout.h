//===- WeightLayout.h - where each packed weight lies -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Addresses and sizes of weights that mx.pack_weights has packed: tiles of
// 64 x 64 elements, each in the order in which the threads of a warpgroup hold
// a tile of A in registers. A thread has 2 rows of a tile; wgmma has them 8
// apart, here they are adjacent, so that a matmul may have adjacent columns.
//
// Source: PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16", A.
//
//===----------------------------------------------------------------------===//
#ifndef MX_SUPPORT_WEIGHTLAYOUT_H
#define MX_SUPPORT_WEIGHTLAYOUT_H

#include <cstdint>

namespace mx {

inline constexpr int64_t kWeightTileRows = 64;
inline constexpr int64_t kWeightTileColumns = 64;
/// Threads that hold a tile, and elements of each.
inline constexpr int64_t kWeightTileThreads = 128;
inline constexpr int64_t kWeightTileValues = 32;

/// A place in a tile.
struct WeightCoordinate {
  int64_t row, column;
};

/// What element `value` of thread `thread` is.
constexpr WeightCoordinate getWeightCoordinate(int64_t thread, int64_t value) {
  return {16 * (thread / 32) + 2 * (thread % 32 / 4) + value / 2 % 2,
          2 * (thread % 4) + value % 2 + 8 * (value / 4 % 2) +
              16 * (value / 8)};
}

} // namespace mx

#endif // MX_SUPPORT_WEIGHTLAYOUT_H
