//===- Release.cpp - Publication by releases ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements fences, strong reads and strong writes in their scopes (PTX ISA,
// "Release and acquire patterns" and "Causality order").
//===----------------------------------------------------------------------===//

#include "Order.h"

#include "../machine/WorldState.h"

#include <utility>

using namespace mx::sim;

void Order::release(Warp &w, Knowledge &to) {
  WarpOrder &o = of(w);
  speak(w);
  to.executed.join(o.known.executed);
  // Pass on knowledge released by a tcgen05 fence, and knowledge acquired
  // without such a fence.
  to.tensor.join(o.tensorReleased);
  to.tensor.join(o.tensorAcquired);
  to.ofOthers.join(o.known.ofOthers);
  if (!hidesOthers(w)) {
    to.generic.join(o.known.generic);
    to.async.join(o.known.async);
    to.asyncGlobal.join(o.known.asyncGlobal);
    to.maps.join(o.known.maps);
    to.fenced.join(o.known.fenced);
    to.joinRare(o.known);
  } else {
    passOn(w, to.generic, o.known.generic);
    passOn(w, to.async, o.known.async);
    passOn(w, to.asyncGlobal, o.known.asyncGlobal);
    passOn(w, to.maps, o.known.maps);
    passOnFenced(w, to);
    to.generic.raise(accessor(w), o.step());
    to.ofOthers.raise(o.self, o.step());
  }
  o.nextStep();
}

void Order::releaseRelaxed(Warp &w, Knowledge &to) {
  WarpOrder &o = of(w);
  speak(w);
  // Knowledge collected by an earlier fence (PTX ISA, release pattern).
  const Clock &fenced = std::as_const(o.known).fencedIn(machine.scopes.front());
  passOn(w, to.generic, fenced);
  passOn(w, to.executed, o.known.generic);
  to.executed.join(o.known.executed);
  to.tensor.join(o.tensorReleased);
  if (o.inits)
    to.async.raise(o.inits, o.known.async[o.inits]);
  to.ofOthers.join(o.known.ofOthers);
  if (hidesOthers(w))
    to.ofOthers.raise(o.self, fenced[o.self]);
  o.nextStep();
}

Knowledge Order::beyondCta(const Knowledge &released) {
  Knowledge k;
  k.executed = released.generic;
  k.executed.join(released.executed);
  k.ownRare().narrow = released.generic;
  return k;
}

void Order::acquire(Warp &w, const Knowledge &from) {
  WarpOrder &o = of(w);
  o.known.generic.join(from.generic);
  o.known.async.join(from.async);
  o.known.asyncGlobal.join(from.asyncGlobal);
  o.known.maps.join(from.maps);
  o.known.executed.join(from.executed);
  o.known.fenced.join(from.fenced);
  o.known.ofOthers.join(from.ofOthers);
  o.known.joinRare(from);
  // The release covers the steps of all lanes up to this step, so the lanes are
  // treated as having met.
  meetThrough(o, from.generic);
  o.tensorAcquired.join(from.tensor);
  // Within one thread, waiting for completion suffices (PTX ISA, "tcgen05
  // memory consistency model", same thread patterns).
  for (uint32_t own : {o.pipe, o.loads, o.stores})
    if (own)
      o.known.tensor.raise(own, from.tensor[own]);
}

void Order::proxyFence(Warp &w, bool isShared, bool isGlobal) {
  WarpOrder &o = of(w);
  if (isShared)
    o.known.async.join(o.known.generic);
  if (isGlobal)
    o.known.asyncGlobal.join(o.known.generic);
  o.nextStep();
}

void Order::releaseMaps(Warp &w, MemoryScope scope) {
  WarpOrder &o = of(w);
  passOn(w, o.known.maps, o.known.generic);
  for (MemoryScope level : machine.scopesUpTo(scope))
    passOn(w, o.known.fencedIn(level), o.known.generic);
  o.nextStep();
}

void Order::acquireMaps(Warp &w, MemoryScope scope) {
  WarpOrder &o = of(w);
  acquireUnfenced(w, scope);
  o.known.ownRare().acquiredMaps.join(o.known.maps);
}

/// Executes fence.mbarrier_init. A later relaxed arrival at the cluster barrier
/// publishes the initialized mbarriers, but nothing else.
void Order::fenceInits(Warp &w) {
  WarpOrder &o = of(w);
  if (!o.inits)
    return;
  o.known.async.raise(o.inits, o.known.generic[o.inits]);
  for (MemoryScope level : machine.scopes)
    o.known.fencedIn(level).raise(o.inits, o.known.generic[o.inits]);
}

void Order::waitForKernels(Warp &w) {
  of(w).known.generic.raise(kKernelsBefore, 1);
}

void Order::tensorFenceBefore(Warp &w) {
  WarpOrder &o = of(w);
  o.tensorReleased.join(o.known.tensor);
}

void Order::tensorFenceAfter(Warp &w) {
  WarpOrder &o = of(w);
  o.known.tensor.join(o.tensorAcquired);
  // Relaxed arrivals and waits suffice with tcgen05 fences (PTX ISA, "tcgen05
  // memory consistency model", canonical patterns).
  o.known.generic.join(o.tensorAcquired);
}

void Order::acquireUnfenced(Warp &w, MemoryScope scope) {
  WarpOrder &o = of(w);
  for (MemoryScope level : machine.scopesUpTo(scope)) {
    acquire(w, o.unfenced[int(level)]);
    o.unfenced[int(level)].clear();
  }
}

