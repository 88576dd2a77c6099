//===- SwappedMainLoop.cpp - Products by wgmma of B times A^T -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "SwappedMainLoop.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void SwappedMainLoop::createRings() {
  inputs = body.ring(product.buffers.inputs, "in");
  bInputs = body.ring(product.buffers.bInputs, "in_b");
}

void SwappedMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildMultiply(epilogue,
                [&](ForEachWorkTileOp unit) { return multiply(unit); });
  buildLoad(/*kind=*/1);
}

LoadedTile SwappedMainLoop::loadTileOfB(Value row, ForEachKOp step) {
  return loadTile(ConsumerWaitOp::create(body, bInputs), "b", "sfb",
                  product.problem.b, swapped.getLoad(), row, step,
                  /*thread=*/Value(), product.problem.isPackedB);
}

Value SwappedMainLoop::multiply(ForEachWorkTileOp unit) {
  OpBuilder::InsertionGuard guard(body);
  auto sums = FragmentType::get(body.getF32Type(), swapped.getSums());
  Value zero = ZeroFragmentOp::create(body, sums);
  Value row = getFirstRowOfScales(unit);
  ForEachKOp step = forEachTile(unit, zero);
  LoadedTile loaded = loadTileOfB(row, step);
  Value tile = relabel(dequantize(loaded), swapped.getOperand());
  auto stage = ConsumerWaitOp::create(body, inputs);
  Value started = start(product.buffers.mma, tile, stage.getBuffer("a"),
                        step.getRegionIterArgs()[0]);
  ConsumerReleaseOp::create(body, loaded.stage);
  Value next = MmaWaitOp::create(body, started, /*pending=*/0);
  ConsumerReleaseOp::create(body, stage.getStage());
  step.getYield().getValuesMutable().assign(next);
  return step.getResult(0);
}

void SwappedMainLoop::loadA(ProducerAcquireOp stage, Value row, Value k) {
  OperandBoxes boxes(arguments.get(Arg::AMap), *product.problem.product.a,
                     schedule.getTileK());
  loadPanels(body, boxes, row, k, stage, "a", schedule.getL2A());
}
