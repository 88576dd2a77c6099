//===- ScheduleGrid.cpp - Tiles of a problem, and their traffic -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "../Matmul/Kernel/Strategy.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

int64_t mx::mxgpu::orAssumed(int64_t size) {
  return ShapedType::isDynamic(size) ? kAssumedSize
                                     : std::max<int64_t>(size, 1);
}

/// Of a matrix with scales, or of bf16 without.
static int64_t getMatrixBytes(int64_t rows, int64_t k, target::MmaType type,
                              int64_t blockSize) {
  bool hasScales = type != target::MmaType::BF16;
  return ceilDiv(rows * k * target::getBits(type), 8) +
         (hasScales ? rows * ceilDiv(k, blockSize) : 0);
}

/// Groups of such a kind, or 1.
static int64_t getGroups(const MatmulProblem &problem, RaggedKind kind) {
  if (problem.ragged != kind)
    return 1;
  return ShapedType::isDynamic(problem.groups)
             ? 1
             : std::max<int64_t>(problem.groups, 1);
}

/// Groups are modelled as of equal size, and have whole tiles; but where a tile
/// may have as few rows as a group, half of them as half as large, and the
/// others as half as large again: weights are read again for each tile of a
/// group.
static int64_t getRowTiles(const MatmulProblem &problem,
                           const ScheduleFields &fields, int64_t m) {
  int64_t groups = getGroups(problem, RaggedKind::Rows);
  int64_t rows = ceilDiv(m, groups);
  if (groups == 1 || !getStrategy(problem, fields).hasLowTiles())
    return groups * ceilDiv(rows, fields.tile[0]);
  int64_t few = ceilDiv(ceilDiv(rows, 2), fields.tile[0]);
  int64_t many = ceilDiv(ceilDiv(rows * 3, 2), fields.tile[0]);
  return ceilDiv(groups * (few + many), 2);
}

Grid mx::mxgpu::getGrid(const MatmulProblem &problem,
                        const ScheduleFields &fields,
                        const target::TargetInfo &target) {
  Grid grid;
  grid.m = orAssumed(problem.m);
  grid.n = orAssumed(problem.n);
  grid.products = getGroups(problem, RaggedKind::Reduction);
  grid.k = orAssumed(problem.k);
  if (!ShapedType::isDynamic(problem.k))
    grid.k = ceilDiv(grid.k, grid.products);
  grid.rowTiles = grid.products * getRowTiles(problem, fields, grid.m);
  grid.columnTiles = ceilDiv(grid.n, fields.tile[1]);
  grid.workers = target.smCount / (fields.ctaPair ? 2 : 1);
  grid.aBytes =
      grid.products * getMatrixBytes(grid.m, grid.k, problem.product.a->type,
                                     problem.product.blockSize);
  grid.bBytes = getMatrixBytes(grid.n, grid.k, problem.product.b->type,
                               problem.product.blockSize);
  return grid;
}

static int64_t squareRoot(int64_t value) {
  int64_t root = 1;
  while ((root + 1) * (root + 1) <= value)
    ++root;
  return root;
}

int64_t mx::mxgpu::getLoadTraffic(const Grid &grid,
                                  const ScheduleFields &fields, int64_t cache) {
  int64_t allOfB = grid.products * grid.bBytes;
  int64_t rowTiles = grid.rowTiles / grid.products;
  int64_t whole = grid.aBytes + allOfB;
  if (whole <= cache)
    return whole;
  int64_t tiles = grid.rowTiles * grid.columnTiles;
  int64_t active = std::max<int64_t>(
      1, std::min(grid.workers, tiles * fields.splitK) / fields.splitK);
  int64_t aRow = ceilDiv(grid.aBytes, grid.rowTiles);
  int64_t bColumn = ceilDiv(grid.bBytes, grid.columnTiles);
  if (fields.rasterOrder == RasterOrder::Hilbert) {
    // A square of tiles is visited before what lies outside, for squares of
    // every size: the largest that L2 holds is loaded once.
    int64_t side = std::max(squareRoot(active), cache / (aRow + bColumn));
    side = std::min({side, rowTiles, grid.columnTiles});
    return std::max(whole, tiles * (aRow + bColumn) / side);
  }
  // Bands of rows of tiles. Row by row, a wave covers a band of as many rows as
  // it takes to keep everyone busy.
  int64_t rows = fields.rasterOrder == RasterOrder::GroupM ? fields.rasterGroup
                 : fields.rasterOrder == RasterOrder::Columns
                     ? rowTiles
                     : std::max<int64_t>(1, active / grid.columnTiles);
  rows = std::min(rows, rowTiles);
  int64_t bands = grid.products * ceilDiv(rowTiles, rows);
  int64_t columns =
      std::min(std::max<int64_t>(1, active / rows), grid.columnTiles);
  int64_t band = rows * aRow;
  // A band of A stays while the columns of B pass by, or is loaded by each
  // wave; B stays as a whole, or is loaded for each band.
  int64_t a = band + columns * bColumn <= cache
                  ? grid.aBytes
                  : grid.aBytes * ceilDiv(grid.columnTiles, columns);
  int64_t b = band + grid.bBytes <= cache ? allOfB : grid.bBytes * bands;
  return a + b;
}

const target::Rates &mx::mxgpu::getRates(const target::TargetInfo &target) {
  assert(target.rates && "schedules are chosen for chips with rates only");
  return *target.rates;
}
