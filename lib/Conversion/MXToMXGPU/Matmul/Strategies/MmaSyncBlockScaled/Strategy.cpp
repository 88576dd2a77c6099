//===- Strategy.cpp - Strategy mma_sync_block_scaled ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copy engine loads A, B and their scales into a ring. Warps load tiles to
// registers and multiply. Each warp holds the accumulator of 32 or 16 rows.
//===----------------------------------------------------------------------===//

#include "../Strategy.h"
#include "../Common/RingTypes.h"
#include "../Common/WarpColumns.h"
#include "MainLoop.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

/// Maximum accumulators, maximum warps, and minimum columns of each B matrix
/// per warp.
static constexpr int64_t kMostMmaSyncAccumulators = 32768,
                         kMostMmaSyncWarps = 8, kLeastColumns = 32;

/// Returns true if a warp needs whole blocks of a row, or the same columns of
/// several B matrices.
static bool needsBlocks(const MatmulProblem &problem) {
  return problem.isQuantized || problem.numB > 1;
}

/// Returns the number of rows per warp. Threads hold at most 128 accumulators,
/// which leaves registers for operands and addresses. If warps share blocks of
/// rows, the rows are distributed over all eight warps.
static int64_t getRowsOfWarp(const MatmulProblem &problem,
                             ArrayRef<int64_t> tile, int64_t columnWarps) {
  constexpr int64_t kRows = 32, kColumns = 128;
  int64_t columns = tile[1] / columnWarps;
  if (needsBlocks(problem) && columnWarps > 1)
    return std::clamp(tile[0] * columnWarps / kMostMmaSyncWarps, kRows / 2,
                      2 * kRows);
  return std::min(tile[0], columns > kColumns ? kRows / 2 : kRows);
}

