//===- Accesses.cpp - Order checks of memory accesses ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares each access with the earlier accesses recorded in shadow memory, and
// reports both accesses of an unordered pair.
//===----------------------------------------------------------------------===//

#include "Order.h"

#include "../machine/Overlap.h"

#include "../machine/WorldState.h"

using namespace mx::sim;

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// Returns true if `known` contains the earlier access. A write through the
/// generic proxy must pass a proxy fence before the async proxy accesses the
/// bytes. The opt-in check also applies this rule to reads.
bool Order::isKnown(const Knowledge &known, const Clock &async, Epoch old,
                    bool wasWrite, bool isAsyncProxy) const {
  bool needsFence = wasWrite || machine.config.checks & kCheckReadFence;
  const Clock &c =
      isAsyncProxy && needsFence && !old.isAsync() ? async : known.generic;
  return c[old.agent()] >= old.step() || old.isAnonymous();
}

static uint64_t cellOf(const Cta &cta, uint64_t granule) {
  return uint64_t(cta.rank) << 32 | granule;
}

bool Order::isObserved(const Knowledge &known, uint64_t cell, Epoch old,
                       Epoch now, bool wasWrite) const {
  if (!wasWrite || !old.isAtomic() || now.isAsync())
    return false;
  auto it = observed.find(cell);
  return it != observed.end() && it->second.write == old.raw() &&
         std::any_of(it->second.readers.begin(), it->second.readers.end(),
                     [&](Epoch e) {
                       return e.agent() == now.agent() ||
                              known.generic[e.agent()] >= e.step();
                     });
}

/// Returns true if both warps access the shared memory of their own CTA and a
/// barrier orders them. Even a relaxed cluster barrier orders such accesses;
/// kernels rely on this to read the address written by tcgen05.alloc.
bool Order::isWithinCta(Warp &w, const Cta &cta, const Knowledge &known,
                        Epoch old, Epoch now) const {
  const Agent &a = agents[old.agent()];
  return w.cta == &cta && a.kind == AgentKind::Warp && a.cta == cta.rank &&
         !now.isAsync() && known.isDone(old.agent(), old.step());
}

void Order::reportShared(Warp &w, const Instr *i, const Cta &cta,
                         const AccessRange &range, const Knowledge &known,
                         bool isWrite, const Conflict &c) {
  uint32_t at = std::max<uint32_t>(range.address, uint32_t(c.granule * 4));
  report(w, i, range.lanesAt(c.granule * 4), known, false, isWrite, c,
         "shared memory at " + machine.describeSharedOffset(at) +
             ofRank(cta.rank));
}

template <bool HasLanes>
__attribute__((always_inline)) inline void
Order::visitShared(Warp &w, const Instr *i, Epoch e, const Knowledge &known,
                   bool isAsyncProxy, Cta &cta, AccessRanges ranges,
                   Touch touch) {
  struct Access {
    enum : bool { hasLanes = HasLanes };
    Order &order;
    Warp &warp;
    Cta &cta;
    const Knowledge &known;
    const WarpOrder &o;
    WorstConflict &worst;
    Change<ShadowCell> &last;
    Epoch e;
    Touch touch;
    bool isAsyncProxy, isWrite, isPlain, isObserver;
    uint64_t good = 0; ///< last epoch found to be ordered

    bool isNear(Epoch old) const {
      return (old.agent() == o.self || old.agent() == o.alone) &&
             old.step() > o.ordered;
    }
    SharedShadow::Numbers &numbers() { return order.lanesNumbers; }
    bool isSame(Epoch old) const { return old.sameAccess(e); }
    void onClash(uint64_t g, Epoch old, bool wasWrite, Lane lane) {
      Conflict c{old, wasWrite, g, ~0ull, lane};
      if (!isReadBeforeCas(old, wasWrite, e, isWrite))
        worst.add(c, order.isWarning(known, false, isWrite, c));
    }
    __attribute__((always_inline)) bool visit(ShadowCell &cell, uint64_t g,
                                              unsigned mask) {
      Epoch write = cell.write;
      if (isObserver && write.isAtomic() && write.bytes() & mask &&
          write.agent() != e.agent() &&
          !order.isKnown(known, known.async, write, true, false))
        order.observed[cellOf(cta, g)].add(
            write.raw(), e, [&](Epoch o) { return o.agent() == e.agent(); });
      bool isAlike = true;
      visitCell(
          cell, e.withBytes(mask), touch,
          [&](Epoch old, bool wasWrite) {
            uint64_t key = old.raw() << 4 | wasWrite;
            if (key == good)
              return true;
            if (old.agent() == e.agent() ||
                order.isKnown(known, known.async, old, wasWrite,
                              isAsyncProxy) ||
                order.isWithinCta(warp, cta, known, old, e)) {
              good = key;
              return true;
            }
            isAlike = false;
            return order.isObserved(known, cellOf(cta, g), old, e, wasWrite);
          },
          [&](Epoch old, bool wasWrite) {
            onClash(g, old, wasWrite, kUnknownLane);
          });
      return isAlike;
    }
    void visitLane(const ShadowCell &cell, Lane &write, Lane &read, uint64_t g,
                   unsigned mask, Lane lane) {
      sim::visitLane(
          cell, write, read, e.withBytes(mask), touch, lane,
          [&](Epoch old, bool wasWrite, Lane l) {
            onClash(g, old, wasWrite, l);
          },
          [&](Epoch old) { return isNear(old); });
    }
  };
  WorstConflict worst;
  Change<ShadowCell> last;
  Access access{*this,
                w,
                cta,
                known,
                of(w),
                worst,
                last,
                e,
                touch,
                isAsyncProxy,
                touch != Touch::Read,
                !e.isAtomic(),
                touch == Touch::Read && e.isAtomic() && !e.isAsync()};
  for (const AccessRange &range : ranges) {
    cta.tracker->shadow.visit(range.address, range.address + range.bytes,
                              range.address, range.run, access);
    if (!worst.conflict)
      continue;
    reportShared(w, i, cta, range, known, access.isWrite, *worst.conflict);
    worst = WorstConflict();
  }
  if (scope ? scope->noted != &cta : w.cta != &cta) {
    noteUser(cta, e);
    if (scope)
      scope->noted = &cta;
  }
}

