//===- Operation.h - Description of collectives and failures ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_OPERATION_H
#define MX_RUNTIME_LIB_GROUP_OPERATION_H

#include "../Device.h"

#include <vector>

namespace mx::runtime {

/// Collective from a rank's point of view.
struct Operation {
  enum Kind : uint32_t { AllGather, AllToAll, Barrier, Exchange };
  Kind kind = Exchange;
  /// Size of each segment.
  uint64_t bytes = 0;
  /// Number among the group's collectives, from 1.
  uint64_t sequence = 0;
  /// Entry of the program, or the subject of an exchange.
  std::string entry;
  int64_t step = -1;

  /// Formats the operation: "all_gather, step 7 of @forward".
  std::string describe() const;
};

/// Form in which ranks send the operation ahead of its data.
struct Header {
  static constexpr uint32_t kMagic = 0x6d786772;
  uint32_t magic = kMagic;
  uint32_t kind = 0;
  uint64_t bytes = 0, sequence = 0, entryHash = 0;
  int64_t step = 0;
  /// Truncated name. The hash covers the whole name.
  char entry[64] = {};

  Header() = default;
  explicit Header(const Operation &operation);
  Operation toOperation() const;
  bool operator==(const Header &other) const;
};

/// Failure of a group. The finder sends the failure to all ranks.
struct Failure {
  int32_t status = MX_SUCCESS;
  /// Rank at fault (-1 if unknown), and rank that found the failure.
  int32_t rank = -1, finder = -1;
  int64_t step = -1;
  /// Nanoseconds since 1970; the group reports the earliest failure.
  int64_t time = 0;
  std::string entry, text;

  std::string serialize() const;
  /// Returns false if the bytes are malformed.
  static bool parse(std::string_view bytes, Failure &failure);
  bool isBefore(const Failure &other) const;
  bool isSame(const Failure &other) const {
    return time == other.time && finder == other.finder;
  }
};

/// Returns the prefix of messages: "group ep: ".
std::string beginMessage(const std::string &group);
/// Formats ranks: "rank 1", "ranks 1, 2 and 5".
std::string listRanks(const std::vector<int> &ranks);
/// Returns a failure for two operations that should match.
Failure describeMismatch(const std::string &group, int rank,
                         const Operation &mine, int other,
                         const Operation &theirs);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_OPERATION_H
