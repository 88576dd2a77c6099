//===- Recorder.cpp - Clocks of warps and barriers ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Recorder.h"

#include "../machine/Handlers.h"
#include "../time/Stopwatch.h"
#include "mxsim/tensor/Mbarrier.h"

#include <algorithm>

using namespace mx::sim;

/// Minimum number of steps of a divergence in a timeline.
static constexpr uint64_t kShortest = 8;

Recorder::Recorder(Machine &machine, Cluster &cluster, const Places *places,
                   bool hasTimeline, uint64_t maxSpans, Counts *counts)
    : executed(counts ? *counts : own), mmas(machine.warpsPerCta),
      failedTests(places, machine.warpsPerCta,
                  machine.warpsPerCta * machine.cluster.count()),
      machine(machine), cluster(cluster), hasTimeline(hasTimeline),
      maxSpans(maxSpans), watch(cluster.watch) {
  executed.resize(machine.warpsPerCta);
  for (auto &ofWarp : executed)
    ofWarp.resize(machine.program.code.size());
  size_t size = machine.cluster.count();
  warps.resize(size * machine.warpsPerCta);
  barriers.resize(size);
  ctaExit.resize(size);
  pairSteps.resize(size);
}

/// Returns the PTX line, or 0 if `i` belongs to another linked module.
uint32_t Recorder::lineOf(const Instr *i) const {
  const InstrInfo &info = machine.program.infoOf(i);
  const std::string &text = machine.module.text;
  if (info.source && (info.source->opcode.data() < text.data() ||
                      info.source->opcode.data() >= text.data() + text.size()))
    return 0;
  return info.line;
}

uint32_t Recorder::intern(const std::string &text) {
  auto [it, isNew] = stringIndex.emplace(text, uint32_t(strings.size()));
  if (isNew)
    strings.push_back(text);
  return it->second;
}

std::string Recorder::barrierName(uint32_t rank, uint32_t offset) const {
  std::string s = machine.describeSharedOffset(offset);
  if (cluster.ctas.size() > 1)
    s += " of CTA rank " + std::to_string(rank);
  return s;
}

std::string Recorder::waitText(const Waiting &waiting) const {
  switch (waiting.kind) {
  case SpanKind::WaitMbarrier:
    return "waits for phase parity " + std::to_string(waiting.ticket) +
           " of the mbarrier at " + barrierName(waiting.rank, waiting.number);
  case SpanKind::WaitNamedBarrier:
    return "waits at barrier " + std::to_string(waiting.number);
  case SpanKind::WaitClusterBarrier:
    return "waits at the cluster barrier";
  case SpanKind::WaitGroup: {
    static constexpr const char *names[] = {"bulk copies", "cp.async", "wgmma"};
    return "waits until at most " + std::to_string(waiting.number) +
           (waiting.number == 1 ? " group of " : " groups of ") +
           names[waiting.ticket] + (waiting.number == 1 ? " is" : " are") +
           " pending";
  }
  default:
    return "waits for other lanes or warps";
  }
}

bool Recorder::add(std::vector<TimelineSpan> &to, TimelineSpan span) {
  if (numSpans >= maxSpans) {
    ++spansDropped;
    return false;
  }
  ++numSpans;
  to.push_back(span);
  return true;
}

uint64_t Recorder::effectStep(uint64_t step) const {
  return watch ? watch->now : step;
}

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

void Recorder::endRun(WarpTrace &t, Strand &s, uint32_t id, uint64_t end) {
  // Do not draw empty runs and short divergences.
  if (end <= s.runBegin || (id && end - s.runBegin < kShortest))
    return;
  TimelineSpan span;
  span.begin = s.runBegin;
  span.end = end;
  span.row = id;
  span.line = s.runLine;
  span.lastLine = s.lastLine;
  add(t.spans, span);
}

