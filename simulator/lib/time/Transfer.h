//===- Transfer.h - Bytes and intervals of a copy ---------------*- C++ -*-===//
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

/// Part of a 128-byte line of global memory.
struct Piece {
  uint64_t line; ///< address / kLineBytes
  uint32_t bytes;
};

/// Adds the line parts for `bytes` at `address`, rounded to sectors.
void addPieces(std::vector<Piece> &pieces, uint64_t address, uint64_t bytes);

/// Adds one piece for each sector accessed by the lanes of `mask`. Each lane
/// accesses `bytes`.
void addSectors(std::vector<Piece> &pieces, const uint64_t addresses[32],
                uint32_t bytes, uint32_t mask);

struct Transfer {
  uint64_t bytes = 0;
  /// Global memory accessed, by row. Empty for copies within shared memory and
  /// in launches that are not timed.
  std::vector<Piece> pieces = {};
  uint64_t map = 0; ///< address of the tensor map, or 0
};

struct Interval {
  uint64_t begin = 0, end = 0;
  uint64_t read = 0; ///< for stores: cycle at which the source may be
                     ///< overwritten
  /// Paths to `end` and `read`, in timed launches.
  Path path = {}, readPath = {};
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_TRANSFER_H
