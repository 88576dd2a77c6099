//===- Inquiry.h - Search for the blocking rank -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After an overlong wait, a rank queries the positions of all ranks. Each
// watchdog answers unless the process is stopped. A rank is at fault if the
// rank sends no answer or is not at the collective, but not if the rank waits
// for another rank.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_INQUIRY_H
#define MX_RUNTIME_LIB_GROUP_INQUIRY_H

#include "Operation.h"
#include "Sockets.h"

#include <optional>

namespace mx::runtime {

/// Overdue collective of this rank.
struct Stall {
  Operation operation;
  Clock::time_point begin;
};

/// Position of a rank.
struct Place {
  /// True inside `operation`, false afterwards.
  bool isRunning = false;
  Operation operation;

  /// Formats the position: " during all_gather, step 7 of @forward".
  std::string describe() const;
  std::string serialize() const;
  static bool parse(std::string_view bytes, Place &place);
};

class Inquiry {
public:
  Inquiry(std::string group, int rank, int size, Stall stall)
      : group(std::move(group)), rank(rank), stall(std::move(stall)),
        places(size_t(size)) {}
  void hear(int peer, Place place) { places[size_t(peer)] = std::move(place); }
  bool hasHeard(int peer) const { return places[size_t(peer)].has_value(); }
  /// Finds the rank at fault; `isGone` marks ranks that destroyed the group.
  Failure judge(const std::vector<bool> &isGone) const;

private:
  Failure blame(const std::vector<int> &ranks, const std::string &before,
                const std::string &after) const;

  std::string group;
  int rank;
  Stall stall;
  std::vector<std::optional<Place>> places;
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_INQUIRY_H
