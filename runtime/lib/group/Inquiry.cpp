//===- Inquiry.cpp - Search for the blocking rank -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Inquiry.h"

#include <cstring>

using namespace mx::runtime;

std::string Place::describe() const {
  if (operation.sequence == 0)
    return " before the first collective";
  return (isRunning ? " during " : " after ") + operation.describe();
}

std::string Place::serialize() const {
  Header header(operation);
  return std::string(1, char(isRunning)) +
         std::string(reinterpret_cast<char *>(&header), sizeof(header));
}

bool Place::parse(std::string_view bytes, Place &place) {
  Header header;
  if (bytes.size() != 1 + sizeof(header))
    return false;
  memcpy(&header, bytes.data() + 1, sizeof(header));
  place = {bytes[0] != 0, header.toOperation()};
  return true;
}

Failure Inquiry::blame(const std::vector<int> &ranks, const std::string &before,
                       const std::string &after) const {
  const Operation &operation = stall.operation;
  return {MX_ERROR_TIMEOUT,
          ranks.empty() ? -1 : ranks.front(),
          rank,
          operation.step,
          0,
          operation.entry,
          beginMessage(group) + (ranks.empty() ? "" : listRanks(ranks)) +
              before + operation.describe() + " (waited " +
              describeDuration(Clock::now() - stall.begin) + ")" + after};
}

/// Returns the comparable fields. Collectives on a GPU are identified by
/// content instead of number, and long entry names are truncated.
static Header toComparable(const Operation &operation) {
  Header header(Header(operation).toOperation());
  header.sequence = 0;
  return header;
}

Failure Inquiry::judge(const std::vector<bool> &isGone) const {
  std::vector<int> gone, silent, idle;
  int other = -1;
  Header mine = toComparable(stall.operation);
  for (int i = 0; i < int(places.size()); ++i) {
    const std::optional<Place> &place = places[size_t(i)];
    if (i == rank)
      continue;
    if (isGone[size_t(i)])
      gone.push_back(i);
    else if (!place)
      silent.push_back(i);
    else if (!place->isRunning)
      idle.push_back(i);
    else if (other < 0 && !(toComparable(place->operation) == mine))
      other = i;
  }
  const char *missing = " did not arrive at ";
  if (!gone.empty())
    return blame(gone, " left before the end of ",
                 ": the group was destroyed there");
  if (!silent.empty())
    return blame(silent, missing, ": no answer, the process may be stopped");
  if (!idle.empty())
    return blame(idle, missing, "");
  if (other >= 0)
    return describeMismatch(group, rank, stall.operation, other,
                            places[size_t(other)]->operation);
  return blame({}, "all ranks are at ", ", and no data moves");
}
