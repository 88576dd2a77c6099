//===- Strategy.cpp - Strategy wgmma_swap_ab ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Computes D^T = B * A^T: rows of the instruction are columns of the tile, so
// low tiles suit small M. MMA warpgroups load B to registers and dequantize it;
// bf16 A is read from shared memory (../Common/RegisterOperandLayouts.h).
//
// Threads own two adjacent rows of B, so that eight lanes own 16 adjacent
// columns of the result (a sector of bf16), or the same row of two B matrices
// if the epilogue combines them. Accumulators are relabeled as rows of A by
// columns of the tile.
//
//===----------------------------------------------------------------------===//

#include "../Strategy.h"
#include "../Common/RegisterOperandMainLoop.h"
#include "../Common/RegisterOperandTile.h"
#include "../Common/RingTypes.h"
#include "mx/Support/OperandOrders.h"
#include "mx/Target/Wgmma.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Returns the tile in terms of the instruction.
static RegisterOperandTile getSwapABTile(const MatmulProblem &problem,
                                         const ScheduleFields &fields) {
  auto [rows, columns, depth] = fields.tile;
  return {columns,
          rows,
          depth,
          problem.mma.b->type,
          problem.mma.blockSize,
          problem.isPackedB,
          getPermuted(fields) == Workspace::A,
          /*isOfA=*/false};
}

static RegisterOperandNames getSwapABNames() {
  return {"wgmma_swap_ab", "columns", "rows"};
}

static RowSteps getSwapABRows(const MatmulProblem &problem,
                              const ScheduleFields &fields) {
  return problem.numB > 1 ? RowSteps::ofHalves(fields.tile[1])
                          : RowSteps::ofPairs();
}

/// Returns the instruction of a tile.
static WgmmaAttr getSwapABMma(const MatmulProblem &problem,
                              const ScheduleFields &fields) {
  return WgmmaAttr::get(problem.a.getContext(), fields.tile[1], fields.tile[0],
                        problem.mma.getK(),
                        getSwapABTile(problem, fields).getWarpgroups());
}

namespace {

class SwapABMainLoop final : public RegisterOperandMainLoop {
public:
  SwapABMainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b)
      : RegisterOperandMainLoop(kernel, work, b, getOperand(kernel)) {}

private:
  static RegisterOperand getOperand(const MatmulKernel &kernel) {
    const MatmulProblem &problem = kernel.matmul.problem;
    ScheduleFields fields = kernel.matmul.schedule.getFields();
    bool isPermuted = getPermuted(fields) == Workspace::A;
    return {problem.b,
            "b",
            "sfb",
            "a",
            problem.isPackedB,
            getSwapABRows(problem, fields),
            isPermuted ? getReductionBlock(problem.k) : 0};
  }

  Value getRing() override { return bInputs; }
  Value getOtherRing() override { return inputs; }
  Value getFirstRow(ForEachWorkTileOp workTile) override {
    return getFirstRowOfScales(workTile);
  }

