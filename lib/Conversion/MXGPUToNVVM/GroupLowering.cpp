//===- GroupLowering.cpp - Which group a tile of packed rows is in --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Groups are known on the device only, by their cumulative ends. Each has whole
// tiles of packed rows, in order. A warp looks at 32 groups at a time: the sums
// of their tiles say which lane's group has the one that is looked for.
//
// Ends are taken as they are but for two bounds, so that wrong ones lead to no
// place outside of the tensors: none is beyond the last row, and none is before
// the end of the group before.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace {

/// What the lanes know of 32 groups: all i32.
struct Groups {
  Value begin, end;    // of the lane's group
  Value tiles, before; // of it, and of those before it among the 32
};

class GroupSearch {
public:
  GroupSearch(NVVMBuilder &builder, Value offsets, Value rows, int64_t tileRows)
      : builder(builder), offsets(offsets), tileRows(tileRows),
        count(builder.toI32(builder.create<memref::DimOp>(offsets, 0))),
        rows(builder.create<arith::IndexCastOp>(getOffsetType(), rows)) {}

  GroupTile find(Value tile);

private:
  Value sub(Value a, Value b) { return builder.create<arith::SubIOp>(a, b); }
  Value isBelow(Value a, Value b) {
    return builder.create<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
  }

  Type getOffsetType() {
    return cast<MemRefType>(offsets.getType()).getElementType();
  }
  Value loadOffset(Value group);
  Groups look(Value first);

  NVVMBuilder &builder;
  Value offsets;
  int64_t tileRows;
  Value count; // of groups, i32
  Value rows;  // of all groups, of the type of the offsets
};

} // namespace

/// The end of a group; 0 for number -1, and of the last one behind it.
Value GroupSearch::loadOffset(Value group) {
  Value last = sub(count, builder.i32(1));
  Value known = builder.create<arith::MinSIOp>(group, last);
  known = builder.create<arith::MaxSIOp>(known, builder.i32(0));
  Type type = getOffsetType();
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  Value place = getGlobalAddress(builder, offsets,
                                 builder.mul(builder.create<arith::IndexCastOp>(
                                                 builder.getIndexType(), known),
                                             builder.index(bytes)));
  Value loaded = builder.create<LLVM::LoadOp>(type, place);
  Value offset =
      builder.toI32(builder.create<arith::MinUIOp>(loaded, rows).getResult());
  Value isGroup = builder.create<arith::CmpIOp>(arith::CmpIPredicate::sge,
                                                group, builder.i32(0));
  return builder.create<arith::SelectOp>(isGroup, offset, builder.i32(0));
}

/// The 32 groups from `first` on, one a lane.
Groups GroupSearch::look(Value first) {
  Value lane = builder.laneId();
  Value group = builder.add(first, lane);
  Groups groups;
  groups.begin = loadOffset(sub(group, builder.i32(1)));
  groups.end = builder.create<arith::MaxSIOp>(loadOffset(group), groups.begin);
  Value rows =
      builder.add(sub(groups.end, groups.begin), builder.i32(tileRows - 1));
  groups.tiles = builder.create<arith::DivUIOp>(rows, builder.i32(tileRows));
  Value sum = groups.tiles;
  for (int64_t distance = 1; distance < mx::target::kWarpSize; distance *= 2) {
    Value below = builder.shuffleUp(sum, distance);
    Value has = builder.create<arith::CmpIOp>(arith::CmpIPredicate::sge, lane,
                                              builder.i32(distance));
    Value addend = builder.create<arith::SelectOp>(has, below, builder.i32(0));
    sum = builder.add(sum, addend);
  }
  groups.before = sub(sum, groups.tiles);
  return groups;
}

/// Looks at 32 groups after the other until one has the tile. A lane's `left`
/// is the number of the tile in its group, if it has it.
GroupTile GroupSearch::find(Value tile) {
  Type i32 = builder.getI32Type();
  Value zero = builder.i32(0);
  // First group, tiles left; and behind the loop which lanes have the tile,
  // and what the lane knows.
  auto loop = builder.create<scf::WhileOp>(
      TypeRange{i32, i32, i32, i32, i32, i32}, ValueRange{zero, tile},
      [&](OpBuilder &nested, Location loc, ValueRange state) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(nested.getInsertionBlock(),
                                  nested.getInsertionPoint());
        Groups groups = look(state[0]);
        Value left = sub(state[1], groups.before);
        Value isHere = builder.create<arith::CmpIOp>(arith::CmpIPredicate::ult,
                                                     left, groups.tiles);
        Value lanes = builder.ballot(isHere);
        Value all = builder.add(groups.before, groups.tiles);
        Value last = builder.i32(mx::target::kWarpSize - 1);
        Value next = builder.add(state[0], builder.i32(mx::target::kWarpSize));
        Value isNone = builder.create<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                     lanes, zero);
        Value goesOn =
            builder.create<arith::AndIOp>(isNone, isBelow(next, count));
        Value rest = sub(state[1], builder.shuffleFrom(all, last));
        Value first = builder.create<arith::SelectOp>(goesOn, next, state[0]);
        builder.create<scf::ConditionOp>(
            goesOn,
            ValueRange{first, rest, lanes, groups.begin, groups.end, left});
      },
      [](OpBuilder &nested, Location loc, ValueRange state) {
        scf::YieldOp::create(nested, loc, state.take_front(2));
      });
  ValueRange state = loop.getResults();
  Value exists =
      builder.create<arith::CmpIOp>(arith::CmpIPredicate::ne, state[2], zero);
  Value lane = builder.create<LLVM::CountTrailingZerosOp>(
      i32, state[2], /*is_zero_poison=*/false);
  Value begin = builder.shuffleFrom(state[3], lane);
  Value groupEnd = builder.shuffleFrom(state[4], lane);
  Value before = builder.shuffleFrom(state[5], lane);
  Value start = builder.add(begin, builder.mul(before, builder.i32(tileRows)));
  Value end = builder.create<arith::MinSIOp>(
      builder.add(start, builder.i32(tileRows)), groupEnd);
  return {builder.add(state[0], lane), start, end, exists};
}

GroupTile mx::mxgpu::findGroupTile(NVVMBuilder &builder, Value offsets,
                                   Value rows, Value tile, int64_t tileRows) {
  return GroupSearch(builder, offsets, rows, tileRows).find(tile);
}