/// Ends a wait. Draws the wait if it took longer than its instruction.
void Recorder::settle(Warp &w, Strand &s) {
  s.isWaiting = false;
  uint64_t end = w.group().step;
  if (end <= s.waitBegin + 1)
    return;
  if (s.waiting.kind == SpanKind::WaitOthers && end < s.waitBegin + kShortest)
    return;
  ++s.events;
  WarpTrace &t = of(w);
  endRun(t, s, strand, s.waitBegin);
  TimelineSpan span;
  span.begin = s.waitBegin;
  span.end = end;
  span.kind = s.waiting.kind;
  span.row = strand;
  span.line = span.lastLine = s.waitLine;
  span.text = intern(waitText(s.waiting));
  if (s.waiting.kind == SpanKind::WaitMbarrier)
    span.issuer = s.waiting.rank << kRankShift | s.waiting.number;
  add(t.spans, span);
  s.runBegin = end;
  s.runLine = 0;
}

/// Advances the clock of the running group to at least `step`.
void Recorder::advance(Warp &w, uint64_t step, const Waiting &waiting,
                       const time::Path &path) {
  if (watch && step > now) {
    w.group().path = path;
    w.group().path.reach(step, time::kOther);
  }
  if (!hasTimeline) {
    now = w.group().step = std::max(now, step);
    return;
  }
  Strand &s = of(w).strands[strand];
  if (!s.isWaiting) {
    s.isWaiting = true;
    s.waitBegin = start;
  }
  s.waiting = waiting;
  s.waitLine = s.lastLine;
  now = w.group().step = std::max(now, step);
}

uint64_t Recorder::run(Warp &w, uint64_t budget) {
  uint64_t done = 0;
  while (done < budget && !cluster.stopped && !w.groups.empty() &&
         w.pickGroup()) {
    const Instr *i = w.groups[w.current].pc;
    w.mask = w.groups[w.current].mask;
    resume(w);
    while (i && done < budget) {
      ++done;
      const Instr *at = i;
      uint32_t m = w.mask;
      if (i->guard != kNoSlot)
        m &= w.predicate(i->guard);
      w.executing = m;
      begin(w, i);
      i = w.execute(i, m);
      if (i)
        next(w, at);
      else
        stop(w, at);
    }
    if (i) {
      w.groups[w.current].pc = i;
      w.current = (w.current + 1) % w.groups.size();
    }
  }
  return done;
}

void Recorder::resume(Warp &w) {
  if (watch)
    now = start = w.group().step;
  if (!hasTimeline)
    return;
  Group &g = w.group();
  strand = g.strand;
  WarpTrace &t = of(w);
  if (t.strands.size() <= strand)
    t.strands.resize(strand + 1);
  Strand &s = t.strands[strand];
  if (!s.isActive) {
    Strand old = s;
    s = Strand();
    s.events = old.events;
    s.isActive = true;
    s.runBegin = g.step;
    // The lanes of this strand waited for other lanes to reconverge.
    if (old.metAt <= g.step && g.step - old.metAt < kShortest) {
      s.runBegin = old.metAt;
    } else if (old.metAt < g.step) {
      TimelineSpan span;
      span.begin = old.metAt;
      span.end = g.step;
      span.kind = SpanKind::WaitOthers;
      span.row = strand;
      span.line = span.lastLine = old.lastLine;
      span.text = intern(waitText(Waiting()));
      add(t.spans, span);
    }
  }
  if (s.isWaiting && s.isBehind) {
    uint64_t step = 0;
    if (s.waiting.kind == SpanKind::WaitNamedBarrier) {
      auto &completed = barriers[w.cta->rank][s.waiting.number].completed;
      if (s.waiting.ticket < completed.size())
        step = completed[s.waiting.ticket];
    } else if (s.waiting.kind == SpanKind::WaitOthers) {
      step = pairSteps[w.cta->rank / 2];
    }
    g.step = std::max(g.step, step);
  }
  if (s.isWaiting && (s.isBehind || g.pc != s.waitAt))
    settle(w, s);
  s.isBehind = false;
  now = start = g.step;
}

