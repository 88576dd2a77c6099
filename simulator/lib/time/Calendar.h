//===- Calendar.h - Reservations of slots and rates over time ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warps run ahead of each other between synchronization points, so requests are
// not ordered by time. A calendar accepts them in any order and reserves the
// first free capacity at or after each request.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_CALENDAR_H
#define MXSIM_LIB_TIME_CALENDAR_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace mx::sim::time {

/// Cycles that a warp may run ahead of the machine.
constexpr uint64_t kMostAhead = 128;
/// Limit while another warp of the scheduler is at an earlier cycle. The two
/// warps alternate, and a warp far ahead would take all slots.
constexpr uint64_t kMostAheadOfOthers = 8;
/// Limit while the SM runs wgmma, because waiting warps resume at any time.
constexpr uint64_t kMostAheadOfMmas = 16;
constexpr uint64_t kMostAheadOfRequests = 64;

inline uint64_t roundUp(double cycles) { return uint64_t(std::ceil(cycles)); }

/// Resource with a slot every `interval` cycles, such as a scheduler or a
/// pipe.
class Slots {
public:
  explicit Slots(unsigned interval = 1) : interval(interval), words(kWords) {}

  /// Reserves the first free slot at or after `cycle`.
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

  /// Reserves the next `count` free slots at or after `cycle`; returns the
  /// last.
  uint64_t take(uint64_t cycle, uint64_t count) {
    uint64_t last = cycle;
    while (count--)
      last = take(last);
    return last;
  }

private:
  /// Slots within the window; older slots are forgotten.
  static constexpr uint64_t kWindow = 1u << 14, kWords = kWindow / 64;

  void advanceFor(uint64_t slot) {
    while (slot / 64 >= first + kWords)
      words[first++ % kWords] = 0;
  }

  unsigned interval;
  uint64_t first = 0; ///< first word of the window
  std::vector<uint64_t> words;
};

/// Slots of several columns that are usually reserved together. The words of
/// all columns for the same 64 cycles share a cache line of the host.
class Board {
public:
  static constexpr unsigned kColumns = 8;
  Board() : lines(kLines) {}

  /// Reserves the next `count` free slots of the column at or after `cycle`;
  /// returns the last. `interval`: cycles between slots, a power of two up to
  /// 8.
  uint64_t take(unsigned column, unsigned interval, uint64_t cycle,
                uint64_t count) {
    uint64_t at = std::max(cycle & ~uint64_t(interval - 1), first * 64);
    while (count--)
      at = takeOne(column, interval, at);
    return std::max(cycle, at);
  }

  /// Reserves the cycles of [begin, end) that are set in `pattern`, modulo 64.
  /// Cycles more than half a window after `now` stay free, so that `now`
  /// remains in the window.
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

  /// Returns the number of free cycles of the column in [begin, end).
  uint64_t countFree(unsigned column, uint64_t begin, uint64_t end) {
    uint64_t free = 0;
    for (begin = std::max(begin, first * 64); begin < end;) {
      uint64_t next = std::min(end, (begin / 64 + 1) * 64);
      uint64_t range = ~0ull >> (64 - (next - begin)) << begin % 64;
      free += uint64_t(
          __builtin_popcountll(range & ~lineOf(begin / 64).columns[column]));
      begin = next;
    }
    return free;
  }

  /// Prefetches the host memory of the slots at `cycle`.
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
    // The line after this is needed soon.
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

  /// Cycles within the window; older cycles are forgotten.
  static constexpr uint64_t kWindow = 1u << 14, kLines = kWindow / 64;
  /// Start cycles of the slots, indexed by interval.
  static constexpr uint64_t kEach[] = {
      0, ~0ull, 0x5555555555555555ull, 0, 0x1111111111111111ull, 0,
      0, 0,     0x0101010101010101ull};
  uint64_t first = 0; ///< first line of the window
  std::vector<Line> lines;
};

/// Capacity per cycle: bytes of a port, of L2 or of HBM.
class Rate {
public:
  explicit Rate(double perCycle = 1) { set(perCycle); }
  void set(double perCycle) {
    capacity = perCycle * kBucket;
    used.assign(kBuckets, 0);
  }

  /// Reserves `amount` at or after `cycle`; returns the cycle at which the last
  /// part has passed.
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
  double total = 0; ///< reserved so far
  /// Cycles that an idle resource needs for `amount`.
  uint64_t least(double amount) const {
    return uint64_t(amount * kBucket / capacity);
  }
  /// Granularity of the reservations, in cycles.
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
