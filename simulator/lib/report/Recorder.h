//===- Recorder.h - follows one cluster over steps --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handlers and the machine report operations to the recorder of their cluster.
// It keeps a clock
// for each group of lanes (Lamport, "Time, clocks, and the ordering of
// events"): an instruction is one step, who waits goes on at the step at which
// what it waits for was complete, and an asynchronous operation has a nominal
// duration after those that its warp gave to the same engine before. The
// clocks do not depend on the order in which the simulator happens to execute
// things.
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

/// The queues in which a warp puts asynchronous operations.
enum class Engine : uint8_t {
  BulkLoad,
  BulkStore,
  TensorPipe,
  CopyAsync,
  StoreAsync,
  LaunchControl,
  Wgmma,
  Commit, ///< not a queue: commits are shown apart from what they follow
};
constexpr unsigned kNumEngines = unsigned(Engine::Commit) + 1;

class Recorder final : public ClusterObserver, public Interpreter {
public:
  /// Instructions executed, by index of the warp and place in the program.
  using Counts = std::vector<std::vector<uint64_t>>;
  /// `places`: null unless instructions are counted. `counts`: where others
  /// count, too, or null.
  Recorder(Machine &machine, Cluster &cluster, const Places *places,
           bool hasTimeline, uint64_t maxSpans, Counts *counts);

  /// Warp::run with a look at each instruction. Launches that are timed call
  /// the methods below by themselves.
  uint64_t run(Warp &w, uint64_t budget) override;

  // Around each instruction of a warp.
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
  /// Whether it keeps what each instruction does, for a timeline.
  bool draws() const { return hasTimeline; }
  /// Instructions without machine code: their group's clock stands still.
  void pass(Warp &w, const Instr *first, unsigned number) {
    uint64_t *counts =
        &executed[w.index][size_t(first - machine.program.code.data())];
    for (unsigned k = 0; k < number; ++k)
      ++counts[k];
    if (failedTests.hasOpen(indexOf(w)))
      for (unsigned k = 0; k < number; ++k)
        failedTests.execute(lanesOf(w), first + k);
  }
  /// The group goes on after `i`, or nowhere for now.
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
  /// The warps of a group, who have executed something together, go on at
  /// `next` together.
  void together(Warp &w, const Instr *next, uint32_t first, uint32_t end);

  // mbarriers.
  void initBarrier(Warp &w, const Instr *i, Cta &owner, uint32_t offset);
  void changeBarrier(Warp &w, const Instr *i, Cta &owner, uint32_t offset,
                     uint64_t before, uint64_t after, uint32_t arrivals);
  void testFailed(Warp &w, const Instr *i, Cta &owner, uint32_t offset,
                  uint32_t parity);
  void observe(Warp &w, const Instr *i, Cta &owner, uint32_t offset,
               uint32_t parity);

  // Asynchronous operations: each returns the step at which it is complete. Of
  // copies that is not known yet where the launch is timed.
  // `ranks`: the CTAs that a copy writes; `offset`: where.
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
  /// Of the warpgroup that begins with `w`.
  uint64_t wgmma(Warp &w, const Instr *i, unsigned columns, uint64_t a,
                 bool aInRegisters, uint64_t b);

  enum class Groups : uint8_t { Bulk, Copy, Wgmma };
  /// An operation of the group that is open now.
  void joinGroup(Warp &w, Groups kind, uint64_t done, const time::Path &path);
  void commitGroup(Warp &w, Groups kind);
  /// Goes on when at most `left` groups are pending.
  void waitGroups(Warp &w, Groups kind, uint64_t left, bool reads);

  void finding(const Finding &f) override { finding(f, now); }
  void finding(const Finding &f, uint64_t step) override;

  Counts own, &executed;
  std::vector<std::map<std::string, uint64_t>> mmas; ///< by warp and shape
  FailedTests failedTests;
  /// Ends what is open and adds everything to a timeline.
  void build(Timeline &t);

