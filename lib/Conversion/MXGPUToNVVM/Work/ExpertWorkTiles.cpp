//===- ExpertWorkTiles.cpp - Work tiles of expert groups ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps the number of a work tile to its expert group and to its position in the
// group. The extents of the groups are known only on the device. They are
// cumulative ends, or sizes if each group starts at a multiple of a stride.
// Groups of rows own whole tiles of packed rows, in order. Groups of a
// reduction own all outputs and a segment of the reduction.
//
// A warp processes 32 groups at a time. Prefix sums of their tile counts
// determine the lane of the group with the requested tile. Invalid offsets
// are clamped (docs/reference/Spec.md, Groups), so no group ends after the
// last offset, after the last row, or before its predecessor.
//===----------------------------------------------------------------------===//

#include "WorkTiles.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Search for the group of a work tile
//===----------------------------------------------------------------------===//

namespace {

/// Work tile in its group. The values are i32 unless stated otherwise.
struct FoundWorkTile {
  Value group, begin, end; ///< the group and its rows
  Value inExpert;          ///< its number in the group
  Value exists;            ///< i1: the others are valid.
};

class ExpertSearch {
public:
  /// A work tile has `tileRows` rows. If `columns` (i32) is given, each row of
  /// tiles consists of `columns` work tiles. No group ends beyond `rows`
  /// (index) or the last offset. If `stride` (index) is given, groups start at
  /// its multiples, and `offsets` contains their sizes.
  ExpertSearch(NVVMBuilder &builder, Value offsets, Value rows,
               int64_t tileRows, Value columns = {}, Value stride = {});

  /// Finds the group of work tile `workTile` (i32).
  FoundWorkTile find(Value workTile);

  /// Returns the number of tiles that cover rows `begin` to `end` (all i32).
  Value getTilesOf(Value begin, Value end);

  /// Returns true if group number `group` (i32) exists.
  Value isExpert(Value group);
  /// Returns the begin and end (i32) of a group in packed rows, where each
  /// group occupies whole tiles. Both are at most `most` (i32).
  std::pair<Value, Value> getPackedRange(Value group, Value most);

private:
  /// State of 32 groups, one per lane. All values are i32.
  struct Experts {
    Value begin, end; // of the lane's group
    Value workTiles,
        before; // number of work tiles of the group, and of all earlier lanes
  };

  Value isBelow(Value a, Value b);
  Type getOffsetType();
  Value load(Value group);
  Value loadClamped(Value group);
  Experts loadExperts(Value first, Value previous);
  Experts look(Value first, Value previous);

  /// Number of results of a scan in addition to its carried values.
  static constexpr unsigned kFound = 4;
  SmallVector<Value>
  scan(ValueRange initial,
       function_ref<Value(ValueRange, SmallVector<Value> &)> body);
  bool areFew();

  NVVMBuilder &builder;
  Value offsets;
  int64_t tileRows;
  Value columns;
  Value count;  // number of groups (i32)
  Value limit;  // upper bound of rows, in the type of the offsets
  Value stride; // distance between starts of groups (i32), or null
};

} // namespace

ExpertSearch::ExpertSearch(NVVMBuilder &builder, Value offsets, Value rows,
                           int64_t tileRows, Value columns, Value stride)
    : builder(builder), offsets(offsets), tileRows(tileRows), columns(columns),
      count(builder.toI32(memref::DimOp::create(builder, offsets, 0))),
      limit(arith::IndexCastOp::create(builder, getOffsetType(),
                                       stride ? stride : rows)),
      stride(stride ? builder.toI32(stride) : Value()) {
  // No group ends beyond the last offset.
  if (!stride)
    limit = arith::MinSIOp::create(builder, load(builder.sub(count, 1)), limit);
}

Value ExpertSearch::isBelow(Value a, Value b) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, a, b);
}

Type ExpertSearch::getOffsetType() {
  return cast<MemRefType>(offsets.getType()).getElementType();
}

/// Loads the offset of an existing group.
Value ExpertSearch::load(Value known) {
  Type type = getOffsetType();
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  Value place =
      getGlobalAddress(builder, offsets,
                       builder.mul(arith::IndexCastOp::create(
                                       builder, builder.getIndexType(), known),
                                   builder.index(bytes)));
  return LLVM::LoadOp::create(builder, type, place);
}

