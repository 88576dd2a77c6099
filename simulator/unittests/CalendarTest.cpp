//===- CalendarTest.cpp - Slots and tags of the timing model --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the calendar with a set of taken cycles, and the cache tags with a
// list of lines in order of use.
//===----------------------------------------------------------------------===//

#include "time/Calendar.h"
#include "time/Caches.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <list>
#include <random>
#include <set>

using namespace mx::sim::time;

namespace {

/// Start cycles of the taken slots in a column.
struct PlainColumn {
  unsigned interval;
  std::set<uint64_t> taken;
  uint64_t take(uint64_t cycle) {
    uint64_t at = cycle - cycle % interval;
    while (!taken.insert(at).second)
      at += interval;
    return std::max(cycle, at);
  }
};

TEST(Calendar, ColumnsGiveTheirFirstFreeSlots) {
  std::mt19937 random(1);
  Board board;
  PlainColumn columns[] = {{1, {}}, {2, {}}, {4, {}}, {8, {}}, {1, {}}};
  unsigned n = 0;
  for (uint64_t now = 0; now < 100'000; now += random() % 40, ++n) {
    unsigned k = random() % 5;
    uint64_t cycle = now + random() % 4096, count = random() % 12;
    uint64_t taken = board.take(k, columns[k].interval, cycle, count);
    uint64_t last = cycle;
    for (uint64_t taking = 0; taking < count; ++taking)
      last = columns[k].take(last);
    ASSERT_EQ(taken, last) << "column " << k << ", cycle " << cycle;
    if (n % 16)
      continue;
    uint64_t pattern = uint64_t(random()) << 32 | random(), end = cycle + count;
    board.block(k, pattern, cycle, end, now);
    for (uint64_t at = cycle; at < end; ++at)
      if (pattern >> at % 64 & 1)
        columns[k].taken.insert(at);
  }
}

TEST(Calendar, FarAheadBlocksDoNotMoveTheWindow) {
  Board board;
  board.block(0, ~0ull, 100'000, 100'100, 0);
  EXPECT_EQ(board.take(0, 1, 5, 1), 5u);
  board.block(0, ~0ull, 6, 1'000'000, 5);
  EXPECT_LT(board.take(0, 1, 6, 1), 16'384u);
}

TEST(Calendar, RemaindersWithoutDivision) {
  std::mt19937_64 random(2);
  for (uint64_t divisor : {1ull, 2ull, 3ull, 127ull, 13'312ull, 1ull << 40})
    for (int n = 0; n < 1000; ++n) {
      uint64_t value = n ? random() : ~0ull;
      ASSERT_EQ(Modulo(divisor)(value), value % divisor) << value;
    }
}

TEST(Calendar, EvictsTheLeastRecentlyUsedLine) {
  // One set of 16 lines.
  constexpr uint64_t kLines = 16;
  std::mt19937 random(3);
  Tags tags(kLines * kLineBytes);
  struct Plain {
    uint64_t line, filled;
    bool isDirty;
  };
  std::list<Plain> plain; // most recently used first
  for (uint64_t n = 1; n < 10'000; ++n) {
    uint64_t line = random() % 24;
    bool isWrite = random() % 4 == 0;
    auto at = std::find_if(plain.begin(), plain.end(),
                           [&](const Plain &p) { return p.line == line; });
    bool isHit = at != plain.end();
    bool writesBack = !isHit && plain.size() == kLines && plain.back().isDirty;
    Plain now = isHit ? *at : Plain{line, 0, false};
    if (isHit)
      plain.erase(at);
    else if (plain.size() == kLines)
      plain.pop_back();
    now.isDirty |= isWrite;

    Tags::Answer answer = tags.touch(line, isWrite);
    ASSERT_EQ(answer.isHit, isHit) << n;
    ASSERT_EQ(answer.writesBack, writesBack) << n;
    ASSERT_EQ(answer.line->filled, now.filled) << n;
    answer.line->filled = now.filled = n;
    plain.push_front(now);
  }
}

} // namespace
