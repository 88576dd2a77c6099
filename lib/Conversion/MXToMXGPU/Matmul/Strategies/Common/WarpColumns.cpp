//===- WarpColumns.cpp - Assignment of columns to warps -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "WarpColumns.h"
#include "../Strategy.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static constexpr int64_t kAsTheyAre[] = {1, 2, 4, 8, 16},
                         kAdjacent[] = {1, 8, 16, 2, 4},
                         kPairs[] = {2, 8, 16, 1, 4};

WarpColumns::WarpColumns(const MatmulProblem &problem, MmaSyncAttr mma)
    : mma(mma), ofMatrix(mma.getWarpColumns() / problem.numB),
      isPacked(problem.isPackedB),
      order(problem.isPackedB     ? ArrayRef(kPairs)
            : problem.isQuantized ? ArrayRef(kAdjacent)
                                  : ArrayRef(kAsTheyAre)) {}

/// The bits of an instruction column select, from the lowest to the highest, a
/// column of a matrix, a matrix, and a warp.
int64_t WarpColumns::getColumn(int64_t column) const {
  int64_t matrices = mma.getWarpColumns() / ofMatrix;
  if (size_t bit = llvm::Log2_64(column); bit < order.size())
    return order[bit];
  if (column < ofMatrix)
    return column;
  if (column < mma.getWarpColumns())
    return column / ofMatrix * (mma.getN() / matrices);
  return column / matrices;
}

SmallVector<FragmentMode>
WarpColumns::move(ArrayRef<FragmentMode> modes,
                  int64_t FragmentMode::*direction) const {
  SmallVector<FragmentMode> moved;
  for (FragmentMode mode : modes) {
    if (!(mode.*direction)) {
      moved.push_back(mode);
      continue;
    }
    int64_t column = mode.*direction, end = column * mode.size;
    for (mode.size = 2; column < end; column *= 2) {
      mode.*direction = getColumn(column);
      appendMode(moved, mode);
    }
  }
  return moved;
}

FragmentModes WarpColumns::getTakenModes(int64_t depth) const {
  return mma.getOperandModes(MmaOperand::B, BFloat16Type::get(mma.getContext()),
                             depth);
}

FragmentLayoutAttr WarpColumns::getTaken(int64_t depth) const {
  FragmentModes modes = getTakenModes(depth);
  return FragmentLayoutAttr::getWithoutUnits(mma.getContext(), modes.threads,
                                             modes.values);
}

FragmentLayoutAttr WarpColumns::getOrdered(int64_t depth) const {
  FragmentModes modes = getTakenModes(depth);
  return FragmentLayoutAttr::getWithoutUnits(
      mma.getContext(), move(modes.threads, &FragmentMode::rows),
      move(modes.values, &FragmentMode::rows));
}

/// Packed rows are loaded in pairs: two elements of the first row precede two
/// elements of the second.
FragmentLayoutAttr WarpColumns::getLoaded(int64_t depth) const {
  FragmentLayoutAttr ordered = getOrdered(depth);
  if (!isPacked)
    return ordered;
  SmallVector<FragmentMode> values(ordered.getValues());
  auto *pair = llvm::find_if(
      values, [](const FragmentMode &mode) { return mode.rows == 1; });
  std::rotate(values.begin() + 1, pair, pair + 1);
  return FragmentLayoutAttr::getWithoutUnits(mma.getContext(),
                                             ordered.getThreads(), values);
}

FragmentLayoutAttr WarpColumns::getAccumulator() const {
  FragmentModes modes = mma.getAccumulatorModes(mma.getN());
  return FragmentLayoutAttr::getWithoutUnits(mma.getContext(), modes.threads,
                                             modes.values);
}

FragmentLayoutAttr WarpColumns::getResult() const {
  FragmentModes modes = mma.getAccumulatorModes(mma.getN());
  return FragmentLayoutAttr::getWithoutUnits(
      mma.getContext(), move(modes.threads, &FragmentMode::columns),
      move(modes.values, &FragmentMode::columns));
}

//===----------------------------------------------------------------------===//
// Warps of mma.sync
//===----------------------------------------------------------------------===//

static constexpr int64_t kMmaSyncGroups = 2,
                         kMmaSyncWarps =
                             kMmaSyncGroups * target::kWarpGroupWarps;

static int64_t getWarps(MmaSyncAttr mma) {
  return mma.getWarps() * mma.getColumnWarps();
}

/// Under the register limit for launching three warpgroups, ptxas 13.0 spills
/// up to 400 bytes with 128 accumulators per thread. With 64 accumulators,
/// ptxas spills up to 64 bytes if expert groups accumulate onto the result,
/// because the whole result tile is loaded before the stores. ptxas spills 4
/// bytes if the reduction size is dynamic and scales are masked.
SmallVector<int64_t>
mx::mxgpu::getMmaSyncRegisters(const MatmulProblem &problem, MmaSyncAttr mma) {
  constexpr int64_t kMany = 128;
  if (getWarps(mma) != kMmaSyncWarps)
    return {};
  int64_t accumulators =
      mma.getWarpRows() * mma.getWarpColumns() / target::kWarpSize;
  if (ShapedType::isDynamic(problem.k) ||
      (problem.accumulate && problem.ragged != RaggedKind::None))
    accumulators *= 2;
  if (accumulators < kMany)
    return {};
  return {232, 40};
}

std::optional<ScheduleError>
mx::mxgpu::checkMmaSyncRegisters(MmaSyncAttr mma, const ScheduleFields &fields,
                                 const target::TargetInfo &target) {
  constexpr int64_t kLeast[] = {216, 24};
  if (getWarps(mma) == kMmaSyncWarps)
    return checkTwoRoles(fields, kMmaSyncGroups, kLeast, target);
  return refuse("expected a schedule with registers to use {0} MMA warps, "
                "found {1}: ptxas assigns the registers of other schedules",
                kMmaSyncWarps, getWarps(mma));
}

int64_t mx::mxgpu::getMmaSyncReadCycles(MmaSyncAttr mma,
                                        const MatmulProblem &problem,
                                        int64_t depth,
                                        const target::Rates &rates) {
  int64_t bits = mma.getWarpRows() * getStoredBits(problem.a) +
                 mma.getWarpColumns() * getStoredBits(problem.b);
  int64_t warps = mma.getWarps() * mma.getColumnWarps();
  return ceilDiv(warps * bits * depth, 8 * rates.smemReadBytesPerClk);
}
