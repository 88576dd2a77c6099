//===- MainLoop.cpp - Main loop of wgmma_fp8 ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MainLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Exchanges the rows and the columns of a layout.
static FragmentLayoutAttr transpose(FragmentLayoutAttr layout) {
  auto exchange = [](ArrayRef<FragmentMode> modes) {
    return llvm::map_to_vector(modes, [](FragmentMode mode) {
      std::swap(mode.rows, mode.columns);
      return mode;
    });
  };
  return FragmentLayoutAttr::get(layout.getContext(),
                                 exchange(layout.getThreads()),
                                 exchange(layout.getValues()));
}

WgmmaFP8MainLoop::WgmmaFP8MainLoop(MatmulKernel &kernel, WorkPolicy &work,
                                   OperandB &b)
    : MainLoop(kernel, work, b),
      mma(cast<WgmmaAttr>(kernel.matmul.buffers.mma)),
      slices(kernel.matmul.buffers.slices),
      hasScalesOfRows(kernel.matmul.problem.aBlockSize == BlockFormat::kWhole) {
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

void WgmmaFP8MainLoop::addOperands(KernelArguments &signature) {
  RingType ring = matmul.buffers.inputs;
  RingType ofTile = matmul.buffers.tileScales;
  signature.add(Arg::AMap,
                encodeElements(matrices.a, ring, "a", matmul.getARows()));
  signature.add(Arg::BMap,
                encodeElements(matrices.b, ring, "b", b.getBoxRows()));
  signature.add(
      Arg::AScalesMap,
      encodeScales(
          matrices.aScales,
          getInput(hasScalesOfRows ? ofTile : ring, "sfa").getShape()));
  signature.add(Arg::BScalesMap,
                encodeScales(matrices.bScales, b.getScaleBox()));
}

void WgmmaFP8MainLoop::createRings() {
  inputs = body.ring(matmul.buffers.inputs, "in");
  tileScales = body.ring(matmul.buffers.tileScales, "tile_scales");
}

void WgmmaFP8MainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildMultiply(epilogue,
                [&](ForEachWorkTileOp workTile) { return multiply(workTile); });
  buildLoads();
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

void WgmmaFP8MainLoop::buildLoads() {
  OpBuilder::InsertionGuard guard(body);
  body.role("load", 1, /*elected=*/true);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work.getScheduler());
  OperandOrigin origin = work.getOperands(workTile);
  b.begin(workTile, origin);
  loadTileScales(origin);
  auto [start, end] = getReduction(workTile);
  ForEachKOp step = body.forEachK(start, end, matmul.problem.promote);
  if (hasSeveralSteps())
    step = forEachStep(step, end);
  Value k = step.getK();
  auto stage = ProducerAcquireOp::create(body, inputs);
  OperandBoxes a(arguments.get(Arg::AMap), *matmul.problem.mma.a,
                 schedule.getTileK());
  loadPanels(body, a, origin.row, k, stage, "a", schedule.getL2A());
  b.loadElements(stage, k);
  if (!hasScalesOfRows)
    TmaLoadOp::create(
        body, arguments.get(Arg::AScalesMap),
        ValueRange{origin.rowTile, body.div(k, matmul.problem.getScaleTileK())},
        stage.getBuffer("sfa"), stage.getStage());
  ProducerCommitOp::create(body, stage.getStage(), Value());
  launchDependents(workTile);
}

