//===- PlanExecutorSteps.cpp - Execution of a plan's steps ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only steps that read a number wait for the device. The number of executed
// steps is limited, so even an invalid plan ends.
//===----------------------------------------------------------------------===//

#include "PlanExecutor.h"
#include "mx/Support/CallMessages.h"

#include <algorithm>
#include <cstring>

using namespace mx;
using namespace mx::runtime;
using plan::Operand;
using plan::Parameter;
using plan::Step;

/// Largest number of deferred commands. The commands of a longer plan are
/// submitted in several batches.
static constexpr size_t kMostCommands = 1 << 14;

Error PlanExecutor::atStep(const std::string &text) const {
  std::string place;
  for (size_t index : scratch.position)
    place += (place.empty() ? "" : ".") + std::to_string(index);
  return {MX_ERROR_INVALID_VALUE, "step " + place + " of the plan: " + text};
}

Error PlanExecutor::count() {
  if (++stepCount <= plan::kMaxSteps)
    return {};
  return atStep("expected at most " + std::to_string(plan::kMaxSteps) +
                " steps in a call, found more: divide the work into several");
}

//===----------------------------------------------------------------------===//
// Stream commands
//===----------------------------------------------------------------------===//

void PlanExecutor::store(const Parameter &parameter, uint8_t *place) const {
  auto put = [&](const void *from, size_t bytes) {
    memcpy(place, from, bytes);
  };
  switch (parameter.kind) {
  case Parameter::Pointer: {
    int64_t address =
        numbers.getAddress(parameter.buffer) + numbers.get(parameter.number);
    return put(&address, sizeof address);
  }
  case Parameter::TensorMap:
    return put(scratch.maps[parameter.index].data(), kParameterSlot);
  case Parameter::Integer: {
    int64_t value = numbers.get(parameter.number); // little-endian
    return put(&value, parameter.bytes);
  }
  case Parameter::Float: {
    int64_t bits = numbers.get(parameter.number); // little-endian
    return put(&bits, parameter.bytes);
  }
  case Parameter::Argument: {
    const void *data = call.arguments[int64_t(parameter.index)].data;
    const std::string &dtype = plan.arguments[parameter.index].dtype;
    if (dtype[0] == 'b') {
      uint8_t value = uint8_t(readInteger(dtype, data));
      return put(&value, sizeof value);
    }
    return put(data, size_t(plan::getItemBytes(dtype)));
  }
  case Parameter::Bytes:
    return put(parameter.data.data(), parameter.data.size());
  }
}

Error PlanExecutor::takeLaunch(const Step &step) {
  const plan::Kernel &kernel = entry.program->manifest.kernels[step.kernel];
  Command command = {};
  command.kind = Step::Launch;
  command.function = loaded->kernels[step.kernel].get();
  for (size_t i = 0; i < 3; ++i) {
    command.config.grid[i] = numbers.get(step.grid[i]);
    command.config.block[i] = kernel.block[i];
  }
  command.config.dynamicSharedMemory = kernel.dynamicSharedMemory;
  command.config.flags = kernel.programmatic ? MX_LAUNCH_PROGRAMMATIC : 0;
  command.count = step.parameters.size();
  if (Error error = flushIfFull())
    return error;
  command.parameters = scratch.commands.parameters.size();
  scratch.commands.parameters.resize(command.parameters +
                                     command.count * kParameterSlot);
  for (size_t i = 0; i < command.count; ++i)
    store(
        step.parameters[i],
        &scratch.commands.parameters[command.parameters + i * kParameterSlot]);
  scratch.commands.list.push_back(command);
  return {};
}

