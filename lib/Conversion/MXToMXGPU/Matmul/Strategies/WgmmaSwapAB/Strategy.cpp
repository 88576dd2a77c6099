//===- Strategy.cpp - W times X^T by wgmma, for small M -------------------===//
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
                                own.getCtasPerSm());
  }

  bool hasLowTiles() const override { return true; }

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

  std::string describe(const ScheduleFields &) const override {
    return " swap";
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
                    SwapABLayouts(mma, types.tileK, problem.numB).getResult(),
                    threads / target::kWarpSize);
  return buffers;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static constexpr int64_t kSwapABRows[] = {16, 32, 48, 64, 128};
static constexpr int64_t kSwapABColumns[] = {64, 128, 256};
static constexpr int64_t kSwapABDepths[] = {64, 128};

/// Parts of B, of which a thread has a row each.
static constexpr int64_t kMostParts = 2;
/// Accumulators of a tile: 32 for each thread of four warpgroups, 64 for one of
/// two.
static constexpr int64_t kMostSwapABAccumulators = 64 * 256;
/// Warpgroups of which, with that of the loads, threads have few registers.
static constexpr int64_t kManyWarpgroups = 4;

namespace {
struct TileSizes {
  ArrayRef<int64_t> sizes;
  StringRef names;
};
} // namespace

/// By the number of the dimension.
static constexpr TileSizes kTileSizes[] = {
    {kSwapABRows, "16, 32, 48, 64 or 128 rows"},
    {kSwapABColumns, "64, 128 or 256 columns"},
    {kSwapABDepths, "64 or 128 reduction "
                    "elements"}};

static std::optional<ScheduleError>
checkSwapABTile(const ScheduleFields &fields) {
  for (auto [size, row] : llvm::zip_equal(fields.tile, kTileSizes))
    if (!llvm::is_contained(row.sizes, size))
      return ScheduleError{
          llvm::formatv("expected a tile of {0} with wgmma_swap_ab, found {1}",
                        row.names, size),
          {}};
  int64_t rows = fields.tile[0], columns = fields.tile[1];
  if (rows * columns > kMostSwapABAccumulators)
    return ScheduleError{
        llvm::formatv(
            "expected a tile of at most {0} elements with wgmma_swap_ab, "
            "the accumulator that registers hold, found {1} x {2}",
            kMostSwapABAccumulators, rows, columns),
        {}};
  return std::nullopt;
}

/// Whether threads hold of B what packed weights give them, if it is packed.
static bool canReadB(const MatmulProblem &problem) {
  if (!problem.isPackedB)
    return true;
  ScheduleFields fields;
  fields.tile = {kSwapABRows[0], kSwapABColumns[0], kSwapABDepths[0]};
  return isOfPackedWeights(SwapABLayouts(getSwapABMma(problem, fields),
                                         kSwapABDepths[0], problem.numB)
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
/// dequantized, and room for addresses: ptxas 13.0 does not spill then.
SmallVector<int64_t>
WgmmaSwapAB::getRegisters(const MatmulProblem &problem,
                          const ScheduleFields &fields) const {
  if (fields.strategy.getCtasPerSm() > 1)
    return {};
  if (getSwapABWarpgroups(fields) >= kManyWarpgroups)
    return {104, 40};
  return {200, 40};
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

/// Rows of a group up to which threads of their own that dequantize B are not
/// worth their detour through shared memory: it is dequantized again for every
/// 128 rows.
static constexpr int64_t kFewRows = 256;

/// Whether types say that rows are few.
static bool hasFewRows(const MatmulProblem &problem) {
  if (ShapedType::isDynamic(problem.m) || ShapedType::isDynamic(problem.groups))
    return false;
  return ceilDiv(problem.m, std::max<int64_t>(problem.groups, 1)) <= kFewRows;
}

void WgmmaSwapAB::forEachTile(const MatmulProblem &problem,
                              AddCandidate add) const {
  if (problem.numB > kMostParts || !canReadB(problem) || !hasFewRows(problem))
    return;
  for (int64_t rows : kSwapABRows)
    for (int64_t columns : kSwapABColumns)
      for (int64_t depth : kSwapABDepths) {
        ScheduleFields fields;
        fields.strategy = getDefault(problem.out.getContext());
        fields.tile = {rows, columns, depth};
        if (checkSwapABTile(fields))
          continue;
        fields.registers = getRegisters(problem, fields);
        add(fields);
      }
}

/// Whether a group's rows are those of one tile, on average, so that weights
/// are read by one CTA, and what all CTAs read are rows of A: 1 to 3 % of the
/// time of 1024 rows in 32 groups on an H200, if the L2 knows.
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

/// Instructions counted in machine code of ptxas 13.0 for MXFP4: for two
/// elements, single bytes' loads among them, and for a step besides.
static constexpr int64_t kInstructionsOfPair = 7, kInstructionsOfStep = 55;

/// Cycles of a thread that dequantizes B and multiplies, for an element and for
/// a step: measured on an H200.
static constexpr int64_t kSwapABCycles = 12, kSwapABStep = 120;

/// Cycles of the warpgroups that dequantize B and multiply. While some wait,
/// each scheduler issues an instruction of one of its others, of which each
/// warpgroup has a warp.
static int64_t getThreadCycles(const ScheduleFields &fields,
                               const MatmulBuffers &buffers,
                               const target::Rates &rates) {
  int64_t threads = buffers.bInputs.getConsumerThreads();
  int64_t elements = ceilDiv(fields.tile[1] * fields.tile[2], threads);
  int64_t groups = threads / target::kWarpGroupSize;
  int64_t products = ceilDiv(fields.tile[2], buffers.mma.getMmaShape().k) *
                     buffers.mma.getCycles(rates);
  int64_t issued =
      (elements / 2 * kInstructionsOfPair + kInstructionsOfStep) * groups;
  // Of both together they do three tenths at the same time.
  return std::max({elements * kSwapABCycles + kSwapABStep + products / groups,
                   issued, (issued + products) * 7 / 10});
}

/// B stays in registers, and the instructions of each 64 columns read A.
int64_t WgmmaSwapAB::getPortCycles(const MatmulProblem &,
                                   const ScheduleFields &fields,
                                   const MatmulBuffers &buffers,
                                   const target::Rates &rates) const {
  int64_t bytes =
      (1 + fields.tile[1] / target::kWgmmaM) * buffers.inputs.getStageBytes() +
      2 * buffers.bInputs.getStageBytes();
  return std::max(ceilDiv(bytes, rates.smemReadBytesPerClk),
                  getThreadCycles(fields, buffers, rates));
}
