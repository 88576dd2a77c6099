//===- Strategy.cpp - Strategy wgmma_bf16 ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma reads both bf16 operands from shared memory. Registers hold only
// accumulators, so a warpgroup can compute 64 rows by 256 columns. Each CTA of
// a pair holds half of A's rows and all of B. Each CTA loads half of B for both
// CTAs.
//===----------------------------------------------------------------------===//

#include "../Strategy.h"
#include "../../MainLoop/MainLoop.h"
#include "../Common/RingTypes.h"
#include "../Common/WgmmaLayouts.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mx/Target/Wgmma.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

/// If warps own several blocks, A is loaded so that a warp owns adjacent rows
/// (../Common/WgmmaLayouts.h). For a quantized result, rows of B are loaded so
/// that a thread owns 8 adjacent columns of each 32. The tensor map contains a
/// dimension for each mode of the row index.
class BF16Layouts {
public:
  /// Rows of B reordered together.
  static constexpr int64_t kInterleaved = 32;

  BF16Layouts(WgmmaAttr mma, int64_t tileK, bool isAdjacent)
      : mma(mma), isAdjacent(isAdjacent),
        ofA(mma, tileK, /*readsA=*/false, /*isPackedB=*/false) {}

  bool hasAdjacentColumns() const { return isAdjacent; }
  /// Rows per box of A, and the first row of each box in a tile.
  int64_t getRowsOfBox() const { return ofA.getRowsOfBox(); }
  SmallVector<int64_t> getFirstRows() const { return ofA.getFirstRows(); }
  /// Layouts of the accumulator and of the result elements that it represents.
  FragmentLayoutAttr getAccumulator() const { return ofA.getAccumulator(); }
  FragmentLayoutAttr getResult() const;

private:
  WgmmaAttr mma;
  bool isAdjacent;
  UpcastLayouts ofA;
};

class WgmmaBF16MainLoop final : public MainLoop {
public:
  WgmmaBF16MainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b)
      : MainLoop(kernel, work, b),
        layouts(cast<WgmmaAttr>(kernel.matmul.buffers.mma),
                kernel.matmul.schedule.getTileK(),
                kernel.matmul.problem.isQuantized) {}

  void addOperands(KernelArguments &signature) override;
  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

private:
  void buildLoads();
  /// Returns the tensor map of a B with reordered rows.
  Value encodeInterleavedB();

  /// Returns the accumulator of a work tile.
  Value multiply(ForEachWorkTileOp workTile);

  Value inputs;
  BF16Layouts layouts;
};

} // namespace

//===----------------------------------------------------------------------===//
// Layouts and rings
//===----------------------------------------------------------------------===//

