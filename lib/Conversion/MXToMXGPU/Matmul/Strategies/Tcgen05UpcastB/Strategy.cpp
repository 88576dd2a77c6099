//===- Strategy.cpp - Strategy tcgen05_upcast_b ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensor core reads bf16 A unmodified, and threads dequantize B to a ring
// (UpcastMainLoop.h). A single thread issues MMAs of kind f16, and four warps
// read the accumulators. Tensor memory contains only accumulators. Each CTA of
// a pair holds half of the rows of A and of B.
//===----------------------------------------------------------------------===//

#include "../Strategy.h"
#include "../Common/RingTypes.h"
#include "../Common/UpcastCosts.h"
#include "../Common/UpcastMainLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mx/Conversion/MXToMXGPU/PackedWeights.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Returns the number of warps that dequantize `rows`-row tiles of B. The
/// registers that the epilogue leaves limit this number.
static int64_t getConvertingWarps(int64_t rows) {
  bool isHigh = rows >= static_cast<int64_t>(target::kWarpGroupSize);
  return (isHigh ? 2 : 1) * target::kWarpGroupWarps;
}

namespace {

class Tcgen05UpcastMainLoop final : public UpcastMainLoop {
public:
  Tcgen05UpcastMainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b)
      : UpcastMainLoop(kernel, work, b) {}

  void createRings() override;
  void buildRoles(EpiloguePolicy &epilogue) override;

private:
  int64_t getRowsOfBox() const override { return matmul.getARows(); }
  void loadA(ProducerAcquireOp stage, Value row, Value k) override;

  void buildMma();

  Value accumulators;
};

struct Tcgen05UpcastTypes : RingTypes {
  using RingTypes::RingTypes;

  MmaAttrInterface getMma() const {
    return Tcgen05MmaAttr::get(context, MmaKind::F16, tileM, tileN, ctas,
                               /*block=*/0);
  }

