//===- Execute.cpp - Run the plan of an entry -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers first: whatever is wrong with the arguments is found before anything
// is launched. Nothing here allocates on the device or waits for it.
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "Program.h"

#include <cstring>

using namespace mx;
using namespace mx::runtime;
using plan::Numbers;
using plan::Parameter;
using plan::Step;

namespace {

Error invalid(const std::string &text) {
  return {MX_ERROR_INVALID_VALUE, text};
}

int64_t toInteger(const void *pointer) {
  return int64_t(reinterpret_cast<uintptr_t>(pointer));
}
void *toPointer(int64_t address) {
  return reinterpret_cast<void *>(uintptr_t(address));
}

template <class T>
int64_t load(const void *data) {
  T value;
  memcpy(&value, data, sizeof value);
  return int64_t(value);
}

/// The value of an argument that is an integer.
int64_t readInteger(const std::string &dtype, const void *data) {
  switch (plan::getItemBytes(dtype)) {
  case 1:
    return dtype[0] == 'i' ? load<int8_t>(data) : load<uint8_t>(data);
  case 2:
    return dtype[0] == 'i' ? load<int16_t>(data) : load<uint16_t>(data);
  case 4:
    return dtype[0] == 'i' ? load<int32_t>(data) : load<uint32_t>(data);
  default:
    return load<int64_t>(data);
  }
}

std::string describe(const char *what, size_t index, const plan::Value &value) {
  return std::string(what) + " " + std::to_string(index) + " '" + value.name +
         "'";
}

/// One call of an entry.
class Execution {
public:
  Execution(const mxEntryImpl &entry, const Call &call)
      : entry(entry), plan(*entry.plan), call(call) {}

  /// Computes all numbers; with addresses those of the call must be there.
  Error prepare(bool withAddresses);
  const Numbers &getNumbers() const { return numbers; }
  Error run();

private:
  Error readArguments();
  Error checkMemory();
  Error encodeTensorMaps();
  Error launch(const Step &step);
  Error move(const Step &step);
  int64_t getAddress(const plan::Buffer &buffer) const;
  void store(const Parameter &parameter, uint8_t *place) const;

