//===- MemoryTest.cpp - L2 and HBM over time ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "time/Memory.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <functional>
#include <string>

using namespace mx::sim::time;

namespace {

constexpr unsigned kSms = 132;

/// Returns the time at which L2 has moved `bytes` for every SM selected by
/// `isOne`. Each SM accesses lines of its own, which all hit.
uint64_t lastOf(Traffic traffic, const std::function<bool(unsigned)> &isOne,
                uint64_t bytes, Traffic other, uint64_t otherBytes = 0) {
  std::shared_ptr<std::vector<Tags>> l2;
  const Chip &chip = *findChip("h200");
  Memory memory(chip, Placement(chip, kSms, kSms, 1), 1980, l2);
  uint64_t last = 0;
  for (bool isWarm : {false, true})
    for (uint64_t at = 0; at < std::max(bytes, otherBytes); at += kLineBytes)
      for (unsigned sm = 0; sm < kSms; ++sm) {
        if (!isOne(sm))
          continue;
        auto pass = [&](Traffic t, uint64_t first) {
          std::vector<Piece> line = {
              {(first + sm * 65536 + at) / kLineBytes, kLineBytes}};
          uint64_t hits =
              memory.pass(sm, isWarm ? 100000 : 0, {}, line, t).hits;
          last = std::max(last, hits);
        };
        if (at < bytes)
          pass(traffic, 0);
        if (at < otherBytes)
          pass(other, 1 << 24);
      }
  return last - 100000;
}

uint64_t lastOf(Traffic traffic, const std::function<bool(unsigned)> &isOne,
                uint64_t bytes) {
  return lastOf(traffic, isOne, bytes, traffic);
}

// Copies have no latency here, so the time equals bytes divided by the rate.
TEST(Memory, HalvesOfTheSMsShareL2Bandwidth) {
  // The halves contain 64 and 68 SMs. Each half moves 4700 / 2 bytes per cycle.
  uint64_t all = lastOf(Traffic::Copy, [](unsigned) { return true; }, 16384);
  EXPECT_NEAR(double(all), 68 * 16384 / (4700. / 2), 30);
  uint64_t least =
      lastOf(Traffic::Copy, [](unsigned sm) { return sm < 64; }, 16384);
  EXPECT_NEAR(double(least), 64 * 16384 / (4700. / 2), 30);
  // A single SM is limited by its port.
  uint64_t one =
      lastOf(Traffic::Copy, [](unsigned sm) { return sm == 5; }, 16384);
  EXPECT_NEAR(double(one), 16384 / 110., 20);
}

std::string placesOf(unsigned used, unsigned cluster) {
  Placement places(*findChip("h200"), kSms, used, cluster);
  std::string text;
  for (unsigned sm = 0; sm < used; ++sm)
    text += char('0' + places.gpcOf(sm));
  return text;
}

// The expected placements are the output of order.cu on an H200.
TEST(Placement, CtasFillGpcsEvenly) {
  auto times = [](unsigned count, char c) { return std::string(count, c); };
  std::string all;
  for (char g = '0'; g < '8'; ++g)
    all += times(g < '6' ? 16 : 18, g);
  EXPECT_EQ(placesOf(132, 1), all);
  EXPECT_EQ(placesOf(16, 1), "0011223344556677");
}

TEST(Placement, ClustersGoToGpcsInTurn) {
  EXPECT_EQ(placesOf(24, 2), "001122334455667700112233");
  std::string all = placesOf(132, 2);
  EXPECT_EQ(std::count(all.begin(), all.end(), '0'), 16);
  EXPECT_EQ(std::count(all.begin(), all.end(), '7'), 18);
  EXPECT_EQ(all.substr(128), "6677");
}

TEST(Memory, ReadsAndStoresOverlap) {
  auto all = [](unsigned) { return true; };
  constexpr uint64_t kEach = 16384;
  double total = double(kEach) * kSms;
  uint64_t stores = lastOf(Traffic::Store, all, kEach);
  EXPECT_NEAR(double(stores), total / 2150, 40);
  uint64_t both = lastOf(Traffic::Store, all, kEach, Traffic::Copy, kEach);
  EXPECT_NEAR(double(both), total / 2930 + total / 4700, 60);
}

// The cache consists of a single set of 16 lines.
TEST(Memory, StreamedLinesReplaceEachOther) {
  Tags tags(16 * kLineBytes);
  auto streams = [&](uint64_t line) {
    return tags.touch(line, false, true).isHit;
  };
  // Streamed lines fill a cache with free space.
  for (uint64_t line = 0; line < 16; ++line)
    EXPECT_FALSE(streams(line));
  for (uint64_t line = 0; line < 16; ++line)
    EXPECT_TRUE(streams(line));
  // Further lines evict the oldest streamed lines.
  EXPECT_FALSE(streams(16));
  EXPECT_FALSE(streams(0));
  EXPECT_TRUE(streams(2));
  // Lines that are not streamed replace streamed lines and are not evicted.
  for (uint64_t line = 100; line < 114; ++line)
    tags.touch(line, false);
  for (uint64_t line = 200; line < 240; ++line)
    streams(line);
  for (uint64_t line = 100; line < 114; ++line)
    EXPECT_TRUE(tags.touch(line, false).isHit) << line;
}

} // namespace
