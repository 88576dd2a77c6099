//===- Control.cpp - branches, exits, traps -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Control flow instructions" and the miscellaneous ones that only
// concern scheduling.
//===----------------------------------------------------------------------===//

#include "../machine/Overlap.h"
#include "../machine/WorldState.h"
#include "../machine/Lanes.h"

#include "../time/Stopwatch.h"

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
                      " of a list of " + std::to_string(i->b) + " targets",
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
  // Cooperative groups trap in grid.sync where there is no workspace.
  bool isMissed = false;
  for (const SpecialSlot &s : w.machine->program.specials)
    isMissed |= s.kind == Special::GridWorkspaceLow;
  return w.fail(i, FindingKind::Trap,
                isMissed && !w.machine->config.cooperative
                    ? "trap; if grid.sync() executes it, expected a "
                      "cooperative launch, found another"
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

/// Time passes as instructions do: one clock per warp instruction, and one
/// nanosecond per clock.
template <class T>
const Instr *mx::sim::readClock(Warp &w, const Instr *i, uint32_t mask) {
  Cluster &c = *w.cta->cluster;
  uint64_t now = c.executed + c.round * 64ull;
  if (w.watch) {
    bool isTimer = Special(i->aux) >= Special::GlobalTimer;
    now = isTimer ? w.watch->nanoseconds(w.group().step) : w.group().step;
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

static const Instr *sleep(Warp &w, const Instr *i, uint32_t) {
  w.cta->cluster->slept = true;
  w.group().cta = nullptr;
  return w.poll(i + 1);
}

static void decodeBra(Decoder &d) {
  d.take("uni");
  if (!d.expectOperands(1, 1))
    return;
  if (d.operand(0).kind != ptx::Operand::Label)
    return d.unsupported("expects a label");
  Slot guard = kNoSlot;
  if (d.inst->guarded) {
    ptx::Operand op;
    op.kind = ptx::Operand::Reg;
    op.reg = d.inst->guard;
    op.negated = d.inst->guardNegated;
    guard = d.usePredicate(op);
  }
  d.branch(guard, false, uint32_t(d.operand(0).value));
}

static void decodeBrx(Decoder &d) {
  d.take("idx");
  d.take("uni");
  if (!d.expectOperands(2, 2))
    return;
  if (d.inst->guarded)
    return d.unsupported("brx under a predicate");
  if (d.operand(1).kind != ptx::Operand::Vector)
    return d.unsupported("expects a list of targets");
  Slot index = d.use(0, {'U', 32});
  const auto &targets = d.operand(1).parts;
  Instr &i = d.emit(branchIndexed);
  i.a = index;
  i.b = targets.size();
  i.aux = kNoSlot;
  i.imm = d.program.code.size();
  for (const ptx::Operand &t : targets)
    d.branch(kNoSlot, true, uint32_t(t.value));
}

static void decodeRet(Decoder &d) {
  d.take("uni");
  d.ret();
}
static void decodeExit(Decoder &d) { d.emit(exitThread); }
static void decodeTrap(Decoder &d) { d.emit(trapThread); }

static void decodeNanosleep(Decoder &d) {
  d.take("u32");
  d.emit(sleep);
}

/// Hints and orderings without an effect of their own here. All their
/// modifiers are taken.
static void decodeNothing(Decoder &d) {
  while (!d.modifiers().empty())
    d.take(d.modifiers().front());
  d.emit(nop);
}

static const Instr *launchDependents(Warp &w, const Instr *i, uint32_t) {
  w.machine->memory.overlap().noteTrigger();
  return i + 1;
}

static const Instr *waitForKernels(Warp &w, const Instr *i, uint32_t) {
  w.machine->memory.overlap().noteWait();
  if (Order *order = w.order())
    order->waitForKernels(w);
  return i + 1;
}

/// Kernels run one after another, so there is nothing to wait for; the check of
/// the order learns what comes after the wait, and which kernels may overlap.
static void decodeGridDepControl(Decoder &d) {
  bool waits = d.take("wait");
  if (!waits && !d.take("launch_dependents"))
    return d.unsupported("expects .wait or .launch_dependents");
  if (d.expectOperands(0, 0))
    d.emit(waits ? waitForKernels : launchDependents);
}

/// The register count has no effect here, but what the ISA refuses is refused.
static void decodeSetMaxNReg(Decoder &d) {
  int64_t count = 0;
  if (d.takeAny({"inc", "dec"}) < 0 || !d.take("sync") || !d.take("aligned") ||
      !d.take("u32"))
    return d.unsupported("expects .inc or .dec, .sync.aligned.u32");
  if (!d.expectOperands(1, 1) || !d.immediate(0, count))
    return;
  if (count < 24 || count > 256 || count % 8)
    return d.unsupported("expects a multiple of 8 from 24 to 256, found " +
                         std::to_string(count));
  d.emit(nop);
}

void mx::sim::addControlInstructions(DecodeTable &t) {
  t["bra"] = decodeBra;
  t["brx"] = decodeBrx;
  t["ret"] = decodeRet;
  t["setmaxnreg"] = decodeSetMaxNReg;
  t["exit"] = decodeExit;
  t["trap"] = decodeTrap;
  t["brkpt"] = decodeTrap;
  t["nanosleep"] = decodeNanosleep;
  t["griddepcontrol"] = decodeGridDepControl;
  for (const char *name :
       {"prefetch", "prefetchu", "pmevent", "discard", "applypriority"})
    t[name] = decodeNothing;
}
