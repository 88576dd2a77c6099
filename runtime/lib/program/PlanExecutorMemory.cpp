//===- PlanExecutorMemory.cpp - Memory sized at run time ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop may allocate memory in every iteration. Memory is reused once no
// buffer of the plan and no tensor map refers to the memory, because earlier
// users precede the new user on the same stream.
//===----------------------------------------------------------------------===//

#include "PlanExecutor.h"

#include <algorithm>

using namespace mx;
using namespace mx::runtime;
using plan::Buffer;

PlanExecutor::~PlanExecutor() {
  if (std::any_of(scratch.capacities.begin(), scratch.capacities.end(),
                  [](int64_t bytes) { return bytes > 0; }))
    (void)device.synchronizeStream(call.stream);
  for (size_t i = 0; i < scratch.capacities.size(); ++i)
    if (scratch.capacities[i])
      (void)device.free(
          reinterpret_cast<void *>(uintptr_t(numbers.taken[i].address)));
  giveBackScratch();
}

std::vector<bool> PlanExecutor::findShown() const {
  std::vector<bool> isShown(numbers.taken.size());
  for (const std::vector<Buffer> *buffers :
       {&numbers.chosen, &scratch.mapBuffers})
    for (const Buffer &buffer : *buffers)
      if (buffer.kind == Buffer::Taken)
        isShown[buffer.index] = true;
  return isShown;
}

Error PlanExecutor::release() {
  if (Error error = submit())
    return error;
  if (Error error = device.synchronizeStream(call.stream))
    return error;
  std::vector<bool> isShown = findShown();
  for (size_t i = 0; i < scratch.capacities.size(); ++i) {
    if (isShown[i] || !scratch.capacities[i])
      continue;
    scratch.capacities[i] = 0;
    if (Error error = device.free(
            reinterpret_cast<void *>(uintptr_t(numbers.taken[i].address))))
      return error;
  }
  return {};
}

Error PlanExecutor::allocate(int64_t bytes, void *&memory) {
  if (!device.alloc(size_t(bytes), /*shared=*/false, memory))
    return {};
  if (Error error = release())
    return error;
  return device.alloc(size_t(bytes), /*shared=*/false, memory);
}

Error PlanExecutor::findMemory(int64_t bytes, size_t &index) {
  std::vector<bool> isShown = findShown();
  size_t count = scratch.capacities.size(), best = count;
  for (size_t i = 0; i < count; ++i)
    if (!isShown[i] && scratch.capacities[i] >= bytes &&
        (best == count || scratch.capacities[i] < scratch.capacities[best]))
      best = i;
  if (best < count) {
    index = best;
    return {};
  }
  void *memory = nullptr;
  if (Error error = allocate(bytes, memory))
    return error;
  // Reuse the slot of a released allocation, so slots never outnumber names.
  auto free =
      std::find(scratch.capacities.begin(), scratch.capacities.end(), 0);
  index = size_t(free - scratch.capacities.begin());
  if (free == scratch.capacities.end()) {
    scratch.capacities.push_back(0);
    numbers.taken.emplace_back();
  }
  scratch.capacities[index] = bytes;
  numbers.taken[index].address = int64_t(reinterpret_cast<uintptr_t>(memory));
  return {};
}

Error PlanExecutor::getMemory(int64_t bytes, Buffer &buffer) {
  size_t index = 0;
  // Round up to a multiple of the workspace's alignment above `bytes`, so the
  // size is never zero.
  int64_t rounded;
  if (bytes < 0 ||
      __builtin_add_overflow(bytes, plan::kWorkspaceAlignment, &rounded))
    return atStep("expected memory of at least 0 bytes, found " +
                  std::to_string(bytes));
  if (Error error =
          findMemory(rounded - rounded % plan::kWorkspaceAlignment, index))
    return error;
  numbers.taken[index].bytes = bytes;
  buffer = {Buffer::Taken, unsigned(index)};
  return {};
}

Error PlanExecutor::takeMemory(const plan::Step &step) {
  const Buffer &name = step.results[0].buffer;
  numbers.choose(name, {}); // drops the previous reference
  Buffer buffer;
  if (Error error = getMemory(numbers.get(step.bytes), buffer))
    return error;
  numbers.choose(name, buffer);
  return {};
}

/// Passes the memory of results to the caller. A result is copied if the memory
/// belongs to the caller, the workspace or another result.
Error PlanExecutor::giveResults() {
  if (std::none_of(plan.results.begin(), plan.results.end(),
                   [](const plan::Result &result) { return result.isTaken; }))
    return {};
  std::vector<Buffer> given(plan.results.size());
  for (size_t i = 0; i < plan.results.size(); ++i) {
    const plan::Result &result = plan.results[i];
    if (!result.isTaken)
      continue;
    int64_t bytes = plan::getItemBytes(result.dtype);
    for (const plan::Number &extent : result.shape)
      if (numbers.get(extent) < 0 ||
          __builtin_mul_overflow(bytes, numbers.get(extent), &bytes))
        return {MX_ERROR_INVALID_VALUE,
                "result " + std::to_string(i) +
                    ": expected dimensions of at least 0 and a size of 64 "
                    "bits, found dimension " +
                    std::to_string(numbers.get(extent))};
    Buffer buffer = numbers.resolve(result.buffer);
    if (plan::getBytes(plan, buffer, numbers) < bytes)
      return {MX_ERROR_INVALID_VALUE,
              "result " + std::to_string(i) + ": expected at most the " +
                  std::to_string(plan::getBytes(plan, buffer, numbers)) +
                  " bytes of its buffer, found " + std::to_string(bytes)};
    if (buffer.kind != Buffer::Taken ||
        std::find(given.begin(), given.end(), buffer) != given.end()) {
      Buffer copy;
      // Prevent reuse of the memory of earlier results.
      numbers.chosen.insert(numbers.chosen.end(), given.begin(), given.end());
      if (Error error = getMemory(bytes, copy))
        return error;
      if (bytes)
        if (Error error = device.copy(
                mx::runtime::Copy::OnDevice,
                reinterpret_cast<void *>(
                    uintptr_t(numbers.taken[copy.index].address)),
                reinterpret_cast<void *>(uintptr_t(numbers.getAddress(buffer))),
                size_t(bytes), call.stream))
          return error;
      buffer = copy;
    }
    given[i] = buffer;
  }
  for (size_t i = 0; i < plan.results.size(); ++i) {
    const plan::Result &result = plan.results[i];
    if (!result.isTaken)
      continue;
    auto *place = static_cast<mxTakenMemory *>(call.results[i]);
    place->data = reinterpret_cast<void *>(
        uintptr_t(numbers.taken[given[i].index].address));
    scratch.capacities[given[i].index] = 0;
    for (size_t dim = 0; dim < result.shape.size(); ++dim)
      place->shape[dim] = numbers.get(result.shape[dim]);
  }
  return {};
}
