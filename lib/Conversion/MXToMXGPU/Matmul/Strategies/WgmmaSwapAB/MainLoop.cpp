//===- MainLoop.cpp - W times X^T by wgmma --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One role multiplies, one loads. See the header.
//
//===----------------------------------------------------------------------===//

#include "MainLoop.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void SwapABMainLoop::createRings() {
  inputs = body.ring(product.buffers.inputs, "in");
  bInputs = body.ring(product.buffers.bInputs, "in_b");
}

void SwapABMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildMultiply(epilogue,
                [&](ForEachWorkTileOp workTile) { return multiply(workTile); });
  buildLoad(/*kind=*/1);
}

LoadedTile SwapABMainLoop::loadTileOfB(Value row, ForEachKOp step) {
  return loadTile(ConsumerWaitOp::create(body, bInputs), "b", "sfb",
                  product.problem.b, swapped.getLoad(), row, step,
                  /*thread=*/Value(), product.problem.isPackedB);
}

Value SwapABMainLoop::dequantizePart(LoadedTile tile, int64_t part) {
  if (getParts() == 1)
    return relabel(dequantize(tile, swapped.getDequantized()),
                   swapped.getOperand());
  auto type = FragmentType::get(product.problem.b, ofPart.getLoad());
  // A run of a permuted tile lies in one block, whose scale both halves have.
  bool isHalfOfRun = schedule.getTileK() / getParts() < getPermuted();
  if (isHalfOfRun)
    tile.elements = relabel(tile.elements, swapped.getHalves());
  tile.elements = ExtractColumnsOp::create(
      body, type, tile.elements, body.index(part * type.getColumns()));
  if (isHalfOfRun)
    return relabel(dequantize(tile, ofPart.getDequantized(), Value(),
                              product.problem.product.blockSize / getParts()),
                   ofPart.getOperand());
  auto scales = cast<VectorType>(tile.scales.getType());
  int64_t rows = scales.getDimSize(0),
          blocks = scales.getDimSize(1) / getParts();
  tile.scales = vector::ExtractStridedSliceOp::create(
      body, tile.scales, ArrayRef<int64_t>{0, part * blocks},
      ArrayRef<int64_t>{rows, blocks}, ArrayRef<int64_t>{1, 1});
  return relabel(dequantize(tile, ofPart.getDequantized()),
                 ofPart.getOperand());
}

/// An instruction reads its registers until it is finished: the next but one of
/// a step may have them again.
Value SwapABMainLoop::multiply(ForEachWorkTileOp workTile) {
  int64_t parts = getParts();
  auto type = FragmentType::get(body.getF32Type(), swapped.getAccumulator());
  Value row = getFirstRowOfScales(workTile);
  OpBuilder::InsertionGuard guard(body);
  ForEachKOp step =
      forEachTile(workTile, ValueRange(ZeroFragmentOp::create(body, type)));
  LoadedTile loaded = loadTileOfB(row, step);
  ConsumerWaitOp stage;
  Value accumulator = step.getRegionIterArgs()[0];
  for (int64_t part = 0; part < parts; ++part) {
    bool isLast = part == parts - 1;
    Value operand = dequantizePart(loaded, part);
    if (!part)
      stage = ConsumerWaitOp::create(body, inputs);
    IntegerAttr column;
    if (parts > 1)
      column = body.getI64IntegerAttr(part * schedule.getTileK() / parts);
    accumulator = start(product.buffers.mma, operand, stage.getBuffer("a"),
                        accumulator, column);
    if (isLast)
      ConsumerReleaseOp::create(body, loaded.stage);
    accumulator = MmaWaitOp::create(body, accumulator, /*pending=*/!isLast);
  }
  ConsumerReleaseOp::create(body, stage.getStage());
  step.getYield().getValuesMutable().assign(accumulator);
  return step.getResult(0);
}

void SwapABMainLoop::loadA(ProducerAcquireOp stage, Value row, Value k) {
  OperandBoxes boxes(arguments.get(Arg::AMap), *product.problem.product.a,
                     schedule.getTileK());
  loadPanels(body, boxes, row, k, stage, "a", schedule.getL2A());
}
