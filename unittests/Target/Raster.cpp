//===- Raster.cpp - Order of tiles ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Rectangles use the generalized Hilbert curve ("gilbert") of Jakub Cerveny. A
// rectangle is cut into three parts like Hilbert's square (a leg up, a way
// across and a leg down), or into two parts along its longer side if the ratio
// of its sides exceeds 3 : 2. Parts have even sides if possible, because a path
// through an even side ends next to the start of the next part. A loop descends
// to the part that consists of a single tile. The loop takes an iteration for
// each cut, about two for each bit of the longer side.
//===----------------------------------------------------------------------===//

#include "Raster.h"
#include <algorithm>
#include <utility>

using namespace mx;
using namespace mx::target;

TilePosition target::linearTile(TileGrid grid, uint32_t unit) {
  return {unit / grid.columns, unit % grid.columns};
}

TilePosition target::groupMTile(TileGrid grid, uint32_t group, uint32_t unit) {
  group = std::min(group, grid.rows);
  uint32_t band = unit / (group * grid.columns);
  uint32_t inBand = unit - band * (group * grid.columns);
  uint32_t first = band * group;
  uint32_t rows = std::min(group, grid.rows - first);
  return {first + inBand % rows, inBand / rows};
}

namespace {

/// A side of a rectangle, given by the coordinate where the path starts, the
/// direction into the rectangle, and the length.
struct Side {
  uint32_t start, direction, length;

  uint32_t at(uint32_t distance) const { return start + direction * distance; }
};

/// Returns about half of a side. The result is even if possible.
uint32_t halve(uint32_t length) {
  uint32_t half = length / 2;
  return half + (length > 2 ? half & 1 : 0);
}

} // namespace

// The path begins at the start of both sides. It ends at the far end of `along`
// and at the start of `across`.
TilePosition target::hilbertTile(TileGrid grid, uint32_t unit) {
  Side along = {0, 1, grid.columns}, across = {0, 1, grid.rows};
  bool isTurned = grid.rows > grid.columns;
  if (isTurned)
    std::swap(along, across);
  while (along.length > 1 && across.length > 1) {
    bool isLong = 2 * uint64_t(along.length) > 3 * uint64_t(across.length);
    if (isLong) {
      uint32_t half = halve(along.length);
      if (unit < half * across.length) {
        along.length = half;
      } else {
        unit -= half * across.length;
        along.start = along.at(half);
        along.length -= half;
      }
      continue;
    }
    uint32_t leg = halve(across.length), half = along.length / 2;
    if (unit < leg * half) { // up
      across.length = leg;
      along.length = half;
      std::swap(along, across);
      isTurned = !isTurned;
      continue;
    }
    unit -= leg * half;
    uint32_t rest = across.length - leg;
    if (unit < along.length * rest) { // across
      across.start = across.at(leg);
      across.length = rest;
      continue;
    }
    unit -= along.length * rest; // down, from the far end
    Side down = {across.at(leg - 1), -across.direction, leg};
    across = {along.at(along.length - 1), -along.direction,
              along.length - half};
    along = down;
    isTurned = !isTurned;
  }
  Side &line = across.length == 1 ? along : across;
  line.start = line.at(unit);
  if (isTurned)
    std::swap(along, across);
  return {across.start, along.start};
}
