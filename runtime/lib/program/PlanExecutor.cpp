//===- PlanExecutor.cpp - Execution of an entry's plan --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This file prepares arguments, memory and tensor maps for a whole call, and
// writes its results.
//===----------------------------------------------------------------------===//

#include "PlanExecutor.h"
#include "../PerThread.h"
#include "../device/CheckedLaunch.h"
#include "DeviceOfCall.h"
#include "LaunchCache.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

using namespace mx;
using namespace mx::runtime;
using plan::Numbers;

namespace {

int64_t toInteger(const void *pointer) {
  return int64_t(reinterpret_cast<uintptr_t>(pointer));
}
template <class T>
int64_t load(const void *data) {
  T value;
  memcpy(&value, data, sizeof value);
  return int64_t(value);
}

} // namespace

int64_t mx::runtime::readInteger(const std::string &dtype, const void *data) {
  switch (plan::getItemBytes(dtype)) {
  case 1:
    if (dtype[0] == 'b')
      return load<uint8_t>(data) != 0; // any nonzero byte is true
    return dtype[0] == 'i' ? load<int8_t>(data) : load<uint8_t>(data);
  case 2:
    return dtype[0] == 'i' ? load<int16_t>(data) : load<uint16_t>(data);
  case 4:
    return dtype[0] == 'i' ? load<int32_t>(data) : load<uint32_t>(data);
  default:
    return load<int64_t>(data);
  }
}

/// Returns the unused scratch memory of this thread.
static std::vector<std::unique_ptr<Scratch>> &getUnused() {
  return PerThread<std::vector<std::unique_ptr<Scratch>>>::get();
}

/// Returns empty scratch memory.
static std::unique_ptr<Scratch> takeScratch() {
  std::vector<std::unique_ptr<Scratch>> &unused = getUnused();
  if (unused.empty())
    return std::make_unique<Scratch>();
  std::unique_ptr<Scratch> scratch = std::move(unused.back());
  unused.pop_back();
  for (std::vector<int64_t> *list :
       {&scratch->inputs.integers, &scratch->inputs.argumentAddresses,
        &scratch->inputs.resultAddresses, &scratch->inputs.ranks,
        &scratch->inputs.peers, &scratch->inputs.windowAddresses,
        &scratch->capacities})
    list->clear();
  scratch->numbers.chosen.clear();
  scratch->numbers.taken.clear();
  scratch->mapBuffers.clear();
  scratch->commands.clear();
  scratch->position.clear();
  return scratch;
}

PlanExecutor::PlanExecutor(const Entry &entry, Device &device,
                           const ProgramOnDevice *loaded,
                           const BoundGroupList *groups, const Call &call)
    : entry(entry), plan(*entry.plan), device(device), loaded(loaded),
      groups(groups), call(call), own(takeScratch()) {}

void PlanExecutor::giveBackScratch() { getUnused().push_back(std::move(own)); }

Error PlanExecutor::readArguments() {
  inputs.shapes.resize(plan.arguments.size());
  for (size_t i = 0; i < plan.arguments.size(); ++i) {
    const plan::Argument &expected = plan.arguments[i];
    const mxArgument found = call.arguments[int64_t(i)];
    bool isMissing = expected.isNumber
                         ? !found.data
                         : !found.shape && !expected.shape.empty();
    if (isMissing)
      return invalidValue(describe("argument", i, expected) + ": expected " +
                          (expected.isNumber ? "a number" : "a shape") +
                          ", found a null pointer");
    std::vector<int64_t> &shape = inputs.shapes[i];
    shape.clear();
    if (!expected.isNumber && !expected.shape.empty())
      shape.assign(found.shape, found.shape + expected.shape.size());
    inputs.integers.push_back(
        expected.isNumber ? readInteger(expected.dtype, found.data) : 0);
    inputs.argumentAddresses.push_back(toInteger(found.data));
  }
  return {};
}

