//===- Schedule.cpp - What a schedule needs, and when it is legal ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Sums of shared and tensor memory in the order in which mxgpu-allocate lays
// them out, and the rules that need element types, shapes or a chip.
//
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/TargetInfo.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Problem
//===----------------------------------------------------------------------===//

int64_t MatmulProblem::getScaleTileK() const {
  return kScaleTileBlocks * product.blockSize;
}

int64_t MatmulProblem::getUnitBytes(const ScheduleParts &parts) const {
  if (ragged != RaggedKind::None)
    return kGroupUnitBytes;
  return parts.tileLoop == TileLoop::Clc ? kUnitBytes : 0;
}

std::optional<MatmulProblem>
mx::mxgpu::getMatmulProblem(ProductOpInterface op) {
  auto getLast = [](ShapedType type, int64_t fromEnd) {
    return type.getDimSize(type.getRank() - fromEnd);
  };
  auto aType = cast<ShapedType>(op.getA().getType());
  auto bType = cast<ShapedType>(op.getB().getType());
  auto outType = cast<ShapedType>(op.getResultTensor().getType());
  auto a = getMmaType(aType.getElementType());
  auto b = getMmaType(bType.getElementType());
  auto scales = getScaleFormat(getElementTypeOrSelf(op.getAScales().getType()));
  if (!a || !b || !scales)
    return std::nullopt;
  auto product = target::lookupProduct(*a, *b, op.getBlockSize(), *scales);
  if (!product)
    return std::nullopt;
  MatmulProblem problem;
  problem.product = *product;
  problem.outBits = outType.getElementTypeBitWidth();
  problem.accumulate = op.getAccumulate();
  problem.hasEpilogue = op.getEpilogueBlock() != nullptr;
  // Either of two types may know a size that the other does not.
  auto either = [](int64_t x, int64_t y) {
    return ShapedType::isDynamic(x) ? y : x;
  };
  problem.parts = op.getNumParts();
  problem.isQuantized = op.getResultScales() != nullptr;
  problem.isScattered = op.getScatterRows() != nullptr;
  problem.m = op.getScatterRows()
                  ? getLast(aType, 2)
                  : either(getLast(outType, 2), getLast(aType, 2));
  problem.n = getLast(bType, 2);
  if (int64_t n = getLast(outType, 1); !ShapedType::isDynamic(n))
    problem.n = n * problem.parts;
  problem.k = either(getLast(aType, 1), getLast(bType, 1));
  problem.ragged = op.getRaggedOrNone();
  // Groups that have matrices are modelled as full.
  if (int64_t groups = aType.getDimSize(0); op.isMasked())
    problem.m =
        ShapedType::isDynamic(groups) || ShapedType::isDynamic(problem.m)
            ? ShapedType::kDynamic
            : problem.m * groups;
  if (Value offsets = op.getGroupOffsets())
    problem.groups = cast<ShapedType>(offsets.getType()).getDimSize(0);
  return problem;
}

std::string mx::mxgpu::explainDirectStores(const MatmulProblem &problem) {
  if (problem.isQuantized)
    return "blocks are quantized, and written, from registers";
  if (problem.isScattered)
    return "each row is added to another one of the result";
  if (problem.accumulate && problem.hasEpilogue)
    return "the epilogue region takes the sum with what the result holds, "
           "which a bulk reduction adds too late";
  if (problem.accumulate && problem.outBits < 32)
    return llvm::formatv("a bulk reduction to {0} bits would round the product "
                         "before it is added",
                         problem.outBits);
  constexpr int64_t kStride = target::kTensorMapStrideUnit;
  if (ShapedType::isDynamic(problem.n))
    return {};
  int64_t bytes = ceilDiv(problem.n / problem.parts * problem.outBits, 8);
  if (bytes % kStride)
    return llvm::formatv("expected rows of a multiple of {0} bytes, found {1}; "
                         "pad the result to {2} bytes a row",
                         kStride, bytes, roundUp(bytes, kStride));
  return {};
}

ScheduleParts mx::mxgpu::withDirectStores(ScheduleParts parts) {
  parts.epilogue = Epilogue::Direct;
  parts.staging = ScheduleParts().staging;
  return parts;
}

bool mx::mxgpu::canStoreByTma(const MatmulProblem &problem) {
  return !ShapedType::isDynamic(problem.n) &&
         explainDirectStores(problem).empty();
}

