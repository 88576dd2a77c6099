//===- Strategy.cpp - bf16 by weights, by mma.sync ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The copy engine fills a ring with tiles of A, and another with tiles of B and
// their scales. Each warp has columns of the tile: it loads its part of B to
// registers, dequantizes it there, and multiplies the rows of A by it.
//
//===----------------------------------------------------------------------===//

#include "../../Kernel/Strategy.h"
#include "../Common/RingTypes.h"
#include "../Common/UpcastMainLoop.h"
#include "../MmaSyncBlockScaled/Layouts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

class MmaSyncUpcastMainLoop final : public UpcastMainLoop {
public:
  MmaSyncUpcastMainLoop(ProductKernel &kernel, WorkPolicy &work, OperandB &b)
      : UpcastMainLoop(kernel, work, b) {}

  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

private:
  int64_t getRowsOfBox() const override { return schedule.getTileM(); }
  void loadA(ProducerAcquireOp stage, Value row, Value k) override;
  /// The accumulator of a work tile.
  Value multiply(ForEachWorkTileOp workTile);
};

class MmaSyncUpcastB final : public StrategyOf<MmaSyncUpcastBAttr> {
public:
  std::optional<target::ProductForm>
  match(const OperandTypes &types, const target::TargetInfo &) const override {
    return target::lookupProduct(target::kMmaSyncBF16, types.a, types.b,
                                 types.blockSize, types.scaleFormat);
  }

  MatmulBuffers getBuffers(const MatmulProblem &problem,
                           const ScheduleFields &fields) const override;
  std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                const target::TargetInfo &target) const override;
  std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &, const ScheduleFields &,
                 const target::TargetInfo &) const override {
    return ScheduleError{"expected no registers: ptxas chooses them", {}};
  }

  void forEachTile(const MatmulProblem &problem,
                   AddCandidate add) const override;
  int64_t getPortCycles(const MatmulProblem &problem,
                        const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override;
  ArrayRef<StringLiteral> getRoles() const override { return {}; }

  std::unique_ptr<MainLoop> createMainLoop(ProductKernel &kernel,
                                           WorkPolicy &work,
                                           OperandB &b) const override {
    return std::make_unique<MmaSyncUpcastMainLoop>(kernel, work, b);
  }
};

} // namespace

