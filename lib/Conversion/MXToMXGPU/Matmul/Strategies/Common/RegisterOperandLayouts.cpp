//===- RegisterOperandLayouts.cpp - Register layouts of wgmma operands ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operand row index has four modes: the two rows of a thread, the lane, the
// warp and the warpgroup. `RowSteps` selects their order. `ofHalves` makes the
// two rows of a thread the highest mode.
//===----------------------------------------------------------------------===//

#include "RegisterOperandLayouts.h"
#include "WgmmaLayouts.h"
#include "mx/Support/OperandOrders.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Number of lanes with different rows of an instruction's matrix.
static constexpr int64_t kRowLanes = 8;

RowSteps RowSteps::ofInstruction() {
  return {1, kRowLanes, kWgmmaWarpRows, target::kWgmmaM};
}

RowSteps RowSteps::ofPairs() { return {2, 1, kWgmmaWarpRows, target::kWgmmaM}; }

RowSteps RowSteps::ofHalves(int64_t rows) {
  return {1, rows / 2, kWgmmaWarpRows / 2, target::kWgmmaM / 2};
}

FragmentLayoutAttr
RegisterOperandLayouts::get(ArrayRef<FragmentMode> threads,
                            ArrayRef<FragmentMode> values) const {
  return FragmentLayoutAttr::getWithoutUnits(mma.getContext(), threads, values);
}

int64_t RegisterOperandLayouts::getRun() const {
  return std::min(tileK, permuted) / kReductionLanes;
}

SmallVector<FragmentMode>
RegisterOperandLayouts::getLoadThreads(int64_t run) const {
  return {columns(kReductionLanes, run), rows(kRowLanes, steps.lane),
          rows(target::kWarpGroupWarps, steps.warp),
          rows(mma.getWarpgroups(), steps.warpgroup)};
}

/// Returns the load layout. In a permuted tile, a thread owns a run in each
/// permuted block, or a run in the whole row if the tile is narrower.
FragmentLayoutAttr RegisterOperandLayouts::getLoad() const {
  if (!permuted)
    return get(getLoadThreads(2), {columns(2, 1), rows(2, steps.two),
                                   columns(2, 8), columns(tileK / 16, 16)});
  int64_t run = getRun();
  return get(getLoadThreads(run),
             {columns(2, 1), columns(run / 2, 2),
              columns(tileK / (run * kReductionLanes), run * kReductionLanes),
              rows(2, steps.two)});
}

/// Returns the registers of `getLoad` in the order of `getOperand`.
FragmentLayoutAttr RegisterOperandLayouts::getDequantized() const {
  if (!permuted)
    return getLoad();
  int64_t run = getRun();
  return get(getLoadThreads(run),
             {columns(2, 1), rows(2, steps.two), columns(run / 2, 2),
              columns(tileK / (run * kReductionLanes), run * kReductionLanes)});
}

FragmentLayoutAttr RegisterOperandLayouts::getHalves() const {
  int64_t half = getRun() / 2;
  return get(getLoadThreads(half), {columns(2, 1), columns(half / 2, 2),
                                    columns(2, tileK / 2), rows(2, steps.two)});
}

FragmentLayoutAttr RegisterOperandLayouts::getOperand() const {
  FragmentModes modes = mma.getOperandModes(
      MmaOperand::A, BFloat16Type::get(mma.getContext()), tileK);
  return get(modes.threads, modes.values);
}

FragmentLayoutAttr RegisterOperandLayouts::getAccumulator() const {
  FragmentModes modes = mma.getAccumulatorModes(mma.getN());
  return get(modes.threads, modes.values);
}

FragmentLayoutAttr RegisterOperandLayouts::getResultOfA() const {
  return get({columns(4, 2), rows(kRowLanes, steps.lane),
              rows(target::kWarpGroupWarps, steps.warp),
              rows(mma.getWarpgroups(), steps.warpgroup)},
             {columns(2, 1), rows(2, steps.two), columns(mma.getN() / 8, 8)});
}

FragmentLayoutAttr RegisterOperandLayouts::getResultOfB() const {
  return get({rows(4, 2), columns(kRowLanes, steps.lane),
              columns(target::kWarpGroupWarps, steps.warp),
              columns(mma.getWarpgroups(), steps.warpgroup)},
             {rows(2, 1), columns(2, steps.two), rows(mma.getN() / 8, 8)});
}