void Recorder::draw(Warp &w, const Instr *i) {
  Group &g = w.group();
  Strand &s = of(w).strands[strand];
  // Reconvergence points are not PTX instructions.
  if (i->fn != converge) {
    if (!watch)
      g.step = start + 1;
    s.lastLine = lineOf(i);
    if (!s.runLine)
      s.runLine = s.lastLine;
  }
  now = g.step;
}

void Recorder::next(Warp &w, const Instr *i) {
  if (watch)
    watch->moved(w);
  if (hasTimeline)
    drawNext(w, i);
  else
    now = w.group().step;
}

void Recorder::drawNext(Warp &w, const Instr *i) {
  Group &g = w.group();
  WarpTrace &t = of(w);
  if (g.strand != strand) {
    // The strand has merged into another strand.
    endRun(t, t.strands[strand], strand, start);
    uint32_t line = t.strands[strand].lastLine;
    t.strands[strand].isActive = false;
    t.strands[strand].metAt = TimelineSpan::kNever;
    resume(w);
    t.strands[strand].lastLine = line;
    return;
  }
  Strand &s = t.strands[strand];
  if (!s.isWaiting && g.step > now) {
    s.isWaiting = true;
    s.waitBegin = start;
    s.waitLine = s.lastLine;
    s.waiting = Waiting();
  }
  if (s.isWaiting)
    settle(w, s);
  now = g.step;
}

void Recorder::stop(Warp &w, const Instr *i) {
  bool isHere = w.current < w.groups.size() && w.group().strand == strand &&
                w.group().wait != Wait::None;
  if (isHere && w.group().pc == i)
    --executed[w.index][i - machine.program.code.data()];
  if (!hasTimeline || cluster.stopped)
    return;
  WarpTrace &t = of(w);
  Strand &s = t.strands[strand];
  if (!isHere) {
    endRun(t, s, strand, now);
    s.isActive = s.isWaiting = false;
    s.metAt = i->fn == converge ? now : TimelineSpan::kNever;
    return;
  }
  Group &g = w.group();
  bool isBehind = g.pc != i;
  if (!isBehind)
    g.step = now = start; // the instruction will be executed again
  else if (g.wait != Wait::NamedBarrier && g.wait != Wait::PairAlloc) {
    if (s.isWaiting)
      settle(w, s);
    return;
  }
  s.isBehind = isBehind;
  if (!s.isWaiting) {
    s.isWaiting = true;
    s.waitBegin = start;
  }
  s.waitAt = g.pc;
  s.waitLine = s.lastLine;
  s.waiting = Waiting();
  switch (g.wait) {
  case Wait::Mbarrier:
    s.waiting = {SpanKind::WaitMbarrier, g.cta->rank, g.address, g.ticket};
    break;
  case Wait::NamedBarrier:
    s.waiting = {SpanKind::WaitNamedBarrier, 0, g.index, g.ticket};
    break;
  case Wait::ClusterBarrier:
    s.waiting.kind = SpanKind::WaitClusterBarrier;
    break;
  case Wait::BulkGroup:
  case Wait::CopyGroup:
    s.waiting = {SpanKind::WaitGroup, 0, g.index, g.wait == Wait::CopyGroup};
    break;
  default:
    break;
  }
}

void Recorder::forked(Warp &w, uint32_t id) {
  failedTests.forget(FailedTests::lanesOf(indexOf(w), id));
  std::vector<Strand> &strands = of(w).strands;
  if (id < strands.size())
    strands[id].metAt = TimelineSpan::kNever;
}

void Recorder::exited(Warp &w) {
  if (watch && !w.live) {
    w.endCycle = now;
    w.endPath = watch->cause;
    w.counts.cycles = now - w.startCycle;
  }
  if (!hasTimeline)
    return;
  ctaExit[w.cta->rank] = std::max(ctaExit[w.cta->rank], now);
  clusterBarrier.latest = std::max(clusterBarrier.latest, now);
  if (w.live)
    return;
  WarpTrace &t = of(w);
  t.exitStep = now;
  t.exitLine = t.strands[strand].lastLine;
}

