//===- Handlers.cpp - Control flow handlers -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Handlers.h"

#include "Lanes.h"
#include "WorldState.h"

using namespace mx::sim;

const Instr *mx::sim::branchAlways(Warp &w, const Instr *i, uint32_t) {
  return w.machine->program.code.data() + i->imm;
}

const Instr *mx::sim::branchIf(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t taken = mask & w.predicate(i->a);
  if (!taken)
    return i + 1;
  const Instr *target = w.machine->program.code.data() + i->imm;
  if (taken == mask)
    return target;
  return w.diverge(i, taken, target);
}

const Instr *mx::sim::branchIndexed(Warp &w, const Instr *i, uint32_t mask) {
  const uint32_t *index = w.at<uint32_t>(i->a);
  uint32_t first = index[firstLane(mask)], same = 0;
  forLanes(mask, [&](unsigned lane) {
    same |= uint32_t(index[lane] == first) << lane;
  });
  if (first >= i->b)
    return w.fail(i, FindingKind::IllegalInstruction,
                  "brx.idx with index " + std::to_string(first) +
                      " into a list of " + std::to_string(i->b) + " targets",
                  same);
  const Instr *target = w.machine->program.code.data() + i->imm + first;
  if (same == mask)
    return target;
  w.diverge(i, same, target);
  return i;
}

const Instr *mx::sim::exitThread(Warp &w, const Instr *i, uint32_t mask) {
  return w.exitLanes(i, mask);
}

const Instr *mx::sim::trapThread(Warp &w, const Instr *i, uint32_t mask) {
  // grid.sync() of cooperative groups traps if the launch has no workspace.
  bool isMissed = false;
  for (const SpecialSlot &s : w.machine->program.specials)
    isMissed |= s.kind == Special::GridWorkspaceLow;
  return w.fail(i, FindingKind::Trap,
                isMissed && !w.machine->config.cooperative
                    ? "trap; if grid.sync() trapped, the launch must "
                      "be cooperative"
                    : "trap",
                mask);
}

const Instr *mx::sim::converge(Warp &w, const Instr *i, uint32_t) {
  return w.arriveAt(i);
}

const Instr *mx::sim::predicateFromWord(Warp &w, const Instr *i,
                                        uint32_t mask) {
  const uint32_t *a = w.at<uint32_t>(i->a);
  uint32_t bits = 0;
  forLanes(mask,
           [&](unsigned lane) { bits |= uint32_t(a[lane] != 0) << lane; });
  setPredicate(w, i->d, bits, mask);
  return i + 1;
}

const Instr *mx::sim::nop(Warp &, const Instr *i, uint32_t) { return i + 1; }

const Instr *mx::sim::reportUnsupported(Warp &w, const Instr *i,
                                        uint32_t mask) {
  return w.fail(i, FindingKind::Unsupported,
                w.machine->program.messages[i->aux], mask);
}

/// Reads the clock. The clock advances by a cycle or a nanosecond per warp
/// instruction.
template <class T>
const Instr *mx::sim::readClock(Warp &w, const Instr *i, uint32_t mask) {
  Cluster &c = *w.cta->cluster;
  uint64_t now = c.executed + c.round * 64ull;
  if (w.watch) {
    bool isTimer = Special(i->aux) >= Special::GlobalTimer;
    now = w.group().step;
    if (isTimer)
      now = w.machine->timing->nanosecondsOf(now);
  } else if (const WorldDevice *device = w.machine->device) {
    now = device->world.time + (c.round - c.passRound) * 64ull;
    c.readsTime = true;
  }
  if (Special(i->aux) == Special::ClockHi ||
      Special(i->aux) == Special::GlobalTimerHi)
    now >>= 32;
  T *d = w.at<T>(i->d);
  forLanes(mask, [&](unsigned lane) { d[lane] = T(now); });
  return i + 1;
}
template const Instr *mx::sim::readClock<uint32_t>(Warp &, const Instr *,
                                                   uint32_t);
template const Instr *mx::sim::readClock<uint64_t>(Warp &, const Instr *,
                                                   uint32_t);
