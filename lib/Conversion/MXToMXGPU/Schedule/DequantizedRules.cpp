//===- DequantizedRules.cpp - Schedules of products by wgmma --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "DequantizedRules.h"
#include "mx/Conversion/MXToMXGPU/DequantizedLayouts.h"
#include "mx/Target/Wgmma.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// The sums of a tile are in the registers of two warpgroups: 128 of a thread
/// leave room for operands.
static constexpr int64_t kMostSums = 128 * 2 * target::kWarpGroupSize;

static std::optional<ScheduleError>
checkDequantizedTile(const ScheduleFields &fields) {
  constexpr int64_t kSizes[] = {64, 128, 256};
  int64_t rows = fields.tile[0], columns = fields.tile[1];
  for (auto [size, name] : {std::pair(rows, "rows"), {columns, "columns"}})
    if (!llvm::is_contained(kSizes, size))
      return ScheduleError{
          llvm::formatv("expected a tile of 64, 128 or 256 {0}, found {1}",
                        name, size),
          {}};
  if (rows * columns > kMostSums)
    return ScheduleError{
        llvm::formatv("expected a tile of at most {0} elements, the sums that "
                      "registers hold, found {1} x {2}",
                      kMostSums, rows, columns),
        {}};
  if (fields.tile[2] != target::kDequantizedTileK)
    return ScheduleError{
        llvm::formatv("expected a tile of {0} reduction elements, found {1}",
                      target::kDequantizedTileK, fields.tile[2]),
        {}};
  return std::nullopt;
}

/// What belongs to tensor memory, CTA pairs or cluster launch control.
std::optional<ScheduleError>
mx::mxgpu::checkAbsent(const ScheduleFields &fields,
                       const target::TargetInfo &target) {
  const ScheduleFields defaults;
  const std::pair<bool, const char *> absent[] = {
      {fields.ctaPair != defaults.ctaPair, "cta_pair"},
      {fields.accumulators != defaults.accumulators, "accumulators"},
      {fields.overlap != defaults.overlap, "overlap"},
      {fields.scaleStages != defaults.scaleStages, "scale_stages"},
      {fields.tileLoop != defaults.tileLoop, "tile_loop = clc"},
  };
  for (auto [isGiven, name] : absent)
    if (isGiven)
      return ScheduleError{
          llvm::formatv("expected no {0} on {1}, whose sums are in registers: "
                        "leave it out",
                        name, target.chip),
          {}};
  return std::nullopt;
}

/// A thread's sums, what it has of A and of B, and room for addresses. All
/// warpgroups together have the registers of an SM.
static SmallVector<int64_t>
getDequantizedRegisters(const MatmulProblem &problem,
                        const ScheduleFields &fields) {
  if (fields.tile[0] < 2 * target::kWgmmaM)
    return {216, 128, 40};
  if (!problem.hasScalesOfA()) // nothing of A
    return {168, 136, 40};
  if (fields.tile[1] > target::kWarpGroupSize) // two rows of B a thread
    return {184, 104, 40};
  return {200, 72, 40};
}

int64_t mx::mxgpu::getRegistersOfGroups(int64_t groups,
                                        const target::TargetInfo &target) {
  return groups * llvm::alignDown(target.registersPerSm / groups /
                                      target::kWarpGroupSize,
                                  target::kSetMaxNRegStep);
}

std::optional<ScheduleError>
mx::mxgpu::checkTwoRoles(const ScheduleFields &fields, int64_t groups,
                         ArrayRef<int64_t> least,
                         const target::TargetInfo &target) {
  ArrayRef<int64_t> found = fields.registers;
  int64_t all = getRegistersOfGroups(groups + 1, target);
  if (found.size() == 2 && found[0] >= least[0] && found[1] >= least[1] &&
      groups * found[0] + found[1] <= all)
    return std::nullopt;
  return ScheduleError{
      llvm::formatv("expected at least {0} registers where a tile of {1} x {2} "
                    "is multiplied and {3} where tiles are loaded, in {4} and "
                    "1 warpgroups that have at most {5} together, found "
                    "registers = [{6:$[, ]}]",
                    least[0], fields.tile[0], fields.tile[1], least[1], groups,
                    all, llvm::make_range(found.begin(), found.end())),
      {}};
}

