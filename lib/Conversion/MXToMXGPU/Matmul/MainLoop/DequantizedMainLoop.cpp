//===- DequantizedMainLoop.cpp - Products by wgmma ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "DequantizedMainLoop.h"
#include "RegisterSums.h"
#include "WeightFragments.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// On the host
//===----------------------------------------------------------------------===//

void DequantizedMainLoop::addOperands(KernelArguments &signature) {
  signature.add(Arg::AMap, encodeElements(matrices.a, product.buffers.inputs,
                                          "a", getRowsOfBox()));
  signature.add(Arg::BMap,
                product.problem.isPackedB
                    ? b.encodePacked()
                    : encodeElements(matrices.b, product.buffers.bInputs, "b",
                                     b.getBoxRows()));
  addScales(signature);
}

Value DequantizedMainLoop::encodeElements(Value operand, RingType ring,
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

void DequantizedMainLoop::createRings() {
  inputs = body.ring(product.buffers.inputs, "in");
  bInputs = body.ring(product.buffers.bInputs, "in_b");
  operands = body.ring(product.buffers.operands, "operands");
}

void DequantizedMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildMultiply(epilogue);
  buildDequantize();
  buildLoad(/*kind=*/2);
}

ForEachKOp DequantizedMainLoop::forEachTile(ForEachWorkTileOp unit,
                                            ValueRange initial) {
  auto [start, end] = work.getReduction(unit);
  return body.forEachK(start, end, schedule.getTileK(), initial);
}

Value DequantizedMainLoop::dequantize(ConsumerWaitOp stage, StringRef elements,
                                      StringRef scales, Type element,
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
  return DequantizeFragmentOp::create(
      body, FragmentType::get(body.getBF16Type(), layout), loaded, factors,
      blockSize);
}

Value DequantizedMainLoop::getTileOfA(ForEachWorkTileOp unit, ForEachKOp step,
                                      ConsumerWaitOp stage) {
  if (!product.problem.hasScalesOfA())
    return stage.getBuffer("a");
  // Low tiles begin within a tile of scales.
  Value row = body.index(0);
  if (schedule.getTileM() % kScaleTileRows)
    row = arith::RemUIOp::create(body, work.getFirstRow(unit),
                                 body.index(kScaleTileRows));
  Value a = dequantize(stage, "a", "sfa", product.problem.a, layouts.getALoad(),
                       row, step);
  return RelabelFragmentOp::create(
      body, FragmentType::get(body.getBF16Type(), layouts.getAOperand()), a);
}

Value DequantizedMainLoop::multiply(ForEachWorkTileOp unit) {
  OpBuilder::InsertionGuard guard(body);
  auto sums = FragmentType::get(body.getF32Type(), layouts.getSums());
  Value zero = ZeroFragmentOp::create(body, sums);
  ForEachKOp step = forEachTile(unit, zero);
  auto stage = ConsumerWaitOp::create(body, inputs);
  Value a = getTileOfA(unit, step, stage);
  auto tile = ConsumerWaitOp::create(body, operands);
  Value started =
      MmaOp::create(body, sums, product.buffers.mma, a, tile.getBuffer("b"),
                    /*a_scales=*/Value(),
                    /*b_scales=*/Value(), step.getRegionIterArgs()[0],
                    /*a_row=*/Value(), /*b_offset=*/Value(),
                    /*accumulate=*/Value(), /*extent=*/Value(),
                    /*first_warp=*/IntegerAttr())
          .getSums();
  Value next = MmaWaitOp::create(body, started, /*pending=*/0);
  ConsumerReleaseOp::create(body, tile.getStage());
  if (!product.problem.hasScalesOfA())
    ConsumerReleaseOp::create(body, stage.getStage());
  step.getYield().getValuesMutable().assign(next);
  return step.getResult(0);
}

/// Those who multiply also store the result.
void DequantizedMainLoop::buildMultiply(EpiloguePolicy &epilogue) {
  OpBuilder::InsertionGuard guard(body);
  createRole("multiply", product.buffers.epilogueWarps, /*elected=*/false,
             /*kind=*/0);
  ForEachWorkTileOp unit = body.forEachWorkTile(work.getScheduler());
  Value empty = work.isEmpty(unit);
  Value sums = RelabelFragmentOp::create(
      body, FragmentType::get(body.getF32Type(), layouts.getResult()),
      multiply(unit));
  RegisterSums registers(body, product, sums, empty);
  epilogue.store(unit, registers);
}

/// Lanes that access shared memory together then have different rows of 8,
/// where tiles are read and where they are written, so that the swizzles give
/// them different banks: 8 of 8 lanes, or 4 of the 8 that have rows of packed
/// weights, half of which the next warp has instead.
Value DequantizedMainLoop::getPartOfB() {
  Value thread = ThreadIdOp::create(body);
  int64_t bits = product.problem.isPackedB ? 4 : 6;
  int64_t factor = product.problem.isPackedB ? 8 : 4;
  Value pair = arith::AndIOp::create(body, thread, body.index(bits));
  Value moved = body.mul(pair, body.index(factor));
  return arith::XOrIOp::create(body, thread, moved);
}

/// Narrow tiles begin within a tile of scales.
Value DequantizedMainLoop::getFirstRowOfScales(ForEachWorkTileOp unit) {
  if (schedule.getTileN() % kScaleTileRows == 0)
    return body.index(0);
  return arith::RemUIOp::create(body, unit.getColumn(),
                                body.index(kScaleTileRows));
}

/// Warpgroups dequantize tiles of B for those who multiply.
void DequantizedMainLoop::buildDequantize() {
  OpBuilder::InsertionGuard guard(body);
  createRole("dequantize",
             getDequantizeWarps(schedule.getTileM(), schedule.getTileN()),
             /*elected=*/false, /*kind=*/1);
  Value thread = getPartOfB();
  ForEachWorkTileOp unit = body.forEachWorkTile(work.getScheduler());
  Value row = getFirstRowOfScales(unit);
  ForEachKOp step = forEachTile(unit);
  auto stage = ConsumerWaitOp::create(body, bInputs);
  Value tile =
      dequantize(stage, "b", "sfb", product.problem.b, layouts.getBLoad(), row,
                 step, thread, product.problem.isPackedB);
  Value operand = RelabelFragmentOp::create(
      body, FragmentType::get(body.getBF16Type(), layouts.getBOperand()), tile);
  auto filled = ProducerAcquireOp::create(body, operands);
  StoreSharedOp::create(body, operand, filled.getBuffer("b"), ValueRange(),
                        thread);
  ProducerCommitOp::create(body, filled.getStage(), Value());
}

/// An A that wgmma reads may have its rows in another order than in memory.
void DequantizedMainLoop::loadA(ProducerAcquireOp stage, Value row, Value k) {
  OperandBoxes boxes(arguments.get(Arg::AMap), *product.problem.product.a,
                     schedule.getTileK());
  SmallVector<int64_t> firstRows = layouts.getFirstRows();
  for (auto [number, first] : llvm::enumerate(firstRows))
    TmaLoadOp::create(body, boxes.map,
                      ValueRange{first ? body.add(row, first) : row,
                                 boxes.getColumn(body, k, 0)},
                      stage.getBuffer("a"), stage.getStage(),
                      firstRows.size() > 1
                          ? body.index(static_cast<int64_t>(number))
                          : Value(),
                      /*multicast=*/false, schedule.getL2A());
}

void DequantizedMainLoop::buildLoad(int64_t kind) {
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
  if (!schedule.getPdl())
    return;
  body.setInsertionPointAfter(unit);
  LaunchDependentsOp::create(body);
}