//===----------------------------------------------------------------------===//
// Barriers of CTAs and clusters
//===----------------------------------------------------------------------===//

void Recorder::arriveAtBarrier(Warp &w, uint32_t number) {
  if (!hasTimeline)
    return;
  ++of(w).strands[strand].events;
  uint64_t &latest = barriers[w.cta->rank][number].latest;
  latest = std::max(latest, now);
}

void Recorder::completeBarrier(Cta &cta, uint32_t number) {
  if (!hasTimeline)
    return;
  NamedTrace &b = barriers[cta.rank][number];
  // Exited threads count as arrived.
  uint64_t step = b.latest;
  if (!cta.barriers[number].expectedWarps &&
      cta.liveWarps < machine.warpsPerCta)
    step = std::max(step, ctaExit[cta.rank]);
  b.completed.push_back(step);
  b.latest = 0;
}

void Recorder::passBarrier(Warp &w, uint32_t number, uint32_t generation) {
  if (watch) {
    now = w.group().step += watch->barrierLatency(w, number);
    watch->passBarrier(w.group().path, now);
  }
  if (!hasTimeline)
    return;
  auto &completed = barriers[w.cta->rank][number].completed;
  if (generation < completed.size())
    advance(w, completed[generation],
            {SpanKind::WaitNamedBarrier, 0, number, generation});
}

void Recorder::arriveAtCluster(Warp &w) {
  if (hasTimeline)
    ++of(w).strands[strand].events;
  if (watch && now >= clusterBarrier.latest)
    clusterBarrier.path = w.group().path;
  clusterBarrier.latest = std::max(clusterBarrier.latest, now);
}

void Recorder::completeCluster() {
  clusterBarrier.completed.push_back(clusterBarrier.latest);
}

void Recorder::passCluster(Warp &w, uint32_t generation) {
  if (!hasClocks() || generation >= clusterBarrier.completed.size())
    return;
  uint64_t step = clusterBarrier.completed[generation];
  time::Path path;
  if (watch) {
    step += watch->clusterLatency();
    path = clusterBarrier.path;
    watch->passCluster(path, step);
  }
  advance(w, step, {SpanKind::WaitClusterBarrier, 0, 0, 0}, path);
}

void Recorder::pairAllocated(Warp &w) {
  pairSteps[w.cta->rank / 2] = std::max(pairSteps[w.cta->rank / 2], now);
}

