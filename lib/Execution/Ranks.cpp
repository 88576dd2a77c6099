//===- Ranks.cpp - The ranks of a program as threads ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Ranks show each other where their bytes are, copy what they need, and meet
// again before those bytes may change.
//
//===----------------------------------------------------------------------===//

#include "mx/Execution/Ranks.h"
#include <cstring>

using namespace mx;

bool Ranks::meet(int rank, const void *address) {
  {
    std::lock_guard lock(mutex);
    given[rank] = address;
  }
  return meet();
}

bool Ranks::meet() {
  std::unique_lock lock(mutex);
  size_t meeting = meetings;
  if (++arrived == getCount()) {
    arrived = 0;
    ++meetings;
    changed.notify_all();
    return true;
  }
  changed.wait(lock, [&] { return meetings != meeting || hasLeft; });
  return meetings != meeting;
}

bool Ranks::exchange(int rank, const void *mine, size_t bytes, void *all) {
  if (!meet(rank, mine))
    return false;
  for (int other = 0; other < getCount(); ++other)
    memcpy(static_cast<char *>(all) + other * bytes, given[other], bytes);
  return meet();
}

bool Ranks::allGather(int rank, void *window, size_t bytes) {
  if (!meet(rank, window))
    return false;
  for (int other = 0; other < getCount(); ++other)
    if (other != rank)
      memcpy(static_cast<char *>(window) + other * bytes,
             static_cast<const char *>(given[other]) + other * bytes, bytes);
  return meet();
}

bool Ranks::allToAll(int rank, const void *from, void *to, size_t bytes) {
  if (!meet(rank, from))
    return false;
  for (int other = 0; other < getCount(); ++other)
    memcpy(static_cast<char *>(to) + other * bytes,
           static_cast<const char *>(given[other]) + rank * bytes, bytes);
  return meet();
}

void Ranks::leave() {
  std::lock_guard lock(mutex);
  hasLeft = true;
  changed.notify_all();
}
