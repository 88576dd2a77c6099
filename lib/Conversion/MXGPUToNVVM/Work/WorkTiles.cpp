//===- WorkTiles.cpp - Coordinates of work tiles --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps the 32-bit number of a work tile to its tile of the output, in the order
// of the raster, and to its 64-bit coordinates.
//===----------------------------------------------------------------------===//

#include "WorkTiles.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Rasters
//===----------------------------------------------------------------------===//

// Each role computes the tile once for each work tile, in 32 bits because there
// are fewer than 2^31 work tiles. A 32-bit division and a level of the Hilbert
// curve each take about 20 instructions. Loops over the reduction do not
// contain this code.

namespace {

Value floorHalf(NVVMBuilder &b, Value x) {
  return arith::ShRUIOp::create(b, x, b.i32(1));
}

Value negate(NVVMBuilder &b, Value x) { return b.sub(b.i32(0), x); }

/// Returns half of `length`, rounded to an even number. Returns 1 for length 2.
Value halve(NVVMBuilder &b, Value length) {
  Value half = floorHalf(b, length);
  Value odd = arith::AndIOp::create(b, half, b.i32(1));
  Value isMore = b.isBelow(b.i32(2), length);
  return b.add(half, b.select(isMore, odd, b.i32(0)));
}

Tiles buildLinear(NVVMBuilder &b, Tiles grid, Value workTile) {
  Value row = b.div(workTile, grid.columns);
  return {row, b.sub(workTile, b.mul(row, grid.columns))};
}

Tiles buildGroupM(NVVMBuilder &b, int64_t group, Tiles grid, Value workTile) {
  Value height = b.min(b.i32(group), grid.rows);
  Value size = b.mul(height, grid.columns);
  Value band = b.div(workTile, size);
  Value inBand = b.sub(workTile, b.mul(band, size));
  Value first = b.mul(band, height);
  Value rows = b.min(height, b.sub(grid.rows, first));
  Value column = b.div(inBand, rows);
  Value row = b.sub(inBand, b.mul(column, rows));
  return {b.add(first, row), column};
}

/// State of a walk along the Hilbert curve (unittests/Target/Raster.cpp) in the
/// direction `along`. If `isTurned`, rows and columns are swapped.
struct Walk {
  Value workTile;
  Value alongStart, alongDirection, along;
  Value acrossStart, acrossDirection, across;
  Value isTurned;

  static Walk from(ValueRange v) {
    return {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]};
  }
  SmallVector<Value> values() const {
    return {workTile,    alongStart,      alongDirection, along,
            acrossStart, acrossDirection, across,         isTurned};
  }
  Walk turned(NVVMBuilder &b) const {
    Value flipped = b.isNot(isTurned);
    return {workTile,   acrossStart,    acrossDirection, across,
            alongStart, alongDirection, along,           flipped};
  }
};

