//===- Order.cpp - Synchronization of a cluster ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Propagates knowledge between agents by the rules of the PTX ISA memory
// consistency model. All lanes of a warp share their knowledge, but a lane
// executing alone publishes less (see Order.h).
//===----------------------------------------------------------------------===//

#include "Order.h"

#include "../machine/WorldState.h"

#include <utility>

using namespace mx::sim;

//===----------------------------------------------------------------------===//
// Agents
//===----------------------------------------------------------------------===//

Order::Order(Machine &machine, Cluster &cluster)
    : machine(machine), cluster(cluster), shadow(machine.shadow()),
      id(machine.firstCluster + cluster.index) {
  newAgent(AgentKind::Warp, 0, 0); // kKernelsBefore
  for (auto &cta : cluster.ctas)
    for (Warp &w : cta->warps) {
      auto o = std::make_unique<WarpOrder>();
      o->self = newAgent(AgentKind::Warp, cta->rank, w.index);
      if (machine.device)
        o->known = machine.device->known;
      o->known.generic.raise(o->self, 1);
      w.known = o.get();
      warps.push_back(std::move(o));
    }
  for (size_t k = 0; k < cluster.ctas.size(); ++k)
    ofCtas.push_back(std::make_unique<Published>());
}

void OrderCheck::start(Cluster &c) {
  auto order = std::make_unique<Order>(machine, c);
  c.order = order.get();
  c.observers.push_back(std::move(order));
}