/// Loads an offset, clamped to [0, limit], as i32.
Value ExpertSearch::loadClamped(Value known) {
  Value zero = arith::ConstantOp::create(
      builder, builder.getIntegerAttr(getOffsetType(), 0));
  Value most = arith::MinSIOp::create(builder, load(known), limit);
  return builder.toI32(arith::MaxSIOp::create(builder, most, zero).getResult());
}

/// Loads the begin and end of 32 groups, starting at `first`, a group per lane.
/// `previous` is the end of the preceding group. Missing groups are empty.
ExpertSearch::Experts ExpertSearch::loadExperts(Value first, Value previous) {
  Value lane = builder.laneId(), group = builder.add(first, lane);
  Value last = builder.sub(count, 1);
  Value known = arith::MinSIOp::create(builder, group, last);
  Experts groups;
  if (stride) {
    Value size =
        builder.select(isExpert(group), loadClamped(known), builder.i32(0));
    groups.begin = builder.mul(known, stride);
    groups.end = builder.add(groups.begin, size);
    return groups;
  }
  // A running maximum ensures that no group ends before its predecessor.
  Value end = loadClamped(known);
  end = arith::MaxSIOp::create(builder, end, previous);
  for (int64_t distance = 1; distance < mx::target::kWarpSize; distance *= 2)
    end =
        arith::MaxSIOp::create(builder, end, builder.shuffleUp(end, distance));
  Value isFirstLane = builder.isEqual(lane, builder.i32(0));
  groups.begin =
      builder.select(isFirstLane, previous, builder.shuffleUp(end, 1));
  groups.end = end;
  return groups;
}

Value ExpertSearch::getTilesOf(Value begin, Value end) {
  Value rounded =
      builder.add(builder.sub(end, begin), builder.i32(tileRows - 1));
  return builder.div(rounded, tileRows);
}

/// Loads 32 groups, starting at `first`, and counts their work tiles.
ExpertSearch::Experts ExpertSearch::look(Value first, Value previous) {
  Value lane = builder.laneId();
  Experts groups = loadExperts(first, previous);
  groups.workTiles = getTilesOf(groups.begin, groups.end);
  if (columns)
    groups.workTiles = builder.mul(groups.workTiles, columns);
  Value sum = groups.workTiles;
  for (int64_t distance = 1; distance < mx::target::kWarpSize; distance *= 2) {
    Value below = builder.shuffleUp(sum, distance);
    Value has = arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, lane,
                                      builder.i32(distance));
    Value addend = builder.select(has, below, builder.i32(0));
    sum = builder.add(sum, addend);
  }
  groups.before = builder.sub(sum, groups.workTiles);
  return groups;
}

/// Scans 32 groups at a time as long as `body` returns true. `body` maps the
/// carried values to their next values, and appends the results of the scan. No
/// loop is built if a warp processes all groups at once.
SmallVector<Value> ExpertSearch::scan(
    ValueRange initial,
    llvm::function_ref<Value(ValueRange, SmallVector<Value> &)> body) {
  SmallVector<Value> results;
  if (areFew()) {
    body(initial, results);
    return results;
  }
  unsigned carried = initial.size();
  SmallVector<Type> types(carried + kFound, builder.getI32Type());
  auto loop = scf::WhileOp::create(
      builder, types, initial,
      [&](OpBuilder &nested, Location loc, ValueRange state) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(nested.getInsertionBlock(),
                                  nested.getInsertionPoint());
        SmallVector<Value> found;
        Value goesOn = body(state, found);
        scf::ConditionOp::create(builder, goesOn, found);
      },
      [&](OpBuilder &nested, Location loc, ValueRange state) {
        scf::YieldOp::create(nested, loc, state.take_front(carried));
      });
  return llvm::to_vector_of<Value>(loop.getResults());
}

/// Returns true if a warp processes all groups at once.
bool ExpertSearch::areFew() {
  int64_t groups = cast<MemRefType>(offsets.getType()).getDimSize(0);
  return !ShapedType::isDynamic(groups) && groups <= mx::target::kWarpSize;
}

