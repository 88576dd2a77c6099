//===- WorkTiles.cpp - Which tile a work tile is --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// From the number of a work tile to its tile of the output, in the order of the
// raster, and to its coordinates. Numbers of work tiles have 32 bits,
// coordinates in the problem have 64.
//
//===----------------------------------------------------------------------===//

#include "WorkTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Rasters
//===----------------------------------------------------------------------===//

// This runs once for each work tile and role, in 32 bits: there are fewer
// than 2^31 work tiles. A 32-bit division takes about 20 instructions, and a
// level of the Hilbert curve about as many; nothing here is inside a loop
// over the reduction.

namespace {

/// Unsigned arithmetic of 32 bits.
struct Arithmetic {
  NVVMBuilder &b;

  Value add(Value x, Value y) const { return b.add(x, y); }
  Value sub(Value x, Value y) const { return arith::SubIOp::create(b, x, y); }
  Value mul(Value x, Value y) const { return b.mul(x, y); }
  Value div(Value x, Value y) const { return arith::DivUIOp::create(b, x, y); }
  Value min(Value x, Value y) const { return arith::MinUIOp::create(b, x, y); }
  Value half(Value x) const { return arith::ShRUIOp::create(b, x, b.i32(1)); }
  Value less(Value x, Value y) const {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, y);
  }
  Value negate(Value x) const { return sub(b.i32(0), x); }
  Value select(Value condition, Value x, Value y) const {
    return arith::SelectOp::create(b, condition, x, y);
  }
  /// Half of a side, even if it can be: 2 is the only length that has an odd
  /// half and cannot.
  Value halve(Value length) const {
    Value part = half(length);
    Value odd = arith::AndIOp::create(b, part, b.i32(1));
    Value isMore = less(b.i32(2), length);
    return add(part, select(isMore, odd, b.i32(0)));
  }
};

Tiles buildLinear(const Arithmetic &a, Tiles grid, Value workTile) {
  Value row = a.div(workTile, grid.columns);
  return {row, a.sub(workTile, a.mul(row, grid.columns))};
}

Tiles buildGroupM(const Arithmetic &a, int64_t group, Tiles grid,
                  Value workTile) {
  Value height = a.min(a.b.i32(group), grid.rows);
  Value size = a.mul(height, grid.columns);
  Value band = a.div(workTile, size);
  Value inBand = a.sub(workTile, a.mul(band, size));
  Value first = a.mul(band, height);
  Value rows = a.min(height, a.sub(grid.rows, first));
  Value column = a.div(inBand, rows);
  Value row = a.sub(inBand, a.mul(column, rows));
  return {a.add(first, row), column};
}

/// Where a walk down the curve stands; see unittests/Target/Raster.cpp.
/// The direction of the walk is `along`; `isTurned` says that rows and columns
/// have been swapped.
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
  Walk turned(const Arithmetic &a) const {
    Value flipped = arith::XOrIOp::create(a.b, isTurned, a.b.i1(true));
    return {workTile,   acrossStart,    acrossDirection, across,
            alongStart, alongDirection, along,           flipped};
  }
};

