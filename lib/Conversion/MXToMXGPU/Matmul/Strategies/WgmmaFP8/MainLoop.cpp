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

WgmmaFP8MainLoop::WgmmaFP8MainLoop(MatmulKernel &kernel, WorkPolicy &work,
                                   OperandB &b)
    : MainLoop(kernel, work, b),
      mma(cast<WgmmaAttr>(kernel.matmul.buffers.mma)),
      slices(kernel.matmul.buffers.slices),
      hasScalesOfRows(kernel.matmul.problem.aBlockSize == BlockFormat::kWhole),
      promotesBlocks(kernel.matmul.problem.promotesBlocks()),
      hasSquares(kernel.matmul.problem.bBlockRows > 1),
      isExact(kernel.matmul.problem.promotesExactly()) {}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

void WgmmaFP8MainLoop::addOperands(KernelArguments &signature) {
  RingType ring = matmul.buffers.inputs;
  RingType apart = matmul.buffers.tileScales;
  if (!apart)
    apart = ring;
  signature.add(Arg::AMap,
                encodeElements(matrices.a, ring, "a", matmul.getARows()));
  signature.add(Arg::BMap,
                encodeElements(matrices.b, ring, "b", b.getBoxRows()));
  BufferType ofA =
      isExact && promotesBlocks
          ? getInput(matmul.buffers.factors, "fa")
          : getInput(apart.getFieldIndex("sfa") < 0 ? ring : apart, "sfa");
  auto encode = [&](Value scales, ArrayRef<int64_t> box) {
    return isExact ? encodeFactors(scales, box.back())
                   : encodeScales(scales, box);
  };
  signature.add(Arg::AScalesMap, encode(matrices.aScales, ofA.getShape()));
  if (hasSquares)
    signature.add(Arg::BScales, matrices.bScales);
  else
    signature.add(Arg::BScalesMap,
                  encode(matrices.bScales,
                         isExact ? SmallVector<int64_t>{matmul.getTileColumns()}
                                 : b.getScaleBox()));
}

void WgmmaFP8MainLoop::createRings() {
  inputs = body.ring(matmul.buffers.inputs, "in");
  if (matmul.buffers.tileScales)
    tileScales = body.ring(matmul.buffers.tileScales, "tile_scales");
  if (promotesBlocks || hasSquares)
    factors = body.ring(matmul.buffers.factors, "factors");
}

void WgmmaFP8MainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildMultiply(epilogue,
                [&](ForEachWorkTileOp workTile) { return multiply(workTile); });
  buildLoads();
  if (promotesBlocks && !isExact)
    buildConvert();
  if (hasSquares)
    buildBlocks();
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
  if (!promotesBlocks && tileScales)
    loadTileScales(origin);
  auto [start, end] = getReduction(workTile);
  ForEachKOp step = body.forEachK(
      start, end, hasSquares ? getReductionOfBlocks() : matmul.problem.promote);
  if (promotesBlocks && isExact)
    loadExactScales(workTile, step.getK());
  else if (promotesBlocks)
    loadTileScales(origin, step.getK());
  if (hasSeveralSteps() || hasSquares)
    step = forEachStep(step, end);
  Value k = step.getK();
  auto stage = ProducerAcquireOp::create(body, inputs);
  OperandBoxes a(arguments.get(Arg::AMap), *matmul.problem.mma.a,
                 schedule.getTileK());
  loadPanels(body, a, origin.row, k, stage, "a", schedule.getL2A());
  b.loadElements(stage, k);
  if (isExact && !promotesBlocks)
    loadExactScalesOfA(workTile, k, stage, "sfa");
  else if (!hasScalesOfRows && !promotesBlocks)
    TmaLoadOp::create(
        body, arguments.get(Arg::AScalesMap),
        ValueRange{origin.rowTile, body.div(k, matmul.problem.getScaleTileK())},
        stage.getBuffer("sfa"), stage.getStage());
  ProducerCommitOp::create(body, stage.getStage(), Value());
  launchDependents(workTile);
}

