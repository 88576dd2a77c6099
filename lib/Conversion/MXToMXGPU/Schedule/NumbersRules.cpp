//===- NumbersRules.cpp - Schedules of products without scales ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header. No thread dequantizes: registers hold accumulators alone, so
// that a warpgroup may have all 256 columns of 64 rows.
//
//===----------------------------------------------------------------------===//

#include "DequantizedRules.h"
#include "LayoutDigits.h"
#include "mx/Conversion/MXToMXGPU/NumbersLayouts.h"
#include "mx/Target/Wgmma.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

FragmentLayoutAttr NumbersLayouts::getResult() const {
  if (isAdjacent)
    return ofA.getResult();
  int64_t blocks = mma.getBlocks(), groups = mma.getWarpgroups();
  return makeLayout(mma.getContext(),
                    {columns(4, 2), rows(8, 1), rows(4, 16 * blocks),
                     rows(groups, mma.getM() / groups)},
                    {columns(2, 1), rows(2, 8), rows(blocks, 16),
                     columns(mma.getN() / 8, 8)});
}

/// The sums of a tile are in the registers of two warpgroups.
static constexpr int64_t kSumsOfNumbers = 128 * 2 * target::kWarpGroupSize;
static constexpr int64_t kNumbersSizes[] = {64, 128, 256};

static int64_t getCtasOfNumbers(const ScheduleFields &fields) {
  return fields.ctaPair ? 2 : 1;
}

/// Of a pair, each CTA has half of the rows.
static std::optional<ScheduleError>
checkNumbersTile(const ScheduleFields &fields) {
  int64_t rows = fields.tile[0] / getCtasOfNumbers(fields),
          columns = fields.tile[1];
  for (auto [size, name] : {std::pair(rows, "rows"), {columns, "columns"}})
    if (!llvm::is_contained(kNumbersSizes, size))
      return ScheduleError{
          llvm::formatv("expected a tile of 64, 128 or 256 {0}{1}, found {2}",
                        name, fields.ctaPair ? " in each CTA of a pair" : "",
                        size),
          {}};
  if (rows * columns > kSumsOfNumbers)
    return ScheduleError{
        llvm::formatv("expected a tile of at most {0} elements, the sums that "
                      "registers hold, found {1} x {2}",
                      kSumsOfNumbers, rows, columns),
        {}};
  if (fields.tile[2] != target::kDequantizedTileK)
    return ScheduleError{
        llvm::formatv("expected a tile of {0} reduction elements, found {1}",
                      target::kDequantizedTileK, fields.tile[2]),
        {}};
  return std::nullopt;
}

static std::optional<ScheduleError>
checkNumbersSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                     const target::TargetInfo &target) {
  if (auto error = checkNumbersTile(fields))
    return error;
  if (problem.isQuantized &&
      fields.tile[0] / getCtasOfNumbers(fields) % kScaleTileRows != 0)
    return ScheduleError{
        llvm::formatv("expected a tile of 128 or 256 rows with a quantized "
                      "result, found {0}",
                      fields.tile[0]),
        {}};
  if (fields.swapAb)
    return ScheduleError{"expected no swap_ab where b is bf16: it is not "
                         "dequantized; leave it out",
                         {}};
  if (fields.operandStages != ScheduleFields().operandStages)
    return ScheduleError{
        llvm::formatv("expected no operand_stages where b is bf16, which is "
                      "multiplied where it is loaded, found {0}",
                      fields.operandStages),
        {}};
  // One box of each CTA goes to both.
  if (fields.ctaPair && problem.numB > 2)
    return ScheduleError{
        llvm::formatv("expected at most 2 B matrices for a CTA pair that "
                      "shares what it loads of them, found {0}",
                      problem.numB),
        {}};
  ScheduleFields ofCta = fields;
  ofCta.ctaPair = false;
  return checkAbsent(ofCta, target);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// Those of a warpgroup that multiplies, and of the loads: of three, all that
/// they are launched with; of two, more than a thread may have.
static SmallVector<int64_t> getNumbersRegisters(const MatmulProblem &,
                                                const ScheduleFields &fields) {
  if (getWgmmaWarpgroups(fields.tile[0] / getCtasOfNumbers(fields)) == 1)
    return {208, 40};
  return {232, 40};
}

static std::optional<ScheduleError>
checkNumbersRegisters(const MatmulProblem &problem,
                      const ScheduleFields &fields,
                      const target::TargetInfo &target) {
  // With fewer than 168, ptxas 13.0 spills what the epilogue has of 128 sums.
  constexpr int64_t kLeast[] = {168, 24};
  return checkTwoRoles(
      fields, getWgmmaWarpgroups(fields.tile[0] / getCtasOfNumbers(fields)),
      kLeast, target);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Of 256 rows a CTA loads A by boxes of 16, and reads more of L2 for as much
/// work: tiles as large of 128 rows are as fast or faster.
static void forEachNumbersTile(const MatmulProblem &problem,
                               llvm::function_ref<void(ScheduleFields)> add) {
  for (bool ctaPair : {false, true})
    for (int64_t rows : {64, 128})
      for (int64_t columns : kNumbersSizes) {
        ScheduleFields fields;
        fields.ctaPair = ctaPair;
        fields.tile = {ctaPair ? 2 * rows : rows, columns,
                       target::kDequantizedTileK};
        fields.registers = getNumbersRegisters(problem, fields);
        add(fields);
      }
}

const ProductRules mx::mxgpu::kNumbersRules = {
    target::ProductWay::Numbers, getNumbersBuffers,   checkNumbersSchedule,
    checkNumbersRegisters,       getNumbersRegisters, forEachNumbersTile,
    forEachDequantizedLoop,      /*swapped=*/nullptr};
