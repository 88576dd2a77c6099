//===- Warp.cpp - Divergence and convergence of lane groups ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A branch that splits a group creates a convergence point at its immediate
// post-dominator, where arriving lanes wait for the rest. Otherwise groups are
// independent, as threads have been since Volta (PTX ISA, "Independent thread
// scheduling"): if a group cannot continue, another group of the warp runs.
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include <algorithm>

using namespace mx::sim;

/// Selects the next runnable group in round-robin order. Rechecks the condition
/// of every waiting group.
bool Warp::pickGroup() {
  size_t n = groups.size();
  for (size_t k = 0; k < n; ++k) {
    size_t i = (current + k) % n;
    Group &g = groups[i];
    if (g.wait != Wait::None && !machine->ready(*this, g))
      continue;
    g.wait = Wait::None;
    current = i;
    return true;
  }
  return false;
}

uint64_t Warp::run(uint64_t budget) {
  if (Interpreter *interpreter = cta->cluster->interpreter)
    return interpreter->run(*this, budget);
  uint64_t done = 0;
  while (done < budget && !cta->cluster->stopped && !groups.empty() &&
         pickGroup()) {
    const Instr *i = groups[current].pc;
    mask = groups[current].mask;
    uint64_t left = budget - done;
    while (left) {
      --left;
      uint32_t m = mask;
      if (i->guard != kNoSlot) {
        m &= predicate(i->guard);
        if (!m) {
          if (__builtin_expect(pendingCount, 0))
            skipUndefined(i);
          ++i;
          continue;
        }
      }
      executing = m;
      if (__builtin_expect(pendingCount, 0) && !checkPending(i))
        i = nullptr;
      else
        i = i->fn(*this, i, m);
      if (!i)
        break;
    }
    done = budget - left;
    if (i) {
      // The budget is exhausted; the next group runs first next time.
      groups[current].pc = i;
      current = (current + 1) % groups.size();
    }
  }
  return done;
}

void Warp::dropGroup(size_t index) {
  if (index + 1 < groups.size())
    groups[index] = std::move(groups.back());
  groups.pop_back();
  if (current >= groups.size())
    current = 0;
}

const Instr *Warp::block(const Instr *pc, Wait wait) {
  Group &g = group();
  g.pc = pc;
  g.wait = wait;
  cta->waitingWarps |= 1u << index;
  if (wait == Wait::Poll || wait == Wait::Mbarrier ||
      wait == Wait::TensorAlloc || wait == Wait::Warpgroup ||
      wait == Wait::Word)
    g.index = cta->cluster->round;
  return nullptr;
}

Group Warp::fork() {
  Group other;
  other.step = group().step;
  other.block = group().step;
  other.path = group().path;
  if (!trace)
    return other;
  auto isTaken = [&](uint32_t strand) {
    for (const Group &g : groups)
      if (g.strand == strand)
        return true;
    for (const Convergence &c : convs)
      if (c.pc && c.strand == strand)
        return true;
    return false;
  };
  while (isTaken(other.strand))
    ++other.strand;
  for (auto &o : cta->cluster->observers)
    o->forked(*this, other.strand);
  return other;
}

const Instr *Warp::diverge(const Instr *i, uint32_t taken,
                           const Instr *target) {
  const Program &program = machine->program;
  Group &g = group();
  const Instr *meet =
      i->aux == kNoSlot ? nullptr : program.code.data() + i->aux;
  int32_t conv = g.conv;
  if (meet && (conv < 0 || convs[conv].pc != meet)) {
    // A freed entry has no pc.
    size_t k = 0;
    while (k < convs.size() && convs[k].pc)
      ++k;
    if (k == convs.size())
      convs.emplace_back();
    convs[k] = {meet, g.mask, 0, conv, 0, g.strand};
    conv = k;
  }
  Group other = fork();
  other.pc = target;
  other.mask = taken;
  other.conv = conv;
  g.conv = conv;
  g.mask &= ~taken;
  mask = g.mask;
  groups.push_back(other);
  return i + 1;
}

/// Releases a convergence point after all expected lanes have arrived or
/// exited.
void Warp::finishConvergence(int32_t conv) {
  Convergence &c = convs[conv];
  if (c.arrived != c.expected)
    return;
  if (c.expected) {
    Group g;
    g.pc = c.pc;
    g.mask = c.arrived;
    g.conv = c.parent;
    c.letGo(g);
    g.strand = c.strand;
    groups.push_back(g);
  }
  c.pc = nullptr;
  c.expected = c.arrived = 0;
}

const Instr *Warp::arriveAt(const Instr *i) {
  Group &g = group();
  while (g.conv >= 0 && convs[g.conv].pc == i) {
    Convergence &c = convs[g.conv];
    c.arrived |= g.mask;
    c.arrive(g);
    if (c.arrived != c.expected) {
      dropGroup(current);
      return nullptr;
    }
    g.mask = c.arrived;
    g.conv = c.parent;
    c.letGo(g);
    g.strand = c.strand;
    c.pc = nullptr;
    c.expected = c.arrived = 0;
  }
  mask = g.mask;
  return i + 1;
}

