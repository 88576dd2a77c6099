//===- Shard.cpp - SMs simulated by one thread ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Shard.h"

#include "../report/Recorder.h"

#include <algorithm>

using namespace mx::sim;

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

/// Makes the group with the lowest clock `current`. Returns false if all groups
/// wait.
static bool pickEarliest(Warp &w) {
  size_t best = w.groups.size();
  for (size_t k = 0; k < w.groups.size(); ++k)
    if (w.groups[k].wait == Wait::None &&
        (best == w.groups.size() || w.groups[k].step < w.groups[best].step))
      best = k;
  if (best == w.groups.size())
    return false;
  w.current = best;
  return true;
}

/// Runs the earliest group until another event is due.
void Shard::runWarp(Warp &w) {
  if (pickEarliest(w))
    runGroup(w);
}

/// Runs the current group, for a single instruction if the cluster has the
/// turn.
void Shard::runGroup(Warp &w) {
  Cluster &cluster = *w.cta->cluster;
  Recorder &trace = *w.trace;
  const Instr *i = w.group().pc;
  w.mask = w.group().mask;
  trace.resume(w);
  time::Lines *lines = watch.lines;
  if (lines)
    lines->resume(w);
  while (i && !cluster.stopped) {
    const time::Price &price = watch.priceOf(i);
    if (price.quiet && !w.pendingCount && !trace.draws() &&
        w.busy + price.quiet < w.patience && watch.pass(w, i, price)) {
      trace.pass(w, i, price.quiet);
      w.counts.instructions += price.quiet;
      cluster.executed += price.quiet;
      w.busy += price.quiet;
      i += price.quiet;
      continue;
    }
    if (!watch.reach(w, i, price)) {
      w.group().pc = i;
      return;
    }
    uint32_t m = w.mask;
    if (i->guard != kNoSlot)
      m &= w.predicate(i->guard);
    w.executing = m;
    if (m && watch.needsTurn(i) && !w.takeTurn(i))
      return;
    watch.issue(w, i, price);
    uint64_t cycle = w.group().step, effects = cluster.effects;
    trace.begin(w, i);
    ++w.counts.instructions;
    ++cluster.executed;
    const Instr *at = i;
    if (!price.instead)
      i = w.execute(i, m);
    else
      i = m ? price.instead(w, i, m) : i + 1;
    watch.retire(w, at, price, i);
    if (i)
      trace.next(w, at);
    else
      trace.stop(w, at);
    if (lines)
      lines->end(w, at, i);
    if (!i || cluster.effects != effects)
      wake(cluster, cycle);
    // A group that runs this long may poll for lanes that wait for it to
    // reconverge.
    bool isLong = ++w.busy >= w.patience;
    if (isLong)
      w.busy = 0;
    bool isReleased = isLong && i && w.breakConvergence();
    if (!isReleased && !cluster.hasTurn)
      continue;
    if (i)
      w.group().pc = i;
    return;
  }
}

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

/// Adds the cycles of the wait to the counters.
static void noteWait(Warp &w, const Group &g, Wait wait, uint64_t cycle) {
  uint64_t cycles = cycle - std::min(cycle, g.step);
  if (wait == Wait::Mbarrier || wait == Wait::Poll)
    w.counts.mbarrierCycles += cycles;
  else if (wait == Wait::NamedBarrier || wait == Wait::ClusterBarrier)
    w.counts.barrierCycles += cycles;
  else if (wait == Wait::BulkGroup || wait == Wait::CopyGroup)
    w.counts.groupCycles += cycles;
}

void Shard::wake(Cluster &c, uint64_t cycle) {
  ++c.round;
  for (auto &cta : c.ctas)
    for (uint32_t left = cta->waitingWarps; left; left &= left - 1) {
      Warp &w = cta->warps[unsigned(__builtin_ctz(left))];
      uint64_t first = Warp::kNotQueued;
      bool waits = false;
      for (Group &g : w.groups) {
        if (g.wait != Wait::None) {
          // The last warp of a warpgroup resumes the others.
          if (g.wait == Wait::Warpgroup || !machine.ready(w, g)) {
            waits = true;
            continue;
          }
          uint64_t latency = watch.wakeLatency(w, g);
          Wait wait = g.wait;
          g.wait = Wait::None;
          uint64_t begin =
              wait == Wait::Poll ? g.step : std::max(cycle, g.step);
          uint64_t goesOn = begin + latency;
          noteWait(w, g, wait, goesOn);
          watch.goOn(w, g, wait, wait != Wait::Poll && cycle > g.step, begin,
                     goesOn);
          g.step = g.block = goesOn;
          g.hasWaited = wait == Wait::Mbarrier;
        }
        first = std::min(first, g.step);
      }
      if (!waits)
        cta->waitingWarps &= ~(1u << w.index);
      if (&w != running && first != Warp::kNotQueued)
        watch.schedule(w, first);
    }
}

