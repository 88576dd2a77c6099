//===- Layouts.cpp - Who holds what of W times X^T ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header. Modes of the rows of B are, lowest first: which of a
// thread's two, lane, warp, warpgroup; of a B in two parts, which of the two is
// the highest.
//
//===----------------------------------------------------------------------===//

#include "Layouts.h"
#include "../Common/LayoutModes.h"
#include "mx/Support/ReductionOrder.h"
#include "mx/Target/Wgmma.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

int64_t mx::mxgpu::getSwapABWarpgroups(const ScheduleFields &fields) {
  return fields.tile[1] / target::kWgmmaM;
}

WgmmaAttr mx::mxgpu::getSwapABMma(const MatmulProblem &problem,
                                  const ScheduleFields &fields) {
  return WgmmaAttr::get(problem.a.getContext(), fields.tile[1], fields.tile[0],
                        problem.product.getK(), getSwapABWarpgroups(fields));
}

FragmentLayoutAttr SwapABLayouts::get(ArrayRef<FragmentMode> threads,
                                      ArrayRef<FragmentMode> values) const {
  return makeLayout(mma.getContext(), threads, values);
}

int64_t SwapABLayouts::getRun() const {
  return std::min(tileK, permuted) / kReductionLanes;
}

SmallVector<FragmentMode> SwapABLayouts::getLoadThreads(int64_t run) const {
  return {columns(kReductionLanes, run), rows(8, 2 / parts),
          rows(4, 16 / parts),
          rows(mma.getWarpgroups(), target::kWgmmaM / parts)};
}

/// Of a permuted tile a thread has a run of the columns that are permuted among
/// each other, or of all if there are fewer.
FragmentLayoutAttr SwapABLayouts::getLoad() const {
  if (!permuted)
    return get(getLoadThreads(2), {columns(2, 1), rows(2, getStepOfTwo()),
                                   columns(2, 8), columns(tileK / 16, 16)});
  int64_t run = getRun();
  return get(getLoadThreads(run),
             {columns(2, 1), columns(run / 2, 2),
              columns(tileK / (run * kReductionLanes), run * kReductionLanes),
              rows(2, getStepOfTwo())});
}

/// The registers of `getLoad` in the order of `getOperand`.
FragmentLayoutAttr SwapABLayouts::getDequantized() const {
  if (!permuted)
    return getLoad();
  int64_t run = getRun();
  return get(getLoadThreads(run),
             {columns(2, 1), rows(2, getStepOfTwo()), columns(run / 2, 2),
              columns(tileK / (run * kReductionLanes), run * kReductionLanes)});
}

FragmentLayoutAttr SwapABLayouts::getHalves() const {
  int64_t half = getRun() / 2;
  return get(getLoadThreads(half),
             {columns(2, 1), columns(half / 2, 2), columns(2, tileK / 2),
              rows(2, getStepOfTwo())});
}

FragmentLayoutAttr SwapABLayouts::getOperand() const {
  FragmentModes modes = mma.getOperandModes(
      MmaOperand::A, BFloat16Type::get(mma.getContext()), tileK);
  return get(modes.threads, modes.values);
}

FragmentLayoutAttr SwapABLayouts::getAccumulator() const {
  FragmentModes modes = mma.getAccumulatorModes(mma.getN());
  return get(modes.threads, modes.values);
}

FragmentLayoutAttr SwapABLayouts::getResult() const {
  return get({rows(4, 2), columns(8, 2 / parts), columns(4, 16 / parts),
              columns(mma.getWarpgroups(), target::kWgmmaM / parts)},
             {rows(2, 1), columns(2, getStepOfTwo()), rows(mma.getN() / 8, 8)});
}
