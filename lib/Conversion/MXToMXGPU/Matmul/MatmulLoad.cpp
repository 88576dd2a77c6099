//===- MatmulLoad.cpp - The role that loads tiles and scales --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One thread fills the stages of the input ring by bulk tensor copies.
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
  ForEachWorkTileOp unit = body.forEachWorkTile(work);
  Value row = getFirstRow(unit), column = unit.getColumn();
  Value rowTile = body.div(row, kScaleTileRows);
  Value columnTile = body.div(column, kScaleTileRows);
  if (ragged == RaggedKind::Rows) {
    // Scales of a group of rows begin with a tile, and so do those of its b,
    // whose rows lie below those of the groups before.
    Value group = unit.getGroup(), columns = getColumns(body, result);
    rowTile = getRowTile(unit);
    columnTile = body.add(
        columnTile, body.mul(group, body.ceilDiv(columns, kScaleTileRows)));
    column = body.add(column, body.mul(group, columns));
  }
  if (rank)
    column = body.add(column, body.mul(rank, body.index(getBRows())));
  auto [start, end] = getReductionOf(unit);
  ForEachKOp step = body.forEachK(start, end, schedule.getTileK());
  Value kTile = body.div(step.getK(), getScaleTileK());
  auto stage = ProducerAcquireOp::create(body, inputs);
  loadOperand(stage, "a", getMap(0), row, step.getK(), schedule.getL2A());
  if (numB > 1)
    loadBParts(stage, unit, step.getK());
  else
    loadOperand(stage, "b", getMap(1), column, step.getK(), schedule.getL2B());
  TmaLoadOp::create(body, getMap(2), ValueRange{rowTile, kTile},
                    stage.getBuffer("sfa"), stage.getStage());
  if (numB > 1)
    loadBPartScales(stage, unit, kTile);
  else
    loadBScales(stage, columnTile, kTile);
  ProducerCommitOp::create(body, stage.getStage(), Value());
  if (!schedule.getPdl())
    return;
  body.setInsertionPointAfter(unit);
  LaunchDependentsOp::create(body);
}

/// Both CTAs of a pair need the scales of all of B: each loads half for both.
void MatmulBuilder::loadBScales(ProducerAcquireOp stage, Value columnTile,
                                Value kTile) {
  SmallVector<Value> coords = {columnTile, kTile};
  if (!rank) {
    TmaLoadOp::create(body, getMap(3), coords, stage.getBuffer("sfb"),
                      stage.getStage());
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
  TmaLoadOp::create(body, getMap(3), coords, stage.getBuffer("sfb"),
                    stage.getStage(), rank,
                    /*multicast=*/true, CacheHint::None);
}

/// Calls `load` with each part of B that this CTA loads, and where it lies
/// among those.
void MatmulBuilder::forEachPart(
    llvm::function_ref<void(Value part, int64_t place)> load) {
  int64_t count = numB / schedule.getCtas();
  for (int64_t place = 0; place < count; ++place) {
    Value part = body.index(place);
    if (rank)
      part = body.add(body.mul(rank, body.index(count)), place);
    load(part, place);
  }
}

/// A tile has as many columns of each part, which lie one below the other.
void MatmulBuilder::loadBParts(ProducerAcquireOp stage, ForEachWorkTileOp unit,
                               Value k) {
  Value columns = getColumns(body, result);
  Value first = body.mul(unit.getGroup(), body.index(numB));
  int64_t elements = cast<TensorMapType>(getMap(1).getType()).getBox().back();
  int64_t panels = schedule.getTileK() / elements;
  int64_t boxes = getBRows() / getBBoxRows();
  forEachPart([&](Value part, int64_t place) {
    Value row =
        body.add(unit.getColumn(), body.mul(body.add(first, part), columns));
    for (int64_t panel = 0; panel < panels; ++panel) {
      Value box;
      if (panels * boxes > 1)
        box = body.index(panel * boxes + place);
      TmaLoadOp::create(
          body, getMap(1),
          ValueRange{row, panel ? body.add(k, panel * elements) : k},
          stage.getBuffer("b"), stage.getStage(), box, /*multicast=*/false,
          schedule.getL2B());
    }
  });
}

/// Both CTAs of a pair need the scales of all parts.
void MatmulBuilder::loadBPartScales(ProducerAcquireOp stage,
                                    ForEachWorkTileOp unit, Value kTile) {
  Value columns = getColumns(body, result);
  Value tiles = body.div(columns, kScaleTileRows);
  Value first = body.mul(unit.getGroup(), body.index(numB));
  Value tile = body.div(unit.getColumn(), kScaleTileRows);
  forEachPart([&](Value part, int64_t place) {
    Value row = body.add(tile, body.mul(body.add(first, part), tiles));
    TmaLoadOp::create(body, getMap(3), ValueRange{row, kTile},
                      stage.getBuffer("sfb"), stage.getStage(),
                      rank ? rank : body.index(place),
                      /*multicast=*/rank != nullptr, CacheHint::None);
  });
}

/// Loads the panels of an operand, a box each.
void MatmulBuilder::loadOperand(ProducerAcquireOp stage, StringRef field,
                                Value map, Value row, Value k,
                                CacheHint cache) {
  int64_t elements = cast<TensorMapType>(map.getType()).getBox().back();
  int64_t panels = schedule.getTileK() / elements;
  for (int64_t panel = 0; panel < panels; ++panel)
    TmaLoadOp::create(
        body, map, ValueRange{row, panel ? body.add(k, panel * elements) : k},
        stage.getBuffer(field), stage.getStage(),
        panels > 1 ? body.index(panel) : Value(),
        /*multicast=*/false, cache);
}
