//===- Kept.cpp - Calls that a thread has made ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Kept.h"
#include "Execution.h"

#include <algorithm>

using namespace mx;
using namespace mx::runtime;

static bool canKeep(const std::vector<plan::Step> &steps) {
  return std::all_of(steps.begin(), steps.end(), [](const plan::Step &step) {
    return step.kind != plan::Step::Read && step.kind != plan::Step::Take &&
           std::all_of(
               step.blocks.begin(), step.blocks.end(),
               [](const plan::Block &block) { return canKeep(block.steps); });
  });
}

bool mx::runtime::canKeep(const plan::Entry &entry) {
  return ::canKeep(entry.steps) &&
         std::none_of(
             entry.results.begin(), entry.results.end(),
             [](const plan::Result &result) { return result.isTaken; });
}

KeptCalls &KeptCalls::get() {
  static thread_local KeptCalls calls;
  return calls;
}

/// Whatever a call follows from must be among its words. False where something
/// is missing that must be there to be read.
bool KeptCalls::readWords(const mxEntryImpl &entry, const Call &call) {
  const plan::Entry &plan = *entry.plan;
  auto add = [&](const void *pointer) {
    words.push_back(int64_t(reinterpret_cast<uintptr_t>(pointer)));
  };
  words.clear();
  if (call.argumentCount != int64_t(plan.arguments.size()) ||
      call.resultCount != int64_t(plan.results.size()) ||
      (call.argumentCount && !call.arguments) ||
      (call.resultCount && !call.results))
    return false;
  words.push_back(entry.serial);
  // An option of the simulator changes it.
  words.push_back(entry.device->limits().multiprocessors);
  const mxArgument *found = call.arguments;
  for (const plan::Argument &expected : plan.arguments) {
    const mxArgument &argument = *found++;
    size_t rank = expected.shape.size();
    if (expected.isNumber ? !argument.data : rank && !argument.shape)
      return false;
    if (expected.isNumber) {
      words.push_back(readInteger(expected.dtype, argument.data));
      continue;
    }
    add(argument.data);
    words.insert(words.end(), argument.shape, argument.shape + rank);
  }
  for (int32_t i = 0; i < call.resultCount; ++i)
    add(call.results[i]);
  add(call.workspace);
  words.push_back(int64_t(call.workspaceBytes));
  return true;
}

const KeptCall *KeptCalls::find(const mxEntryImpl &entry, const Call &call) {
  if (!readWords(entry, call)) {
    words.clear();
    return nullptr;
  }
  hash = 0;
  for (int64_t word : words) {
    hash = (hash ^ uint64_t(word)) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  if (sets.empty())
    return nullptr;
  for (const KeptCall &kept : sets[hash % kSets])
    if (kept.hash == hash && kept.words == words)
      return &kept;
  return nullptr;
}

void KeptCalls::keep(const Commands &commands,
                     const std::vector<int64_t> &numbers) {
  if (words.empty() || commands.list.size() > kMostCommands ||
      commands.parameters.size() > kMostParameterBytes)
    return;
  if (sets.empty())
    sets.resize(kSets);
  KeptCall &kept = sets[hash % kSets][next++ % kWays];
  // No call, should memory be short on the way.
  kept.words.clear();
  kept.commands = commands;
  kept.numbers = numbers;
  kept.hash = hash;
  kept.words = words;
}