uint32_t Order::newAgent(AgentKind kind, uint32_t cta, uint32_t warp) {
  if (agents.size() <= Epoch::kAnonymous)
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
// Lanes
//===----------------------------------------------------------------------===//

uint32_t Order::accessorAlone(Warp &w) {
  WarpOrder &o = of(w);
  uint32_t agent = agentOf(o.alone, w, AgentKind::Warp);
  o.known.generic.raise(agent, o.step());
  return agent;
}

bool Order::hidesOthers(Warp &w) {
  const WarpOrder &o = of(w);
  return o.touched > o.met && isAlone(w);
}

void Order::passOn(Warp &w, Clock &to, const Clock &from) {
  if (!hidesOthers(w))
    return to.join(from);
  WarpOrder &o = of(w);
  uint32_t known = to[o.self];
  to.join(from);
  to.lower(o.self, std::max(known, o.met));
}

void Order::setMet(WarpOrder &o, uint32_t step) {
  o.met = std::max(o.met, step);
  if (o.touched <= o.met)
    o.touching = o.meeting = o.speaking = 0;
}

void Order::meet(Warp &w, uint32_t lanes) {
  WarpOrder &o = of(w);
  o.meeting |= lanes;
  // A meeting of some lanes counts for all, because the members of earlier
  // meetings are not recorded.
  if (lanes & (lanes - 1))
    orderLanes(w);
  if (o.touched <= o.met || o.touching & w.live & ~o.meeting)
    return;
  setMet(o, o.step());
  o.nextStep();
}

void Order::orderLanes(Warp &w) {
  WarpOrder &o = of(w);
  if (o.accessed <= o.ordered)
    return;
  o.ordered = o.step();
  o.nextStep();
}

void Order::meetThrough(WarpOrder &o, const Clock &from) {
  setMet(o, from[o.self]);
  o.ordered = std::max(o.ordered, from[o.self]);
  if (o.alone)
    o.ordered = std::max(o.ordered, from[o.alone]);
}

void Order::exited(Warp &w) {
  if (w.live)
    return;
  meet(w, ~0u);
  release(w, w.cta->atExit);
}

void Order::completeBarrier(Cta &cta, uint32_t number) {
  NamedBarrier &b = cta.barriers[number];
  b.completed.join(b.arriving);
  b.arriving.clear();
  b.lastArrivals.swap(b.arrivals);
  b.arrivals.clear();
  for (Warp &w : cta.warps) {
    of(w).passedBarriers &= ~(1u << number);
    for (Group &g : w.groups)
      if (g.wait == Wait::NamedBarrier && g.index == number)
        passBarrier(w, number);
  }
}

void Order::passBarrier(Warp &w, uint32_t number) {
  acquire(w, w.cta->barriers[number].completed);
  of(w).passedBarriers |= 1u << number;
}

void Order::completeCluster() {
  cluster.barrierCompleted.join(cluster.barrierArriving);
  cluster.barrierArriving.clear();
}

void Order::speak(Warp &w) {
  WarpOrder &o = of(w);
  o.speaking |= w.executing;
  if (!(o.touching & ~o.speaking))
    setMet(o, o.step());
}

std::shared_ptr<const Knowledge> Order::knownAlone(Warp &w) {
  if (!hidesOthers(w))
    return nullptr;
  WarpOrder &o = of(w);
  auto known = std::make_shared<Knowledge>(o.known);
  for (Clock *clock :
       {&known->generic, &known->async, &known->asyncGlobal, &known->maps})
    clock->lower(o.self, o.met);
  for (MemoryScope level : machine.scopes)
    known->fencedIn(level).lower(o.self, o.met);
  known->ofOthers.raise(o.self, o.touched);
  return known;
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

BarrierOrder &Order::barrier(Cta &cta, uint32_t offset) {
  std::shared_ptr<BarrierOrder> &b = cta.mbarriers[offset].order;
  if (!b) {
    b = std::make_shared<BarrierOrder>();
    b->agent = newAgent(AgentKind::Mbarrier, cta.rank, offset);
  }
  return *b;
}

void Order::arrive(const Knowledge &from, Cta &cta, uint32_t offset) {
  barrier(cta, offset).arriving.join(from);
}

void Order::initBarrier(Warp &w, const Instr *i, Cta &cta, uint32_t offset) {
  // Reinitialization reuses the agent and continues to count its steps. The
  // number of agents is limited, and a loop may reinitialize an mbarrier in
  // each iteration.
  std::shared_ptr<BarrierOrder> &b = cta.mbarriers[offset].order;
  if (b) {
    auto fresh = std::make_shared<BarrierOrder>();
    fresh->agent = b->agent;
    fresh->phase = b->phase;
    b = std::move(fresh);
  }
  WarpOrder &o = of(w);
  uint32_t agent = agentOf(o.inits, w, AgentKind::Inits);
  barrier(cta, offset).init =
      Epoch(agent, o.initStep, instrNumber(i), false, false);
  o.known.generic.raise(agent, o.initStep++);
}

void Order::invalBarrier(Warp &w, const Instr *i, Cta &cta, uint32_t offset) {
  BarrierOrder &b = barrier(cta, offset);
  b.inval = arrivalEpoch(w, i);
  b.users.clear();
  b.observers.clear();
}

bool Order::comesAfter(Warp &w, Epoch e) {
  const Knowledge &known = of(w).known;
  return e.isAnonymous() || known.isDone(e.agent(), e.step()) ||
         known.ofOthers[e.agent()] >= e.step();
}

Epoch Order::arrivalEpoch(Warp &w, const Instr *i) {
  const WarpOrder &o = of(w);
  return Epoch(o.self, o.step(), instrNumber(i), false, false);
}

std::string Order::unorderedArrival(Warp &w, uint32_t number) {
  const Clock &known = of(w).known.generic;
  if (of(w).passedBarriers >> number & 1)
    return {};
  for (Epoch e : w.cta->barriers[number].lastArrivals)
    if (known[e.agent()] < e.step() && !comesAfter(w, e))
      return describeAgent(e.agent()) + " (line " + std::to_string(lineOf(e)) +
             ")";
  return {};
}

std::string Order::unorderedWithChange(Warp &w, Cta &cta, uint32_t offset) {
  const BarrierOrder &b = barrier(cta, offset);
  auto describe = [&](const char *what, Epoch e) {
    return what + std::to_string(lineOf(e)) + " by " + describeAgent(e.agent());
  };
  if (b.inval && !comesAfter(w, b.inval))
    return describe("the mbarrier.inval at line ", b.inval);
  for (Epoch e : b.users)
    if (!comesAfter(w, e))
      return describe("the use at line ", e);
  return {};
}

void Order::noteUse(BarrierOrder &b, Epoch e) {
  for (Epoch &user : b.users)
    if (user.agent() == e.agent()) {
      user = e;
      return;
    }
  b.users.push_back(e);
}

void Order::noteUse(Warp &w, const Instr *i, uint32_t step, Cta &cta,
                    uint32_t offset) {
  // If the lane must not publish joint actions of the warp, attribute the use
  // to the lane's own agent.
  WarpOrder &o = of(w);
  uint32_t agent =
      hidesOthers(w) ? agentOf(o.alone, w, AgentKind::Warp) : o.self;
  if (agent == o.alone)
    o.known.generic.raise(agent, step);
  noteUse(barrier(cta, offset),
          Epoch(agent, step, instrNumber(i), false, false));
}

void Order::noteCopyUse(const Instr *i, Cta &cta, uint32_t offset) {
  BarrierOrder &b = barrier(cta, offset);
  noteUse(b, Epoch(b.agent, b.phase + 1, instrNumber(i), false, true));
}

void Order::noteEngineUse(Warp &w, const Instr *i, AgentKind engine,
                          const Knowledge &known, Cta &cta, uint32_t offset) {
  const WarpOrder &o = of(w);
  uint32_t agent = engine == AgentKind::Pipe ? o.pipe : o.copies;
  noteUse(barrier(cta, offset),
          Epoch(agent, known.generic[agent], instrNumber(i), false, true));
}

void Order::useBarrier(Warp &w, const Instr *i, uint32_t lanes,
                       const Knowledge &known, Cta &cta, uint32_t offset) {
  const BarrierOrder &b = barrier(cta, offset);
  // Formally, a relaxed arrival at the cluster barrier publishes an mbarrier
  // only if fence.mbarrier_init follows the init, but published kernels
  // initialize some mbarriers after the fence.
  if (!b.init || b.init.isAnonymous() ||
      known.isDone(b.init.agent(), b.init.step()))
    return;
  std::string init = "the mbarrier.init at line " +
                     std::to_string(lineOf(b.init)) + " by " +
                     describeAgent(b.init.agent());
  if (w.note(i, {FindingKind::Race, Situation::EarlyBarrier},
             "the use of the mbarrier at " +
                 machine.describeSharedOffset(offset) + ofRank(cta.rank) +
                 " races with " + init + ": no synchronization orders the two",
             lanes))
    nameOther(init, machine.program, b.init.instr());
}

void Order::checkInitFence(Warp &w, const Instr *i, uint32_t lanes,
                           const Knowledge &known, Cta &cta, uint32_t offset) {
  Epoch init = barrier(cta, offset).init;
  if (!init || known.async[init.agent()] >= init.step() ||
      !known.isDone(init.agent(), init.step()))
    return;
  std::string text = "the mbarrier.init at line " +
                     std::to_string(lineOf(init)) + " by " +
                     describeAgent(init.agent());
  // Only a warning: widely used libraries omit the fence, and hardware shows
  // the initialized mbarrier to the copies.
  if (w.note(i, {FindingKind::ProxyFence, Situation::InitFence},
             "the copy signals the mbarrier at " +
                 machine.describeSharedOffset(offset) + ofRank(cta.rank) +
                 ", and no fence orders " + text +
                 " before the async proxy: expected fence.mbarrier_init after "
                 "the init, or fence.proxy.async",
             lanes, /*isWarning=*/true))
    nameOther(text, machine.program, init.instr());
}

/// Returns true if an arrival of the current phase follows the observation. If
/// the observer's warpgroup executes wgmma, an observation by any of its warps
/// suffices.
bool Order::hasSeen(const BarrierOrder &b,
                    const BarrierOrder::Observer &o) const {
  const Knowledge &k = b.arriving;
  auto knows = [&](const BarrierOrder::Observer &s) {
    if (k.isDone(s.warp, s.step))
      return true;
    // Also accept arrivals by a lane executing alone.
    const Agent &a = agents[s.warp];
    uint32_t alone = warps[a.cta * machine.warpsPerCta + a.warp]->alone;
    return alone && k.generic[alone] >= s.step;
  };
  if (knows(o))
    return true;
  const Agent &a = agents[o.warp];
  if (!cluster.ctas[a.cta]->warps[a.warp].wgmma)
    return false;
  for (const BarrierOrder::Observer &s : b.observers) {
    const Agent &other = agents[s.warp];
    if (other.cta == a.cta && other.warp / 4 == a.warp / 4 &&
        s.phase == o.phase && knows(s))
      return true;
  }
  return false;
}

/// Completes a phase, after checking that its arrivals follow all observations
/// of the preceding phase. A wait only recognizes the end of the immediately
/// preceding phase (PTX ISA, mbarrier.test_wait). A warp that is late by one
/// phase would therefore wait until a further phase ends.
void Order::completePhase(Warp &w, const Instr *i, uint32_t lanes, Cta &cta,
                          uint32_t offset) {
  BarrierOrder &b = barrier(cta, offset);
  for (const BarrierOrder::Observer &o : b.observers)
    if (o.phase == b.phase && !hasSeen(b, o)) {
      std::string line = std::to_string(machine.program.info[o.instr].line);
      if (w.note(i, FindingKind::PhaseOverrun,
                 "phase " + std::to_string(b.phase) + " of the mbarrier at " +
                     machine.describeSharedOffset(offset) + ofRank(cta.rank) +
                     " may complete before " + describeAgent(o.warp) +
                     ", which waits at line " + line +
                     ", has observed the end of the preceding phase: expected "
                     "an arrival after the wait",
                 lanes, /*isWarning=*/true))
        nameOther("the wait at line " + line + " by " + describeAgent(o.warp),
                  machine.program, o.instr);
      break;
    }
  b.observers.clear();
  ++b.phase;
  b.arriving.generic.raise(b.agent, b.phase);
  b.arriving.async.raise(b.agent, b.phase);
  b.completed.join(b.arriving);
  b.arriving.clear();
}

void Order::observe(Warp &w, const Instr *i, Cta &cta, uint32_t offset,
                    bool isRelaxed) {
  BarrierOrder &b = barrier(cta, offset);
  if (isRelaxed) {
    of(w).tensorAcquired.join(b.completed.tensor);
    of(w).unfenced[int(machine.scopes.front())].join(b.completed);
    return;
  }
  acquire(w, b.completed);
  const WarpOrder &o = of(w);
  uint32_t step = o.step();
  for (BarrierOrder::Observer &seen : b.observers)
    if (seen.warp == o.self) {
      seen.step = step;
      return;
    }
  b.observers.push_back({o.self, step, b.phase, instrNumber(i)});
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void Order::waitBulk(Warp &w, uint64_t completedGroups, bool isReadOnly) {
  WarpOrder &o = of(w);
  auto learn = [&](uint32_t agent) {
    o.known.generic.raise(agent, uint32_t(completedGroups));
    o.known.async.raise(agent, uint32_t(completedGroups));
  };
  if (o.bulkReads)
    learn(o.bulkReads);
  if (o.bulkWrites && !isReadOnly)
    learn(o.bulkWrites);
}

/// Returns the last step of the newest complete group if `pending` groups are
/// incomplete, or 0.
static uint32_t lastDone(const std::vector<uint32_t> &commits,
                         uint64_t pending) {
  return commits.size() > pending ? commits[commits.size() - 1 - pending] : 0;
}

void Order::commitCopies(Warp &w) {
  WarpOrder &o = of(w);
  o.copyCommits.push_back(o.copyStep++);
}

void Order::waitCopies(Warp &w, uint64_t pending) {
  // The copies may complete later, because wait_all only checks once.
  WarpOrder &o = of(w);
  if (uint32_t step = lastDone(o.copyCommits, pending))
    o.known.generic.raise(agentOf(o.copies, w, AgentKind::Copies), step);
}

Knowledge Order::copiesSoFar(Warp &w) {
  WarpOrder &o = of(w);
  Knowledge k;
  k.generic.raise(agentOf(o.copies, w, AgentKind::Copies), o.copyStep++);
  k.executed.join(o.known.generic);
  k.executed.join(o.known.executed);
  return k;
}

/// Returns the wgmma agent of a warpgroup. The four warps execute wgmma
/// jointly, so a wait by one warp covers the operations of all four.
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
  if (uint32_t step = lastDone(o.wgmmaCommits, pending))
    o.known.generic.raise(wgmmaAgent(w), step);
}

void Order::waitTensorLoads(Warp &w) {
  WarpOrder &o = of(w);
  if (!o.loads)
    return;
  o.known.generic.raise(o.loads, o.loadStep);
  o.known.tensor.raise(o.loads, o.loadStep++);
}

void Order::waitTensorStores(Warp &w) {
  WarpOrder &o = of(w);
  if (!o.stores)
    return;
  o.known.generic.raise(o.stores, o.storeStep);
  o.known.tensor.raise(o.stores, o.storeStep++);
}

/// Collects the knowledge of the tensor pipe. tcgen05.commit implies
/// tcgen05.fence::before_thread_sync (PTX ISA).
Knowledge Order::pipeSoFar(Warp &w) {
  WarpOrder &o = of(w);
  uint32_t agent = agentOf(o.pipe, w, AgentKind::Pipe);
  tensorFenceBefore(w);
  Knowledge k;
  release(w, k);
  k.generic.raise(agent, o.pipeStep);
  k.async.raise(agent, o.pipeStep);
  k.tensor.raise(agent, o.pipeStep);
  ++o.pipeStep;
  return k;
}
