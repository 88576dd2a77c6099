//===- GroupSearch.cpp - Which group has a work tile ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Groups are known only on the device, by their cumulative ends, or by their
// sizes if each begins at a multiple of a stride. Each has whole tiles of
// packed rows, in order. A warp looks at 32 groups at a time: prefix sums of
// their tiles say which lane's group has the wanted tile.
//
// Ends are clamped, so that wrong ones never lead outside the tensors: none is
// beyond the last row, and none is before the end of the previous group.
//
//===----------------------------------------------------------------------===//

#include "GroupSearch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx::mxgpu;

GroupSearch::GroupSearch(NVVMBuilder &builder, Value offsets, Value rows,
                         int64_t tileRows, Value columns, Value stride)
    : builder(builder), offsets(offsets), tileRows(tileRows), columns(columns),
      count(builder.toI32(memref::DimOp::create(builder, offsets, 0))),
      rows(arith::IndexCastOp::create(builder, getOffsetType(),
                                      stride ? stride : rows)),
      stride(stride ? builder.toI32(stride) : Value()) {}

Value GroupSearch::sub(Value a, Value b) {
  return arith::SubIOp::create(builder, a, b);
}

Value GroupSearch::isBelow(Value a, Value b) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, a, b);
}

Type GroupSearch::getOffsetType() {
  return cast<MemRefType>(offsets.getType()).getElementType();
}

/// The number in memory for an existing group, clamped.
Value GroupSearch::loadNumber(Value known) {
  Type type = getOffsetType();
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  Value place =
      getGlobalAddress(builder, offsets,
                       builder.mul(arith::IndexCastOp::create(
                                       builder, builder.getIndexType(), known),
                                   builder.index(bytes)));
  Value loaded = LLVM::LoadOp::create(builder, type, place);
  return builder.toI32(
      arith::MinUIOp::create(builder, loaded, rows).getResult());
}

/// The end of a group; 0 for number -1, and of the last one after it.
Value GroupSearch::loadOffset(Value group) {
  Value last = sub(count, builder.i32(1));
  Value known = arith::MinSIOp::create(builder, group, last);
  known = arith::MaxSIOp::create(builder, known, builder.i32(0));
  Value offset = loadNumber(known);
  Value isGroup = arith::CmpIOp::create(builder, arith::CmpIPredicate::sge,
                                        group, builder.i32(0));
  return arith::SelectOp::create(builder, isGroup, offset, builder.i32(0));
}

/// Begin and end of a group.
std::pair<Value, Value> GroupSearch::loadGroup(Value group) {
  if (stride) {
    Value last = sub(count, builder.i32(1));
    Value known = arith::MinSIOp::create(builder, group, last);
    Value begin = builder.mul(known, stride);
    Value size = arith::SelectOp::create(builder, isGroup(group),
                                         loadNumber(known), builder.i32(0));
    return {begin, builder.add(begin, size)};
  }
  Value begin = loadOffset(sub(group, builder.i32(1)));
  Value end = arith::MaxSIOp::create(builder, loadOffset(group), begin);
  return {begin, end};
}

Value GroupSearch::getTilesOf(Value begin, Value end) {
  Value rounded = builder.add(sub(end, begin), builder.i32(tileRows - 1));
  return arith::DivUIOp::create(builder, rounded, builder.i32(tileRows));
}

/// The 32 groups from `first` on, one per lane.
GroupSearch::Groups GroupSearch::look(Value first) {
  Value lane = builder.laneId();
  Groups groups;
  std::tie(groups.begin, groups.end) = loadGroup(builder.add(first, lane));
  groups.units = getTilesOf(groups.begin, groups.end);
  if (columns)
    groups.units = builder.mul(groups.units, columns);
  Value sum = groups.units;
  for (int64_t distance = 1; distance < mx::target::kWarpSize; distance *= 2) {
    Value below = builder.shuffleUp(sum, distance);
    Value has = arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, lane,
                                      builder.i32(distance));
    Value addend = arith::SelectOp::create(builder, has, below, builder.i32(0));
    sum = builder.add(sum, addend);
  }
  groups.before = sub(sum, groups.units);
  return groups;
}

