//===- Stopwatch.h - time of a shard ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time decides who runs next. Each group of lanes has a clock in cycles
// (Group::step). Straight code runs ahead, in dataflow order within a block as
// ptxas schedules it; at points of synchronization a group waits until no
// other warp and no engine has anything earlier to do. Asynchronous operations
// take effect when their engines have done them. All of that in the SMs of one
// shard, up to the end of a window: what L2 and HBM are asked for is answered
// there (Requests.cpp).
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_TIME_STOPWATCH_H
#define MXSIM_LIB_TIME_STOPWATCH_H

#include "mxsim/tensor/Tcgen05.h"

#include "Events.h"
#include "Model.h"

#include <functional>
#include <vector>

namespace mx::sim::time {

class Stopwatch {
  static constexpr uint32_t kNone = ~0u;

public:
  Stopwatch(Machine &machine, Model &model);

  //===-- The order of events ---------------------------------------------===//

  /// The earliest; false where the window has no more.
  bool next(Event &event);
  /// The cycle of the earliest; kNever: there is none.
  uint64_t first() const { return events.first(); }
  static constexpr uint64_t kNever = Events::kNever;
  uint64_t windowEnd = 0;
  /// All other shards stand still: the operation that runs is the next of all
  /// through which clusters see each other.
  bool hasTurn = false;
  /// The warp begins to live in its SM; the warps of a cluster have ended.
  void begin(Warp &w);
  void end(Cluster &c);
  /// The warp goes on at `cycle`, or earlier where that is said already.
  void schedule(Warp &w, uint64_t cycle);
  /// Whether nothing comes before `cycle`.
  bool isDue(uint64_t cycle) const {
    return hasTurn || (cycle < windowEnd && first() >= cycle);
  }
  /// The cluster has ended.
  void forget(const Cluster &c);
  /// The operation that was timed last takes effect when it is done.
  /// `needsTurn`: clusters see each other through it.
  void complete(const AsyncIssuer &issuer, bool needsTurn,
                AsyncQueue::Action action);
  void take(uint32_t operation);
  bool needsTurn(const Event &event) const {
    return !event.warp && operations[event.operation].needsTurn;
  }
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
  Warp &issuerOf(uint32_t operation) const {
    return *operations[operation].issuer.warp;
  }
  Cluster &clusterOf(uint32_t operation) const {
    return *issuerOf(operation).cta->cluster;
  }
  uint64_t now = 0; ///< of the event that is being handled
  /// Of the next event, request or turn: the order within a cycle.
  uint64_t numbers = 0;
  /// Instructions by warp and place.
  std::vector<std::vector<uint64_t>> executed;

  //===-- Requests to memory (Requests.cpp) -------------------------------===//

  /// What comes of the answer. Of an operation of an engine it says by ends()
  /// when that takes effect.
  using Then = std::function<void(Memory::Times &)>;
  struct Request {
    uint64_t cycle = 0, number = 0;
    Warp *warp = nullptr;
    Traffic traffic = Traffic::Load;
    Path path;
    std::vector<Piece> pieces;
    uint32_t load = kNone; ///< of a thread, in `loads`
    Then then;
    std::vector<uint32_t> operations; ///< that take effect by its answer
  };
  /// Those that were made in this window.
  size_t numRequests() const { return requestCount; }
  Request &request(size_t k) { return requests[k]; }
  /// While all shards stand still.
  void answer(Request &request);
  /// All have their answers. What this shard has found, others know from now
  /// on.
  void endWindow() {
    requestCount = 0;
    model.passesOnLeftOut |= passesOnLeftOut;
  }

  //===-- Instructions of the running group -------------------------------===//

  size_t placeOf(const Instr *i) const {
    return size_t(i - machine.program.code.data());
  }
  const Price &priceOf(const Instr *i) const { return prices[placeOf(i)]; }
  /// The clock of the group becomes the cycle at which it can begin a point of
  /// synchronization. False: others come first.
  bool reach(Warp &w, const Instr *i, const Price &price);
  void issue(Warp &w, const Instr *i, const Price &price);
  /// Its results are there in time. `next`: what the group executes next.
  void retire(Warp &w, const Instr *i, const Price &price, const Instr *next);
  /// The same of all Price::quiet from `i` on; false: others come first.
  bool pass(Warp &w, const Instr *i, const Price &price);
  /// What the instruction waited for has put the group's clock forward.
  void moved(Warp &w) {
    Group &g = w.group();
    if (g.step > steppedTo)
      g.block = g.step;
  }
  /// Whether clusters see each other through it.
  bool needsTurn(const Instr *i) const { return model.isShared[placeOf(i)]; }
  /// Lanes read or write memory: `addresses` of those in `mask`.
  void access(Warp &w, ptx::Space space, const uint64_t addresses[32],
              uint32_t bytes, uint32_t mask, bool isWrite);
  void takeFromL1(Warp &w, Tags &l1, uint64_t cycle, Path path);
  /// Cycles after its cause at which a group goes on that waited so.
  uint64_t wakeLatency(const Warp &w, const Group &g) const;
  uint64_t barrierLatency(const Warp &w, uint32_t number) const;
  void passBarrier(Path &path, uint64_t end) const;
  void passCluster(Path &path, uint64_t end) const;

  //===-- Operations of engines -------------------------------------------===//