static MmaSyncAttr getMma(const MatmulProblem &problem, ArrayRef<int64_t> tile,
                          int64_t columnWarps) {
  return MmaSyncAttr::get(
      problem.out.getContext(), static_cast<mxgpu::MmaKind>(problem.mma.kind),
      tile[0], tile[1], tile[0] / getRowsOfWarp(problem, tile, columnWarps),
      columnWarps, problem.mma.blockSize, /*first_scale=*/0);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static constexpr int64_t kTileRows[] = {16, 32, 64, 128, 256};
static constexpr int64_t kTileColumns[] = {32, 64, 128, 256};
static constexpr int64_t kColumnWarps[] = {1, 2, 4, 8};
/// Reduction elements of a tile, which fill the widest swizzle with bytes.
/// Tiles of 4-bit elements may contain twice as many.
static constexpr int64_t kDepth = 128;

static bool isPacked(const MatmulProblem &problem) {
  return getStoredBits(problem.a) == 4 && getStoredBits(problem.b) == 4;
}

static std::optional<ScheduleError>
checkMmaSyncTile(const MatmulProblem &problem, ArrayRef<int64_t> tile) {
  if (!llvm::is_contained(kTileRows, tile[0]))
    return refuse("expected a tile of 16, 32, 64, 128 or 256 rows, found {0}",
                  tile[0]);
  if (!llvm::is_contained(kTileColumns, tile[1]))
    return refuse("expected a tile of 32, 64, 128 or 256 columns, found {0}",
                  tile[1]);
  if (tile[0] * tile[1] > kMostMmaSyncAccumulators)
    return refuse("expected a tile of at most {0} elements, so that the "
                  "accumulator fits in registers, found {1} x {2}",
                  kMostMmaSyncAccumulators, tile[0], tile[1]);
  if (tile[2] == kDepth || (tile[2] == 2 * kDepth && isPacked(problem)))
    return std::nullopt;
  return refuse("expected a tile of {0} reduction elements{1}, found {2}",
                kDepth, isPacked(problem) ? " or 256" : "", tile[2]);
}

/// Checks the number of warps that share rows. Each stores a part of a row.
static std::optional<ScheduleError>
checkColumnWarps(const MatmulProblem &problem, const ScheduleFields &fields,
                 int64_t warps) {
  int64_t columns = fields.tile[1] / warps,
          least = kLeastColumns * problem.numB;
  if (columns < least)
    return refuse("expected at least {0} columns per warp, found a tile of {1} "
                  "columns and {2} column warps",
                  least, fields.tile[1], warps);
  int64_t all =
      fields.tile[0] / getRowsOfWarp(problem, fields.tile, warps) * warps;
  if (all > kMostMmaSyncWarps)
    return refuse("expected at most {0} MMA warps, found {1} with {2} column "
                  "warps and a tile of {3} x {4}",
                  kMostMmaSyncWarps, all, warps, fields.tile[0],
                  fields.tile[1]);
  if (warps == 1)
    return std::nullopt;
  if (fields.epilogue == Epilogue::TmaStore &&
      explainDirectStores(problem).empty())
    return refuse(
        "expected column_warps = 1 with epilogue = tma_store, found {0}",
        warps);
  // Each warp stores a block of the 128 columns whose scales form a word.
  constexpr int64_t kSharing = kScaleTileRows / kWarpColumnsOfMatrix;
  if (!problem.isQuantized ||
      (warps == kSharing && columns == kWarpColumnsOfMatrix * problem.numB))
    return std::nullopt;
  return refuse("expected column_warps = 1, or {0} with a tile of {1} columns, "
                "for a quantized result, found {2} with {3} columns",
                kSharing, kScaleTileRows * problem.numB, warps, fields.tile[1]);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Returns the number of warps that share rows in matmuls with two B matrices,
/// which support only the largest tile. With this number, ptxas 13.0 does not
/// spill. If the reduction is dynamic, scales are masked. A warp that owns all
/// columns then needs too many registers, except with blocks of 32, 4-bit
/// results and a dynamic number of columns.
static int64_t getColumnWarpsOfMatrices(const MatmulProblem &problem) {
  if (!ShapedType::isDynamic(problem.k))
    return 1;
  if (!problem.isQuantized)
    return 2;
  bool isShort = getStoredBits(problem.out) == 4 &&
                 problem.mma.blockSize == kPowerOfTwoBlockSize &&
                 ShapedType::isDynamic(problem.n);
  return isShort ? 1 : 4;
}

/// Returns true if warps with `columnsOfWarp` columns are candidates. Wider
/// warps read more of B and spill.
static bool isNarrow(const MatmulProblem &problem, int64_t columnsOfWarp) {
  constexpr int64_t kColumns = 128;
  return columnsOfWarp <= kColumns || problem.numB > 1;
}

/// Returns true if a tile's accumulators fit in registers. ptxas 13.0 spills up
/// to 1200 bytes if 256-element steps of a ragged reduction are skipped, except
/// in small tiles. With the largest tiles, ptxas spills up to 164 bytes for
/// 4-bit elements stored as bytes, up to 1700 bytes for work tiles of expert
/// groups, and 24 bytes for a dynamic reduction. Matmuls with two B matrices
/// support only the largest tile and spill 44 bytes with steps of 256 elements.
static bool fitsRegisters(const MatmulProblem &problem,
                          const ScheduleFields &fields) {
  bool isDeep = fields.tile[2] > kDepth;
  if (problem.numB > 1)
    return !isDeep;
  int64_t elements = fields.tile[0] * fields.tile[1];
  if (isDeep && problem.ragged == RaggedKind::Reduction &&
      elements >= kMostMmaSyncAccumulators / 2)
    return false;
  bool isSpread = !isPacked(problem) && (getStoredBits(problem.a) == 4 ||
                                         getStoredBits(problem.b) == 4);
  return elements < kMostMmaSyncAccumulators ||
         (!isSpread && problem.ragged == RaggedKind::None &&
          !ShapedType::isDynamic(problem.k));
}

//===----------------------------------------------------------------------===//
// The strategy
//===----------------------------------------------------------------------===//

namespace {

class MmaSyncBlockScaled final
    : public StrategyOf<MmaSyncBlockScaledAttr, MmaSyncMainLoop,
                        target::kMmaSyncBlockScaled> {
public:
  MatmulBuffers getBuffers(const MatmulProblem &problem,
                           const ScheduleFields &fields) const override {
    RingTypes types(problem, fields);
    MmaSyncAttr mma =
        getMma(problem, fields.tile, getOwn(fields).getColumnWarps());
    int64_t warps = mma.getWarps() * mma.getColumnWarps();
    MatmulBuffers buffers;
    buffers.mma = mma;
    buffers.inputs = types.getRing(
        fields.stages, {"a", "sfa", "b", "sfb"},
        {types.getBytes(types.tileM, problem.a, /*isSwizzled=*/true),
         types.getScales(types.tileM),
         types.getBytes(types.tileN, problem.b, /*isSwizzled=*/true),
         types.getScales(types.tileN)},
        {AsyncKind::BulkCopy}, {AsyncKind::Threads, warps * target::kWarpSize},
        Scope::Cta);
    buffers.otherWarps = 1; // loads
    types.addEpilogue(buffers, MmaSyncLayouts(mma, problem).getResult(), warps);
    return buffers;
  }

  std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                const target::TargetInfo &) const override {
    if (auto error = checkMmaSyncTile(problem, fields.tile))
      return error;
    // Scales of expert groups start at whole scale tiles, and a work tile
    // writes whole scale tiles.
    bool isGrouped = problem.ragged != RaggedKind::None;
    if ((isGrouped || problem.isQuantized) && fields.tile[0] % kScaleTileRows)
      return refuse("expected a tile of 128 or 256 rows with {0}, found {1}",
                    isGrouped ? "expert groups" : "a quantized result",
                    fields.tile[0]);
    return checkColumnWarps(problem, fields, getOwn(fields).getColumnWarps());
  }

  std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                 const target::TargetInfo &target) const override {
    return checkMmaSyncRegisters(
        getMma(problem, fields.tile, getOwn(fields).getColumnWarps()), fields,
        target);
  }

  SmallVector<int64_t>
  getRegisters(const MatmulProblem &problem,
               const ScheduleFields &fields) const override {
    return getMmaSyncRegisters(
        problem, getMma(problem, fields.tile, getOwn(fields).getColumnWarps()));
  }

  /// Lets up to two warps per tensor core share rows.
  void forEachTile(const MatmulProblem &problem,
                   AddCandidate add) const override {
    for (int64_t rows : kTileRows)
      for (int64_t columns : kTileColumns)
        for (int64_t warps : kColumnWarps) {
          if (rows * columns > kMostMmaSyncAccumulators ||
              !isNarrow(problem, columns / warps) ||
              (problem.numB > 1 && warps != getColumnWarpsOfMatrices(problem)))
            continue;
          for (int64_t depth : {kDepth, 2 * kDepth}) {
            ScheduleFields fields;
            fields.strategy =
                MmaSyncBlockScaledAttr::get(problem.out.getContext(), warps);
            fields.tile = {rows, columns, depth};
            if (checkColumnWarps(problem, fields, warps) ||
                !fitsRegisters(problem, fields))
              continue;
            fields.registers = getRegisters(problem, fields);
            add(fields);
          }
        }
  }

  /// A second staging buffer costs the memory of a stage. Staging also needs
  /// registers, which two B matrices exhaust.
  void forEachLoop(const MatmulProblem &problem, ScheduleFields fields, bool,
                   AddCandidate add) const override {
    bool isStaged = fields.epilogue == Epilogue::TmaStore;
    if (isStaged && problem.numB > 1)
      return;
    add(fields);
    if (!isStaged)
      return;
    fields.staging = 1;
    add(fields);
  }

  int64_t getPortCycles(const MatmulProblem &problem,
                        const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    return getMmaSyncReadCycles(cast<MmaSyncAttr>(buffers.mma), problem,
                                fields.tile[2], rates);
  }

  /// A single warp per tensor core exposes the latency of waiting for a stage
  /// and loading its scales and first elements. A second warp overlaps this
  /// latency. The load latency is an assumption.
  int64_t getStepCycles(const MatmulProblem &, const ScheduleFields &,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    constexpr int64_t kCores = 4, kLoadLatency = 60;
    auto mma = cast<MmaSyncAttr>(buffers.mma);
    bool isAlone = mma.getWarps() * mma.getColumnWarps() <= kCores;
    return rates.stepCycles + (isAlone ? kLoadLatency + rates.mmaLatency : 0);
  }

  std::string describe(const ScheduleFields &fields) const override {
    int64_t warps = getOwn(fields).getColumnWarps();
    return warps == 1 ? "" : llvm::formatv(" c{0}", warps).str();
  }
};

} // namespace

const Strategy &mx::mxgpu::getMmaSyncBlockScaled() {
  static const MmaSyncBlockScaled strategy;
  return strategy;
}
