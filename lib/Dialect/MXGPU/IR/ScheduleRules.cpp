//===- ScheduleRules.cpp - Rules of schedules -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that depend on neither element types nor chips. The other rules are in
// mx/Conversion/MXToMXGPU/Schedule.h, and rules for the fields of strategies
// are in MXGPUStrategies.td.
//===----------------------------------------------------------------------===//

#include "OpChecks.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static LogicalResult verifyTile(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<int64_t> tile) {
  for (int64_t size : tile) // schedule C2
    if (size < 8 || size > 256 || size % 8)
      return emitError()
             << "expected tile sizes from 8 to 256 in steps of 8, found "
             << size;
  return success();
}

static LogicalResult
verifyRegisterCounts(function_ref<InFlightDiagnostic()> emitError,
                     ArrayRef<int64_t> registers) {
  if (registers.empty())
    return success();
  if (registers.size() != 2 && registers.size() != 3) // schedule C8
    return emitError()
           << "expected register counts for 2 or 3 kinds of roles, found "
           << registers.size() << " counts";
  for (int64_t count : registers) // schedule C9
    if (count < target::kSetMaxNRegMin || count > target::kSetMaxNRegMax ||
        count % target::kSetMaxNRegStep)
      return emitError() << "expected a register count that is a multiple of "
                         << target::kSetMaxNRegStep << " from "
                         << target::kSetMaxNRegMin << " to "
                         << target::kSetMaxNRegMax << ", found " << count;
  return success();
}

LogicalResult
mx::mxgpu::verifyCount(function_ref<InFlightDiagnostic()> emitError,
                       int64_t value, StringRef what) {
  if (value >= 1 && value <= kMaxStages)
    return success();
  return emitError() << "expected 1 to " << kMaxStages << ' ' << what
                     << ", found " << value;
}

LogicalResult
mx::mxgpu::verifyChoice(function_ref<InFlightDiagnostic()> emitError,
                        int64_t value, ArrayRef<int64_t> choices,
                        StringRef what) {
  if (llvm::is_contained(choices, value))
    return success();
  InFlightDiagnostic error = emitError() << "expected ";
  llvm::interleaveComma(choices.drop_back(), error);
  return error << " or " << choices.back() << ' ' << what << ", found "
               << value;
}

LogicalResult
ScheduleAttr::verifyFields(function_ref<InFlightDiagnostic()> emitError,
                           const ScheduleFields &fields) {
  if (failed(verifyTile(emitError, fields.tile)))
    return failure();
  if (fields.stages < 0 || fields.stages > kMaxStages) // schedule C3
    return emitError() << "expected 1 to " << kMaxStages << " stages, found "
                       << fields.stages;
  // schedule C4
  if (failed(
          verifyCount(emitError, fields.splitK, "splits of the reduction")) ||
      failed(verifyCount(emitError, fields.staging, "staging buffers")))
    return failure();
  if (fields.epilogue != Epilogue::TmaStore &&
      fields.staging != ScheduleFields().staging) // schedule C7
    return emitError()
           << "'staging' requires epilogue = tma_store, found epilogue = "
           << stringifyEpilogue(fields.epilogue);
  StrategyAttrInterface strategy = fields.strategy; // schedule C10
  if (strategy && strategy.getClusterSplit() &&
      !isClusterSplitCount(fields.splitK))
    return emitError() << "'cluster_split' requires split_k from 2 to 8, the "
                          "number of CTAs in a cluster, found "
                       << fields.splitK;
  return verifyRegisterCounts(emitError, fields.registers);
}

//===----------------------------------------------------------------------===//
// Schedules of quantizers
//===----------------------------------------------------------------------===//

LogicalResult QuantizeScheduleAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> tile,
    int64_t threads, int64_t vector, int64_t stageRows, int64_t stages,
    int64_t ctas, RasterAttr, bool /*atomic_counter*/, int64_t inputStages) {
  if (tile.size() != 2) // quantize_schedule C1
    return emitError() << "expected 2 tile sizes (rows, columns), found "
                       << tile.size();
  // quantize_schedule C2
  constexpr int64_t kRows = 128, kColumns = 64;
  if (tile[0] < 1 || tile[0] % kRows || tile[1] < 1 || tile[1] % kColumns)
    return emitError() << "expected a tile of a multiple of " << kRows
                       << " rows and of " << kColumns << " columns, found ["
                       << tile << "]";
  if (threads < 1 || threads > target::kMaxThreadsPerCta ||
      threads % target::kWarpSize) // quantize_schedule C3
    return emitError() << "expected " << target::kWarpSize << " to "
                       << target::kMaxThreadsPerCta
                       << " threads in whole warps, found " << threads;
  if (vector != 8 && vector != 16 && vector != 32) // quantize_schedule C4
    return emitError() << "expected vectors of 8, 16 or 32 elements, found "
                       << vector;
  // quantize_schedule C5
  if (stageRows && (stageRows < 32 || stageRows % 32 || tile[0] % stageRows))
    return emitError()
           << "expected 'stage_rows' to be a multiple of 32 that divides "
           << tile[0] << ", found " << stageRows;
  if (stages < 1 || stages > kMaxStages) // quantize_schedule C6
    return emitError() << "expected 1 to " << kMaxStages << " stages, found "
                       << stages;
  if (ctas < 1 || ctas > 32) // quantize_schedule C7
    return emitError() << "expected 1 to 32 CTAs per SM, found " << ctas;
  if (inputStages < 0 || inputStages > kMaxStages) // quantize_schedule C8
    return emitError() << "expected 0 to " << kMaxStages
                       << " input stages, found " << inputStages;
  return success();
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

bool ScheduleCaseAttr::isLimited() const {
  return !llvm::all_of(
      ArrayRef{getMaxM(), getMaxN(), getMaxK(), getMaxGroups()},
      ShapedType::isDynamic);
}

LogicalResult
ScheduleCaseAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         int64_t maxM, int64_t maxN, int64_t maxK,
                         int64_t maxGroups, ScheduleAttr) {
  for (auto [limit, name] : {std::pair(maxM, "max_m"),
                             {maxN, "max_n"},
                             {maxK, "max_k"},
                             {maxGroups, "max_groups"}}) // schedule_case C1
    if (limit < 0 && !ShapedType::isDynamic(limit))
      return emitError() << "expected " << name << " to be at least 0, found "
                         << limit;
  return success();
}
