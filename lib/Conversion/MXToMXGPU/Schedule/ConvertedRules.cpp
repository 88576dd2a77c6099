//===- ConvertedRules.cpp - Schedules that convert B for tcgen05.mma ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header. Scales are gone when the tensor core multiplies, so that
// tiles are those of its kind f16 and tensor memory is for sums alone.
//
//===----------------------------------------------------------------------===//

#include "DequantizedRules.h"
#include "mx/Conversion/MXToMXGPU/DequantizedLayouts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Rows that one CTA converts are 64 at least, whole blocks of a thread.
static ArrayRef<int64_t> getColumns(bool ctaPair) {
  static constexpr int64_t kColumns[] = {64, 128, 256};
  return ArrayRef(kColumns).drop_front(ctaPair ? 1 : 0);
}

static int64_t getCtas(const ScheduleFields &fields) {
  return fields.ctaPair ? 2 : 1;
}

static std::optional<ScheduleError>
checkConvertedTile(const ScheduleFields &fields) {
  int64_t rows = target::kTmemLanes * getCtas(fields);
  const char *of = fields.ctaPair ? " of a CTA pair" : "";
  constexpr int64_t kDepth = target::kDequantizedTileK;
  if (fields.tile[0] != rows)
    return ScheduleError{
        llvm::formatv("expected a tile of {0} rows{1} where a is bf16, found "
                      "{2}",
                      rows, of, fields.tile[0]),
        {}};
  if (!llvm::is_contained(getColumns(fields.ctaPair), fields.tile[1]))
    return ScheduleError{
        llvm::formatv("expected a tile of {0}128 or 256 columns{1} where a is "
                      "bf16, found {2}",
                      fields.ctaPair ? "" : "64, ", of, fields.tile[1]),
        {}};
  if (fields.tile[2] != kDepth)
    return ScheduleError{
        llvm::formatv("expected a tile of {0} reduction elements where a is "
                      "bf16, found {1}",
                      kDepth, fields.tile[2]),
        {}};
  return std::nullopt;
}

/// What this way has no use for, and why.
static std::optional<ScheduleError>
checkConvertedFields(const ScheduleFields &fields) {
  const ScheduleFields defaults;
  struct Absent {
    bool isGiven;
    const char *name, *why;
  };
  const Absent absent[] = {
      {fields.overlap != defaults.overlap, "overlap",
       "tensor memory has no scales, and two accumulators fit"},
      {fields.scaleStages != defaults.scaleStages, "scale_stages",
       "the scales of b are multiplied by threads"},
  };
  for (const Absent &field : absent)
    if (field.isGiven)
      return ScheduleError{
          llvm::formatv("expected no {0} where a is bf16: {1}; leave it out",
                        field.name, field.why),
          {}};
  return std::nullopt;
}

/// Of the epilogue, of the warps that convert B, and of those that load,
/// multiply and, with groups, look for work tiles: with fewer than 80 of the
/// latter ptxas 13.0 spills, although it uses fewer.
constexpr int64_t kConverterRegisters = 128, kOtherRegisters = 80;

static SmallVector<int64_t> getConvertedRegisters(const MatmulProblem &,
                                                  const ScheduleFields &) {
  return {168, kConverterRegisters, 88};
}

/// A warpgroup for the epilogue, those that convert, and one for the others.
static std::optional<ScheduleError>
checkConvertedRegisters(const MatmulProblem &, const ScheduleFields &fields,
                        const target::TargetInfo &target) {
  constexpr int64_t kLeast[] = {target::kEpilogueRegisters, kConverterRegisters,
                                kOtherRegisters};
  ArrayRef<int64_t> found = fields.registers;
  int64_t converters = getConvertingWarps(fields.tile[1] / getCtas(fields)) /
                       target::kWarpGroupWarps;
  int64_t groups = converters + 2;
  int64_t all = getRegistersOfGroups(groups, target);
  if (found.size() == std::size(kLeast)) {
    auto isEnough = [](auto pair) {
      return std::get<0>(pair) >= std::get<1>(pair);
    };
    int64_t sum = found[0] + converters * found[1] + found[2];
    if (llvm::all_of(llvm::zip(found, kLeast), isEnough) && sum <= all)
      return std::nullopt;
  }
  return ScheduleError{
      llvm::formatv("expected at least {0} registers for the epilogue, {1} "
                    "where b is converted and {2} for the other roles, in 1, "
                    "{3} and 1 warpgroups that have at most {4} together, "
                    "found registers = [{5:$[, ]}]",
                    kLeast[0], kLeast[1], kLeast[2], converters, all,
                    llvm::make_range(found.begin(), found.end())),
      {}};
}

static std::optional<ScheduleError>
checkConvertedSchedule(const MatmulProblem &, const ScheduleFields &fields,
                       const target::TargetInfo &target) {
  if (std::string error = target::checkMmaKind(target, target::MmaKind::F16);
      !error.empty())
    return ScheduleError{error, {}};
  if (auto error = checkConvertedTile(fields))
    return error;
  return checkConvertedFields(fields);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

static void forEachConvertedTile(const MatmulProblem &problem,
                                 llvm::function_ref<void(ScheduleFields)> add) {
  // The second CTA of a pair would multiply nothing.
  bool hasPairs =
      ShapedType::isDynamic(problem.m) || problem.m > target::kTmemLanes;
  for (bool ctaPair : {false, true})
    for (int64_t columns : getColumns(ctaPair)) {
      if (ctaPair && !hasPairs)
        continue;
      ScheduleFields fields;
      fields.ctaPair = ctaPair;
      fields.tile = {target::kTmemLanes * getCtas(fields), columns,
                     target::kDequantizedTileK};
      fields.registers = getConvertedRegisters(problem, fields);
      add(fields);
    }
}

/// One unit a worker has no next accumulator.
static void forEachConvertedLoop(ScheduleFields fields, bool isPersistent,
                                 llvm::function_ref<void(ScheduleFields)> add) {
  add(fields);
  if (!isPersistent)
    return;
  fields.accumulators = 2;
  for (TileLoop loop : {TileLoop::Static, TileLoop::Clc}) {
    fields.tileLoop = loop;
    add(fields);
  }
}

const ProductRules mx::mxgpu::kConvertedRules = {
    target::ProductWay::Converted, getConvertedBuffers,
    checkConvertedSchedule,        checkConvertedRegisters,
    getConvertedRegisters,         forEachConvertedTile,
    forEachConvertedLoop,          /*swapped=*/nullptr};