  /// Rows of A are loaded in order.
  int64_t getRowsOfBox() const override { return schedule.getTileM(); }
  void loadA(ProducerAcquireOp stage, Value row, Value k) override {
    OperandBoxes boxes(arguments.get(Arg::AMap), *matmul.problem.mma.a,
                       schedule.getTileK());
    loadPanels(body, boxes, row, k, stage, "a", schedule.getL2A());
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Maximum B matrices: a thread owns a row of each.
static constexpr int64_t kMaxMatricesOfB = 2;
/// Returns true if B is readable; packed weights require the rows of
/// `RowSteps::ofPairs`.
static bool canReadB(const MatmulProblem &problem) {
  return !problem.isPackedB || problem.numB == 1;
}

/// Checks the registers that ptxas divides among several CTAs per SM:
/// accumulators, an operand, and others.
static std::optional<ScheduleError>
checkSharedRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                     const target::TargetInfo &target) {
  constexpr int64_t kRest = 48, kStep = 8;
  int64_t ctas = fields.strategy.getCtasPerSm();
  // One additional warp loads, and another finds work tiles of expert groups.
  int64_t others = problem.ragged == RaggedKind::None ? 1 : 2;
  int64_t warps =
      getSwapABTile(problem, fields).getWarpgroups() * target::kWarpGroupWarps +
      others;
  int64_t found = llvm::alignDown(
      target.registersPerSm / (ctas * warps * target::kWarpSize), kStep);
  auto [rows, columns, depth] = fields.tile;
  int64_t needed = rows / 2 + depth / 4 + kRest;
  if (found >= needed)
    return std::nullopt;
  return refuse("expected {0} registers of a thread for a tile of {1} x {2} x "
                "{3}, found {4} with ctas_per_sm = {5}",
                needed, rows, columns, depth, found, ctas);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Returns true if a single row tile covers the rows, or the mean rows of an
/// expert group, so that weights are read once and rows of A by all CTAs. With
/// L2 hints, 1024 rows in 32 groups take 1 to 3 % less time on an H200, and ten
/// dense matmuls on an H100 1 % less on average.
static bool readsBOnce(const MatmulProblem &problem,
                       const ScheduleFields &fields) {
  if (ShapedType::isDynamic(problem.m) || ShapedType::isDynamic(problem.groups))
    return false;
  return ceilDiv(problem.m, std::max<int64_t>(problem.groups, 1)) <=
         fields.tile[0];
}

//===----------------------------------------------------------------------===//
// The strategy
//===----------------------------------------------------------------------===//

namespace {

class WgmmaSwapAB final
    : public StrategyOf<WgmmaSwapABAttr, SwapABMainLoop, target::kWgmmaBF16> {
public:
  MatmulBuffers getBuffers(const MatmulProblem &problem,
                           const ScheduleFields &fields) const override {
    RingTypes types(problem, fields);
    WgmmaAttr mma = getSwapABMma(problem, fields);
    int64_t threads = mma.getWarpgroups() * target::kWarpGroupSize;
    MatmulBuffers buffers;
    buffers.mma = mma;
    buffers.inputs = types.getDenseInputs(threads);
    buffers.bInputs = types.getBInputs(threads);
    buffers.otherWarps = 1; // loads
    types.addEpilogue(buffers,
                      RegisterOperandLayouts(mma, types.tileK,
                                             getSwapABRows(problem, fields),
                                             /*permuted=*/0)
                          .getResultOfB(),
                      threads / target::kWarpSize);
    return buffers;
  }

  std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                const target::TargetInfo &target) const override {
    if (auto error = checkRegisterOperandTile(getSwapABTile(problem, fields),
                                              getSwapABNames()))
      return error;
    if (problem.numB > kMaxMatricesOfB)
      return refuse("expected at most {0} B matrices with wgmma_swap_ab, one "
                    "per row of a thread, found {1}",
                    kMaxMatricesOfB, problem.numB);
    if (!canReadB(problem))
      return ScheduleError{
          "expected no wgmma_swap_ab with packed weights and num_b: use "
          "another strategy, or do not pack the weights"};
    if (getOwn(fields).getPermutedA())
      if (std::string why = explainNotPermuted(problem, Workspace::A);
          !why.empty())
        return ScheduleError{why};
    if (problem.isQuantized)
      return ScheduleError{
          "expected no wgmma_swap_ab with a quantized result, whose blocks "
          "span many threads: use another strategy"};
    if (fields.epilogue != Epilogue::Direct)
      return refuse("expected epilogue = direct with wgmma_swap_ab, whose "
                    "warps own columns of all rows, found {0}",
                    stringifyEpilogue(fields.epilogue));
    if (fields.strategy.getCtasPerSm() > 1)
      return checkSharedRegisters(problem, fields, target);
    return std::nullopt;
  }

  std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                 const target::TargetInfo &target) const override {
    SmallVector<int64_t> least = getRegisters(problem, fields);
    if (least.empty())
      return ScheduleError{"expected no registers with ctas_per_sm, which says "
                           "how many a thread has"};
    return checkTwoRoles(fields, getSwapABTile(problem, fields).getWarpgroups(),
                         least, target);
  }

  /// Returns registers for a thread's accumulators, the elements of B before
  /// and after dequantization, and addresses.
  SmallVector<int64_t>
  getRegisters(const MatmulProblem &problem,
               const ScheduleFields &fields) const override {
    if (fields.strategy.getCtasPerSm() > 1)
      return {};
    return getSwapABTile(problem, fields).getRegisters();
  }

  void forEachTile(const MatmulProblem &problem,
                   AddCandidate add) const override {
    if (problem.numB > kMaxMatricesOfB || !canReadB(problem))
      return;
    forEachRegisterOperandTile(
        [&](int64_t columns, int64_t rows, int64_t depth) {
          ScheduleFields fields;
          fields.strategy = WgmmaSwapABAttr::get(
              problem.out.getContext(), /*cluster_split=*/false,
              /*ctas_per_sm=*/1, problem.canPermute == Workspace::A);
          fields.tile = {rows, columns, depth};
          if (checkRegisterOperandTile(getSwapABTile(problem, fields),
                                       getSwapABNames()))
            return;
          fields.registers = getRegisters(problem, fields);
          add(fields);
        });
  }

  bool excludesOthers() const override { return true; }
  void refineSplit(const MatmulProblem &problem,
                   ScheduleFields &fields) const override {
    // On an H200, saves 3 % of the time with small M, but costs 4 % with a
    // kernel that adds splits.
    fields.pdl = fields.splitK == 1 || fields.strategy.getClusterSplit();
    bool readsOnce = fields.pdl && readsBOnce(problem, fields);
    fields.l2A = readsOnce ? CacheHint::EvictLast : CacheHint::None;
    fields.l2B = readsOnce ? CacheHint::EvictFirst : CacheHint::None;
  }

  StrategyAttrInterface
  getClusterSplit(const ScheduleFields &fields) const override {
    WgmmaSwapABAttr own = getOwn(fields);
    return WgmmaSwapABAttr::get(own.getContext(), /*cluster_split=*/true,
                                own.getCtasPerSm(), own.getPermutedA());
  }

  /// Threads own elements of all rows.
  bool distributesPartials() const override { return true; }

  /// Scattered rows are added 8 bytes at a time, because a thread owns two
  /// adjacent columns: 8 ms more for a layer of 131072 rows on an H200.
  int64_t getDirectStorePercent(const MatmulProblem &problem,
                                int64_t) const override {
    constexpr int64_t kOfReductions = 350, kOfStores = 100;
    return problem.isScattered ? kOfReductions : kOfStores;
  }

  /// With two slices per step, MMAs hold a stage on average.
  int64_t getHeldPercent(const ScheduleFields &fields) const override {
    return getSlicesOfStep(fields.tile[0]) > 1 ? 100 : 0;
  }
  int64_t getStepCycles(const MatmulProblem &problem,
                        const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    return getSwapABTile(problem, fields).getStepCycles(buffers, rates);
  }

  int64_t getPortCycles(const MatmulProblem &problem,
                        const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    return getSwapABTile(problem, fields)
        .getPortCycles(buffers, buffers.bInputs, buffers.inputs, rates);
  }

  std::string describe(const ScheduleFields &fields) const override {
    return getOwn(fields).getPermutedA() ? " swap permuted" : " swap";
  }
};

} // namespace

const Strategy &mx::mxgpu::getWgmmaSwapAB() {
  static const WgmmaSwapAB strategy;
  return strategy;
}
