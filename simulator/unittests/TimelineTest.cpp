//===- TimelineTest.cpp - Timelines derived by hand -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs small kernels with timelines that can be derived by hand: an instruction
// takes one step, a wait ends when its condition holds, and asynchronous
// operations take nominal times. Timelines do not depend on the seed.
//===----------------------------------------------------------------------===//

#include "LaunchRunner.h"

#include "report/NominalSteps.h"

using namespace mx::sim;

namespace {

struct Options {
  uint32_t block = 32, grid = 1;
  uint64_t seed = 0;
  uint32_t ctas = LaunchConfig::kTwoClusters;
  uint64_t spans = 200'000;
  unsigned threads = 1;
};

LaunchReport run(const std::string &body, const Options &o) {
  LaunchConfig config;
  config.grid = {o.grid, 1, 1};
  config.block = {o.block, 1, 1};
  config.checks = kCheckNone;
  config.seed = o.seed;
  config.threads = o.threads;
  config.timelineCtas = o.ctas;
  config.timelineSpans = o.spans;
  LaunchReport report = runLaunch(body, config);
  EXPECT_TRUE(report.timeline);
  return report;
}

const TimelineTrack *find(const Timeline &t, const std::string &name,
                          uint32_t cta = 0) {
  for (const TimelineTrack &track : t.tracks)
    if (track.cta == cta && track.name == name)
      return &track;
  return nullptr;
}

/// Returns spans such as "run 0-3, wait-barrier 3-24, run 24-25".
std::string spans(const Timeline &t, const std::string &name,
                  uint32_t cta = 0) {
  const TimelineTrack *track = find(t, name, cta);
  if (!track)
    return "no track";
  std::string s;
  for (const TimelineSpan &span : track->spans)
    s += (s.empty() ? "" : ", ") + std::string(toString(span.kind)) + " " +
         std::to_string(span.begin) + "-" + std::to_string(span.end);
  return s;
}

std::string adds(unsigned n) {
  std::string s;
  for (unsigned k = 0; k < n; ++k)
    s += "  add.u32 %r2, %r2, 1;\n";
  return s;
}

TEST(Timeline, OneStepPerInstruction) {
  LaunchReport r = run("mov.u32 %r2, 0;\n" + adds(6) + "ret;\n", {});
  EXPECT_EQ(spans(*r.timeline, "warp 0"), "run 0-8");
  const TimelineSpan &s = find(*r.timeline, "warp 0")->spans[0];
  EXPECT_EQ(s.lastLine, s.line + 7);
}

TEST(Timeline, BarrierCompletesWithTheLastWarp) {
  LaunchReport r = run("mov.u32 %r1, %tid.x;\n"
                       "setp.lt.u32 %p1, %r1, 32;\n"
                       "@%p1 bra SYNC;\n" +
                           adds(20) + "SYNC: bar.sync 0;\nret;\n",
                       {64});
  EXPECT_EQ(spans(*r.timeline, "warp 0"),
            "run 0-3, wait-barrier 3-24, run 24-25");
  EXPECT_EQ(spans(*r.timeline, "warp 1"), "run 0-25");
}

/// Warp 1 arrives at the end of its 17th instruction.
std::string producerAndConsumer(const std::string &wait) {
  return "mov.u32 %r1, %tid.x;\n"
         "setp.eq.u32 %p1, %r1, 0;\n"
         "@%p1 mbarrier.init.shared.b64 [bar], 32;\n"
         "bar.sync 0;\n"
         "setp.ge.u32 %p2, %r1, 32;\n"
         "@%p2 bra PRODUCE;\n"
         "WAIT: " +
         wait +
         " %p3, [bar], 0;\n"
         "@%p3 bra DONE;\n"
         "bra WAIT;\n"
         "PRODUCE:\n" +
         adds(10) +
         "mbarrier.arrive.shared.b64 _, [bar];\n"
         "DONE: ret;\n";
}

TEST(Timeline, WaitEndsWhenThePhaseIsComplete) {
  for (const char *wait : {"mbarrier.try_wait.parity.shared.b64",
                           "mbarrier.test_wait.parity.shared.b64"})
    for (uint64_t seed = 0; seed < 12; ++seed) {
      LaunchReport r = run(producerAndConsumer(wait), {64, 1, seed});
      const Timeline &t = *r.timeline;
      EXPECT_EQ(spans(t, "warp 0"), "run 0-6, wait-mbarrier 6-17, run 17-19")
          << wait << ", seed " << seed;
      EXPECT_EQ(spans(t, "warp 1"), "run 0-18, exited 18-19");
      EXPECT_EQ(spans(t, "'bar'"), "phase 3-17");
      const TimelineTrack *bar = find(t, "'bar'");
      ASSERT_TRUE(bar);
      EXPECT_EQ(t.strings[bar->spans[0].text],
                "phase 0 (parity 0): 32 arrivals");
    }
}

/// Issues two copies of 1 KiB, which take 8 steps of the engine each and then
/// the latency.
constexpr const char *twoCopies =
    "mov.u32 %r1, %tid.x;\n"
    "setp.eq.u32 %p1, %r1, 0;\n"
    "@%p1 mbarrier.init.shared.b64 [bar], 1;\n"
    "ld.param.u64 %rd1, [in];\n"
    "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 2048;\n"
    "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
    "[buf], [%rd1], 1024, [bar];\n"
    "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
    "[buf+1024], [%rd1+1024], 1024, [bar];\n"
    "WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;\n"
    "@!%p3 bra WAIT;\n"
    "ret;\n";

TEST(Timeline, CopiesFollowEachOtherAndCompleteThePhase) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    LaunchReport r = run(twoCopies, {32, 1, seed});
    const Timeline &t = *r.timeline;
    uint64_t first = 6 + 8 + steps::kCopyLatency;
    uint64_t second = 6 + 16 + steps::kCopyLatency;
    auto span = [](const char *kind, uint64_t begin, uint64_t end) {
      return std::string(kind) + " " + std::to_string(begin) + "-" +
             std::to_string(end);
    };
    EXPECT_EQ(spans(t, "bulk loads, warp 0"),
              span("load", 6, first) + ", " + span("load", 14, second));
    EXPECT_EQ(find(t, "bulk loads, warp 0")->rows, 2u);
    EXPECT_EQ(find(t, "bulk loads, warp 0")->spans[1].issued, 7u);
    EXPECT_EQ(spans(t, "warp 0"), span("run", 0, 7) + ", " +
                                      span("wait-mbarrier", 7, second) + ", " +
                                      span("run", second, second + 2));
    EXPECT_EQ(spans(t, "'bar'"), span("phase", 3, second));
    EXPECT_EQ(spans(t, "'buf', 1024 bytes"), span("filling", 6, first));
    EXPECT_EQ(
        t.strings[find(t, "'bar'")->spans[0].text],
        "phase 0 (parity 0): 1 arrival, 2048 bytes expected, 2048 arrived");
  }
}