/// Finds the lane of the group with the work tile. `left` is the number of
/// the tile within the lane's group, and out of range in all other lanes.
FoundWorkTile ExpertSearch::find(Value workTile) {
  Value zero = builder.i32(0);
  // The scan carries the first group, the remaining work tiles and the end of
  // the previous groups. Its results are a mask of the lane with the work tile,
  // and the begin and end of the lane's group.
  SmallVector<Value> state =
      scan({zero, workTile, zero},
           [&](ValueRange state, SmallVector<Value> &found) -> Value {
             Experts groups = look(state[0], state[2]);
             Value left = builder.sub(state[1], groups.before);
             Value isHere = builder.isBelow(left, groups.workTiles);
             Value lanes = builder.ballot(isHere);
             found = {state[0],     state[1],   state[2], lanes,
                      groups.begin, groups.end, left};
             if (areFew())
               return {};
             Value all = builder.add(groups.before, groups.workTiles);
             Value last = builder.i32(mx::target::kWarpSize - 1);
             Value next =
                 builder.add(state[0], builder.i32(mx::target::kWarpSize));
             Value isNone = builder.isEqual(lanes, zero);
             Value goesOn = builder.andBits(isNone, isBelow(next, count));
             found[0] = builder.select(goesOn, next, state[0]);
             found[1] = builder.sub(state[1], builder.shuffleFrom(all, last));
             found[2] = builder.shuffleFrom(groups.end, last);
             return goesOn;
           });
  Value exists =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, state[3], zero);
  Value lane = LLVM::CountTrailingZerosOp::create(
      builder, builder.getI32Type(), state[3], /*is_zero_poison=*/false);
  return {builder.add(state[0], lane), builder.shuffleFrom(state[4], lane),
          builder.shuffleFrom(state[5], lane),
          builder.shuffleFrom(state[6], lane), exists};
}

Value ExpertSearch::isExpert(Value group) { return isBelow(group, count); }

/// Scans groups up to `group`. Each lane sums the tiles of its earlier groups.
std::pair<Value, Value> ExpertSearch::getPackedRange(Value group, Value most) {
  Value zero = builder.i32(0);
  // The scan carries the first group, the lane's sum of tiles and the end of
  // the previous groups. Its results are the begin and end of the lane's group.
  SmallVector<Value> state =
      scan({zero, zero, zero},
           [&](ValueRange state, SmallVector<Value> &found) -> Value {
             Experts groups = loadExperts(state[0], state[2]);
             Value isBefore =
                 isBelow(builder.add(state[0], builder.laneId()), group);
             Value tiles = builder.select(
                 isBefore, getTilesOf(groups.begin, groups.end), zero);
             found = {state[0],   builder.add(state[1], tiles),
                      state[2],   groups.begin,
                      groups.end, zero,
                      zero};
             if (areFew())
               return {};
             Value last = builder.i32(mx::target::kWarpSize - 1);
             found[0] =
                 builder.add(state[0], builder.i32(mx::target::kWarpSize));
             found[2] = builder.shuffleFrom(groups.end, last);
             return arith::CmpIOp::create(builder, arith::CmpIPredicate::sle,
                                          found[0], group);
           });
  Value sum = state[1];
  for (int64_t distance = 1; distance < mx::target::kWarpSize; distance *= 2)
    sum = builder.add(sum, builder.shuffleXor(sum, distance));
  // shfl takes the lane modulo 32.
  Value begin = builder.shuffleFrom(state[3], group);
  Value end = builder.shuffleFrom(state[4], group);
  Value size = builder.i32(tileRows);
  auto bound = [&](Value tiles) -> Value {
    return arith::MinSIOp::create(builder, builder.mul(tiles, size), most);
  };
  return {bound(sum), bound(builder.add(sum, getTilesOf(begin, end)))};
}

/// Returns the begin and end of the rows of a group's tile (i32).
static std::pair<Value, Value> getTileRows(NVVMBuilder &builder,
                                           const FoundWorkTile &found,
                                           Value tile, int64_t tileRows) {
  Value start =
      builder.add(found.begin, builder.mul(tile, builder.i32(tileRows)));
  Value end = arith::MinSIOp::create(
      builder, builder.add(start, builder.i32(tileRows)), found.end);
  return {start, end};
}

ExpertTile mx::mxgpu::findExpertTile(NVVMBuilder &builder, Value offsets,
                                     Value rows, Value tile, int64_t tileRows) {
  FoundWorkTile found =
      ExpertSearch(builder, offsets, rows, tileRows).find(tile);
  auto [start, end] = getTileRows(builder, found, found.inExpert, tileRows);
  return {found.group, start, end, found.exists};
}

