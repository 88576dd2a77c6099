//===- Barrier.cpp - Barriers of CTAs and clusters ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: bar, barrier, barrier.cluster.
//===----------------------------------------------------------------------===//

#include "../checks/Order.h"
#include "../machine/Lanes.h"
#include "../report/Recorder.h"
#include "Instructions.h"

using namespace mx::sim;

namespace {

enum : uint32_t { kSync = 0, kArrive = 1, kRed = 2 };

/// a: barrier, b: threads or kNoSlot, c: predicate of .red; aux: kSync, kArrive
/// or kRed.
const Instr *namedBarrier(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t number = uniform32(w, i->a, mask);
  if (number >= 16)
    return w.fail(i, {FindingKind::Barrier, Situation::NamedBarrier},
                  "barrier " + std::to_string(number) +
                      ": expected a barrier from 0 to 15",
                  mask);
  uint32_t threads = i->b == kNoSlot ? 0 : uniform32(w, i->b, mask);
  if (i->b != kNoSlot && (threads == 0 || threads % 32 || threads > 1024))
    return w.fail(i, {FindingKind::Barrier, Situation::NamedBarrier},
                  "barrier " + std::to_string(number) + " for " +
                      std::to_string(threads) +
                      " threads, which is not a multiple of the warp size",
                  mask);
  Cta &cta = *w.cta;
  NamedBarrier &b = cta.barriers[number];
  uint32_t warps = threads / 32;
  if (b.active && b.expectedWarps != warps)
    return w.fail(i, {FindingKind::Barrier, Situation::NamedBarrier},
                  "barrier " + std::to_string(number) + " for " +
                      (warps ? std::to_string(threads) + " threads"
                             : std::string("all threads")) +
                      ", but other warps arrived at it for " +
                      (b.expectedWarps
                           ? std::to_string(b.expectedWarps * 32) + " threads"
                           : std::string("all threads")),
                  mask);
  // Barriers count arrivals, not warps: after a bar.arrive, a warp may arrive
  // again at a barrier with a thread count.
  if (warps && (b.lanes[w.index] & w.live) == w.live)
    b.lanes[w.index] = 0;
  if (b.lanes[w.index] & mask)
    return w.fail(i, {FindingKind::Barrier, Situation::NamedBarrier},
                  "the warp arrives at barrier " + std::to_string(number) +
                      " again before the other warps have arrived",
                  mask);
  ++w.cta->cluster->effects;
  b.active = true;
  b.expectedWarps = warps;
  b.lanes[w.index] |= mask;
  Order *order = w.order();
  if (order) {
    order->meet(w, ~0u);
    if (w.machine->config.checks & kCheckBarrier)
      if (std::string other = order->unorderedArrival(w, number);
          !other.empty())
        return w.fail(i, {FindingKind::Barrier, Situation::NamedBarrier},
                      "the warp arrives at barrier " + std::to_string(number) +
                          ", where " + other +
                          " arrived last: no synchronization orders the two "
                          "arrivals, so the barrier may count either of them "
                          "first: expected different barriers, or another "
                          "barrier between the two arrivals",
                      mask);
    b.arrivals.push_back(order->arrivalEpoch(w, i));
    order->release(w, b.arriving);
  }
  if (w.trace)
    w.trace->arriveAtBarrier(w, number);
  w.counts.barrierWaits += (i->aux & 3) != kArrive;
  uint32_t kind = i->aux & 3;
  if (kind == kRed) {
    uint32_t p = w.predicate(i->c);
    b.redPopc += __builtin_popcount(p & mask);
    b.redAnd &= (p & mask) == mask;
    b.redOr |= (p & mask) != 0;
  }
  if ((b.lanes[w.index] & w.live) == w.live)
    ++b.arrivedWarps;
  uint32_t generation = b.generation;
  w.machine->completeNamedBarrier(cta, b);
  if (kind == kArrive)
    return i + 1;
  if (b.generation != generation) {
    if (order)
      order->passBarrier(w, number);
    if (w.trace)
      w.trace->passBarrier(w, number, generation);
    return i + 1;
  }
  w.group().ticket = generation;
  w.block(i + 1, Wait::NamedBarrier);
  w.group().index = number;
  return nullptr;
}

/// Reads the result of a bar.red from the last completed generation. a:
/// barrier, d: result; aux: 0 popc, 1 and, 2 or.
const Instr *barrierResult(Warp &w, const Instr *i, uint32_t mask) {
  NamedBarrier &b = w.cta->barriers[uniform32(w, i->a, mask)];
  switch (i->aux) {
  case 0:
    forLanes(mask,
             [&](unsigned lane) { w.at<uint32_t>(i->d)[lane] = b.redResult; });
    break;
  case 1:
    setPredicate(w, i->d, b.resultAnd ? ~0u : 0, mask);
    break;
  case 2:
    setPredicate(w, i->d, b.resultOr ? ~0u : 0, mask);
    break;
  }
  return i + 1;
}

/// aux: true for .relaxed.
const Instr *clusterArrive(Warp &w, const Instr *i, uint32_t mask) {
  Cluster &c = *w.cta->cluster;
  if (c.order) {
    c.order->meet(w, ~0u);
    if (i->aux)
      c.order->releaseRelaxed(w, c.barrierArriving);
    else
      c.order->release(w, c.barrierArriving);
  }
  if (w.clusterTicket != c.generation)
    w.clusterLanes = 0;
  w.clusterTicket = c.generation;
  w.clusterLanes |= mask;
  c.arrivedThreads += __builtin_popcount(mask);
  if (w.trace)
    w.trace->arriveAtCluster(w);
  ++w.cta->cluster->effects;
  w.machine->checkClusterBarrier(c);
  return i + 1;
}
const Instr *clusterWait(Warp &w, const Instr *i, uint32_t mask) {
  Cluster &c = *w.cta->cluster;
  // Divergent groups of lanes wait one after another. Lanes that have not
  // arrived again wait for the completed phase, even if other lanes of the warp
  // have arrived for the next phase.
  if (c.generation != w.clusterTicket || !(w.clusterLanes & mask)) {
    if (c.order)
      c.order->acquire(w, c.barrierCompleted);
    ++w.counts.clusterWaits;
    if (w.trace)
      w.trace->passCluster(w, w.clusterTicket);
    return i + 1;
  }
  w.group().ticket = w.clusterTicket;
  return w.block(i, Wait::ClusterBarrier);
}

void decodeBar(Decoder &d) {
  if (d.take("warp")) {
    d.take("sync");
    Slot m = d.use(0, {'B', 32});
    d.emit(warpSync).a = m;
    return;
  }
  if (d.take("cluster")) {
    int k = d.takeAny({"arrive", "wait"});
    bool isRelaxed = d.takeAny({"relaxed", "release", "acquire"}) == 0;
    d.take("aligned");
    if (k < 0)
      return d.unsupported("expects .arrive or .wait");
    d.emit(k ? clusterWait : clusterArrive).aux = isRelaxed;
    return;
  }
  d.take("cta");
  int kind = d.takeAny({"sync", "arrive", "red"});
  d.take("aligned");
  if (kind < 0)
    return d.unsupported("expects .sync, .arrive or .red");
  size_t k = 0;
  int op = -1;
  Slot out = kNoSlot;
  if (kind == int(kRed)) {
    op = d.takeAny({"popc", "and", "or"});
    d.takeAny({"u32", "pred"});
    if (op < 0)
      return d.unsupported("expects .popc, .and or .or");
    out = op == 0 ? d.def(0, {'U', 32}) : d.defPredicate(0);
    k = 1;
  }
  if (!d.expectOperands(k + 1 + (op >= 0), k + 2 + (op >= 0)))
    return;
  Slot number = d.use(k++, {'U', 32});
  Slot threads = kNoSlot, p = kNoSlot;
  if (k + (op >= 0) < d.numOperands())
    threads = d.use(k++, {'U', 32});
  if (op >= 0)
    p = d.usePredicate(k);
  if (kind == int(kArrive) && threads == kNoSlot)
    return d.unsupported("expects the number of threads");
  Instr &i = d.emit(namedBarrier);
  i.a = number;
  i.b = threads;
  i.c = p;
  i.aux = kind;
  if (op >= 0) {
    Instr &r = d.emit(barrierResult);
    r.a = number;
    r.d = out;
    r.aux = op;
  }
}

} // namespace

void mx::sim::addBarrierInstructions(DecodeTable &t) {
  t["bar"] = decodeBar;
  t["barrier"] = decodeBar;
}
