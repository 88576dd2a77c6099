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
  // schedule C1
  if (tile.size() != 3)
    return emitError() << "expected 3 tile sizes (rows, columns, reduction), "
                          "found "
                       << tile.size();
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

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<int64_t> tile, bool, int64_t stages,
                                   int64_t accumulators, int64_t overlap,
                                   int64_t scaleStages, int64_t operandStages,
                                   bool, bool, Workspace, int64_t splitK,
                                   bool clusterSplit, int64_t ctasPerSm,
                                   TileLoop, RasterAttr, Epilogue epilogue,
                                   int64_t staging, ArrayRef<int64_t> registers,
                                   CacheHint, CacheHint, bool) {
  if (failed(verifyTile(emitError, tile)))
    return failure();
  // schedule C3
  if (stages < 0 || stages > kMaxStages)
    return emitError() << "expected 1 to " << kMaxStages << " stages, found "
                       << stages;
  // schedule C4
  for (auto [value, name] : {std::pair(accumulators, "accumulators"),
                             std::pair(scaleStages, "scale stages"),
                             std::pair(operandStages, "operand stages"),
                             std::pair(splitK, "splits of the reduction"),
                             std::pair(ctasPerSm, "CTAs of an SM"),
                             std::pair(staging, "staging buffers")})
    if (value < 1 || value > kMaxStages)
      return emitError() << "expected 1 to " << kMaxStages << ' ' << name
                         << ", found " << value;
  // schedule C5
  if (overlap != 0 && overlap != 64 && overlap != 128)
    return emitError() << "expected an overlap of 64 or 128 columns, found "
                       << overlap;
  // schedule C6
  if (overlap && (accumulators != 2 || tile[1] != 256))
    return emitError() << "expected an overlap only of 2 accumulators of 256 "
                          "columns, found "
                       << accumulators << " of " << tile[1];
  // schedule C7
  if (epilogue != Epilogue::TmaStore && staging != ScheduleFields().staging)
    return emitError() << "expected staging buffers only with epilogue = "
                          "tma_store, found epilogue = "
                       << stringifyEpilogue(epilogue);
  // schedule C10
  if (clusterSplit && !isPartCount(splitK))
    return emitError() << "expected cluster_split only with split_k = 2, 4 or "
                          "8, the CTAs of a cluster, found "
                       << splitK;
  return verifyRegisterCounts(emitError, registers);
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
    return emitError() << "expected units of a multiple of 32 rows that divide "
                       << tile[0] << ", found " << stageRows;
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
