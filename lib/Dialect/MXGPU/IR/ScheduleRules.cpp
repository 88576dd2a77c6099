//===- ScheduleRules.cpp - Rules of schedules -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// They need neither element types nor a chip; see Schedule.h for those that do.
//
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MXGPU/IR/MXGPU.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Rows, columns and reduction elements of a tile.
static LogicalResult verifyTile(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<int64_t> tile) {
  // schedule C2
  for (int64_t size : tile)
    if (size < 8 || size > 256 || size % 8)
      return emitError() << "expected tile sizes of 8 to 256 in steps of 8, "
                            "found "
                         << size;
  return success();
}

static LogicalResult
verifyRegisterCounts(function_ref<InFlightDiagnostic()> emitError,
                     ArrayRef<int64_t> registers) {
  if (registers.empty())
    return success();
  // schedule C8
  if (registers.size() != 2 && registers.size() != 3)
    return emitError() << "expected registers of 2 or 3 kinds of roles, found "
                       << registers.size() << " numbers";
  // schedule C9
  for (int64_t count : registers)
    if (count < target::kSetMaxNRegMin || count > target::kSetMaxNRegMax ||
        count % target::kSetMaxNRegStep)
      return emitError() << "expected registers in multiples of "
                         << target::kSetMaxNRegStep << " from "
                         << target::kSetMaxNRegMin << " to "
                         << target::kSetMaxNRegMax << ", found " << count;
  return success();
}

/// Numbers of a field that counts something, with what it counts.
using Count = std::pair<int64_t, const char *>;

/// At least 1, and no more than any memory holds.
static LogicalResult verifyCounts(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<Count> counts) {
  for (auto [value, name] : counts)
    if (value < 1 || value > kMaxStages)
      return emitError() << "expected 1 to " << kMaxStages << ' ' << name
                         << ", found " << value;
  return success();
}

LogicalResult
ScheduleAttr::verifyFields(function_ref<InFlightDiagnostic()> emitError,
                           const ScheduleFields &fields) {
  if (failed(verifyTile(emitError, fields.tile)))
    return failure();
  // schedule C3
  if (fields.stages < 0 || fields.stages > kMaxStages)
    return emitError() << "expected 1 to " << kMaxStages << " stages, found "
                       << fields.stages;
  // schedule C4
  if (failed(
          verifyCounts(emitError, {{fields.splitK, "splits of the reduction"},
                                   {fields.staging, "staging buffers"}})))
    return failure();
  // schedule C7
  if (fields.epilogue != Epilogue::TmaStore &&
      fields.staging != ScheduleFields().staging)
    return emitError() << "expected staging buffers only with epilogue = "
                          "tma_store, found epilogue = "
                       << stringifyEpilogue(fields.epilogue);
  // schedule C10
  StrategyAttrInterface strategy = fields.strategy;
  if (strategy && strategy.getClusterSplit() && !isPartCount(fields.splitK))
    return emitError() << "expected cluster_split only with split_k from 2 to "
                          "8, the CTAs of a cluster, found "
                       << fields.splitK;
  return verifyRegisterCounts(emitError, fields.registers);
}

//===----------------------------------------------------------------------===//
// Strategies
//===----------------------------------------------------------------------===//

/// CTAs that share a tile.
static LogicalResult verifyCtas(function_ref<InFlightDiagnostic()> emitError,
                                int64_t ctas) {
  if (ctas != 1 && ctas != 2)
    return emitError() << "expected 1 or 2 CTAs that share a tile, found "
                       << ctas;
  return success();
}

LogicalResult
Tcgen05BlockScaledAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t ctas, int64_t accumulators,
                               int64_t overlap, int64_t scaleStages, TileLoop) {
  // tcgen05_block_scaled C1
  if (failed(verifyCtas(emitError, ctas)))
    return failure();
  // tcgen05_block_scaled C2
  if (failed(verifyCounts(emitError, {{accumulators, "accumulators"},
                                      {scaleStages, "scale stages"}})))
    return failure();
  // tcgen05_block_scaled C3
  if (overlap != 0 && overlap != 64 && overlap != 128)
    return emitError() << "expected an overlap of 64 or 128 columns, found "
                       << overlap;
  // tcgen05_block_scaled C4
  if (overlap && accumulators != 2)
    return emitError() << "expected an overlap only of 2 accumulators, found "
                       << accumulators;
  return success();
}