void WgmmaFP8MainLoop::loadTileScales(const OperandOrigin &origin) {
  auto stage = ProducerAcquireOp::create(body, tileScales);
  b.loadScales(stage, body.index(0));
  if (hasScalesOfRows)
    TmaLoadOp::create(body, arguments.get(Arg::AScalesMap),
                      ValueRange{origin.rowTile, body.index(0)},
                      stage.getBuffer("sfa"), stage.getStage());
  ProducerCommitOp::create(body, stage.getStage(), Value());
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

FragmentLayoutAttr WgmmaFP8MainLoop::getAccumulator(int64_t columns) const {
  FragmentModes modes = mma.getAccumulatorModes(columns);
  return FragmentLayoutAttr::get(mma.getContext(), modes.threads, modes.values);
}

Value WgmmaFP8MainLoop::multiply(ForEachWorkTileOp workTile) {
  OpBuilder::InsertionGuard guard(body);
  auto [start, end] = getReduction(workTile);
  ForEachKOp interval =
      body.forEachK(start, end, matmul.problem.promote,
                    SmallVector<Value>(slices, createZeroSlice()));
  SmallVector<Value> accumulators =
      hasSeveralSteps() ? SmallVector<Value>{addSteps(interval, end, workTile)}
                        : addSlices(interval, workTile);
  interval.getYield().getValuesMutable().assign(accumulators);
  body.setInsertionPointAfter(interval);
  return scaleTile(joinSlices(interval.getResults()), workTile);
}

ForEachKOp WgmmaFP8MainLoop::forEachStep(ForEachKOp interval, Value end,
                                         ValueRange initial) {
  Value first = interval.getK();
  Value last = arith::MinSIOp::create(
      body, body.add(first, matmul.problem.promote), end);
  return body.forEachK(first, last, schedule.getTileK(), initial);
}

Value WgmmaFP8MainLoop::createZeroSlice() {
  return ZeroFragmentOp::create(
      body, FragmentType::get(body.getF32Type(), getAccumulator(mma.getN())));
}

SmallVector<Value> WgmmaFP8MainLoop::addSlices(ForEachKOp interval,
                                               ForEachWorkTileOp workTile) {
  SmallVector<Value> accumulators;
  auto stage = ConsumerWaitOp::create(body, inputs);
  Value factors = loadFactorsOfA(stage, interval.getK(), workTile);
  for (int64_t slice = 0; slice < slices; ++slice) {
    Value sum = MmaWaitOp::create(body, startSlice(stage, slice),
                                  /*pending=*/0);
    if (slice == slices - 1)
      ConsumerReleaseOp::create(body, stage.getStage());
    accumulators.push_back(
        promote(interval.getRegionIterArgs()[slice], sum, factors));
  }
  return accumulators;
}

Value WgmmaFP8MainLoop::addSteps(ForEachKOp interval, Value end,
                                 ForEachWorkTileOp workTile) {
  SmallVector<Value> initial = {createZeroSlice()};
  if (!hasScalesOfRows)
    initial.push_back(arith::ConstantOp::create(
        body, body.getZeroAttr(getFactors(getRowsOfA()))));
  ForEachKOp step = forEachStep(interval, end, initial);
  auto stage = ConsumerWaitOp::create(body, inputs);
  Value factors = loadFactorsOfA(stage, step.getK(), workTile);
  Value sum = start(mma, stage.getBuffer("a"), stage.getBuffer("b"),
                    step.getRegionIterArgs()[0]);
  sum = MmaWaitOp::create(body, sum, /*pending=*/0);
  ConsumerReleaseOp::create(body, stage.getStage());
  SmallVector<Value> next = {sum};
  if (factors)
    next.push_back(factors);
  step.getYield().getValuesMutable().assign(next);
  body.setInsertionPointAfter(step);
  return promote(interval.getRegionIterArgs()[0], step.getResult(0),
                 factors ? step.getResult(1) : Value());
}

Value WgmmaFP8MainLoop::startSlice(ConsumerWaitOp stage, int64_t slice) {
  Value accumulate = arith::ConstantOp::create(body, body.getBoolAttr(false));
  Value sum = start(mma, stage.getBuffer("a"), stage.getBuffer("b"),
                    /*overwritten=*/createZeroSlice());
  auto op = sum.getDefiningOp<MmaOp>();
  op.getAccumulateMutable().assign(accumulate);
  if (slices > 1)
    op.setRow(slice * mma.getN());
  return sum;
}

Value WgmmaFP8MainLoop::promote(Value accumulator, Value sum, Value factors) {
  SmallVector<Value> rows;
  auto to = ToRowsOp::create(body, accumulator);
  auto from = ToRowsOp::create(body, sum);
  for (auto [i, old, added] : llvm::enumerate(to.getRows(), from.getRows())) {
    if (!factors) {
      rows.push_back(arith::AddFOp::create(body, old, added));
      continue;
    }
    Value factor =
        vector::ExtractOp::create(body, factors, static_cast<int64_t>(i));
    factor = vector::BroadcastOp::create(body, old.getType(), factor);
    rows.push_back(math::FmaOp::create(body, added, factor, old));
  }
  return FromRowsOp::create(body, accumulator.getType(), rows);
}

Value WgmmaFP8MainLoop::joinSlices(ValueRange parts) {
  if (parts.size() == 1)
    return parts.front();
  SmallVector<Value> rows;
  for (auto [slice, part] : llvm::enumerate(parts))
    for (auto [i, row] :
         llvm::enumerate(ToRowsOp::create(body, part).getRows())) {
      int64_t size = cast<VectorType>(row.getType()).getDimSize(0);
      if (!slice)
        rows.push_back(arith::ConstantOp::create(
            body, body.getZeroAttr(
                      VectorType::get({size * slices}, body.getF32Type()))));
      rows[i] = vector::InsertStridedSliceOp::create(
          body, row, rows[i],
          ArrayRef<int64_t>{static_cast<int64_t>(slice) * size},
          ArrayRef<int64_t>{1});
    }
  return FromRowsOp::create(
      body,
      FragmentType::get(body.getF32Type(), getAccumulator(schedule.getTileN())),
      rows);
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

Value WgmmaFP8MainLoop::loadFactors(Value buffer, Value row, Value block,
                                    FragmentType type, int64_t blockSize) {
  VectorType factors = getFactors(type);
  int64_t count = factors.getDimSize(0);
  auto bytes = VectorType::get({count, 1}, body.getI8Type());
  auto words = factors.clone(body.getI32Type());
  Value scales = LoadFragmentScalesOp::create(
      body, VectorType::get({count, 1}, matmul.problem.scales), buffer, row,
      block, /*extent=*/Value(), /*thread=*/Value(), blockSize, type);
  Value exponents = vector::ShapeCastOp::create(
      body, VectorType::get({count}, body.getI8Type()),
      arith::BitcastOp::create(body, bytes, scales));
  exponents = arith::ExtUIOp::create(body, words, exponents);
  // Byte e is 2^(e - 127), subnormal for 0, and NaN for 255.
  auto constant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(
        body, DenseElementsAttr::get(words, body.getI32IntegerAttr(value)));
  };
  constexpr int32_t kMantissaBits = 23;
  Value bits = arith::MaxUIOp::create(
      body, arith::ShLIOp::create(body, exponents, constant(kMantissaBits)),
      constant(1 << (kMantissaBits - 1)));
  Value isNaN = arith::ShRUIOp::create(
      body, arith::AddIOp::create(body, exponents, constant(1)), constant(8));
  return arith::BitcastOp::create(body, factors,
                                  arith::OrIOp::create(body, bits, isNaN));
}

VectorType WgmmaFP8MainLoop::getFactors(FragmentType type) {
  return VectorType::get(
      static_cast<int64_t>(type.getLayout().getRowOffsets().size()),
      body.getF32Type());
}

FragmentType WgmmaFP8MainLoop::getRowsOfA() {
  FragmentModes modes =
      mma.getOperandModes(MmaOperand::A, matmul.problem.a, schedule.getTileK());
  return FragmentType::get(
      matmul.problem.a,
      FragmentLayoutAttr::get(body.getContext(), modes.threads, modes.values));
}

Value WgmmaFP8MainLoop::loadFactorsOfA(ConsumerWaitOp stage, Value k,
                                       ForEachWorkTileOp workTile) {
  if (hasScalesOfRows)
    return {};
  int64_t blockSize = matmul.problem.mma.blockSize;
  Value inTile = arith::RemUIOp::create(
      body, k, body.index(matmul.problem.getScaleTileK()));
  return loadFactors(
      stage.getBuffer("sfa"),
      getRowInScales(work.getFirstRow(workTile), matmul.getARows()),
      body.div(inTile, blockSize), getRowsOfA(), blockSize);
}

Value WgmmaFP8MainLoop::loadTileFactors(Value buffer, Value row,
                                        FragmentLayoutAttr rows) {
  auto type = FragmentType::get(body.getF32Type(), rows);
  return loadFactors(
      buffer, row, body.index(0), type,
      static_cast<int64_t>(llvm::PowerOf2Ceil(type.getColumns())));
}

Value WgmmaFP8MainLoop::loadFactorsOfB(Value buffer,
                                       ForEachWorkTileOp workTile) {
  int64_t columns = schedule.getTileN();
  Value first = getRowInScales(workTile.getColumn(), columns);
  // Columns of the accumulator are rows of its transpose. A tile that may begin
  // within a tile of scales is loaded in halves of such tiles.
  int64_t box = columns % kScaleTileRows ? kScaleTileRows / 2 : columns;
  FragmentLayoutAttr layout = transpose(getAccumulator(box));
  if (box == columns)
    return loadTileFactors(buffer, first, layout);
  Value all = arith::ConstantOp::create(
      body, body.getZeroAttr(getFactors(FragmentType::get(
                body.getF32Type(), transpose(getAccumulator(columns))))));
  for (int64_t column = 0; column < columns; column += box) {
    Value factors = loadTileFactors(buffer, body.add(first, column), layout);
    int64_t size = cast<VectorType>(factors.getType()).getDimSize(0);
    all = vector::InsertStridedSliceOp::create(
        body, factors, all, ArrayRef<int64_t>{column / box * size},
        ArrayRef<int64_t>{1});
  }
  return all;
}

Value WgmmaFP8MainLoop::scaleTile(Value accumulator,
                                  ForEachWorkTileOp workTile) {
  auto stage = ConsumerWaitOp::create(body, tileScales);
  Value ofColumns = loadFactorsOfB(stage.getBuffer("sfb"), workTile);
  Value ofRows;
  if (hasScalesOfRows)
    ofRows = loadTileFactors(
        stage.getBuffer("sfa"),
        getRowInScales(work.getFirstRow(workTile), matmul.getARows()),
        getAccumulator(schedule.getTileN()));
  ConsumerReleaseOp::create(body, stage.getStage());
  SmallVector<Value> rows;
  for (auto [i, row] :
       llvm::enumerate(ToRowsOp::create(body, accumulator).getRows())) {
    Value scaled = row;
    if (ofRows)
      scaled = arith::MulFOp::create(
          body, scaled,
          vector::BroadcastOp::create(
              body, row.getType(),
              vector::ExtractOp::create(body, ofRows,
                                        static_cast<int64_t>(i))));
    rows.push_back(arith::MulFOp::create(body, scaled, ofColumns));
  }
  return FromRowsOp::create(body, accumulator.getType(), rows);
}