/// One of two ways to go on.
Walk choose(const Arithmetic &a, Value condition,
            llvm::function_ref<Walk()> then, llvm::function_ref<Walk()> other) {
  NVVMBuilder &b = a.b;
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

/// The part of a long rectangle: before or after the middle of its length.
Walk descendLong(const Arithmetic &a, Walk walk) {
  Value half = a.halve(walk.along);
  Value size = a.mul(half, walk.across);
  Value isBefore = a.less(walk.workTile, size);
  Walk beyond = walk;
  beyond.workTile = a.sub(walk.workTile, size);
  beyond.alongStart = a.add(walk.alongStart, a.mul(walk.alongDirection, half));
  beyond.along = a.sub(walk.along, half);
  Walk next = walk;
  next.workTile = a.select(isBefore, walk.workTile, beyond.workTile);
  next.alongStart = a.select(isBefore, walk.alongStart, beyond.alongStart);
  next.along = a.select(isBefore, half, beyond.along);
  return next;
}

/// The part of a squarish rectangle: up, across or down.
Walk descendSquare(const Arithmetic &a, Walk walk) {
  Value leg = a.halve(walk.across), half = a.half(walk.along);
  Value up = a.mul(leg, half);
  Value rest = a.sub(walk.across, leg);
  return choose(
      a, a.less(walk.workTile, up),
      [&] {
        Walk next = walk;
        next.along = half;
        next.across = leg;
        return next.turned(a);
      },
      [&] {
        Value workTile = a.sub(walk.workTile, up);
        Value across = a.mul(walk.along, rest);
        return choose(
            a, a.less(workTile, across),
            [&] {
              Walk next = walk;
              next.workTile = workTile;
              next.acrossStart =
                  a.add(walk.acrossStart, a.mul(walk.acrossDirection, leg));
              next.across = rest;
              return next;
            },
            [&] {
              Walk next = walk;
              next.workTile = a.sub(workTile, across);
              Value one = a.b.i32(1);
              next.alongStart =
                  a.add(walk.alongStart,
                        a.mul(walk.alongDirection, a.sub(walk.along, one)));
              next.alongDirection = a.negate(walk.alongDirection);
              next.along = a.sub(walk.along, half);
              next.acrossStart =
                  a.add(walk.acrossStart,
                        a.mul(walk.acrossDirection, a.sub(leg, one)));
              next.acrossDirection = a.negate(walk.acrossDirection);
              next.across = leg;
              return next.turned(a);
            });
      });
}

Tiles buildHilbert(const Arithmetic &a, Tiles grid, Value workTile) {
  NVVMBuilder &b = a.b;
  Value zero = b.i32(0), one = b.i32(1);
  Value isTall = a.less(grid.columns, grid.rows);
  Walk start = {workTile,
                zero,
                one,
                a.select(isTall, grid.rows, grid.columns),
                zero,
                one,
                a.min(grid.rows, grid.columns),
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
        // 2 along > 3 across, where twice a side may not fit into 32 bits.
        Value excess = a.sub(walk.along, a.min(walk.along, walk.across));
        Value isLong = a.less(a.half(walk.across), excess);
        Walk next = choose(
            a, isLong, [&] { return descendLong(a, walk); },
            [&] { return descendSquare(a, walk); });
        scf::YieldOp::create(b, next.values());
      });
  Walk end = Walk::from(loop.getResults());
  Value isAlong =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, end.across, one);
  Value alongEnd =
      a.add(end.alongStart, a.mul(end.alongDirection, end.workTile));
  Value acrossEnd =
      a.add(end.acrossStart, a.mul(end.acrossDirection, end.workTile));
  Value x = a.select(isAlong, alongEnd, end.alongStart);
  Value y = a.select(isAlong, end.acrossStart, acrossEnd);
  return {a.select(end.isTurned, x, y), a.select(end.isTurned, y, x)};
}

} // namespace

