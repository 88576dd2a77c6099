//===- Order.cpp - synchronisation of a cluster ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who learns what from whom. The rules are those of the PTX ISA's memory
// consistency model, taken for whole warps: what one lane knows its warp knows.
//===----------------------------------------------------------------------===//

#include "Order.h"

#include "../machine/Machine.h"

using namespace mx::sim;

//===----------------------------------------------------------------------===//
// Agents
//===----------------------------------------------------------------------===//

Order::Order(Machine &machine, Cluster &cluster, GlobalOrder &global)
    : machine(machine), cluster(cluster), global(global), id(cluster.index) {
  newAgent(AgentKind::Warp, 0, 0); // 0 is nobody
  for (auto &cta : cluster.ctas)
    for (Warp &w : cta->warps) {
      auto o = std::make_unique<WarpOrder>();
      o->self = newAgent(AgentKind::Warp, cta->rank, w.index);
      o->known.generic.raise(o->self, 1);
      o->known.executed.raise(o->self, 1);
      warps.push_back(std::move(o));
    }
}

WarpOrder &Order::of(Warp &w) {
  return *warps[w.cta->rank * machine.warpsPerCta + w.index];
}

uint32_t Order::newAgent(AgentKind kind, uint32_t cta, uint32_t warp) {
  // Beyond what an epoch can name, agents share the last number, whose accesses
  // always count as known.
  if (agents.size() + 1 < Epoch::kMaxAgents)
    agents.push_back({kind, cta, warp});
  return uint32_t(agents.size() - 1);
}

uint32_t Order::agentOf(uint32_t &slot, Warp &w, AgentKind kind) {
  if (!slot)
    slot = newAgent(kind, w.cta->rank, w.index);
  return slot;
}

uint32_t Order::instrNumber(const Instr *i) const {
  return uint32_t(i - machine.program.code.data());
}

//===----------------------------------------------------------------------===//
// Release and acquire
//===----------------------------------------------------------------------===//

/// The next step of a warp: what it does from now on is not yet known to
/// others.
void Order::step(WarpOrder &o) {
  uint32_t next = o.known.generic[o.self] + 1;
  o.known.generic.raise(o.self, next);
  o.known.executed.raise(o.self, next);
}

void Order::release(Warp &w, Knowledge &to) {
  WarpOrder &o = of(w);
  to.generic.join(o.known.generic);
  to.async.join(o.known.async);
  to.executed.join(o.known.executed);
  // What came with a fence before, and waits for one behind, waits on.
  to.tensor.join(o.tensorReleased);
  to.tensor.join(o.tensorAcquired);
  to.fenced.join(o.known.fenced);
  step(o);
}

void Order::releaseRelaxed(Warp &w, Knowledge &to) {
  WarpOrder &o = of(w);
  // What a fence before it has collected (PTX ISA, release pattern).
  to.generic.join(o.known.fenced);
  to.executed.join(o.known.executed);
  step(o);
}

void Order::acquire(Warp &w, const Knowledge &from) {
  WarpOrder &o = of(w);
  o.known.generic.join(from.generic);
  o.known.async.join(from.async);
  o.known.executed.join(from.executed);
  o.known.fenced.join(from.fenced);
  o.tensorAcquired.join(from.tensor);
  // Within one thread waiting for completion is enough (PTX ISA, "tcgen05
  // memory consistency model", same thread patterns).
  for (uint32_t own : {o.pipe, o.loads, o.stores})
    if (own)
      o.known.tensor.raise(own, from.tensor[own]);
}

void Order::proxyFence(Warp &w) {
  WarpOrder &o = of(w);
  o.known.async.join(o.known.generic);
  step(o);
}

void Order::tensorFenceBefore(Warp &w) {
  WarpOrder &o = of(w);
  o.tensorReleased.join(o.known.tensor);
}

void Order::tensorFenceAfter(Warp &w) {
  WarpOrder &o = of(w);
  o.known.tensor.join(o.tensorAcquired);
}

void Order::fence(Warp &w) {
  WarpOrder &o = of(w);
  acquire(w, o.unfenced);
  o.unfenced.clear();
  o.known.fenced.join(o.known.generic);
  step(o);
}

/// Background work of the generic proxy is done.
static void learnGeneric(Knowledge &k, uint32_t agent, uint32_t step) {
  k.generic.raise(agent, step);
  k.executed.raise(agent, step);
}

/// The same of the async proxy: nothing more is needed to go on with that.
static void learnAll(Knowledge &k, uint32_t agent, uint32_t step) {
  learnGeneric(k, agent, step);
  k.async.raise(agent, step);
}

void Order::strongRead(Warp &w, bool isGlobal, uint64_t address,
                       bool isAcquire) {
  WarpOrder &o = of(w);
  Knowledge &to = isAcquire ? o.known : o.unfenced;
  if (isGlobal) {
    global.acquire(address, to, id);
    return;
  }
  auto it = cells.find(address);
  if (it == cells.end())
    return;
  if (isAcquire)
    acquire(w, it->second);
  else
    o.unfenced.join(it->second);
}

