//===- Calendar.h - what is taken of a rate, over time ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warps run ahead of each other between points of synchronization, so that
// requests do not come in the order of time. A calendar takes them in any
// order: each gets the first time from its own on at which something is left.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_CALENDAR_H
#define MXSIM_LIB_TIME_CALENDAR_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace mx::sim::time {

/// How far ahead of the time of the machine a warp may be.
constexpr uint64_t kMostAhead = 128;
/// The same where another warp of its scheduler comes before: they take turns,
/// and one that were far ahead would leave the others nothing.
constexpr uint64_t kMostAheadOfOthers = 8;
constexpr uint64_t kMostAheadOfRequests = 64;

inline uint64_t roundUp(double cycles) { return uint64_t(std::ceil(cycles)); }

/// One instruction each `interval` cycles: a scheduler, a pipe.
class Slots {
public:
  /// `interval`: cycles from one to the next.
  explicit Slots(unsigned interval = 1) : interval(interval), words(kWords) {}

  /// The first free slot from `cycle` on, which is then taken.
  uint64_t take(uint64_t cycle) {
    uint64_t slot = std::max(cycle / interval, first * 64);
    advanceFor(slot);
    for (uint64_t at = slot / 64;; ++at) {
      advanceFor(at * 64);
      uint64_t &word = words[at % kWords];
      uint64_t open = ~word;
      if (at == slot / 64)
        open &= ~0ull << slot % 64;
      if (!open)
        continue;
      unsigned bit = unsigned(__builtin_ctzll(open));
      word |= 1ull << bit;
      return std::max(cycle, (at * 64 + bit) * interval);
    }
  }

  /// Takes all that is free from `cycle` on until `count` are taken; the last.
  uint64_t take(uint64_t cycle, uint64_t count) {
    uint64_t last = cycle;
    while (count--)
      last = take(last);
    return last;
  }

private:
  /// Slots that can be told apart; older ones are over.
  static constexpr uint64_t kWindow = 1u << 14, kWords = kWindow / 64;

  void advanceFor(uint64_t slot) {
    while (slot / 64 >= first + kWords)
      words[first++ % kWords] = 0;
  }

  unsigned interval;
  uint64_t first = 0; ///< word of the window
  std::vector<uint64_t> words;
};

/// Slots of several columns that are mostly taken together: those of the same
/// cycles lie in one line of a cache.
class Board {
public:
  static constexpr unsigned kColumns = 8;
  Board() : lines(kLines) {}

  /// Takes all that is free from `cycle` on until `count` are taken; the last.
  /// The column has a slot each `interval` cycles, a power of two up to 8.
  uint64_t take(unsigned column, unsigned interval, uint64_t cycle,
                uint64_t count) {
    uint64_t at = std::max(cycle & ~uint64_t(interval - 1), first * 64);
    while (count--)
      at = takeOne(column, interval, at);
    return std::max(cycle, at);
  }

  /// Takes all cycles from `begin` to `end` that are in `pattern`, modulo 64;
  /// those far from `now` are left, since it must stay in the window.
  void block(unsigned column, uint64_t pattern, uint64_t begin, uint64_t end,
             uint64_t now) {
    end = std::min(end, now + kWindow / 2);
    for (begin = std::max(begin, first * 64); begin < end;) {
      uint64_t next = std::min(end, (begin / 64 + 1) * 64);
      uint64_t range = ~0ull >> (64 - (next - begin)) << begin % 64;
      lineOf(begin / 64).columns[column] |= pattern & range;
      begin = next;
    }
  }

  /// Slots from `cycle` on will be taken soon.
  void prefetch(uint64_t cycle) const {
    __builtin_prefetch(&lines[cycle / 64 % kLines], 1);
  }

private:
  struct alignas(64) Line {
    uint64_t columns[kColumns] = {};
  };
  Line &lineOf(uint64_t at) {
    if (at >= first + kLines)
      advance(at);
    return lines[at % kLines];
  }
  void advance(uint64_t at) {
    while (at >= first + kLines)
      lines[first++ % kLines] = {};
    // The next comes soon.
    __builtin_prefetch(&lines[first % kLines], 1);
  }
  uint64_t takeOne(unsigned column, unsigned interval, uint64_t begin) {
    uint64_t open = ~0ull << begin % 64;
    for (uint64_t at = begin / 64;; ++at, open = ~0ull) {
      uint64_t &word = lineOf(at).columns[column];
      open &= ~word & kEach[interval];
      if (!open)
        continue;
      word |= open & -open;
      return at * 64 + unsigned(__builtin_ctzll(open));
    }
  }

  /// Cycles that can be told apart; older ones are over.
  static constexpr uint64_t kWindow = 1u << 14, kLines = kWindow / 64;
  /// By interval: the cycles at which its slots begin.
  static constexpr uint64_t kEach[] = {
      0, ~0ull, 0x5555555555555555ull, 0, 0x1111111111111111ull, 0,
      0, 0,     0x0101010101010101ull};
  uint64_t first = 0; ///< line of the window
  std::vector<Line> lines;
};

/// An amount for each cycle: bytes of a port, of L2, of memory.
class Rate {
public:
  explicit Rate(double perCycle = 1) { set(perCycle); }
  void set(double perCycle) {
    capacity = perCycle * kBucket;
    used.assign(kBuckets, 0);
  }

  /// Takes `amount` from `cycle` on; when the last of it is through.
  uint64_t take(uint64_t cycle, double amount) {
    if (amount <= 0)
      return cycle;
    total += amount;
    uint64_t at = std::max(cycle / kBucket, first);
    double left = amount;
    for (;; ++at) {
      advanceFor(at);
      double &bucket = used[at % kBuckets];
      double take = std::min(left, capacity - bucket);
      if (take <= 0)
        continue;
      bucket += take;
      left -= take;
      if (left <= 1e-9) {
        uint64_t end = at * kBucket + uint64_t(bucket / capacity * kBucket);
        return std::max(end, cycle + least(amount));
      }
    }
  }
  double total = 0; ///< so far
  /// Cycles of an amount that nothing else is in the way of.
  uint64_t least(double amount) const {
    return uint64_t(amount * kBucket / capacity);
  }
  /// Times are as exact as this.
  static constexpr uint64_t kBucket = 16;

private:
  static constexpr uint64_t kBuckets = 1u << 12;

  void advanceFor(uint64_t at) {
    while (at >= first + kBuckets)
      used[first++ % kBuckets] = 0;
  }

  double capacity = 1;
  uint64_t first = 0;
  std::vector<double> used;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_CALENDAR_H