TEST(Timeline, WaitsForBulkStoreGroups) {
  LaunchReport r = run("mov.u32 %r1, %tid.x;\n"
                       "setp.eq.u32 %p1, %r1, 0;\n"
                       "ld.param.u64 %rd1, [out];\n"
                       "@%p1 cp.async.bulk.global.shared::cta.bulk_group "
                       "[%rd1], [buf], 4096;\n"
                       "cp.async.bulk.commit_group;\n"
                       "cp.async.bulk.wait_group.read 0;\n"
                       "cp.async.bulk.wait_group 0;\n"
                       "ret;\n",
                       {});
  // The copy is issued at step 4 and has read its source 32 steps later.
  EXPECT_EQ(spans(*r.timeline, "warp 0"),
            "run 0-5, wait-group 5-36, wait-group 36-548, run 548-549");
  EXPECT_EQ(spans(*r.timeline, "'buf', 4096 bytes"), "reading 4-36");
}

TEST(Timeline, DivergentLanesUseSeparateRows) {
  LaunchReport r =
      run("mov.u32 %r1, %tid.x;\n"
          "setp.lt.u32 %p1, %r1, 16;\n"
          "@%p1 bra LOW;\n" +
              adds(30) + "bra DONE;\nLOW:\n" + adds(50) + "DONE: ret;\n",
          {});
  const TimelineTrack *warp = find(*r.timeline, "warp 0");
  ASSERT_TRUE(warp);
  EXPECT_EQ(warp->rows, 2u);
  // The warp converges again at step 53, when the late lanes arrive.
  EXPECT_EQ(warp->spans.back().begin, 3u);
  EXPECT_EQ(warp->spans.back().end, 53u);
}

