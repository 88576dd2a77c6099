//===- LaunchCache.cpp - Cache of a thread's calls ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LaunchCache.h"
#include "../PerThread.h"
#include "PlanExecutor.h"

#include <algorithm>

using namespace mx;
using namespace mx::runtime;

static bool canCache(const std::vector<plan::Step> &steps) {
  return std::all_of(steps.begin(), steps.end(), [](const plan::Step &step) {
    return step.kind != plan::Step::Read && step.kind != plan::Step::Take &&
           std::all_of(
               step.blocks.begin(), step.blocks.end(),
               [](const plan::Block &block) { return canCache(block.steps); });
  });
}

size_t mx::runtime::countWords(const plan::Manifest &manifest,
                               const plan::Entry &entry) {
  size_t count = 5 + entry.results.size() + 3 * manifest.groups.size();
  for (const plan::Argument &argument : entry.arguments)
    count += argument.isNumber ? 1 : 1 + argument.shape.size();
  return count;
}

bool mx::runtime::canCache(const plan::Entry &entry) {
  return ::canCache(entry.steps) &&
         std::none_of(
             entry.results.begin(), entry.results.end(),
             [](const plan::Result &result) { return result.isTaken; });
}

LaunchCache &LaunchCache::get() { return PerThread<LaunchCache>::get(); }

/// Collects the words of a call. Everything with an effect on the call must be
/// included. Returns false if a required pointer is null.
bool LaunchCache::readWords(const Entry &entry, Device &device,
                            const Call &call, const BoundGroupList *groups) {
  const plan::Entry &plan = *entry.plan;
  words.resize(entry.wordCount);
  int64_t *next = words.data();
  auto add = [&](const void *pointer) {
    *next++ = int64_t(reinterpret_cast<uintptr_t>(pointer));
  };
  *next++ = entry.serial;
  *next++ = device.index;
  // An option of the simulator may change this number.
  *next++ = device.limits().multiprocessors;
  int64_t index = 0;
  for (const plan::Argument &expected : plan.arguments) {
    const mxArgument argument = call.arguments[index++];
    size_t rank = expected.shape.size();
    if (expected.isNumber ? !argument.data : rank && !argument.shape)
      return false;
    if (expected.isNumber) {
      *next++ = readInteger(expected.dtype, argument.data);
      continue;
    }
    add(argument.data);
    next = std::copy_n(argument.shape, rank, next);
  }
  for (int32_t i = 0; i < call.resultCount; ++i)
    add(call.results[i]);
  add(call.workspace);
  *next++ = int64_t(call.workspaceBytes);
  for (size_t i = 0; i < entry.program->manifest.groups.size(); ++i) {
    const BoundGroup &bound = (*groups)[i];
    *next++ = bound.serial;
    add(bound.ranks->windows());
    add(bound.ranks->peers());
  }
  return true;
}

const CachedLaunch *LaunchCache::find(const Entry &entry, Device &device,
                                      const Call &call,
                                      const BoundGroupList *groups) {
  if (!readWords(entry, device, call, groups)) {
    words.clear();
    return nullptr;
  }
  hash = 0;
  // The hash is simple, because hashing dominates the lookup. A hit also
  // requires equal words.
  for (int64_t word : words)
    hash = (hash ^ uint64_t(word)) * 0x9E3779B97F4A7C15;
  hash ^= hash >> 32;
  auto found = calls.find(hash);
  return found != calls.end() && found->second.words == words ? &found->second
                                                              : nullptr;
}

/// Returns the slot for the call. Evicts the oldest call if the cache is full.
CachedLaunch &LaunchCache::getPlace() {
  order.reserve(kMostCalls);
  if (auto found = calls.find(hash); found != calls.end())
    return found->second;
  if (order.size() < kMostCalls) {
    CachedLaunch &place = calls[hash];
    order.push_back(hash);
    return place;
  }
  // Reusing the node also reuses the memory.
  auto node = calls.extract(order[oldest]);
  node.key() = order[oldest] = hash;
  oldest = (oldest + 1) % kMostCalls;
  return calls.insert(std::move(node)).position->second;
}

void LaunchCache::keep(const Commands &commands,
                       const std::vector<int64_t> &numbers) {
  if (words.empty() || commands.getBytes() > kMostBytes)
    return;
  CachedLaunch &place = getPlace();
  // The slot is invalid during the copies, because memory may run out.
  place.words.clear();
  place.commands = commands;
  place.numbers = numbers;
  place.words = words;
}
