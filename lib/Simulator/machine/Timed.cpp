//===- Timed.cpp - launches in the order of time --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scheduler of launches that are timed. All clusters that the device holds
// are alive; of all that can happen, the earliest does. One host thread: the
// result is the same for any number of them.
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include "../report/Recorder.h"
#include "../time/Stopwatch.h"

#include <algorithm>

using namespace mx::sim;

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

bool Warp::pickEarliest() {
  size_t best = groups.size();
  for (size_t k = 0; k < groups.size(); ++k)
    if (groups[k].wait == Wait::None &&
        (best == groups.size() || groups[k].step < groups[best].step))
      best = k;
  if (best == groups.size())
    return false;
  current = best;
  return true;
}

void Warp::runTimed() {
  Cluster &cluster = *cta->cluster;
  if (!pickEarliest())
    return;
  const Instr *i = group().pc;
  mask = group().mask;
  trace->resume(*this);
  time::Lines *lines = watch->lines.get();
  if (lines)
    lines->resume(*this);
  while (i && !cluster.stopped) {
    const time::Price &price = watch->priceOf(i);
    if (price.quiet && !pendingCount && !trace->draws() &&
        busy + price.quiet < patience && watch->pass(*this, i, price)) {
      trace->pass(*this, i, price.quiet);
      counts.instructions += price.quiet;
      cluster.executed += price.quiet;
      busy += price.quiet;
      i += price.quiet;
      continue;
    }
    if (!watch->reach(*this, i, price)) {
      group().pc = i;
      return;
    }
    uint32_t m = mask;
    if (i->guard != kNoSlot)
      m &= predicate(i->guard);
    executing = m;
    watch->issue(*this, i, price);
    uint64_t cycle = group().step, effects = cluster.effects;
    trace->begin(*this, i);
    ++counts.instructions;
    ++cluster.executed;
    const Instr *at = i;
    if (!price.instead)
      i = execute(i, m);
    else
      i = m ? price.instead(*this, i, m) : i + 1;
    watch->retire(*this, at, price, i);
    if (i)
      trace->next(*this, at);
    else
      trace->stop(*this, at);
    if (lines)
      lines->end(*this, at, i);
    if (!i || cluster.effects != effects)
      machine->wake(cluster, cycle);
    // Lanes that are busy for so long may be waiting for lanes that wait for
    // them.
    if (++busy < patience)
      continue;
    busy = 0;
    if (i && breakConvergence()) {
      group().pc = i;
      return;
    }
  }
}

const Instr *Warp::completeTimed(const Instr *i, uint32_t lanes,
                                 AsyncQueue::Action action) {
  ++cta->cluster->timedOperations;
  watch->complete({this, i, lanes}, std::move(action));
  return i + 1;
}

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

/// Books how long a group has waited.
static void noteWait(Warp &w, const Group &g, Wait wait, uint64_t cycle) {
  uint64_t cycles = cycle - std::min(cycle, g.step);
  if (wait == Wait::Mbarrier || wait == Wait::Poll)
    w.counts.mbarrierCycles += cycles;
  else if (wait == Wait::NamedBarrier || wait == Wait::ClusterBarrier)
    w.counts.barrierCycles += cycles;
  else if (wait == Wait::BulkGroup || wait == Wait::CopyGroup)
    w.counts.groupCycles += cycles;
}

void Machine::wake(Cluster &c, uint64_t cycle) {
  ++c.round;
  for (auto &cta : c.ctas)
    for (uint32_t left = cta->waitingWarps; left; left &= left - 1) {
      Warp &w = cta->warps[unsigned(__builtin_ctz(left))];
      uint64_t first = Warp::kNotQueued;
      bool waits = false;
      for (Group &g : w.groups) {
        if (g.wait != Wait::None) {
          // The last warp of a warpgroup lets the others go on.
          if (g.wait == Wait::Warpgroup || !ready(w, g)) {
            waits = true;
            continue;
          }
          uint64_t latency = watch->wakeLatency(w, g);
          Wait wait = g.wait;
          g.wait = Wait::None;
          uint64_t begin =
              wait == Wait::Poll ? g.step : std::max(cycle, g.step);
          uint64_t goesOn = begin + latency;
          noteWait(w, g, wait, goesOn);
          watch->goOn(w, g, wait, wait != Wait::Poll && cycle > g.step, begin,
                      goesOn);
          g.step = g.block = goesOn;
          g.hasWaited = wait == Wait::Mbarrier;
        }
        first = std::min(first, g.step);
      }
      if (!waits)
        cta->waitingWarps &= ~(1u << w.index);
      if (&w != running && first != Warp::kNotQueued)
        watch->schedule(w, first);
    }
}