TEST(Timeline, RecordsLimits) {
  LaunchReport r = run(producerAndConsumer("mbarrier.try_wait.parity.shared"
                                           ".b64"),
                       {64, 8});
  EXPECT_EQ(r.timeline->ctas.size(), 2u);
  EXPECT_EQ(r.timeline->totalCtas, 8u);
  EXPECT_EQ(r.timeline->spansDropped, 0u);
  r = run(producerAndConsumer("mbarrier.try_wait.parity.shared.b64"),
          {64, 8, 0, 3, 6});
  EXPECT_EQ(r.timeline->ctas.size(), 3u);
  EXPECT_GT(r.timeline->spansDropped, 0u);
}

TEST(Timeline, HostThreadsDoNotMatter) {
  auto text = [](unsigned threads) {
    Options o = {64, 40, 3, 20};
    o.threads = threads;
    LaunchReport r =
        run(producerAndConsumer("mbarrier.try_wait.parity.shared.b64"), o);
    std::string s;
    for (const TimelineTrack &t : r.timeline->tracks)
      s += t.name + ": " + spans(*r.timeline, t.name, t.cta) + "\n";
    return s;
  };
  EXPECT_EQ(text(1), text(4));
}

TEST(Timeline, DeadlockIsAWaitWithoutEnd) {
  LaunchReport r = run("mov.u32 %r1, %tid.x;\n"
                       "setp.eq.u32 %p1, %r1, 0;\n"
                       "@%p1 mbarrier.init.shared.b64 [bar], 1;\n"
                       "WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [bar], "
                       "0;\n"
                       "@!%p3 bra WAIT;\n"
                       "ret;\n",
                       {});
  EXPECT_EQ(r.status, LaunchStatus::Deadlock);
  const TimelineTrack *warp = find(*r.timeline, "warp 0");
  ASSERT_TRUE(warp && !warp->spans.empty());
  EXPECT_EQ(warp->spans.back().kind, SpanKind::WaitMbarrier);
  EXPECT_EQ(r.timeline->marks.size(), 1u);
}

// Published intervals measured on B200, in clocks.
TEST(Timeline, TensorPipeFollowsPublishedIntervals) {
  EXPECT_EQ(steps::mma(128, 256, 1, false), 128u);
  EXPECT_EQ(steps::mma(128, 128, 1, false), 64u);
  EXPECT_EQ(steps::mma(128, 64, 1, false), 48u);
  EXPECT_EQ(steps::mma(128, 64, 1, true), 32u);
  EXPECT_EQ(steps::mma(64, 256, 1, false), 128u);
  EXPECT_EQ(steps::mma(64, 64, 1, false), 32u);
  EXPECT_EQ(steps::mma(256, 256, 2, false), 128u);
  EXPECT_EQ(steps::mma(128, 256, 2, false), 64u);
  EXPECT_EQ(steps::mma(256, 64, 2, false), 40u);
  EXPECT_EQ(steps::mma(128, 64, 2, false), 24u);
}

TEST(Profile, CountsByClass) {
  LaunchReport r = run("mov.u32 %r2, 0;\n" + adds(6) + "ret;\n", {64});
  ASSERT_EQ(r.statistics.profiles.size(), 2u);
  const auto &classes = r.statistics.profiles[1].classes;
  EXPECT_EQ(classes.at("integer"), 6u);
  EXPECT_EQ(classes.at("move"), 1u);
  EXPECT_EQ(classes.at("control"), 1u);
  EXPECT_EQ(classes.size(), 3u);
}

} // namespace