  RingType getAInputs() const {
    return getRing(fields.stages, {"a"}, {getDense(tileM / ctas)},
                   {AsyncKind::BulkCopy}, {AsyncKind::MmaCommit}, scope);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Returns the supported numbers of columns. A CTA converts at least 64 rows of
/// B, so each thread converts whole blocks.
static ArrayRef<int64_t> getUpcastColumns(int64_t ctas) {
  static constexpr int64_t kColumns[] = {64, 128, 256};
  return ArrayRef(kColumns).drop_front(ctas > 1 ? 1 : 0);
}

static std::optional<ScheduleError>
checkUpcastTile(const ScheduleFields &fields) {
  int64_t ctas = fields.strategy.getCtas();
  int64_t rows = target::kTmemLanes * ctas;
  const char *of = ctas > 1 ? " for two CTAs" : "";
  constexpr int64_t kDepth = target::kDequantizedTileK;
  if (fields.tile[0] != rows)
    return refuse("expected a tile of {0} rows{1} if 'a' is bf16, found {2}",
                  rows, of, fields.tile[0]);
  if (!llvm::is_contained(getUpcastColumns(ctas), fields.tile[1]))
    return refuse("expected a tile of {0}128 or 256 columns{1} if 'a' is bf16, "
                  "found {2}",
                  ctas > 1 ? "" : "64, ", of, fields.tile[1]);
  if (fields.tile[2] != kDepth)
    return refuse(
        "expected a tile of {0} reduction elements if 'a' is bf16, found {1}",
        kDepth, fields.tile[2]);
  return std::nullopt;
}

/// Registers per thread of converters, and of the warps that load, multiply
/// and, with expert groups, find work tiles. Below 80 registers, ptxas 13.0
/// spills, although these warps use fewer registers.
constexpr int64_t kConverterRegisters = 128, kOtherRegisters = 80;

//===----------------------------------------------------------------------===//
// The strategy
//===----------------------------------------------------------------------===//

namespace {

class Tcgen05UpcastB final
    : public StrategyOf<Tcgen05UpcastBAttr, Tcgen05UpcastMainLoop,
                        target::kTcgen05F16> {
public:
  MatmulBuffers getBuffers(const MatmulProblem &problem,
                           const ScheduleFields &fields) const override {
    Tcgen05UpcastTypes types(problem, fields);
    Tcgen05UpcastBAttr own = getOwn(fields);
    int64_t warps = getConvertingWarps(types.tileN / types.ctas);
    MatmulBuffers buffers;
    buffers.mma = types.getMma();
    buffers.inputs = types.getAInputs();
    buffers.bInputs = types.getBInputs(warps * target::kWarpSize);
    buffers.operands =
        types.getOperands(own.getOperandStages(), warps * target::kWarpSize,
                          {AsyncKind::MmaCommit});
    buffers.accumulators = types.getAccumulators(own.getAccumulators());
    buffers.otherWarps = warps + 2; // loads and MMAs
    types.addEpilogue(buffers, types.getTmemAccumulator(), kEpilogueWarps);
    return buffers;
  }

  std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &, const ScheduleFields &fields,
                const target::TargetInfo &target) const override {
    if (std::string error = target::checkMmaKind(target, target::MmaKind::F16);
        !error.empty())
      return ScheduleError{error};
    return checkUpcastTile(fields);
  }

  /// Checks the registers of the epilogue, conversion and other warpgroups.
  std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &, const ScheduleFields &fields,
                 const target::TargetInfo &target) const override {
    constexpr int64_t kLeast[] = {target::kEpilogueRegisters,
                                  kConverterRegisters, kOtherRegisters};
    ArrayRef<int64_t> found = fields.registers;
    int64_t converters =
        getConvertingWarps(fields.tile[1] / fields.strategy.getCtas()) /
        target::kWarpGroupWarps;
    int64_t groups = converters + 2;
    int64_t all = getRegistersOfWarpgroups(groups, target);
    if (found.size() == std::size(kLeast)) {
      auto isEnough = [](auto pair) {
        return std::get<0>(pair) >= std::get<1>(pair);
      };
      int64_t sum = found[0] + converters * found[1] + found[2];
      if (llvm::all_of(llvm::zip(found, kLeast), isEnough) && sum <= all)
        return std::nullopt;
    }
    return refuse(
        "expected at least {0} registers for the epilogue, {1} for converters "
        "of 'b' and {2} for the other roles, at most {4} in total over 1 "
        "epilogue, {3} converter and 1 other warpgroups, found "
        "registers = [{5:$[, ]}]",
        kLeast[0], kLeast[1], kLeast[2], converters, all,
        llvm::make_range(found.begin(), found.end()));
  }

  SmallVector<int64_t> getRegisters(const MatmulProblem &,
                                    const ScheduleFields &) const override {
    return {168, kConverterRegisters, 88};
  }

  void forEachTile(const MatmulProblem &problem,
                   AddCandidate add) const override {
    // With fewer rows, the second CTA of a pair would be idle.
    bool hasPairs =
        ShapedType::isDynamic(problem.m) || problem.m > target::kTmemLanes;
    for (int64_t ctas : {1, 2})
      for (int64_t columns : getUpcastColumns(ctas)) {
        if (ctas > 1 && !hasPairs)
          continue;
        ScheduleFields fields;
        fields.strategy =
            Tcgen05UpcastBAttr::get(problem.out.getContext(), ctas);
        fields.tile = {target::kTmemLanes * ctas, columns,
                       target::kDequantizedTileK};
        fields.registers = getRegisters(problem, fields);
        add(fields);
      }
  }

  /// With a single work tile per worker, no next accumulator exists.
  void forEachLoop(const MatmulProblem &, ScheduleFields fields,
                   bool isPersistent, AddCandidate add) const override {
    add(fields);
    if (!isPersistent)
      return;
    Tcgen05UpcastBAttr own = getOwn(fields);
    for (TileLoop loop : {TileLoop::Static, TileLoop::Clc}) {
      fields.strategy = Tcgen05UpcastBAttr::get(own.getContext(), own.getCtas(),
                                                /*accumulators=*/2,
                                                own.getOperandStages(), loop);
      add(fields);
    }
  }

  int64_t getPortCycles(const MatmulProblem &problem,
                        const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    return getUpcastPortCycles(problem, fields, buffers, rates,
                               kDequantizeCycles);
  }

  std::string describe(const ScheduleFields &fields) const override {
    return llvm::formatv(" a{0}", getOwn(fields).getAccumulators());
  }
  ArrayRef<StringLiteral> getRoles() const override {
    static constexpr StringLiteral kRoles[] = {
        "in the epilogue", "in dequantizing warps", "in other warps"};
    return kRoles;
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

void Tcgen05UpcastMainLoop::createRings() {
  UpcastMainLoop::createRings();
  accumulators = body.ring(matmul.buffers.accumulators, "acc");
}

void Tcgen05UpcastMainLoop::buildRoles(EpiloguePolicy &epilogue) {
  buildEpilogue(epilogue, accumulators);
  int64_t warps = getConvertingWarps(matmul.getBRows());
  auto getLayout = matmul.problem.isPackedB
                       ? getPackedWeights
                       : FragmentLayoutAttr::getRowsOfThreads;
  FragmentLayoutAttr layout =
      getLayout(op->getContext(), warps * target::kWarpSize, matmul.getBRows(),
                schedule.getTileK());
  buildDequantize(warps, layout, layout);
  buildLoad();
  buildMma();
}

void Tcgen05UpcastMainLoop::loadA(ProducerAcquireOp stage, Value row, Value k) {
  OperandBoxes boxes(arguments.get(Arg::AMap), *matmul.problem.mma.a,
                     schedule.getTileK());
  loadPanels(body, boxes, row, k, stage, "a", schedule.getL2A());
}

/// Builds the MMA thread, which runs on the leader of a CTA pair. Elements past
/// the end of the reduction are zero in both operands.
void Tcgen05UpcastMainLoop::buildMma() {
  OpBuilder::InsertionGuard guard(body);
  body.role("mma", 1, /*elected=*/true, /*onLeader=*/matmul.getCtas() > 1);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work.getScheduler());
  Value empty = work.isEmpty(workTile);
  auto accumulator = ProducerAcquireOp::create(body, accumulators);
  ForEachKOp step = forEachTile(workTile);
  auto stage = ConsumerWaitOp::create(body, inputs);
  auto tile = ConsumerWaitOp::create(body, operands);
  MmaOp::create(
      body, /*accumulator=*/Type(), matmul.buffers.mma, stage.getBuffer("a"),
      tile.getBuffer("b"),
      /*a_scales=*/Value(), /*b_scales=*/Value(), accumulator.getBuffer("d"),
      /*b_offset=*/Value(), isAdded(step), /*extent=*/Value(),
      /*thread=*/Value(), /*column=*/IntegerAttr(), /*row=*/IntegerAttr());
  ConsumerReleaseOp::create(body, tile.getStage());
  ConsumerReleaseOp::create(body, stage.getStage());
  body.setInsertionPointAfter(step);
  ProducerCommitOp::create(body, accumulator.getStage(), empty);
}

const Strategy &mx::mxgpu::getTcgen05UpcastB() {
  static const Tcgen05UpcastB strategy;
  return strategy;
}
