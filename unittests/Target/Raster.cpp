//===- Raster.cpp - In which order tiles are visited ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The curve for rectangles is the generalised Hilbert curve ("gilbert") of
// Jakub Cerveny: a rectangle is cut in three as Hilbert's square is, a leg up,
// the way across, and a leg down, and in two along its longer side where it is
// longer than 3 : 2. Parts have even sides wherever they can, for a way through
// an even side ends beside where the next begins. Going down to the part that
// holds one tile needs no recursion: it takes as many steps as there are
// halvings, about two for each bit of the longer side.
//
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

/// One side of a rectangle: the coordinate where the way begins, the direction
/// that leads into the rectangle from there, and how long the side is.
struct Side {
  uint32_t start, direction, length;

  uint32_t at(uint32_t distance) const { return start + direction * distance; }
};

/// Half of a side, even if it can be.
uint32_t halve(uint32_t length) {
  uint32_t half = length / 2;
  return half + (length > 2 ? half & 1 : 0);
}

} // namespace

// The way through a rectangle begins at the start of both sides and ends at the
// other end of `along`, at the start of `across`.
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
