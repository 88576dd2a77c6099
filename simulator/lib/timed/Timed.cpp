//===- Timed.cpp - Scheduler of timed launches ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resident clusters are divided into shards by SM. Within a window of time no
// SM affects another shard, so shards run in parallel. At the end of the
// window, one thread handles memory requests, communication between clusters,
// and ends and starts of clusters, in time order. The result does not depend on
// the number of threads.
//===----------------------------------------------------------------------===//

#include "Timed.h"

#include "../machine/LeftOut.h"
#include "../machine/Workers.h"
#include "../report/Recorder.h"
#include "../time/MachineCode.h"
#include "../time/Needs.h"
#include "Shard.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace mx::sim;

TimedLaunch::TimedLaunch(Machine &machine, Recording &recording)
    : machine(machine), config(machine.config), recording(recording) {}

TimedLaunch::~TimedLaunch() = default;

std::string TimedLaunch::explainMisfit() const {
  const ptx::Module &home = *machine.program.kernel->home;
  const time::Chip *chip = time::findChip(config.timedChip);
  if (!chip)
    return "cannot be timed on '" + config.timedChip + "': expected one of " +
           listOfTimedChips();
  if (!chip->runs(home.chip))
    return "cannot be timed on " + config.timedChip + ": expected " +
           chip->targets() + ", found " + home.target +
           (home.chip.number < chip->number
                ? ", which only runs on its own chip"
                : "");
  if (machine.device)
    return "cannot be timed: expected one device, found several";
  if (!config.machineCode.empty() &&
      !time::hasMachineCode(config.machineCode, machine.program.kernel->name))
    return "cannot be priced with machine code: expected a listing of "
           "simulator/scripts/list-machine-code with this kernel, found a "
           "listing without it: list the PTX of this launch";
  for (const auto &[key, value] : config.timeChanges.figures)
    if (!time::hasFigure(*chip, key))
      return "cannot be timed on " + std::string(chip->name) +
             ": it has no figure '" + key + "'";
  if (config.timeChanges.isSustained && !chip->has(time::Fact::TensorMHz))
    return "cannot be timed on " + std::string(chip->name) +
           " at a sustained clock, because the chip lacks the figures: "
           "expected a number of MHz";
  return {};
}

void TimedLaunch::begin() {
  model =
      std::make_unique<time::Model>(machine, *time::findChip(config.timedChip));
  if (config.skipsMmas)
    leaveOut();
}

/// Checks inspect values, so only MMAs are omitted if checks are enabled.
void TimedLaunch::leaveOut() {
  time::Needs needs = time::findNeeds(machine.program, config.checks != 0);
  machine.skipsMmas = !needs.ofMmas;
  machine.leavesOutShared = needs.leavesOutShared;
  machine.report.time.computedForLine = needs.ofMmas ? needs.ofMmas->line : 0;
  constexpr uint64_t kMostStored = 1ull << 28; // a larger limit is slower
  if (!machine.memory.leftOut)
    machine.memory.leftOut = std::make_shared<time::LeftOut>(kMostStored);
  model->leaveOut(needs.work);
}

void TimedLaunch::complete(const AsyncIssuer &issuer, bool needsTurn,
                           AsyncQueue::Action action) {
  issuer.warp->watch->complete(issuer, needsTurn, std::move(action));
}

uint64_t TimedLaunch::nanosecondsOf(uint64_t cycle) const {
  return uint64_t(double(cycle) * 1000 / model->mhz);
}

//===----------------------------------------------------------------------===//
// Shards
//===----------------------------------------------------------------------===//

/// Shards run on a single thread if the order check or line costs are enabled,
/// because both cover the whole launch.
bool TimedLaunch::isParallel() const {
  return !(config.checks & kCheckOrder) && !model->lines;
}

