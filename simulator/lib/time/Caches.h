//===- Caches.h - Tags of the lines in a cache ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_CACHES_H
#define MXSIM_LIB_TIME_CACHES_H

#include "Transfer.h"

#include <algorithm>
#include <array>

namespace mx::sim::time {

/// Remainder by a fixed divisor, computed without a division.
struct Modulo {
  explicit Modulo(uint64_t divisor)
      : divisor(divisor), inverse(~0ull / divisor) {}
  uint64_t operator()(uint64_t value) const {
    // The quotient, or slightly less.
    uint64_t quotient = uint64_t(__uint128_t(value) * inverse >> 64);
    uint64_t rest = value - quotient * divisor;
    while (rest >= divisor)
      rest -= divisor;
    return rest;
  }
  uint64_t divisor, inverse;
};

/// Set-associative tags with least recently used replacement.
class Tags {
public:
  explicit Tags(uint64_t bytes)
      : numberOf(std::max<uint64_t>(1, bytes / kLineBytes / kWays)),
        sets(numberOf.divisor) {}

  struct Line {
    uint64_t filled = 0; ///< cycle of the fill, set by the owner
  };
  struct Answer {
    Line *line;
    bool isHit = false;
    /// The evicted line was dirty.
    bool writesBack = false;
  };
  /// Marks the data of all lines as present.
  void settle() {
    for (Set &set : sets)
      set.lines.fill({});
  }
  /// Looks up the line (address / kLineBytes), allocates on a miss and makes
  /// the line the most recent. A streaming access marks the line; marked lines
  /// are evicted before others.
  Answer touch(uint64_t line, bool isWrite, bool isStreamed = false) {
    Set &set = sets[setOf(line)];
    uint64_t tag = tagOf(line);
    unsigned at = placeOf(set, tag);
    bool isHit = at < kWays;
    if (!isHit)
      at = placeOfNext(set);
    uint64_t found = set.tags[at];
    bool wasDirty = found & kDirty;
    std::copy_backward(&set.tags[0], &set.tags[at], &set.tags[at] + 1);
    set.tags[0] = tag | found % kWays | (isStreamed ? kStreamed : 0);
    if (isWrite || (isHit && wasDirty))
      set.tags[0] |= kDirty;
    Line &is = set.lines[found % kWays];
    if (!isHit)
      is = {};
    return {&is, isHit, !isHit && wasDirty};
  }
  /// Returns the line if it is cached; changes no state.
  Line *find(uint64_t line) {
    Set &set = sets[setOf(line)];
    unsigned at = placeOf(set, tagOf(line));
    return at < kWays ? &set.lines[set.tags[at] % kWays] : nullptr;
  }
  /// Prefetches the host memory of the set that contains `line`.
  void prefetch(uint64_t line) const {
    const char *set = reinterpret_cast<const char *>(&sets[setOf(line)]);
    for (unsigned at = 0; at < sizeof(Set); at += 64)
      __builtin_prefetch(set + at, 1);
  }

  /// Hash that spreads strides over the sets, as the chip spreads addresses
  /// over slices.
  static uint64_t mix(uint64_t line) {
    line *= 0x9e3779b97f4a7c15ull;
    return line ^ line >> 29;
  }

private:
  static constexpr unsigned kWays = 16;
  /// Flags of a tag, above the way index: written, streamed.
  static constexpr uint64_t kDirty = kWays, kStreamed = 2 * kWays;
  static constexpr unsigned kTagShift = 6;
  /// Aligned to cache lines of the host.
  struct alignas(64) Set {
    Set() {
      for (unsigned way = 0; way < kWays; ++way)
        tags[way] = way;
    }
    /// Tags from most to least recently used. A tag contains line + 1 (0 if
    /// empty), kStreamed, kDirty and the way.
    std::array<uint64_t, kWays> tags;
    std::array<Line, kWays> lines; ///< indexed by way
  };
  /// Returns the set of a line. Consecutive lines fill all sets evenly. Each
  /// pass over the sets starts at a different set to spread strides.
  uint64_t setOf(uint64_t line) const {
    constexpr uint64_t kTurn = 7919;
    uint64_t round = line / numberOf.divisor;
    return numberOf(line + round * kTurn);
  }

  static uint64_t tagOf(uint64_t line) { return (line + 1) << kTagShift; }
  /// Returns kWays if the tag is not in the set.
  static unsigned placeOf(const Set &set, uint64_t tag) {
    unsigned at = 0;
    while (at < kWays && set.tags[at] >> kTagShift << kTagShift != tag)
      ++at;
    return at;
  }
  /// Selects the way to evict.
  static unsigned placeOfNext(const Set &set) {
    constexpr unsigned kLast = kWays - 1;
    bool hasRoom = !(set.tags[kLast] >> kTagShift);
    for (unsigned at = kLast; !hasRoom && at; --at)
      if (set.tags[at] & kStreamed)
        return at;
    return kLast;
  }

  Modulo numberOf;
  std::vector<Set> sets;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_CACHES_H