/// Adds a collective. Ranks wait for each other, so even an empty collective
/// runs.
Error PlanExecutor::takeCollective(const Step &step) {
  Command command = {};
  command.kind = step.kind;
  command.group = step.group;
  command.token = step.token;
  command.step = int64_t(scratch.position.front());
  command.bytes = size_t(numbers.get(step.bytes));
  if (step.kind != Step::Barrier)
    command.to = toPointer(numbers.getAddress(step.to));
  if (step.kind == Step::AllToAll)
    command.from = toPointer(numbers.getAddress(step.from));
  if (Error error = flushIfFull())
    return error;
  scratch.commands.list.push_back(command);
  return {};
}

Error PlanExecutor::takeWait(const Step &step) {
  Command command = {};
  command.kind = step.kind;
  command.group = step.group;
  command.token = step.token;
  if (Error error = flushIfFull())
    return error;
  scratch.commands.list.push_back(command);
  return {};
}

/// Adds a fill or a copy.
Error PlanExecutor::takeMove(const Step &step) {
  Command command = {};
  command.kind = step.kind;
  command.bytes = size_t(numbers.get(step.bytes));
  command.byte = step.byte;
  command.to =
      toPointer(numbers.getAddress(step.to) + numbers.get(step.offset));
  if (step.kind == Step::Copy)
    command.from = toPointer(numbers.getAddress(step.from));
  // Skip the copy if the result is the argument.
  if (!command.bytes || command.from == command.to)
    return {};
  if (Error error = flushIfFull())
    return error;
  scratch.commands.list.push_back(command);
  return {};
}

/// Makes room for one more command.
Error PlanExecutor::flushIfFull() {
  return scratch.commands.list.size() < kMostCommands ? Error() : submit();
}

Error PlanExecutor::submit() {
  hasBegun |= !scratch.commands.list.empty();
  Error error =
      scratch.commands.submit(device, call.stream, plan.name.c_str(), groups);
  scratch.commands.clear();
  return error;
}

//===----------------------------------------------------------------------===//
// Numbers and buffers
//===----------------------------------------------------------------------===//

Error PlanExecutor::takeCompute(const Step &step) {
  std::string why;
  std::optional<int64_t> value = numbers.compute(step.expression, why);
  const plan::Number &name = step.results[0].number;
  if (!value) // the source location is more precise than the step
    return step.expression.place.empty() ? atStep(name.str() + " = " + why)
                                         : Error(MX_ERROR_INVALID_VALUE, why);
  numbers.set(name, *value);
  return {};
}

Error PlanExecutor::takeRead(const Step &step) {
  if (Error error = submit())
    return error;
  const void *from =
      toPointer(numbers.getAddress(step.from) + numbers.get(step.offset));
  int64_t number = 0;
  if (Error error =
          device.copy(Copy::ToHost, &number, from,
                      size_t(plan::getItemBytes(step.dtype)), call.stream))
    return error;
  if (Error error = device.synchronizeStream(call.stream))
    return error;
  numbers.set(step.results[0].number, readInteger(step.dtype, &number));
  return {};
}

void PlanExecutor::takeChoose(const Step &step) {
  auto isTaken = [&](const plan::Buffer &buffer) {
    return std::any_of(step.besides.begin(), step.besides.end(),
                       [&](const plan::Buffer &taken) {
                         return numbers.resolve(taken) == buffer;
                       });
  };
  // `among` lists more buffers than can be in use, so one is free.
  auto free = std::find_if_not(step.among.begin(), step.among.end(), isTaken);
  numbers.choose(step.results[0].buffer, *free);
}

/// Assigns all values at once, because a name may also be one of the values.
void PlanExecutor::assign(const std::vector<Operand> &names,
                          const std::vector<Operand> &values) {
  std::vector<int64_t> given;
  std::vector<plan::Buffer> buffers;
  for (const Operand &value : values) {
    given.push_back(value.isBuffer ? 0 : numbers.get(value.number));
    buffers.push_back(value.isBuffer ? numbers.resolve(value.buffer)
                                     : plan::Buffer());
  }
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i].isBuffer)
      numbers.choose(names[i].buffer, buffers[i]);
    else
      numbers.set(names[i].number, given[i]);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