FragmentLayoutAttr BF16Layouts::getResult() const {
  if (isAdjacent)
    return ofA.getResult();
  int64_t blocks = mma.getBlocks(), groups = mma.getWarpgroups();
  return FragmentLayoutAttr::getWithoutUnits(
      mma.getContext(),
      {columns(4, 2), rows(8, 1), rows(4, 16 * blocks),
       rows(groups, mma.getM() / groups)},
      {columns(2, 1), rows(2, 8), rows(blocks, 16),
       columns(mma.getN() / 8, 8)});
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Maximum accumulators in the registers of two warpgroups.
static constexpr int64_t kMostAccumulators = 128 * 2 * target::kWarpGroupSize;
static constexpr int64_t kBF16Rows[] = {64, 128, 256};
static constexpr int64_t kBF16Columns[] = {64, 96, 128, 160, 192, 224, 256};

/// Checks a tile; each CTA of a pair computes half of the rows.
static std::optional<ScheduleError>
checkBF16Tile(const ScheduleFields &fields) {
  int64_t rows = fields.tile[0] / fields.strategy.getCtas(),
          columns = fields.tile[1];
  if (!llvm::is_contained(kBF16Rows, rows))
    return refuse("expected a tile of 64, 128 or 256 rows{0}, found {1}",
                  fields.strategy.getCtas() > 1 ? " in each of two CTAs" : "",
                  rows);
  if (!llvm::is_contained(kBF16Columns, columns))
    return refuse("expected a tile of 64, 96, 128, 160, 192, 224 or 256 "
                  "columns, found {0}",
                  columns);
  if (rows * columns > kMostAccumulators)
    return refuse("expected a tile of at most {0} elements, so that the "
                  "accumulator fits in registers, found {1} x {2}",
                  kMostAccumulators, rows, columns);
  if (fields.tile[2] != target::kDequantizedTileK)
    return refuse("expected a tile of {0} reduction elements, found {1}",
                  target::kDequantizedTileK, fields.tile[2]);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The strategy
//===----------------------------------------------------------------------===//

namespace {

class WgmmaBF16 final
    : public StrategyOf<WgmmaBF16Attr, WgmmaBF16MainLoop, target::kWgmmaBF16> {
public:
  std::optional<target::MmaForm>
  match(const OperandTypes &, const target::TargetInfo &) const override {
    return target::getBF16Mma(target::kWgmmaBF16);
  }

  MatmulBuffers getBuffers(const MatmulProblem &problem,
                           const ScheduleFields &fields) const override {
    RingTypes types(problem, fields);
    int64_t rows = types.tileM / types.ctas;
    auto mma = WgmmaAttr::get(types.context, rows, types.tileN,
                              problem.mma.getK(), getWgmmaWarpgroups(rows));
    int64_t threads = mma.getWarpgroups() * target::kWarpGroupSize;
    MatmulBuffers buffers;
    buffers.mma = mma;
    buffers.inputs = types.getRing(
        fields.stages, {"a", "b"},
        {types.getDense(rows), types.getDense(types.tileN)},
        {AsyncKind::BulkCopy}, {AsyncKind::AsyncThreads, threads}, types.scope);
    buffers.otherWarps = 1; // loads
    types.addEpilogue(
        buffers, BF16Layouts(mma, types.tileK, problem.isQuantized).getResult(),
        threads / target::kWarpSize);
    return buffers;
  }

  std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                const target::TargetInfo &target) const override {
    if (auto error = checkBF16Tile(fields))
      return error;
    if (problem.isQuantized &&
        fields.tile[0] / fields.strategy.getCtas() % kScaleTileRows != 0)
      return refuse("expected a tile of 128 or 256 rows with a quantized "
                    "result, found {0}",
                    fields.tile[0]);
    // Each CTA multicasts its box to both CTAs.
    if (fields.strategy.getCtas() > 1 && problem.numB > 2)
      return refuse("expected at most 2 B matrices for a CTA pair that shares "
                    "loads of B, found {0}",
                    problem.numB);
    return std::nullopt;
  }

  std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                 const target::TargetInfo &target) const override {
    // Below 168 registers, ptxas 13.0 spills in the epilogue of 128
    // accumulators.
    constexpr int64_t kLeast[] = {168, 24};
    return checkTwoRoles(
        fields, getWgmmaWarpgroups(fields.tile[0] / fields.strategy.getCtas()),
        kLeast, target);
  }

  /// Returns registers per thread, {MMA warpgroup, load warpgroup}. With three
  /// warpgroups, they add up to the launch limit. With two warpgroups, the
  /// maximum number of registers per thread applies.
  SmallVector<int64_t>
  getRegisters(const MatmulProblem &,
               const ScheduleFields &fields) const override {
    if (getWgmmaWarpgroups(fields.tile[0] / fields.strategy.getCtas()) == 1)
      return {208, 40};
    return {232, 40};
  }

  /// Skips tiles of 256 rows per CTA, which load A in boxes of 16 rows and read
  /// more from L2. Tiles of 128 rows and equal size are at least as fast.
  void forEachTile(const MatmulProblem &problem,
                   AddCandidate add) const override {
    // On an H100, pairs with 64 rows per CTA took 1.1 to 1.4 times as long as
    // single CTAs with 128 rows.
    for (auto [ctas, rows] :
         {std::pair<int64_t, int64_t>(1, 64), {1, 128}, {2, 128}})
      for (int64_t columns : kBF16Columns) {
        ScheduleFields fields;
        fields.strategy = WgmmaBF16Attr::get(problem.out.getContext(), ctas);
        fields.tile = {rows * ctas, columns, target::kDequantizedTileK};
        fields.registers = getRegisters(problem, fields);
        add(fields);
      }
  }

  /// Both warpgroups read all columns and their own rows of a step, so reads
  /// dominate narrow tiles. The costs are fitted to 300 timings on an H200,
  /// seeds 1 (0155d274a222:benchmarks/products/results/surface-h200-seed1.json)
  /// and 2 ([shapes] of mx/Target/Rates.h).
  int64_t getLoopCycles(const MatmulProblem &, const ScheduleFields &fields,
                        int64_t longest) const override {
    constexpr int64_t kMostColumns = 256, kPercent = 105,
                      kPercentOfColumns = 28;
    return longest *
           (kPercent * kMostColumns +
            kPercentOfColumns * (kMostColumns - fields.tile[1])) /
           (100 * kMostColumns);
  }

  int64_t getPortCycles(const MatmulProblem &, const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    return getMmaPortCycles(fields, buffers, rates);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

void WgmmaBF16MainLoop::addOperands(KernelArguments &signature) {
  RingType ring = matmul.buffers.inputs;
  signature.add(Arg::AMap,
                encodeElements(matrices.a, ring, "a", layouts.getRowsOfBox()));
  signature.add(Arg::BMap,
                layouts.hasAdjacentColumns()
                    ? encodeInterleavedB()
                    : encodeElements(matrices.b, ring, "b", b.getBoxRows()));
}

/// Views each 32 rows of B as a row-major array of 4 x 4 x 2 rows and exchanges
/// the two dimensions of size 4, so a thread's accumulators are adjacent
/// columns.
Value WgmmaBF16MainLoop::encodeInterleavedB() {
  constexpr int64_t kRows = BF16Layouts::kInterleaved, kPairs = 4;
  auto source = cast<MemRefType>(matrices.b.getType());
  SmallVector<int64_t> shape = {ShapedType::kDynamic, kPairs, kPairs, 2,
                                source.getDimSize(1)};
  if (!source.isDynamicDim(0))
    shape[0] = source.getDimSize(0) / kRows;
  OpFoldResult runs = host.getIndexAttr(shape[0]);
  if (source.isDynamicDim(0))
    runs = getAsOpFoldResult(host.div(host.dim(matrices.b, 0), kRows));
  OpFoldResult pairs = host.getIndexAttr(kPairs);
  SmallVector<OpFoldResult> sizes = {
      runs, pairs, pairs, host.getIndexAttr(2),
      getAsOpFoldResult(host.dim(matrices.b, 1))};
  Value split = memref::ExpandShapeOp::create(
      host, shape, matrices.b,
      ArrayRef<ReassociationIndices>{{0, 1, 2, 3}, {4}}, sizes);
  Value moved = memref::TransposeOp::create(
      host, split,
      AffineMapAttr::get(AffineMap::getPermutationMap(
          ArrayRef<unsigned>{0, 2, 1, 3, 4}, op->getContext())));
  BufferType buffer = getInput(matmul.buffers.inputs, "b");
  auto type = TensorMapType::get(
      op->getContext(),
      {b.getBoxRows() / kRows, kPairs, kPairs, 2, buffer.getShape().back()},
      buffer.getElementType(), buffer.getSwizzle());
  return EncodeTensorMapOp::create(host, type, moved);
}

void WgmmaBF16MainLoop::createRings() {
  inputs = body.ring(matmul.buffers.inputs, "in");
}

void WgmmaBF16MainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildMultiply(epilogue,
                [&](ForEachWorkTileOp workTile) { return multiply(workTile); });
  buildLoads();
}

Value WgmmaBF16MainLoop::multiply(ForEachWorkTileOp workTile) {
  auto type = FragmentType::get(body.getF32Type(), layouts.getAccumulator());
  OpBuilder::InsertionGuard guard(body);
  Value zero = ZeroFragmentOp::create(body, type);
  ForEachKOp step = forEachTile(workTile, zero);
  auto stage = ConsumerWaitOp::create(body, inputs);
  Value started = start(matmul.buffers.mma, stage.getBuffer("a"),
                        stage.getBuffer("b"), step.getRegionIterArgs()[0]);
  Value next = MmaWaitOp::create(body, started, /*pending=*/0);
  ConsumerReleaseOp::create(body, stage.getStage());
  step.getYield().getValuesMutable().assign(next);
  return step.getResult(0);
}

void WgmmaBF16MainLoop::buildLoads() {
  OpBuilder::InsertionGuard guard(body);
  body.role("load", 1, /*elected=*/true);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work.getScheduler());
  OperandOrigin origin = work.getOperands(workTile);
  b.begin(workTile, origin);
  ForEachKOp step = forEachTile(workTile);
  Value k = step.getK();
  auto stage = ProducerAcquireOp::create(body, inputs);
  loadBoxesOfA(stage, origin.row, k, layouts.getFirstRows());
  b.loadElements(stage, k);
  ProducerCommitOp::create(body, stage.getStage(), Value());
  launchDependents(workTile);
}

const Strategy &mx::mxgpu::getWgmmaBF16() {
  static const WgmmaBF16 strategy;
  return strategy;
}