/// Selects between two continuations.
Walk choose(NVVMBuilder &b, Value condition, llvm::function_ref<Walk()> then,
            llvm::function_ref<Walk()> other) {
  Type i32 = b.getI32Type();
  SmallVector<Type> types(7, i32);
  types.push_back(b.getI1Type());
  auto ifOp = scf::IfOp::create(b, types, condition, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(b, then().values());
  b.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(b, other().values());
  return Walk::from(ifOp.getResults());
}

/// Descends into a half of a long rectangle.
Walk descendLong(NVVMBuilder &b, Walk walk) {
  Value half = halve(b, walk.along);
  Value size = b.mul(half, walk.across);
  Value isBefore = b.isBelow(walk.workTile, size);
  Walk beyond = walk;
  beyond.workTile = b.sub(walk.workTile, size);
  beyond.alongStart = b.add(walk.alongStart, b.mul(walk.alongDirection, half));
  beyond.along = b.sub(walk.along, half);
  Walk next = walk;
  next.workTile = b.select(isBefore, walk.workTile, beyond.workTile);
  next.alongStart = b.select(isBefore, walk.alongStart, beyond.alongStart);
  next.along = b.select(isBefore, half, beyond.along);
  return next;
}

/// Descends into a third of a squarish rectangle: up, across or down.
Walk descendSquare(NVVMBuilder &b, Walk walk) {
  Value leg = halve(b, walk.across), half = floorHalf(b, walk.along);
  Value up = b.mul(leg, half);
  Value rest = b.sub(walk.across, leg);
  return choose(
      b, b.isBelow(walk.workTile, up),
      [&] {
        Walk next = walk;
        next.along = half;
        next.across = leg;
        return next.turned(b);
      },
      [&] {
        Value workTile = b.sub(walk.workTile, up);
        Value across = b.mul(walk.along, rest);
        return choose(
            b, b.isBelow(workTile, across),
            [&] {
              Walk next = walk;
              next.workTile = workTile;
              next.acrossStart =
                  b.add(walk.acrossStart, b.mul(walk.acrossDirection, leg));
              next.across = rest;
              return next;
            },
            [&] {
              Walk next = walk;
              next.workTile = b.sub(workTile, across);
              Value one = b.i32(1);
              next.alongStart =
                  b.add(walk.alongStart,
                        b.mul(walk.alongDirection, b.sub(walk.along, one)));
              next.alongDirection = negate(b, walk.alongDirection);
              next.along = b.sub(walk.along, half);
              next.acrossStart =
                  b.add(walk.acrossStart,
                        b.mul(walk.acrossDirection, b.sub(leg, one)));
              next.acrossDirection = negate(b, walk.acrossDirection);
              next.across = leg;
              return next.turned(b);
            });
      });
}

Tiles buildHilbert(NVVMBuilder &b, Tiles grid, Value workTile) {
  Value zero = b.i32(0), one = b.i32(1);
  Value isTall = b.isBelow(grid.columns, grid.rows);
  Walk start = {workTile,
                zero,
                one,
                b.select(isTall, grid.rows, grid.columns),
                zero,
                one,
                b.min(grid.rows, grid.columns),
                isTall};
  SmallVector<Value> values = start.values();
  auto loop = scf::WhileOp::create(
      b, ValueRange(values).getTypes(), values,
      [&](OpBuilder &builder, Location loc, ValueRange args) {
        Walk walk = Walk::from(args);
        Value shorter =
            arith::MinUIOp::create(builder, loc, walk.along, walk.across);
        Value again = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::ugt, shorter, one);
        scf::ConditionOp::create(builder, loc, again, args);
      },
      [&](OpBuilder &, Location loc, ValueRange args) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(args.front().getParentBlock());
        Walk walk = Walk::from(args);
        // Test 2 * along > 3 * across without an overflow of 32 bits.
        Value excess = b.sub(walk.along, b.min(walk.along, walk.across));
        Value isLong = b.isBelow(floorHalf(b, walk.across), excess);
        Walk next = choose(
            b, isLong, [&] { return descendLong(b, walk); },
            [&] { return descendSquare(b, walk); });
        scf::YieldOp::create(b, next.values());
      });
  Walk end = Walk::from(loop.getResults());
  Value isAlong =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, end.across, one);
  Value alongEnd =
      b.add(end.alongStart, b.mul(end.alongDirection, end.workTile));
  Value acrossEnd =
      b.add(end.acrossStart, b.mul(end.acrossDirection, end.workTile));
  Value x = b.select(isAlong, alongEnd, end.alongStart);
  Value y = b.select(isAlong, end.acrossStart, acrossEnd);
  return {b.select(end.isTurned, x, y), b.select(end.isTurned, y, x)};
}

} // namespace