Error PlanExecutor::takeBlock(const plan::Block &block,
                              const std::vector<Operand> &names) {
  if (Error error = take(block.steps))
    return error;
  assign(names, block.yields);
  return {};
}

Error PlanExecutor::takeIf(const Step &step) {
  return takeBlock(step.blocks[numbers.get(step.condition) == 0], step.results);
}

Error PlanExecutor::takeSwitch(const Step &step) {
  auto found = std::find(step.cases.begin(), step.cases.end(),
                         numbers.get(step.condition));
  return takeBlock(step.blocks[size_t(found - step.cases.begin())],
                   step.results);
}

Error PlanExecutor::takeFor(const Step &step) {
  int64_t from = numbers.get(step.range[0]), to = numbers.get(step.range[1]),
          by = numbers.get(step.range[2]);
  if (by < 1)
    return atStep(kLoopStepMessage + std::to_string(by));
  const plan::Block &block = step.blocks[0];
  assign(step.results, step.inits);
  for (int64_t i = from; i < to;) {
    if (Error error = count())
      return error;
    numbers.set(step.induction, i);
    if (Error error = takeBlock(block, step.results))
      return error;
    if (__builtin_add_overflow(i, by, &i))
      break;
  }
  return {};
}

Error PlanExecutor::takeWhile(const Step &step) {
  auto middle = step.results.begin() + std::ptrdiff_t(step.inits.size());
  std::vector<Operand> carries(step.results.begin(), middle),
      passes(middle, step.results.end());
  const plan::Block &test = step.blocks[0], &body = step.blocks[1];
  std::vector<Operand> passed(test.yields.begin() + 1, test.yields.end());
  assign(carries, step.inits);
  while (true) {
    if (Error error = count())
      return error;
    if (Error error = take(test.steps))
      return error;
    bool isDone = numbers.get(test.yields[0].number) == 0;
    assign(passes, passed);
    if (isDone)
      return {};
    if (Error error = takeBlock(body, carries))
      return error;
  }
}

/// Checks a step against the numbers of the call, then runs the step.
Error PlanExecutor::takeChecked(const Step &step,
                                Error (PlanExecutor::*takeStep)(const Step &)) {
  std::string wrong = plan::check(plan, step, numbers);
  return wrong.empty() ? (this->*takeStep)(step) : atStep(wrong);
}

Error PlanExecutor::take(const Step &step) {
  switch (step.kind) {
  case Step::Launch:
    return takeChecked(step, &PlanExecutor::takeLaunch);
  case Step::AllGather:
  case Step::AllToAll:
  case Step::Barrier:
    return takeChecked(step, &PlanExecutor::takeCollective);
  case Step::Wait:
    return takeWait(step);
  case Step::Memset:
  case Step::Copy:
    return takeChecked(step, &PlanExecutor::takeMove);
  case Step::Read:
    return takeChecked(step, &PlanExecutor::takeRead);
  case Step::Compute:
    return takeCompute(step);
  case Step::Require: {
    std::string wrong = plan::check(step.requirement, numbers);
    return wrong.empty() ? Error() : Error(MX_ERROR_INVALID_VALUE, wrong);
  }
  case Step::Encode:
    return encode(step.index, step.map);
  case Step::Choose:
    takeChoose(step);
    return {};
  case Step::Take:
    return takeMemory(step);
  case Step::If:
    return takeIf(step);
  case Step::Switch:
    return takeSwitch(step);
  case Step::For:
    return takeFor(step);
  case Step::While:
    return takeWhile(step);
  }
  return {};
}

Error PlanExecutor::take(const std::vector<Step> &steps) {
  scratch.position.push_back(0);
  for (const Step &step : steps) {
    Error error = count();
    if (!error)
      error = take(step);
    if (error)
      return error;
    ++scratch.position.back();
  }
  scratch.position.pop_back();
  return {};
}