const Strategy &mx::mxgpu::getMmaSyncUpcastB() {
  static const MmaSyncUpcastB strategy;
  return strategy;
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

/// Rows, at most, and columns of a warp.
static constexpr int64_t kMostRowsOfWarp = 64, kColumnsOfWarp = 32;

static MmaSyncAttr getUpcastMma(const MatmulProblem &problem,
                                ArrayRef<int64_t> tile) {
  return MmaSyncAttr::get(problem.out.getContext(), MmaKind::F16, tile[0],
                          tile[1],
                          std::max<int64_t>(tile[0] / kMostRowsOfWarp, 1),
                          tile[1] / kColumnsOfWarp, /*block=*/0,
                          /*first_scale=*/0);
}

static FragmentLayoutAttr makeLayoutOf(MmaSyncAttr mma,
                                       const FragmentModes &modes) {
  return FragmentLayoutAttr::get(mma.getContext(), modes.threads, modes.values);
}

MatmulBuffers MmaSyncUpcastB::getBuffers(const MatmulProblem &problem,
                                         const ScheduleFields &fields) const {
  RingTypes types(problem, fields);
  MmaSyncAttr mma = getUpcastMma(problem, fields.tile);
  int64_t warps = mma.getWarps() * mma.getColumnWarps();
  int64_t threads = warps * target::kWarpSize;
  MatmulBuffers buffers;
  buffers.mma = mma;
  buffers.inputs = types.getRing(
      fields.stages, {"a"}, {types.getDense(types.tileM)},
      {AsyncKind::BulkCopy}, {AsyncKind::Threads, threads}, Scope::Cta);
  buffers.bInputs = types.getBInputs(threads);
  buffers.otherWarps = 1; // loads
  types.addEpilogue(
      buffers, makeLayoutOf(mma, mma.getAccumulatorModes(types.tileN)), warps);
  return buffers;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static constexpr int64_t kUpcastRows[] = {16, 32, 64, 128};
static constexpr int64_t kUpcastColumns[] = {32, 64, 128, 256};
/// Accumulators of 8 warps, and rows that leave room for another CTA.
static constexpr int64_t kMostUpcastElements = 16384, kFewRows = 32;

static std::optional<ScheduleError>
checkMmaSyncUpcastTile(const ScheduleFields &fields, int64_t ctasPerSm) {
  ArrayRef<int64_t> tile = fields.tile;
  if (!llvm::is_contained(kUpcastRows, tile[0]))
    return ScheduleError{
        llvm::formatv("expected a tile of 16, 32, 64 or 128 rows, found {0}",
                      tile[0]),
        {}};
  if (!llvm::is_contained(kUpcastColumns, tile[1]) ||
      tile[0] * tile[1] > kMostUpcastElements)
    return ScheduleError{
        llvm::formatv("expected a tile of 32, 64 or 128 columns, or of 256 "
                      "with at most 64 rows, found {0} x {1}",
                      tile[0], tile[1]),
        {}};
  if (tile[2] != target::kDequantizedTileK)
    return ScheduleError{
        llvm::formatv("expected a tile of {0} reduction elements, found {1}",
                      target::kDequantizedTileK, tile[2]),
        {}};
  if (ctasPerSm == 1 || (ctasPerSm == 2 && tile[0] <= kFewRows))
    return std::nullopt;
  return ScheduleError{
      llvm::formatv("expected ctas_per_sm = 1, or 2 with a tile of 16 or 32 "
                    "rows, found {0} with {1}",
                    ctasPerSm, tile[0]),
      {}};
}

/// What warps that share rows cannot store, and an order of B that they do not
/// read.
static std::optional<ScheduleError>
checkMmaSyncUpcast(const MatmulProblem &problem, const ScheduleFields &fields,
                   const target::TargetInfo &target) {
  bool isStaged = fields.epilogue == Epilogue::TmaStore &&
                  explainDirectStores(problem).empty();
  struct Rule {
    bool isBroken;
    const char *expected, *found;
  };
  const Rule rules[] = {
      {problem.isPackedB, "b that is not packed",
       "packed weights: leave out mx.pack_weights"},
      {problem.isQuantized, "a result that is not quantized",
       "one that is: give it to an mx.quantize"},
      {problem.numB > 1, "one matrix of b for each result",
       "several: multiply by each in an operation of its own"},
      {isStaged, "epilogue = direct", "epilogue = tma_store"},
  };
  for (const Rule &rule : rules)
    if (rule.isBroken)
      return ScheduleError{
          llvm::formatv("expected {0} where {1} multiplies bf16 by weights, "
                        "found {2}",
                        rule.expected, target.chip, rule.found),
          {}};
  return std::nullopt;
}

std::optional<ScheduleError>
MmaSyncUpcastB::checkSchedule(const MatmulProblem &problem,
                              const ScheduleFields &fields,
                              const target::TargetInfo &target) const {
  if (auto error = checkMmaSyncUpcast(problem, fields, target))
    return error;
  return checkMmaSyncUpcastTile(fields, getOwn(fields).getCtasPerSm());
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

void MmaSyncUpcastB::forEachTile(const MatmulProblem &problem,
                                 AddCandidate add) const {
  for (int64_t rows : kUpcastRows)
    for (int64_t columns : kUpcastColumns)
      for (int64_t ctas : {1, 2}) {
        ScheduleFields fields;
        fields.strategy =
            MmaSyncUpcastBAttr::get(problem.out.getContext(), ctas);
        fields.tile = {rows, columns, target::kDequantizedTileK};
        add(fields);
      }
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Of shared memory, or of threads that dequantize: as long for an element as
/// on an H200, which is assumed.
int64_t MmaSyncUpcastB::getPortCycles(const MatmulProblem &problem,
                                      const ScheduleFields &fields,
                                      const MatmulBuffers &buffers,
                                      const target::Rates &rates) const {
  constexpr int64_t kCyclesOfElement = 11;
  auto mma = cast<MmaSyncAttr>(buffers.mma);
  int64_t elements = mma.getWarpColumns() * fields.tile[2] / target::kWarpSize;
  return std::max(getMmaSyncReadCycles(mma, problem, fields.tile[2], rates),
                  elements * kCyclesOfElement);
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

void MmaSyncUpcastMainLoop::createRings() {
  inputs = body.ring(product.buffers.inputs, "in");
  bInputs = body.ring(product.buffers.bInputs, "in_b");
}

void MmaSyncUpcastMainLoop::loadA(ProducerAcquireOp stage, Value row, Value k) {
  loadBoxesOfA(stage, row, k, /*firstRows=*/{int64_t(0)});
}

void MmaSyncUpcastMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildMultiply(epilogue,
                [&](ForEachWorkTileOp workTile) { return multiply(workTile); });
  buildLoad(/*kind=*/1);
}

Value MmaSyncUpcastMainLoop::multiply(ForEachWorkTileOp workTile) {
  OpBuilder::InsertionGuard guard(body);
  auto mma = cast<MmaSyncAttr>(product.buffers.mma);
  MmaAttrInterface kind = mma;
  Type bf16 = body.getBF16Type();
  int64_t depth = schedule.getTileK();
  Value row = getFirstRowOfScales(workTile);
  Value zero = ZeroFragmentOp::create(
      body, kind.getAccumulatorType(body.getF32Type(), mma.getN()));
  ForEachKOp step = forEachTile(workTile, zero);
  LoadedTile tile = loadTile(
      ConsumerWaitOp::create(body, bInputs), "b", "sfb", product.problem.b,
      makeLayoutOf(mma, mma.getOperandModes(MmaOperand::B, bf16, depth)), row,
      step);
  Value ofB = dequantize(tile);
  auto stage = ConsumerWaitOp::create(body, inputs);
  Value ofA = LoadFragmentOp::create(
      body, kind.getOperandType(MmaOperand::A, bf16, depth),
      stage.getBuffer("a"), body.index(0), body.index(0), /*thread=*/Value());
  Value extent = areTilesWhole() ? Value() : Value(step.getExtent());
  auto sum =
      MmaOp::create(body, zero.getType(), kind, ofA, ofB, /*a_scales=*/Value(),
                    /*b_scales=*/Value(), step.getRegionIterArgs()[0],
                    /*b_offset=*/Value(), /*accumulate=*/Value(), extent,
                    /*first_warp=*/IntegerAttr(), /*column=*/IntegerAttr());
  ConsumerReleaseOp::create(body, tile.stage);
  ConsumerReleaseOp::create(body, stage.getStage());
  step.getYield().getValuesMutable().assign(sum.getAccumulator());
  return step.getResult(0);
}
