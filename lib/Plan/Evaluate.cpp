//===- Evaluate.cpp - Evaluation of calls ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks a call and evaluates all numbers known before its launches.
//===----------------------------------------------------------------------===//

#include "mx/Plan/Plan.h"

#include <algorithm>

using namespace mx::plan;

namespace {

/// Evaluates a call of an entry.
class Evaluator {
public:
  Evaluator(const Entry &entry, const Inputs &inputs, Numbers &numbers)
      : entry(entry), inputs(inputs), numbers(numbers),
        found(inputs.addresses ? std::vector<bool>() : findAddresses(entry)),
        addresses(inputs.addresses ? *inputs.addresses : found) {}

  std::string run();

private:
  std::string checkArguments();
  std::string computeValues();
  std::string computeValues(bool ofAddresses);
  std::string checkRequirements();
  std::string checkResults();
  std::string checkWorkspace();
  std::string checkSteps();

  /// Returns true if a number is known before the steps run.
  bool isKnown(const Number &number) const {
    bool isOfStep = number.kind == Number::ChosenAddress ||
                    (number.kind == Number::Value &&
                     size_t(number.value) >= entry.values.size());
    return !isOfStep &&
           (inputs.hasAddresses || !dependsOnAddress(number, addresses));
  }
  bool isKnown(const Step &step) const;

  const Entry &entry;
  const Inputs &inputs;
  Numbers &numbers;
  const std::vector<bool> found;
  const std::vector<bool> &addresses;
};

std::string Evaluator::checkArguments() {
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    const Argument &argument = entry.arguments[i];
    if (argument.isNumber)
      continue;
    auto which = [&] {
      return "argument " + std::to_string(i) + " '" + argument.name + "': ";
    };
    const std::vector<int64_t> &shape = inputs.shapes[i];
    int64_t bytes = getItemBytes(argument.dtype);
    for (size_t dim = 0; dim < argument.shape.size(); ++dim) {
      int64_t expected = argument.shape[dim];
      if (shape[dim] < 0 || (expected != kDynamic && expected != shape[dim]))
        return which() + "expected dimension " + std::to_string(dim) +
               " to be " +
               (expected == kDynamic ? "at least 0"
                                     : std::to_string(expected)) +
               ", found " + std::to_string(shape[dim]);
      if (__builtin_mul_overflow(bytes, shape[dim], &bytes))
        return which() + "its size does not fit into 64 bits";
    }
  }
  return {};
}

std::string Evaluator::computeValues(bool ofAddresses) {
  std::string why;
  for (size_t i = 0; i < entry.values.size(); ++i) {
    if (addresses[i] != ofAddresses)
      continue;
    std::optional<int64_t> value = numbers.compute(entry.values[i], why);
    if (!value)
      return entry.values[i].place.empty()
                 ? std::string(ofAddresses ? "an address" : "a size") +
                       " computed from the arguments: " + why
                 : why;
    numbers.values[i] = *value;
  }
  return {};
}

/// Computes the values of the table. Sizes are computed first, because they
/// determine the addresses of buffers in the workspace.
std::string Evaluator::computeValues() {
  std::string error = computeValues(/*ofAddresses=*/false);
  return error.empty() && inputs.hasAddresses
             ? computeValues(/*ofAddresses=*/true)
             : error;
}

std::string Evaluator::checkRequirements() {
  for (const Requirement &requirement : entry.requirements)
    if (isKnown(requirement.condition))
      if (std::string wrong = check(requirement, numbers, inputs.hasAddresses);
          !wrong.empty())
        return wrong;
  return {};
}