void Recorder::together(Warp &w, const Instr *next, uint32_t first,
                        uint32_t end) {
  auto forOthers = [&](auto &&f) {
    for (uint32_t k = first; k < end; ++k)
      for (Group &g : w.cta->warps[k].groups)
        if (k != w.index && g.pc == next && g.wait == Wait::None)
          f(g);
  };
  // The other warps waited before the instruction and will not execute it.
  for (uint32_t k = first; k < end; ++k)
    if (k != w.index && w.cta->warps[k].live)
      ++executed[k][next - 1 - machine.program.code.data()];
  if (!hasClocks())
    return;
  time::Path path = w.group().path;
  forOthers([&](Group &g) {
    if (g.step >= now)
      path = g.path;
    now = std::max(now, g.step + 1);
  });
  forOthers([&](Group &g) {
    g.step = g.block = now;
    g.path = path;
  });
  w.group().path = std::move(path);
  advance(w, now, Waiting());
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

static uint32_t keyOf(const Cta &owner, uint32_t offset) {
  return owner.rank << kRankShift | offset;
}

void Recorder::initBarrier(Warp &w, const Instr *i, Cta &owner,
                           uint32_t offset) {
  if (!hasTimeline)
    return;
  BarrierTrace &b = mbarriers[keyOf(owner, offset)];
  b.isUsed = true;
  b.phases = b.arrivals = b.expected = b.bytes = 0;
  b.phaseBegin = b.latest = b.completed = std::max(b.completed, now);
  b.line = lineOf(i);
}

void Recorder::changeBarrier(Warp &w, const Instr *i, Cta &owner,
                             uint32_t offset, uint64_t before, uint64_t after,
                             uint32_t arrivals) {
  if (!hasTimeline)
    return;
  if (!isAction)
    ++of(w).strands[strand].events;
  BarrierTrace &b = mbarriers[keyOf(owner, offset)];
  MbarrierState old = mbarrierState(before), s = mbarrierState(after);
  auto arrival = std::make_tuple(now, lineOf(i), indexOf(w));
  if (arrival > std::tie(b.latest, b.line, b.warp))
    std::tie(b.latest, b.line, b.warp) = arrival;
  b.arrivals += arrivals;
  int64_t change = int64_t(s.tx) - old.tx;
  if (change > 0)
    b.expected += change;
  else
    b.bytes -= change;
  if (old.parity == s.parity)
    return;
  TimelineSpan span;
  span.begin = b.phaseBegin;
  span.end = std::max(b.latest, b.phaseBegin);
  span.kind = SpanKind::Phase;
  span.line = span.lastLine = b.line;
  span.bytes = b.bytes;
  span.issuer = b.warp;
  std::string text = "phase " + std::to_string(b.phases) + " (parity " +
                     std::to_string(old.parity) +
                     "): " + std::to_string(b.arrivals) +
                     (b.arrivals == 1 ? " arrival" : " arrivals");
  if (b.bytes)
    text += ", " + std::to_string(b.expected) + " bytes expected, " +
            std::to_string(b.bytes) + " arrived";
  span.text = intern(text);
  if (span.end > span.begin)
    add(b.spans, span);
  ++b.phases;
  b.completed = b.phaseBegin = b.latest = span.end;
  b.arrivals = b.expected = b.bytes = 0;
}

void Recorder::testFailed(Warp &w, const Instr *i, Cta &owner, uint32_t offset,
                          uint32_t parity) {
  failedTests.fail(lanesOf(w), w.index, i, keyOf(owner, offset), parity);
  if (!hasTimeline)
    return;
  Strand &s = of(w).strands[strand];
  uint32_t key = keyOf(owner, offset);
  if (s.testAt == i && s.testBarrier == key && s.testEvents == s.events)
    return;
  s.testAt = i;
  s.testBarrier = key;
  s.testParity = parity;
  s.testBegin = s.isWaiting ? s.waitBegin : start;
  s.testEvents = s.events;
}

void Recorder::observe(Warp &w, const Instr *i, Cta &owner, uint32_t offset,
                       uint32_t parity) {
  failedTests.succeed(lanesOf(w), w.index, i, keyOf(owner, offset), parity);
  if (!hasTimeline)
    return;
  Strand &s = of(w).strands[strand];
  uint32_t key = keyOf(owner, offset);
  if (s.testAt == i && s.testBarrier == key && s.testEvents == s.events) {
    // Draw all iterations of the loop as a single wait.
    start = s.testBegin;
    now = w.group().step = start + 1;
    s.isWaiting = true;
    s.waitBegin = start;
  }
  s.testAt = nullptr;
  auto it = mbarriers.find(key);
  advance(w, it == mbarriers.end() ? 0 : it->second.completed,
          {SpanKind::WaitMbarrier, owner.rank, offset, parity});
}

void Recorder::finding(const Finding &f, uint64_t step) {
  if (!hasTimeline)
    return;
  for (auto &cta : cluster.ctas)
    if (f.hasCta && cta->id.x == f.cta.x && cta->id.y == f.cta.y &&
        cta->id.z == f.cta.z)
      marks.push_back(
          {cta->rank,
           f.warp,
           {0, step, f.ptxLine, intern(f.text()), f.kind, f.isWarning}});
}
