//===- Operation.cpp - Description of collectives and failures ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operation.h"

#include <algorithm>
#include <cstring>
#include <tuple>

using namespace mx::runtime;

/// FNV-1a hash, equal on every machine.
static uint64_t hashText(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text)
    hash = (hash ^ uint8_t(c)) * 0x100000001b3;
  return hash;
}

std::string Operation::describe() const {
  if (kind == Exchange)
    return "the agreement on " + entry;
  std::string text = kind == AllGather ? "all_gather"
                     : kind == Barrier ? "barrier"
                                       : "all_to_all";
  if (entry.empty())
    return text + " (collective " + std::to_string(sequence) + " of the group)";
  return text + ", step " + std::to_string(step) + " of @" + entry;
}

Header::Header(const Operation &operation)
    : kind(operation.kind), bytes(operation.bytes),
      sequence(operation.sequence), entryHash(hashText(operation.entry)),
      step(operation.step) {
  operation.entry.copy(entry, sizeof(entry) - 1);
}

Operation Header::toOperation() const {
  return {Operation::Kind(kind), bytes, sequence,
          std::string(entry, strnlen(entry, sizeof(entry))), step};
}

bool Header::operator==(const Header &other) const {
  auto fields = [](const Header &h) {
    return std::tie(h.magic, h.kind, h.bytes, h.sequence, h.entryHash, h.step);
  };
  return fields(*this) == fields(other);
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

namespace {

struct FailureBytes {
  int32_t status, rank, finder;
  uint32_t entryBytes;
  int64_t step, time;
};

} // namespace

std::string Failure::serialize() const {
  FailureBytes fixed = {status, rank, finder, uint32_t(entry.size()),
                        step,   time};
  return std::string(reinterpret_cast<char *>(&fixed), sizeof(fixed)) + entry +
         text;
}

bool Failure::parse(std::string_view bytes, Failure &failure) {
  FailureBytes fixed;
  if (bytes.size() < sizeof(fixed))
    return false;
  memcpy(&fixed, bytes.data(), sizeof(fixed));
  bytes.remove_prefix(sizeof(fixed));
  if (fixed.entryBytes > bytes.size() || fixed.status == MX_SUCCESS)
    return false;
  failure = {fixed.status,
             fixed.rank,
             fixed.finder,
             fixed.step,
             fixed.time,
             std::string(bytes.substr(0, fixed.entryBytes)),
             std::string(bytes.substr(fixed.entryBytes))};
  return true;
}

bool Failure::isBefore(const Failure &other) const {
  return std::tie(time, finder) < std::tie(other.time, other.finder);
}

std::string mx::runtime::beginMessage(const std::string &group) {
  return "group " + group + ": ";
}

std::string mx::runtime::listRanks(const std::vector<int> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i)
      text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

Failure mx::runtime::describeMismatch(const std::string &group, int rank,
                                      const Operation &mine, int other,
                                      const Operation &theirs) {
  auto describe = [&](int who, const Operation &operation) {
    // Show the sequence number only if all other fields are equal.
    std::string text = "rank " + std::to_string(who) + " is at " +
                       operation.describe() + " of " +
                       std::to_string(operation.bytes) + " bytes";
    bool isSame =
        mine.describe() == theirs.describe() && mine.bytes == theirs.bytes;
    return isSame
               ? text + ", its collective " + std::to_string(operation.sequence)
               : text;
  };
  Failure failure;
  failure.status = MX_ERROR_MISMATCH;
  failure.rank = std::max(rank, other);
  failure.entry = mine.entry;
  failure.step = mine.step;
  failure.text =
      beginMessage(group) + "the ranks differ: " +
      (rank < other ? describe(rank, mine) + ", " + describe(other, theirs)
                    : describe(other, theirs) + ", " + describe(rank, mine));
  return failure;
}
