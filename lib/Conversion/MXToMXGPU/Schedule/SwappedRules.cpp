//===- SwappedRules.cpp - Schedules with swap_ab --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Rows of the instruction are columns of the tile (SwappedLayouts.h): a tile
// may be as low as few rows of A.
//
//===----------------------------------------------------------------------===//

#include "DequantizedRules.h"
#include "mx/Conversion/MXToMXGPU/PackedWeights.h"
#include "mx/Conversion/MXToMXGPU/SwappedLayouts.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/Wgmma.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kRows[] = {16, 32, 48, 64, 128};
static constexpr int64_t kColumns[] = {64, 128, 256};
static constexpr int64_t kDepths[] = {64, 128};

/// Parts of B, of which a thread has a row each.
static constexpr int64_t kMostParts = 2;
/// Sums of a tile: 32 for each thread of four warpgroups, 64 for one of two.
static constexpr int64_t kMostSums = 64 * 256;
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
    {kRows, "16, 32, 48, 64 or 128 rows"},
    {kColumns, "64, 128 or 256 columns"},
    {kDepths, "64 or 128 reduction "
              "elements"}};

static std::optional<ScheduleError>
checkSwappedTile(const ScheduleFields &fields) {
  for (auto [size, row] : llvm::zip_equal(fields.tile, kTileSizes))
    if (!llvm::is_contained(row.sizes, size))
      return ScheduleError{
          llvm::formatv("expected a tile of {0} with swap_ab, found {1}",
                        row.names, size),
          {}};
  int64_t rows = fields.tile[0], columns = fields.tile[1];
  if (rows * columns > kMostSums)
    return ScheduleError{
        llvm::formatv("expected a tile of at most {0} elements with swap_ab, "
                      "the sums that registers hold, found {1} x {2}",
                      kMostSums, rows, columns),
        {}};
  return std::nullopt;
}

/// Whether threads hold of B what packed weights give them, if it is packed.
static bool canReadB(const MatmulProblem &problem) {
  if (!problem.isPackedB)
    return true;
  ScheduleFields fields;
  fields.tile = {kRows[0], kColumns[0], kDepths[0]};
  return isOfPackedWeights(
      SwappedLayouts(getSwappedMma(problem, fields), kDepths[0], problem.numB)
          .getLoad());
}

/// Where an SM has several CTAs, ptxas divides its registers: a thread needs
/// some for its sums, an operand, and the rest.
static std::optional<ScheduleError>
checkSharedRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                     const target::TargetInfo &target) {
  constexpr int64_t kRest = 48, kStep = 8;
  // Besides one that loads, and one that looks for groups.
  int64_t others = problem.ragged == RaggedKind::None ? 1 : 2;
  int64_t warps =
      getSwappedWarpgroups(fields) * target::kWarpGroupWarps + others;
  int64_t found = llvm::alignDown(
      target.registersPerSm / (fields.ctasPerSm * warps * target::kWarpSize),
      kStep);
  auto [rows, columns, depth] = fields.tile;
  int64_t needed = rows / 2 + depth / 4 + kRest;
  if (found >= needed)
    return std::nullopt;
  return ScheduleError{
      llvm::formatv("expected {0} registers of a thread for a tile of {1} x "
                    "{2} x {3}, found {4} with ctas = {5}",
                    needed, rows, columns, depth, found, fields.ctasPerSm),
      {}};
}

static std::optional<ScheduleError>
checkSwappedSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                     const target::TargetInfo &target) {
  if (problem.hasScalesOfA())
    return ScheduleError{
        llvm::formatv("expected swap_ab only where A is bf16, which the "
                      "instruction takes from shared memory as it is, found "
                      "elements of {0} with scales: leave it out",
                      getName(problem.product.a->type)),
        {}};
  if (auto error = checkSwappedTile(fields))
    return error;
  if (problem.numB > kMostParts)
    return ScheduleError{
        llvm::formatv("expected at most {0} B matrices with swap_ab, the rows "
                      "that a thread has of each instruction, found {1}",
                      kMostParts, problem.numB),
        {}};
  if (!canReadB(problem))
    return ScheduleError{"expected no swap_ab with packed weights in parts, as "
                         "a thread has the same row of both parts, and of "
                         "packed weights adjacent rows of one: leave it out, "
                         "or pack no weights",
                         {}};
  if (problem.isQuantized)
    return ScheduleError{"expected no swap_ab with a quantized result, whose "
                         "blocks are columns that many threads have: leave it "
                         "out",
                         {}};
  if (fields.epilogue != Epilogue::Direct)
    return ScheduleError{
        llvm::formatv("expected epilogue = direct with swap_ab, where each "
                      "warp has columns of all rows, found {0}",
                      stringifyEpilogue(fields.epilogue)),
        {}};
  if (fields.operandStages != ScheduleFields().operandStages)
    return ScheduleError{
        llvm::formatv("expected no operand_stages with swap_ab, where B is "
                      "dequantized by the MMA warpgroups, found {0}",
                      fields.operandStages),
        {}};
  if (fields.ctasPerSm > 1)
    if (auto error = checkSharedRegisters(problem, fields, target))
      return error;
  return checkAbsent(fields, target);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// A thread's sums, what it has of B before and after it is dequantized, and
/// room for addresses: ptxas 13.0 does not spill then.
static SmallVector<int64_t> getSwappedRegisters(const MatmulProblem &problem,
                                                const ScheduleFields &fields) {
  if (fields.ctasPerSm > 1)
    return {};
  if (getSwappedWarpgroups(fields) >= kManyWarpgroups)
    return {104, 40};
  return {200, 40};
}

static std::optional<ScheduleError>
checkSwappedRegisters(const MatmulProblem &problem,
                      const ScheduleFields &fields,
                      const target::TargetInfo &target) {
  SmallVector<int64_t> least = getSwappedRegisters(problem, fields);
  if (least.empty())
    return ScheduleError{
        "expected no registers with ctas, which says how many a thread has",
        {}};
  return checkTwoRoles(fields, getSwappedWarpgroups(fields), least, target);
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

static void forEachSwappedTile(const MatmulProblem &problem,
                               llvm::function_ref<void(ScheduleFields)> add) {
  if (problem.hasScalesOfA() || problem.numB > kMostParts ||
      !canReadB(problem) || !hasFewRows(problem))
    return;
  for (int64_t rows : kRows)
    for (int64_t columns : kColumns)
      for (int64_t depth : kDepths) {
        ScheduleFields fields;
        fields.swapAb = true;
        fields.tile = {rows, columns, depth};
        if (checkSwappedTile(fields))
          continue;
        fields.registers = getSwappedRegisters(problem, fields);
        add(fields);
      }
}

const ProductRules mx::mxgpu::kSwappedRules = {
    target::ProductWay::Dequantized, getSwappedBuffers,   checkSwappedSchedule,
    checkSwappedRegisters,           getSwappedRegisters, forEachSwappedTile,
    forEachDequantizedLoop,          /*swapped=*/nullptr};