/// Reads this rank's number and peers in each group, and the addresses of
/// windows in group memory.
void PlanExecutor::readGroups() {
  const plan::Manifest &manifest = entry.program->manifest;
  inputs.groups = &manifest.groups;
  for (size_t i = 0; i < manifest.groups.size(); ++i) {
    inputs.ranks.push_back((*groups)[i].ranks->rank);
    inputs.peers.push_back(toInteger((*groups)[i].ranks->peers()));
  }
  for (const plan::Window &window : plan.windows)
    inputs.windowAddresses.push_back(
        toInteger((*groups)[window.group].ranks->windows()) + window.offset);
}

Error PlanExecutor::prepare(bool withAddresses) {
  if (Error error = readArguments())
    return error;
  inputs.hasAddresses = withAddresses;
  if (withAddresses)
    for (size_t i = 0; i < plan.results.size(); ++i)
      inputs.resultAddresses.push_back(toInteger(call.results[i]));
  inputs.workspaceAddress = toInteger(call.workspace);
  inputs.constants = &entry.program->manifest.constants;
  if (loaded)
    inputs.constantAddresses = loaded->constants;
  else
    inputs.constantAddresses.assign(inputs.constants->size(), 0);
  readGroups();
  inputs.smCount = device.limits().multiprocessors;
  inputs.addresses = &entry.addresses;
  std::string wrong = plan::evaluate(plan, inputs, numbers);
  return wrong.empty() ? Error() : invalidValue(wrong);
}

/// Returns an error text if the address of an array is invalid, else "". Empty
/// arrays may have any address.
std::string PlanExecutor::checkAddress(plan::Buffer buffer) const {
  int64_t address = numbers.getAddress(buffer);
  if ((address && address % plan::kArrayAlignment == 0) ||
      plan::getBytes(plan, buffer, numbers) <= 0)
    return {};
  if (!address)
    return "expected device memory, found a null pointer";
  char digits[24];
  snprintf(digits, sizeof digits, "%#" PRIx64, uint64_t(address));
  return "expected memory aligned to " + std::to_string(plan::kArrayAlignment) +
         " bytes, found address " + digits + ": copy it";
}

/// Checks that all nonempty arrays have aligned addresses.
Error PlanExecutor::checkMemory() {
  for (unsigned i = 0; i < plan.arguments.size(); ++i) {
    if (plan.arguments[i].isNumber)
      continue;
    std::string wrong = checkAddress({plan::Buffer::Argument, i});
    if (!wrong.empty())
      return invalidValue(describe("argument", i, plan.arguments[i]) + ": " +
                          wrong);
  }
  for (unsigned i = 0; i < plan.results.size(); ++i) {
    const plan::Result &result = plan.results[i];
    std::string wrong;
    if (!result.isNumber && !result.isTaken)
      wrong = checkAddress({plan::Buffer::Result, i});
    else if (!call.results[i])
      wrong =
          std::string("expected ") +
          (result.isNumber ? "an address for the number" : "an mxTakenMemory") +
          ", found a null pointer";
    else if (result.isTaken)
      wrong = checkStruct(static_cast<mxTakenMemory *>(call.results[i]),
                          MX_SIZE_WITH(mxTakenMemory, shape), "mxTakenMemory");
    if (!wrong.empty())
      return invalidValue(describe("result", i, result) + ": " + wrong);
  }
  int64_t bytes = numbers.get(plan.workspaceBytes);
  int64_t address = toInteger(call.workspace);
  if (bytes == 0)
    return {};
  if (call.workspaceBytes < size_t(bytes))
    return invalidValue("expected a workspace of at least " +
                        std::to_string(bytes) + " bytes, found " +
                        std::to_string(call.workspaceBytes));
  if (!address || address % plan::kWorkspaceAlignment)
    return invalidValue("expected a workspace at a multiple of " +
                        std::to_string(plan::kWorkspaceAlignment) + ", found " +
                        (address ? "address " + std::to_string(address)
                                 : std::string("a null pointer")));
  return {};
}