  /// `then` knows when; mostly at the end of the window.
  using Timed = std::function<void(const Interval &)>;
  /// Tensor maps that the SM holds may have changed.
  void forgetMaps(Warp &w);
  void load(Warp &w, uint64_t from, uint32_t ranks, Transfer t, Timed then);
  void store(Warp &w, uint64_t from, Transfer t, Timed then);
  void copyAsync(Warp &w, uint64_t from, Transfer t, Timed then);
  /// After all requests of the warp.
  void afterRequests(Warp &w, uint64_t from, std::function<void()> then);
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
    asked = kNone;
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
  /// Of the event that is being handled, or of the last point of the warp that
  /// runs.
  Path cause;

private:
  Multiprocessor &smOf(const Warp &w) const { return *w.sm; }
  Quarter &quarterOf(const Warp &w) const { return *w.quarter; }
  bool mayIssue(const Warp &w, uint64_t cycle) const {
    return hasTurn || cycle <= now + kMostAheadOfOthers ||
           mayIssueAhead(w, cycle);
  }
  bool mayIssueAhead(const Warp &w, uint64_t cycle) const;
  uint64_t fetchMap(Multiprocessor &sm, uint64_t map) const;
  double copyIssue() const;
  Fact copyRate(bool isStore) const;
  void comeIn(Multiprocessor &sm, uint64_t from, const Path &path,
              const Transfer &t, Interval &when);
  Interval throughPipes(Warp &w, uint64_t from, unsigned group, uint64_t cycles,
                        Fact cause, uint64_t tail, Fact latency);
  Moment dueAt(Warp &w, const Instr *i, const Price &price) const;
  void enter(Group &g, const Instr *i, const Price &price) const;
  bool walk(Warp &w, const Price &price);
  uint64_t awaitResults(Warp &w, const std::vector<Registers::Part> &list);
  uint64_t fetchConstants(const Warp &w, uint32_t line, uint64_t cycle) const;
  uint64_t awaitConstants(Warp &w, const Step &step, uint64_t cycle);
  void loadConstants(Warp &w, const Step &step, uint64_t cycle) const;
  Moment constantsOf(Warp &w, const uint64_t addresses[32],
                     uint32_t mask) const;
  uint64_t take(Quarter &quarter, const Step &step, uint64_t cycle) const;
  void issueInOrder(Warp &w, const Price &price);
  void issueByOperands(Warp &w, const Price &price);
  void follow(Warp &w, Moment ready) const;
  void account(Warp &w, const Price &price);
  Fact rateOf(Source source) const { return time::rateOf(chip, source); }
  Moment arrivalOf(Warp &w, uint64_t cycle, Source source, const Path &path);
  Moment arrivalOf(Warp &w, Memory::Times &times);
  Request &newRequest(Warp &w, uint64_t cycle, const Path &path);
  Memory::Times pass(Warp &w, uint64_t cycle, const Path &path,
                     const std::vector<Piece> &pieces, Traffic traffic);
  void ask(Warp &w, uint64_t cycle, const Path &path,
           std::vector<Piece> &&pieces, Traffic traffic, Then then);
  void askForThreads(Warp &w, uint64_t cycle, const Path &path,
                     Traffic traffic);
  Moment openMoment(Moment known, const Instr *i);
  void fill(Warp &w, uint32_t load);
  void followLeftOut(Warp &w, ptx::Space space, const uint64_t addresses[32],
                     uint32_t bytes, uint32_t mask, bool isWrite);
  uint64_t sharedLines(const uint64_t addresses[32], uint32_t bytes,
                       uint32_t mask);

  Machine &machine;
  Model &model;

public:
  Lines *const lines; ///< null unless they were asked for

private:
  const Chip &chip;
  const bool hasNoIssue;
  const Registers &registers;
  const Schedule &machineCode;
  const std::vector<Price> &prices;
  const bool hasMachineCode;
  std::vector<Multiprocessor> &sms;

  /// A warp that goes on earlier than was said has several; only that with its
  /// number counts, and the first of all is one that counts.
  Events events;
  void dropOld();
  void prefetch() const;
  struct Operation {
    AsyncIssuer issuer;
    AsyncQueue::Action action;
    Path path;
    bool needsTurn = false;
  };
  std::vector<Operation> operations;
  std::vector<uint32_t> freeOperations;

  /// The first requestCount; vectors of those of earlier windows are used
  /// again.
  std::vector<Request> requests;
  size_t requestCount = 0;
  uint32_t asked = kNone; ///< that of the operation that was timed last
  /// An access of threads whose answers are not all there.
  struct Load {
    const Instr *at = nullptr;
    Moment latest; ///< of what is known
    uint32_t open = 0;
  };
  std::vector<Load> loads;
  std::vector<uint32_t> freeLoads;
  uint32_t running = kNone; ///< of the running instruction

  uint64_t completion = 0;
  bool isEngine = false; ///< an operation takes effect
  Path completionPath;
  /// Of the running instruction: when it is due, and the access that it makes,
  /// 0 where it makes none.
  Moment operands, arrival;
  uint64_t issuedAt = 0, steppedTo = 0;
  const Instr *current = nullptr; ///< that was issued last
  uint64_t portUntil = 0;         ///< when its access has passed the SM's port
  bool passesOnLeftOut = false;   ///< a load of this shard
  bool hasWaited = false; ///< for the mbarrier that the instruction tests
  std::vector<Piece> pieces;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_STOPWATCH_H
