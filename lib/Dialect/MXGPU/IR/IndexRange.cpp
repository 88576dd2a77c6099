//===- IndexRange.cpp - Value ranges of index arithmetic ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MXGPU/IR/IndexRange.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mx::mxgpu;

static LoopLikeOpInterface getLoopOfCounter(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
  if (!loop || loop.getSingleInductionVar() != value)
    return {};
  return loop;
}

std::optional<IndexRange> mx::mxgpu::getIndexRange(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return IndexRange{*constant, *constant, 1};
  LoopLikeOpInterface loop = getLoopOfCounter(value);
  if (!loop)
    return {};
  auto getConstant = [](std::optional<OpFoldResult> bound) {
    return bound ? getConstantIntValue(*bound) : std::nullopt;
  };
  std::optional<int64_t> first = getConstant(loop.getSingleLowerBound());
  std::optional<int64_t> end = getConstant(loop.getSingleUpperBound());
  std::optional<int64_t> step = getConstant(loop.getSingleStep());
  // Sums of larger values would overflow.
  constexpr int64_t kMost = int64_t(1) << 60;
  if (!first || !end || !step || *step < 1 || *first < -kMost ||
      *first > kMost || *end < -kMost || *end > kMost)
    return {};
  int64_t steps = std::max<int64_t>(*end - 1 - *first, 0) / *step;
  return IndexRange{*first, *first + steps * *step, *step};
}
