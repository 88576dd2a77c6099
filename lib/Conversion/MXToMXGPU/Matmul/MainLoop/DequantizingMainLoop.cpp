//===- DequantizingMainLoop.cpp - Threads dequantize B --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "DequantizingMainLoop.h"
#include "RegisterSums.h"
#include "WeightFragments.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// On the host
//===----------------------------------------------------------------------===//

void DequantizingMainLoop::addOperands(KernelArguments &signature) {
  signature.add(Arg::AMap, encodeElements(matrices.a, product.buffers.inputs,
                                          "a", getRowsOfBox()));
  signature.add(Arg::BMap,
                product.problem.isPackedB
                    ? b.encodePacked()
                    : encodeElements(matrices.b, product.buffers.bInputs, "b",
                                     b.getBoxRows()));
  addScales(signature);
}

Value DequantizingMainLoop::encodeElements(Value operand, RingType ring,
                                           StringRef field, int64_t rows) {
  BufferType buffer = getInput(ring, field);
  auto type =
      TensorMapType::get(op->getContext(), {rows, buffer.getShape().back()},
                         buffer.getElementType(), buffer.getSwizzle());
  return EncodeTensorMapOp::create(host, type, toBytes(host, operand));
}

//===----------------------------------------------------------------------===//
// In the kernel
//===----------------------------------------------------------------------===//

void DequantizingMainLoop::createRings() {
  inputs = body.ring(product.buffers.inputs, "in");
  bInputs = body.ring(product.buffers.bInputs, "in_b");
  operands = body.ring(product.buffers.operands, "operands");
}

ForEachKOp DequantizingMainLoop::forEachTile(ForEachWorkTileOp unit,
                                             ValueRange initial) {
  auto [start, end] = work.getReduction(unit);
  return body.forEachK(start, end, schedule.getTileK(), initial);
}

LoadedTile DequantizingMainLoop::loadTile(ConsumerWaitOp stage,
                                          StringRef elements, StringRef scales,
                                          Type element,
                                          FragmentLayoutAttr layout, Value row,
                                          ForEachKOp step, Value thread,
                                          bool isPacked) {
  int64_t blockSize = product.problem.product.blockSize;
  auto type = FragmentType::get(element, layout);
  Value loaded = loadWeights(body, stage.getBuffer(elements), element, layout,
                             thread, isPacked);
  // The first block of this step in its tile of scales, and how many exist.
  Value inTile = arith::RemUIOp::create(
      body, step.getK(), body.index(product.problem.getScaleTileK()));
  Value extent;
  if (!areTilesWhole())
    extent = body.div(step.getExtent(), blockSize);
  auto ofRows = VectorType::get(
      {static_cast<int64_t>(layout.getRowOffsets().size()),
       static_cast<int64_t>(layout.getBlocks(blockSize).size())},
      product.problem.scales);
  Value factors = LoadFragmentScalesOp::create(
      body, ofRows, stage.getBuffer(scales), row, body.div(inTile, blockSize),
      extent, thread, blockSize, type);
  // The stage's owner may fill it again.
  ConsumerReleaseOp::create(body, stage.getStage());
  return {loaded, factors};
}

Value DequantizingMainLoop::dequantize(LoadedTile tile,
                                       FragmentLayoutAttr layout) {
  if (!layout)
    layout = cast<FragmentType>(tile.elements.getType()).getLayout();
  return DequantizeFragmentOp::create(
      body, FragmentType::get(body.getBF16Type(), layout), tile.elements,
      tile.scales, /*reference=*/Value(), product.problem.product.blockSize);
}

/// The part of a tile of B that this thread has, if it writes other rows than
/// it reads. Lanes that access shared memory together then have different rows
/// of 8, where tiles are read and where they are written, so that the swizzles
/// give them different banks: 8 of 8 lanes, or 4 of the 8 that have rows of
/// packed weights, half of which the next warp has instead.
static Value getPartOfMovedB(KernelBuilder &body, bool isPacked) {
  Value thread = ThreadIdOp::create(body);
  Value pair =
      arith::AndIOp::create(body, thread, body.index(isPacked ? 4 : 6));
  Value moved = body.mul(pair, body.index(isPacked ? 8 : 4));
  return arith::XOrIOp::create(body, thread, moved);
}

