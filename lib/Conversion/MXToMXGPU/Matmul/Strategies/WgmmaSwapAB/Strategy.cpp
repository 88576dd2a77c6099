//===- Strategy.cpp - W times X^T by wgmma --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Rows of the instruction are columns of the tile (Layouts.h), so that a tile
// may be as low as few rows of A. B goes from where it was loaded to the
// registers of the MMA warpgroups, which dequantize it there; A is bf16, and
// the instruction reads it where the copy engine put it.
//
//===----------------------------------------------------------------------===//

#include "../../Kernel/Strategy.h"
#include "../Common/RingTypes.h"
#include "../Common/Warpgroups.h"
#include "Layouts.h"
#include "MainLoop.h"
#include "mx/Conversion/MXToMXGPU/PackedWeights.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/Wgmma.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

class WgmmaSwapAB final : public StrategyOf<WgmmaSwapABAttr> {
public:
  std::optional<target::ProductForm>
  match(const OperandTypes &types, const target::TargetInfo &) const override {
    return target::lookupProduct(target::kWgmmaBF16, types.a, types.b,
                                 types.blockSize, types.scaleFormat);
  }

  MatmulBuffers getBuffers(const MatmulProblem &problem,
                           const ScheduleFields &fields) const override;
  std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                const target::TargetInfo &target) const override;
  std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                 const target::TargetInfo &target) const override;
  SmallVector<int64_t>
  getRegisters(const MatmulProblem &problem,
               const ScheduleFields &fields) const override;

  void forEachTile(const MatmulProblem &problem,
                   AddCandidate add) const override;
  bool excludesOthers() const override { return true; }
  void refineSplit(const MatmulProblem &problem,
                   ScheduleFields &fields) const override;
  StrategyAttrInterface
  getClusterSplit(const ScheduleFields &fields) const override {
    WgmmaSwapABAttr own = getOwn(fields);
    return WgmmaSwapABAttr::get(own.getContext(), /*cluster_split=*/true,
                                own.getCtasPerSm(), own.getPermutedA());
  }

  /// A thread has elements of all rows.
  bool distributesParts() const override { return true; }

  bool hasLowTiles() const override { return true; }

  /// While a part of a step is multiplied, the step before is released.
  int64_t getHeldStages(const ScheduleFields &fields) const override {
    return SwapABMainLoop::getParts(fields.tile[0]) - 1;
  }
  int64_t getStepCycles(const MatmulProblem &problem,
                        const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override;
  int64_t getPortCycles(const MatmulProblem &problem,
                        const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override;
  ArrayRef<StringLiteral> getRoles() const override {
    static constexpr StringLiteral kRoles[] = {"where they multiply",
                                               "elsewhere"};
    return kRoles;
  }

  std::unique_ptr<MainLoop> createMainLoop(ProductKernel &kernel,
                                           WorkPolicy &work,
                                           OperandB &b) const override {
    return std::make_unique<SwapABMainLoop>(kernel, work, b);
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

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

MatmulBuffers WgmmaSwapAB::getBuffers(const MatmulProblem &problem,
                                      const ScheduleFields &fields) const {
  RingTypes types(problem, fields);
  WgmmaAttr mma = getSwapABMma(problem, fields);
  int64_t threads = mma.getWarpgroups() * target::kWarpGroupSize;
  MatmulBuffers buffers;
  buffers.mma = mma;
  buffers.inputs = types.getDenseInputs(threads);
  buffers.bInputs = types.getBInputs(threads);
  buffers.otherWarps = 1; // loads
  types.addEpilogue(buffers,
                    SwapABLayouts(mma, types.tileK, problem.numB,
                                  /*permuted=*/0)
                        .getResult(),
                    threads / target::kWarpSize);
  return buffers;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Rows of a tile are columns of the instruction, which takes any multiple of
/// 8: every other one is choice enough.
static constexpr int64_t kRowStep = 16, kMostRows = 256;
static constexpr int64_t kSwapABColumns[] = {64, 128, 192, 256};
static constexpr int64_t kSwapABDepths[] = {64, 128};

/// Parts of B, of which a thread has a row each.
static constexpr int64_t kMostParts = 2;
/// Registers of a thread that multiplies and of one that loads, by warpgroups
/// that multiply, and the most rows of a tile: ptxas 13.0 serializes the
/// instructions of more. A thread of the highest tiles spills up to 532
/// bytes, in the epilogue.
struct ThreadRegisters {
  int64_t multiply, load, mostRows;
};
static constexpr ThreadRegisters kThreadRegisters[] = {
    {232, 40, kMostRows}, {232, 40, kMostRows}, {160, 32, 160}, {112, 32, 96}};
/// The same of tiles of few accumulators.
static constexpr ThreadRegisters kFewRegisters[] = {
    {200, 40, 128}, {200, 40, 128}, {152, 40, 64}, {104, 40, 64}};

static const ThreadRegisters &getThreadRegisters(const ScheduleFields &fields) {
  int64_t index = getSwapABWarpgroups(fields) - 1;
  const ThreadRegisters &few = kFewRegisters[index];
  return fields.tile[0] <= few.mostRows ? few : kThreadRegisters[index];
}

static std::optional<ScheduleError>
checkSwapABTile(const ScheduleFields &fields) {
  auto [rows, columns, depth] = fields.tile;
  if (rows % kRowStep)
    return ScheduleError{
        llvm::formatv("expected a tile of a multiple of {0} rows with "
                      "wgmma_swap_ab, found {1}",
                      kRowStep, rows),
        {}};
  if (!llvm::is_contained(kSwapABColumns, columns))
    return ScheduleError{
        llvm::formatv("expected a tile of 64, 128, 192 or 256 columns with "
                      "wgmma_swap_ab, found {0}",
                      columns),
        {}};
  if (!llvm::is_contained(kSwapABDepths, depth))
    return ScheduleError{
        llvm::formatv("expected a tile of 64 or 128 reduction elements with "
                      "wgmma_swap_ab, found {0}",
                      depth),
        {}};
  if (int64_t most = getThreadRegisters(fields).mostRows; rows > most)
    return ScheduleError{
        llvm::formatv("expected a tile of at most {0} rows with {1} columns "
                      "and wgmma_swap_ab, the accumulator that registers hold, "
                      "found {2}",
                      most, columns, rows),
        {}};
  return std::nullopt;
}

/// Whether threads hold of B what packed weights give them, if it is packed.
static bool canReadB(const MatmulProblem &problem) {
  if (!problem.isPackedB)
    return true;
  ScheduleFields fields;
  fields.tile = {kRowStep, kSwapABColumns[0], kSwapABDepths[0]};
  return isOfPackedWeights(SwapABLayouts(getSwapABMma(problem, fields),
                                         kSwapABDepths[0], problem.numB,
                                         /*permuted=*/0)
                               .getLoad());
}

/// Where an SM has several CTAs, ptxas divides its registers: a thread needs
/// some for its accumulators, an operand, and the rest.
static std::optional<ScheduleError>
checkSharedRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                     const target::TargetInfo &target) {
  constexpr int64_t kRest = 48, kStep = 8;
  int64_t ctas = fields.strategy.getCtasPerSm();
  // Besides one that loads, and one that looks for groups.
  int64_t others = problem.ragged == RaggedKind::None ? 1 : 2;
  int64_t warps =
      getSwapABWarpgroups(fields) * target::kWarpGroupWarps + others;
  int64_t found = llvm::alignDown(
      target.registersPerSm / (ctas * warps * target::kWarpSize), kStep);
  auto [rows, columns, depth] = fields.tile;
  int64_t needed = rows / 2 + depth / 4 + kRest;
  if (found >= needed)
    return std::nullopt;
  return ScheduleError{
      llvm::formatv("expected {0} registers of a thread for a tile of {1} x "
                    "{2} x {3}, found {4} with ctas_per_sm = {5}",
                    needed, rows, columns, depth, found, ctas),
      {}};
}

std::optional<ScheduleError>
WgmmaSwapAB::checkSchedule(const MatmulProblem &problem,
                           const ScheduleFields &fields,
                           const target::TargetInfo &target) const {
  if (auto error = checkSwapABTile(fields))
    return error;
  if (problem.numB > kMostParts)
    return ScheduleError{
        llvm::formatv(
            "expected at most {0} B matrices with wgmma_swap_ab, the rows "
            "that a thread has of each instruction, found {1}",
            kMostParts, problem.numB),
        {}};
  if (!canReadB(problem))
    return ScheduleError{
        "expected no wgmma_swap_ab with packed weights in parts, as "
        "a thread has the same row of both parts, and of "
        "packed weights adjacent rows of one: leave it out, "
        "or pack no weights",
        {}};
  if (getOwn(fields).getPermutedA())
    if (std::string why = explainNoPermutedA(problem); !why.empty())
      return ScheduleError{why, {}};
  if (problem.isQuantized)
    return ScheduleError{
        "expected no wgmma_swap_ab with a quantized result, whose "
        "blocks are columns that many threads have: leave it "
        "out",
        {}};
  if (fields.epilogue != Epilogue::Direct)
    return ScheduleError{
        llvm::formatv(
            "expected epilogue = direct with wgmma_swap_ab, where each "
            "warp has columns of all rows, found {0}",
            stringifyEpilogue(fields.epilogue)),
        {}};
  if (fields.strategy.getCtasPerSm() > 1)
    return checkSharedRegisters(problem, fields, target);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// A thread's accumulators, elements of B before and after they are
/// dequantized, and room for addresses.
SmallVector<int64_t>
WgmmaSwapAB::getRegisters(const MatmulProblem &problem,
                          const ScheduleFields &fields) const {
  if (fields.strategy.getCtasPerSm() > 1)
    return {};
  const ThreadRegisters &registers = getThreadRegisters(fields);
  return {registers.multiply, registers.load};
}

std::optional<ScheduleError>
WgmmaSwapAB::checkRegisters(const MatmulProblem &problem,
                            const ScheduleFields &fields,
                            const target::TargetInfo &target) const {
  SmallVector<int64_t> least = getRegisters(problem, fields);
  if (least.empty())
    return ScheduleError{"expected no registers with ctas_per_sm, which says "
                         "how many a thread has",
                         {}};
  return checkTwoRoles(fields, getSwapABWarpgroups(fields), least, target);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

void WgmmaSwapAB::forEachTile(const MatmulProblem &problem,
                              AddCandidate add) const {
  if (problem.numB > kMostParts || !canReadB(problem))
    return;
  for (int64_t rows = kRowStep; rows <= kMostRows; rows += kRowStep)
    for (int64_t columns : kSwapABColumns)
      for (int64_t depth : kSwapABDepths) {
        ScheduleFields fields;
        fields.strategy = WgmmaSwapABAttr::get(
            problem.out.getContext(), /*cluster_split=*/false,
            /*ctas_per_sm=*/1, problem.canPermuteA);
        fields.tile = {rows, columns, depth};
        if (checkSwapABTile(fields))
          continue;
        fields.registers = getRegisters(problem, fields);
        add(fields);
      }
}

/// Whether the rows, or on average those of a group, are those of one tile, so
/// that weights are read by one CTA, and what all CTAs read are rows of A. If
/// the L2 knows, 1024 rows in 32 groups take 1 to 3 % less time on an H200, and
/// ten products of one matrix of weights on an H100 1 % less, on average.
static bool readsBOnce(const MatmulProblem &problem,
                       const ScheduleFields &fields) {
  if (ShapedType::isDynamic(problem.m) || ShapedType::isDynamic(problem.groups))
    return false;
  return ceilDiv(problem.m, std::max<int64_t>(problem.groups, 1)) <=
         fields.tile[0];
}

void WgmmaSwapAB::refineSplit(const MatmulProblem &problem,
                              ScheduleFields &fields) const {
  // On an H200 3 % of the time with small M, but with a kernel that adds splits
  // 4 % more.
  fields.pdl = fields.splitK == 1 || fields.strategy.getClusterSplit();
  bool readsOnce = fields.pdl && readsBOnce(problem, fields);
  fields.l2A = readsOnce ? CacheHint::EvictLast : CacheHint::None;
  fields.l2B = readsOnce ? CacheHint::EvictFirst : CacheHint::None;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Hundredths of cycles, fitted to 527 timings on an H200, of an element that
/// a thread dequantizes: of its own warpgroup, and of each that issues to the
/// same schedulers.
static constexpr int64_t kOwnElement = 344, kSharedElement = 325;
/// The part of a step's products that nothing overlaps, in thousandths, and
/// cycles of a step's waits: with two parts of a step, and with one.
struct OverlapCosts {
  int64_t products, step;
};
static constexpr OverlapCosts kInParts = {755, 129}, kWhole = {700, 189};
/// More that products take than the tensor core needs, in per cent: where A is
/// permuted with elements of 4 bits, and with others. With many rows ptxas
/// spills: of 4 bits with 224 and 240, of others with 240 and 256.
static constexpr int64_t kMoreProducts = 13, kMoreOfRuns = 4,
                         kMoreOfSpilledRuns = 8, kMoreOfWideRuns = 18,
                         kMoreOfSpilledWideRuns = 50;

static int64_t getMoreOfRuns(int64_t rows, bool isWide) {
  constexpr int64_t kManyRows = 224;
  if (isWide)
    return rows > kManyRows ? kMoreOfSpilledWideRuns : kMoreOfWideRuns;
  return rows >= kManyRows && rows < kMostRows ? kMoreOfSpilledRuns
                                               : kMoreOfRuns;
}

/// What an element takes, to one of MXFP4 that is not packed: single bytes'
/// loads, conversions and scales, in per cent.
static int64_t getElementPercent(const MatmulProblem &problem,
                                 bool isPermuted) {
  int64_t percent = target::getBits(problem.product.b->type) > 4 ? 109 : 100;
  if (isPermuted)
    return percent * 5 / 8;
  if (problem.isPackedB)
    percent = percent * 5 / 8;
  // Scales that are no powers of two, twice as many.
  if (problem.product.blockSize < 32)
    percent += 12;
  return percent;
}

static int64_t getProductCycles(const ScheduleFields &fields,
                                const MatmulBuffers &buffers,
                                const target::Rates &rates) {
  return ceilDiv(fields.tile[2], buffers.mma.getMmaShape().k) *
         buffers.mma.getCycles(rates);
}

/// Of the warpgroups that dequantize B and multiply.
static int64_t getThreadCycles(const MatmulProblem &problem,
                               const ScheduleFields &fields, bool isPermuted,
                               const MatmulBuffers &buffers,
                               const target::Rates &rates) {
  int64_t threads = buffers.bInputs.getConsumerThreads();
  int64_t elements = ceilDiv(fields.tile[1] * fields.tile[2], threads);
  int64_t groups = threads / target::kWarpGroupSize;
  const OverlapCosts &costs =
      SwapABMainLoop::getParts(fields.tile[0]) > 1 ? kInParts : kWhole;
  // Per cent of hundredths.
  constexpr int64_t kUnit = 10000;
  int64_t sum = elements * getElementPercent(problem, isPermuted) *
                    (kSharedElement * groups + kOwnElement) +
                getProductCycles(fields, buffers, rates) * costs.products *
                    (kUnit / 1000);
  return (sum + kUnit / 2) / kUnit + costs.step;
}

/// Products are slower than the tensor core is, for waits and reads of A.
int64_t WgmmaSwapAB::getStepCycles(const MatmulProblem &problem,
                                   const ScheduleFields &fields,
                                   const MatmulBuffers &buffers,
                                   const target::Rates &rates) const {
  bool isWide = target::getBits(problem.product.b->type) > 4;
  int64_t percent = getOwn(fields).getPermutedA()
                        ? getMoreOfRuns(fields.tile[0], isWide)
                        : kMoreProducts;
  return getProductCycles(fields, buffers, rates) * percent / 100;
}

/// B stays in registers, and the instructions of each 64 columns read A.
int64_t WgmmaSwapAB::getPortCycles(const MatmulProblem &problem,
                                   const ScheduleFields &fields,
                                   const MatmulBuffers &buffers,
                                   const target::Rates &rates) const {
  int64_t bytes =
      (1 + fields.tile[1] / target::kWgmmaM) * buffers.inputs.getStageBytes() +
      2 * buffers.bInputs.getStageBytes();
  return std::max(ceilDiv(bytes, rates.smemReadBytesPerClk),
                  getThreadCycles(problem, fields,
                                  getOwn(fields).getPermutedA(), buffers,
                                  rates));
}
