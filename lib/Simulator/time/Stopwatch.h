//===- Stopwatch.h - time of a launch ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time decides who runs next. Each group of lanes has a clock in cycles
// (Group::step). Straight code runs ahead, in dataflow order within a block as
// ptxas schedules it; at points of synchronization a group waits until no
// other warp and no engine has anything earlier to do. Asynchronous operations
// take effect when their engines have done them.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_TIME_STOPWATCH_H
#define MX_LIB_SIMULATOR_TIME_STOPWATCH_H

#include "mx/Simulator/tensor/Tcgen05.h"

#include "../machine/Machine.h"
#include "Lines.h"
#include "Memory.h"
#include "Multiprocessor.h"
#include "Registers.h"
#include "Schedule.h"

#include <vector>

namespace mx::sim::time {

class Stopwatch {
public:
  Stopwatch(Machine &machine, const Chip &table);

  //===-- The order of events ---------------------------------------------===//

  struct Event {
    uint64_t cycle = 0, number = 0;
    Warp *warp = nullptr;   ///< that goes on; null:
    uint32_t operation = 0; ///< that takes effect
    /// In a heap of std the greatest comes first.
    bool operator<(const Event &o) const { return key() > o.key(); }
    __uint128_t key() const { return __uint128_t(cycle) << 64 | number; }
  };
  /// The earliest; false where nothing is left.
  bool next(Event &event);
  /// The warp begins to live in its SM; the warps of a cluster have ended.
  void begin(const Warp &w);
  void end(const Cluster &c);
  /// The warp goes on at `cycle`, or earlier where that is said already.
  void schedule(Warp &w, uint64_t cycle);
  /// Whether nothing comes before `cycle`.
  bool isDue(uint64_t cycle) const {
    return events.empty() || events.front().cycle >= cycle;
  }
  /// The cluster has ended.
  void forget(const Cluster &c);
  /// The operation that was timed last takes effect when it is done.
  void complete(const AsyncIssuer &issuer, AsyncQueue::Action action);
  void take(uint32_t operation);
  /// A group that has waited goes on at `end`, after what it waited for at
  /// `begin`; `wakes`: that was what happens now.
  void goOn(const Warp &w, Group &g, Wait wait, bool wakes, uint64_t begin,
            uint64_t end);
  /// An arrival of the running group has come a longer way to who waits.
  void arriveRemotely(Warp &w, Group &g) const;
  bool hasOperations() const {
    return freeOperations.size() < operations.size();
  }
  /// Of an operation's issuer.
  Cluster &clusterOf(const Event &event) const {
    return *operations[event.operation].issuer.warp->cta->cluster;
  }
  uint64_t now = 0; ///< of the event that is being handled
  const Registers registers;

  //===-- Instructions of the running group -------------------------------===//

  size_t placeOf(const Instr *i) const {
    return size_t(i - machine.program.code.data());
  }
  const Price &priceOf(const Instr *i) const { return prices[placeOf(i)]; }
  /// The clock of the group becomes the cycle at which it can begin a point of
  /// synchronization. False: others come first.
  bool reach(Warp &w, const Instr *i);
  void issue(Warp &w, const Instr *i);
  /// Its results are there in time. `next`: what the group executes next.
  void retire(Warp &w, const Instr *i, const Instr *next);
  /// What the instruction waited for has put the group's clock forward.
  void moved(Warp &w) {
    Group &g = w.group();
    if (g.step > steppedTo)
      g.block = g.step;
  }
  /// From now on no more is done of instructions than is said here.
  void leaveOut(const std::vector<Work> &work);
  /// Lanes read or write memory: `addresses` of those in `mask`.
  void access(Warp &w, ptx::Space space, const uint64_t addresses[32],
              uint32_t bytes, uint32_t mask, bool isWrite);
  /// Cycles after its cause at which a group goes on that waited so.
  uint64_t wakeLatency(const Warp &w, const Group &g) const;
  uint64_t barrierLatency(const Warp &w, uint32_t number) const;
  void passBarrier(Path &path, uint64_t end) const;
  void passCluster(Path &path, uint64_t end) const;

  //===-- Operations of engines -------------------------------------------===//