/// Those that suit the tile are the fewest: with fewer, ptxas 13.0 spills, or
/// has no instruction.
static std::optional<ScheduleError>
checkDequantizedRegisters(const MatmulProblem &problem,
                          const ScheduleFields &fields,
                          const target::TargetInfo &target) {
  SmallVector<int64_t> least = getDequantizedRegisters(problem, fields);
  ArrayRef<int64_t> found = fields.registers;
  // Warpgroups that multiply, that dequantize, and one that loads.
  int64_t multipliers = getWgmmaWarpgroups(fields.tile[0]);
  int64_t dequantizers = getDequantizeWarps(fields.tile[0], fields.tile[1]) /
                         target::kWarpGroupWarps;
  int64_t groups = multipliers + dequantizers + 1;
  int64_t all = getRegistersOfGroups(groups, target);
  if (found.size() == least.size()) {
    auto isEnough = [](auto pair) {
      return std::get<0>(pair) >= std::get<1>(pair);
    };
    int64_t sum = multipliers * found[0] + dequantizers * found[1] + found[2];
    if (llvm::all_of(llvm::zip(found, least), isEnough) && sum <= all)
      return std::nullopt;
  }
  return ScheduleError{
      llvm::formatv("expected at least {0} registers where a tile of {1} x {2} "
                    "is multiplied, {3} where B is dequantized and {4} where "
                    "tiles are loaded, in {5}, {6} and 1 warpgroups that have "
                    "at most {7} together, found registers = [{8:$[, ]}]",
                    least[0], fields.tile[0], fields.tile[1], least[1],
                    least[2], multipliers, dequantizers, all,
                    llvm::make_range(found.begin(), found.end())),
      {}};
}

/// How many rows a tile must have, for reasons other than registers.
static std::optional<ScheduleError> checkRows(const MatmulProblem &problem,
                                              int64_t rows) {
  // Groups begin anywhere, and their scales at whole tiles; a unit writes whole
  // tiles of scales.
  bool readsTiles =
      problem.ragged != RaggedKind::None && problem.hasScalesOfA();
  if ((readsTiles || problem.isQuantized) && rows % kScaleTileRows != 0)
    return ScheduleError{
        llvm::formatv("expected a tile of 128 or 256 rows with {0}, found {1}",
                      readsTiles ? "groups" : "a quantized result", rows),
        {}};
  return std::nullopt;
}

static std::optional<ScheduleError>
checkDequantizedSchedule(const MatmulProblem &problem,
                         const ScheduleFields &fields,
                         const target::TargetInfo &target) {
  if (auto error = checkDequantizedTile(fields))
    return error;
  if (auto error = checkRows(problem, fields.tile[0]))
    return error;
  return checkAbsent(fields, target);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

static void
forEachDequantizedTile(const MatmulProblem &problem,
                       llvm::function_ref<void(ScheduleFields)> add) {
  for (int64_t rows : {64, 128, 256})
    for (int64_t columns : {64, 128, 256}) {
      ScheduleFields fields;
      fields.tile = {rows, columns, target::kDequantizedTileK};
      if (checkDequantizedTile(fields))
        continue;
      fields.registers = getDequantizedRegisters(problem, fields);
      add(fields);
    }
}

void mx::mxgpu::forEachDequantizedLoop(
    ScheduleFields fields, bool, llvm::function_ref<void(ScheduleFields)> add) {
  add(fields);
}

/// Also in f16, with more tiles of B ahead: the MMA warpgroups are faster. On
/// an H200 the largest tile is: 128 x 128 takes a quarter more time, which the
/// model does not see.
static void forEachNumberType(ScheduleFields fields, bool,
                              llvm::function_ref<void(ScheduleFields)> add) {
  add(fields);
  if (fields.tile[0] != 256 || fields.tile[1] != 128)
    return;
  fields.f16Window = true;
  fields.operandStages = 4;
  if (fields.epilogue == Epilogue::TmaStore)
    fields.staging = 1;
  add(fields);
}

const ProductRules mx::mxgpu::kDequantizedRules = {
    target::ProductWay::Dequantized,
    getDequantizedBuffers,
    checkDequantizedSchedule,
    checkDequantizedRegisters,
    getDequantizedRegisters,
    forEachDequantizedTile,
    forEachNumberType,
    &kSwappedRules};
