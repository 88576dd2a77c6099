//===- Scheduler.cpp - Scheduling of warps and clusters -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch runs in passes. In each pass the active clusters run concurrently,
// each on a host thread, until they block, exhaust their quantum, or reach an
// operation visible to other clusters, such as a global atomic. Between passes
// these operations run sequentially in cluster order. The result thus depends
// on the launch and the seed, but not on the number of threads.
//===----------------------------------------------------------------------===//

#include "Limits.h"
#include "Machine.h"
#include "Workers.h"
#include "WorldState.h"

#include <algorithm>
#include <cstdio>
#include <unordered_set>

using namespace mx::sim;

WarpStatistics &WarpStatistics::operator+=(const WarpStatistics &o) {
  instructions += o.instructions;
  mmas += o.mmas;
  globalLoadBytes += o.globalLoadBytes;
  globalStoreBytes += o.globalStoreBytes;
  sharedLoadBytes += o.sharedLoadBytes;
  sharedStoreBytes += o.sharedStoreBytes;
  tensorLoadBytes += o.tensorLoadBytes;
  tensorStoreBytes += o.tensorStoreBytes;
  bulkLoadBytes += o.bulkLoadBytes;
  bulkReadBytes += o.bulkReadBytes;
  bulkStoreBytes += o.bulkStoreBytes;
  copyBytes += o.copyBytes;
  tensorCopyBytes += o.tensorCopyBytes;
  mbarrierWaits += o.mbarrierWaits;
  barrierWaits += o.barrierWaits;
  clusterWaits += o.clusterWaits;
  cycles += o.cycles;
  slots += o.slots;
  mbarrierCycles += o.mbarrierCycles;
  mmaCycles += o.mmaCycles;
  resultCycles += o.resultCycles;
  barrierCycles += o.barrierCycles;
  groupCycles += o.groupCycles;
  return *this;
}

//===----------------------------------------------------------------------===//
// One cluster
//===----------------------------------------------------------------------===//

bool Cluster::wantsTurn() const {
  for (auto &cta : ctas)
    for (const Warp &w : cta->warps)
      for (const Group &g : w.groups)
        if (g.wait == Wait::Turn)
          return true;
  return queue.wantsTurn();
}

/// Completes background work according to the pace of the cluster. If
/// `isStuck`, no warp can continue until an operation completes.
bool Machine::completeSome(Cluster &c, bool isStuck) {
  if (c.queue.empty())
    return false;
  bool isInOrder =
      c.pace == Cluster::Pace::Eager || c.pace == Cluster::Pace::Even;
  Random *random = isInOrder ? nullptr : &c.random;
  // Background work must take longer than a few instructions of any warp.
  // Programs rely on this if their threads wait for the same phases in
  // lockstep.
  uint32_t lastRound = isInOrder || isStuck      ? ~0u
                       : c.round > kRoundsOfWork ? c.round - kRoundsOfWork
                                                 : 0;
  auto completeOne = [&] {
    c.stopped |= isInterrupted();
    return !c.stopped && c.queue.completeOne(random, c.hasTurn, lastRound);
  };
  bool any = false;
  switch (c.pace) {
  case Cluster::Pace::Eager:
  case Cluster::Pace::Early:
    while (completeOne())
      any = true;
    break;
  case Cluster::Pace::Mixed:
    any = isStuck && completeOne();
    while (random->oneIn(4) && completeOne())
      any = true;
    break;
  case Cluster::Pace::Late:
    any = isStuck && completeOne();
    break;
  case Cluster::Pace::Even:
    while (isStuck && completeOne())
      any = true;
    break;
  case Cluster::Pace::Timed:
    break; // see Timed.cpp
  }
  return any;
}

/// Executes one instruction of each warp in turn until all warps wait or
/// exhaust their slice, so warps that start together stay together.
static void runEvenly(Cluster &c, const std::vector<Warp *> &order,
                      std::vector<uint64_t> &executedBy, uint64_t slice) {
  std::fill(executedBy.begin(), executedBy.end(), 0);
  bool any = true;
  for (uint64_t step = 0; any && step < slice && !c.stopped; ++step) {
    any = false;
    for (size_t k = 0; k < order.size() && !c.stopped; ++k) {
      if (order[k]->groups.empty())
        continue;
      uint64_t n = order[k]->run(1);
      executedBy[k] += n;
      any |= n != 0;
    }
  }
}