std::string Evaluator::checkResults() {
  for (size_t i = 0; i < entry.results.size(); ++i) {
    if (entry.results[i].isTaken)
      continue;
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

/// Returns true if a step enqueues work on the stream and all of its operands
/// are known before the steps run.
bool Evaluator::isKnown(const Step &step) const {
  if (step.kind > Step::Copy)
    return false;
  bool areKnown = isKnown(step.bytes) && isKnown(step.offset) &&
                  step.to.kind != Buffer::Chosen &&
                  step.from.kind != Buffer::Chosen;
  for (const Number &size : step.grid)
    areKnown &= isKnown(size);
  for (const Parameter &parameter : step.parameters)
    areKnown &=
        isKnown(parameter.number) && parameter.buffer.kind != Buffer::Chosen;
  return areKnown;
}

std::string Evaluator::checkSteps() {
  for (size_t i = 0; i < entry.steps.size(); ++i)
    if (isKnown(entry.steps[i]))
      if (std::string wrong = check(entry, entry.steps[i], numbers);
          !wrong.empty())
        return "step " + std::to_string(i) + " of the plan: " + wrong;
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
  numbers.chosen.clear();
  numbers.taken.clear();
  for (Check check : kChecks)
    if (std::string error = (this->*check)(); !error.empty())
      return error;
  return {};
}

} // namespace

int64_t mx::plan::getItemBytes(const std::string &dtype) {
  // Compare characters, because every call runs this for each argument.
  if (dtype.size() != 2)
    return 0;
  constexpr std::string_view kItems = "b1i1i2i4i8u1u2u4u8f2f4f8";
  for (size_t i = 0; i < kItems.size(); i += 2)
    if (dtype[0] == kItems[i] && dtype[1] == kItems[i + 1])
      return dtype[1] - '0';
  return 0;
}

std::string mx::plan::check(const Requirement &requirement,
                            const Numbers &numbers, bool hasAddresses) {
  if (numbers.get(requirement.condition) != 0)
    return {};
  std::vector<bool> addresses = findAddresses(*numbers.entry);
  std::string text;
  std::string_view rest = requirement.message;
  for (const Number &value : requirement.values) {
    size_t place = rest.find("{}");
    text += std::string(rest.substr(0, place));
    bool isKnown = hasAddresses || !dependsOnAddress(value, addresses);
    text += isKnown ? std::to_string(numbers.get(value)) : "an address";
    rest.remove_prefix(place + 2);
  }
  return text + std::string(rest);
}

/// Checks sizes and positions of the buffers of a collective.
static std::string checkCollective(const Entry &entry, const Step &step,
                                   const Numbers &numbers) {
  const RankGroup &group = (*numbers.inputs->groups)[step.group];
  Buffer to = numbers.resolve(step.to);
  Buffer from = step.kind == Step::AllGather ? to : numbers.resolve(step.from);
  if (to.kind == Buffer::Window && entry.windows[to.index].group != step.group)
    return "expected a window of group '" + group.name + "', found " +
           to.str() + " of '" +
           (*numbers.inputs->groups)[entry.windows[to.index].group].name + "'";
  int64_t most =
      std::min(getBytes(entry, to, numbers), getBytes(entry, from, numbers));
  int64_t bytes = numbers.get(step.bytes), total = 0;
  if (bytes < 0 || __builtin_mul_overflow(bytes, group.size, &total) ||
      total > most)
    return "expected a size within the " + std::to_string(most) +
           " bytes of its buffers, found " + std::to_string(bytes) +
           " for each of " + std::to_string(group.size) + " ranks";
  if (step.kind == Step::AllGather || !numbers.inputs->hasAddresses)
    return {};
  uint64_t source = uint64_t(numbers.getAddress(from));
  uint64_t target = uint64_t(numbers.getAddress(to));
  // Skip null pointers, which other checks reject with a better message.
  if (source && target &&
      std::max(source, target) - std::min(source, target) < uint64_t(total))
    return "expected buffers that do not overlap, found " + from.str() +
           " and " + to.str();
  return {};
}

std::string mx::plan::check(const Entry &entry, const Step &step,
                            const Numbers &numbers) {
  for (const Parameter &parameter : step.parameters) {
    if (parameter.kind == Parameter::Pointer && parameter.number != Number(0)) {
      int64_t most = getBytes(entry, parameter.buffer, numbers);
      int64_t offset = numbers.get(parameter.number);
      if (offset < 0 || offset > most)
        return "expected a parameter within the " + std::to_string(most) +
               " bytes of its buffer, found one at byte " +
               std::to_string(offset);
    }
    if (parameter.kind != Parameter::Integer || parameter.bytes == 8)
      continue;
    int64_t value = numbers.get(parameter.number);
    int64_t most = (int64_t(1) << (8 * parameter.bytes - 1)) - 1;
    if (value < -most - 1 || value > most)
      return "expected a parameter of " + std::to_string(8 * parameter.bytes) +
             " bits, found " + std::to_string(value);
  }
  if (step.kind == Step::Launch)
    return {};
  if (step.kind == Step::Barrier && !numbers.inputs->peers[step.group])
    return "expected a barrier only if the ranks of group '" +
           (*numbers.inputs->groups)[step.group].name +
           "' map each other's windows";
  if (step.kind == Step::Barrier)
    return {};
  if (step.kind == Step::AllGather || step.kind == Step::AllToAll)
    return checkCollective(entry, step, numbers);
  if (step.kind == Step::Read) {
    int64_t most = getBytes(entry, step.from, numbers);
    int64_t offset = numbers.get(step.offset), size = getItemBytes(step.dtype);
    if (offset < 0 || offset > most || most - offset < size)
      return "expected a number within the " + std::to_string(most) +
             " bytes of its buffer, found one at byte " +
             std::to_string(offset);
    return {};
  }
  int64_t most = getBytes(entry, step.to, numbers);
  if (step.kind == Step::Copy) {
    int64_t offset = numbers.get(step.offset);
    if (offset < 0 || offset > most)
      return "expected a copy destination within the " + std::to_string(most) +
             " bytes of its buffer, found byte " + std::to_string(offset);
    most = std::min(most - offset, getBytes(entry, step.from, numbers));
  }
  int64_t bytes = numbers.get(step.bytes);
  if (bytes < 0 || bytes > most)
    return "expected a size within the " + std::to_string(most) +
           " bytes of its buffers, found " + std::to_string(bytes);
  return {};
}

unsigned RunningCollectives::start(unsigned group) {
  unsigned token = 0;
  auto isTaken = [&](const Collective &each) { return each.token == token; };
  while (std::any_of(list.begin(), list.end(), isTaken))
    ++token;
  list.push_back({token, group});
  return token;
}

std::vector<unsigned> RunningCollectives::wait(unsigned token, unsigned group) {
  auto isWanted = [&](const Collective &each) {
    return each.token == token && each.group == group;
  };
  auto last = std::find_if(list.begin(), list.end(), isWanted);
  std::vector<unsigned> ended;
  if (last == list.end())
    return ended;
  auto rest = std::stable_partition(
      list.begin(), last + 1,
      [&](const Collective &each) { return each.group != group; });
  for (auto each = rest; each <= last; ++each)
    ended.push_back(each->token);
  list.erase(rest, last + 1);
  return ended;
}

int64_t Numbers::getGiven(const Number &number) const {
  size_t index = size_t(number.value);
  switch (number.kind) {
  case Number::Constant:
  case Number::Value:
    break;
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
  case Number::ConstantAddress:
    return inputs->constantAddresses[index];
  case Number::WindowAddress:
    return inputs->windowAddresses[index];
  case Number::ChosenAddress:
    return getAddress(chosen[index]);
  case Number::Peers:
    return inputs->peers[index];
  case Number::Rank:
    return inputs->ranks[index];
  case Number::SmCount:
    return inputs->smCount;
  }
  return 0;
}

int64_t Numbers::getAddress(const Buffer &of) const {
  Buffer buffer = resolve(of);
  return buffer.kind == Buffer::Taken ? taken[buffer.index].address
                                      : get(buffer.getAddress());
}

void Numbers::set(const Number &value, int64_t number) {
  size_t index = size_t(value.value);
  if (index >= values.size())
    values.resize(index + 1);
  values[index] = number;
}

Buffer Numbers::resolve(const Buffer &buffer) const {
  return buffer.kind == Buffer::Chosen ? chosen[buffer.index] : buffer;
}

void Numbers::choose(const Buffer &buffer, const Buffer &resolved) {
  if (buffer.index >= chosen.size())
    chosen.resize(buffer.index + 1);
  chosen[buffer.index] = resolved;
}

std::optional<int64_t> Numbers::compute(const Expression &expression,
                                        std::string &error) const {
  // Missing operands are the constant 0.
  Operands operands;
  for (size_t k = 0; k < operands.size(); ++k)
    operands[k] = get(expression.operands[k]);
  std::optional<int64_t> result = apply(expression, operands, error);
  if (!result)
    error = expression.place + error;
  return result;
}

bool mx::plan::dependsOnAddress(const Number &number,
                                const std::vector<bool> &values) {
  if (number.kind == Number::Value)
    return size_t(number.value) >= values.size() ||
           values[size_t(number.value)];
  return number.kind >= Number::ArgumentAddress && number.kind <= Number::Peers;
}

bool mx::plan::dependsOnAddress(const Expression &expression,
                                const std::vector<bool> &values) {
  // Missing operands are the constant 0.
  return std::any_of(
      expression.operands.begin(), expression.operands.end(),
      [&](const Number &number) { return dependsOnAddress(number, values); });
}

std::vector<bool> mx::plan::findAddresses(const Entry &entry) {
  std::vector<bool> values;
  values.reserve(entry.values.size());
  for (const Expression &expression : entry.values)
    values.push_back(dependsOnAddress(expression, values));
  return values;
}

std::vector<bool> mx::plan::findSizeArguments(const Entry &entry) {
  std::vector<bool> arguments(entry.arguments.size());
  // Iterate backwards, because values refer only to earlier values.
  std::vector<bool> values(entry.values.size());
  auto use = [&](const Number &number) {
    if (number.kind == Number::Argument || number.kind == Number::ArgumentBits)
      arguments[size_t(number.value)] = true;
    if (number.kind == Number::Value && size_t(number.value) < values.size())
      values[size_t(number.value)] = true;
  };
  use(entry.workspaceBytes);
  for (const Result &result : entry.results)
    if (!result.isTaken && !result.isNumber)
      for (const Number &extent : result.shape)
        use(extent);
  for (size_t i = values.size(); i-- > 0;)
    if (values[i])
      for (const Number &operand : entry.values[i].operands)
        use(operand);
  return arguments;
}

int64_t mx::plan::getBytes(const Entry &entry, const Buffer &of,
                           const Numbers &numbers) {
  Buffer buffer = numbers.resolve(of);
  if (buffer.kind == Buffer::Work)
    return numbers.get(entry.workBuffers[buffer.index].bytes);
  if (buffer.kind == Buffer::Taken)
    return numbers.taken[buffer.index].bytes;
  if (buffer.kind == Buffer::Constant)
    return (*numbers.inputs->constants)[buffer.index].bytes;
  if (buffer.kind == Buffer::Window)
    return entry.windows[buffer.index].bytes;
  if (buffer.kind == Buffer::Argument) {
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