  /// What takes effect while it lives does so at `step`.
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
  /// What a group waits for, as numbers; becomes text when it is shown.
  struct Waiting {
    SpanKind kind = SpanKind::WaitOthers;
    uint32_t rank = 0, number = 0, ticket = 0;
  };
  /// A group of lanes as long as it exists.
  struct Strand {
    bool isActive = false, isWaiting = false;
    /// The instruction at which it waits is done.
    bool isBehind = false;
    uint64_t runBegin = 0, waitBegin = 0;
    /// Where it met others, as one of which it may go on.
    uint64_t metAt = TimelineSpan::kNever;
    uint32_t runLine = 0, lastLine = 0, waitLine = 0;
    const Instr *waitAt = nullptr;
    Waiting waiting;
    /// A test that has failed, which a loop repeats.
    const Instr *testAt = nullptr;
    uint32_t testBarrier = 0, testParity = 0;
    uint64_t testBegin = 0, testEvents = 0;
    uint64_t events = 0; ///< that others can see
  };
  /// Groups of asynchronous operations: when each is complete.
  struct GroupClock {
    struct Ends {
      uint64_t done = 0, read = 0;
      time::Path path, readPath; ///< of a launch that is timed
      void join(uint64_t done, uint64_t read, const time::Path &path,
                const time::Path &readPath);
    };
    std::deque<Ends> groups = {{}}; ///< the last one is open
    uint64_t first = 0;             ///< the number of the first
    Ends past;                      ///< all that came before them
  };
  struct WarpTrace {
    std::vector<Strand> strands;
    std::array<uint64_t, kNumEngines> engineFree{};
    uint64_t copiesDone = 0; ///< the latest cp.async
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
    uint32_t line = 0;
    std::vector<TimelineSpan> spans;
  };
  struct NamedTrace {
    uint64_t latest = 0;
    time::Path path;                 ///< of the latest
    std::vector<uint64_t> completed; ///< by generation
  };
  struct Fill {
    uint64_t begin = TimelineSpan::kNever, done = 0; ///< begin: none
    uint64_t readBegin = TimelineSpan::kNever, readEnd = 0;
    uint64_t issued = 0, bytes = 0;
    uint32_t line = 0, issuer = 0, readLine = 0, readLast = 0;
  };
  struct SlotTrace {
    uint64_t bytes = 0;
    std::vector<Fill> fills;
  };

  WarpTrace &of(Warp &w) { return warps[indexOf(w)]; }
  /// The warp among those of the cluster.
  uint32_t indexOf(Warp &w) const {
    return w.cta->rank * machine.warpsPerCta + w.index;
  }
  /// The same of the group of lanes that runs.
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
  /// The step of what takes effect at the nominal `step`, or now.
  uint64_t effectStep(uint64_t step) const;
  /// When an operation takes place by nominal steps.
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

  Machine &machine;
  Cluster &cluster;
  const bool hasTimeline;
  const uint64_t maxSpans;
  uint64_t numSpans = 0, spansDropped = 0, tracksDropped = 0;

  uint64_t now = 0;   ///< the step at which things take effect
  uint64_t start = 0; ///< of the instruction that is being executed
  uint32_t strand = 0;
  bool isAction = false;
  /// Null where steps are nominal.
  time::Stopwatch *const watch;
  /// Whether clocks are kept at all.
  bool hasClocks() const { return hasTimeline || watch; }

  std::vector<WarpTrace> warps;
  std::vector<std::array<NamedTrace, 16>> barriers; ///< per CTA
  std::vector<uint64_t> ctaExit;
  NamedTrace clusterBarrier;
  std::vector<uint64_t> pairSteps;
  std::map<uint32_t, BarrierTrace> mbarriers; ///< by rank << 24 | offset
  std::map<uint32_t, SlotTrace> slots;        ///< the same
  std::vector<std::string> strings = {""};
  std::unordered_map<std::string, uint32_t> stringIndex;
  struct Mark {
    uint32_t rank;
    int warp;
    TimelineMark mark;
  };
  std::vector<Mark> marks;
};

/// All recorders of a launch.
class Recording final : public LaunchObserver {
public:
  explicit Recording(Machine &machine);
  /// Adds a recorder if the report needs one.
  void start(Cluster &c) override;
  /// Instructions that others have counted.
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
  std::map<uint64_t, Timeline> timelines; ///< by cluster
};

} // namespace mx::sim

#endif // MXSIM_LIB_REPORT_RECORDER_H
