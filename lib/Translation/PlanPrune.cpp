//===- PlanPrune.cpp - Leave out what no step needs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What is known to hold is not required, and then its operands may be needed by
// nothing. Computing them could still fail.
//
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"

using namespace mx;
using plan::Number;

/// Calls `use` for every number of an entry but those in expressions.
template <class F>
static void forEachNumber(plan::Entry &entry, F use) {
  for (plan::Result &result : entry.results)
    llvm::for_each(result.shape, use);
  for (plan::Requirement &requirement : entry.requirements) {
    use(requirement.condition);
    llvm::for_each(requirement.values, use);
  }
  use(entry.workspaceBytes);
  for (plan::WorkBuffer &buffer : entry.workBuffers) {
    use(buffer.offset);
    use(buffer.bytes);
  }
  for (plan::TensorMap &map : entry.tensorMaps) {
    use(map.offset);
    llvm::for_each(map.dims, use);
    llvm::for_each(map.strides, use);
  }
  for (plan::Step &step : entry.steps) {
    llvm::for_each(step.grid, use);
    use(step.bytes);
    for (plan::Parameter &parameter : step.parameters)
      use(parameter.number);
  }
}

void PlanBuilder::pruneValues() {
  std::vector<bool> isUsed(entry.values.size());
  auto mark = [&](const Number &number) {
    if (number.kind == Number::Value)
      isUsed[number.value] = true;
  };
  forEachNumber(entry, mark);
  for (size_t i = entry.values.size(); i-- > 0;)
    if (isUsed[i])
      llvm::for_each(entry.values[i].operands, mark);

  std::vector<plan::Expression> kept;
  std::vector<int64_t> places(entry.values.size());
  auto move = [&](Number &number) {
    if (number.kind == Number::Value)
      number.value = places[number.value];
  };
  for (size_t i = 0; i < entry.values.size(); ++i) {
    if (!isUsed[i])
      continue;
    llvm::for_each(entry.values[i].operands, move);
    places[i] = kept.size();
    kept.push_back(entry.values[i]);
  }
  forEachNumber(entry, move);
  entry.values = std::move(kept);
}
