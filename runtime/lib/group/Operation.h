//===- Operation.h - A collective and what ends a group ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_GROUP_OPERATION_H
#define MX_RUNTIME_LIB_GROUP_OPERATION_H

#include "../Device.h"

#include <vector>

namespace mx::runtime {

/// One collective of one rank.
struct Operation {
  enum Kind : uint32_t { AllGather, AllToAll, Exchange };
  Kind kind = Exchange;
  /// Of each segment.
  uint64_t bytes = 0;
  /// Of the collectives of the group, from 1.
  uint64_t sequence = 0;
  /// Of a program; of an exchange what it is about.
  std::string entry;
  int64_t step = -1;

  /// "all_gather, step 7 of @forward".
  std::string describe() const;
};

/// An operation as ranks send it to each other, before its data.
struct Header {
  static constexpr uint32_t kMagic = 0x6d786772;
  uint32_t magic = kMagic;
  uint32_t kind = 0;
  uint64_t bytes = 0, sequence = 0, entryHash = 0;
  int64_t step = 0;
  /// As much as fits; the hash is of the whole.
  char entry[64] = {};

  Header() = default;
  explicit Header(const Operation &operation);
  Operation toOperation() const;
  bool operator==(const Header &other) const;
};

/// Why a group has failed: as the rank that found it sends it to the others, so
/// that all of them say the same.
struct Failure {
  int32_t status = MX_SUCCESS;
  /// The rank at fault, -1 where none is known, and the one that found it.
  int32_t rank = -1, finder = -1;
  int64_t step = -1;
  /// Nanoseconds since 1970: of several failures the first one counts.
  int64_t time = 0;
  std::string entry, text;

  std::string serialize() const;
  /// False: the bytes are none.
  static bool parse(std::string_view bytes, Failure &failure);
  bool isBefore(const Failure &other) const;
  bool isSame(const Failure &other) const {
    return time == other.time && finder == other.finder;
  }
};

/// "group ep: ".
std::string beginMessage(const std::string &group);
/// "rank 1", "ranks 1, 2 and 5".
std::string listRanks(const std::vector<int> &ranks);
/// What two ranks are at that should be at the same.
Failure describeMismatch(const std::string &group, int rank,
                         const Operation &mine, int other,
                         const Operation &theirs);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_GROUP_OPERATION_H
