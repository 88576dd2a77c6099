//===- Recorder.h - Clocks and counts of a cluster --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handlers and the machine report operations to the recorder of their cluster.
// Each group of lanes has a logical clock (Lamport, "Time, clocks, and the
// ordering of events"). An instruction takes one step, a waiting group resumes
// at the step in which the wait completes, and an asynchronous operation has a
// nominal duration. Clocks do not depend on the order of simulation. A strand
// is a group of lanes from its creation to its end.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_REPORT_RECORDER_H
#define MXSIM_LIB_REPORT_RECORDER_H

#include "mxsim/Trace.h"
#include "mxsim/tensor/Tcgen05.h"

#include "../machine/Machine.h"
#include "../time/Transfer.h"
#include "FailedTests.h"

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>

namespace mx::sim {

/// Queues of asynchronous operations of a warp.
enum class Engine : uint8_t {
  BulkLoad,
  BulkStore,
  TensorPipe,
  CopyAsync,
  StoreAsync,
  LaunchControl,
  Wgmma,
  Commit, ///< not a queue: commits are drawn separately
};
constexpr unsigned kNumEngines = unsigned(Engine::Commit) + 1;

class Recorder final : public ClusterObserver, public Interpreter {
public:
  /// Execution counts, indexed by warp and instruction.
  using Counts = std::vector<std::vector<uint64_t>>;
  /// `places` is null if instructions are not counted. `counts` are counters
  /// shared with other recorders, or null.
  Recorder(Machine &machine, Cluster &cluster, const Places *places,
           bool hasTimeline, uint64_t maxSpans, Counts *counts);

  /// Runs a warp and records each instruction. Timed launches call the methods
  /// below directly.
  uint64_t run(Warp &w, uint64_t budget) override;

  // Methods called before and after each instruction of a warp.
  void resume(Warp &w);
  void begin(Warp &w, const Instr *i) {
    ++executed[w.index][size_t(i - machine.program.code.data())];
    if (failedTests.hasOpen(indexOf(w)))
      failedTests.execute(lanesOf(w), i);
    start = watch ? now : w.group().step;
    now = w.group().step;
    if (hasTimeline)
      draw(w, i);
  }
  /// Returns true if instructions are kept for a timeline.
  bool draws() const { return hasTimeline; }
  /// Records instructions without machine code, which do not advance the clock.
  void pass(Warp &w, const Instr *first, unsigned number) {
    uint64_t *counts =
        &executed[w.index][size_t(first - machine.program.code.data())];
    for (unsigned k = 0; k < number; ++k)
      ++counts[k];
    if (failedTests.hasOpen(indexOf(w)))
      for (unsigned k = 0; k < number; ++k)
        failedTests.execute(lanesOf(w), first + k);
  }
  /// Advances the group after `i`. stop() instead suspends the group at `i`.
  void next(Warp &w, const Instr *i);
  void stop(Warp &w, const Instr *i);
  void exited(Warp &w) override;
  void forked(Warp &w, uint32_t strand) override;

  // Barriers of CTAs and clusters.
  void arriveAtBarrier(Warp &w, uint32_t number);
  void completeBarrier(Cta &cta, uint32_t number) override;
  void passBarrier(Warp &w, uint32_t number, uint32_t generation);
  void arriveAtCluster(Warp &w);
  void completeCluster() override;
  void passCluster(Warp &w, uint32_t generation);
  void pairAllocated(Warp &w);
  /// Resumes the warps of a warpgroup at `next` after a joint instruction.
  void together(Warp &w, const Instr *next, uint32_t first, uint32_t end);

  // mbarriers.
  void initBarrier(Warp &w, const Instr *i, Cta &owner, uint32_t offset);
  void changeBarrier(Warp &w, const Instr *i, Cta &owner, uint32_t offset,
                     uint64_t before, uint64_t after, uint32_t arrivals);
  void testFailed(Warp &w, const Instr *i, Cta &owner, uint32_t offset,
                  uint32_t parity);
  void observe(Warp &w, const Instr *i, Cta &owner, uint32_t offset,
               uint32_t parity);