int64_t mx::mxgpu::getStagedColumns(int64_t tileN, int64_t bits) {
  return std::gcd(tileN, kStagedRowBytes * 8 / bits);
}

//===----------------------------------------------------------------------===//
// Budget
//===----------------------------------------------------------------------===//

std::string BudgetItem::describe() const {
  if (count == 1 && !isRest)
    return name.str();
  if (isRest)
    return llvm::formatv("{0} more slots of {1}", count, name);
  std::string text = llvm::formatv("{0} stages of {1}", count, name);
  if (shared)
    text += llvm::formatv(" overlapped by {0}", shared);
  return text;
}

/// Appends a thing behind the last; returns the end.
static int64_t place(SmallVectorImpl<BudgetItem> &items, int64_t end,
                     BudgetItem item, int64_t alignment) {
  item.offset = llvm::alignTo(end, alignment);
  items.push_back(item);
  return item.offset + item.getTotal();
}

static void takeSmem(ScheduleBudget &budget, BudgetItem item,
                     int64_t alignment) {
  budget.smemBytes = place(budget.smem, budget.smemBytes, item, alignment);
}

namespace {
/// A part of a slot of a ring.
struct SlotPart {
  llvm::StringLiteral name;
  int64_t size, alignment;
};
} // namespace

/// The full and the empty barrier of a slot.
static constexpr int64_t kBarrierBytes = 2 * target::kMBarrierBytes;

/// Slots one behind the other, the first one part by part.
static void takeSlots(ScheduleBudget &budget, llvm::StringLiteral ring,
                      int64_t slots, ArrayRef<SlotPart> parts) {
  int64_t alignment = 1;
  for (const SlotPart &part : parts)
    alignment = std::max(alignment, part.alignment);
  int64_t start = llvm::alignTo(budget.smemBytes, alignment);
  for (const SlotPart &part : parts)
    takeSmem(budget, {part.name, 1, part.size},
             &part == parts.begin() ? alignment : part.alignment);
  int64_t stride = llvm::alignTo(budget.smemBytes - start, alignment);
  if (slots > 1)
    takeSmem(budget, {ring, slots - 1, stride, 0, 0, /*isRest=*/true},
             alignment);
}

ScheduleBudget mx::mxgpu::getBudget(const MatmulProblem &problem,
                                    const ScheduleParts &parts,
                                    const target::TargetInfo &target) {
  ScheduleBudget budget;
  int64_t ctas = parts.ctaPair ? 2 : 1;
  auto [tileM, tileN, tileK] = parts.tile;
  // Each CTA of a pair holds its half of the rows of A and of B, the scales of
  // its rows of A and those of all columns.
  int64_t rowBytes = tileK * problem.getSmemBits() / 8;
  int64_t aScaleTiles = ceilDiv(tileM / ctas, kScaleTileRows);
  int64_t bScaleTiles = ceilDiv(tileN, kScaleTileRows);
  int64_t kScaleTiles = ceilDiv(tileK, problem.getScaleTileK());

  // Swizzles repeat after 8 rows (PTX ISA, shared memory matrix descriptor);
  // bulk tensor copies need 128 bytes.
  int64_t swizzleAlign =
      8 * std::min<int64_t>(rowBytes, target::kTmaSmemAlignment);
  bool isStaged = parts.epilogue == Epilogue::TmaStore &&
                  explainDirectStores(problem).empty();
  int64_t unitBytes = problem.getUnitBytes(parts);
  takeSlots(budget, "in", parts.stages,
            {{"in.a", tileM / ctas * rowBytes, swizzleAlign},
             {"in.b", tileN / ctas * rowBytes, swizzleAlign},
             {"in.sfa", aScaleTiles * kScaleTiles * kScaleTileBytes, 128},
             {"in.sfb", bScaleTiles * kScaleTiles * kScaleTileBytes, 128},
             {"barriers of in", kBarrierBytes, target::kMBarrierBytes}});
  if (isStaged) {
    // Swizzled over the length of its rows.
    int64_t rowBytes =
        getStagedColumns(tileN / problem.parts, problem.outBits) *
        problem.outBits / 8;
    takeSlots(budget, "staging", kEpilogueWarps * parts.staging,
              {{"staging.c", kStagedRows * rowBytes,
                std::max<int64_t>(8 * rowBytes, 128)}});
  }
  if (unitBytes)
    takeSlots(budget, "units", kUnitSlots,
              {{"units.unit", unitBytes, 128},
               {"barriers of units", kBarrierBytes, target::kMBarrierBytes}});
  takeSmem(budget, {"barriers of acc", 1, parts.accumulators * kBarrierBytes},
           target::kMBarrierBytes);
  takeSmem(budget, {"address of tensor memory", 1, 4}, 4);

  auto takeTmem = [&](BudgetItem item, int64_t alignment) {
    budget.tmemColumns =
        place(budget.tmem, budget.tmemColumns, item, alignment);
  };
  takeTmem({"acc.d", parts.accumulators, tileN, 0, parts.overlap}, 1);
  int64_t columns = kScaleTiles * target::kScaleColumnsPerGroup;
  takeTmem({"scales sfa", parts.scaleSlots, aScaleTiles * columns, 0}, 4);
  takeTmem({"scales sfb", parts.scaleSlots, bScaleTiles * columns, 0}, 4);
  budget.tmemAllocated =
      target::tmemAllocationColumns(target, budget.tmemColumns);
  // The epilogue, the loads, the tensor core, and who asks for units.
  budget.threads = (kEpilogueWarps + 2 + (unitBytes != 0)) * target::kWarpSize;
  return budget;
}

