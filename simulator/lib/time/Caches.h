//===- Caches.h - which lines a cache holds ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_CACHES_H
#define MXSIM_LIB_TIME_CACHES_H

#include "Transfer.h"

#include <algorithm>
#include <array>

namespace mx::sim::time {

/// Remainders of one divisor, without a division.
struct Modulo {
  explicit Modulo(uint64_t divisor)
      : divisor(divisor), inverse(~0ull / divisor) {}
  uint64_t operator()(uint64_t value) const {
    // The quotient, or a little less.
    uint64_t quotient = uint64_t(__uint128_t(value) * inverse >> 64);
    uint64_t rest = value - quotient * divisor;
    while (rest >= divisor)
      rest -= divisor;
    return rest;
  }
  uint64_t divisor, inverse;
};

/// Tags of lines, with the one that was used longest ago as the next to go.
class Tags {
public:
  explicit Tags(uint64_t bytes)
      : numberOf(std::max<uint64_t>(1, bytes / kLineBytes / kWays)),
        sets(numberOf.divisor) {}

  struct Line {
    uint64_t filled = 0; ///< for the owner: when its bytes came
  };
  struct Answer {
    Line *line;
    bool isHit = false;
    /// A line that was written had to go.
    bool writesBack = false;
  };
  /// All bytes are there.
  void settle() {
    for (Set &set : sets)
      set.lines.fill({});
  }
  /// `line`: an address divided by kLineBytes. Where there is no room, lines
  /// that were only streamed since they came go first. Who streams a line makes
  /// it one of these.
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
  /// The line, if it is there; nothing changes.
  Line *find(uint64_t line) {
    Set &set = sets[setOf(line)];
    unsigned at = placeOf(set, tagOf(line));
    return at < kWays ? &set.lines[set.tags[at] % kWays] : nullptr;
  }
  /// The line will be touched soon.
  void prefetch(uint64_t line) const {
    const char *set = reinterpret_cast<const char *>(&sets[setOf(line)]);
    for (unsigned at = 0; at < sizeof(Set); at += 64)
      __builtin_prefetch(set + at, 1);
  }

  /// As the chip spreads addresses over slices: no stride falls into few sets.
  static uint64_t mix(uint64_t line) {
    line *= 0x9e3779b97f4a7c15ull;
    return line ^ line >> 29;
  }

private:
  static constexpr unsigned kWays = 16;
  /// Of a line that was written, or streamed; below is its way.
  static constexpr uint64_t kDirty = kWays, kStreamed = 2 * kWays;
  static constexpr unsigned kTagShift = 6;
  /// In lines of a cache of the host.
  struct alignas(64) Set {
    Set() {
      for (unsigned way = 0; way < kWays; ++way)
        tags[way] = way;
    }
    /// The latest first: line + 1 (0: none), kStreamed, kDirty and the way.
    std::array<uint64_t, kWays> tags;
    std::array<Line, kWays> lines; ///< by way
  };
  /// What lies in a row fills all sets alike; each round begins elsewhere, so
  /// that strides do not fall into few of them.
  uint64_t setOf(uint64_t line) const {
    constexpr uint64_t kTurn = 7919;
    uint64_t round = line / numberOf.divisor;
    return numberOf(line + round * kTurn);
  }

  static uint64_t tagOf(uint64_t line) { return (line + 1) << kTagShift; }
  /// kWays: nowhere.
  static unsigned placeOf(const Set &set, uint64_t tag) {
    unsigned at = 0;
    while (at < kWays && set.tags[at] >> kTagShift << kTagShift != tag)
      ++at;
    return at;
  }
  /// Which of the set goes next.
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
