//===- EngineTest.cpp - Orders, threads and cluster launch control --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests that a launch returns the same result for every seed and number of host
// threads, and that clusters can request work from the scheduler.
//===----------------------------------------------------------------------===//

#include "PtxRunner.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace mx::sim;

namespace {

/// Result of a kernel with a single parameter, a buffer of `words` zeros.
struct Outcome {
  LaunchReport report;
  std::vector<uint32_t> out;
};

Outcome run(const std::string &text, LaunchConfig config, size_t words) {
  Outcome result;
  DeviceMemory memory;
  uint64_t out = memory.alloc(words * 4, 256, "out");
  memory.fill(out, 0, words * 4);
  addParameter(config, out);
  std::string error;
  result.report = launchText(moduleOf(text), memory, config, error);
  EXPECT_EQ(error, "");
  result.out.resize(words);
  memory.copyOut(result.out.data(), out, words * 4);
  return result;
}

/// Each CTA marks its place in the grid, then requests the place of a CTA that
/// has not started, until none is left. The marks count how often each place
/// was processed.
const char *const persistent = R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .b128 %q;
  .shared .align 16 .b8 answer[16];
  .shared .align 8 .b8 bar[8];
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, 0;
  mov.u32 %r10, %nctaid.x; mov.u32 %r11, %ctaid.y;
  mad.lo.u32 %r0, %r11, %r10, %r0;
  setp.eq.u32 %p0, %r2, 0;
  @%p0 mbarrier.init.shared.b64 [bar], 1;
  fence.proxy.async;
  bar.sync 0;
WORK:
  mul.wide.u32 %rd1, %r0, 4; add.s64 %rd1, %rd0, %rd1;
  @%p0 red.relaxed.gpu.global.add.u32 [%rd1], 1;
  bar.sync 0;
  @!%p0 bra WAIT;
  fence.proxy.async;
  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128
    [answer], [bar];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p1, [bar], %r3;
  @!%p1 bra WAIT;
  xor.b32 %r3, %r3, 1;
  ld.shared.b128 %q, [answer];
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q;
  @!%p2 bra END;
  clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128
    {%r0, %r4, %r5, %r6}, %q;
  mad.lo.u32 %r0, %r4, %r10, %r0;
  bar.sync 0;
  bra WORK;
END:
  ret;
})";

TEST(Engine, EveryPlaceIsProcessedOnce) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    LaunchConfig config;
    config.grid = {20, 3, 1};
    config.block = {64, 1, 1};
    config.smCount = 1 + seed % 3;
    config.seed = seed;
    Outcome r = run(persistent, config, 60);
    ASSERT_EQ(r.report.text(), "") << seed;
    for (uint32_t n : r.out)
      EXPECT_EQ(n, 1u) << seed;
  }
}

/// Each cluster takes a ticket from a counter, so the order of the clusters
/// determines the owners of the tickets.
const char *const tickets = R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %ctaid.x; mov.u32 %r5, 0;
AGAIN:
  atom.relaxed.gpu.global.add.u32 %r1, [%rd0], 1;
  mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %rd0, %rd1;
  st.global.u32 [%rd1+4], %r0;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p0, %r5, 5;
  @%p0 bra AGAIN;
  ret;
})";

TEST(Engine, ThreadsDoNotChangeTheResult) {
  for (uint64_t seed : {0, 1, 2, 3}) {
    LaunchConfig config;
    config.grid = {40, 1, 1};
    config.block = {1, 1, 1};
    config.seed = seed;
    config.threads = 1;
    Outcome one = run(tickets, config, 201);
    ASSERT_EQ(one.report.text(), "");
    EXPECT_EQ(one.out[0], 200u);
    for (unsigned threads : {2, 3, 8}) {
      config.threads = threads;
      Outcome many = run(tickets, config, 201);
      EXPECT_EQ(many.out, one.out) << "seed " << seed;
      EXPECT_EQ(many.report.statistics.warpInstructions,
                one.report.statistics.warpInstructions);
    }
  }
}

/// A CTA waits for another resident CTA that is dispatched later.
const char *const handOver = R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %nctaid.x; sub.u32 %r1, %r1, 1;
  mul.wide.u32 %rd1, %r0, 8; add.s64 %rd1, %rd0, %rd1;
  setp.eq.u32 %p0, %r0, %r1; @%p0 bra MINE;
WAIT:
  ld.acquire.gpu.global.u32 %r2, [%rd1+8];
  setp.eq.u32 %p1, %r2, 0; @%p1 bra WAIT;
  ld.global.u32 %r3, [%rd1+12];
MINE:
  @%p0 mov.u32 %r3, 0;
  add.u32 %r3, %r3, 7;
  st.global.u32 [%rd1+4], %r3;
  st.release.gpu.global.u32 [%rd1], 1;
  ret;
})";

TEST(Engine, ResidentClustersWaitForEachOther) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    LaunchConfig config;
    config.grid = {100, 1, 1};
    config.block = {1, 1, 1};
    config.seed = seed;
    Outcome r = run(handOver, config, 200);
    ASSERT_EQ(r.report.text(), "") << seed;
    EXPECT_EQ(r.out[1], 700u);
  }
  // Without the acquire, the accesses race in any order.
  std::string racy = handOver;
  racy.replace(racy.find("ld.acquire.gpu"), 14, "ld.relaxed.gpu");
  LaunchConfig config;
  config.grid = {100, 1, 1};
  config.block = {1, 1, 1};
  Outcome r = run(racy, config, 200);
  ASSERT_FALSE(r.report.clean());
  EXPECT_EQ(r.report.findings[0].kind, FindingKind::Race);
}

