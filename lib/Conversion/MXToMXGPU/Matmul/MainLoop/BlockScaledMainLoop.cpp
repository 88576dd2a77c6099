//===- BlockScaledMainLoop.cpp - Products by tcgen05.mma ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The roles. See the header.
//
//===----------------------------------------------------------------------===//

#include "BlockScaledMainLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void BlockScaledMainLoop::createRings() {
  inputs = body.ring(product.buffers.inputs, "in");
  accumulators = body.ring(product.buffers.accumulators, "acc");
}

void BlockScaledMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildEpilogue(epilogue, accumulators);
  buildLoad();
  buildMma();
}

/// One thread fills the stages of the input ring.
void BlockScaledMainLoop::buildLoad() {
  OpBuilder::InsertionGuard guard(body);
  createRole("load", 1, /*elected=*/true, /*kind=*/1);
  ForEachWorkTileOp unit = body.forEachWorkTile(work.getScheduler());
  OperandOrigin origin = work.getOperands(unit);
  b.begin(unit, origin);
  auto [start, end] = work.getReduction(unit);
  ForEachKOp step = body.forEachK(start, end, schedule.getTileK());
  Value k = step.getK(), kTile = body.div(k, product.problem.getScaleTileK());
  auto stage = ProducerAcquireOp::create(body, inputs);
  OperandBoxes a(arguments.get(Arg::AMap), *product.problem.product.a,
                 schedule.getTileK());
  loadPanels(body, a, origin.row, k, stage, "a", schedule.getL2A());
  b.loadElements(stage, k);
  TmaLoadOp::create(body, arguments.get(Arg::AScalesMap),
                    ValueRange{origin.rowTile, kTile}, stage.getBuffer("sfa"),
                    stage.getStage());
  b.loadScales(stage, kTile);
  ProducerCommitOp::create(body, stage.getStage(), Value());
  launchDependents(unit);
}

/// Whether tiles of B can begin in the middle of a scale tile. Tiles of fewer
/// columns than half a scale tile have no second one.
static bool startsWithinScaleTile(ScheduleAttr schedule) {
  return schedule.getTileN() % kScaleTileRows == kScaleTileRows / 2;
}

/// One thread issues scale copies and MMAs, stage by stage.
void BlockScaledMainLoop::buildMma() {
  OpBuilder::InsertionGuard guard(body);
  createRole("mma", 1, /*elected=*/true, /*kind=*/1,
             /*onLeader=*/schedule.getCtaPair());
  ForEachWorkTileOp unit = body.forEachWorkTile(work.getScheduler());
  Value empty = work.isEmpty(unit);
  Value bOffset;
  if (startsWithinScaleTile(schedule))
    bOffset = arith::RemUIOp::create(body, unit.getColumn(),
                                     body.index(kScaleTileRows));
  auto accumulator = ProducerAcquireOp::create(body, accumulators);
  auto [start, end] = work.getReduction(unit);
  ForEachKOp step = body.forEachK(start, end, schedule.getTileK());
  Value accumulate = isAdded(step);
  auto stage = ConsumerWaitOp::create(body, inputs);
  auto copyScales = [&](StringRef field, ScalesType type) -> Value {
    return CopyScalesOp::create(body, type, stage.getBuffer(field),
                                /*tensor_memory=*/Value(), /*place=*/Value(),
                                schedule.getScaleStages(), IntegerAttr());
  };
  Value aScales = copyScales("sfa", product.buffers.aScales);
  Value bScales = copyScales("sfb", product.buffers.bScales);
  MmaOp::create(body, /*sums=*/Type(), product.buffers.mma,
                stage.getBuffer("a"), stage.getBuffer("b"), aScales, bScales,
                accumulator.getBuffer("d"), bOffset, accumulate,
                areTilesWhole() ? Value() : Value(step.getExtent()),
                /*first_warp=*/IntegerAttr(), /*column=*/IntegerAttr());
  ConsumerReleaseOp::create(body, stage.getStage());
  body.setInsertionPointAfter(step);
  ProducerCommitOp::create(body, accumulator.getStage(), empty);
}