void Order::accessShared(Warp &w, const Instr *i, Cta &cta, AccessRanges ranges,
                         const AccessKind &kind) {
  WarpOrder &o = of(w);
  Epoch e(accessor(w), o.step(), instrNumber(i), kind.isStrong, kind.isAnyProxy,
          kind.isCas);
  o.accessed = o.step();
  visitShared<true>(w, i, e, o.known, false, cta, ranges, kind.touch);
  if (kind.touch == Touch::Read && !answers.empty())
    for (const AccessRange &range : ranges)
      noteReaderOfAnswer(cta, uint32_t(range.address), e);
}

void Order::engineShared(Cta &cta, uint32_t offset, uint32_t bytes,
                         bool isWrite) {
  if (!scope)
    return;
  AccessRange range{offset, bytes, scope->lanes, LaneRun()};
  visitShared<false>(*scope->warp, scope->instr,
                     isWrite ? scope->write : scope->read, *scope->known,
                     scope->isAsyncProxy, cta, {&range, 1},
                     isWrite ? Touch::Write : Touch::Read);
}

//===----------------------------------------------------------------------===//
// Global memory
//===----------------------------------------------------------------------===//

/// Checks an access of a programmatic launch to memory used by preceding
/// kernels.
void Order::checkOverlap(Warp &w, const Instr *i, const Knowledge &known,
                         const AccessRange &range, bool isWrite) {
  uint64_t address = range.address, bytes = range.bytes;
  const Overlap &overlap = machine.memory.overlap();
  auto access = [&] {
    return (isWrite ? "the write of global memory, "
                    : "the read of global memory, ") +
           machine.memory.describe(address, bytes);
  };
  if (known.isDone(kKernelsBefore, 1)) {
    // Only a warning: no chip was measured, and documents name no chains.
    if (overlap.isOvertaking(address, bytes, isWrite))
      w.note(i, {FindingKind::Race, Situation::KernelChain},
             access() +
                 " races with a kernel before the preceding kernel: the "
                 "preceding kernel ends without griddepcontrol.wait, and "
                 "griddepcontrol.wait waits for the preceding kernel only: "
                 "expected griddepcontrol.wait in every kernel of the chain",
             range.lanes, /*isWarning=*/true);
    return;
  }
  Overlap::Sharing sharing = overlap.sharing(address, bytes, isWrite);
  if (sharing == Overlap::Sharing::None)
    return;
  // Only a warning: widely used libraries rely on the end of a kernel without a
  // trigger, and hardware returns the correct bytes.
  bool isEnded = sharing == Overlap::Sharing::WithEnded;
  w.note(i, {FindingKind::Race, Situation::ProgrammaticLaunch},
         access() +
             " races with earlier kernels: the launch is programmatic, and "
             "those kernels use the same memory: expected griddepcontrol.wait "
             "before the access" +
             (isEnded ? " (the earlier kernels have ended, because the last "
                        "executes no griddepcontrol.launch_dependents)"
                      : ""),
         range.lanes, /*isWarning=*/isEnded);
}

