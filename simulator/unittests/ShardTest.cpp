//===- ShardTest.cpp - Launches timed on several threads ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that cycles and counts do not depend on the number of host threads,
// and compares the concurrent byte set with a sequential set.
//===----------------------------------------------------------------------===//

#include "LaunchRunner.h"

#include "machine/LeftOut.h"

#include <random>
#include <thread>

using namespace mx::sim;
using time::LeftOut;

namespace {

TEST(LeftOut, IsThePlainSet) {
  constexpr uint64_t kFirst = 0x7f0000001000, kBytes = 200000;
  LeftOut set(1 << 20);
  std::vector<bool> plain(kBytes);
  std::mt19937 random(3);
  for (unsigned k = 0; k < 3000; ++k) {
    uint64_t begin = random() % kBytes;
    uint64_t bytes = std::min<uint64_t>(random() % 3000, kBytes - begin);
    bool isMarked =
        std::find(plain.begin() + begin, plain.begin() + begin + bytes, true) !=
        plain.begin() + begin + bytes;
    ASSERT_EQ(set.meets(kFirst + begin, bytes), isMarked) << k;
    bool isMark = random() % 2;
    std::fill_n(plain.begin() + begin, bytes, isMark);
    isMark ? set.mark(kFirst + begin, bytes) : set.clear(kFirst + begin, bytes);
  }
}

/// The bytes that neighboring threads mark share words and pages.
TEST(LeftOut, ThreadsMarkBytesOfTheSameWords) {
  constexpr uint64_t kThreads = 4, kBytes = 1 << 20;
  LeftOut set(1 << 12);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t k = t; k < kBytes; k += kThreads)
        k % 3 ? set.mark(k, 1) : set.clear(k, 1);
    });
  for (std::thread &t : threads)
    t.join();
  for (uint64_t k = 0; k < kBytes; ++k)
    ASSERT_EQ(set.meets(k, 1), k % 3 != 0) << k;
}

/// Launches 300 CTAs, in which each thread loads a word, adds the word to
/// shared memory, and stores the result.
LaunchReport run(unsigned threads, bool skipsMmas) {
  LaunchConfig config;
  config.grid = {300, 1, 1};
  config.block = {64, 1, 1};
  config.smCount = 148;
  config.timedChip = "b200";
  config.checks = kCheckNone;
  config.threads = threads;
  config.skipsMmas = skipsMmas;
  return runLaunch(R"(
  ld.param.u64 %rd0, [in];
  ld.param.u64 %rd1, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  add.u32 %r1, %r1, %r0;
  and.b32 %r1, %r1, 1023;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd3, %rd0, %rd2;
  add.u64 %rd4, %rd1, %rd2;
  ld.global.u32 %r2, [%rd3];
  atom.global.add.u32 %r3, [%rd1+8188], %r2;
  st.global.u32 [%rd4], %r3;
  ret;
)",
                   config);
}

TEST(Shards, ThreadsDoNotMatter) {
  for (bool skipsMmas : {false, true}) {
    LaunchReport one = run(1, skipsMmas);
    ASSERT_TRUE(one.clean()) << one.text();
    EXPECT_EQ(one.statistics.warpInstructions, 300u * 2 * 13);
    for (unsigned threads : {2u, 3u, 8u}) {
      LaunchReport many = run(threads, skipsMmas);
      ASSERT_TRUE(many.clean()) << many.text();
      EXPECT_EQ(many.time.cycles, one.time.cycles);
      EXPECT_EQ(many.statistics.warpInstructions,
                one.statistics.warpInstructions);
      ASSERT_EQ(many.time.causes.size(), one.time.causes.size());
      for (size_t k = 0; k < one.time.causes.size(); ++k)
        EXPECT_EQ(many.time.causes[k].microseconds,
                  one.time.causes[k].microseconds);
      for (size_t w = 0; w < 2; ++w)
        EXPECT_EQ(many.statistics.profiles[w].lines,
                  one.statistics.profiles[w].lines);
    }
  }
}

} // namespace
