//===- Raster.cpp - Which tile a work tile is -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// This runs once for each work tile and role, in 32 bits: there are fewer than
// 2^31 work tiles. A 32-bit division takes about 20 instructions, and a level
// of the Hilbert curve about as many; nothing here is inside a loop over the
// reduction.
//
//===----------------------------------------------------------------------===//

#include "Raster.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

Value floorHalf(NVVMBuilder &b, Value x) {
  return arith::ShRUIOp::create(b, x, b.i32(1));
}

Value negate(NVVMBuilder &b, Value x) { return b.sub(b.i32(0), x); }

/// Half of a side, even if it can be: 2 is the only length that has an odd
/// half and cannot.
Value halve(NVVMBuilder &b, Value length) {
  Value part = floorHalf(b, length);
  Value odd = arith::AndIOp::create(b, part, b.i32(1));
  Value isMore = b.isBelow(b.i32(2), length);
  return b.add(part, b.select(isMore, odd, b.i32(0)));
}

Tiles buildLinear(NVVMBuilder &b, Tiles grid, Value unit) {
  Value row = b.div(unit, grid.columns);
  return {row, b.sub(unit, b.mul(row, grid.columns))};
}

Tiles buildGroupM(NVVMBuilder &b, int64_t group, Tiles grid, Value unit) {
  Value height = b.min(b.i32(group), grid.rows);
  Value size = b.mul(height, grid.columns);
  Value band = b.div(unit, size);
  Value inBand = b.sub(unit, b.mul(band, size));
  Value first = b.mul(band, height);
  Value rows = b.min(height, b.sub(grid.rows, first));
  Value column = b.div(inBand, rows);
  Value row = b.sub(inBand, b.mul(column, rows));
  return {b.add(first, row), column};
}

/// Where a walk down the curve stands; see unittests/Target/Raster.cpp.
/// The direction of the walk is `along`; `isTurned` says that rows and columns
/// have been swapped.
struct Walk {
  Value unit;
  Value alongStart, alongDirection, along;
  Value acrossStart, acrossDirection, across;
  Value isTurned;

  static Walk from(ValueRange v) {
    return {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]};
  }
  SmallVector<Value> values() const {
    return {unit,        alongStart,      alongDirection, along,
            acrossStart, acrossDirection, across,         isTurned};
  }
  Walk turned(NVVMBuilder &b) const {
    Value flipped = arith::XOrIOp::create(b, isTurned, b.i1(true));
    return {unit,       acrossStart,    acrossDirection, across,
            alongStart, alongDirection, along,           flipped};
  }
};

/// One of two ways to go on.
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

/// The part of a long rectangle: before or after the middle of its length.
Walk descendLong(NVVMBuilder &b, Walk walk) {
  Value half = halve(b, walk.along);
  Value size = b.mul(half, walk.across);
  Value isBefore = b.isBelow(walk.unit, size);
  Walk beyond = walk;
  beyond.unit = b.sub(walk.unit, size);
  beyond.alongStart = b.add(walk.alongStart, b.mul(walk.alongDirection, half));
  beyond.along = b.sub(walk.along, half);
  Walk next = walk;
  next.unit = b.select(isBefore, walk.unit, beyond.unit);
  next.alongStart = b.select(isBefore, walk.alongStart, beyond.alongStart);
  next.along = b.select(isBefore, half, beyond.along);
  return next;
}

/// The part of a squarish rectangle: up, across or down.
Walk descendSquare(NVVMBuilder &b, Walk walk) {
  Value leg = halve(b, walk.across), half = floorHalf(b, walk.along);
  Value up = b.mul(leg, half);
  Value rest = b.sub(walk.across, leg);
  return choose(
      b, b.isBelow(walk.unit, up),
      [&] {
        Walk next = walk;
        next.along = half;
        next.across = leg;
        return next.turned(b);
      },
      [&] {
        Value unit = b.sub(walk.unit, up);
        Value across = b.mul(walk.along, rest);
        return choose(
            b, b.isBelow(unit, across),
            [&] {
              Walk next = walk;
              next.unit = unit;
              next.acrossStart =
                  b.add(walk.acrossStart, b.mul(walk.acrossDirection, leg));
              next.across = rest;
              return next;
            },
            [&] {
              Walk next = walk;
              next.unit = b.sub(unit, across);
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

Tiles buildHilbert(NVVMBuilder &b, Tiles grid, Value unit) {
  Value zero = b.i32(0), one = b.i32(1);
  Value isTall = b.isBelow(grid.columns, grid.rows);
  Walk start = {unit,
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
        // 2 along > 3 across, where twice a side may not fit into 32 bits.
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
  Value alongEnd = b.add(end.alongStart, b.mul(end.alongDirection, end.unit));
  Value acrossEnd =
      b.add(end.acrossStart, b.mul(end.acrossDirection, end.unit));
  Value x = b.select(isAlong, alongEnd, end.alongStart);
  Value y = b.select(isAlong, end.acrossStart, acrossEnd);
  return {b.select(end.isTurned, x, y), b.select(end.isTurned, y, x)};
}

} // namespace

Tiles mx::mxgpu::buildTile(NVVMBuilder &builder, RasterAttr raster, Tiles grid,
                           Value unit) {
  switch (raster.getOrder()) {
  case RasterOrder::Linear:
    return buildLinear(builder, grid, unit);
  case RasterOrder::GroupM:
    return buildGroupM(builder, raster.getGroup(), grid, unit);
  case RasterOrder::Columns: {
    Tiles turned = buildLinear(builder, {grid.columns, grid.rows}, unit);
    return {turned.columns, turned.rows};
  }
  case RasterOrder::Hilbert:
    return buildHilbert(builder, grid, unit);
  }
  llvm_unreachable("unknown raster");
}