/// Narrow tiles begin within a tile of scales.
Value DequantizingMainLoop::getFirstRowOfScales(ForEachWorkTileOp unit) {
  if (product.getBRows() % kScaleTileRows == 0)
    return body.index(0);
  Value first = unit.getColumn();
  if (kernel.rank)
    first =
        body.add(first, body.mul(kernel.rank, body.index(product.getBRows())));
  return arith::RemUIOp::create(body, first, body.index(kScaleTileRows));
}

void DequantizingMainLoop::buildMultiply(
    EpiloguePolicy &epilogue,
    llvm::function_ref<Value(ForEachWorkTileOp unit)> multiply) {
  OpBuilder::InsertionGuard guard(body);
  createRole("multiply", product.buffers.epilogueWarps, /*elected=*/false,
             /*kind=*/0);
  ForEachWorkTileOp unit = body.forEachWorkTile(work.getScheduler());
  Value empty = work.isEmpty(unit);
  Value sums = RelabelFragmentOp::create(
      body, FragmentType::get(body.getF32Type(), product.buffers.sums),
      multiply(unit));
  RegisterSums registers(body, product, sums, empty);
  epilogue.store(unit, registers);
}

/// Warpgroups dequantize tiles of B for those who multiply.
void DequantizingMainLoop::buildDequantize(int64_t warps,
                                           FragmentLayoutAttr read,
                                           FragmentLayoutAttr written) {
  OpBuilder::InsertionGuard guard(body);
  createRole("dequantize", warps, /*elected=*/false, /*kind=*/1);
  bool isMoved = read != written;
  bool isPacked = product.problem.isPackedB;
  Value thread = isMoved ? getPartOfMovedB(body, isPacked) : Value();
  ForEachWorkTileOp unit = body.forEachWorkTile(work.getScheduler());
  Value row = getFirstRowOfScales(unit);
  ForEachKOp step = forEachTile(unit);
  auto stage = ConsumerWaitOp::create(body, bInputs);
  Value operand = dequantize(loadTile(stage, "b", "sfb", product.problem.b,
                                      read, row, step, thread, isPacked));
  if (isMoved)
    operand = RelabelFragmentOp::create(
        body, FragmentType::get(body.getBF16Type(), written), operand);
  auto filled = ProducerAcquireOp::create(body, operands);
  StoreSharedOp::create(body, operand, filled.getBuffer("b"), ValueRange(),
                        thread);
  ProducerCommitOp::create(body, filled.getStage(), Value());
}

void DequantizingMainLoop::buildLoad(int64_t kind) {
  OpBuilder::InsertionGuard guard(body);
  createRole("load", 1, /*elected=*/true, kind);
  ForEachWorkTileOp unit = body.forEachWorkTile(work.getScheduler());
  OperandOrigin origin = work.getOperands(unit);
  b.begin(unit, origin);
  ForEachKOp step = forEachTile(unit);
  Value k = step.getK(), kTile = body.div(k, product.problem.getScaleTileK());
  auto stage = ProducerAcquireOp::create(body, inputs);
  loadA(stage, origin.row, k);
  if (product.problem.hasScalesOfA())
    TmaLoadOp::create(body, arguments.get(Arg::AScalesMap),
                      ValueRange{origin.rowTile, kTile}, stage.getBuffer("sfa"),
                      stage.getStage());
  ProducerCommitOp::create(body, stage.getStage(), Value());
  auto bStage = ProducerAcquireOp::create(body, bInputs);
  b.loadElements(bStage, k);
  b.loadScales(bStage, kTile);
  ProducerCommitOp::create(body, bStage.getStage(), Value());
  launchDependents(unit);
}