/// Notes the page of an access unless the last access has noted it, and checks
/// programmatic launches.
inline void Order::noteOverlap(Warp &w, const Instr *i, const Knowledge &known,
                               const AccessRange &range, bool isWrite) {
  constexpr uint64_t kPage = DeviceMemory::kPageBytes;
  uint64_t &noted = notedPages[isWrite];
  uint64_t last = (range.address + range.bytes - 1) / kPage;
  if (range.address / kPage != noted || last != noted)
    machine.memory.overlap().note(range.address, range.bytes, isWrite);
  noted = last;
  if (machine.config.programmatic)
    checkOverlap(w, i, known, range, isWrite);
}

template <bool HasLanes>
void Order::visitGlobal(Warp &w, const Instr *i, Epoch e,
                        const Knowledge &known, bool isAsyncProxy,
                        AccessRanges ranges, Touch touch) {
  bool isWrite = touch != Touch::Read;
  for (const AccessRange &range : ranges)
    noteOverlap(w, i, known, range, isWrite);
  if (!lastRecord || e.raw() != lastEpoch.raw()) {
    lastEpoch = e;
    lastRecord = shadow.record(id, e);
  }
  std::vector<std::pair<const AccessRange *, WorstConflict>> worst;
  shadow.visit<HasLanes>(
      ranges, lastRecord, id, touch, e,
      [&](const GlobalShadow::Record &r, bool wasWrite) {
        if (r.cluster == id)
          return r.epoch.agent() == e.agent() ||
                 isKnown(known, known.asyncGlobal, r.epoch, wasWrite,
                         isAsyncProxy);
        const Clock &c = isAsyncProxy && wasWrite && !r.epoch.isAsync()
                             ? known.asyncGlobal
                             : known.generic;
        return hasStep(c, r.cluster, r.epoch) || r.epoch.isAnonymous();
      },
      [&](const AccessRange &range, const Conflict &c) {
        if (worst.empty() || worst.back().first != &range)
          worst.push_back({&range, {}});
        worst.back().second.add(c, isWarning(known, false, isWrite, c));
      },
      [&](const GlobalShadow::Record &r) { return areMorallyStrong(r, e); },
      [&](const GlobalShadow::Record &r) {
        const WarpOrder &o = of(w);
        uint32_t agent = r.epoch.agent();
        return r.cluster == id && (agent == o.self || agent == o.alone) &&
               r.epoch.step() > o.ordered;
      });
  for (auto &[range, found] : worst) {
    uint64_t at = std::max(range->address, found.conflict->granule);
    report(w, i, range->lanesAt(found.conflict->granule), known, false, isWrite,
           *found.conflict, "global memory, " + machine.memory.describe(at, 4));
  }
}

void Order::accessGlobal(Warp &w, const Instr *i, AccessRanges ranges,
                         const AccessKind &kind) {
  WarpOrder &o = of(w);
  Epoch e(accessor(w), o.step(), instrNumber(i), kind.isStrong, false,
          kind.isCas);
  if (kind.isStrong)
    e = e.withScope(kind.scope);
  o.accessed = o.step();
  visitGlobal<true>(w, i, e, o.known, false, ranges, kind.touch);
}

/// Checks the read of a tensor map through the tensormap proxy. If the generic
/// proxy wrote the map, both the writer and the reader need a fence (PTX ISA,
/// fence.proxy.tensormap and tensormap.cp_fenceproxy).
void Order::readMap(Warp &w, const Instr *i, uint64_t address, uint32_t lanes) {
  WarpOrder &o = of(w);
  AccessRange range{address, 128, lanes, LaneRun()};
  noteOverlap(w, i, o.known, range, /*isWrite=*/false);
  Epoch e(o.self, o.step(), instrNumber(i), false, false);
  auto isRace = [&](const GlobalShadow::Record &r) {
    bool isOwn = r.cluster == id && r.epoch.agent() == o.self;
    return !isOwn && !hasStep(o.known.generic, r.cluster, r.epoch);
  };
  WorstConflict first; // every conflict is an error
  shadow.visit</*HasLanes=*/false>(
      {&range, 1}, shadow.record(id, e), id, Touch::Read, e,
      [&](const GlobalShadow::Record &r, bool) {
        return !isRace(r) && o.known.rare &&
               hasStep(o.known.rare->acquiredMaps, r.cluster, r.epoch);
      },
      [&](const AccessRange &, const Conflict &c) {
        first.add(c, /*warns=*/false);
      },
      [](const GlobalShadow::Record &) { return true; },
      [](const GlobalShadow::Record &) { return false; });
  if (!first.conflict)
    return;
  const Conflict &conflict = *first.conflict;
  std::string text =
      "the read of the tensor map at " + machine.memory.describe(address, 128);
  bool isNew;
  if (isRace({conflict.cluster, conflict.earlier}))
    isNew = w.note(i,
                   {FindingKind::Race,
                    situationOfRace(w, conflict, machine.program.infoOf(i))},
                   text + " races with " + describeEarlier(conflict) +
                       ": no synchronization orders the two",
                   lanes);
  else
    isNew = w.note(
        i, {FindingKind::ProxyFence, Situation::TensorMapFence},
        text + " by the tensormap proxy is not ordered with " +
            describeEarlier(conflict) +
            " of the generic proxy: expected fence.proxy.tensormap::generic"
            ".release (or tensormap.cp_fenceproxy) there and fence.proxy"
            ".tensormap::generic.acquire here",
        lanes);
  if (isNew)
    nameOther(conflict);
}

