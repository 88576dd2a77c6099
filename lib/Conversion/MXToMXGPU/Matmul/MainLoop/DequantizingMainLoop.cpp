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
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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

Value DequantizingMainLoop::fits(ForEachWorkTileOp unit, bool bf16) {
  Value fits = LoadWindowOp::create(body, arguments.get(Arg::BWindow),
                                    work.getWindowOfB(unit), bf16)
                   .getFits();
  for (int64_t i = 0; i < schedule.getTileM() / kScaleTileRows; ++i)
    fits = arith::AndIOp::create(
        body, fits,
        LoadWindowOp::create(body, arguments.get(Arg::AWindow),
                             work.getWindowOfA(unit, body.index(i)), bf16)
            .getFits());
  return fits;
}

void DequantizingMainLoop::enterUnit(ForEachWorkTileOp unit, bool multiplies) {
  window = {};
  Value aTable = arguments.get(Arg::AWindow);
  if (!aTable)
    return;
  auto isNot = [&](Value fits) -> Value {
    Value always = arith::ConstantOp::create(body, body.getBoolAttr(true));
    return arith::XOrIOp::create(body, fits, always);
  };
  // What fits f16 fits bf16 too.
  bool bf16 = kernel.units == UnitClass::RelativeBF16 ||
              kernel.units == UnitClass::BF16;
  window.isOwn = fits(unit, bf16);
  if (kernel.units == UnitClass::BF16 || kernel.units == UnitClass::NotF16) {
    window.isOwn = isNot(window.isOwn);
    return;
  }
  if (bf16)
    window.isOwn = arith::AndIOp::create(body, window.isOwn,
                                         isNot(fits(unit, /*bf16=*/false)));
  window.b = LoadWindowOp::create(body, arguments.get(Arg::BWindow),
                                  work.getWindowOfB(unit), bf16)
                 .getReference();
  if (!multiplies)
    return;
  // A warpgroup has all rows of a tile of scales, or half of them.
  Value tile = body.index(0);
  if (schedule.getTileM() > kScaleTileRows)
    tile = body.div(ThreadIdOp::create(body), target::kWarpGroupSize);
  window.a =
      LoadWindowOp::create(body, aTable, work.getWindowOfA(unit, tile), bf16)
          .getReference();
}

/// Both references are powers of two times 2^127.
Value DequantizingMainLoop::scaleSums(Value sums) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(body, body.getI32IntegerAttr(value));
  };
  constexpr int64_t kBias = 127, kMantissaBits = 23;
  Value exponent = arith::AddIOp::create(body, window.a, window.b);
  exponent = arith::AddIOp::create(body, exponent, number(-kBias));
  Value bits = arith::ShLIOp::create(body, exponent, number(kMantissaBits));
  Value factor = arith::BitcastOp::create(body, body.getF32Type(), bits);
  SmallVector<Value> rows;
  for (Value row : ToRowsOp::create(body, sums).getRows())
    rows.push_back(arith::MulFOp::create(
        body, row, vector::BroadcastOp::create(body, row.getType(), factor)));
  return FromRowsOp::create(body, sums.getType(), rows);
}

ForEachKOp DequantizingMainLoop::forEachTile(ForEachWorkTileOp unit,
                                             ValueRange initial) {
  auto [start, end] = work.getReduction(unit);
  if (window.isOwn)
    end = arith::SelectOp::create(body, window.isOwn, end, start);
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
  return {loaded, factors, stage.getStage()};
}

Value DequantizingMainLoop::dequantize(LoadedTile tile,
                                       FragmentLayoutAttr layout,
                                       Value reference) {
  if (!layout)
    layout = cast<FragmentType>(tile.elements.getType()).getLayout();
  bool isFinite = reference && kernel.units == UnitClass::RelativeBF16;
  Type number = reference && !isFinite ? Type(body.getF16Type())
                                       : Type(body.getBF16Type());
  return DequantizeFragmentOp::create(
      body, FragmentType::get(number, layout), tile.elements, tile.scales,
      reference, isFinite, product.problem.product.blockSize);
}

Value DequantizingMainLoop::start(MmaAttrInterface mma, Value a, Value b,
                                  Value sums, IntegerAttr column) {
  return MmaOp::create(body, sums.getType(), mma, a, b,
                       /*a_scales=*/Value(), /*b_scales=*/Value(), sums,
                       /*b_offset=*/Value(), /*accumulate=*/Value(),
                       /*extent=*/Value(),
                       /*first_warp=*/IntegerAttr(), column)
      .getSums();
}