//===----------------------------------------------------------------------===//
// Work tiles
//===----------------------------------------------------------------------===//

/// Words of shared memory per work tile.
static constexpr int64_t kWorkTileWords = 8;

namespace {

class WorkTileSearch {
public:
  WorkTileSearch(NVVMBuilder &builder, TileSchedulerOp source)
      : builder(builder), source(source), tileRows(source.getTile()[0]),
        tileColumns(source.getTile()[1]),
        columns(getTiles(builder, source.getColumns(), tileColumns)) {}

  ExpertWorkTile find(Value number) {
    return source.getOverReduction() ? findOfReduction(number)
                                     : findOfRows(number);
  }

private:
  ExpertWorkTile findOfRows(Value number);
  ExpertWorkTile findOfReduction(Value number);

  ExpertWorkTile finish(Value number, Value exists, ArrayRef<Value> arguments) {
    return {SmallVector<Value>(arguments),
            builder.select(exists, number, builder.i32(-1))};
  }

  NVVMBuilder &builder;
  TileSchedulerOp source;
  int64_t tileRows, tileColumns;
  Value columns; // number of column tiles (i32)
};

} // namespace

/// Finds a work tile of groups of rows. The work tiles of a group are in raster
/// order, and a work tile contains only rows of its group.
ExpertWorkTile WorkTileSearch::findOfRows(Value number) {
  ExpertSearch groups(builder, source.getOffsets(), source.getRows(), tileRows,
                      columns, source.getStride());
  FoundWorkTile found = groups.find(number);
  Value tiles = groups.getTilesOf(found.begin, found.end);
  Tiles tile =
      buildTile(builder, source.getRaster(), {tiles, columns}, found.inExpert);
  auto [start, end] = getTileRows(builder, found, tile.rows, tileRows);
  return finish(
      number, found.exists,
      {found.group, start, builder.mul(tile.columns, tileColumns), start, end});
}

/// Finds a work tile if groups divide the reduction, so the outputs of all
/// groups have the same shape.
ExpertWorkTile WorkTileSearch::findOfReduction(Value number) {
  Value rows = getTiles(builder, source.getRows(), tileRows);
  Value each = builder.mul(rows, columns);
  Value group = builder.div(number, each);
  Value inExpert = builder.sub(number, builder.mul(group, each));
  Tiles tile =
      buildTile(builder, source.getRaster(), {rows, columns}, inExpert);
  ExpertSearch groups(builder, source.getOffsets(), source.getReduction(),
                      mx::kRaggedReductionAlign);
  Value exists = groups.isExpert(group);
  auto [start, end] =
      groups.getPackedRange(group, builder.toI32(source.getReduction()));
  return finish(number, exists,
                {group, builder.mul(tile.rows, tileRows),
                 builder.mul(tile.columns, tileColumns), start, end});
}

ExpertWorkTile mx::mxgpu::findFirstExpertWorkTile(NVVMBuilder &builder,
                                                  TileSchedulerOp source) {
  return WorkTileSearch(builder, source)
      .find(getFirstWorkTile(builder, source));
}

ExpertWorkTile mx::mxgpu::findNextExpertWorkTile(NVVMBuilder &builder,
                                                 TileSchedulerOp source,
                                                 scf::WhileOp loop) {
  Value number = loop.getBeforeArguments().back();
  return WorkTileSearch(builder, source)
      .find(builder.add(number, getWorkTileStep(builder, source)));
}

void mx::mxgpu::storeExpertWorkTile(NVVMBuilder &builder,
                                    const ExpertWorkTile &workTile,
                                    Value address) {
  SmallVector<Value> words = workTile.getWords();
  words.resize(kWorkTileWords, builder.i32(0));
  for (size_t i = 0; i < kWorkTileWords; i += 4)
    builder.storeShared(builder.offset(address, 4 * i),
                        ArrayRef(words).slice(i, 4));
}

ExpertWorkTile mx::mxgpu::loadExpertWorkTile(NVVMBuilder &builder,
                                             Value address) {
  SmallVector<Value> words = builder.loadShared(address, 4);
  llvm::append_range(words, builder.loadShared(builder.offset(address, 16), 2));
  Value number = words.pop_back_val();
  return {SmallVector<Value>(words), number};
}