void Order::engineGlobal(uint64_t address, uint64_t bytes, bool isWrite) {
  if (!scope)
    return;
  AccessRange range{address, bytes, scope->lanes, LaneRun()};
  visitGlobal<false>(*scope->warp, scope->instr,
                     isWrite ? scope->write : scope->read, *scope->known,
                     scope->isAsyncProxy, {&range, 1},
                     isWrite ? Touch::Write : Touch::Read);
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

void Order::engineTensor(Cta &cta, unsigned lane, unsigned lanes,
                         unsigned column, unsigned columns, bool isWrite) {
  if (!scope || !lanes)
    return;
  constexpr unsigned kLanes = TensorTracker::kLanes;
  const Knowledge &known = *scope->known;
  Epoch e = (isWrite ? scope->write : scope->read).withBytes(15);
  WorstConflict worst;
  unsigned lastLane = std::min(lane + lanes - 1, tmemLanes - 1);
  unsigned end = std::min(column + columns, tmemColumns);
  for (unsigned row = lane / kLanes; row <= lastLane / kLanes; ++row)
    for (unsigned c = column; c < end; ++c) {
      uint64_t cell = row * tmemColumns + c;
      visitCell(
          cta.tensorTracker->shadow[cell], e,
          isWrite ? Touch::Write : Touch::Read,
          [&](Epoch old, bool) {
            return old.agent() == e.agent() ||
                   known.tensor[old.agent()] >= old.step() || old.isAnonymous();
          },
          [&](Epoch old, bool wasWrite) {
            Conflict found{old, wasWrite, cell};
            worst.add(found, isWarning(known, true, isWrite, found));
          });
    }
  if (scope->noted != &cta) {
    noteUser(cta, e);
    scope->noted = &cta;
  }
  if (!worst.conflict)
    return;
  unsigned row = worst.conflict->granule / tmemColumns;
  report(*scope->warp, scope->instr, scope->lanes, known, true, isWrite,
         *worst.conflict,
         "tensor memory at lane " +
             std::to_string(std::max(lane, row * kLanes)) + ", column " +
             std::to_string(worst.conflict->granule % tmemColumns) +
             ofRank(cta.rank));
}

void Order::freeTensor(Warp &w, const Instr *i, uint32_t lanes, Cta &cta,
                       unsigned column, unsigned columns) {
  const Knowledge &known = of(w).known;
  WorstConflict worst;
  for (unsigned row = 0; row < tmemLanes / TensorTracker::kLanes; ++row)
    for (unsigned c = column; c < column + columns && c < tmemColumns; ++c) {
      ShadowCell &cell = cta.tensorTracker->shadow[row * tmemColumns + c];
      for (Epoch e : {cell.write, cell.read, cell.other}) {
        if (!e || e.isAnonymous() || known.isDone(e.agent(), e.step()))
          continue;
        Conflict conflict{e, e.raw() == cell.write.raw(), c};
        worst.add(conflict, isWarning(known, false, true, conflict));
      }
      cell = ShadowCell();
    }
  if (worst.conflict)
    report(w, i, lanes, known, false, true, *worst.conflict,
           "tensor memory (by its deallocation) at column " +
               std::to_string(worst.conflict->granule));
}

//===----------------------------------------------------------------------===//
// Scopes of engine accesses
//===----------------------------------------------------------------------===//

EngineScope Order::loadScope(Warp &w, const Instr *i, uint32_t lanes,
                             const Knowledge &known, Cta &cta,
                             uint32_t offset) {
  useBarrier(w, i, lanes, known, cta, offset);
  checkInitFence(w, i, lanes, known, cta, offset);
  noteCopyUse(i, cta, offset);
  BarrierOrder &b = barrier(cta, offset);
  b.arriving.executed.join(known.generic);
  b.arriving.executed.join(known.executed);
  Epoch e(b.agent, b.phase + 1, instrNumber(i), false, true);
  return {&w, i, lanes, e, e, &known, true};
}

EngineScope Order::bulkScope(Warp &w, const Instr *i, uint32_t lanes,
                             const Knowledge &known, uint64_t group,
                             bool isAtomic) {
  WarpOrder &o = of(w);
  uint32_t step = uint32_t(group + 1), n = instrNumber(i);
  Epoch read(agentOf(o.bulkReads, w, AgentKind::BulkRead), step, n, false,
             true);
  Epoch write(agentOf(o.bulkWrites, w, AgentKind::BulkWrite), step, n, isAtomic,
              true);
  // A reduction is .relaxed.gpu (PTX ISA, cp.reduce.async.bulk).
  if (isAtomic)
    write = write.withScope(MemoryScope::Device);
  return {&w, i, lanes, read, write, &known, true};
}

EngineScope Order::copyScope(Warp &w, const Instr *i, uint32_t lanes,
                             const Knowledge &known, uint32_t step) {
  Epoch e(agentOf(of(w).copies, w, AgentKind::Copies), step, instrNumber(i),
          false, false);
  return {&w, i, lanes, e, e, &known, false};
}

EngineScope Order::pipeScope(Warp &w, const Instr *i, uint32_t lanes,
                             const Knowledge &known, uint32_t step) {
  Epoch e(agentOf(of(w).pipe, w, AgentKind::Pipe), step, instrNumber(i), false,
          true);
  return {&w, i, lanes, e, e, &known, true};
}

Epoch Order::pipeEpoch(Warp &w, const Instr *i) {
  WarpOrder &o = of(w);
  return Epoch(agentOf(o.pipe, w, AgentKind::Pipe), o.pipeStep, instrNumber(i),
               false, true);
}

EngineScope Order::wgmmaScope(Warp &w, const Instr *i, uint32_t lanes) {
  WarpOrder &o = of(w);
  Epoch e(wgmmaAgent(w), o.wgmmaStep, instrNumber(i), false, true);
  return {&w, i, lanes, e, e, &o.known, true};
}

EngineScope Order::transferScope(Warp &w, const Instr *i, uint32_t lanes) {
  WarpOrder &o = of(w);
  uint32_t n = instrNumber(i);
  Epoch read(agentOf(o.loads, w, AgentKind::TensorLoads), o.loadStep, n, false,
             true);
  Epoch write(agentOf(o.stores, w, AgentKind::TensorStores), o.storeStep, n,
              false, true);
  return {&w, i, lanes, read, write, &o.known, true};
}

//===----------------------------------------------------------------------===//
// Ends of CTAs
//===----------------------------------------------------------------------===//

void Order::noteUser(Cta &cta, Epoch e) {
  Epoch &last = cta.users[e.agent()];
  if (!last || last.step() <= e.step())
    last = e;
}

void Order::useRemote(Warp &w, const Instr *i, Cta &cta, uint32_t step) {
  // Use the same agent as the preceding arrival.
  const WarpOrder &o = of(w);
  uint32_t agent = hidesOthers(w) ? o.alone : o.self;
  noteUser(cta, Epoch(agent, step, instrNumber(i), false, false));
}

void Order::ended(Cta &cta) {
  if (!(machine.config.checks & kCheckCtaExit))
    return;
  for (auto &[agent, e] : cta.users) {
    if (e.isAnonymous() || cta.atExit.isDone(agent, e.step()))
      continue;
    Finding f;
    f.kind = FindingKind::CtaExit;
    f.ptxLine = lineOf(e);
    if (e.instr() < machine.program.info.size())
      f.source = sourceOf(machine.program.info[e.instr()]);
    f.hasCta = true;
    f.cta = cta.id;
    f.message = "the CTA may have ended before " + describeAgent(agent) +
                " is done with its memory: expected a wait for it, or a "
                "cluster barrier, before the CTA exits";
    // Only a warning: hardware seems to keep the memory of a CTA until copies
    // have read it, and widely used libraries do not wait at the end.
    f.isWarning = agents[agent].kind == AgentKind::BulkRead;
    if (f.isWarning)
      f.situation = Situation::StoreAtExit;
    f.other = describeAgent(agent);
    f.otherLine = f.ptxLine;
    if (machine.count(cta, findingKey(f)))
      machine.add(cluster, std::move(f),
                  f.isWarning ? LaunchStatus::Clean : LaunchStatus::Failed);
  }
}