  Interval load(Warp &w, uint64_t from, uint32_t ranks, const Transfer &t);
  Interval store(Warp &w, uint64_t from, const Transfer &t);
  Interval copyAsync(Warp &w, uint64_t from, const Transfer &t);
  Interval control(Warp &w, uint64_t from);
  Interval wgmma(Warp &w, uint64_t from, unsigned columns, bool aInRegisters);
  Interval mma(Warp &w, uint64_t from, const MmaOp &op, const InstrDesc &desc);
  /// tcgen05.cp, of `bytes` in each CTA, and tcgen05.shift.
  Interval copyToTensor(Warp &w, uint64_t from, unsigned group, uint64_t bytes);
  Interval commit(Warp &w, uint64_t from);
  void accessTensor(Warp &w, unsigned registers, bool isLoad);
  void waitTensor(Warp &w, bool isLoad);
  /// Of the operation that was timed last, to its end.
  const Path &pathOfOperation() const { return completionPath; }
  /// An operation that takes effect at `cycle`, as computed elsewhere.
  void ends(uint64_t cycle, const Path &path) {
    completion = cycle;
    completionPath = path;
  }

  uint64_t nanoseconds(uint64_t cycle) const {
    return uint64_t(double(cycle) * 1000 / mhz);
  }
  uint64_t clusterLatency() const {
    double more = double(machine.cluster.count()) - 2;
    return uint64_t(chip[Fact::ClusterBarrier] +
                    chip[Fact::ClusterBarrierCta] * std::max(0.0, more));
  }
  /// The cycle at which a try_wait that waits from `cycle` on is over.
  uint64_t givesUpAt(const Instr *i, uint64_t cycle) const {
    bool hasLimit = chip.has(Fact::MbarrierLimit) && priceOf(i).isPeek;
    return hasLimit ? cycle + chip.cycles(Fact::MbarrierLimit) : ~0ull;
  }
  uint64_t kernelStart() const { return chip.cycles(Fact::KernelStart); }
  uint64_t ctaStart() const { return chip.cycles(Fact::CtaStart); }
  /// `path`: that of the last end.
  void finish(LaunchTime &time, uint64_t cycles, Path path);
  /// Of the event that is being handled, or of the last point of the warp that
  /// runs.
  Path cause;
  /// What lines cost; null where that was not asked for.
  std::unique_ptr<Lines> lines;

private:
  Multiprocessor &smOf(const Warp &w) { return sms[w.cta->sm]; }
  Quarter &quarterOf(const Warp &w) {
    return smOf(w).quarters[w.index % kQuarters];
  }
  bool mayIssue(const Warp &w, uint64_t cycle);
  double copyIssue() const;
  Fact copyRate(bool isStore) const;
  void comeIn(Multiprocessor &sm, uint64_t from, const Path &path,
              const Transfer &t, Interval &when);
  Interval throughPipes(Warp &w, uint64_t from, unsigned group, uint64_t cycles,
                        Fact cause, uint64_t tail, Fact latency);
  Moment dueAt(Warp &w, const Instr *i);
  void enter(Group &g, const Instr *i);
  bool walk(Warp &w, const Price &price);
  void issueInOrder(Warp &w, const Instr *i);
  void issueByOperands(Warp &w, const Instr *i);
  void follow(Warp &w, Moment ready) const;
  void account(Warp &w, const Price &price);
  Fact rateOf(Source source) const;
  void arrive(Warp &w, uint64_t cycle, Source source, const Path &path);
  void addCauses(LaunchTime &time, const Path &path) const;
  void followLeftOut(Warp &w, ptx::Space space, const uint64_t addresses[32],
                     uint32_t bytes, uint32_t mask, bool isWrite);
  uint64_t sharedLines(const uint64_t addresses[32], uint32_t bytes,
                       uint32_t mask);

  Machine &machine;
  const Chip chip;
  const bool hasNoIssue; ///< the issue of instructions takes no time
  bool hasFixedClock = false;
  const double mhz;
  Schedule machineCode;
  std::vector<Price> prices;
  const bool hasMachineCode;
  std::vector<Multiprocessor> sms;
  Memory memory;

  /// A heap. A warp that goes on earlier than was said has several; only that
  /// with its number counts, and the first of all is one that counts.
  std::vector<Event> events;
  void push(const Event &event);
  void dropOld();
  uint64_t numbers = 0;
  struct Operation {
    AsyncIssuer issuer;
    AsyncQueue::Action action;
    Path path;
  };
  std::vector<Operation> operations;
  std::vector<uint32_t> freeOperations;
  uint64_t completion = 0;
  bool isEngine = false; ///< an operation takes effect
  Path completionPath;
  /// Of the running instruction: when it is due, and the access that it makes,
  /// 0 where it makes none.
  Moment operands, arrival;
  uint64_t issuedAt = 0, steppedTo = 0;
  const Instr *current = nullptr; ///< that was issued last
  uint64_t portUntil = 0;         ///< when its access has passed the SM's port
  bool passesOnLeftOut = false;
  bool hasWaited = false; ///< for the mbarrier that the instruction tests
  std::vector<Piece> pieces;
};

} // namespace mx::sim::time

#endif // MX_LIB_SIMULATOR_TIME_STOPWATCH_H
