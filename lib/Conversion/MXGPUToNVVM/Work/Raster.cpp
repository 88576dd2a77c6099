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

Tiles buildLinear(const Arithmetic &a, Tiles grid, Value unit) {
  Value row = a.div(unit, grid.columns);
  return {row, a.sub(unit, a.mul(row, grid.columns))};
}

Tiles buildGroupM(const Arithmetic &a, int64_t group, Tiles grid, Value unit) {
  Value height = a.min(a.b.i32(group), grid.rows);
  Value size = a.mul(height, grid.columns);
  Value band = a.div(unit, size);
  Value inBand = a.sub(unit, a.mul(band, size));
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
  Walk turned(const Arithmetic &a) const {
    Value flipped = arith::XOrIOp::create(a.b, isTurned, a.b.i1(true));
    return {unit,       acrossStart,    acrossDirection, across,
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
  Value isBefore = a.less(walk.unit, size);
  Walk beyond = walk;
  beyond.unit = a.sub(walk.unit, size);
  beyond.alongStart = a.add(walk.alongStart, a.mul(walk.alongDirection, half));
  beyond.along = a.sub(walk.along, half);
  Walk next = walk;
  next.unit = a.select(isBefore, walk.unit, beyond.unit);
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
      a, a.less(walk.unit, up),
      [&] {
        Walk next = walk;
        next.along = half;
        next.across = leg;
        return next.turned(a);
      },
      [&] {
        Value unit = a.sub(walk.unit, up);
        Value across = a.mul(walk.along, rest);
        return choose(
            a, a.less(unit, across),
            [&] {
              Walk next = walk;
              next.unit = unit;
              next.acrossStart =
                  a.add(walk.acrossStart, a.mul(walk.acrossDirection, leg));
              next.across = rest;
              return next;
            },
            [&] {
              Walk next = walk;
              next.unit = a.sub(unit, across);
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

Tiles buildHilbert(const Arithmetic &a, Tiles grid, Value unit) {
  NVVMBuilder &b = a.b;
  Value zero = b.i32(0), one = b.i32(1);
  Value isTall = a.less(grid.columns, grid.rows);
  Walk start = {unit,
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
  Value alongEnd = a.add(end.alongStart, a.mul(end.alongDirection, end.unit));
  Value acrossEnd =
      a.add(end.acrossStart, a.mul(end.acrossDirection, end.unit));
  Value x = a.select(isAlong, alongEnd, end.alongStart);
  Value y = a.select(isAlong, end.acrossStart, acrossEnd);
  return {a.select(end.isTurned, x, y), a.select(end.isTurned, y, x)};
}

} // namespace

Tiles mx::mxgpu::buildTile(NVVMBuilder &builder, RasterAttr raster, Tiles grid,
                           Value unit) {
  Arithmetic a = {builder};
  switch (raster.getOrder()) {
  case RasterOrder::Linear:
    return buildLinear(a, grid, unit);
  case RasterOrder::GroupM:
    return buildGroupM(a, raster.getGroup(), grid, unit);
  case RasterOrder::Columns: {
    Tiles turned = buildLinear(a, {grid.columns, grid.rows}, unit);
    return {turned.columns, turned.rows};
  }
  case RasterOrder::Hilbert:
    return buildHilbert(a, grid, unit);
  }
  llvm_unreachable("unknown raster");
}