/// Looks at 32 groups at a time until one has the work tile. A lane's `left` is
/// the number of the tile within its group, if its group has it.
FoundWorkTile GroupSearch::find(Value unit) {
  Type i32 = builder.getI32Type();
  Value zero = builder.i32(0);
  // First group and remaining work tiles; after the loop also which lanes have
  // the work tile, and what the lane knows.
  auto loop = scf::WhileOp::create(
      builder, TypeRange{i32, i32, i32, i32, i32, i32}, ValueRange{zero, unit},
      [&](OpBuilder &nested, Location loc, ValueRange state) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(nested.getInsertionBlock(),
                                  nested.getInsertionPoint());
        Groups groups = look(state[0]);
        Value left = sub(state[1], groups.before);
        Value isHere = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                                             left, groups.units);
        Value lanes = builder.ballot(isHere);
        Value all = builder.add(groups.before, groups.units);
        Value last = builder.i32(mx::target::kWarpSize - 1);
        Value next = builder.add(state[0], builder.i32(mx::target::kWarpSize));
        Value isNone = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                             lanes, zero);
        Value goesOn =
            arith::AndIOp::create(builder, isNone, isBelow(next, count));
        Value rest = sub(state[1], builder.shuffleFrom(all, last));
        Value first = arith::SelectOp::create(builder, goesOn, next, state[0]);
        scf::ConditionOp::create(
            builder, goesOn,
            ValueRange{first, rest, lanes, groups.begin, groups.end, left});
      },
      [](OpBuilder &nested, Location loc, ValueRange state) {
        scf::YieldOp::create(nested, loc, state.take_front(2));
      });
  ValueRange state = loop.getResults();
  Value exists =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, state[2], zero);
  Value lane = LLVM::CountTrailingZerosOp::create(builder, i32, state[2],
                                                  /*is_zero_poison=*/false);
  return {builder.add(state[0], lane), builder.shuffleFrom(state[3], lane),
          builder.shuffleFrom(state[4], lane),
          builder.shuffleFrom(state[5], lane), exists};
}

Value GroupSearch::isGroup(Value group) { return isBelow(group, count); }

/// Each lane adds up the tiles of every 32nd preceding group.
std::pair<Value, Value> GroupSearch::getPackedRange(Value group) {
  Type i32 = builder.getI32Type();
  auto loop = scf::WhileOp::create(
      builder, TypeRange{i32, i32},
      ValueRange{builder.laneId(), builder.i32(0)},
      [&](OpBuilder &nested, Location loc, ValueRange state) {
        Value goesOn = arith::CmpIOp::create(
            nested, loc, arith::CmpIPredicate::slt, state[0], group);
        scf::ConditionOp::create(nested, loc, goesOn, state);
      },
      [&](OpBuilder &nested, Location loc, ValueRange state) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(nested.getInsertionBlock(),
                                  nested.getInsertionPoint());
        auto [begin, end] = loadGroup(state[0]);
        Value sum = builder.add(state[1], getTilesOf(begin, end));
        Value next = builder.add(state[0], builder.i32(mx::target::kWarpSize));
        scf::YieldOp::create(builder, ValueRange{next, sum});
      });
  // Lanes that are done wait for the others in the first exchange.
  Value sum = loop.getResult(1);
  for (int64_t distance = 1; distance < mx::target::kWarpSize; distance *= 2)
    sum = builder.add(sum, builder.shuffleXor(sum, distance));
  auto [begin, end] = loadGroup(group);
  Value size = builder.i32(tileRows);
  return {builder.mul(sum, size),
          builder.mul(builder.add(sum, getTilesOf(begin, end)), size)};
}

std::pair<Value, Value> mx::mxgpu::getTileRows(NVVMBuilder &builder,
                                               const FoundWorkTile &found,
                                               Value tile, int64_t tileRows) {
  Value start =
      builder.add(found.begin, builder.mul(tile, builder.i32(tileRows)));
  Value end = arith::MinSIOp::create(
      builder, builder.add(start, builder.i32(tileRows)), found.end);
  return {start, end};
}

GroupTile mx::mxgpu::findGroupTile(NVVMBuilder &builder, Value offsets,
                                   Value rows, Value tile, int64_t tileRows) {
  FoundWorkTile found =
      GroupSearch(builder, offsets, rows, tileRows).find(tile);
  auto [start, end] = getTileRows(builder, found, found.inGroup, tileRows);
  return {found.group, start, end, found.exists};
}
