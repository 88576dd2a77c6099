//===- GroupWorkTiles.cpp - Units of work that groups have ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A unit's number says which group has it and where it is in the group, by the
// ends of the groups, which only the device knows. Groups of rows have as many
// units as tiles cover their rows; groups of a reduction have all outputs, and
// each its part of the reduction.
//
//===----------------------------------------------------------------------===//

#include "GroupSearch.h"
#include "Raster.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx::mxgpu;

/// The words of shared memory that tell of a unit.
static constexpr int64_t kUnitWords = 8;

namespace {

class WorkTileSearch {
public:
  WorkTileSearch(NVVMBuilder &builder, TileSchedulerOp source)
      : builder(builder), source(source), tileRows(source.getTile()[0]),
        tileColumns(source.getTile()[1]),
        columns(getTiles(builder, source.getColumns(), tileColumns)) {}

  GroupWorkTile find(Value number) {
    return source.getOverReduction() ? findOfReduction(number)
                                     : findOfRows(number);
  }

private:
  GroupWorkTile findOfRows(Value number);
  GroupWorkTile findOfReduction(Value number);

  GroupWorkTile finish(Value number, Value exists, ArrayRef<Value> arguments) {
    return {SmallVector<Value>(arguments),
            arith::SelectOp::create(builder, exists, number, builder.i32(-1))};
  }

  NVVMBuilder &builder;
  TileSchedulerOp source;
  int64_t tileRows, tileColumns;
  Value columns; // tiles of them (i32)
};

} // namespace

/// A group's units are visited in the order of the raster. The rows of the
/// group alone are the unit's: packed rows are not asked for.
GroupWorkTile WorkTileSearch::findOfRows(Value number) {
  GroupSearch groups(builder, source.getOffsets(), source.getRows(), tileRows,
                     columns, source.getStride());
  FoundWorkTile found = groups.find(number);
  Value tiles = groups.getTilesOf(found.begin, found.end);
  Tiles tile =
      buildTile(builder, source.getRaster(), {tiles, columns}, found.inGroup);
  auto [start, end] = getTileRows(builder, found, tile.rows, tileRows);
  return finish(
      number, found.exists,
      {found.group, start, builder.mul(tile.columns, tileColumns), start, end});
}

/// All groups have the same outputs.
GroupWorkTile WorkTileSearch::findOfReduction(Value number) {
  Value rows = getTiles(builder, source.getRows(), tileRows);
  Value each = builder.mul(rows, columns);
  Value group = arith::DivUIOp::create(builder, number, each);
  Value inGroup =
      arith::SubIOp::create(builder, number, builder.mul(group, each));
  Tiles tile = buildTile(builder, source.getRaster(), {rows, columns}, inGroup);
  GroupSearch groups(builder, source.getOffsets(), source.getReduction(),
                     mx::kRaggedReductionAlign);
  Value exists = groups.isGroup(group);
  auto [start, end] =
      groups.getPackedRange(group, builder.toI32(source.getReduction()));
  return finish(number, exists,
                {group, builder.mul(tile.rows, tileRows),
                 builder.mul(tile.columns, tileColumns), start, end});
}

GroupWorkTile mx::mxgpu::findFirstGroupWorkTile(NVVMBuilder &builder,
                                                TileSchedulerOp source) {
  return WorkTileSearch(builder, source).find(getFirstUnit(builder, source));
}

GroupWorkTile mx::mxgpu::findNextGroupWorkTile(NVVMBuilder &builder,
                                               TileSchedulerOp source,
                                               scf::WhileOp loop) {
  Value number = loop.getBeforeArguments().back();
  return WorkTileSearch(builder, source)
      .find(builder.add(number, getUnitStep(builder, source)));
}

void mx::mxgpu::storeGroupWorkTile(NVVMBuilder &builder,
                                   const GroupWorkTile &unit, Value address) {
  SmallVector<Value> words = unit.getWords();
  words.resize(kUnitWords, builder.i32(0));
  for (size_t i = 0; i < kUnitWords; i += 4)
    builder.storeShared(builder.offset(address, 4 * i),
                        ArrayRef(words).slice(i, 4));
}

GroupWorkTile mx::mxgpu::loadGroupWorkTile(NVVMBuilder &builder,
                                           Value address) {
  SmallVector<Value> words = builder.loadShared(address, 4);
  llvm::append_range(words, builder.loadShared(builder.offset(address, 16), 2));
  Value number = words.pop_back_val();
  return {SmallVector<Value>(words), number};
}
