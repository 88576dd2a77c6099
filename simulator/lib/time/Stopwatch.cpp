//===- Stopwatch.cpp - Events and memory accesses of a shard --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Stopwatch.h"

#include "../machine/Lanes.h"

#include <algorithm>
#include <utility>

using namespace mx::sim;
using namespace mx::sim::time;

Stopwatch::Stopwatch(Machine &machine, Model &model)
    : machine(machine), model(model), lines(model.lines.get()),
      chip(model.chip), hasNoIssue(model.hasNoIssue),
      registers(model.registers), machineCode(model.machineCode),
      prices(model.prices), hasMachineCode(model.hasMachineCode),
      sms(model.sms) {}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

bool Stopwatch::next(Event &event) {
  if (first() >= windowEnd)
    return false;
  event = events.front();
  events.pop();
  if (event.warp)
    *event.warp->queuedAt = Warp::kNotQueued;
  dropOld();
  now = event.cycle;
  events.advance(now);
  prefetch();
  return true;
}

template <typename T>
static void fetch(const T *from, size_t count = 1) {
  const char *at = reinterpret_cast<const char *>(from);
  for (size_t offset = 0; offset < count * sizeof(T); offset += 64)
    __builtin_prefetch(at + offset, 1);
}

/// Prefetches the next warps, then the data that they point to. The state of
/// all warps exceeds the host's caches, and each warp only runs for a few
/// instructions.
void Stopwatch::prefetch() const {
  constexpr unsigned kAhead = 5;
  constexpr size_t kHotBytes = 256;
  events.peek(kAhead, [&](unsigned place, const Event &event) {
    const Warp *w = event.warp;
    if (!w)
      return;
    if (place == kAhead - 1)
      fetch(reinterpret_cast<const char *>(w), kHotBytes);
    if (place == 2) {
      fetch(w->groups.data());
      fetch(w->ready.bits().data(), w->ready.bits().size());
    }
    if (place || w->groups.empty())
      return;
    const Group &g = w->groups[w->current];
    fetch(static_cast<const char *>(g.path.place()), 64);
    fetch(g.delays.data() + g.delays.size());
    quarterOf(*w).prefetch(g.step);
  });
}

void Stopwatch::dropOld() {
  while (!events.empty() && events.front().warp &&
         events.front().warp->queueNumber != events.front().number)
    events.pop();
}

void Stopwatch::forget(const Cluster &c) {
  // Compares addresses, because reading the warps would load them into the
  // host's cache.
  events.removeIf([&](const Event &e) {
    for (auto &cta : c.ctas)
      if (e.warp >= cta->warps.data() &&
          e.warp < cta->warps.data() + cta->warps.size())
        return true;
    return false;
  });
  dropOld();
}

void Stopwatch::begin(Warp &w) {
  w.sm = &sms[w.cta->sm];
  w.quarter = &w.sm->quarters[w.index % kQuarters];
  w.queuedAt = w.quarter->enter();
}

void Stopwatch::end(Cluster &c) {
  for (auto &cta : c.ctas)
    for (Warp &w : cta->warps)
      quarterOf(w).leave(w.queuedAt);
}

void Stopwatch::schedule(Warp &w, uint64_t cycle) {
  cycle = std::max(cycle, now);
  if (*w.queuedAt <= cycle)
    return;
  *w.queuedAt = cycle;
  w.queueNumber = numbers++;
  events.push({cycle, w.queueNumber, &w, 0});
}

void Stopwatch::complete(const AsyncIssuer &issuer, bool needsTurn,
                         AsyncQueue::Action action) {
  uint32_t at = uint32_t(operations.size());
  if (freeOperations.empty()) {
    operations.emplace_back();
  } else {
    at = freeOperations.back();
    freeOperations.pop_back();
  }
  operations[at] = {issuer, std::move(action), completionPath, needsTurn};
  if (asked != kNone)
    requests[asked].operations.push_back(at);
  else
    events.push({std::max(completion, now), numbers++, nullptr, at});
}

