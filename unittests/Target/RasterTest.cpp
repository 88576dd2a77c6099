//===- RasterTest.cpp - Orders of tiles -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Tests all grids up to 40 x 40, and the largest grids that do not overflow.
// Each order must visit every tile once.
//===----------------------------------------------------------------------===//

#include "Raster.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <functional>
#include <vector>

using namespace mx::target;

namespace {

using Order = std::function<TilePosition(TileGrid, uint32_t)>;

/// Returns the path through a grid. Fails unless each tile is visited once.
std::vector<TilePosition> walk(TileGrid grid, const Order &order) {
  std::vector<TilePosition> way;
  std::vector<bool> visited(size_t(grid.rows) * grid.columns);
  for (uint32_t unit = 0; unit < visited.size(); ++unit) {
    TilePosition tile = order(grid, unit);
    bool isInside = tile.row < grid.rows && tile.column < grid.columns;
    EXPECT_TRUE(isInside) << grid.rows << " x " << grid.columns << ": " << unit;
    if (!isInside)
      return {};
    size_t at = size_t(tile.row) * grid.columns + tile.column;
    EXPECT_FALSE(visited[at])
        << grid.rows << " x " << grid.columns << ": " << unit;
    visited[at] = true;
    way.push_back(tile);
  }
  return way;
}

void forAllGrids(const std::function<void(TileGrid)> &check) {
  for (uint32_t rows = 1; rows <= 40; ++rows)
    for (uint32_t columns = 1; columns <= 40; ++columns)
      check({rows, columns});
}

TEST(Raster, LinearGoesRowByRow) {
  forAllGrids([](TileGrid grid) {
    std::vector<TilePosition> way = walk(grid, linearTile);
    for (size_t i = 0; i < way.size(); ++i)
      EXPECT_EQ(size_t(way[i].row) * grid.columns + way[i].column, i);
  });
}

TEST(Raster, GroupMIsBandsColumnByColumn) {
  for (uint32_t group : {1u, 2u, 3u, 8u, 16u, 39u, 64u, 1u << 16})
    forAllGrids([&](TileGrid grid) {
      auto order = [&](TileGrid g, uint32_t unit) {
        return groupMTile(g, group, unit);
      };
      std::vector<TilePosition> way = walk(grid, order);
      for (size_t i = 1; i < way.size(); ++i) {
        TilePosition from = way[i - 1], to = way[i];
        uint32_t band = from.row / group;
        bool isEndOfColumn =
            from.row % group == group - 1 || from.row == grid.rows - 1;
        TilePosition expected =
            !isEndOfColumn ? TilePosition{from.row + 1, from.column}
            : from.column + 1 < grid.columns
                ? TilePosition{band * group, from.column + 1}
                : TilePosition{(band + 1) * group, 0};
        EXPECT_EQ(to, expected) << grid.rows << " x " << grid.columns;
      }
    });
}

TEST(Raster, HilbertMovesToNeighbors) {
  forAllGrids([](TileGrid grid) {
    std::vector<TilePosition> way = walk(grid, hilbertTile);
    int diagonals = 0;
    for (size_t i = 1; i < way.size(); ++i) {
      int rows = std::abs(int(way[i].row) - int(way[i - 1].row));
      int columns = std::abs(int(way[i].column) - int(way[i - 1].column));
      EXPECT_LE(std::max(rows, columns), 1)
          << grid.rows << " x " << grid.columns << ": " << i;
      diagonals += rows + columns == 2;
    }
    uint32_t longer = std::max(grid.rows, grid.columns);
    uint32_t shorter = std::min(grid.rows, grid.columns);
    EXPECT_LE(diagonals, longer % 2 == 1 && shorter % 2 == 0 ? 1 : 0)
        << grid.rows << " x " << grid.columns;
  });
}

// Hilbert's own curve for squares of 2^k: each quarter is finished before the
// next begins.
TEST(Raster, HilbertFinishesQuarters) {
  for (uint32_t size = 2; size <= 32; size *= 2) {
    TileGrid grid = {size, size};
    std::vector<TilePosition> way = walk(grid, hilbertTile);
    for (uint32_t side = size / 2; side >= 2; side /= 2)
      for (size_t i = 0; i < way.size(); ++i) {
        size_t first = i / (side * side) * (side * side);
        EXPECT_EQ(way[i].row / side, way[first].row / side);
        EXPECT_EQ(way[i].column / side, way[first].column / side);
      }
  }
}

TEST(Raster, TheLargestGrids) {
  for (TileGrid grid : {TileGrid{1, 0x7fffffff}, TileGrid{0x7fffffff, 1},
                        TileGrid{46340, 46341}, TileGrid{3, 715827882},
                        TileGrid{1073741823, 2}}) {
    uint32_t units = grid.rows * grid.columns;
    auto group = [](TileGrid g, uint32_t unit) {
      return groupMTile(g, 1 << 16, unit);
    };
    for (const Order &order :
         {Order(linearTile), Order(group), Order(hilbertTile)})
      for (uint32_t unit : {0u, 1u, units / 2, units - 2, units - 1}) {
        TilePosition tile = order(grid, unit);
        EXPECT_LT(tile.row, grid.rows);
        EXPECT_LT(tile.column, grid.columns);
      }
    EXPECT_EQ(hilbertTile(grid, 0), (TilePosition{0, 0}));
  }
}

} // namespace