void Order::strongWrite(Warp &w, bool isGlobal, uint64_t address,
                        bool isRelease) {
  WarpOrder &o = of(w);
  Knowledge k;
  if (isRelease) {
    release(w, k);
  } else {
    // What a fence before it has collected (release pattern).
    k.generic = o.known.fenced;
    k.async = o.known.async;
    k.fenced = o.known.fenced;
  }
  if (isGlobal)
    global.release(address, k, id);
  else
    cells[address].join(k);
}

void GlobalOrder::release(uint64_t address, const Knowledge &known,
                          uint64_t cluster) {
  Clock generic = known.generic.exported(cluster);
  Clock async = known.async.exported(cluster);
  std::lock_guard<std::mutex> lock(mutex);
  Knowledge &to = cells[address];
  to.generic.join(generic);
  to.async.join(async);
  to.fenced.join(generic);
}

bool GlobalOrder::acquire(uint64_t address, Knowledge &known,
                          uint64_t cluster) {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = cells.find(address);
  if (it == cells.end())
    return false;
  known.generic.import(it->second.generic, cluster);
  known.async.import(it->second.async, cluster);
  return true;
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

BarrierOrder &Order::barrier(Cta &cta, uint32_t offset) {
  std::unique_ptr<BarrierOrder> &b = cta.mbarriers[offset].order;
  if (!b) {
    b = std::make_unique<BarrierOrder>();
    b->agent = newAgent(AgentKind::Mbarrier, cta.rank, offset);
  }
  return *b;
}

void Order::arrive(const Knowledge &from, Cta &cta, uint32_t offset) {
  barrier(cta, offset).arriving.join(from);
}

void Order::completePhase(Warp &w, const Instr *i, Cta &cta, uint32_t offset) {
  BarrierOrder &b = barrier(cta, offset);
  ++b.phase;
  learnAll(b.arriving, b.agent, b.phase);
  b.completed.join(b.arriving);
  b.arriving.clear();
}

void Order::observe(Warp &w, const Instr *i, Cta &cta, uint32_t offset) {
  acquire(w, barrier(cta, offset).completed);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void Order::waitBulk(Warp &w, uint64_t completedGroups, bool isReadOnly) {
  WarpOrder &o = of(w);
  auto learn = [&](uint32_t agent) {
    learnAll(o.known, agent, uint32_t(completedGroups));
  };
  if (o.bulkReads)
    learn(o.bulkReads);
  if (o.bulkWrites && !isReadOnly)
    learn(o.bulkWrites);
}

void Order::commitCopies(Warp &w) {
  WarpOrder &o = of(w);
  o.copyCommits.push_back(o.copyStep++);
}

void Order::waitCopies(Warp &w, uint64_t pending) {
  WarpOrder &o = of(w);
  if (o.copies && o.copyCommits.size() > pending)
    learnGeneric(o.known, o.copies,
                 o.copyCommits[o.copyCommits.size() - 1 - pending]);
}

Knowledge Order::copiesSoFar(Warp &w) {
  WarpOrder &o = of(w);
  Knowledge k;
  learnGeneric(k, agentOf(o.copies, w, AgentKind::Copies), o.copyStep++);
  return k;
}

/// The warps of a warpgroup execute one operation together, so what one of them
/// has waited for is done for all.
uint32_t Order::wgmmaAgent(Warp &w) {
  Warp &first = w.cta->warps[w.index / 4 * 4];
  return agentOf(of(first).wgmma, first, AgentKind::Wgmma);
}

void Order::commitWgmma(Warp &w) {
  WarpOrder &o = of(w);
  o.wgmmaCommits.push_back(o.wgmmaStep++);
}

void Order::waitWgmma(Warp &w, uint64_t pending) {
  WarpOrder &o = of(w);
  if (o.wgmmaCommits.size() > pending)
    learnGeneric(o.known, wgmmaAgent(w),
                 o.wgmmaCommits[o.wgmmaCommits.size() - 1 - pending]);
}

void Order::waitTensorLoads(Warp &w) {
  WarpOrder &o = of(w);
  if (!o.loads)
    return;
  learnGeneric(o.known, o.loads, o.loadStep);
  o.known.tensor.raise(o.loads, o.loadStep++);
}

void Order::waitTensorStores(Warp &w) {
  WarpOrder &o = of(w);
  if (!o.stores)
    return;
  learnGeneric(o.known, o.stores, o.storeStep);
  o.known.tensor.raise(o.stores, o.storeStep++);
}

/// tcgen05.commit includes a tcgen05.fence::before_thread_sync (PTX ISA).
Knowledge Order::pipeSoFar(Warp &w) {
  WarpOrder &o = of(w);
  uint32_t agent = agentOf(o.pipe, w, AgentKind::Pipe);
  tensorFenceBefore(w);
  Knowledge k;
  release(w, k);
  learnAll(k, agent, o.pipeStep);
  k.tensor.raise(agent, o.pipeStep);
  ++o.pipeStep;
  return k;
}