void Stopwatch::take(uint32_t operation) {
  Operation op = std::move(operations[operation]);
  freeOperations.push_back(operation);
  isEngine = true;
  cause = std::move(op.path);
  cause.reach(now, kOther);
  Fault fault = op.action();
  isEngine = false;
  ++op.issuer.warp->cta->cluster->effects;
  op.issuer.warp->fault(op.issuer.instr, fault, op.issuer.lanes);
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Returns the number of passes that a shared memory access needs. A bank
/// serves one word per pass. Wide accesses are split into groups of lanes. The
/// words of a lane occupy adjacent banks, and two lanes share all of these
/// banks or none.
uint64_t Stopwatch::sharedLines(const uint64_t addresses[32], uint32_t bytes,
                                uint32_t mask) {
  constexpr unsigned kBankBytes = 128, kWord = 4, kLanes = 32;
  unsigned width = std::min(std::max(bytes, kWord), kBankBytes);
  unsigned shift = unsigned(__builtin_ctz(width));
  unsigned banks = kBankBytes >> shift, lanes = banks;
  uint64_t passes = 0;
  for (unsigned first = 0; first < kLanes; first += lanes) {
    uint64_t seen[kLanes][kLanes]; // indexed by pass and bank
    uint8_t count[kLanes] = {}, most = 0;
    for (unsigned lane = first; lane < first + lanes; ++lane) {
      if (!(mask >> lane & 1))
        continue;
      uint64_t at = addresses[lane] >> shift;
      unsigned bank = unsigned(at) & (banks - 1), pass = 0;
      while (pass < count[bank] && seen[pass][bank] != at)
        ++pass;
      if (pass < count[bank])
        continue;
      seen[pass][bank] = at;
      most = std::max(most, ++count[bank]);
    }
    passes += most;
  }
  return passes;
}

void mx::sim::time::addPieces(std::vector<Piece> &pieces, uint64_t address,
                              uint64_t bytes) {
  // Memory is transferred in sectors.
  uint64_t end = (address + bytes + kSectorBytes - 1) & ~(kSectorBytes - 1);
  address &= ~(kSectorBytes - 1);
  while (address < end) {
    uint64_t line = address / kLineBytes;
    uint64_t stop = std::min(end, (line + 1) * kLineBytes);
    pieces.push_back({line, uint32_t(stop - address)});
    address = stop;
  }
}

void mx::sim::time::addSectors(std::vector<Piece> &pieces,
                               const uint64_t addresses[32], uint32_t bytes,
                               uint32_t mask) {
  uint64_t sectors[32 * 9];
  unsigned count = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    uint64_t address = addresses[__builtin_ctz(m)];
    for (uint64_t s = address / kSectorBytes;
         s <= (address + bytes - 1) / kSectorBytes; ++s)
      if (!count || sectors[count - 1] != s)
        sectors[count++] = s;
  }
  std::sort(sectors, sectors + count);
  count = unsigned(std::unique(sectors, sectors + count) - sectors);
  for (unsigned k = 0; k < count; ++k) {
    uint64_t line = sectors[k] * kSectorBytes / kLineBytes;
    if (!pieces.empty() && pieces.back().line == line)
      pieces.back().bytes += kSectorBytes;
    else
      pieces.push_back({line, uint32_t(kSectorBytes)});
  }
}

void Stopwatch::access(Warp &w, ptx::Space space, const uint64_t addresses[32],
                       uint32_t bytes, uint32_t mask, bool isWrite) {
  Multiprocessor &sm = smOf(w);
  if (space == ptx::Space::Param && priceOf(current).isIndexed)
    arrival = std::max(arrival, constantsOf(w, addresses, mask));
  if (space == ptx::Space::Param || space == ptx::Space::Const || !mask ||
      priceOf(current).isDropped)
    return;
  if (w.cta->leftOut && space != ptx::Space::Local)
    followLeftOut(w, space, addresses, bytes, mask, isWrite);
  if (space == ptx::Space::Shared) {
    uint64_t passes = sharedLines(addresses, bytes, mask);
    sm.sharedLines += passes;
    uint64_t last = portUntil = sm.shared.take(issuedAt, passes);
    arrival = std::max(
        arrival,
        arrivalOf(w, last, Source::Shared,
                  sm.sharedBusy.serve(issuedAt, last >= issuedAt + passes,
                                      w.group().path)));
    return;
  }
  pieces.clear();
  addSectors(pieces, addresses, bytes, mask);
  uint64_t through = portUntil = sm.shared.take(issuedAt, pieces.size());
  bool isLocal = space == ptx::Space::Local;
  const Path &path = sm.sharedBusy.serve(
      issuedAt, through >= issuedAt + pieces.size(), w.group().path);
  arrival = std::max(arrival, arrivalOf(w, through, Source::L1, path));
  // Spilled registers stay in L1.
  if (isLocal)
    return;
  Traffic traffic = isWrite                     ? Traffic::Store
                    : priceOf(current).passesL1 ? Traffic::Stream
                                                : Traffic::Load;
  if (traffic == Traffic::Load)
    takeFromL1(w, sm.l1, through, path);
  if (!pieces.empty())
    askForThreads(w, through, path, traffic);
}

