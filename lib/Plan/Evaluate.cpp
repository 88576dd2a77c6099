//===- Evaluate.cpp - The numbers of one call -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that can be wrong with a call is found here, before anything has
// been launched.
//===----------------------------------------------------------------------===//

#include "mx/Plan/Plan.h"

using namespace mx::plan;

namespace {

struct ItemType {
  const char *name;
  int64_t bytes;
};
constexpr ItemType kItems[] = {{"i1", 1}, {"i2", 2}, {"i4", 4}, {"i8", 8},
                               {"u1", 1}, {"u2", 2}, {"u4", 4}, {"u8", 8},
                               {"f2", 2}, {"f4", 4}, {"f8", 8}};

/// One call of one entry.
class Evaluator {
public:
  Evaluator(const Entry &entry, const Inputs &inputs, Numbers &numbers)
      : entry(entry), inputs(inputs), numbers(numbers),
        addresses(findAddresses(entry)) {}

  std::string run();

private:
  std::string checkArguments();
  std::string computeValues();
  std::string computeValues(bool ofAddresses);
  std::string checkRequirements();
  std::string checkResults();
  std::string checkWorkspace();
  std::string checkSteps();

  bool isKnown(const Number &number) const {
    return inputs.hasAddresses || !dependsOnAddress(number, addresses);
  }

  const Entry &entry;
  const Inputs &inputs;
  Numbers &numbers;
  std::vector<bool> addresses;
};

std::string quote(const std::string &name) { return "'" + name + "'"; }

std::string Evaluator::checkArguments() {
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    const Argument &argument = entry.arguments[i];
    if (argument.isNumber)
      continue;
    std::string which =
        "argument " + std::to_string(i) + " " + quote(argument.name) + ": ";
    const std::vector<int64_t> &shape = inputs.shapes[i];
    int64_t bytes = getItemBytes(argument.dtype);
    for (size_t dim = 0; dim < argument.shape.size(); ++dim) {
      int64_t expected = argument.shape[dim];
      if (shape[dim] < 0 || (expected != kDynamic && expected != shape[dim]))
        return which + "expected dimension " + std::to_string(dim) + " to be " +
               (expected == kDynamic ? "at least 0"
                                     : std::to_string(expected)) +
               ", found " + std::to_string(shape[dim]);
      if (__builtin_mul_overflow(bytes, shape[dim], &bytes))
        return which + "its size does not fit into 64 bits";
    }
  }
  return {};
}

std::string Evaluator::computeValues(bool ofAddresses) {
  for (size_t i = 0; i < entry.values.size(); ++i) {
    if (addresses[i] != ofAddresses)
      continue;
    const Expression &expression = entry.values[i];
    Operands operands = {};
    for (unsigned k = 0; k < getOperandCount(expression.op); ++k)
      operands[k] = numbers.get(expression.operands[k]);
    std::string why;
    std::optional<int64_t> value = apply(expression.op, operands, why);
    if (!value)
      return "v" + std::to_string(i) + " = " + why;
    numbers.values[i] = *value;
  }
  return {};
}

/// Sizes first: where a part of the workspace lies follows from them.
std::string Evaluator::computeValues() {
  std::string error = computeValues(/*ofAddresses=*/false);
  return error.empty() && inputs.hasAddresses
             ? computeValues(/*ofAddresses=*/true)
             : error;
}

std::string Evaluator::checkRequirements() {
  for (const Requirement &requirement : entry.requirements) {
    if (!isKnown(requirement.condition) ||
        numbers.get(requirement.condition) != 0)
      continue;
    std::string text;
    std::string_view rest = requirement.message;
    for (const Number &value : requirement.values) {
      size_t place = rest.find("{}");
      text += std::string(rest.substr(0, place));
      text +=
          isKnown(value) ? std::to_string(numbers.get(value)) : "an address";
      rest.remove_prefix(place + 2);
    }
    return text + std::string(rest);
  }
  return {};
}

std::string Evaluator::checkResults() {
  for (size_t i = 0; i < entry.results.size(); ++i) {
    int64_t bytes = getItemBytes(entry.results[i].dtype);
    for (const Number &extent : entry.results[i].shape)
      if (numbers.get(extent) < 0 ||
          __builtin_mul_overflow(bytes, numbers.get(extent), &bytes))
        return "result " + std::to_string(i) +
               ": expected dimensions of at least 0 and a size of 64 bits, "
               "found dimension " +
               std::to_string(numbers.get(extent));
  }
  return {};
}

