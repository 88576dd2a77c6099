//===- SwappedMainLoop.cpp - Products by wgmma of B times A^T -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "SwappedMainLoop.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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

Value SwappedMainLoop::dequantizePart(LoadedTile tile, int64_t part) {
  if (getParts() == 1)
    return relabel(dequantize(tile), swapped.getOperand());
  auto type = FragmentType::get(product.problem.b, ofPart.getLoad());
  tile.elements = ExtractColumnsOp::create(
      body, type, tile.elements, body.index(part * type.getColumns()));
  auto scales = cast<VectorType>(tile.scales.getType());
  int64_t rows = scales.getDimSize(0),
          blocks = scales.getDimSize(1) / getParts();
  tile.scales = vector::ExtractStridedSliceOp::create(
      body, tile.scales, ArrayRef<int64_t>{0, part * blocks},
      ArrayRef<int64_t>{rows, blocks}, ArrayRef<int64_t>{1, 1});
  return relabel(dequantize(tile), ofPart.getOperand());
}

/// An instruction reads its registers until it is finished: the next but one of
/// a step may have them again.
Value SwappedMainLoop::multiply(ForEachWorkTileOp unit) {
  int64_t parts = getParts();
  auto sums = FragmentType::get(body.getF32Type(), swapped.getSums());
  Value row = getFirstRowOfScales(unit);
  OpBuilder::InsertionGuard guard(body);
  ForEachKOp step =
      forEachTile(unit, ValueRange(ZeroFragmentOp::create(body, sums)));
  LoadedTile loaded = loadTileOfB(row, step);
  ConsumerWaitOp stage;
  Value sum = step.getRegionIterArgs()[0];
  for (int64_t part = 0; part < parts; ++part) {
    bool isLast = part == parts - 1;
    Value operand = dequantizePart(loaded, part);
    if (!part)
      stage = ConsumerWaitOp::create(body, inputs);
    IntegerAttr column;
    if (parts > 1)
      column = body.getI64IntegerAttr(part * schedule.getTileK() / parts);
    sum =
        start(product.buffers.mma, operand, stage.getBuffer("a"), sum, column);
    if (isLast)
      ConsumerReleaseOp::create(body, loaded.stage);
    sum = MmaWaitOp::create(body, sum, /*pending=*/!isLast);
  }
  ConsumerReleaseOp::create(body, stage.getStage());
  step.getYield().getValuesMutable().assign(sum);
  return step.getResult(0);
}

void SwappedMainLoop::loadA(ProducerAcquireOp stage, Value row, Value k) {
  OperandBoxes boxes(arguments.get(Arg::AMap), *product.problem.product.a,
                     schedule.getTileK());
  loadPanels(body, boxes, row, k, stage, "a", schedule.getL2A());
}