Error PlanExecutor::encode(size_t index, const plan::TensorMap &map) {
  if (index >= scratch.maps.size()) {
    scratch.maps.resize(index + 1);
    scratch.mapBuffers.resize(index + 1);
  }
  scratch.mapBuffers[index] = numbers.resolve(map.buffer);
  std::vector<int64_t> &dims = scratch.dims, &strides = scratch.strides;
  dims.clear();
  strides.clear();
  for (const plan::Number &dim : map.dims)
    dims.push_back(numbers.get(dim));
  for (const plan::Number &stride : map.strides)
    strides.push_back(numbers.get(stride));
  scratch.box.assign(map.box.begin(), map.box.end());
  TensorMapArguments arguments = {
      int64_t(map.type),
      int64_t(dims.size()),
      toPointer(numbers.getAddress(map.buffer) + numbers.get(map.offset)),
      dims.data(),
      strides.data(),
      scratch.box.data(),
      /*elementStrides=*/nullptr,
      /*interleave=*/0,
      int64_t(map.swizzle),
      int64_t(map.l2),
      int64_t(map.fill)};
  Error error = encodeTensorMap(scratch.maps[index].data(), arguments, &device);
  if (error)
    error.text += " (tensor map " + std::to_string(index) + " of " +
                  map.buffer.str() + ")";
  return error;
}

/// Writes the number results to the caller's addresses.
static void writeNumbers(const plan::Entry &plan, const Call &call,
                         const std::vector<int64_t> &numbers) {
  const int64_t *number = numbers.data(); // little-endian
  for (size_t i = 0; i < plan.results.size(); ++i)
    if (plan.results[i].isNumber)
      memcpy(call.results[i], number++,
             size_t(plan::getItemBytes(plan.results[i].dtype)));
}

void PlanExecutor::findNumbers() {
  scratch.resultNumbers.clear();
  for (const plan::Result &result : plan.results)
    if (result.isNumber)
      scratch.resultNumbers.push_back(numbers.get(result.value));
}

Error PlanExecutor::run(LaunchCache *cache) {
  if (Error error = prepare(/*withAddresses=*/true))
    return error;
  if (Error error = checkMemory())
    return error;
  scratch.maps.resize(plan.tensorMaps.size());
  scratch.mapBuffers.resize(plan.tensorMaps.size());
  for (size_t i = 0; i < plan.tensorMaps.size(); ++i)
    if (Error error = encode(i, plan.tensorMaps[i]))
      return error;
  if (Error error = take(plan.steps))
    return error;
  findNumbers();
  if (cache && !hasBegun)
    cache->keep(scratch.commands, scratch.resultNumbers);
  if (Error error = submit())
    return error;
  if (Error error = giveResults())
    return error;
  writeNumbers(plan, call, scratch.resultNumbers);
  return {};
}

static Error inEntry(const plan::Entry &entry, Error error) {
  if (error)
    error.text = "entry '" + entry.name + "': " + error.text;
  return error;
}

//===----------------------------------------------------------------------===//
// Checks before any computation
//===----------------------------------------------------------------------===//

/// Checks that the arrays and structs of a call are readable.
static Error checkCall(const plan::Entry &plan, const Call &call,
                       bool withResults) {
  if (call.argumentCount < 0 ||
      size_t(call.argumentCount) != plan.arguments.size())
    return invalidValue("expected " + std::to_string(plan.arguments.size()) +
                        " arguments, found " +
                        std::to_string(call.argumentCount));
  if (call.argumentCount && !call.first)
    return invalidValue("expected arguments, found a null pointer");
  std::string wrong = call.arguments.check(MX_SIZE_WITH(mxArgument, shape),
                                           "mxArgument", "argument");
  if (!wrong.empty())
    return invalidValue(wrong);
  if (!withResults)
    return {};
  if (call.resultCount < 0 || size_t(call.resultCount) != plan.results.size())
    return invalidValue("expected " + std::to_string(plan.results.size()) +
                        " results, found " + std::to_string(call.resultCount));
  if (call.resultCount && !call.results)
    return invalidValue("expected results, found a null pointer");
  return {};
}

