//===- PlanRegions.cpp - Control flow of plans ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches and loops become steps with blocks. Calls are inlined, because plans
// have no calls. A loop may yield a buffer that it allocated. The next
// iteration must not overwrite this buffer while the buffer is read. Therefore,
// an allocation in such a loop owns one more buffer than the loops carry, and
// chooses a free buffer in each iteration.
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"
#include "mx/Dialect/MX/IR/Place.h"
#include "mx/Support/CallMessages.h"
#include "mx/Translation/ToManifest.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mx;
using plan::Buffer;
using plan::Number;
using plan::Operand;
using plan::Step;

Operand PlanBuilder::getOperand(Value value) const {
  if (isa<mxplan::BufferType>(value.getType()))
    return buffers.find(value)->second;
  return numbers.get(value);
}

std::vector<Operand> PlanBuilder::getOperands(ValueRange values) const {
  std::vector<Operand> operands;
  for (Value value : values)
    operands.push_back(getOperand(value));
  return operands;
}

void PlanBuilder::set(Value value, const Operand &operand) {
  if (operand.isBuffer)
    buffers[value] = operand.buffer;
  else
    numbers.set(value, operand.number);
}

FailureOr<std::vector<Operand>> PlanBuilder::define(Operation *op,
                                                    ValueRange values) {
  std::vector<Operand> names;
  for (Value value : values) {
    if (isa<mxplan::BufferType>(value.getType())) {
      names.push_back(defineBuffer());
    } else if (PlanScalars::isNumber(value.getType())) {
      names.push_back(numbers.define());
    } else {
      op->emitOpError("expected results of control flow that are arrays or "
                      "numbers of up to 64 bits in a launch plan, found ")
          << value.getType();
      return failure();
    }
    set(value, names.back());
  }
  return names;
}

FailureOr<plan::Block>
PlanBuilder::translateRegion(Region &region,
                             llvm::function_ref<void()> atStart) {
  plan::Block block;
  if (region.empty()) // no else
    return block;
  if (numbers.getDepth() == plan::kMaxDepth)
    return region.getParentOp()->emitOpError("expected at most ")
           << plan::kMaxDepth
           << " nested branches and loops in a launch plan, found "
              "more";
  numbers.open(block.steps);
  plan::RunningCollectives outer = std::exchange(running, {});
  llvm::scope_exit closer([&] {
    numbers.close();
    running = std::move(outer);
  });
  if (atStart)
    atStart();
  if (failed(translate(region)))
    return failure();
  FailureOr<std::vector<Operand>> yields = getYields(region);
  if (failed(yields))
    return failure();
  block.yields = std::move(*yields);
  return block;
}

FailureOr<std::vector<Operand>> PlanBuilder::getYields(Region &region) const {
  Operation *end = region.front().getTerminator();
  for (Value value : end->getOperands())
    if (!isKnown(value))
      return end->emitOpError("expected operands that a launch plan computes");
  return getOperands(end->getOperands());
}

LogicalResult PlanBuilder::inlineRegion(Region &region, ValueRange results) {
  if (failed(verifyOneBlock(region)) || failed(translate(region)))
    return failure();
  FailureOr<std::vector<Operand>> yields = getYields(region);
  if (failed(yields))
    return failure();
  for (auto [result, yielded] : llvm::zip_equal(results, *yields))
    set(result, yielded);
  return success();
}

LogicalResult PlanBuilder::translate(scf::IfOp op) {
  Step step;
  step.kind = Step::If;
  step.condition = numbers.get(op.getCondition());
  FailureOr<std::vector<Operand>> results = define(op, op.getResults());
  if (failed(results))
    return failure();
  step.results = std::move(*results);
  for (Region &region : op->getRegions()) {
    branches.push_back({step.condition, &region == &op.getThenRegion()});
    FailureOr<plan::Block> block = translateRegion(region);
    branches.pop_back();
    if (failed(block))
      return failure();
    step.blocks.push_back(std::move(*block));
  }
  numbers.addStep(Step::If) = std::move(step);
  return success();
}

