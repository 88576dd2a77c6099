//===- Stopwatch.h - Timed execution of a shard -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Execution is ordered by time. Each group of lanes has a clock in cycles
// (Group::step). Straight-line code runs ahead in the order that ptxas chose.
// At synchronization points a group waits until no warp or engine of the shard
// has earlier work. Asynchronous operations take effect when their engines
// finish. L2 and HBM answer at the end of a window (Requests.cpp).
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

  //===-- Events ----------------------------------------------------------===//

  /// Removes the earliest event. Returns false at the end of the window.
  bool next(Event &event);
  /// Cycle of the earliest event, or kNever.
  uint64_t first() const { return events.first(); }
  static constexpr uint64_t kNever = Events::kNever;
  uint64_t windowEnd = 0;
  /// True while all other shards are stopped, because clusters communicate
  /// through the running operation.
  bool hasTurn = false;
  /// Records the start of a warp on its SM, and the end of a cluster.
  void begin(Warp &w);
  void end(Cluster &c);
  /// Resumes the warp at `cycle`, or earlier if already scheduled.
  void schedule(Warp &w, uint64_t cycle);
  /// Returns true if no event precedes `cycle`.
  bool isDue(uint64_t cycle) const {
    return hasTurn || (cycle < windowEnd && first() >= cycle);
  }
  /// Removes the events of the cluster.
  void forget(const Cluster &c);
  /// Schedules the effect of the last timed operation. `needsTurn` is true if
  /// clusters communicate through the effect.
  void complete(const AsyncIssuer &issuer, bool needsTurn,
                AsyncQueue::Action action);
  void take(uint32_t operation);
  bool needsTurn(const Event &event) const {
    return !event.warp && operations[event.operation].needsTurn;
  }
  /// Resumes a group at `end` after a wait that was satisfied at `begin`.
  /// `wakes` is true if the current event satisfied the wait.
  void goOn(const Warp &w, Group &g, Wait wait, bool wakes, uint64_t begin,
            uint64_t end);
  /// Adds the remote latency to an arrival of the running group.
  void arriveRemotely(Warp &w, Group &g) const;
  bool hasOperations() const {
    return freeOperations.size() < operations.size();
  }
  Warp &issuerOf(uint32_t operation) const {
    return *operations[operation].issuer.warp;
  }
  Cluster &clusterOf(uint32_t operation) const {
    return *issuerOf(operation).cta->cluster;
  }
  uint64_t now = 0; ///< cycle of the current event
  /// Number of the next event, request or turn. Numbers order events of the
  /// same cycle.
  uint64_t numbers = 0;
  /// Execution counts, indexed by warp and instruction.
  std::vector<std::vector<uint64_t>> executed;

  //===-- Requests to memory (Requests.cpp) -------------------------------===//

  /// Continuation of a request. The continuation of an engine's operation calls
  /// recordEnd() with the completion.
  using Then = std::function<void(Memory::Times &)>;
  struct Request {
    uint64_t cycle = 0, number = 0;
    Warp *warp = nullptr;
    Traffic traffic = Traffic::Load;
    Path path;
    std::vector<Piece> pieces;
    uint32_t load = kNone; ///< index in `loads`, for loads of threads
    Then then;
    std::vector<uint32_t> operations; ///< completed by the response
  };
  /// Returns the number of requests in the current window.
  size_t numRequests() const { return requestCount; }
  Request &request(size_t k) { return requests[k]; }
  /// Answers a request while all shards are stopped.
  void answer(Request &request);
  /// Ends the window after all responses and publishes findings of this shard.
  void endWindow() {
    requestCount = 0;
    model.passesOnLeftOut |= passesOnLeftOut;
  }

  //===-- Instructions of the running group -------------------------------===//

  size_t placeOf(const Instr *i) const {
    return size_t(i - machine.program.code.data());
  }
  const Price &priceOf(const Instr *i) const { return prices[placeOf(i)]; }
  /// Advances the group's clock to the start of the instruction. Returns false
  /// if other groups must run first.
  bool reach(Warp &w, const Instr *i, const Price &price);
  void issue(Warp &w, const Instr *i, const Price &price);
  /// Sets the time of the results. `next`: next instruction of the group.
  void retire(Warp &w, const Instr *i, const Price &price, const Instr *next);
  /// Executes the Price::quiet instructions that start at `i`. Returns false if
  /// other groups must run first.
  bool pass(Warp &w, const Instr *i, const Price &price);
  /// Updates the block clock after an instruction has delayed the group.
  void moved(Warp &w) {
    Group &g = w.group();
    if (g.step > steppedTo)
      g.block = g.step;
  }
  /// Returns true if clusters communicate through the instruction.
  bool needsTurn(const Instr *i) const { return model.isShared[placeOf(i)]; }
  /// Times an access of the lanes in `mask`.
  void access(Warp &w, ptx::Space space, const uint64_t addresses[32],
              uint32_t bytes, uint32_t mask, bool isWrite);
  void takeFromL1(Warp &w, Tags &l1, uint64_t cycle, Path path);
  /// Returns the cycles between the cause and the wake-up of a waiting group.
  uint64_t wakeLatency(const Warp &w, const Group &g) const;
  uint64_t barrierLatency(const Warp &w, uint32_t number) const;
  void passBarrier(Path &path, uint64_t end) const;
  void passCluster(Path &path, uint64_t end) const;

  //===-- Operations of engines -------------------------------------------===//

  /// Continuation of an operation, called with its interval, usually at the end
  /// of the window.
  using Timed = std::function<void(const Interval &)>;
  /// Invalidates the tensor maps cached by the SM.
  void forgetMaps(Warp &w);
  void load(Warp &w, uint64_t from, uint32_t ranks, Transfer t, Timed then);
  void store(Warp &w, uint64_t from, Transfer t, Timed then);
  void copyAsync(Warp &w, uint64_t from, Transfer t, Timed then);
  /// Calls `then` after all requests of the warp.
  void afterRequests(Warp &w, uint64_t from, std::function<void()> then);
  Interval control(Warp &w, uint64_t from);
  Interval wgmma(Warp &w, uint64_t from, unsigned columns, bool aInRegisters);
  Interval mma(Warp &w, uint64_t from, const MmaOp &op, const InstrDesc &desc);
  /// Times tcgen05.cp, with `bytes` in each CTA, and tcgen05.shift.
  Interval copyToTensor(Warp &w, uint64_t from, unsigned group, uint64_t bytes);
  Interval commit(Warp &w, uint64_t from);
  void accessTensor(Warp &w, unsigned registers, bool isLoad);
  void waitTensor(Warp &w, bool isLoad);
  /// Returns the path to the end of the last timed operation.
  const Path &pathOfOperation() const { return completionPath; }
  /// Sets the completion of an operation, which the caller has computed.
  void recordEnd(uint64_t cycle, const Path &path) {
    completion = cycle;
    completionPath = path;
    asked = kNone;
  }

  uint64_t clusterLatency() const {
    double more = double(machine.cluster.count()) - 2;
    return uint64_t(chip[Fact::ClusterBarrier] +
                    chip[Fact::ClusterBarrierCta] * std::max(0.0, more));
  }
  /// Returns the timeout cycle of a try_wait issued at `cycle`.
  uint64_t givesUpAt(const Instr *i, uint64_t cycle) const {
    bool hasLimit = chip.has(Fact::MbarrierLimit) && priceOf(i).isPeek;
    return hasLimit ? cycle + chip.cycles(Fact::MbarrierLimit) : ~0ull;
  }
  /// Path of the current event, or of the last synchronization point of the
  /// running warp.
  Path cause;