  // Asynchronous operations. Each method returns the step of completion. For
  // copies in timed launches, the completion is not yet known. A copy writes to
  // `offset` in the CTAs `ranks`.
  uint64_t load(Warp &w, const Instr *i, Engine engine, uint32_t ranks,
                uint32_t offset, time::Transfer transfer, uint64_t latency);
  void store(Warp &w, const Instr *i, Cta &from, uint32_t offset,
             time::Transfer transfer);
  void copyAsync(Warp &w, const Instr *i, time::Transfer transfer);
  uint64_t copiesSoFar(Warp &w);
  uint64_t mma(Warp &w, const Instr *i, const MmaOp &op);
  uint64_t copyToTensor(Warp &w, const Instr *i, const CpOp &op,
                        uint64_t bytes);
  uint64_t shift(Warp &w, const Instr *i, unsigned ctaGroup);
  uint64_t commit(Warp &w, const Instr *i);
  uint64_t control(Warp &w, const Instr *i);
  /// Records a wgmma. `w` is the first warp of the warpgroup.
  uint64_t wgmma(Warp &w, const Instr *i, unsigned columns, uint64_t a,
                 bool aInRegisters, uint64_t b);

  enum class Groups : uint8_t { Bulk, Copy, Wgmma };
  /// Adds an operation to the open group.
  void joinGroup(Warp &w, Groups kind, uint64_t done, const time::Path &path);
  void commitGroup(Warp &w, Groups kind);
  /// Waits until at most `left` groups are pending.
  void waitGroups(Warp &w, Groups kind, uint64_t left, bool reads);

  void finding(const Finding &f) override { finding(f, now); }
  void finding(const Finding &f, uint64_t step) override;

  Counts own, &executed;
  std::vector<std::map<std::string, uint64_t>> mmas; ///< per warp and shape
  FailedTests failedTests;
  /// Closes open spans and adds everything to the timeline.
  void build(Timeline &t);

  /// Sets the step of all effects during its lifetime.
  class Moment {
  public:
    Moment(Recorder *r, uint64_t step) : r(r) {
      if (!r)
        return;
      saved = r->now;
      wasAction = r->isAction;
      r->now = r->effectStep(step);
      r->isAction = true;
    }
    ~Moment() {
      if (!r)
        return;
      r->now = saved;
      r->isAction = wasAction;
    }
    Moment(const Moment &) = delete;
    Moment &operator=(const Moment &) = delete;

  private:
    Recorder *r;
    uint64_t saved = 0;
    bool wasAction = false;
  };

private:
  /// Reason for a wait, formatted when the wait is drawn.
  struct Waiting {
    SpanKind kind = SpanKind::WaitOthers;
    uint32_t rank = 0, number = 0, ticket = 0;
  };
  /// State of a group of lanes.
  struct Strand {
    bool isActive = false, isWaiting = false;
    /// True if the instruction of the wait is complete.
    bool isBehind = false;
    uint64_t runBegin = 0, waitBegin = 0;
    /// Step of the last arrival at a convergence point.
    uint64_t metAt = TimelineSpan::kNever;
    uint32_t runLine = 0, lastLine = 0, waitLine = 0;
    const Instr *waitAt = nullptr;
    Waiting waiting;
    /// Failed test that a loop repeats.
    const Instr *testAt = nullptr;
    uint32_t testBarrier = 0, testParity = 0;
    uint64_t testBegin = 0, testEvents = 0;
    uint64_t events = 0; ///< number of actions visible to other lanes
  };
  /// Completion of groups of asynchronous operations.
  struct GroupClock {
    struct Ends {
      uint64_t done = 0, read = 0;
      time::Path path, readPath; ///< set in timed launches
      void join(uint64_t done, uint64_t read, const time::Path &path,
                const time::Path &readPath);
    };
    std::deque<Ends> groups = {{}}; ///< the last group is open
    uint64_t first = 0;             ///< number of the front group
    Ends past;                      ///< all removed groups
  };
  struct WarpTrace {
    std::vector<Strand> strands;
    std::array<uint64_t, kNumEngines> engineFree{};
    uint64_t copiesDone = 0; ///< completion of the latest cp.async
    time::Path copiesPath;
    std::array<GroupClock, 3> groups;
    uint64_t exitStep = TimelineSpan::kNever;
    uint32_t exitLine = 0;
    std::vector<TimelineSpan> spans; ///< `row` is the strand
    std::array<std::vector<TimelineSpan>, kNumEngines> operations;
  };
  struct BarrierTrace {
    bool isUsed = false;
    uint64_t phases = 0, phaseBegin = 0, latest = 0, completed = 0;
    uint64_t arrivals = 0, expected = 0, bytes = 0;
    uint32_t line = 0, warp = 0; ///< of the latest arrival
    std::vector<TimelineSpan> spans;
  };
  struct NamedTrace {
    uint64_t latest = 0;
    time::Path path;                 ///< path to `latest`
    std::vector<uint64_t> completed; ///< indexed by generation
  };
  struct Fill {
    /// Interval of the copy. `begin` is kNever if there was no copy.
    uint64_t begin = TimelineSpan::kNever, done = 0;
    uint64_t readBegin = TimelineSpan::kNever, readEnd = 0;
    uint64_t issued = 0, bytes = 0;
    uint32_t line = 0, issuer = 0, readLine = 0, readLast = 0;
  };
  struct SlotTrace {
    uint64_t bytes = 0;
    std::vector<Fill> fills;
  };

