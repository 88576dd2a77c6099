//===- Strategy.cpp - Strategy wgmma_swap_ab ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes D^T = B * A^T, so the rows of the instruction are columns of the
// tile. Tiles may therefore be short, which suits small M. MMA warpgroups load
// B to registers and dequantize B there. They read bf16 A from shared memory
// (../Common/RegisterOperandLayouts.h).
//
// A thread owns two adjacent rows of B, so eight lanes own 16 adjacent
// result columns, which fill a sector of bf16 elements. If the epilogue
// combines two B matrices, a thread owns the same row of both instead.
// Accumulators are relabeled as rows of A by columns of the tile.
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

/// Returns the tile with the rows and columns of the instruction.
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

  /// A box contains all rows of A in order.
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

/// Maximum number of B matrices. A thread owns two rows, one of each matrix.
static constexpr int64_t kMaxMatricesOfB = 2;
/// Returns true if threads can load B. Packed weights require that a thread
/// owns two adjacent rows (`RowSteps::ofPairs`).
static bool canReadB(const MatmulProblem &problem) {
  return !problem.isPackedB || problem.numB == 1;
}

/// Checks that the registers suffice if several CTAs share an SM. A thread
/// needs registers for accumulators, an operand and other values.
static std::optional<ScheduleError>
checkSharedRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                     const target::TargetInfo &target) {
  constexpr int64_t kRest = 48, kStep = 8;
  int64_t ctas = fields.strategy.getCtasPerSm();
  // One further warp loads, and with expert groups another finds work tiles.
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
  return refuse("expected {0} registers per thread for a tile of {1} x {2} x "
                "{3}, found {4} with ctas_per_sm = {5}",
                needed, rows, columns, depth, found, ctas);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Returns true if a single row tile covers all rows, or the mean number of
/// rows of an expert group. Weights are then read once, while all CTAs read the
/// same rows of A, so L2 hints help. They save 1 to 3 % with 1024 rows in 32
/// groups (H200), and 1 % on average in ten dense matmuls (H100).
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
          "wgmma_swap_ab does not support packed weights with num_b: use "
          "another strategy, or do not pack the weights"};
    if (getOwn(fields).getPermutedA())
      if (std::string why = explainNotPermuted(problem, Workspace::A);
          !why.empty())
        return ScheduleError{why};
    if (problem.isQuantized)
      return ScheduleError{
          "wgmma_swap_ab does not support quantized results, because their "
          "blocks span many threads: use another strategy"};
    if (fields.epilogue != Epilogue::Direct)
      return refuse("expected epilogue = direct with wgmma_swap_ab, because "
                    "its warps own columns of all rows, found {0}",
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
      return ScheduleError{"expected no 'registers' with 'ctas_per_sm', which "
                           "determines the registers per thread"};
    return checkTwoRoles(fields, getSwapABTile(problem, fields).getWarpgroups(),
                         least, target);
  }

  /// Returns the registers per thread for accumulators, elements of B before
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
    // On an H200, dependent launch saves 3 % of the time with small M, but
    // costs 4 % if another kernel adds the splits.
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

  /// Returns true, because each thread owns elements of all rows.
  bool distributesPartials() const override { return true; }

  /// Accounts for scattered rows. They are added only 8 bytes at a time,
  /// because a thread owns two adjacent columns. On an H200 this takes 8 ms
  /// more for a layer of 131072 rows.
  int64_t getDirectStorePercent(const MatmulProblem &problem,
                                int64_t) const override {
    constexpr int64_t kOfReductions = 350, kOfStores = 100;
    return problem.isScattered ? kOfReductions : kOfStores;
  }

  /// Returns the stages held by pending MMAs, in percent of a stage. With two
  /// or more slices per step, they hold one stage on average.
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