/// Resumes groups with a try_wait that times out at `cycle`. Returns false if
/// there are no such groups.
bool Shard::giveUpWaits(Warp &w, uint64_t cycle) {
  bool hasAny = false;
  for (Group &g : w.groups) {
    if (g.wait != Wait::Mbarrier || g.givesUpAt > cycle)
      continue;
    noteWait(w, g, g.wait, cycle);
    g.path.reach(cycle, time::Fact::MbarrierTest);
    g.wait = Wait::None;
    g.step = g.block = std::max(g.step, cycle);
    hasAny = g.hasGivenUp = true;
  }
  return hasAny;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

/// Schedules the warp after a run, or queues it for the turn.
void Shard::putInLine(Warp &w) {
  running = nullptr;
  if (w.current < w.groups.size() && w.group().wait == Wait::Turn)
    turns.push_back({w.group().step, watch.numbers++, &w, kNone});
  if (pickEarliest(w))
    watch.schedule(w, w.group().step);
  for (Group &g : w.groups)
    if (g.wait == Wait::Mbarrier && g.givesUpAt != Warp::kNotQueued)
      watch.schedule(w, g.givesUpAt);
}

void Shard::runEarliest(Warp &w, uint64_t cycle) {
  Cluster &c = *w.cta->cluster;
  uint64_t effects = c.effects;
  bool hasGivenUp = giveUpWaits(w, cycle);
  running = &w;
  runWarp(w);
  putInLine(w);
  // A window may end between a timed-out test and its repetition.
  bool waitsAgain =
      w.current < w.groups.size() && w.group().wait == Wait::Mbarrier;
  bool isTest = c.effects == effects && (hasGivenUp || waitsAgain);
  tests += isTest && hasGivenUp;
  hasMoved |= !isTest;
}

/// Runs the group of the warp that has waited longest for the turn.
void Shard::runTurn(Warp &w) {
  size_t first = w.groups.size();
  for (size_t k = 0; k < w.groups.size(); ++k)
    if (w.groups[k].wait == Wait::Turn &&
        (first == w.groups.size() || w.groups[k].step < w.groups[first].step))
      first = k;
  if (first == w.groups.size())
    return;
  w.current = first;
  w.group().wait = Wait::None;
  hasMoved = true;
  running = &w;
  runGroup(w);
  putInLine(w);
}

void Shard::complete(uint32_t operation, uint64_t cycle) {
  Cluster &c = watch.clusterOf(operation);
  hasMoved = true;
  watch.take(operation);
  --c.timedOperations;
  wake(c, cycle);
}

void Shard::noteEnd(Cluster &c) {
  if (c.liveThreads || c.timedOperations || c.hasEnded)
    return;
  c.hasEnded = true;
  ends.push_back({&c, watch.now, watch.cause});
}

void Shard::run(uint64_t end) {
  constexpr uint64_t kEventsBetweenLooks = 1024;
  watch.windowEnd = end;
  time::Event event;
  for (uint64_t events = 1; watch.next(event); ++events) {
    if (watch.needsTurn(event)) {
      turns.push_back({event.cycle, event.number, nullptr, event.operation});
      continue;
    }
    Cluster &c = event.warp ? *event.warp->cta->cluster
                            : watch.clusterOf(event.operation);
    if (event.warp)
      runEarliest(*event.warp, event.cycle);
    else
      complete(event.operation, event.cycle);
    noteEnd(c);
    bool isOver = events % kEventsBetweenLooks == 0 && machine.isInterrupted();
    if (c.stopped || isOver)
      return;
  }
}

void Shard::take(const Turn &turn) {
  Cluster &c =
      turn.warp ? *turn.warp->cta->cluster : watch.clusterOf(turn.operation);
  if (c.stopped)
    return;
  watch.now = turn.cycle;
  watch.hasTurn = c.hasTurn = true;
  if (turn.warp)
    runTurn(*turn.warp);
  else
    complete(turn.operation, turn.cycle);
  watch.hasTurn = c.hasTurn = false;
  noteEnd(c);
}
