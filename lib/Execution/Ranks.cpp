//===- Ranks.cpp - Ranks of a program as threads --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a collective, ranks exchange addresses and copy the required bytes.
// They synchronize again before any rank may change its bytes.
//===----------------------------------------------------------------------===//

#include "mx/Execution/Ranks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace mx;

std::string Ranks::meet(int rank, const void *address) {
  std::unique_lock lock(mutex);
  if (!failure.empty())
    return failure;
  if (address)
    given[rank] = address;
  size_t meeting = meetings;
  isHere[rank] = true;
  if (++arrived == getCount()) {
    arrived = 0;
    isHere.assign(getCount(), false);
    ++meetings;
    changed.notify_all();
    return {};
  }
  auto isOver = [&] { return meetings != meeting || !failure.empty(); };
  if (!changed.wait_for(lock, timeout, isOver)) {
    failure = describeMissing();
    changed.notify_all();
  }
  return meetings != meeting ? std::string() : failure;
}

/// Returns a message with the wording of the runtime's rank groups.
std::string Ranks::describeMissing() const {
  std::vector<std::string> missing;
  for (int rank = 0; rank < getCount(); ++rank)
    if (!isHere[rank])
      missing.push_back(std::to_string(rank));
  std::string last = missing.back();
  missing.pop_back();
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (missing.empty())
    stream << "rank ";
  else
    stream << "ranks " << llvm::join(missing, ", ") << " and ";
  stream << last << " did not arrive (waited "
         << llvm::format("%g s)", timeout.count());
  return text;
}

std::string Ranks::exchange(int rank, const void *mine, size_t bytes,
                            void *all) {
  if (std::string why = meet(rank, mine); !why.empty())
    return why;
  for (int other = 0; other < getCount(); ++other)
    memcpy(static_cast<char *>(all) + other * bytes, given[other], bytes);
  return meet(rank);
}

std::string Ranks::allGather(int rank, void *window, size_t bytes) {
  if (std::string why = meet(rank, window); !why.empty())
    return why;
  for (int other = 0; other < getCount(); ++other)
    if (other != rank)
      memcpy(static_cast<char *>(window) + other * bytes,
             static_cast<const char *>(given[other]) + other * bytes, bytes);
  return meet(rank);
}

std::string Ranks::allToAll(int rank, const void *from, void *to,
                            size_t bytes) {
  if (std::string why = meet(rank, from); !why.empty())
    return why;
  for (int other = 0; other < getCount(); ++other)
    memcpy(static_cast<char *>(to) + other * bytes,
           static_cast<const char *>(given[other]) + rank * bytes, bytes);
  return meet(rank);
}

void Ranks::leave(int rank) {
  std::lock_guard lock(mutex);
  if (failure.empty())
    failure = "rank " + std::to_string(rank) + " has ended";
  changed.notify_all();
}