void Order::fence(Warp &w, MemoryScope scope) {
  WarpOrder &o = of(w);
  acquireUnfenced(w, scope);
  for (MemoryScope level : machine.scopesUpTo(scope))
    passOn(w, o.known.fencedIn(level), o.known.generic);
  o.nextStep();
}

/// Passes on the knowledge collected by fences, for publication by later
/// relaxed writes of the receivers.
void Order::passOnFenced(Warp &w, Knowledge &to) {
  WarpOrder &o = of(w);
  passOn(w, to.fenced, o.known.fenced);
  if (!o.known.rare)
    return;
  for (MemoryScope level : machine.scopes)
    if (level != MemoryScope::Device)
      passOn(w, to.fencedIn(level), std::as_const(o.known).fencedIn(level));
  to.ownRare().narrow.join(o.known.rare->narrow);
  passOn(w, to.ownRare().acquiredMaps, o.known.rare->acquiredMaps);
}

Published &Order::published(Warp &w, MemoryScope level) {
  switch (level) {
  case MemoryScope::Cta:
    return *ofCtas[w.cta->rank];
  case MemoryScope::Cluster:
    return ofCluster;
  case MemoryScope::Device:
    return machine.published;
  case MemoryScope::System:
    break;
  }
  return machine.device->world.published;
}

void Order::strongRead(Warp &w, bool isGlobal, uint64_t address, bool isAcquire,
                       MemoryScope scope) {
  WarpOrder &o = of(w);
  if (isGlobal) {
    for (MemoryScope level : machine.scopesUpTo(scope)) {
      Knowledge found;
      WarpOrder::StrongRead &last = o.lastReads[int(level)];
      bool isRepeated = last.address == address && last.isAcquire >= isAcquire;
      uint64_t release = published(w, level).acquire(
          address, found, id, isRepeated ? last.release : 0);
      bool isNew = !isRepeated || release != last.release;
      last = {address, release, isNew ? isAcquire : last.isAcquire};
      if (!isNew)
        continue;
      if (isAcquire)
        meetThrough(o, found.generic);
      (isAcquire ? o.known : o.unfenced[int(level)]).join(found);
    }
    if (machine.device)
      machine.device->world.narrow.acquire(
          address, isAcquire ? o.known : o.unfenced[int(machine.scopes[0])],
          id);
    return;
  }
  auto it = cells.find(address);
  if (it == cells.end())
    return;
  if (isAcquire)
    acquire(w, it->second);
  else
    o.unfenced[int(machine.scopes.front())].join(it->second);
}

Knowledge Order::fencedBy(Warp &w, MemoryScope level) {
  WarpOrder &o = of(w);
  const Clock &fenced = std::as_const(o.known).fencedIn(level);
  Knowledge k;
  if (!hidesOthers(w)) {
    k.generic = fenced;
    k.async = o.known.async;
    k.asyncGlobal = o.known.asyncGlobal;
    k.maps = o.known.maps;
    k.fenced = o.known.fenced;
    k.ofOthers = o.known.ofOthers;
    k.rare = o.known.rare;
    return k;
  }
  passOn(w, k.generic, fenced);
  passOn(w, k.async, o.known.async);
  passOn(w, k.asyncGlobal, o.known.asyncGlobal);
  passOn(w, k.maps, o.known.maps);
  passOnFenced(w, k);
  k.ofOthers = o.known.ofOthers;
  k.ofOthers.raise(o.self, fenced[o.self]);
  return k;
}

void Order::publishNarrow(Warp &w, uint64_t address, bool isRelease) {
  const Knowledge &known = of(w).known;
  Knowledge k;
  Clock &narrow = k.ownRare().narrow;
  if (known.rare)
    narrow = known.rare->narrow;
  narrow.join(isRelease ? known.generic
                        : known.fencedIn(machine.scopes.front()));
  machine.device->world.narrow.release(address, k, id);
}

void Order::strongWrite(Warp &w, bool isGlobal, uint64_t address,
                        bool isRelease, MemoryScope scope) {
  WarpOrder &o = of(w);
  // Without a preceding fence there is nothing to publish. Returning early
  // keeps reductions into a large buffer, and volatile shared memory, from
  // consuming memory and time.
  if (!isRelease && !hasFenced(o))
    return;
  if (isGlobal && machine.device)
    publishNarrow(w, address, isRelease);
  Knowledge released;
  if (isRelease) {
    release(w, released);
    if (!isGlobal)
      return cells[address].join(released);
  } else {
    speak(w);
    if (!isGlobal)
      return cells[address].join(fencedBy(w, machine.scopes.front()));
  }
  for (MemoryScope level : machine.scopesUpTo(scope)) {
    Knowledge fenced;
    if (!isRelease)
      fenced = fencedBy(w, level);
    const Knowledge &k = isRelease ? released : fenced;
    if (late && level == MemoryScope::System)
      late->emplace_back(address, k);
    else
      published(w, level).release(address, k, id);
  }
}

bool Order::hasFenced(const WarpOrder &o) const {
  return !o.known.fencedIn(machine.scopes.front()).empty();
}

bool Order::isQuiet(Warp &w) const {
  return cells.empty() && !hasFenced(of(w));
}

Epoch Order::epochOf(Warp &w) {
  uint32_t agent = accessor(w);
  return Epoch(agent, of(w).step(), 0, false, false);
}

bool Order::knows(Warp &w, uint64_t inCluster, Epoch e) {
  return hasStep(of(w).known.generic, inCluster, e);
}
