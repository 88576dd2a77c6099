//===- Transfer.h - what a copy moves, and when -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_TRANSFER_H
#define MXSIM_LIB_TIME_TRANSFER_H

#include "../clocks/Path.h"

#include <cstdint>
#include <vector>

namespace mx::sim::time {

constexpr uint64_t kLineBytes = 128;
constexpr uint64_t kSectorBytes = 32;

/// Part of a line of 128 bytes of global memory.
struct Piece {
  uint64_t line; ///< an address divided by kLineBytes
  uint32_t bytes;
};

/// The parts of lines that `bytes` from `address` on lie in. Memory comes in
/// sectors.
void addPieces(std::vector<Piece> &pieces, uint64_t address, uint64_t bytes);

/// The sectors that the lanes of `mask` touch with `bytes` each, each sector
/// once.
void addSectors(std::vector<Piece> &pieces, const uint64_t addresses[32],
                uint32_t bytes, uint32_t mask);

struct Transfer {
  uint64_t bytes = 0;
  /// Global memory that is read or written, row by row; empty where both sides
  /// are shared memory, and where the launch is not timed.
  std::vector<Piece> pieces = {};
  uint64_t map = 0; ///< the address of its tensor map; 0: it has none
};

struct Interval {
  uint64_t begin = 0, end = 0;
  uint64_t read = 0; ///< of a store: when its source may change
  /// Of a launch that is timed: those to the end and to `read`.
  Path path = {}, readPath = {};
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_TRANSFER_H
