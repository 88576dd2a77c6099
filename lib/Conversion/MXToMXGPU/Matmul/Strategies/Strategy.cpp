//===- Strategy.cpp - Registry and defaults of strategies -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Strategy.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Defaults
//===----------------------------------------------------------------------===//

Strategy::~Strategy() = default;

void Strategy::forEachLoop(const MatmulProblem &, ScheduleFields fields, bool,
                           AddCandidate add) const {
  add(fields);
}

ArrayRef<StringLiteral> Strategy::getRoles() const {
  static constexpr StringLiteral kRoles[] = {"in MMA warps", "in other warps"};
  return kRoles;
}

int64_t Strategy::getStepCycles(const MatmulProblem &, const ScheduleFields &,
                                const MatmulBuffers &,
                                const target::Rates &rates) const {
  return rates.stepCycles;
}

int64_t Strategy::getLoopCycles(const MatmulProblem &, const ScheduleFields &,
                                int64_t longest) const {
  return longest;
}

//===----------------------------------------------------------------------===//
// Registry
//===----------------------------------------------------------------------===//

namespace {
enum class OperandScales { BF16, Scaled, Either };

struct ListedStrategy {
  target::MmaFamily family;
  OperandScales a, b;
  const Strategy &(*get)();
};
} // namespace

static constexpr ListedStrategy kStrategies[] = {
#define MX_STRATEGY(name, family, a, b)                                        \
  {target::MmaFamily::family, OperandScales::a, OperandScales::b, &get##name},
#include "Strategies.def"
#undef MX_STRATEGY
};

static bool takes(OperandScales operand, bool hasScales) {
  return operand == OperandScales::Either ||
         hasScales == (operand == OperandScales::Scaled);
}

/// Returns the strategies registered by plug-ins.
static SmallVector<const Strategy *> &getRegistered() {
  static SmallVector<const Strategy *> strategies;
  return strategies;
}

void mx::mxgpu::registerStrategy(const Strategy &strategy) {
  getRegistered().push_back(&strategy);
}

bool mx::mxgpu::matchStrategies(MatmulProblem &problem,
                                const OperandTypes &types,
                                const target::TargetInfo &target) {
  problem.strategies.clear();
  auto ask = [&](const Strategy &strategy) {
    auto mma = strategy.match(types, target);
    if (!mma || mma->instruction->promotes != (problem.promote != 0) ||
        !strategy.readsOrders(problem))
      return;
    if (problem.strategies.empty())
      problem.mma = *mma;
    problem.strategies.push_back(&strategy);
  };
  for (const ListedStrategy &listed : kStrategies)
    if (listed.family == target.mmaFamily && !target.hasOwnStrategies &&
        takes(listed.a, types.hasScalesOfA()) &&
        takes(listed.b, types.hasScalesOfB()))
      ask(listed.get());
  for (const Strategy *strategy : getRegistered())
    ask(*strategy);
  return !problem.strategies.empty();
}

bool Strategy::readsOrders(const MatmulProblem &problem) const {
  if (problem.aOrder && !isa<KOrderAttr>(problem.aOrder))
    return false;
  if (problem.isPackedB)
    return !problem.hasScalesOfA() && problem.hasScalesOfB();
  return !problem.bOrder || isa<KOrderAttr>(problem.bOrder);
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

//===----------------------------------------------------------------------===//
// Registers of warpgroups
//===----------------------------------------------------------------------===//

int64_t mx::mxgpu::getRegistersOfWarpgroups(int64_t groups,
                                            const target::TargetInfo &target) {
  return groups * llvm::alignDown(target.registersPerSm / groups /
                                      target::kWarpGroupSize,
                                  target::kSetMaxNRegStep);
}

std::optional<ScheduleError>
mx::mxgpu::checkTwoRoles(const ScheduleFields &fields, int64_t groups,
                         ArrayRef<int64_t> least,
                         const target::TargetInfo &target) {
  ArrayRef<int64_t> found = fields.registers;
  int64_t all = getRegistersOfWarpgroups(groups + 1, target);
  if (found.size() == 2 && found[0] >= least[0] && found[1] >= least[1] &&
      groups * found[0] + found[1] <= all)
    return std::nullopt;
  return refuse(
      "expected at least {0} registers per MMA thread with a tile of {1} x {2} "
      "and {3} per load thread, at most {5} in total over {4} MMA and 1 load "
      "warpgroups, "
      "found registers = [{6:$[, ]}]",
      least[0], fields.tile[0], fields.tile[1], least[1], groups, all,
      llvm::make_range(found.begin(), found.end()));
}