Tiles mx::mxgpu::buildTile(NVVMBuilder &builder, RasterAttr raster, Tiles grid,
                           Value workTile) {
  switch (raster.getOrder()) {
  case RasterOrder::Linear:
    return buildLinear(builder, grid, workTile);
  case RasterOrder::GroupM:
    return buildGroupM(builder, raster.getGroup(), grid, workTile);
  case RasterOrder::Columns: {
    Tiles turned = buildLinear(builder, {grid.columns, grid.rows}, workTile);
    return {turned.columns, turned.rows};
  }
  case RasterOrder::Hilbert:
    return buildHilbert(builder, grid, workTile);
  }
  llvm_unreachable("unknown raster");
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

/// Returns an upper bound of the packed row tiles for all possible offsets.
static Value getPackedTiles(NVVMBuilder &builder, Value rows, Value offsets,
                            int64_t tile) {
  Value whole = builder.div(rows, tile);
  Value groups = memref::DimOp::create(builder, offsets, 0);
  return builder.toI32(builder.add(whole, groups));
}

Problem mx::mxgpu::getProblem(NVVMBuilder &builder, TileSchedulerOp source) {
  Value rows = source.getRows(), offsets = source.getOffsets();
  int64_t tile = source.getTile()[0];
  Tiles grid = {offsets ? getPackedTiles(builder, rows, offsets, tile)
                        : getTiles(builder, rows, tile),
                getTiles(builder, source.getColumns(), source.getTile()[1])};
  Value tiles = builder.mul(grid.rows, grid.columns);
  Value workTiles = tiles;
  if (source.getNumSplits() > 1 && getClusterSplits(source) == 1)
    workTiles = builder.mul(tiles, builder.i32(source.getNumSplits()));
  return {source, grid, tiles, workTiles};
}

Value mx::mxgpu::toIndex(NVVMBuilder &builder, Value number) {
  return arith::IndexCastUIOp::create(builder, builder.getIndexType(), number);
}

/// Returns the start of split `split` of the reduction and the end of the
/// preceding split.
static Value getSplitStart(NVVMBuilder &builder, TileSchedulerOp source,
                           Value split) {
  Value step = builder.index(*source.getSplitStep());
  Value splits = builder.index(source.getNumSplits());
  Value steps = toIndex(builder, getTiles(builder, source.getReduction(),
                                          *source.getSplitStep()));
  Value before = builder.div(builder.mul(steps, split), splits);
  return builder.mul(before, step);
}

SmallVector<Value> mx::mxgpu::getWorkTile(NVVMBuilder &builder,
                                          const Problem &problem,
                                          Value workTile) {
  TileSchedulerOp source = problem.source;
  Value slice = builder.index(0), start = slice, end = source.getReduction();
  if (source.getNumSplits() > 1) {
    Value split;
    if (getClusterSplits(source) > 1) {
      split = builder.ctaRank();
    } else {
      split = builder.div(workTile, problem.tiles);
      workTile = builder.sub(workTile, builder.mul(split, problem.tiles));
    }
    slice = toIndex(builder, split);
    start = getSplitStart(builder, source, slice);
    Value next =
        getSplitStart(builder, source, builder.add(slice, builder.index(1)));
    end = builder.min(next, end);
  }
  Tiles tile = buildTile(builder, source.getRaster(), problem.grid, workTile);
  Value row = builder.mul(toIndex(builder, tile.rows),
                          builder.index(source.getTile()[0]));
  Value column = builder.mul(toIndex(builder, tile.columns),
                             builder.index(source.getTile()[1]));
  return {slice, row, column, start, end};
}

/// Returns the only work tile of a CTA if expert groups divide the reduction.
static SingleWorkTile getWorkTileOfReduction(NVVMBuilder &builder,
                                             TileSchedulerOp source) {
  ExpertWorkTile found = findFirstExpertWorkTile(builder, source);
  SingleWorkTile workTile;
  for (Value word : found.arguments)
    workTile.arguments.push_back(toIndex(builder, word));
  workTile.exists = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne,
                                          found.number, builder.i32(-1));
  return workTile;
}

SingleWorkTile mx::mxgpu::getSingleWorkTile(NVVMBuilder &builder,
                                            TileSchedulerOp source) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(source);
  if (source.getOverReduction())
    return getWorkTileOfReduction(builder, source);
  Problem problem = getProblem(builder, source);
  Value limit;
  if (source.getLimit())
    limit = builder.toI32(source.getLimit());
  if (limit && !source.getRepeated())
    problem.grid.rows = limit;
  SmallVector<Value> arguments = getWorkTile(builder, problem, builder.ctaId());
  Value offsets = source.getOffsets();
  if (!offsets)
    return {arguments, Value()};
  int64_t tileRows = source.getTile()[0];
  Value tile = builder.toI32(builder.div(arguments[1], tileRows));
  if (source.getRepeated()) {
    tile = builder.add(tile, limit);
    arguments[1] = builder.mul(toIndex(builder, tile), builder.index(tileRows));
  }
  ExpertTile found =
      findExpertTile(builder, offsets, source.getRows(), tile, tileRows);
  if (source.getRepeated()) {
    OpBuilder::InsertionGuard atEnd(builder);
    builder.setInsertionPointToEnd(source->getBlock());
    YieldOp::create(builder, ValueRange(found.exists));
  }
  arguments[0] = toIndex(builder, found.group);
  arguments[3] = toIndex(builder, found.start);
  arguments[4] = toIndex(builder, found.end);
  return {arguments, found.exists};
}

/// Returns true if the CTAs of a cluster share a work tile.
static bool isOfCluster(Operation *op) {
  return isInPair(op) || getClusterSplits(op) > 1;
}

Value mx::mxgpu::getFirstWorkTile(NVVMBuilder &builder, Operation *op) {
  return isOfCluster(op) ? builder.clusterId() : builder.ctaId();
}

Value mx::mxgpu::getWorkTileStep(NVVMBuilder &builder, Operation *op) {
  return isOfCluster(op) ? builder.clusterCount() : builder.ctaCount();
}

Value mx::mxgpu::getTiles(NVVMBuilder &builder, Value size, int64_t tile) {
  Value rounded = builder.add(size, builder.index(tile - 1));
  return builder.toI32(builder.div(rounded, tile));
}

Value mx::mxgpu::getNumWorkTiles(NVVMBuilder &builder, TileSchedulerOp source) {
  return getProblem(builder, source).workTiles;
}
