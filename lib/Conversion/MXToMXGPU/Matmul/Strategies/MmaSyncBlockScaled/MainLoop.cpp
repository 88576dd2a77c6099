//===- MainLoop.cpp - Main loop of mma_sync_block_scaled ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A single thread loads tiles of A and B and their scales. Warps load the
// scales of a stage to registers, and then the elements, one slice of the
// reduction per instruction. If registers suffice, the next slice is loaded
// during the MMAs. The stage is released before the last MMA.
//===----------------------------------------------------------------------===//

#include "MainLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

FragmentType MmaSyncLayouts::getTaken(MmaOperand operand, Type element,
                                      int64_t depth) const {
  return MmaAttrInterface(mma).getOperandType(operand, element, depth);
}

/// Assigns eight adjacent elements of an instruction's slice to a lane, in two
/// words of four elements.
static void takeAdjacent(FragmentModes &modes, bool isPacked) {
  constexpr int64_t kWord = 4, kHalf = 16;
  for (FragmentMode &mode : modes.threads)
    if (mode.columns == kWord)
      mode.columns = 2 * kWord;
  for (FragmentMode &mode : modes.values) {
    if (mode.columns == 1)
      mode.columns = 2;
    else if (mode.columns == kHalf)
      mode.columns = 1;
  }
  if (!isPacked)
    return;
  assert(modes.values[0].columns == 1 && modes.values[1].columns == 2 &&
         "elements of both halves take turns");
  modes.values[1] = {2 * kWord, 0, 1};
  modes.values.erase(modes.values.begin());
}

FragmentType MmaSyncLayouts::getLoaded(MmaOperand operand, Type element,
                                       int64_t depth) const {
  FragmentType taken = getTaken(operand, element, depth);
  FragmentModes modes = {
      SmallVector<FragmentMode>(taken.getLayout().getThreads()),
      SmallVector<FragmentMode>(taken.getLayout().getValues())};
  if (isMixed && (operand == MmaOperand::A || operand == MmaOperand::B))
    takeAdjacent(modes, getStoredBits(element) == 4);
  if (isMoved && (operand == MmaOperand::B || operand == MmaOperand::BScales)) {
    modes.threads = columns.move(modes.threads, &FragmentMode::rows);
    modes.values = columns.move(modes.values, &FragmentMode::rows);
  }
  return FragmentType::get(
      element,
      FragmentLayoutAttr::get(mma.getContext(), modes.threads, modes.values));
}

FragmentLayoutAttr MmaSyncLayouts::getResult() const {
  return isMoved ? columns.getResult() : columns.getAccumulator();
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

MmaSyncMainLoop::MmaSyncMainLoop(MatmulKernel &kernel, WorkPolicy &work,
                                 OperandB &b)
    : MainLoop(kernel, work, b),
      mma(cast<MmaSyncAttr>(kernel.matmul.buffers.mma)),
      layouts(mma, kernel.matmul.problem) {}

void MmaSyncMainLoop::addOperands(KernelArguments &signature) {
  RingType ring = matmul.buffers.inputs;
  signature.add(Arg::AMap,
                encodeElements(matrices.a, ring, "a", schedule.getTileM()));
  signature.add(Arg::BMap,
                encodeElements(matrices.b, ring, "b", b.getBoxRows()));
  addScales(signature);
}

void MmaSyncMainLoop::createRings() {
  inputs = body.ring(matmul.buffers.inputs, "in");
}

/// Declares one CTA per SM, the limit set by shared memory. Otherwise
/// ptxas 13.0 allocates registers for three CTAs and spills some bytes.
void MmaSyncMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  body.getInsertionBlock()->getParent()->getParentOfType<KernelOp>().setMinCtas(
      1);
  buildMultiply(epilogue,
                [&](ForEachWorkTileOp workTile) { return multiply(workTile); });
  buildScaledLoads(inputs);
}

Value MmaSyncMainLoop::loadElements(MmaOperand operand, Type element,
                                    Value buffer, int64_t column) {
  int64_t k = matmul.problem.mma.getK();
  FragmentType taken = layouts.getTaken(operand, element, k);
  FragmentType type = layouts.getLoaded(operand, element, k);
  bool matrices = bool(type.getLayout().getMatrixRows(getStoredBits(element)));
  Value loaded =
      LoadFragmentOp::create(body, type, buffer, body.index(0),
                             body.index(column), /*thread=*/Value(), matrices);
  return loaded.getType() == taken ? loaded
                                   : relabel(loaded, taken.getLayout());
}

