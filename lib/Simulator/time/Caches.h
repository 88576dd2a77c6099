//===- Caches.h - which lines a cache holds ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_TIME_CACHES_H
#define MX_LIB_SIMULATOR_TIME_CACHES_H

#include "Transfer.h"

#include <algorithm>

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
      : setOf(std::max<uint64_t>(1, bytes / kLineBytes / kWays)),
        tags(setOf.divisor * kWays), lines(tags.size()) {
    for (size_t k = 0; k < tags.size(); ++k)
      tags[k] = k % kWays;
  }

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
  void settle() { std::fill(lines.begin(), lines.end(), Line()); }
  /// `line`: an address divided by kLineBytes.
  Answer touch(uint64_t line, bool isWrite) {
    uint64_t first = firstOf(line), tag = (line + 1) << kTagShift;
    uint64_t *set = &tags[first];
    unsigned at = 0;
    while (at < kWays - 1 && set[at] >> kTagShift << kTagShift != tag)
      ++at;
    uint64_t found = set[at], way = found % kWays;
    bool isHit = found >> kTagShift << kTagShift == tag;
    bool wasDirty = found & kDirty;
    std::copy_backward(set, set + at, set + at + 1);
    set[0] = tag | way | (isWrite || (isHit && wasDirty) ? kDirty : 0);
    Line &is = lines[first + way];
    if (!isHit)
      is = {};
    return {&is, isHit, !isHit && wasDirty};
  }
  /// The line will be touched soon.
  void prefetch(uint64_t line) const {
    uint64_t first = firstOf(line);
    __builtin_prefetch(&tags[first], 1);
    __builtin_prefetch(&tags[first + kWays / 2], 1);
    __builtin_prefetch(&lines[first], 1);
    __builtin_prefetch(&lines[first + kWays / 2], 1);
  }

  /// As the chip spreads addresses over slices: no stride falls into few sets.
  static uint64_t mix(uint64_t line) {
    line *= 0x9e3779b97f4a7c15ull;
    return line ^ line >> 29;
  }

private:
  uint64_t firstOf(uint64_t line) const { return setOf(mix(line)) * kWays; }

  static constexpr unsigned kWays = 16;
  /// Of a line that was written; below is its way.
  static constexpr uint64_t kDirty = kWays;
  static constexpr unsigned kTagShift = 5;
  Modulo setOf;
  /// By set, the latest first: line + 1 (0: none), kDirty and the way.
  std::vector<uint64_t> tags;
  std::vector<Line> lines; ///< by set and way
};

} // namespace mx::sim::time

#endif // MX_LIB_SIMULATOR_TIME_CACHES_H
