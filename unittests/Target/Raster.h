//===- Raster.h - In which order tiles are visited --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A unit of work has a number; a raster says which tile of the grid it is.
// Kernels compute it on the device (Raster.cpp of MXGPUToNVVM) and the model of
// schedules estimates its traffic; this is what both are compared with.
//
//===----------------------------------------------------------------------===//
#ifndef MX_UNITTESTS_TARGET_RASTER_H
#define MX_UNITTESTS_TARGET_RASTER_H

#include <cstdint>

namespace mx::target {

/// Rows and columns of tiles, at least 1 each and fewer than 2^31 tiles.
struct TileGrid {
  uint32_t rows, columns;
};

struct TilePosition {
  uint32_t row, column;
  bool operator==(const TilePosition &other) const {
    return row == other.row && column == other.column;
  }
};

/// Row by row.
TilePosition linearTile(TileGrid grid, uint32_t unit);

/// Column by column within bands of `group` rows; the last band has what is
/// left.
TilePosition groupMTile(TileGrid grid, uint32_t group, uint32_t unit);

/// Along a Hilbert curve drawn into any rectangle: each tile is a neighbour of
/// the one before. Where one side is odd and the other is even and shorter, one
/// step of the whole way may be diagonal.
TilePosition hilbertTile(TileGrid grid, uint32_t unit);

} // namespace mx::target

#endif // MX_UNITTESTS_TARGET_RASTER_H
