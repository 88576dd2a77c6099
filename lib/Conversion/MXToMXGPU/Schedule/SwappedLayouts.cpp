//===- SwappedLayouts.cpp - Who holds what of W times X^T -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header. Digits of the rows of B are, lowest first: which of a
// thread's two, lane, warp, warpgroup, part.
//
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/SwappedLayouts.h"
#include "mx/Target/Wgmma.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

int64_t mx::mxgpu::getSwappedWarpgroups(const MatmulProblem &problem,
                                        const ScheduleFields &fields) {
  return fields.tile[1] / problem.numB / target::kWgmmaM;
}

WgmmaAttr mx::mxgpu::getSwappedMma(const MatmulProblem &problem,
                                   const ScheduleFields &fields) {
  return WgmmaAttr::get(problem.a.getContext(), fields.tile[1], fields.tile[0],
                        problem.product.getK(),
                        getSwappedWarpgroups(problem, fields));
}

static FragmentDigit rows(int64_t size, int64_t step) {
  return {size, step, 0};
}
static FragmentDigit columns(int64_t size, int64_t step) {
  return {size, 0, step};
}

/// Digits of one value count nothing.
FragmentLayoutAttr SwappedLayouts::get(ArrayRef<FragmentDigit> threads,
                                       ArrayRef<FragmentDigit> values) const {
  auto isMore = [](const FragmentDigit &digit) { return digit.size > 1; };
  return FragmentLayoutAttr::get(mma.getContext(),
                                 llvm::filter_to_vector(threads, isMore),
                                 llvm::filter_to_vector(values, isMore));
}

FragmentLayoutAttr SwappedLayouts::getLoad() const {
  int64_t parts = mma.getBlocks();
  return get({columns(4, 2), rows(8, 2), rows(4, 16),
              rows(mma.getWarpgroups(), target::kWgmmaM)},
             {columns(2, 1), rows(2, 1), columns(2, 8), columns(tileK / 16, 16),
              rows(parts, mma.getM() / parts)});
}

FragmentLayoutAttr SwappedLayouts::getOperand() const {
  FragmentDigits digits =
      mma.getOperandDigits(BFloat16Type::get(mma.getContext()), tileK);
  return get(digits.threads, digits.values);
}

FragmentLayoutAttr SwappedLayouts::getSums() const {
  FragmentDigits digits = mma.getSumDigits(mma.getN());
  return get(digits.threads, digits.values);
}

FragmentLayoutAttr SwappedLayouts::getResult() const {
  int64_t parts = mma.getBlocks();
  return get({rows(4, 2), columns(8, 2), columns(4, 16),
              columns(mma.getWarpgroups(), target::kWgmmaM)},
             {rows(2, 1), columns(2, 1), columns(parts, mma.getM() / parts),
              rows(mma.getN() / 8, 8)});
}