LogicalResult
Tcgen05UpcastBAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                           int64_t ctas, int64_t accumulators,
                           int64_t operandStages, TileLoop) {
  // tcgen05_upcast_b C1
  if (failed(verifyCtas(emitError, ctas)))
    return failure();
  // tcgen05_upcast_b C2
  return verifyCounts(emitError, {{accumulators, "accumulators"},
                                  {operandStages, "operand stages"}});
}

LogicalResult
WgmmaUpcastBAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         int64_t operandStages, bool, bool) {
  // wgmma_upcast_b C1
  return verifyCounts(emitError, {{operandStages, "operand stages"}});
}

LogicalResult
WgmmaSwapABAttr::verify(function_ref<InFlightDiagnostic()> emitError, bool,
                        int64_t ctasPerSm, bool) {
  // wgmma_swap_ab C1
  return verifyCounts(emitError, {{ctasPerSm, "CTAs of an SM"}});
}

LogicalResult
WgmmaBF16Attr::verify(function_ref<InFlightDiagnostic()> emitError,
                      int64_t ctas) {
  // wgmma_bf16 C1
  return verifyCtas(emitError, ctas);
}

LogicalResult
MmaSyncBlockScaledAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t columnWarps) {
  // mma_sync_block_scaled C1
  if (columnWarps != 1 && columnWarps != 2 && columnWarps != 4 &&
      columnWarps != 8)
    return emitError() << "expected 1, 2, 4 or 8 column warps, found "
                       << columnWarps;
  return success();
}

LogicalResult
MmaSyncUpcastBAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                           int64_t ctasPerSm) {
  // mma_sync_upcast_b C1
  return verifyCounts(emitError, {{ctasPerSm, "CTAs of an SM"}});
}

//===----------------------------------------------------------------------===//
// Schedules of quantizers
//===----------------------------------------------------------------------===//

LogicalResult QuantizeScheduleAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> tile,
    int64_t threads, int64_t vector, int64_t stageRows, int64_t stages,
    int64_t ctas, RasterAttr, bool /*atomic_counter*/, int64_t inputStages) {
  // quantize_schedule C1
  if (tile.size() != 2)
    return emitError() << "expected 2 tile sizes (rows, columns), found "
                       << tile.size();
  // quantize_schedule C2
  for (int64_t size : tile)
    if (size < 1 || size % 128)
      return emitError() << "expected a tile of multiples of 128, found "
                         << size;
  // quantize_schedule C3
  if (threads < 1 || threads > target::kMaxThreadsPerCta ||
      threads % target::kWarpSize)
    return emitError() << "expected " << target::kWarpSize << " to "
                       << target::kMaxThreadsPerCta
                       << " threads in whole warps, found " << threads;
  // quantize_schedule C4
  if (vector != 8 && vector != 16 && vector != 32)
    return emitError() << "expected vectors of 8, 16 or 32 elements, found "
                       << vector;
  // quantize_schedule C5
  if (stageRows && (stageRows < 32 || stageRows % 32 || tile[0] % stageRows))
    return emitError()
           << "expected stages of a multiple of 32 rows that divide " << tile[0]
           << ", found " << stageRows;
  // quantize_schedule C6
  if (stages < 1 || stages > kMaxStages)
    return emitError() << "expected 1 to " << kMaxStages << " stages, found "
                       << stages;
  // quantize_schedule C7
  if (ctas < 1 || ctas > 32)
    return emitError() << "expected 1 to 32 CTAs an SM, found " << ctas;
  // quantize_schedule C8
  if (inputStages < 0 || inputStages > kMaxStages)
    return emitError() << "expected 0 to " << kMaxStages
                       << " stages of inputs, found " << inputStages;
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
  // schedule_case C1
  for (auto [limit, name] : {std::pair(maxM, "max_m"),
                             {maxN, "max_n"},
                             {maxK, "max_k"},
                             {maxGroups, "max_groups"}})
    if (limit < 0 && !ShapedType::isDynamic(limit))
      return emitError() << "expected " << name << " of 0 or above, found "
                         << limit;
  return success();
}
