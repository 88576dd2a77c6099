//===- PlanPrune.cpp - Removal of unused plan values ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drops checks that always hold, and then dead values, because their evaluation
// could fail. Renumbers the remaining definitions in the order of the manifest,
// in which the tables precede the steps.
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"

using namespace mx;
using plan::Buffer;
using plan::Number;
using plan::Operand;
using plan::Step;

namespace {

/// Callbacks for references to numbers, buffers and tensor maps.
struct References {
  llvm::function_ref<void(Number &)> number;
  llvm::function_ref<void(Buffer &)> buffer;
  llvm::function_ref<void(unsigned &)> map;

  void operand(Operand &operand) const {
    if (operand.isBuffer)
      buffer(operand.buffer);
    else
      number(operand.number);
  }
  void tensorMap(plan::TensorMap &map) const {
    buffer(map.buffer);
    number(map.offset);
    llvm::for_each(map.dims, number);
    llvm::for_each(map.strides, number);
  }
  void requirement(plan::Requirement &requirement) const {
    number(requirement.condition);
    llvm::for_each(requirement.values, number);
  }
};

/// Visits the references of a step, except the references in its blocks.
void visit(Step &step, const References &of) {
  llvm::for_each(step.grid, of.number);
  for (plan::Parameter &parameter : step.parameters) {
    of.number(parameter.number);
    of.buffer(parameter.buffer);
    if (parameter.kind == plan::Parameter::TensorMap)
      of.map(parameter.index);
  }
  of.buffer(step.to);
  of.buffer(step.from);
  of.number(step.bytes);
  of.number(step.offset);
  of.requirement(step.requirement);
  of.tensorMap(step.map);
  llvm::for_each(step.among, of.buffer);
  llvm::for_each(step.besides, of.buffer);
  of.number(step.condition);
  llvm::for_each(step.range, of.number);
  for (Operand &init : step.inits)
    of.operand(init);
  for (plan::Block &block : step.blocks)
    for (Operand &yield : block.yields)
      of.operand(yield);
}

/// Calls `each` for all steps, in the order of the manifest.
void forEachStep(std::vector<Step> &steps,
                 llvm::function_ref<void(Step &)> each) {
  for (Step &step : steps) {
    each(step);
    for (plan::Block &block : step.blocks)
      forEachStep(block.steps, each);
  }
}

/// Visits the references of an entry, except the references in expressions.
void visit(plan::Entry &entry, const References &of) {
  for (plan::Result &result : entry.results) {
    llvm::for_each(result.shape, of.number);
    of.buffer(result.buffer);
    of.number(result.value);
  }
  for (plan::Requirement &requirement : entry.requirements)
    of.requirement(requirement);
  of.number(entry.workspaceBytes);
  for (plan::WorkBuffer &buffer : entry.workBuffers) {
    of.number(buffer.offset);
    of.number(buffer.bytes);
  }
  for (plan::TensorMap &map : entry.tensorMaps)
    of.tensorMap(map);
  forEachStep(entry.steps, [&](Step &step) { visit(step, of); });
}

void removeUnused(std::vector<Step> &steps, const std::vector<bool> &isUsed) {
  llvm::erase_if(steps, [&](const Step &step) {
    return step.kind == Step::Compute && !isUsed[step.results[0].number.value];
  });
  for (Step &step : steps)
    for (plan::Block &block : step.blocks)
      removeUnused(block.steps, isUsed);
}

} // namespace

void PlanBuilder::pruneValues() {
  std::vector<bool> isUsed(numbers.count());
  auto mark = [&](Number number) {
    if (number.kind == Number::Value)
      isUsed[number.value] = true;
  };
  auto ignoreBuffer = [](Buffer &) {};
  auto ignoreMap = [](unsigned &) {};
  visit(entry, {mark, ignoreBuffer, ignoreMap});
  // Operands precede the values computed from them.
  for (size_t i = isUsed.size(); i-- > 0;)
    if (isUsed[i])
      llvm::for_each(numbers.getExpression(i).operands, mark);
  removeUnused(entry.steps, isUsed);

  std::vector<int64_t> values(numbers.count());
  std::vector<unsigned> chosen(chosenCount), tensorMaps(mapCount);
  int64_t valueCount = 0;
  unsigned bufferCount = 0, tensorMapCount = 0;
  for (int64_t value : numbers.getTable())
    if (isUsed[value]) {
      values[value] = valueCount++;
      entry.values.push_back(numbers.getExpression(value));
    }
  for (unsigned map : tableMaps)
    tensorMaps[map] = tensorMapCount++;
  forEachStep(entry.steps, [&](Step &step) {
    for (const Operand &name : step.results)
      if (name.isBuffer)
        chosen[name.buffer.index] = bufferCount++;
      else
        values[name.number.value] = valueCount++;
    if (step.kind == Step::For)
      values[step.induction.value] = valueCount++;
    if (step.kind == Step::Encode)
      tensorMaps[step.index] = tensorMapCount++;
  });

  auto moveNumber = [&](Number &number) {
    if (number.kind == Number::Value)
      number.value = values[number.value];
    if (number.kind == Number::ChosenAddress)
      number.value = chosen[number.value];
  };
  auto moveBuffer = [&](Buffer &buffer) {
    if (buffer.kind == Buffer::Chosen)
      buffer.index = chosen[buffer.index];
  };
  auto moveMap = [&](unsigned &map) { map = tensorMaps[map]; };
  References moves = {moveNumber, moveBuffer, moveMap};
  for (plan::Expression &expression : entry.values)
    llvm::for_each(expression.operands, moveNumber);
  visit(entry, moves);
  forEachStep(entry.steps, [&](Step &step) {
    for (Operand &name : step.results)
      moves.operand(name);
    llvm::for_each(step.expression.operands, moveNumber);
    moveNumber(step.induction);
    if (step.kind == Step::Encode)
      moveMap(step.index);
  });
}