Value MmaSyncMainLoop::loadScales(MmaOperand operand, Value buffer, Value first,
                                  Value extent) {
  Type element = matmul.problem.scales;
  int64_t count = schedule.getTileK() / int64_t(matmul.problem.mma.blockSize);
  FragmentType taken = layouts.getTaken(operand, element, count);
  FragmentType type = layouts.getLoaded(operand, element, count);
  Value loaded = LoadFragmentScalesOp::create(
      body, type, buffer, first, body.index(0), extent,
      /*thread=*/Value(), /*block_size=*/1, type);
  return type == taken ? loaded : relabel(loaded, taken.getLayout());
}

Value MmaSyncMainLoop::getRowOfScales(Value row, int64_t rows) {
  if (rows % kScaleTileRows == 0)
    return body.index(0);
  return arith::RemUIOp::create(body, row, body.index(kScaleTileRows));
}

/// With 8 warps and 128 accumulators per thread, only one slice fits in
/// registers, and ptxas 13.0 spills up to 84 bytes with two slices.
bool MmaSyncMainLoop::loadsAhead() const {
  constexpr int64_t kManyWarps = 8, kManyAccumulators = 128;
  int64_t accumulators =
      mma.getWarpRows() * mma.getWarpColumns() / target::kWarpSize;
  return mma.getWarps() * mma.getColumnWarps() < kManyWarps ||
         accumulators < kManyAccumulators;
}

/// In a partial last tile, elements past the end of a matrix are zero, and
/// their scales are zeroed because memory may contain NaN. Elements past the
/// end of an expert group belong to the next group and are skipped.
Value MmaSyncMainLoop::multiply(ForEachWorkTileOp workTile) {
  OpBuilder::InsertionGuard guard(body);
  Value rowOfA =
      getRowOfScales(work.getFirstRow(workTile), schedule.getTileM());
  Value rowOfB = getRowOfScales(workTile.getColumn(), matmul.getBRows());
  Value zero = ZeroFragmentOp::create(
      body,
      MmaAttrInterface(mma).getAccumulatorType(body.getF32Type(), mma.getN()));
  ForEachKOp step = forEachTile(workTile, zero);
  Value extent, scaleExtent;
  if (!areTilesWhole()) {
    if (matmul.problem.ragged == RaggedKind::Reduction)
      extent = step.getExtent();
    else
      scaleExtent = body.div(step.getExtent(), matmul.problem.mma.blockSize);
  }
  auto stage = ConsumerWaitOp::create(body, inputs);
  Value aScales = loadScales(MmaOperand::AScales, stage.getBuffer("sfa"),
                             rowOfA, scaleExtent);
  Value bScales = loadScales(MmaOperand::BScales, stage.getBuffer("sfb"),
                             rowOfB, scaleExtent);
  const target::MmaForm &form = matmul.problem.mma;
  int64_t depth = form.getK();
  auto load = [&](int64_t k) {
    Value a =
        loadElements(MmaOperand::A, matmul.problem.a, stage.getBuffer("a"), k);
    Value b =
        loadElements(MmaOperand::B, matmul.problem.b, stage.getBuffer("b"), k);
    return std::pair(a, b);
  };
  Value sum = step.getRegionIterArgs()[0];
  bool ahead = loadsAhead();
  std::pair<Value, Value> loaded;
  if (ahead)
    loaded = load(0);
  for (int64_t k = 0; k < schedule.getTileK(); k += depth) {
    if (!ahead)
      loaded = load(k);
    auto [a, b] = loaded;
    bool isLast = k + depth == schedule.getTileK();
    if (ahead && !isLast)
      loaded = load(k + depth);
    if (isLast)
      ConsumerReleaseOp::create(body, stage.getStage());
    MmaSyncAttr slice = mma.withFirstScale(k / int64_t(form.blockSize));
    sum = MmaOp::create(body, sum.getType(), slice, a, b, aScales, bScales, sum,
                        /*b_offset=*/Value(), /*accumulate=*/Value(), extent,
                        /*thread=*/Value(), /*column=*/IntegerAttr(),
                        /*row=*/IntegerAttr())
              .getAccumulator();
  }
  step.getYield().getValuesMutable().assign(sum);
  return step.getResult(0);
}
