//===- Strategies.cpp - All strategies ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The list, and which of it multiplies a problem.
//
//===----------------------------------------------------------------------===//

#include "Strategy.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static SmallVector<const Strategy *> &getList() {
  static SmallVector<const Strategy *> strategies = {
#define MX_STRATEGY(name) &get##name(),
#include "Strategies.def"
#undef MX_STRATEGY
  };
  return strategies;
}

ArrayRef<const Strategy *> mx::mxgpu::getStrategies() { return getList(); }

void mx::mxgpu::registerStrategy(const Strategy &strategy) {
  getList().push_back(&strategy);
}

bool mx::mxgpu::matchStrategies(MatmulProblem &problem,
                                const OperandTypes &types,
                                const target::TargetInfo &target) {
  problem.strategies.clear();
  for (const Strategy *strategy : getStrategies()) {
    auto product = strategy->match(types, target);
    if (!product)
      continue;
    if (problem.strategies.empty())
      problem.product = *product;
    problem.strategies.push_back(strategy);
  }
  return !problem.strategies.empty();
}

const Strategy *mx::mxgpu::lookupStrategy(const MatmulProblem &problem,
                                          StrategyAttrInterface attr) {
  for (const Strategy *strategy : problem.strategies)
    if (strategy->isOf(attr))
      return strategy;
  return nullptr;
}

const Strategy &mx::mxgpu::getStrategy(const MatmulProblem &problem,
                                       const ScheduleFields &fields) {
  const Strategy *strategy = lookupStrategy(problem, fields.strategy);
  assert(strategy && "expected a schedule that was checked");
  return *strategy;
}

void mx::mxgpu::resolveStrategy(const MatmulProblem &problem,
                                ScheduleFields &fields) {
  if (!fields.strategy)
    fields.strategy =
        problem.strategies.front()->getDefault(problem.out.getContext());
}