Value DequantizingMainLoop::finish(Value sums, ArrayRef<Value> rings) {
  Value finished = MmaWaitOp::create(body, sums, /*pending=*/0);
  for (Value ring : rings)
    ConsumerTailOp::create(body, ring);
  return finished;
}

Value DequantizingMainLoop::relabel(Value fragment, FragmentLayoutAttr layout) {
  Type element = cast<FragmentType>(fragment.getType()).getElementType();
  return RelabelFragmentOp::create(body, FragmentType::get(element, layout),
                                   fragment);
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

/// What follows is for the CTA that has the sum of all parts of a cluster, and
/// the others wait for it.
void DequantizingMainLoop::enterFirstOfParts() {
  Value isFirst = arith::CmpIOp::create(body, arith::CmpIPredicate::eq,
                                        CtaRankOp::create(body), body.index(0));
  auto ifOp = scf::IfOp::create(body, isFirst, /*withElse=*/false);
  EndPartsOp::create(body);
  body.setInsertionPointToStart(ifOp.thenBlock());
}

void DequantizingMainLoop::buildMultiply(
    EpiloguePolicy &epilogue,
    llvm::function_ref<Value(ForEachWorkTileOp unit)> multiply) {
  OpBuilder::InsertionGuard guard(body);
  createRole("multiply", product.buffers.epilogueWarps, /*elected=*/false,
             /*kind=*/0);
  ForEachWorkTileOp unit = body.forEachWorkTile(work.getScheduler());
  Value empty = work.isEmpty(unit);
  enterUnit(unit, /*multiplies=*/true);
  Value multiplied = multiply(unit);
  if (schedule.getParts() > 1) {
    multiplied = AddPartsOp::create(body, multiplied, ThreadIdOp::create(body),
                                    IntegerAttr());
    enterFirstOfParts();
  }
  Value sums = relabel(multiplied, product.buffers.sums);
  if (window.isOwn) {
    auto own = scf::IfOp::create(body, window.isOwn, /*withElse=*/false);
    body.setInsertionPointToStart(own.thenBlock());
  }
  if (window.a)
    sums = scaleSums(sums);
  RegisterSums registers(body, product, sums, empty);
  epilogue.store(unit, registers);
}

/// Warpgroups dequantize tiles of B for the MMA warpgroups.
void DequantizingMainLoop::buildDequantize(int64_t warps,
                                           FragmentLayoutAttr read,
                                           FragmentLayoutAttr written) {
  OpBuilder::InsertionGuard guard(body);
  createRole("dequantize", warps, /*elected=*/false, /*kind=*/1);
  bool isMoved = read != written;
  bool isPacked = product.problem.isPackedB;
  Value thread = isMoved ? getPartOfMovedB(body, isPacked) : Value();
  ForEachWorkTileOp unit = body.forEachWorkTile(work.getScheduler());
  enterUnit(unit, /*multiplies=*/false);
  Value row = getFirstRowOfScales(unit);
  ForEachKOp step = forEachTile(unit);
  auto stage = ConsumerWaitOp::create(body, bInputs);
  LoadedTile tile = loadTile(stage, "b", "sfb", product.problem.b, read, row,
                             step, thread, isPacked);
  Value operand = dequantize(tile, /*layout=*/{}, window.b);
  if (isMoved)
    operand = relabel(operand, written);
  auto filled = ProducerAcquireOp::create(body, operands);
  StoreSharedOp::create(body, operand, filled.getBuffer("b"), ValueRange(),
                        thread);
  ProducerCommitOp::create(body, filled.getStage(), Value());
  // By now they have used what they read.
  ConsumerReleaseOp::create(body, tile.stage);
}

void DequantizingMainLoop::loadBoxesOfA(ProducerAcquireOp stage, Value row,
                                        Value k, ArrayRef<int64_t> firstRows) {
  OperandBoxes boxes(arguments.get(Arg::AMap), *product.problem.product.a,
                     schedule.getTileK());
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

void DequantizingMainLoop::buildLoad(int64_t kind) {
  OpBuilder::InsertionGuard guard(body);
  createRole("load", 1, /*elected=*/true, kind);
  ForEachWorkTileOp unit = body.forEachWorkTile(work.getScheduler());
  enterUnit(unit, /*multiplies=*/false);
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
