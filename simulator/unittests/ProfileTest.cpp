//===- ProfileTest.cpp - Counters of launches -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares counters with values derived by hand: instructions by class and by
// line, iterations of mbarrier wait loops, and bytes read by copies.
//===----------------------------------------------------------------------===//

#include "LaunchRunner.h"

using namespace mx::sim;

namespace {

LaunchReport run(const std::string &body, uint32_t block, uint64_t seed = 0,
                 uint32_t cluster = 1) {
  LaunchConfig config;
  config.grid = config.cluster = {cluster, 1, 1};
  config.block = {block, 1, 1};
  config.seed = seed;
  config.threads = 1;
  LaunchReport report = runLaunch(body, config);
  EXPECT_TRUE(report.clean()) << report.text();
  return report;
}

uint64_t total(const WarpProfile &p) {
  uint64_t n = 0;
  for (auto &[name, count] : p.classes)
    n += count;
  return n;
}

/// Returns a kernel in which thread 0 initializes a barrier. Warp 1 is busy for
/// a while and then arrives. Warp 0 executes `loop`, with %p2 initially false.
std::string pair(const std::string &loop) {
  std::string s = R"(
  mov.u32 %r1, %tid.x;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared.b64 [bar], 1;
  bar.sync 0;
  setp.lt.u32 %p1, %r1, 32;
  @%p1 bra WAIT;
  setp.ne.u32 %p1, %r1, 32;
  mov.u32 %r2, 0;
BUSY:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p2, %r2, 500;
  @%p2 bra BUSY;
  @!%p1 mbarrier.arrive.shared.b64 _, [bar];
  ret;
WAIT:
)";
  return s + loop + "  ret;\n";
}

TEST(Profile, CountsByLine) {
  LaunchReport r = run("mov.u32 %r1, 0;\n" // the first line
                       "LOOP:\n"
                       "add.u32 %r1, %r1, 1;\n"
                       "setp.lt.u32 %p1, %r1, 7;\n"
                       "@%p1 bra LOOP;\n"
                       "@%p1 add.u32 %r1, %r1, 1; ret;\n",
                       64);
  ASSERT_EQ(r.statistics.profiles.size(), 2u);
  const auto &lines = r.statistics.profiles[1].lines;
  ASSERT_EQ(lines.size(), 5u);
  uint32_t first = lines.begin()->first;
  EXPECT_EQ(lines.at(first), 1u);
  EXPECT_EQ(lines.at(first + 2), 7u);
  EXPECT_EQ(lines.at(first + 3), 7u);
  EXPECT_EQ(lines.at(first + 4), 7u);
  // Instructions with a false predicate are counted.
  EXPECT_EQ(lines.at(first + 5), 2u);
  EXPECT_EQ(total(r.statistics.profiles[1]), 24u);
}

TEST(Profile, CountsIterationsOfWaitLoops) {
  std::string loop = R"(
TEST:
  mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;
  @%p2 bra DONE;
  mov.u32 %r3, 1;
  bra TEST;
DONE:
)";
  bool hasFailed = false;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    LaunchReport r = run(pair(loop), 64, seed);
    const WarpProfile &p = r.statistics.profiles[0];
    EXPECT_EQ(p.failedInstructions, 4 * p.failedTests);
    hasFailed |= p.failedTests > 0;
    // Six instructions precede the loop and three belong to the successful
    // iteration, for any number of failed tests.
    EXPECT_EQ(total(p) - p.failedInstructions, 6u + 3u) << "seed " << seed;
    EXPECT_EQ(r.statistics.profiles[1].failedTests, 0u);
  }
  EXPECT_TRUE(hasFailed);
}

// A try_wait that blocks counts as a single instruction.
TEST(Profile, CountsWaitsOnce) {
  std::string loop = R"(
TEST:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
  @!%p2 bra TEST;
)";
  LaunchReport r = run(pair(loop), 64);
  const WarpProfile &p = r.statistics.profiles[0];
  EXPECT_EQ(p.classes.at("mbarrier wait"), 1u);
  EXPECT_EQ(p.failedTests, 0u);
}

// A loop with other instructions is not a wait loop, so its iterations count as
// work. A test outside of the loop does not count as an iteration.
TEST(Profile, CountsWorkBetweenTests) {
  std::string store = R"(
TEST:
  mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;
  st.shared.b32 [buf], %r1;
  @!%p2 bra TEST;
)";
  EXPECT_EQ(run(pair(store), 64).statistics.profiles[0].failedTests, 0u);
  std::string peek = R"(
  mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0;
  @%p2 bra DONE;
TEST:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
  @!%p2 bra TEST;
DONE:
)";
  EXPECT_EQ(run(pair(peek), 64).statistics.profiles[0].failedTests, 0u);
}

TEST(Profile, CountsMulticastReadsOnce) {
  LaunchReport r = run(R"(
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %cluster_ctarank;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared.b64 [bar], 1;
  @%p1 fence.mbarrier_init.release.cluster;
  @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ld.param.u64 %rd1, [in];
  mov.u16 %h1, 3;
  setp.eq.and.u32 %p2, %r2, 0, %p1;
  mov.u32 %r3, buf;
  mov.u32 %r4, bar;
  @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%rd1], 256, [%r4], %h1;
TEST:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
  @!%p2 bra TEST;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ret;
)",
                       32, 0, 2);
  EXPECT_EQ(r.statistics.warps[0].bulkLoadBytes, 512u);
  EXPECT_EQ(r.statistics.warps[0].bulkReadBytes, 256u);
}

} // namespace