LogicalResult PlanBuilder::translate(scf::IndexSwitchOp op) {
  Step step;
  step.kind = Step::Switch;
  step.condition = numbers.get(op.getArg());
  step.cases.assign(op.getCases().begin(), op.getCases().end());
  FailureOr<std::vector<Operand>> results = define(op, op.getResults());
  if (failed(results))
    return failure();
  step.results = std::move(*results);
  auto addBlock = [&](Region &region, Number condition, bool isThen) {
    branches.push_back({condition, isThen});
    FailureOr<plan::Block> block = translateRegion(region);
    branches.pop_back();
    if (succeeded(block))
      step.blocks.push_back(std::move(*block));
    return success(succeeded(block));
  };
  // If the selector is known before the steps run, each block gets a condition.
  bool isSize = numbers.isSize(step.condition);
  Number isAny = isSize ? Number(0) : step.condition;
  for (auto [value, region] :
       llvm::zip_equal(op.getCases(), op.getCaseRegions())) {
    Number is = isSize ? numbers.apply(plan::Operator::Eq, step.condition,
                                       Number(value))
                       : step.condition;
    if (isSize)
      isAny = numbers.apply(plan::Operator::Select, is, 1, isAny);
    if (failed(addBlock(region, is, /*isThen=*/true)))
      return failure();
  }
  if (failed(addBlock(op.getDefaultRegion(), isAny, /*isThen=*/false)))
    return failure();
  numbers.addStep(Step::Switch) = std::move(step);
  return success();
}

FailureOr<plan::Block>
PlanBuilder::translateRound(Region &region, ArrayRef<Operand> names,
                            llvm::function_ref<void()> atStart) {
  size_t outer = carried.size();
  for (const Operand &name : names)
    if (name.isBuffer)
      carried.push_back(name.buffer);
  FailureOr<plan::Block> block = translateRegion(region, atStart);
  carried.resize(outer);
  return block;
}

LogicalResult PlanBuilder::translate(scf::ForOp op) {
  Step step;
  step.kind = Step::For;
  // Widen unsigned bounds, because a loop step compares signed numbers.
  Type type = op.getInductionVar().getType();
  bool isWidened =
      op.getUnsignedCmp() && type.isInteger() && !type.isInteger(64);
  const Value values[] = {op.getLowerBound(), op.getUpperBound(), op.getStep()};
  for (auto [bound, value] : llvm::zip_equal(step.range, values)) {
    bound = isWidened ? numbers.widen(op, value) : numbers.get(value);
    if (op.getUnsignedCmp())
      numbers.requireNonNegative(op, bound);
  }
  numbers.require(numbers.apply(plan::Operator::Lt, 0, step.range[2]),
                  getPlace(op.getLoc()) + kLoopStepMessage + "{}",
                  {step.range[2]});
  FailureOr<std::vector<Operand>> names = define(op, op.getRegionIterArgs());
  if (failed(names))
    return failure();
  step.inits = getOperands(op.getInitArgs());
  step.results = std::move(*names);
  step.induction = numbers.define(numbers.isNonNegative(step.range[0]));
  FailureOr<plan::Block> block =
      translateRound(op.getRegion(), step.results, [&] {
        numbers.set(op.getInductionVar(),
                    isWidened ? numbers.narrow(op, step.induction, type)
                              : step.induction);
      });
  if (failed(block))
    return failure();
  step.blocks.push_back(std::move(*block));
  for (auto [result, name] : llvm::zip_equal(op.getResults(), step.results))
    set(result, name);
  numbers.addStep(Step::For) = std::move(step);
  return success();
}

LogicalResult PlanBuilder::translate(scf::WhileOp op) {
  Step step;
  step.kind = Step::While;
  step.inits = getOperands(op.getInits());
  FailureOr<std::vector<Operand>> carries = define(op, op.getBeforeArguments());
  FailureOr<std::vector<Operand>> passes = define(op, op.getAfterArguments());
  if (failed(carries) || failed(passes))
    return failure();
  for (auto [result, name] : llvm::zip_equal(op.getResults(), *passes))
    set(result, name);
  FailureOr<plan::Block> test = translateRound(op.getBefore(), *carries);
  if (failed(test))
    return failure();
  FailureOr<plan::Block> body = translateRound(op.getAfter(), *passes);
  if (failed(body))
    return failure();
  step.blocks = {std::move(*test), std::move(*body)};
  step.results = std::move(*carries);
  llvm::append_range(step.results, *passes);
  numbers.addStep(Step::While) = std::move(step);
  return success();
}