TEST(Engine, CountsRoles) {
  LaunchConfig config;
  config.grid = {3, 1, 1};
  config.block = {64, 1, 1};
  Outcome r = run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<8>;
  .shared .align 16 .b8 data[512];
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2; mov.u32 %r2, data;
  add.u32 %r2, %r2, %r1;
  st.shared.u32 [%r2], %r0;
  setp.lt.u32 %p, %r0, 32; @%p bra END;
  ld.shared.u32 %r3, [%r2];
  mov.u32 %r4, %ctaid.x; mad.lo.u32 %r4, %r4, 256, %r1;
  cvt.u64.u32 %rd1, %r4; add.s64 %rd1, %rd0, %rd1;
  st.global.u32 [%rd1], %r3;
END:
  ret;
})",
                  config, 192);
  ASSERT_EQ(r.report.text(), "");
  const auto &warps = r.report.statistics.warps;
  ASSERT_EQ(warps.size(), 2u);
  EXPECT_EQ(warps[0].sharedStoreBytes, 3u * 128);
  EXPECT_EQ(warps[0].globalStoreBytes, 0u);
  EXPECT_EQ(warps[1].sharedLoadBytes, 3u * 128);
  EXPECT_EQ(warps[1].globalStoreBytes, 3u * 128);
}

/// Heap blocks and printed lines are assigned to clusters in a fixed order.
TEST(Engine, ThreadsDoNotChangeTheHeapOrTheText) {
  auto outcome = [](unsigned threads) {
    LaunchConfig config;
    config.grid = {24, 1, 1};
    config.block = {1, 1, 1};
    config.threads = threads;
    testing::internal::CaptureStdout();
    Outcome r = run(R"(
.extern .func (.param .b64 r) malloc(.param .b64 bytes);
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[4] = {37, 117, 10, 0};
.visible .entry k(.param .u64 out)
{
  .local .align 8 .b8 frame[8];
  .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %ctaid.x; mul.wide.u32 %rd1, %r0, 8; add.s64 %rd1, %rd0, %rd1;
  mov.u32 %r1, 0;
LOOP:
  { .param .b64 a; .param .b64 r;
    st.param.b64 [a], 64;
    call.uni (r), malloc, (a);
    ld.param.b64 %rd2, [r]; }
  st.global.u64 [%rd1], %rd2;
  st.local.u32 [frame], %r0;
  mov.u64 %rd3, frame; cvta.local.u64 %rd3, %rd3;
  mov.u64 %rd4, text; cvta.global.u64 %rd4, %rd4;
  { .param .b64 f; .param .b64 a; .param .b32 r;
    st.param.b64 [f], %rd4; st.param.b64 [a], %rd3;
    call.uni (r), vprintf, (f, a); }
  add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 4; @%p bra LOOP;
  ret;
})",
                    config, 48);
    fflush(stdout);
    EXPECT_EQ(r.report.text(), "");
    return std::pair(testing::internal::GetCapturedStdout(), r.out);
  };
  auto one = outcome(1);
  EXPECT_EQ(std::count(one.first.begin(), one.first.end(), '\n'), 96);
  EXPECT_NE(one.second[0], 0u);
  for (unsigned threads : {2, 8, 1000000})
    EXPECT_EQ(outcome(threads), one) << threads;
}

/// CUDA emulates atomic operations that the hardware lacks: a plain load is
/// followed by atom.cas, which is repeated until no other thread intervenes.
TEST(Engine, CasLoopsAreNotARace) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    LaunchConfig config;
    config.grid = {4, 1, 1};
    config.block = {64, 1, 1};
    config.seed = seed;
    Outcome r = run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd0;
  ld.param.u64 %rd0, [out];
  ld.global.u32 %r0, [%rd0];
LOOP:
  add.u32 %r1, %r0, 1;
  atom.global.cas.b32 %r2, [%rd0], %r0, %r1;
  setp.ne.u32 %p, %r2, %r0; mov.u32 %r0, %r2; @%p bra LOOP;
  ret;
})",
                    config, 1);
    EXPECT_EQ(r.report.text(), "") << seed;
    EXPECT_EQ(r.out[0], 256u) << seed;
  }
}

/// The record of accesses distinguishes about four thousand parties. Findings
/// do not name further parties, because the name might be wrong.
TEST(Engine, PartiesBeyondTheLimitAreNotNamed) {
  auto report = [](unsigned barriers) {
    LaunchConfig config;
    config.block = {32, 1, 1};
    return run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p; .reg .b32 %r<4>;
  .shared .align 8 .b8 slot[8]; .shared .align 8 .b8 bars[40000];
  mov.u32 %r0, %tid.x; setp.ne.u32 %p, %r0, 0; @%p bra DONE;
  mov.u32 %r1, bars;
LOOP:
  mbarrier.init.shared.b64 [%r1], 1;
  add.u32 %r1, %r1, 8; add.u32 %r0, %r0, 1;
  setp.lt.u32 %p, %r0, )" +
                   std::to_string(barriers) +
                   R"(; @%p bra LOOP;
DONE:
  bar.warp.sync -1;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
  ld.shared.b32 %r2, [slot];
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2], {%r0};
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32;
  ret;
})",
               config, 1)
        .report.text();
  };
  EXPECT_NE(report(8).find("tensor memory (by its deallocation)"),
            std::string::npos)
      << report(8);
  EXPECT_EQ(report(4200), "");
}

} // namespace