/// Lets groups go on whose try_wait is over at `cycle`; the warp comes back for
/// the others. False where there was none.
bool Machine::giveUpWaits(Warp &w, uint64_t cycle) {
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

/// Where nothing else can happen, a try_wait gives up whatever its limit.
bool Machine::endWaits() {
  bool hasAny = false;
  for (auto &c : active)
    for (auto &cta : c->ctas)
      for (Warp &w : cta->warps)
        for (Group &g : w.groups)
          if (g.wait == Wait::Mbarrier) {
            g.givesUpAt = watch->now;
            watch->schedule(w, watch->now);
            hasAny = true;
          }
  return hasAny;
}

/// The earliest warp goes on.
void Machine::runEarliest(Warp &w, uint64_t cycle) {
  Cluster &c = *w.cta->cluster;
  uint64_t effects = c.effects;
  bool hasGivenUp = giveUpWaits(w, cycle);
  running = &w;
  w.runTimed();
  running = nullptr;
  if (w.pickEarliest())
    watch->schedule(w, w.group().step);
  for (Group &g : w.groups)
    if (g.wait == Wait::Mbarrier && g.givesUpAt != Warp::kNotQueued)
      watch->schedule(w, g.givesUpAt);
  testsAlone = hasGivenUp && c.effects == effects ? testsAlone + 1 : 0;
}

/// Whether warps have done nothing but repeat their tests, each many times.
bool Machine::isStuck() const {
  constexpr uint64_t kTests = 64;
  uint64_t warps = active.size() * cluster.count() * warpsPerCta;
  return testsAlone > kTests * warps && !watch->hasOperations();
}

/// Clusters that wait start at `cycle`: after `path`, and `cause`.
void Machine::startTimed(uint64_t cycle, time::Path path, time::Cause cause) {
  path.reach(cycle, cause);
  size_t begin = active.size();
  startMore(waiting.size());
  for (size_t k = begin; k < active.size(); ++k)
    for (auto &cta : active[k]->ctas)
      for (Warp &w : cta->warps) {
        w.watch = watch.get();
        watch->begin(w);
        w.ready.start(watch->registers.count());
        w.requests = std::make_unique<time::RequestPaths>();
        w.groups[0].path = path;
        w.startCycle = cycle;
        w.groups[0].step = w.groups[0].block = cycle;
        watch->schedule(w, cycle);
        if (watch->lines)
          watch->lines->start(w, cycle);
      }
}

void Machine::retireTimed(Cluster &c) {
  uint64_t cycle = watch->now;
  time::Path path = watch->cause;
  for (auto &cta : c.ctas)
    for (Warp &w : cta->warps) {
      if (w.endCycle >= cycle)
        path = w.endPath;
      cycle = std::max(cycle, w.endCycle);
    }
  if (cycle >= lastCycle)
    lastPath = path;
  lastCycle = std::max(lastCycle, cycle);
  watch->forget(c);
  watch->end(c);
  retire(c);
  takeStatistics(c);
  active.erase(std::find_if(active.begin(), active.end(),
                            [&](auto &a) { return a.get() == &c; }));
  startTimed(cycle + watch->ctaStart(), std::move(path), time::Fact::CtaStart);
}

void Machine::runTimed() {
  constexpr uint64_t kEventsBetweenLooks = 1024;
  startTimed(watch->kernelStart(), {}, time::Fact::KernelStart);
  time::Event event;
  uint64_t events = 0;
  while (!stopped) {
    if (!watch->next(event)) {
      // Nothing can happen any more, unless lanes go on without the others.
      if (active.empty())
        break;
      bool isReleased = breakConvergence() || (!isStuck() && endWaits());
      if (!isReleased) {
        reportDeadlock();
        break;
      }
      for (auto &c : active) {
        for (auto &cta : c->ctas)
          cta->waitingWarps = uint32_t((1ull << cta->warps.size()) - 1);
        wake(*c, watch->now);
      }
      continue;
    }
    Cluster &c =
        event.warp ? *event.warp->cta->cluster : watch->clusterOf(event);
    if (event.warp) {
      runEarliest(*event.warp, event.cycle);
      if (isStuck()) {
        reportDeadlock();
        break;
      }
    } else {
      testsAlone = 0;
      watch->take(event.operation);
      --c.timedOperations;
      wake(c, event.cycle);
    }
    collect(c);
    if (!c.liveThreads && !c.timedOperations)
      retireTimed(c);
    if (++events % kEventsBetweenLooks)
      continue;
    if (isInterrupted()) {
      report.isInterrupted = stopped = true;
      report.status = std::min(report.status, LaunchStatus::Failed);
    }
    if (!stopped && executed > config.maxInstructions)
      reportLimit();
  }
  finish();
  if (report.isComplete)
    watch->finish(report.time, lastCycle, std::move(lastPath));
}