private:
  Multiprocessor &smOf(const Warp &w) const { return *w.sm; }
  Quarter &quarterOf(const Warp &w) const { return *w.quarter; }
  /// Returns the first warp of the warpgroup.
  static const Warp *firstOfGroup(const Warp &w) {
    return &w - w.index % kQuarters;
  }
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
  uint64_t take(const Warp &w, const Step &step, uint64_t cycle) const;
  void issueInOrder(Warp &w, const Price &price);
  void issueByOperands(Warp &w, const Price &price);
  void follow(Warp &w, Moment ready) const;
  void account(Warp &w, const Price &price);
  bool mayStartMma(Warp &w);
  bool winsMmaSlots(Warp &w);
  void shuffle(Warp &w, const Price &price);
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
  Lines *const lines; ///< null unless requested

private:
  const Chip &chip;
  const bool hasNoIssue;
  const Registers &registers;
  const Schedule &machineCode;
  const std::vector<Price> &prices;
  const bool hasMachineCode;
  std::vector<Multiprocessor> &sms;

  /// A warp rescheduled to an earlier cycle has several events; only the event
  /// with its number counts. The first event always counts.
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

  /// The first requestCount entries are in use. The remaining entries keep
  /// their vectors for reuse.
  std::vector<Request> requests;
  size_t requestCount = 0;
  uint32_t asked = kNone; ///< request of the last timed operation
  /// Access of threads with open requests.
  struct Load {
    const Instr *at = nullptr;
    Moment latest;     ///< latest known arrival
    uint32_t open = 0; ///< number of unanswered requests
  };
  std::vector<Load> loads;
  std::vector<uint32_t> freeLoads;
  uint32_t running = kNone; ///< load of the running instruction

  uint64_t completion = 0;
  bool isEngine = false; ///< an operation is taking effect
  Path completionPath;
  /// Running instruction: readiness of its operands, and arrival of its access
  /// (0 without an access).
  Moment operands, arrival;
  uint64_t issuedAt = 0, steppedTo = 0;
  const Instr *current = nullptr; ///< last issued instruction
  uint64_t portUntil = 0;         ///< cycle at which the access leaves the port
  bool passesOnLeftOut = false;   ///< a load of this shard forwarded omissions
  bool hasWaited = false; ///< the group has waited for the tested mbarrier
  std::vector<Piece> pieces;
};

} // namespace mx::sim::time

#endif // MXSIM_LIB_TIME_STOPWATCH_H
