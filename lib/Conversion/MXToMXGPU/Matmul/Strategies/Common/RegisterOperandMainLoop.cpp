//===- RegisterOperandMainLoop.cpp - wgmma from registers -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RegisterOperandMainLoop.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static WgmmaAttr getInstruction(const MatmulKernel &kernel) {
  return cast<WgmmaAttr>(kernel.matmul.buffers.mma);
}

RegisterOperandMainLoop::RegisterOperandMainLoop(MatmulKernel &kernel,
                                                 WorkPolicy &work, OperandB &b,
                                                 RegisterOperand operand)
    : UpcastMainLoop(kernel, work, b), operand(operand),
      layouts(getInstruction(kernel), kernel.matmul.schedule.getTileK(),
              operand.steps, operand.permuted),
      ofSlice(getInstruction(kernel),
              kernel.matmul.schedule.getTileK() / getReductionSlices(),
              operand.steps, operand.permuted) {}

int64_t RegisterOperandMainLoop::getReductionSlices() const {
  return getSlicesOfStep(getInstruction(kernel).getN());
}

void RegisterOperandMainLoop::createRings() {
  inputs = body.ring(matmul.buffers.inputs, "in");
  bInputs = body.ring(matmul.buffers.bInputs, "in_b");
}

void RegisterOperandMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildMultiply(epilogue,
                [&](ForEachWorkTileOp workTile) { return multiply(workTile); });
  buildLoad();
}

Value RegisterOperandMainLoop::dequantizeSlice(LoadedTile tile, int64_t slice) {
  int64_t slices = getReductionSlices();
  if (slices == 1)
    return relabel(dequantize(tile, layouts.getDequantized()),
                   layouts.getOperand());
  auto type = FragmentType::get(operand.element, ofSlice.getLoad());
  // A run of a permuted tile is in one block, so both halves use its scale.
  bool isHalfOfRun = schedule.getTileK() / slices < operand.permuted;
  if (isHalfOfRun)
    tile.elements = relabel(tile.elements, layouts.getHalves());
  tile.elements = ExtractColumnsOp::create(
      body, type, tile.elements, body.index(slice * type.getColumns()));
  if (isHalfOfRun)
    return relabel(dequantize(tile, ofSlice.getDequantized(), Value(),
                              matmul.problem.mma.blockSize / slices),
                   ofSlice.getOperand());
  auto scales = cast<VectorType>(tile.scales.getType());
  int64_t rows = scales.getDimSize(0), all = scales.getDimSize(1);
  int64_t blocks = std::max<int64_t>(all / slices, 1);
  tile.scales = vector::ExtractStridedSliceOp::create(
      body, tile.scales, ArrayRef<int64_t>{0, slice * all / slices},
      ArrayRef<int64_t>{rows, blocks}, ArrayRef<int64_t>{1, 1});
  return relabel(dequantize(tile, ofSlice.getDequantized()),
                 ofSlice.getOperand());
}

/// wgmma reads its registers until it completes. Slice `i` completes before
/// slice `i + 2` is dequantized, so the two slices may share registers.
Value RegisterOperandMainLoop::multiply(ForEachWorkTileOp workTile) {
  int64_t slices = getReductionSlices();
  auto type = FragmentType::get(body.getF32Type(), layouts.getAccumulator());
  Value row = getFirstRow(workTile);
  OpBuilder::InsertionGuard guard(body);
  ForEachKOp step =
      forEachTile(workTile, ValueRange(ZeroFragmentOp::create(body, type)));
  LoadedTile loaded =
      loadTile(ConsumerWaitOp::create(body, getRing()), operand.elements,
               operand.scales, operand.element, layouts.getLoad(), row, step,
               /*thread=*/Value(), operand.isPacked);
  ConsumerWaitOp stage;
  Value accumulator = step.getRegionIterArgs()[0];
  for (int64_t slice = 0; slice < slices; ++slice) {
    bool isLast = slice == slices - 1;
    Value registers = dequantizeSlice(loaded, slice);
    if (!slice)
      stage = ConsumerWaitOp::create(body, getOtherRing());
    IntegerAttr column;
    if (slices > 1)
      column = body.getI64IntegerAttr(slice * schedule.getTileK() / slices);
    accumulator = start(matmul.buffers.mma, registers,
                        stage.getBuffer(operand.other), accumulator, column);
    if (isLast)
      ConsumerReleaseOp::create(body, loaded.stage);
    accumulator = MmaWaitOp::create(body, accumulator, /*pending=*/!isLast);
  }
  ConsumerReleaseOp::create(body, stage.getStage());
  step.getYield().getValuesMutable().assign(accumulator);
  return step.getResult(0);
}