const Instr *Warp::exitLanes(const Instr *i, uint32_t lanes) {
  size_t me = current;
  int32_t conv = groups[me].conv;
  live &= ~lanes;
  Cluster &cluster = *cta->cluster;
  ++cluster.effects;
  cluster.liveThreads -= __builtin_popcount(lanes);
  // A thread that arrives at the cluster barrier and exits without waiting is
  // removed from both the arrived and the expected threads.
  if (clusterTicket == cluster.generation) {
    cluster.arrivedThreads -= __builtin_popcount(clusterLanes & lanes);
    clusterLanes &= ~lanes;
  }
  for (auto &o : cluster.observers)
    o->exited(*this);
  if (!live)
    --cta->liveWarps;
  bool isGone = groups[me].mask == lanes;
  if (isGone)
    dropGroup(me);
  else {
    groups[me].mask &= ~lanes;
    mask = groups[me].mask;
  }
  while (conv >= 0) {
    int32_t parent = convs[conv].parent;
    convs[conv].expected &= ~lanes;
    convs[conv].arrived &= ~lanes;
    finishConvergence(conv);
    conv = parent;
  }
  machine->checkNamedBarriers(*cta);
  machine->checkClusterBarrier(cluster);
  return isGone ? nullptr : i + 1;
}

bool Warp::breakConvergence() {
  bool any = false;
  for (size_t k = 0; k < convs.size(); ++k) {
    Convergence &c = convs[k];
    if (!c.pc || !c.arrived)
      continue;
    Group g;
    if (trace && !groups.empty())
      g = fork();
    g.pc = c.pc + 1;
    g.mask = c.arrived;
    g.conv = c.parent;
    c.letGo(g);
    c.expected &= ~c.arrived;
    c.arrived = 0;
    groups.push_back(g);
    any = true;
  }
  return any;
}

void Warp::meet(uint32_t lanes) {
  for (auto &o : cta->cluster->observers)
    o->meet(*this, lanes);
}

bool Warp::collect(const Instr *i, uint32_t &lanes, uint32_t members) {
  uint32_t needed = members & live;
  uint32_t here = lanes;
  if ((here & needed) == needed) {
    meet(needed);
    return true;
  }
  // Other groups may execute this instruction with different members.
  auto isPartner = [&](size_t k) {
    const Group &g = groups[k];
    return k != current && g.wait == Wait::Collective && g.pc == i &&
           (g.needed & live) == needed;
  };
  for (size_t k = 0; k < groups.size(); ++k)
    if (isPartner(k))
      here |= groups[k].ticket;
  if ((here & needed) != needed) {
    group().needed = needed;
    group().ticket = lanes;
    block(i, Wait::Collective);
    return false;
  }
  for (size_t k = 0; k < groups.size(); ++k) {
    Group &g = groups[k];
    if (isPartner(k)) {
      g.wait = Wait::None;
      g.pc = i + 1;
      if (g.step >= group().step)
        group().path = g.path;
      group().step = std::max(group().step, g.step + 1);
    }
  }
  for (size_t k = 0; k < groups.size(); ++k)
    if (groups[k].pc == i + 1 && groups[k].mask & here) {
      groups[k].step = groups[k].block = group().step;
      groups[k].path = group().path;
    }
  lanes = here;
  meet(needed);
  return true;
}

/// Tracks registers of a tcgen05.ld, which are undefined until
/// tcgen05.wait::ld. Moves propagate the state, because compilers pack
/// registers before the wait; any other use is reported.
bool Warp::checkPending(const Instr *i) {
  if (wgmma && !wgmma->check(*this, i))
    return false;
  undefined.check(*this, i, mask, executing);
  const Program &p = machine->program;
  const InstrInfo &info = p.infoOf(i);
  bool found = false;
  for (uint32_t k = 0; k < info.numUses; ++k) {
    Slot s = p.uses[info.firstUse + k];
    if (!(s & kSlotConstant) && pending[s / 128])
      found = true;
  }
  if (found && !info.isMove) {
    note(i, FindingKind::LoadBeforeWait,
         "a register loaded by tcgen05.ld is used before tcgen05.wait::ld",
         mask, /*isWarning=*/true);
    // On all known chips, using a register waits for its load.
    forgetTensorLoads();
    for (auto &o : cta->cluster->observers)
      o->waitTensorLoads(*this);
    return !cta->cluster->stopped;
  }
  for (uint32_t k = 0; k < info.numDefs; ++k) {
    uint8_t &flag = pending[p.defs[info.firstDef + k] / 128];
    pendingCount += found - flag;
    flag = found;
  }
  return true;
}

void Warp::skipUndefined(const Instr *i) { undefined.check(*this, i, mask, 0); }

void Warp::forgetTensorLoads() {
  for (uint8_t &flag : pending) {
    pendingCount -= flag;
    flag = 0;
  }
}

uint32_t Warp::line(LineKind kind) const {
  const Machine &m = *machine;
  return (cta->rank * m.warpsPerCta + index) * 4 + kind;
}

const Instr *Warp::completeTimed(const Instr *i, uint32_t lanes, bool needsTurn,
                                 AsyncQueue::Action action) {
  ++cta->cluster->timedOperations;
  machine->timing->complete({this, i, lanes}, needsTurn, std::move(action));
  return i + 1;
}
