//===- HostCollectives.cpp - What code of this process calls --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A collective that fails ends the call, as everything does that the reference
// path finds wrong.
//
//===----------------------------------------------------------------------===//

#include "HostCollectives.h"
#include "HostExit.h"
#include "mx/Conversion/MXToCPU/Collectives.h"
#include "mx/Support/ExitStatus.h"
#include <unistd.h>

using namespace mx;

namespace {

thread_local host_collectives::Scope *current = nullptr;

/// What is wrong with the collective at hand: the end of a call jumps over
/// destructors.
thread_local std::string why;

void endIfWrong(ExitStatus status) {
  if (why.empty())
    return;
  host_exit::print(STDERR_FILENO, "error: %s\n", why.c_str());
  why.clear();
  host_exit::exit(status);
}

HostCollectives &get() {
  if (!current || !current->collectives)
    why = "expected a group to be bound, found a program of several ranks that "
          "one process runs alone";
  endIfWrong(kExitBadInput);
  return *current->collectives;
}

int64_t getRank(int64_t group) { return get().getRank(group); }

/// Says which collective of the call it is.
void nameCollective(const char *what) {
  ++current->count;
  if (!why.empty())
    why = std::string(what) + ", collective " + std::to_string(current->count) +
          " of @" + current->entry.str() + ": " + why;
}

void allGather(int64_t group, void *window, int64_t bytes) {
  why = get().allGather(group, window, bytes);
  nameCollective("all_gather");
  endIfWrong(kExitFault);
}

void allToAll(int64_t group, const void *from, void *to, int64_t bytes) {
  why = get().allToAll(group, from, to, bytes);
  nameCollective("all_to_all");
  endIfWrong(kExitFault);
}

} // namespace

host_collectives::Scope::Scope(HostCollectives *collectives,
                               llvm::StringRef entry)
    : collectives(collectives), entry(entry), outer(current) {
  current = this;
}

host_collectives::Scope::~Scope() { current = outer; }

void host_collectives::forEachFunction(
    llvm::function_ref<void(llvm::StringRef, void *)> add) {
  add(cpu::kRankFunction, reinterpret_cast<void *>(&getRank));
  add(cpu::kAllGatherFunction, reinterpret_cast<void *>(&allGather));
  add(cpu::kAllToAllFunction, reinterpret_cast<void *>(&allToAll));
}