void Machine::runCluster(Cluster &c, uint64_t quantum) {
  constexpr uint64_t kSlice = 4096;
  bool isEager = c.pace == Cluster::Pace::Eager;
  bool isEven = c.pace == Cluster::Pace::Even;
  std::vector<Warp *> order;
  for (auto &cta : c.ctas)
    for (Warp &w : cta->warps)
      order.push_back(&w);
  std::vector<uint64_t> executedBy(order.size());
  // Short slices may end inside a polling loop, so an exhausted slice does not
  // indicate progress. A long run does.
  constexpr unsigned kQuietRounds = 64;
  unsigned quiet = 0;
  uint64_t used = 0;
  bool again = true;
  c.progress = false;
  while (again && used < quantum && !c.stopped) {
    uint64_t before = c.effects;
    bool isBusy = false;
    again = false;
    ++c.round;
    if (!isEager && !isEven)
      for (size_t k = order.size(); k > 1; --k)
        std::swap(order[k - 1], order[c.random.below(uint32_t(k))]);
    if (isEven)
      runEvenly(c, order, executedBy, kSlice);
    for (size_t k = 0; k < order.size(); ++k) {
      Warp *w = order[k];
      uint64_t slice =
          isEager || isEven ? kSlice : kLeastSlice << c.random.below(7);
      if (!isEven)
        executedBy[k] = w->groups.empty() ? 0 : w->run(slice);
      uint64_t n = executedBy[k];
      used += n;
      w->counts.instructions += n;
      again |= n >= slice;
      if (n < slice)
        w->busy = 0;
      else if (isBusy |= (w->busy += n) >= kSlice; w->busy >= w->patience) {
        w->busy = 0;
        // If lanes take a lock one after another, every lane needs this
        // release, so wait for less time in the future.
        if (w->breakConvergence())
          w->patience = std::max(w->patience / 4, kSlice);
      }
      completeSome(c, false);
      c.stopped |= isInterrupted();
      if (c.stopped)
        break;
    }
    bool isProgress = isBusy || c.effects != before;
    quiet = isProgress ? 0 : quiet + 1;
    again = (again && quiet < kQuietRounds) || isProgress;
    if (!again)
      again = isProgress = completeSome(c, true);
    c.progress |= isProgress;
  }
  c.executed += used;
}

