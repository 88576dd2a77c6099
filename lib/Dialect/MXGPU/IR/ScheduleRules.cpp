//===- ScheduleRules.cpp - Rules of schedules -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// They need neither element types nor a chip; see Schedule.h for those that do.
//
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/MmaShapes.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Rows, columns and reduction elements of a tile.
static LogicalResult verifyTile(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<int64_t> tile, bool ctaPair) {
  // schedule C1
  if (tile.size() != 3)
    return emitError() << "expected 3 tile sizes (rows, columns, reduction), "
                          "found "
                       << tile.size();
  int64_t rows = target::kTmemLanes * (ctaPair ? 2 : 1);
  // schedule C2
  if (tile[0] != rows)
    return emitError() << "expected a tile of " << rows << " rows "
                       << (ctaPair ? "of a CTA pair" : "without a CTA pair")
                       << ", found " << tile[0];
  // Scales come in tiles of 128 rows, of which the tensor core can begin at
  // half (PTX ISA, scale factor layouts). All block-scaled kinds have the same
  // N.
  constexpr int64_t kHalfTile = kScaleTileRows / 2;
  const target::MmaShapeRule &rule =
      *target::lookupShape(target::MmaKind::MXF8F6F4, ctaPair ? 2 : 1, rows);
  int64_t step = rule.nStepPreferred, most = rule.nMax;
  bool isWhole = tile[1] > 0 && tile[1] % kHalfTile == 0 && tile[1] <= most;
  bool isSmall = tile[1] > 0 && tile[1] % step == 0 && tile[1] < kHalfTile;
  if (!isWhole && !isSmall) {
    // schedule C3
    InFlightDiagnostic diag = emitError() << "expected a tile of ";
    for (int64_t columns = kHalfTile; columns < most; columns += kHalfTile)
      diag << columns << (columns + kHalfTile < most ? ", " : " or ");
    return diag << most << " columns, or fewer in multiples of " << step
                << ", found " << tile[1];
  }
  // The scales of 4 blocks of 32 are one column of tensor memory.
  constexpr int64_t kScaledElements = kScaleTileBlocks * 32;
  // schedule C4
  if (tile[2] != kScaledElements && tile[2] != 2 * kScaledElements)
    return emitError() << "expected a tile of " << kScaledElements << " or "
                       << 2 * kScaledElements << " reduction elements, found "
                       << tile[2];
  return success();
}

static LogicalResult
verifyRegisterCounts(function_ref<InFlightDiagnostic()> emitError,
                     ArrayRef<int64_t> registers) {
  if (registers.empty())
    return success();
  // schedule C10
  if (registers.size() != 2)
    return emitError() << "expected registers of the epilogue and of the other "
                          "roles, found "
                       << registers.size() << " numbers";
  // schedule C11
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
                                   ArrayRef<int64_t> tile, bool ctaPair,
                                   int64_t stages, int64_t accumulators,
                                   int64_t overlap, int64_t scaleStages,
                                   int64_t splitK, TileLoop, RasterAttr,
                                   Epilogue epilogue, int64_t staging,
                                   ArrayRef<int64_t> registers, CacheHint,
                                   CacheHint, bool) {
  if (failed(verifyTile(emitError, tile, ctaPair)))
    return failure();
  // schedule C5
  if (stages < 0 || stages > kMaxStages)
    return emitError() << "expected 1 to " << kMaxStages << " stages, found "
                       << stages;
  // schedule C6
  for (auto [value, name] : {std::pair(accumulators, "accumulators"),
                             std::pair(scaleStages, "scale stages"),
                             std::pair(splitK, "splits of the reduction"),
                             std::pair(staging, "staging buffers")})
    if (value < 1 || value > kMaxStages)
      return emitError() << "expected 1 to " << kMaxStages << ' ' << name
                         << ", found " << value;
  // schedule C7
  if (overlap != 0 && overlap != 64 && overlap != 128)
    return emitError() << "expected an overlap of 64 or 128 columns, found "
                       << overlap;
  // schedule C8
  if (overlap && (accumulators != 2 || tile[1] != 256))
    return emitError() << "expected an overlap only of 2 accumulators of 256 "
                          "columns, found "
                       << accumulators << " of " << tile[1];
  // schedule C9
  if (epilogue != Epilogue::TmaStore && staging != ScheduleFields().staging)
    return emitError() << "expected staging buffers only with epilogue = "
                          "tma_store, found epilogue = "
                       << stringifyEpilogue(epilogue);
  return verifyRegisterCounts(emitError, registers);
}

//===----------------------------------------------------------------------===//
// Schedules of quantizers
//===----------------------------------------------------------------------===//

LogicalResult QuantizeScheduleAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> tile,
    int64_t threads, int64_t vector, int64_t stageRows, int64_t stages,
    int64_t ctas, RasterAttr, bool /*atomic_counter*/) {
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
  return success();
}
