//===- MatmulLoad.cpp - The role that loads tiles and scales --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One thread fills the slots of the input ring by bulk tensor copies.
//
//===----------------------------------------------------------------------===//

#include "MatmulBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void MatmulBuilder::buildLoad() {
  OpBuilder::InsertionGuard guard(body);
  body.role("load", 1, /*elected=*/true);
  ForEachWorkOp unit = body.forEachWork(work);
  Value row = getFirstRow(unit), column = unit.getColumn();
  Value rowTile = body.div(row, kScaleTileRows);
  Value columnTile = body.div(column, kScaleTileRows);
  if (ragged == RaggedKind::Rows) {
    // Scales of a group of rows begin with a tile, and so do those of its b,
    // whose rows lie below those of the groups before.
    Value group = unit.getSlice(), columns = body.dim(result, 1);
    rowTile = body.add(rowTile, group);
    columnTile = body.add(
        columnTile, body.mul(group, body.ceilDiv(columns, kScaleTileRows)));
    column = body.add(column, body.mul(group, columns));
  }
  if (rank)
    column = body.add(column, body.mul(rank, body.index(getBRows())));
  auto [start, end] = getReductionOf(unit);
  ForEachKOp step = body.forEachK(start, end, schedule.getTileK());
  Value kTile = body.div(step.getK(), getScaleTileK());
  Value slot = body.create<AcquireOp>(inputs);
  loadOperand(slot, "a", getMap(0), row, step.getK(), schedule.getL2A());
  loadOperand(slot, "b", getMap(1), column, step.getK(), schedule.getL2B());
  body.create<TmaLoadOp>(getMap(2), ValueRange{rowTile, kTile}, slot, "sfa");
  loadBScales(slot, columnTile, kTile);
  body.create<PublishOp>(slot, Value());
  if (!schedule.getPdl())
    return;
  body.setInsertionPointAfter(unit);
  body.create<LaunchDependentsOp>();
}

/// Both CTAs of a pair need the scales of all of B: each loads half for both.
void MatmulBuilder::loadBScales(Value slot, Value columnTile, Value kTile) {
  SmallVector<Value> coords = {columnTile, kTile};
  if (!rank) {
    body.create<TmaLoadOp>(getMap(3), coords, slot, "sfb");
    return;
  }
  SmallVector<int64_t> box = getBScaleBox();
  int64_t rowTiles = getBScaleRows() / kScaleTileRows;
  int64_t blockTiles = schedule.getTileK() / getScaleTileK();
  if (box[0] < rowTiles)
    coords[0] = body.add(columnTile, rank);
  else if (box[1] < blockTiles)
    coords[1] = body.add(kTile, body.mul(rank, body.index(box[1])));
  else
    coords.push_back(rank);
  body.create<TmaLoadOp>(getMap(3), coords, slot, "sfb", rank,
                         /*multicast=*/true, CacheHint::None);
}

/// Loads the panels of an operand, a box each.
void MatmulBuilder::loadOperand(Value slot, StringRef field, Value map,
                                Value row, Value k, CacheHint cache) {
  int64_t elements = cast<TensorMapType>(map.getType()).getBox().back();
  int64_t panels = schedule.getTileK() / elements;
  for (int64_t panel = 0; panel < panels; ++panel)
    body.create<TmaLoadOp>(
        map, ValueRange{row, panel ? body.add(k, panel * elements) : k}, slot,
        field, panels > 1 ? body.index(panel) : Value(),
        /*multicast=*/false, cache);
}