LogicalResult PlanBuilder::translate(scf::ExecuteRegionOp op) {
  return inlineRegion(op.getRegion(), op.getResults());
}

LogicalResult PlanBuilder::translate(func::CallOp op) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getCalleeAttr());
  if (callee.isExternal())
    return refuseMissingBody(callee);
  if (llvm::is_contained(calls, callee.getOperation()))
    return op.emitOpError("expected no recursive calls in a launch plan, found "
                          "a call of @")
           << op.getCallee() << ", which calls itself";
  for (auto [argument, value] :
       llvm::zip_equal(callee.getArguments(), op.getOperands()))
    if (auto map = maps.find(value); map != maps.end())
      maps[argument] = map->second;
    else
      set(argument, getOperand(value));
  calls.push_back(callee);
  LogicalResult result = inlineRegion(callee.getBody(), op.getResults());
  calls.pop_back();
  return result;
}

/// Translates a selection between two buffers.
LogicalResult PlanBuilder::translate(arith::SelectOp op) {
  Step step;
  step.kind = Step::If;
  step.condition = numbers.get(op.getCondition());
  step.results = {defineBuffer()};
  step.blocks = {{{}, {getOperand(op.getTrueValue())}},
                 {{}, {getOperand(op.getFalseValue())}}};
  set(op, step.results[0]);
  numbers.addStep(Step::If) = std::move(step);
  return success();
}

/// Returns true if the next iteration may use a buffer allocated in a loop,
/// because the loop may yield the buffer.
static bool mayOutliveRound(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    return isa<scf::YieldOp, scf::ConditionOp, scf::ForOp, scf::WhileOp,
               arith::SelectOp, func::CallOp, func::ReturnOp>(user);
  });
}

/// Returns `bytes`, or 0 in calls that do not run the enclosing branches, so
/// that the workspace has space only for the active branch.
Number PlanBuilder::getBytesIfRun(Number bytes) {
  for (auto [condition, isThen] : branches)
    if (numbers.isSize(condition))
      bytes = isThen
                  ? numbers.apply(plan::Operator::Select, condition, bytes, 0)
                  : numbers.apply(plan::Operator::Select, condition, 0, bytes);
  return bytes;
}

/// Returns a condition that also holds if the enclosing branches do not run.
/// Returns none in loops, or if the condition of a branch is not a size.
std::optional<Number> PlanBuilder::getConditionIfRun(Number condition) {
  if (numbers.getDepth() != branches.size())
    return std::nullopt;
  for (auto [decision, isThen] : branches) {
    if (!numbers.isSize(decision))
      return std::nullopt;
    condition =
        isThen ? numbers.apply(plan::Operator::Select, decision, condition, 1)
               : numbers.apply(plan::Operator::Select, decision, 1, condition);
  }
  return condition;
}

LogicalResult PlanBuilder::translate(mxplan::AllocOp op) {
  if (auto result = resultOf.find(op); result != resultOf.end()) {
    buffers[op] = {Buffer::Result, result->second};
    return success();
  }
  Number bytes = numbers.get(op.getBytes());
  if (!numbers.isSize(bytes)) {
    Step &step = numbers.addStep(Step::Take);
    step.bytes = bytes;
    step.results = {defineBuffer()};
    set(op, step.results[0]);
    return success();
  }
  bytes = getBytesIfRun(bytes);
  auto add = [&] {
    entry.workBuffers.push_back({0, bytes});
    return Buffer{Buffer::Work, unsigned(entry.workBuffers.size()) - 1};
  };
  if (carried.empty() || !mayOutliveRound(op)) {
    buffers[op] = add();
    return success();
  }
  Step step;
  step.kind = Step::Choose;
  step.besides = carried;
  for (size_t i = 0; i <= carried.size(); ++i)
    step.among.push_back(add());
  step.results = {defineBuffer()};
  set(op, step.results[0]);
  numbers.addStep(Step::Choose) = std::move(step);
  return success();
}
