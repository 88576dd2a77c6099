//===- UpcastMainLoop.cpp - Main loops with dequantizing threads ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "UpcastMainLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Conversion/MXToMXGPU/PackedWeights.h"
#include "mx/Support/OperandOrders.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void UpcastMainLoop::addOperands(KernelArguments &signature) {
  signature.add(Arg::AMap, encodeElements(matrices.a, matmul.buffers.inputs,
                                          "a", getRowsOfBox()));
  signature.add(Arg::BMap,
                matmul.problem.isPackedB
                    ? b.encodePacked()
                    : encodeElements(matrices.b, matmul.buffers.bInputs, "b",
                                     b.getBoxRows()));
  addScales(signature);
}

void UpcastMainLoop::createRings() {
  inputs = body.ring(matmul.buffers.inputs, "in");
  bInputs = body.ring(matmul.buffers.bInputs, "in_b");
  operands = body.ring(matmul.buffers.operands, "operands");
}

/// Emits only loads, because relabeling is free.
Value UpcastMainLoop::loadWeights(Value buffer, FragmentType type, Value thread,
                                  bool isPacked, int64_t column) {
  FragmentLayoutAttr layout = type.getLayout(), places = layout;
  if (isPacked) {
    places = getPackedPlaces(layout);
    column = column * kWeightTileValues / kWeightTileColumns;
  }
  Value loaded = LoadFragmentOp::create(
      body, FragmentType::get(type.getElementType(), places), buffer,
      body.index(0), body.index(column), thread);
  return body.createOrFold<RelabelFragmentOp>(type, loaded);
}

Value UpcastMainLoop::loadScales(Value buffer, FragmentType type, Value row,
                                 ForEachKOp step, Value thread) {
  int64_t blockSize = matmul.problem.mma.blockSize;
  FragmentLayoutAttr layout = type.getLayout();
  // First block of this step in its scale tile, and number of blocks in bounds.
  Value inTile = arith::RemUIOp::create(
      body, step.getK(), body.index(matmul.problem.getScaleTileK()));
  Value extent;
  if (!areTilesWhole())
    extent = body.div(step.getExtent(), blockSize);
  auto ofRows = VectorType::get(
      {static_cast<int64_t>(layout.getRowOffsets().size()),
       static_cast<int64_t>(layout.getBlocks(blockSize).size())},
      matmul.problem.scales);
  return LoadFragmentScalesOp::create(body, ofRows, buffer, row,
                                      body.div(inTile, blockSize), extent,
                                      thread, blockSize, type);
}

LoadedTile UpcastMainLoop::loadTile(ConsumerWaitOp stage, StringRef elements,
                                    StringRef scales, Type element,
                                    FragmentLayoutAttr layout, Value row,
                                    ForEachKOp step, Value thread,
                                    bool isPacked) {
  auto type = FragmentType::get(element, layout);
  Value loaded = loadWeights(stage.getBuffer(elements), type, thread, isPacked);
  Value factors = loadScales(stage.getBuffer(scales), type, row, step, thread);
  return {loaded, factors, stage.getStage()};
}

Value UpcastMainLoop::dequantize(LoadedTile tile, FragmentLayoutAttr layout,
                                 Value reference, int64_t block) {
  if (!layout)
    layout = cast<FragmentType>(tile.elements.getType()).getLayout();
  Type type = reference ? getUpcastType() : Type(body.getBF16Type());
  return DequantizeFragmentOp::create(
      body, FragmentType::get(type, layout), tile.elements, tile.scales,
      reference, reference && isFinite(),
      block ? block : matmul.problem.mma.blockSize);
}

/// Returns the index that selects a thread's share of B if threads do not write
/// the rows that they read. The index permutes threads so that eight lanes that
/// access shared memory together read and write different rows of each 8. Such
/// rows are swizzled to different banks. With packed weights, the eight lanes
/// own only four different rows, because the next warp owns the other four.
static Value getThreadOfMovedB(KernelBuilder &body, bool isPacked) {
  Value thread = ThreadIdOp::create(body);
  Value pair =
      arith::AndIOp::create(body, thread, body.index(isPacked ? 4 : 6));
  Value moved = body.mul(pair, body.index(isPacked ? 8 : 4));
  return arith::XOrIOp::create(body, thread, moved);
}

Value UpcastMainLoop::getFirstRowOfScalesOfA(ForEachWorkTileOp workTile) {
  return getRowInScales(work.getFirstRow(workTile), schedule.getTileM());
}

Value UpcastMainLoop::getFirstRowOfScales(ForEachWorkTileOp workTile) {
  Value first = workTile.getColumn();
  if (kernel.rank)
    first =
        body.add(first, body.mul(kernel.rank, body.index(matmul.getBRows())));
  return getRowInScales(first, matmul.getBRows());
}

/// Builds the warpgroups for dequantizing tiles of B for the MMA warpgroups.
void UpcastMainLoop::buildDequantize(int64_t warps, FragmentLayoutAttr read,
                                     FragmentLayoutAttr written) {
  OpBuilder::InsertionGuard guard(body);
  body.role("dequantize", warps, /*elected=*/false);
  bool isMoved = read != written;
  bool isPacked = matmul.problem.isPackedB;
  Value thread = isMoved ? getThreadOfMovedB(body, isPacked) : Value();
  ForEachWorkTileOp workTile = body.forEachWorkTile(work.getScheduler());
  enterWorkTile(workTile, /*multiplies=*/false);
  Value row = getFirstRowOfScales(workTile);
  ForEachKOp step = forEachTile(workTile);
  auto stage = ConsumerWaitOp::create(body, bInputs);
  LoadedTile tile = loadTile(stage, "b", "sfb", matmul.problem.b, read, row,
                             step, thread, isPacked);
  Value operand = dequantize(tile, /*layout=*/{}, getReferenceOfB());
  if (isMoved)
    operand = relabel(operand, written);
  auto filled = ProducerAcquireOp::create(body, operands);
  StoreSharedOp::create(body, operand, filled.getBuffer("b"), ValueRange(),
                        thread);
  ProducerCommitOp::create(body, filled.getStage(), Value());
  // Release the stage after the last use of the values read from it.
  ConsumerReleaseOp::create(body, tile.stage);
}

void UpcastMainLoop::buildLoad() {
  OpBuilder::InsertionGuard guard(body);
  body.role("load", 1, /*elected=*/true);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work.getScheduler());
  enterWorkTile(workTile, /*multiplies=*/false);
  OperandOrigin origin = work.getOperands(workTile);
  b.begin(workTile, origin);
  ForEachKOp step = forEachTile(workTile);
  Value k = step.getK(), kTile = body.div(k, matmul.problem.getScaleTileK());
  auto stage = ProducerAcquireOp::create(body, inputs);
  loadA(stage, origin.row, k);
  if (matmul.problem.hasScalesOfA())
    TmaLoadOp::create(body, arguments.get(Arg::AScalesMap),
                      ValueRange{origin.rowTile, kTile}, stage.getBuffer("sfa"),
                      stage.getStage());
  ProducerCommitOp::create(body, stage.getStage(), Value());
  auto bStage = ProducerAcquireOp::create(body, bInputs);
  b.loadElements(bStage, k);
  if (matmul.problem.hasScalesOfB())
    b.loadScales(bStage, kTile);
  ProducerCommitOp::create(body, bStage.getStage(), Value());
  launchDependents(workTile);
}