std::string Evaluator::checkWorkspace() {
  int64_t total = numbers.get(entry.workspaceBytes);
  if (total < 0)
    return "expected a workspace of at least 0 bytes, found " +
           std::to_string(total);
  for (size_t i = 0; i < entry.workBuffers.size(); ++i) {
    int64_t offset = numbers.get(entry.workBuffers[i].offset);
    int64_t bytes = numbers.get(entry.workBuffers[i].bytes), end;
    if (offset < 0 || offset % kWorkspaceAlignment || bytes < 0 ||
        __builtin_add_overflow(offset, bytes, &end) || end > total)
      return "expected buffer " + std::to_string(i) + " at a multiple of " +
             std::to_string(kWorkspaceAlignment) + " within the " +
             std::to_string(total) + " bytes of the workspace, found " +
             std::to_string(bytes) + " bytes at " + std::to_string(offset);
  }
  return {};
}

std::string Evaluator::checkSteps() {
  for (size_t i = 0; i < entry.steps.size(); ++i) {
    const Step &step = entry.steps[i];
    std::string which = "step " + std::to_string(i) + ": ";
    for (const Parameter &parameter : step.parameters) {
      bool isNarrow =
          parameter.kind == Parameter::Integer && parameter.bytes == 4;
      if (!isNarrow || !isKnown(parameter.number))
        continue;
      int64_t value = numbers.get(parameter.number);
      if (value < INT32_MIN || value > INT32_MAX)
        return which + "expected a parameter of 32 bits, found " +
               std::to_string(value);
    }
    if (step.kind == Step::Launch || !isKnown(step.bytes))
      continue;
    int64_t bytes = numbers.get(step.bytes);
    int64_t most = getBytes(entry, step.to, numbers);
    if (step.kind == Step::Copy)
      most = std::min(most, getBytes(entry, step.from, numbers));
    if (bytes < 0 || bytes > most)
      return which + "expected at most the " + std::to_string(most) +
             " bytes of its buffers, found " + std::to_string(bytes);
  }
  return {};
}

std::string Evaluator::run() {
  using Check = std::string (Evaluator::*)();
  constexpr Check kChecks[] = {
      &Evaluator::checkArguments,    &Evaluator::computeValues,
      &Evaluator::checkRequirements, &Evaluator::checkResults,
      &Evaluator::checkWorkspace,    &Evaluator::checkSteps};
  numbers.entry = &entry;
  numbers.inputs = &inputs;
  numbers.values.assign(entry.values.size(), 0);
  for (Check check : kChecks)
    if (std::string error = (this->*check)(); !error.empty())
      return error;
  return {};
}

} // namespace

int64_t mx::plan::getItemBytes(const std::string &dtype) {
  for (const ItemType &item : kItems)
    if (dtype == item.name)
      return item.bytes;
  return 0;
}

int64_t Numbers::get(const Number &number) const {
  size_t index = size_t(number.value);
  switch (number.kind) {
  case Number::Constant:
    return number.value;
  case Number::Value:
    return values[index];
  case Number::Extent:
    return inputs->shapes[index][number.dim];
  case Number::Argument:
  case Number::ArgumentBits:
    return inputs->integers[index];
  case Number::ArgumentAddress:
    return inputs->argumentAddresses[index];
  case Number::ResultAddress:
    return inputs->resultAddresses[index];
  case Number::WorkAddress:
    return inputs->workspaceAddress + get(entry->workBuffers[index].offset);
  case Number::SmCount:
    return inputs->smCount;
  }
  return 0;
}

bool mx::plan::dependsOnAddress(const Number &number,
                                const std::vector<bool> &values) {
  if (number.kind == Number::Value)
    return values[size_t(number.value)];
  return number.kind == Number::ArgumentAddress ||
         number.kind == Number::ResultAddress ||
         number.kind == Number::WorkAddress;
}

std::vector<bool> mx::plan::findAddresses(const Entry &entry) {
  std::vector<bool> values;
  for (const Expression &expression : entry.values) {
    bool isAddress = false;
    for (unsigned i = 0; i < getOperandCount(expression.op); ++i)
      isAddress |= dependsOnAddress(expression.operands[i], values);
    values.push_back(isAddress);
  }
  return values;
}

int64_t mx::plan::getBytes(const Entry &entry, const Buffer &buffer,
                           const Numbers &numbers) {
  if (buffer.kind == Buffer::Work)
    return numbers.get(entry.workBuffers[buffer.index].bytes);
  bool isArgument = buffer.kind == Buffer::Argument;
  if (isArgument) {
    int64_t bytes = getItemBytes(entry.arguments[buffer.index].dtype);
    for (int64_t extent : numbers.inputs->shapes[buffer.index])
      bytes *= extent;
    return bytes;
  }
  int64_t bytes = getItemBytes(entry.results[buffer.index].dtype);
  for (const Number &extent : entry.results[buffer.index].shape)
    bytes *= numbers.get(extent);
  return bytes;
}

std::string mx::plan::evaluate(const Entry &entry, const Inputs &inputs,
                               Numbers &numbers) {
  return Evaluator(entry, inputs, numbers).run();
}