  const mxEntryImpl &entry;
  const plan::Entry &plan;
  const Call &call;
  plan::Inputs inputs;
  Numbers numbers;
  std::vector<std::array<uint8_t, target::kTensorMapBytes>> maps;
};

Error Execution::readArguments() {
  if (call.argumentCount < 0 ||
      size_t(call.argumentCount) != plan.arguments.size())
    return invalid("expected " + std::to_string(plan.arguments.size()) +
                   " arguments, found " + std::to_string(call.argumentCount));
  if (call.argumentCount && !call.arguments)
    return invalid("expected arguments, found a null pointer");
  for (size_t i = 0; i < plan.arguments.size(); ++i) {
    const plan::Argument &expected = plan.arguments[i];
    const mxArgument &found = call.arguments[i];
    bool isMissing = expected.isNumber
                         ? !found.data
                         : !found.shape && !expected.shape.empty();
    if (isMissing)
      return invalid(describe("argument", i, expected) + ": expected " +
                     (expected.isNumber ? "a number" : "a shape") +
                     ", found a null pointer");
    std::vector<int64_t> &shape = inputs.shapes.emplace_back();
    if (!expected.isNumber && !expected.shape.empty())
      shape.assign(found.shape, found.shape + expected.shape.size());
    inputs.integers.push_back(
        expected.isNumber ? readInteger(expected.dtype, found.data) : 0);
    inputs.argumentAddresses.push_back(toInteger(found.data));
  }
  return {};
}

Error Execution::prepare(bool withAddresses) {
  if (Error error = readArguments())
    return error;
  inputs.hasAddresses = withAddresses;
  if (withAddresses) {
    if (call.resultCount < 0 || size_t(call.resultCount) != plan.results.size())
      return invalid("expected " + std::to_string(plan.results.size()) +
                     " results, found " + std::to_string(call.resultCount));
    if (call.resultCount && !call.results)
      return invalid("expected results, found a null pointer");
    for (size_t i = 0; i < plan.results.size(); ++i)
      inputs.resultAddresses.push_back(toInteger(call.results[i]));
  }
  inputs.workspaceAddress = toInteger(call.workspace);
  inputs.smCount = entry.device->info().multiprocessors;
  std::string wrong = plan::evaluate(plan, inputs, numbers);
  return wrong.empty() ? Error() : invalid(wrong);
}

/// That whatever has bytes has an address.
Error Execution::checkMemory() {
  auto isMissing = [&](plan::Buffer buffer) {
    return !getAddress(buffer) && plan::getBytes(plan, buffer, numbers) > 0;
  };
  for (unsigned i = 0; i < plan.arguments.size(); ++i)
    if (!plan.arguments[i].isNumber && isMissing({plan::Buffer::Argument, i}))
      return invalid(describe("argument", i, plan.arguments[i]) +
                     ": expected device memory, found a null pointer");
  for (unsigned i = 0; i < plan.results.size(); ++i)
    if (isMissing({plan::Buffer::Result, i}))
      return invalid(describe("result", i, plan.results[i]) +
                     ": expected device memory, found a null pointer");
  int64_t bytes = numbers.get(plan.workspaceBytes);
  int64_t address = toInteger(call.workspace);
  if (bytes == 0)
    return {};
  if (call.workspaceBytes < size_t(bytes))
    return invalid("expected a workspace of at least " + std::to_string(bytes) +
                   " bytes, found " + std::to_string(call.workspaceBytes));
  if (!address || address % plan::kWorkspaceAlignment)
    return invalid("expected a workspace at a multiple of " +
                   std::to_string(plan::kWorkspaceAlignment) + ", found " +
                   (address ? "address " + std::to_string(address)
                            : std::string("a null pointer")));
  return {};
}

int64_t Execution::getAddress(const plan::Buffer &buffer) const {
  switch (buffer.kind) {
  case plan::Buffer::Argument:
    return inputs.argumentAddresses[buffer.index];
  case plan::Buffer::Result:
    return inputs.resultAddresses[buffer.index];
  case plan::Buffer::Work:
    return toInteger(call.workspace) +
           numbers.get(plan.workBuffers[buffer.index].offset);
  }
  return 0;
}

Error Execution::encodeTensorMaps() {
  maps.resize(plan.tensorMaps.size());
  for (size_t i = 0; i < maps.size(); ++i) {
    const plan::TensorMap &map = plan.tensorMaps[i];
    std::vector<int64_t> dims, strides;
    for (const plan::Number &dim : map.dims)
      dims.push_back(numbers.get(dim));
    for (const plan::Number &stride : map.strides)
      strides.push_back(numbers.get(stride));
    std::vector<int32_t> box(map.box.begin(), map.box.end());
    TensorMapArguments arguments = {
        int64_t(map.type),
        int64_t(dims.size()),
        toPointer(getAddress(map.buffer) + numbers.get(map.offset)),
        dims.data(),
        strides.data(),
        box.data(),
        /*elementStrides=*/nullptr,
        /*interleave=*/0,
        int64_t(map.swizzle),
        int64_t(map.l2),
        int64_t(map.fill)};
    if (Error error = encodeTensorMap(maps[i].data(), arguments)) {
      error.text +=
          " (tensor map " + std::to_string(i) + " of " + map.buffer.str() + ")";
      return error;
    }
  }
  return {};
}

/// The largest parameter, a tensor map.
constexpr size_t kSlot = target::kTensorMapBytes;
/// More than the parameters of a kernel can have together (PTX ISA, kernel
/// function parameters): a kernel whose parameters are larger than the plan
/// says reads zeros behind the last slot.
constexpr size_t kParameterLimit = 32768;

void Execution::store(const Parameter &parameter, uint8_t *place) const {
  auto put = [&](const void *from, size_t bytes) {
    memcpy(place, from, bytes);
  };
  switch (parameter.kind) {
  case Parameter::Pointer: {
    int64_t address = getAddress(parameter.buffer);
    return put(&address, sizeof address);
  }
  case Parameter::TensorMap:
    return put(maps[parameter.index].data(), kSlot);
  case Parameter::Integer: {
    int64_t value = numbers.get(parameter.number); // little-endian
    return put(&value, parameter.bytes);
  }
  case Parameter::Argument:
    return put(
        call.arguments[parameter.index].data,
        size_t(plan::getItemBytes(plan.arguments[parameter.index].dtype)));
  case Parameter::Bytes:
    return put(parameter.data.data(), parameter.data.size());
  }
}

Error Execution::launch(const Step &step) {
  const plan::Kernel &kernel = (*entry.kernelInfos)[step.kernel];
  mxLaunchConfig config = {};
  for (size_t i = 0; i < 3; ++i) {
    config.grid[i] = numbers.get(step.grid[i]);
    config.block[i] = kernel.block[i];
  }
  config.dynamicSharedMemory = kernel.dynamicSharedMemory;
  config.stream = call.stream;
  config.flags = kernel.programmatic ? MX_LAUNCH_PROGRAMMATIC : 0;
  size_t count = step.parameters.size();
  std::vector<uint8_t> values(count * kSlot + kParameterLimit);
  std::vector<void *> pointers(count + 1); // never no address at all
  for (size_t i = 0; i < count; ++i) {
    pointers[i] = &values[i * kSlot];
    store(step.parameters[i], &values[i * kSlot]);
  }
  return runtime::launch((*entry.kernels)[step.kernel], config, pointers.data(),
                         int64_t(count));
}

/// Fills or copies.
Error Execution::move(const Step &step) {
  size_t bytes = size_t(numbers.get(step.bytes));
  if (!bytes)
    return {};
  void *to = toPointer(getAddress(step.to));
  if (step.kind == Step::Memset)
    return entry.device->fill(to, step.byte, 1, bytes, call.stream);
  void *from = toPointer(getAddress(step.from));
  if (from == to) // a result that is the argument which the function returns
    return {};
  return entry.device->copy(Copy::OnDevice, to, from, bytes, call.stream);
}

Error Execution::run() {
  if (Error error = prepare(/*withAddresses=*/true))
    return error;
  if (Error error = checkMemory())
    return error;
  if (Error error = encodeTensorMaps())
    return error;
  for (const Step &step : plan.steps)
    if (Error error = step.kind == Step::Launch ? launch(step) : move(step))
      return error;
  return {};
}

Error inEntry(const plan::Entry &entry, Error error) {
  if (error)
    error.text = "entry '" + entry.name + "': " + error.text;
  return error;
}

} // namespace

Error mx::runtime::getResultShape(const mxEntryImpl &entry, const Call &call,
                                  int32_t index, int64_t *shape) {
  const plan::Entry &plan = *entry.plan;
  if (index < 0 || size_t(index) >= plan.results.size())
    return inEntry(plan, invalid("expected a result below " +
                                 std::to_string(plan.results.size()) +
                                 ", found " + std::to_string(index)));
  Execution execution(entry, call);
  if (Error error = execution.prepare(/*withAddresses=*/false))
    return inEntry(plan, error);
  for (const plan::Number &extent : plan.results[size_t(index)].shape)
    *shape++ = execution.getNumbers().get(extent);
  return {};
}

Error mx::runtime::getWorkspaceBytes(const mxEntryImpl &entry, const Call &call,
                                     size_t &bytes) {
  Execution execution(entry, call);
  if (Error error = execution.prepare(/*withAddresses=*/false))
    return inEntry(*entry.plan, error);
  bytes = size_t(execution.getNumbers().get(entry.plan->workspaceBytes));
  return {};
}

Error mx::runtime::launchEntry(const mxEntryImpl &entry, const Call &call) {
  return inEntry(*entry.plan, Execution(entry, call).run());
}