/// Runs each operation waiting for the turn once.
bool Machine::runTurn(Cluster &c) {
  uint64_t before = c.effects;
  c.hasTurn = true;
  for (auto &cta : c.ctas)
    for (Warp &w : cta->warps) {
      for (size_t k = 0; k < w.groups.size() && !c.stopped; ++k) {
        if (w.groups[k].wait != Wait::Turn)
          continue;
        w.groups[k].wait = Wait::None;
        w.current = k;
        uint64_t n = w.run(1);
        w.counts.instructions += n;
        c.executed += n;
      }
    }
  // A read is progress, unless the launch was idle before.
  bool any = !device && !c.timeout;
  if (c.queue.wantsTurn() && !c.stopped)
    any |= c.queue.completeOne(&c.random, true);
  c.hasTurn = false;
  any |= c.effects != before;
  c.effects += any;
  return any;
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

/// Returns the next cluster of the grid. PTX guarantees no order, so nonzero
/// seeds choose among the next sixteen.
uint64_t Machine::nextCluster() {
  ++dispatched;
  if (!config.seed)
    return nextIndex++;
  while (lookahead.size() < 16 && nextIndex < totalClusters)
    lookahead.push_back(nextIndex++);
  size_t k = random.below(uint32_t(lookahead.size()));
  std::swap(lookahead[k], lookahead.front());
  uint64_t index = lookahead.front();
  lookahead.pop_front();
  return index;
}

bool Machine::cancelCluster(Cluster &asking, uint64_t &index) {
  if (dispatched == totalClusters)
    return false;
  // Hardware may also refuse while clusters remain, for instance to run another
  // kernel first.
  if (config.seed && asking.random.oneIn(8))
    return false;
  index = nextCluster();
  return true;
}

void Machine::startMore(size_t count) {
  while (count-- && !waiting.empty()) {
    Waiting next = waiting.front();
    waiting.pop_front();
    active.push_back(startCluster(next.index, next.slot));
  }
}

/// Retires a finished cluster: notifies observers, and passes its slot to the
/// next cluster.
void Machine::retire(Cluster &c) {
  for (auto &cta : c.ctas) {
    for (auto &o : c.observers)
      o->ended(*cta);
    if (device)
      atEnd.join(
          cta->atExit.generic.ofClustersBeyond(firstCluster, totalClusters));
    if (!cta->tensor)
      continue;
    std::vector<TensorMemory::Allocation> leaks =
        cta->tensor->allocations(cta->owner);
    if (!leaks.empty() && (config.checks & kCheckTensorMemoryLeak)) {
      Finding f;
      f.kind = FindingKind::TensorMemoryLeak;
      f.message = "the CTA ended without freeing " +
                  std::to_string(leaks[0].columns) +
                  " columns of tensor memory at column " +
                  std::to_string(leaks[0].column);
      f.hasCta = true;
      f.cta = cta->id;
      if (count(*cta, findingKey(f)))
        add(c, std::move(f), LaunchStatus::Failed);
    }
    cta->tensor->release(cta->owner);
  }
  collect(c);
  takeTallies(c);
  if (dispatched < totalClusters)
    waiting.push_back({nextCluster(), c.slot});
}

/// Collects the results of a cluster. Findings are ordered by pass, so they do
/// not depend on threads.
void Machine::collect(Cluster &c) {
  executed += c.executed - c.counted;
  c.counted = c.executed;
  stopped |= c.stopped;
  if (c.findings.empty() && c.output.empty())
    return;
  for (auto &[finding, status] : c.findings) {
    report.status = std::min(report.status, status);
    bool isNew = reported.try_emplace(findingKey(finding)).second;
    if (!isNew && status >= LaunchStatus::Failed && !c.stopped)
      continue;
    if (report.findings.size() < kMostUngrouped)
      report.findings.push_back(std::move(finding));
    else
      ++report.findingsDropped;
  }
  c.findings.clear();
  if (!c.output.empty())
    std::fwrite(c.output.data(), 1, c.output.size(), stdout);
  c.output.clear();
}

/// Adds the counts of repeated findings, once per finished cluster.
void Machine::takeTallies(Cluster &c) {
  for (auto &[key, tally] : c.tallies) {
    FindingCount &all = reported[key];
    all.occurrences += tally.occurrences;
    for (auto &cta : c.ctas)
      if (tally.ranks >> cta->rank & 1)
        all.ctas.push_back((uint64_t(cta->id.z) * config.grid.y + cta->id.y) *
                               config.grid.x +
                           cta->id.x);
  }
  c.tallies.clear();
}

void Machine::takeStatistics(Cluster &c) {
  LaunchStatistics &s = report.statistics;
  s.warps.resize(warpsPerCta);
  for (auto &cta : c.ctas)
    for (Warp &w : cta->warps) {
      s.warps[w.index] += w.counts;
      s.mmas += w.counts.mmas;
      s.tmaBytes += w.counts.bulkLoadBytes + w.counts.bulkStoreBytes;
      w.counts = WarpStatistics();
    }
  for (auto &o : observers)
    o->take(c);
}

bool Machine::begin() {
  if (!bindShape())
    return false;
  if (device)
    firstCluster = device->begin(program, cluster, clusterGrid);
  report.facts.cluster = cluster;
  uint32_t size = cluster.count();
  if (timing)
    timing->begin();
  bool isAlone =
      timing ? !timing->isParallel() : sharesTensorMemory || totalClusters == 1;
  workers = std::make_unique<Workers>(isAlone ? 1 : config.threads);

  uint64_t perCluster =
      size * (uint64_t(sharedBytes) * (config.checks & kCheckOrder ? 8 : 2) +
              uint64_t(warpsPerCta) *
                  (program.registerBytes + uint64_t(program.localBytes) * 32) +
              (program.usesTensorMemory ? 512u << 10 : 0));
  target = std::clamp<uint64_t>(kActiveBytes / perCluster, 1, kActiveClusters);
  for (uint64_t slot = 0; slot < slots; ++slot)
    waiting.push_back({nextCluster(), slot});
  return true;
}

Machine::Pass Machine::pass(uint64_t most) {
  if (active.size() < target)
    startMore(target - active.size());
  if (active.empty())
    return Pass::Ended;
  uint64_t left =
      config.maxInstructions - std::min(config.maxInstructions, executed);
  uint64_t quantum = std::min(most, left + 1);
  for (auto &c : active)
    c->passRound = c->round;
  if (device)
    ++device->world.passes;
  uint64_t executedBefore = executed;
  workers->forEach(active.size(),
                   [&](size_t k) { runCluster(*active[k], quantum); });
  bool progress = false, hasRetired = false;
  for (size_t k = 0; k < active.size(); ++k) {
    Cluster &c = *active[k];
    progress |= c.progress;
    if (!c.hasTurn && !c.stopped && c.wantsTurn()) {
      progress |= runTurn(c);
    }
    collect(c);
  }
  for (size_t k = 0; k < active.size() && !stopped;) {
    if (!active[k]->done()) {
      ++k;
      continue;
    }
    retire(*active[k]);
    takeStatistics(*active[k]);
    active.erase(active.begin() + k);
    progress = hasRetired = true;
  }
  if (isInterrupted()) {
    report.isInterrupted = stopped = true;
    report.status = std::min(report.status, LaunchStatus::Failed);
  }
  if (!stopped && executed > config.maxInstructions)
    reportLimit();
  if (stopped)
    return Pass::Ended;
  // Running clusters may be waiting for clusters that have not started.
  passesAlone = hasRetired ? 0 : passesAlone + 1;
  if ((!progress || passesAlone > 8) && !waiting.empty()) {
    target = active.size() + kActiveClusters;
    passesAlone = 0;
    progress = true;
  }
  if (device && progress)
    passTime(executedBefore);
  return progress ? Pass::Progress : Pass::Idle;
}

bool Machine::setTimeouts(bool giveUp) {
  bool slept = false;
  for (auto &c : active) {
    slept |= c->slept;
    c->timeout = giveUp;
    if (!giveUp)
      c->slept = false;
  }
  return slept;
}

bool Machine::breakConvergence() {
  bool isReleased = false;
  for (auto &c : active)
    for (auto &cta : c->ctas)
      for (Warp &w : cta->warps)
        isReleased |= w.breakConvergence();
  return isReleased;
}

bool Machine::isPolled() const {
  for (auto &c : active)
    for (auto &cta : c->ctas)
      for (const Warp &w : cta->warps)
        if (w.polls)
          return true;
  return false;
}

void Machine::finish() {
  for (auto &c : active) {
    collect(*c);
    takeTallies(*c);
    takeStatistics(*c);
  }
  report.isComplete = !stopped && active.empty() && waiting.empty();
  if (device && report.isComplete)
    device->end(atEnd);
  report.statistics.warpInstructions = executed;
  for (auto &o : observers)
    o->finish(report);
}

void Machine::run() {
  if (!begin())
    return;
  if (timing)
    return timing->run();
  constexpr size_t kMostStates = 64;
  std::unordered_set<uint64_t> seen; // states since the last progress
  uint64_t idlePasses = 0, repeated = 0;
  for (;;) {
    Pass last = pass(kQuantum);
    if (last == Pass::Ended)
      break;
    // No warp can continue. Let the timeouts of all try_wait instructions
    // expire repeatedly. If nothing changes even then, the launch is
    // deadlocked.
    bool slept = setTimeouts(last == Pass::Idle);
    if (last == Pass::Progress || breakConvergence()) {
      idlePasses = repeated = 0;
      seen.clear();
      parks = true;
      continue;
    }
    // Lanes that count their polls never repeat a state. While they run, few
    // states are looked at.
    ++idlePasses;
    if (!parks && idlePasses % kMostStates)
      continue;
    if (isPolled() && seen.insert(stateHash()).second)
      parks = seen.size() < kMostStates;
    else if (++repeated > (slept ? 100000u : 256u)) {
      reportDeadlock();
      break;
    }
  }
  finish();
}

/// Reports the instruction limit and the position of every warp.
void Machine::reportLimit() {
  stopped = true;
  Finding f;
  f.kind = FindingKind::InstructionLimit;
  f.message = "stopped after " + std::to_string(executed) +
              " warp instructions, the limit is " +
              std::to_string(config.maxInstructions);
  f.module = module.name;
  report.findings.push_back(std::move(f));
  report.status = std::min(report.status, LaunchStatus::Failed);
  reportPlaces(FindingKind::InstructionLimit, LaunchStatus::Failed);
}