/// Removes the pieces found in L1. A line in flight serves all waiting loads on
/// arrival. The arrival is unknown before the end of the window, but takes at
/// least the latency of L2.
void Stopwatch::takeFromL1(Warp &w, Tags &l1, uint64_t cycle, Path path) {
  uint64_t answer = chip.cyclesBeyond(Fact::L2Latency, Fact::L1Latency);
  uint64_t latest = cycle;
  auto isThere = [&](const Piece &piece) {
    Tags::Answer found = l1.touch(piece.line, false);
    if (!found.isHit)
      found.line->filled = cycle + answer;
    else
      latest = std::max(latest, found.line->filled);
    return found.isHit;
  };
  pieces.erase(std::remove_if(pieces.begin(), pieces.end(), isThere),
               pieces.end());
  path.reach(latest, Fact::L2Latency);
  arrival = std::max(arrival, arrivalOf(w, latest, Source::L1, path));
}

uint64_t Stopwatch::barrierLatency(const Warp &w, uint32_t number) const {
  const NamedBarrier &b = w.cta->barriers[number];
  uint64_t warps = b.expectedWarps ? b.expectedWarps : w.cta->warps.size();
  return chip.cycles(Fact::BarrierBase) +
         uint64_t(chip[Fact::BarrierWarp] * double(warps));
}

uint64_t Stopwatch::wakeLatency(const Warp &w, const Group &g) const {
  switch (g.wait) {
  case Wait::Mbarrier:
    return 0; // Group::hasWaited
  case Wait::NamedBarrier:
    return barrierLatency(w, g.index);
  case Wait::ClusterBarrier:
    return clusterLatency();
  case Wait::Poll:
  case Wait::TensorAlloc:
    return chip.cycles(Fact::MbarrierTest);
  default:
    return 1;
  }
}

//===----------------------------------------------------------------------===//
// Paths of groups after a wait
//===----------------------------------------------------------------------===//

void Stopwatch::goOn(const Warp &w, Group &g, Wait wait, bool wakes,
                     uint64_t begin, uint64_t end) {
  if (wakes)
    g.path = cause;
  g.path.reach(begin, kOther);
  if (wait == Wait::NamedBarrier)
    passBarrier(g.path, end);
  else if (wait == Wait::ClusterBarrier)
    passCluster(g.path, end);
  else
    g.path.reach(end, Fact::MbarrierTest);
}

void Stopwatch::passBarrier(Path &path, uint64_t end) const {
  uint64_t base = chip.cycles(Fact::BarrierBase);
  path.reach(std::min(end, path.cycle() + base), Fact::BarrierBase);
  path.reach(end, Fact::BarrierWarp);
}

void Stopwatch::passCluster(Path &path, uint64_t end) const {
  uint64_t base = chip.cycles(Fact::ClusterBarrier);
  path.reach(std::min(end, path.cycle() + base), Fact::ClusterBarrier);
  path.reach(end, Fact::ClusterBarrierCta);
}

void Stopwatch::arriveRemotely(Warp &w, Group &g) const {
  const Group &from = w.group();
  // The time of an engine already includes the path to the remote CTA.
  uint64_t cycle =
      isEngine ? now : from.step + chip.cycles(Fact::ClusterArrive);
  if (cycle <= g.step)
    return;
  g.step = cycle;
  g.path = isEngine ? cause : from.path;
  g.path.reach(cycle, Fact::ClusterArrive);
}