void WgmmaFP8MainLoop::loadTileScales(const OperandOrigin &origin, Value k) {
  auto stage = ProducerAcquireOp::create(body, tileScales);
  auto getTile = [&](int64_t blockSize) {
    return k ? getScaleTile(k, blockSize) : Value(body.index(0));
  };
  b.loadScales(stage, getTile(matmul.problem.bBlockSize));
  if (hasScalesOfRows || promotesBlocks)
    TmaLoadOp::create(
        body, arguments.get(Arg::AScalesMap),
        ValueRange{origin.rowTile, getTile(matmul.problem.aBlockSize)},
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
  // The last fragment contains the sum of a slice. All slices share its
  // registers, because not more would fit beside the accumulators.
  SmallVector<Value> initial(slices + !hasSeveralSteps(), createZeroSlice());
  ForEachKOp all, interval;
  ConsumerWaitOp stage;
  SmallVector<Value> blocks;
  if (hasSquares) {
    all = body.forEachK(start, end, getReductionOfBlocks(), initial);
    stage = ConsumerWaitOp::create(body, factors);
    interval = forEachStep(all, end, all.getRegionIterArgs());
    blocks = takeBlocks(
        stage, arith::SubIOp::create(body, interval.getK(), all.getK()));
  } else {
    interval = body.forEachK(start, end, matmul.problem.promote, initial);
  }
  SmallVector<Value> accumulators =
      hasSeveralSteps() ? SmallVector<Value>{addSteps(interval, end, workTile)}
                        : addSlices(interval, blocks, workTile);
  interval.getYield().getValuesMutable().assign(accumulators);
  // Branches delay MMAs. More steps would need more instruction cache.
  if (!hasSeveralSteps())
    interval.setUnroll(8);
  body.setInsertionPointAfter(interval);
  if (hasSquares) {
    ConsumerReleaseOp::create(body, stage.getStage());
    all.getYield().getValuesMutable().assign(interval.getResults());
    body.setInsertionPointAfter(all);
    interval = all;
  }
  return scaleTile(joinSlices(interval.getResults().take_front(slices)),
                   workTile);
}

ForEachKOp WgmmaFP8MainLoop::forEachStep(ForEachKOp interval, Value end,
                                         ValueRange initial) {
  Value first = interval.getK();
  Value last = arith::MinSIOp::create(
      body, body.add(first, static_cast<int64_t>(interval.getStep())), end);
  return body.forEachK(first, last, schedule.getTileK(), initial);
}

Value WgmmaFP8MainLoop::createZeroSlice() {
  return ZeroFragmentOp::create(
      body, FragmentType::get(body.getF32Type(), getAccumulator(mma.getN())));
}

SmallVector<Value> WgmmaFP8MainLoop::addSlices(ForEachKOp interval,
                                               ValueRange blocks,
                                               ForEachWorkTileOp workTile) {
  SmallVector<Value> accumulators;
  auto stage = ConsumerWaitOp::create(body, inputs);
  Value ofRows = loadFactorsOfA(stage, interval.getK(), workTile);
  Value sum = interval.getRegionIterArgs()[slices];
  size_t blocksOfSlice = blocks.size() / slices;
  ConsumerWaitOp converted;
  for (int64_t slice = 0; slice < slices; ++slice) {
    Value accumulator = interval.getRegionIterArgs()[slice];
    sum = startSlice(stage, slice, sum);
    if (promotesBlocks && !slice)
      converted = ConsumerWaitOp::create(body, factors);
    sum = MmaWaitOp::create(body, sum, /*pending=*/0);
    if (slice == slices - 1)
      ConsumerReleaseOp::create(body, stage.getStage());
    Value added =
        promotesBlocks
            ? promoteBlocks(accumulator, sum, converted, workTile, slice)
            : promote(accumulator, sum, ofRows,
                      blocks.slice(slice * blocksOfSlice, blocksOfSlice));
    // The next slice overwrites the sum.
    accumulators.push_back(MmaWaitOp::create(body, added, /*pending=*/0));
  }
  accumulators.push_back(sum);
  if (promotesBlocks)
    ConsumerReleaseOp::create(body, converted.getStage());
  return accumulators;
}

Value WgmmaFP8MainLoop::addSteps(ForEachKOp interval, Value end,
                                 ForEachWorkTileOp workTile) {
  SmallVector<Value> initial = {createZeroSlice()};
  if (!hasScalesOfRows && !promotesBlocks)
    initial.push_back(arith::ConstantOp::create(
        body, body.getZeroAttr(getFactors(getRowsOfA()))));
  ForEachKOp step = forEachStep(interval, end, initial);
  auto stage = ConsumerWaitOp::create(body, inputs);
  Value ofRows = loadFactorsOfA(stage, step.getK(), workTile);
  Value sum = start(mma, stage.getBuffer("a"), stage.getBuffer("b"),
                    step.getRegionIterArgs()[0]);
  sum = MmaWaitOp::create(body, sum, /*pending=*/0);
  ConsumerReleaseOp::create(body, stage.getStage());
  SmallVector<Value> next = {sum};
  if (ofRows)
    next.push_back(ofRows);
  step.getYield().getValuesMutable().assign(next);
  body.setInsertionPointAfter(step);
  Value accumulator = interval.getRegionIterArgs()[0];
  if (!promotesBlocks)
    return promote(accumulator, step.getResult(0),
                   ofRows ? step.getResult(1) : Value());
  auto converted = ConsumerWaitOp::create(body, factors);
  accumulator = promoteBlocks(accumulator, step.getResult(0), converted,
                              workTile, /*slice=*/0);
  ConsumerReleaseOp::create(body, converted.getStage());
  return accumulator;
}

Value WgmmaFP8MainLoop::startSlice(ConsumerWaitOp stage, int64_t slice,
                                   Value overwritten) {
  Value accumulate = arith::ConstantOp::create(body, body.getBoolAttr(false));
  Value sum =
      start(mma, stage.getBuffer("a"), stage.getBuffer("b"), overwritten);
  auto op = sum.getDefiningOp<MmaOp>();
  op.getAccumulateMutable().assign(accumulate);
  if (slices > 1)
    op.setRow(slice * mma.getN());
  return sum;
}

/// Adds the products of `factor` and the sums from `first` on to a row.
static Value addProducts(KernelBuilder &body, Value row, Value sums,
                         int64_t first, Value factor) {
  SmallVector<int64_t> at = {first}, step = {1},
                       size(cast<VectorType>(factor.getType()).getShape());
  Value added =
      vector::ExtractStridedSliceOp::create(body, sums, at, size, step);
  Value old = vector::ExtractStridedSliceOp::create(body, row, at, size, step);
  return vector::InsertStridedSliceOp::create(
      body, math::FmaOp::create(body, added, factor, old), row, at, step);
}

Value WgmmaFP8MainLoop::promote(Value accumulator, Value sum, Value ofRows,
                                ValueRange ofColumns) {
  SmallVector<Value> rows(ToRowsOp::create(body, accumulator).getRows());
  SmallVector<Value> sums(ToRowsOp::create(body, sum).getRows());
  for (auto [i, row] : llvm::enumerate(rows)) {
    if (!ofRows) {
      row = arith::AddFOp::create(body, row, sums[i]);
      continue;
    }
    Value ofRow =
        vector::ExtractOp::create(body, ofRows, static_cast<int64_t>(i));
    int64_t blocks = std::max<int64_t>(ofColumns.size(), 1),
            own = cast<VectorType>(row.getType()).getDimSize(0) / blocks;
    for (int64_t block = 0; block < blocks; ++block) {
      Value factor = ofRow;
      if (!ofColumns.empty())
        factor = arith::MulFOp::create(body, factor, ofColumns[block]);
      factor = vector::BroadcastOp::create(
          body, VectorType::get(own, body.getF32Type()), factor);
      row = addProducts(body, row, sums[i], block * own, factor);
    }
  }
  return FromRowsOp::create(body, accumulator.getType(), rows);
}

Value WgmmaFP8MainLoop::promoteBlocks(Value accumulator, Value sum,
                                      ConsumerWaitOp converted,
                                      ForEachWorkTileOp workTile,
                                      int64_t slice) {
  Value ofRows = loadFactorsOfRows(converted.getBuffer("fa"), workTile);
  SmallVector<Value> rows(ToRowsOp::create(body, accumulator).getRows());
  SmallVector<Value> sums(ToRowsOp::create(body, sum).getRows());
  FragmentLayoutAttr places = getPlacesOfColumns();
  int64_t columns = places.getShape().second, own = places.getNumValues();
  for (int64_t chunk = 0; chunk < mma.getN() / columns; ++chunk) {
    Value ofColumns = loadConverted(converted.getBuffer("fb"), places,
                                    slice * mma.getN() + chunk * columns);
    for (auto [i, row] : llvm::enumerate(rows)) {
      Value factor = vector::BroadcastOp::create(
          body, ofColumns.getType(),
          vector::ExtractOp::create(body, ofRows, static_cast<int64_t>(i)));
      factor = arith::MulFOp::create(body, factor, ofColumns);
      row = addProducts(body, row, sums[i], chunk * own, factor);
    }
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