  WarpTrace &of(Warp &w) { return warps[indexOf(w)]; }
  /// Index of the warp in the cluster.
  uint32_t indexOf(Warp &w) const {
    return w.cta->rank * machine.warpsPerCta + w.index;
  }
  /// Number of the running group of lanes in the cluster.
  uint32_t lanesOf(Warp &w) const {
    return FailedTests::lanesOf(indexOf(w), w.group().strand);
  }
  void draw(Warp &w, const Instr *i);
  void drawNext(Warp &w, const Instr *i);
  uint32_t lineOf(const Instr *i) const;
  uint32_t intern(const std::string &text);
  std::string barrierName(uint32_t rank, uint32_t offset) const;
  std::string waitText(const Waiting &waiting) const;
  bool add(std::vector<TimelineSpan> &to, TimelineSpan span);
  void endRun(WarpTrace &t, Strand &s, uint32_t strand, uint64_t end);
  void settle(Warp &w, Strand &s);
  void advance(Warp &w, uint64_t step, const Waiting &waiting,
               const time::Path &path = {});
  using Interval = time::Interval;
  template <class F>
  std::function<void(const Interval &)> atIssue(F &&f);
  uint64_t openGroup(Warp &w, Groups kind);
  GroupClock::Ends &groupOf(Warp &w, Groups kind, uint64_t group);
  /// Returns `step`, or the current step in timed launches.
  uint64_t effectStep(uint64_t step) const;
  /// Computes the interval of an operation in nominal steps.
  Interval nominal(Warp &w, Engine engine, uint64_t busy, uint64_t latency);
  void draw(Warp &w, const Instr *i, Engine engine, SpanKind kind,
            Interval when, uint64_t bytes, const std::string &text);
  void fillSlot(Warp &w, const Instr *i, uint32_t rank, uint32_t offset,
                uint64_t bytes, Interval when);
  void readSlot(uint32_t rank, uint64_t address, uint64_t bytes, Interval when,
                uint32_t line);
  void leaveTests(Strand &s);
  void closeWarps();
  uint64_t lastStep() const;
  void buildWarps(Timeline &t, Cta &cta, uint32_t index, uint64_t end);
  void buildBarriers(Timeline &t, uint32_t rank, uint32_t index, uint64_t end);
  void buildSlots(Timeline &t, uint32_t rank, uint32_t index);
  void connect(Timeline &t) const;

  Machine &machine;
  Cluster &cluster;
  const bool hasTimeline;
  const uint64_t maxSpans;
  uint64_t numSpans = 0, spansDropped = 0, tracksDropped = 0;

  uint64_t now = 0;   ///< step of current effects
  uint64_t start = 0; ///< step of the current instruction
  uint32_t strand = 0;
  bool isAction = false;
  /// Null if steps are nominal.
  time::Stopwatch *const watch;
  /// Returns true if clocks are kept.
  bool hasClocks() const { return hasTimeline || watch; }

  std::vector<WarpTrace> warps;
  std::vector<std::array<NamedTrace, 16>> barriers; ///< per rank
  std::vector<uint64_t> ctaExit;
  NamedTrace clusterBarrier;
  std::vector<uint64_t> pairSteps;
  std::map<uint32_t, BarrierTrace> mbarriers; ///< key: rank << 24 | offset
  std::map<uint32_t, SlotTrace> slots;        ///< same key
  std::vector<std::string> strings = {""};
  std::unordered_map<std::string, uint32_t> stringIndex;
  struct Mark {
    uint32_t rank;
    int warp;
    TimelineMark mark;
  };
  std::vector<Mark> marks;
};

/// Recorders of a launch.
class Recording final : public LaunchObserver {
public:
  explicit Recording(Machine &machine);
  /// Adds a recorder if the report needs data of the cluster.
  void start(Cluster &c) override;
  /// Adds instruction counts from outside the recorders.
  void add(const Recorder::Counts &counts);
  void take(Cluster &c) override;
  /// Groups the findings, and adds profiles and timelines to the report.
  void finish(LaunchReport &report) override;

private:
  Machine &machine;
  std::unique_ptr<Places> places;
  Recorder::Counts executed;
  std::vector<std::map<std::string, uint64_t>> mmas;
  std::vector<FailedTests::Counts> failedTests;
  std::map<uint64_t, Timeline> timelines; ///< keyed by cluster
};

} // namespace mx::sim

#endif // MXSIM_LIB_REPORT_RECORDER_H
