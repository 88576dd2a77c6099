//===- Raster.h - Order of tiles --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A raster maps the number of a work unit to a tile of the grid. Kernels
// compute this map on the device (Raster.cpp of MXGPUToNVVM), and the schedule
// model estimates its traffic; tests compare both with this reference.
//===----------------------------------------------------------------------===//
#ifndef MX_UNITTESTS_TARGET_RASTER_H
#define MX_UNITTESTS_TARGET_RASTER_H

#include <cstdint>

namespace mx::target {

/// Rows and columns of tiles, at least 1 each, with fewer than 2^31 tiles.
struct TileGrid {
  uint32_t rows, columns;
};

struct TilePosition {
  uint32_t row, column;
  bool operator==(const TilePosition &other) const {
    return row == other.row && column == other.column;
  }
};

/// Returns the tile in row-major order.
TilePosition linearTile(TileGrid grid, uint32_t unit);

/// Returns the tile in column-major order within bands of `group` rows; the
/// last band contains the remaining rows.
TilePosition groupMTile(TileGrid grid, uint32_t group, uint32_t unit);

/// Returns the tile along a Hilbert curve through any rectangle: each tile is
/// adjacent to its predecessor. If one side is odd and the other side is even
/// and shorter, a single step of the path may be diagonal.
TilePosition hilbertTile(TileGrid grid, uint32_t unit);

} // namespace mx::target

#endif // MX_UNITTESTS_TARGET_RASTER_H