Tiles mx::mxgpu::buildTile(NVVMBuilder &builder, RasterAttr raster, Tiles grid,
                           Value workTile) {
  Arithmetic a = {builder};
  switch (raster.getOrder()) {
  case RasterOrder::Linear:
    return buildLinear(a, grid, workTile);
  case RasterOrder::GroupM:
    return buildGroupM(a, raster.getGroup(), grid, workTile);
  case RasterOrder::Columns: {
    Tiles turned = buildLinear(a, {grid.columns, grid.rows}, workTile);
    return {turned.columns, turned.rows};
  }
  case RasterOrder::Hilbert:
    return buildHilbert(a, grid, workTile);
  }
  llvm_unreachable("unknown raster");
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

/// The number of tiles of packed rows that suffices for any groups.
static Value getPackedTiles(NVVMBuilder &builder, Value rows, Value offsets,
                            int64_t tile) {
  Value whole = arith::DivUIOp::create(builder, rows, builder.index(tile));
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
  if (source.getNumSplits() > 1 && getParts(source) == 1)
    workTiles = builder.mul(tiles, builder.i32(source.getNumSplits()));
  return {source, grid, tiles, workTiles};
}

Value mx::mxgpu::toIndex(NVVMBuilder &builder, Value number) {
  return arith::IndexCastUIOp::create(builder, builder.getIndexType(), number);
}

/// Where split number `part` of the reduction begins, and the one before it
/// ends.
static Value getPartStart(NVVMBuilder &builder, TileSchedulerOp source,
                          Value part) {
  Value step = builder.index(*source.getSplitStep());
  Value splits = builder.index(source.getNumSplits());
  Value steps = toIndex(builder, getTiles(builder, source.getReduction(),
                                          *source.getSplitStep()));
  Value before =
      arith::DivUIOp::create(builder, builder.mul(steps, part), splits);
  return builder.mul(before, step);
}

SmallVector<Value> mx::mxgpu::getWorkTile(NVVMBuilder &builder,
                                          const Problem &problem,
                                          Value workTile) {
  TileSchedulerOp source = problem.source;
  Value slice = builder.index(0), start = slice, end = source.getReduction();
  if (source.getNumSplits() > 1) {
    Value part;
    if (getParts(source) > 1) {
      part = builder.ctaRank();
    } else {
      part = arith::DivUIOp::create(builder, workTile, problem.tiles);
      workTile = arith::SubIOp::create(builder, workTile,
                                       builder.mul(part, problem.tiles));
    }
    slice = toIndex(builder, part);
    start = getPartStart(builder, source, slice);
    Value next =
        getPartStart(builder, source, builder.add(slice, builder.index(1)));
    end = arith::MinUIOp::create(builder, next, end);
  }
  Tiles tile = buildTile(builder, source.getRaster(), problem.grid, workTile);
  Value row = builder.mul(toIndex(builder, tile.rows),
                          builder.index(source.getTile()[0]));
  Value column = builder.mul(toIndex(builder, tile.columns),
                             builder.index(source.getTile()[1]));
  return {slice, row, column, start, end};
}

/// Of groups of a reduction: all have the same tiles.
static SingleWorkTile getWorkTileOfReduction(NVVMBuilder &builder,
                                             TileSchedulerOp source) {
  GroupWorkTile found = findFirstGroupWorkTile(builder, source);
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
  SmallVector<Value> arguments = getWorkTile(builder, problem, builder.ctaId());
  Value offsets = source.getOffsets();
  if (!offsets)
    return {arguments, Value()};
  int64_t tileRows = source.getTile()[0];
  Value tile =
      arith::DivUIOp::create(builder, arguments[1], builder.index(tileRows));
  GroupTile found = findGroupTile(builder, offsets, source.getRows(),
                                  builder.toI32(tile), tileRows);
  arguments[0] = toIndex(builder, found.group);
  arguments[3] = toIndex(builder, found.start);
  arguments[4] = toIndex(builder, found.end);
  return {arguments, found.exists};
}

/// Whether the CTAs of a cluster have the same work tile.
static bool isOfCluster(Operation *op) {
  return isInPair(op) || getParts(op) > 1;
}

Value mx::mxgpu::getFirstWorkTile(NVVMBuilder &builder, Operation *op) {
  return isOfCluster(op) ? builder.clusterId() : builder.ctaId();
}

Value mx::mxgpu::getWorkTileStep(NVVMBuilder &builder, Operation *op) {
  return isOfCluster(op) ? builder.clusterCount() : builder.ctaCount();
}

Value mx::mxgpu::getTiles(NVVMBuilder &builder, Value size, int64_t tile) {
  Value rounded = builder.add(size, builder.index(tile - 1));
  return builder.toI32(
      arith::DivUIOp::create(builder, rounded, builder.index(tile)));
}

Value mx::mxgpu::getNumWorkTiles(NVVMBuilder &builder, TileSchedulerOp source) {
  return getProblem(builder, source).workTiles;
}
