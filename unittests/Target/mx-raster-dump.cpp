//===- mx-raster-dump.cpp - Raster orders as text -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: mx-raster-dump ROWS COLUMNS linear|hilbert|GROUP
//
// Prints the row and column of each tile in the order of the path. The tests in
// test/Integration/Run compare this order with that of the kernels.
//===----------------------------------------------------------------------===//

#include "Raster.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace mx::target;

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  TileGrid grid = {uint32_t(std::atoi(argv[1])), uint32_t(std::atoi(argv[2]))};
  for (uint32_t unit = 0; unit < grid.rows * grid.columns; ++unit) {
    TilePosition tile =
        !std::strcmp(argv[3], "linear") ? linearTile(grid, unit)
        : !std::strcmp(argv[3], "hilbert")
            ? hilbertTile(grid, unit)
            : groupMTile(grid, uint32_t(std::atoi(argv[3])), unit);
    std::printf("%u %u\n", tile.row, tile.column);
  }
}