/// Computes the numbers of a call without memory and passes them to `use`.
template <class Use>
static Error computeSizes(const Entry &entry, const Call &call, Use use) {
  Program &program = *entry.program;
  Device *device;
  if (Error error = checkCall(*entry.plan, call, /*withResults=*/false))
    return error;
  if (Error error = findDevice(*entry.plan, call, device))
    return error;
  std::shared_ptr<const BoundGroupList> groups =
      program.groups.get(program.manifest);
  if (Error error = checkBound(program.manifest, groups.get()))
    return error;
  PlanExecutor execution(entry, *device, /*loaded=*/nullptr, groups.get(),
                         call);
  if (Error error = execution.prepare(/*withAddresses=*/false))
    return error;
  use(execution.getNumbers());
  return {};
}

Error mx::runtime::getResultShape(const Entry &entry, const Call &call,
                                  int32_t index, int64_t *shape) {
  const plan::Entry &plan = *entry.plan;
  if (index < 0 || size_t(index) >= plan.results.size())
    return inEntry(plan, invalidValue("expected a result below " +
                                      std::to_string(plan.results.size()) +
                                      ", found " + std::to_string(index)));
  if (plan.results[size_t(index)].isTaken)
    return inEntry(plan,
                   invalidValue(describe("result", size_t(index),
                                         plan.results[size_t(index)]) +
                                ": expected a shape that is known before the "
                                "call, found a shape that the call computes"));
  return inEntry(
      plan, computeSizes(entry, call, [&](const plan::Numbers &numbers) {
        for (const plan::Number &extent : plan.results[size_t(index)].shape)
          *shape++ = numbers.get(extent);
      }));
}

Error mx::runtime::getWorkspaceBytes(const Entry &entry, const Call &call,
                                     size_t &bytes) {
  return inEntry(*entry.plan,
                 computeSizes(entry, call, [&](const plan::Numbers &numbers) {
                   bytes = size_t(numbers.get(entry.plan->workspaceBytes));
                 }));
}

static Error submit(const Entry &entry, Device &device,
                    const CachedLaunch &cached, const BoundGroupList *groups,
                    const Call &call) {
  if (Error error = cached.commands.submit(device, call.stream,
                                           entry.plan->name.c_str(), groups))
    return error;
  writeNumbers(*entry.plan, call, cached.numbers);
  return {};
}

static Error launchChecked(const Entry &entry, const Call &call) {
  Program &program = *entry.program;
  Device *device;
  const ProgramOnDevice *loaded;
  if (Error error = checkCall(*entry.plan, call, /*withResults=*/true))
    return error;
  if (Error error = findDevice(*entry.plan, call, device))
    return error;
  // Keeps the groups alive until the end of the call.
  std::shared_ptr<const BoundGroupList> held =
      program.groups.get(program.manifest);
  const BoundGroupList *groups = held.get();
  if (Error error = checkReady(program.manifest, groups, *device))
    return error;
  if (Error error = program.find(*device, call.stream, loaded))
    return error;
  LaunchCache *cache = entry.canCache ? &LaunchCache::get() : nullptr;
  if (const CachedLaunch *cached =
          cache ? cache->find(entry, *device, call, groups) : nullptr)
    return submit(entry, *device, *cached, groups, call);
  return PlanExecutor(entry, *device, loaded, groups, call).run(cache);
}

Error mx::runtime::launchEntry(const Entry &entry, const Call &call) {
  return inEntry(*entry.plan, launchChecked(entry, call));
}