int64_t mx::mxgpu::getMaxStages(const MatmulProblem &problem,
                                const ScheduleParts &parts,
                                const target::TargetInfo &target) {
  ScheduleParts trial = parts;
  auto getBytes = [&](int64_t stages) {
    trial.stages = stages;
    return getBudget(problem, trial, target).smemBytes;
  };
  int64_t one = getBytes(1), step = getBytes(3) - getBytes(2);
  if (one > target.smemPerCta)
    return 0;
  int64_t stages = std::min<int64_t>(
      kMaxStages, 1 + llvm::divideCeil(target.smemPerCta - one, step));
  while (getBytes(stages) > target.smemPerCta)
    --stages;
  return stages;
}

void mx::mxgpu::completeSchedule(const MatmulProblem &problem,
                                 ScheduleParts &parts,
                                 const target::TargetInfo &target) {
  if (!parts.stages)
    parts.stages = getMaxStages(problem, parts, target);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static ScheduleError overflow(ArrayRef<BudgetItem> items, int64_t limit,
                              StringRef unit, int64_t found,
                              const target::TargetInfo &target) {
  ScheduleError error;
  error.message = llvm::formatv("expected at most {0} {1} on {2}, found {3}",
                                limit, unit, target.chip, found);
  for (const BudgetItem &item : items)
    error.table.push_back(
        llvm::formatv("{0}: {1}", item.describe(), item.getTotal()));
  return error;
}

/// Scales of B come in tiles of 128 columns, of which a tile may begin at half:
/// narrower tiles than that only work alone. Of unknown sizes, the launch asks.
static std::optional<ScheduleError> checkColumns(const MatmulProblem &problem,
                                                 int64_t tileN) {
  if (tileN % 64 == 0 || ShapedType::isDynamic(problem.n) || problem.n <= tileN)
    return std::nullopt;
  return ScheduleError{
      llvm::formatv("expected a tile of 64, 128, 192 or 256 columns, or one "
                    "that covers the {0} of the matrix, found {1}",
                    problem.n, tileN),
      {}};
}

/// No part of the reduction may be empty. Of an unknown one, some are.
static std::optional<ScheduleError> checkSplit(const MatmulProblem &problem,
                                               const ScheduleParts &parts) {
  if (ShapedType::isDynamic(problem.k))
    return std::nullopt;
  int64_t tiles = std::max<int64_t>(ceilDiv(problem.k, parts.tile[2]), 1);
  if (parts.splitK <= tiles)
    return std::nullopt;
  return ScheduleError{
      llvm::formatv("expected split_k of at most {0}, the tiles of the "
                    "reduction, found {1}",
                    tiles, parts.splitK),
      {}};
}

/// Which units there are, and how many, is found on the device.
static std::optional<ScheduleError> checkGroups(const MatmulProblem &problem,
                                                const ScheduleParts &parts) {
  if (problem.ragged == RaggedKind::None)
    return std::nullopt;
  if (parts.splitK > 1)
    return ScheduleError{
        llvm::formatv("expected no split_k with groups, found {0}",
                      parts.splitK),
        {}};
  if (parts.tileLoop != TileLoop::Static)
    return ScheduleError{
        llvm::formatv("expected tile_loop = static with groups, found {0}",
                      stringifyTileLoop(parts.tileLoop)),
        {}};
  return std::nullopt;
}

/// Parts have whole tiles of scales, and so has a quantized result.
static std::optional<ScheduleError> checkParts(const MatmulProblem &problem,
                                               const ScheduleParts &parts) {
  if (problem.parts == 1 && !problem.isQuantized)
    return std::nullopt;
  int64_t columns = parts.tile[1] / problem.parts;
  int64_t unit = problem.isQuantized ? kQuantizedColumns : kScaleTileRows;
  if (columns % unit)
    return ScheduleError{llvm::formatv("expected a tile with {0} columns of "
                                       "each of {1} parts, or a multiple, "
                                       "found {2} columns",
                                       unit, problem.parts, parts.tile[1]),
                         {}};
  if (problem.parts % (parts.ctaPair ? 2 : 1) && problem.parts > 1)
    return ScheduleError{llvm::formatv("expected a CTA pair to share an even "
                                       "number of parts, found {0}",
                                       problem.parts),
                         {}};
  if (parts.overlap > columns)
    return ScheduleError{llvm::formatv("expected accumulators to overlap by at "
                                       "most the {0} columns of a part, found "
                                       "{1}",
                                       columns, parts.overlap),
                         {}};
  return std::nullopt;
}

static std::optional<ScheduleError> checkRegisters(const ScheduleParts &parts) {
  constexpr int64_t kEpilogue = target::kEpilogueRegisters;
  constexpr int64_t kOther = target::kIssueRegisters;
  ArrayRef<int64_t> registers = parts.registers;
  if (registers.empty())
    return std::nullopt;
  // Threads are launched with the mean, of which there are less than 256.
  constexpr int64_t kSum =
      2 * (target::kSetMaxNRegMax - target::kSetMaxNRegStep);
  if (registers[0] >= kEpilogue && registers[1] >= kOther &&
      registers[0] + registers[1] <= kSum)
    return std::nullopt;
  return ScheduleError{
      llvm::formatv("expected at least {0} registers for the epilogue and {1} "
                    "for the other roles, at most {2} together, found "
                    "registers = [{3}, {4}]",
                    kEpilogue, kOther, kSum, registers[0], registers[1]),
      {}};
}

std::optional<ScheduleError>
mx::mxgpu::checkSchedule(const MatmulProblem &problem,
                         const ScheduleParts &parts,
                         const target::TargetInfo &target) {
  if (std::string error = target::checkMmaKind(target, problem.product.kind);
      !error.empty())
    return ScheduleError{error, {}};
  if (std::string error =
          target::checkMmaShape(problem.product.kind, parts.ctaPair ? 2 : 1,
                                parts.tile[0], parts.tile[1]);
      !error.empty())
    return ScheduleError{error, {}};
  if (auto error = checkColumns(problem, parts.tile[1]))
    return error;
  if (auto error = checkGroups(problem, parts))
    return error;
  if (auto error = checkParts(problem, parts))
    return error;
  if (auto error = checkSplit(problem, parts))
    return error;
  if (auto error = checkRegisters(parts))
    return error;
  ScheduleParts chosen = parts;
  chosen.stages = std::max<int64_t>(parts.stages, 1);
  // The copies of a step are done when its slot is released.
  if (parts.stages && parts.scaleSlots > parts.stages)
    return ScheduleError{
        llvm::formatv("expected at most as many scale slots as stages ({0}), "
                      "found {1}",
                      parts.stages, parts.scaleSlots),
        {}};
  ScheduleBudget budget = getBudget(problem, chosen, target);
  if (budget.tmemColumns > target.tmemColumns)
    return overflow(budget.tmem, target.tmemColumns, "columns of tensor memory",
                    budget.tmemColumns, target);
  if (budget.smemBytes > target.smemPerCta)
    return overflow(budget.smem, target.smemPerCta, "bytes of shared memory",
                    budget.smemBytes, target);
  return std::nullopt;
}