/// Puts SMs that share a cluster, now or later, into one shard and distributes
/// the SMs evenly.
void TimedLaunch::makeShards() {
  constexpr uint64_t kShards = 8;
  uint64_t size = machine.cluster.count(), all = config.smCount;
  uint64_t used = std::min<uint64_t>(all, machine.slots * size);
  std::vector<uint64_t> firstOf(all);
  std::iota(firstOf.begin(), firstOf.end(), 0);
  auto find = [&](uint64_t sm) {
    while (firstOf[sm] != sm)
      sm = firstOf[sm] = firstOf[firstOf[sm]];
    return sm;
  };
  for (uint64_t slot = 0; slot < machine.slots; ++slot)
    for (uint64_t rank = 1; rank < size; ++rank) {
      uint64_t a = find(slot * size % all);
      uint64_t b = find((slot * size + rank) % all);
      firstOf[std::max(a, b)] = std::min(a, b);
    }
  for (uint64_t k = 0; k < kShards; ++k)
    shards.push_back(std::make_unique<Shard>(machine, *model));
  shardOf.resize(all);
  for (uint64_t sm = 0; sm < used; ++sm)
    shardOf[sm] = shards[find(sm) * kShards / used].get();
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

void TimedLaunch::start(Cluster &c) {
  c.shard = shardOf[c.slot * machine.cluster.count() % config.smCount];
  c.watch = &c.shard->watch;
  if (machine.memory.leftOut)
    for (auto &cta : c.ctas)
      cta->leftOut = std::make_shared<time::LeftOut>(machine.sharedBytes);
}

/// Starts waiting clusters at `cycle`. Their paths extend `path` by `cause`.
void TimedLaunch::startWaiting(uint64_t cycle, time::Path path,
                               time::Cause cause) {
  path.reach(cycle, cause);
  auto &active = machine.active;
  size_t begin = active.size();
  machine.startMore(machine.waiting.size());
  std::vector<uint64_t> issued(config.smCount); // CTAs issued to each SM
  for (size_t k = begin; k < active.size(); ++k) {
    path.separate();
    for (auto &cta : active[k]->ctas) {
      uint64_t more = issued[cta->sm]++ * model->ctaIssue();
      time::Path begun = path;
      begun.add(time::Fact::CtaIssue, more);
      model->giveCta(cycle + more, begun);
      startWarps(*cta, cycle + more, begun);
    }
  }
}

void TimedLaunch::startWarps(Cta &cta, uint64_t cycle, const time::Path &path) {
  time::Stopwatch &watch = cta.cluster->shard->watch;
  for (Warp &w : cta.warps) {
    w.watch = &watch;
    watch.begin(w);
    w.ready.start(model->registers.count());
    w.requests = std::make_unique<time::RequestPaths>();
    w.groups[0].path = path;
    w.startCycle = cycle;
    w.groups[0].step = w.groups[0].block = cycle;
    watch.schedule(w, cycle);
    if (watch.lines)
      watch.lines->start(w, cycle);
  }
}

/// Replaces clusters that ended in the window.
void TimedLaunch::retireEnded() {
  std::vector<Shard::End> ends;
  for (auto &shard : shards) {
    std::move(shard->ends.begin(), shard->ends.end(), std::back_inserter(ends));
    shard->ends.clear();
  }
  std::sort(ends.begin(), ends.end(), [](auto &a, auto &b) {
    return std::tie(a.cycle, a.cluster->slot) <
           std::tie(b.cycle, b.cluster->slot);
  });
  for (Shard::End &end : ends) {
    Cluster &c = *end.cluster;
    for (auto &cta : c.ctas)
      for (Warp &w : cta->warps) {
        if (w.endCycle >= end.cycle)
          end.cause = w.endPath;
        end.cycle = std::max(end.cycle, w.endCycle);
      }
    if (end.cycle >= lastCycle)
      lastPath = end.cause;
    lastCycle = std::max(lastCycle, end.cycle);
    c.shard->watch.forget(c);
    c.shard->watch.end(c);
    for (size_t k = 0; k < c.ctas.size(); ++k)
      model->endCta(end.cycle, end.cause);
    machine.retire(c);
    machine.takeStatistics(c);
    auto &active = machine.active;
    active.erase(std::find_if(active.begin(), active.end(),
                              [&](auto &a) { return a.get() == &c; }));
    startWaiting(end.cycle + model->ctaStart(), std::move(end.cause),
                 time::Fact::CtaStart);
  }
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

void TimedLaunch::runWindow(uint64_t begin) {
  uint64_t end = begin + model->window();
  machine.workers->forEach(shards.size(),
                           [&](size_t k) { shards[k]->run(end); });
}

/// Handles the turns and requests of all shards in time order.
void TimedLaunch::exchange() {
  struct Item {
    uint64_t cycle, sm, number;
    Shard *shard;
    size_t index;
    bool isTurn;
    bool operator<(const Item &o) const {
      return std::tie(cycle, sm, number) < std::tie(o.cycle, o.sm, o.number);
    }
  };
  std::vector<Item> items;
  for (auto &shard : shards) {
    time::Stopwatch &watch = shard->watch;
    for (size_t k = 0; k < watch.numRequests(); ++k) {
      const time::Stopwatch::Request &r = watch.request(k);
      items.push_back(
          {r.cycle, r.warp->cta->sm, r.number, shard.get(), k, false});
    }
    for (size_t k = 0; k < shard->turns.size(); ++k) {
      const Shard::Turn &t = shard->turns[k];
      const Warp &w = t.warp ? *t.warp : watch.issuerOf(t.operation);
      items.push_back({t.cycle, w.cta->sm, t.number, shard.get(), k, true});
    }
  }
  std::sort(items.begin(), items.end());
  for (const Item &item : items) {
    Shard &shard = *item.shard;
    if (item.isTurn)
      shard.take(Shard::Turn(shard.turns[item.index]));
    else
      shard.watch.answer(shard.watch.request(item.index));
  }
  bool hasMoved = false;
  uint64_t tests = 0;
  for (auto &shard : shards) {
    shard->turns.clear();
    shard->watch.endWindow();
    hasMoved |= std::exchange(shard->hasMoved, false);
    tests += std::exchange(shard->tests, 0);
  }
  testsAlone = hasMoved ? 0 : testsAlone + tests;
}

void TimedLaunch::collectAll() {
  for (auto &c : machine.active)
    machine.collect(*c);
}

//===----------------------------------------------------------------------===//
// Deadlocks
//===----------------------------------------------------------------------===//

/// Returns true if each warp has only repeated its mbarrier test many times.
bool TimedLaunch::isStuck() const {
  constexpr uint64_t kTests = 64;
  uint64_t warps =
      machine.active.size() * machine.cluster.count() * machine.warpsPerCta;
  return testsAlone > kTests * warps &&
         std::none_of(shards.begin(), shards.end(),
                      [](auto &shard) { return shard->watch.hasOperations(); });
}

/// Times out try_waits, regardless of their limits, because no other event is
/// possible.
bool TimedLaunch::endWaits(uint64_t cycle) {
  bool hasAny = false;
  for (auto &c : machine.active)
    for (auto &cta : c->ctas)
      for (Warp &w : cta->warps)
        for (Group &g : w.groups)
          if (g.wait == Wait::Mbarrier) {
            g.givesUpAt = std::max(cycle, g.step);
            w.watch->schedule(w, g.givesUpAt);
            hasAny = true;
          }
  return hasAny;
}

/// Resumes waits or lanes held for reconvergence; returns false on deadlock.
bool TimedLaunch::releaseWaits() {
  uint64_t now = 0;
  for (auto &shard : shards)
    now = std::max(now, shard->watch.now);
  if (!machine.breakConvergence() && (isStuck() || !endWaits(now)))
    return false;
  for (auto &c : machine.active) {
    for (auto &cta : c->ctas)
      cta->waitingWarps = uint32_t((1ull << cta->warps.size()) - 1);
    c->shard->wake(*c, now);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

void TimedLaunch::run() {
  makeShards();
  startWaiting(model->kernelStart(), {}, time::Fact::KernelStart);
  while (!machine.stopped && !machine.active.empty()) {
    uint64_t begin = time::Stopwatch::kNever;
    for (auto &shard : shards)
      begin = std::min(begin, shard->watch.first());
    bool goesOn = begin != time::Stopwatch::kNever;
    if (goesOn) {
      runWindow(begin);
      collectAll();
      if (machine.stopped)
        break;
      exchange();
      collectAll();
      retireEnded();
    }
    LaunchReport &report = machine.report;
    if (machine.isInterrupted()) {
      report.isInterrupted = machine.stopped = true;
      report.status = std::min(report.status, LaunchStatus::Failed);
    } else if (!machine.stopped && machine.executed > config.maxInstructions) {
      machine.reportLimit();
    } else if (!machine.stopped && (goesOn ? isStuck() : !releaseWaits())) {
      machine.reportDeadlock();
      break;
    }
  }
  for (auto &shard : shards)
    recording.add(shard->watch.executed);
  machine.finish();
  machine.report.time.mhz = model->mhz;
  if (machine.report.isComplete)
    model->finish(machine.report.time, lastCycle, std::move(lastPath));
}
