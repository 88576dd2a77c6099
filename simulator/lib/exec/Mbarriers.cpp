//===- Mbarriers.cpp - Mbarrier instructions ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: the mbarrier instructions, and arrivals and completed bytes of
// asynchronous operations.
//===----------------------------------------------------------------------===//

#include "Mbarriers.h"

#include "../machine/Handlers.h"
#include "../report/Recorder.h"
#include "../time/Stopwatch.h"
#include "Instructions.h"
#include "MemoryAccess.h"

#include "mxsim/tensor/Mbarrier.h"

using namespace mx::sim;
using ptx::Operand;
using ptx::Space;

uint64_t *mx::sim::mbarrierWord(Warp &w, const Instr *i, Space space,
                                uint64_t address, unsigned lane, Cta *&owner,
                                uint32_t &offset) {
  if (space == Space::Generic && address - kSharedWindow < kWindowBytes)
    address -= kSharedWindow;
  else if (space == Space::Generic)
    space = Space::Global;
  uint8_t *p = space == Space::Shared || space == Space::Generic
                   ? w.machine->shared(w, address, 8, owner)
                   : nullptr;
  if (!p || address % 8) {
    w.fail(i, p ? FindingKind::Misaligned : FindingKind::OutOfBounds,
           "no mbarrier can be at " +
               describeAddress(
                   w, space == Space::Global ? Space::Global : Space::Shared,
                   address, 8),
           1u << lane);
    return nullptr;
  }
  if (!checkOwnCta(w, i, "mbarrier", address, 8, lane))
    return nullptr;
  offset = address & kOffsetMask;
  return &owner->mbarrier(offset).word;
}

void mx::sim::noteMbarrier(Warp &w, const Instr *i, uint32_t lanes, Cta &owner,
                           uint32_t offset, uint64_t before, uint64_t after,
                           uint32_t arrivals, bool isComplete) {
  ++w.cta->cluster->effects;
  if (w.trace)
    w.trace->changeBarrier(w, i, owner, offset, before, after, arrivals);
  Mbarrier &log = owner.mbarrier(offset);
  if (!mbarrierState(after).live) {
    // The barrier was invalidated. Wake waiting groups, which retry and report
    // the missing barrier.
    for (Warp &other : owner.warps)
      for (Group &g : other.groups)
        g.isWoken |=
            g.wait == Wait::Mbarrier && g.cta == &owner && g.address == offset;
    log.arrivals.clear();
    return;
  }
  if (mbarrierState(before).parity != mbarrierState(after).parity) {
    // Wake all threads suspended in a try_wait on this phase, even if they run
    // only after the next phase has completed.
    for (Warp &other : owner.warps)
      for (Group &g : other.groups) {
        bool isWoken = g.wait == Wait::Mbarrier && g.cta == &owner &&
                       g.address == offset &&
                       g.ticket == mbarrierState(before).parity;
        g.isWoken |= isWoken;
        // The arrival crosses CTAs and takes longer.
        if (isWoken && w.watch && w.cta != &owner && !isComplete)
          w.watch->arriveRemotely(w, g);
      }
    ++log.phases;
    log.arrivals.clear();
    if (Order *order = w.order())
      order->completePhase(w, i, lanes, owner, offset);
    return;
  }
  if ((arrivals || isComplete) && log.arrivals.size() < 64)
    log.arrivals.push_back({w.machine->program.infoOf(i).line, w.index,
                            w.cta->rank, arrivals, isComplete});
}

Fault mx::sim::completeTx(Warp &w, const Instr *i, uint32_t lanes, Cta &owner,
                          uint32_t offset, uint32_t bytes) {
  uint64_t *word = &owner.mbarrier(offset).word;
  uint64_t before = *word;
  MbarrierState s = mbarrierState(before);
  if (s.live && !s.pending && s.tx > 0 && int64_t(s.tx) < int64_t(bytes))
    w.note(i, {FindingKind::Barrier, Situation::FewBytes},
           "the phase of the mbarrier at " +
               w.machine->describeSharedOffset(offset) +
               " completes before the copy: it expected " +
               std::to_string(s.tx) + " more bytes, but the copy writes " +
               std::to_string(bytes),
           lanes);
  Fault f = mbarrierCompleteTx(*word, bytes);
  if (!f)
    noteMbarrier(w, i, lanes, owner, offset, before, *word, 0, true);
  return f;
}

Fault mx::sim::arriveOn(Warp &w, const Instr *i, uint32_t lanes, Cta &owner,
                        uint32_t offset, uint32_t count,
                        const Knowledge *known) {
  if (Order *order = w.order(); order && known)
    order->arrive(*known, owner, offset);
  uint64_t *word = &owner.mbarrier(offset).word;
  uint64_t before = *word;
  Fault f = mbarrierArrive(*word, count);
  if (!f)
    noteMbarrier(w, i, lanes, owner, offset, before, *word, count, false);
  return f;
}

namespace {

enum MbarOp : uint32_t {
  Init,
  Inval,
  Arrive,
  ArriveDrop,
  ArriveExpect,
  DropExpect,
  ExpectTx,
  CompleteTx,
};

/// Checks that an mbarrier.init or mbarrier.inval is ordered after all uses of
/// the barrier, not just executed later in this run. Identical initializations
/// by several threads before any use are harmless. Returns false after a
/// finding.
bool mayChange(Warp &w, const Instr *i, bool isInit, uint32_t lanes, Cta &owner,
               uint32_t offset, uint32_t count) {
  if (!(w.machine->config.checks & kCheckBarrier))
    return true;
  Mbarrier &b = owner.mbarrier(offset);
  std::string place =
      w.machine->describeSharedOffset(offset) +
      (owner.rank != w.cta->rank ? " of CTA rank " + std::to_string(owner.rank)
                                 : std::string());
  if (isInit && mbarrierState(b.word).live) {
    uint64_t fresh = 0;
    bool isAlike = !mbarrierInit(fresh, count) && fresh == b.word &&
                   !b.phases && (!b.order || b.order->users.empty());
    if (isAlike)
      return true;
    w.fail(i, {FindingKind::Barrier, Situation::LiveInit},
           "mbarrier.init on a live mbarrier (mbarrier at " + place +
               "): expected mbarrier.inval before it",
           lanes);
    return false;
  }
  Order *order = w.order();
  std::string other =
      order ? order->unorderedWithChange(w, owner, offset) : std::string();
  if (other.empty())
    return true;
  w.fail(i, {FindingKind::Barrier, Situation::UnorderedChange},
         std::string(isInit ? "mbarrier.init" : "mbarrier.inval") +
             " of the mbarrier at " + place + " is not ordered with " + other +
             ": expected a barrier between them",
         lanes);
  return false;
}

/// a: address, b: count or bytes, c: count of arrive.expect_tx, d: state or
/// kNoSlot; aux: op | noComplete << 4 | relaxed << 5 | .cta scope << 6; aux2:
/// is64 | space << 1.
const Instr *mbarrier(Warp &w, const Instr *i, uint32_t mask) {
  bool is64 = i->aux2 & 1;
  Space space = Space(i->aux2 >> 1);
  Order *order = w.order();
  MbarOp op = MbarOp(i->aux & 15);
  bool passesOn =
      order && ((op >= Arrive && op <= DropExpect) || op == CompleteTx);
  Knowledge known;
  uint32_t step = order ? order->of(w).step() : 0;
  // complete_tx is relaxed: it only publishes knowledge collected by a fence.
  if (passesOn && (i->aux >> 5 & 1 || op == CompleteTx))
    order->releaseRelaxed(w, known);
  else if (passesOn)
    order->release(w, known);
  const uint64_t *lastWord = nullptr, *ended = nullptr;
  unsigned lastParity = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    Cta *owner;
    uint32_t offset;
    uint64_t *word =
        mbarrierWord(w, i, space, laneAddress(w, i->a, is64, i->imm, lane),
                     lane, owner, offset);
    if (!word)
      return nullptr;
    uint64_t before = *word;
    uint32_t value = i->b == kNoSlot ? 1 : w.at<uint32_t>(i->b)[lane];
    uint32_t count = i->c == kNoSlot ? 1 : w.at<uint32_t>(i->c)[lane];
    bool noComplete = i->aux >> 4 & 1;
    Fault f;
    uint32_t arrivals = 0;
    // All lanes have the same knowledge, so publish once per barrier and phase.
    if (passesOn &&
        (word != lastWord || mbarrierState(*word).parity != lastParity)) {
      bool isNarrow = i->aux >> 6 & 1 && owner != w.cta;
      order->arrive(isNarrow ? Order::beyondCta(known) : known, *owner, offset);
      lastWord = word;
      lastParity = mbarrierState(*word).parity;
    }
    if (order && op != Init)
      order->useBarrier(w, i, 1u << lane, order->of(w).known, *owner, offset);
    if (order && op > Inval)
      order->noteUse(w, i, step, *owner, offset);
    else if (!mayChange(w, i, op == Init, 1u << lane, *owner, offset, value))
      return nullptr;
    if (order && owner != w.cta)
      order->useRemote(w, i, *owner, step);
    if (word == ended && op >= Arrive && op <= DropExpect)
      w.note(i, {FindingKind::Barrier, Situation::ManyLanes},
             "the mbarrier at " + w.machine->describeSharedOffset(offset) +
                 " expects " + std::to_string(mbarrierState(before).expected) +
                 " arrivals: its phase ends before all lanes of the "
                 "instruction have arrived, so the remaining lanes arrive in "
                 "the next phase",
             mask);
    switch (op) {
    case Init: {
      Mbarrier &b = owner->mbarrier(offset);
      b.arrivals.clear();
      b.phases = 0;
      if (order)
        order->initBarrier(w, i, *owner, offset);
      f = mbarrierInit(b.word, value);
      break;
    }
    case Inval:
      f = mbarrierInval(*word);
      if (order && !f)
        order->invalBarrier(w, i, *owner, offset);
      break;
    case Arrive:
      f = mbarrierArrive(*word, value, noComplete);
      arrivals = value;
      break;
    case ArriveDrop:
      f = mbarrierArriveDrop(*word, value, noComplete);
      arrivals = value;
      break;
    case ArriveExpect:
      f = mbarrierArriveExpectTx(*word, value, count);
      arrivals = count;
      break;
    case DropExpect:
      f = mbarrierArriveDropExpectTx(*word, value, count);
      arrivals = count;
      break;
    case ExpectTx:
      f = mbarrierExpectTx(*word, value);
      break;
    case CompleteTx:
      f = mbarrierCompleteTx(*word, value);
      break;
    }
    if (f) {
      f.message +=
          " (mbarrier at " + w.machine->describeSharedOffset(offset) +
          (owner != w.cta ? " of CTA rank " + std::to_string(owner->rank)
                          : std::string()) +
          ")";
      return w.fault(i, f, 1u << lane);
    }
    if (mbarrierState(before).parity != mbarrierState(*word).parity)
      ended = word;
    if (op == Init)
      ++w.cta->cluster->effects;
    if (op == Init && w.trace)
      w.trace->initBarrier(w, i, *owner, offset);
    if (op != Init)
      noteMbarrier(w, i, mask, *owner, offset, before, *word, arrivals, false);
    if (i->d != kNoSlot)
      w.at<uint64_t>(i->d)[lane] = before;
  }
  if (op != Init || !w.isEager())
    return i + 1;
  // Yield, so that warps that initialize the same barriers stay in step.
  w.group().cta = nullptr;
  return w.poll(i + 1);
}

/// Returns true at the first unsuccessful try_wait of a warp at an instruction.
/// Its time limit then expires at once, so that accesses of a kernel that
/// ignores the result are not ordered after the phase. Returns false if a
/// branch tests the result, to keep profiles free of failed tests.
bool failsOnce(Warp &w, const Instr *i) {
  bool isTested = i[1].fn == branchIf && (i[1].a & ~kSlotNegated) == i->d;
  if (!w.order() || w.watch || isTested)
    return false;
  const std::vector<Instr> &code = w.machine->program.code;
  w.failedWaits.resize(code.size());
  std::vector<bool>::reference failed = w.failedWaits[i - code.data()];
  bool isFirst = !failed;
  failed = true;
  return isFirst;
}

/// d: predicate, a: address, b: parity or state. Bits of aux: 0 b is a parity,
/// 1 may block (try_wait), 2 relaxed; aux2: is64 | space << 1.
const Instr *mbarrierWait(Warp &w, const Instr *i, uint32_t mask) {
  bool is64 = i->aux2 & 1, byParity = i->aux & 1, mayWait = i->aux & 2;
  Space space = Space(i->aux2 >> 1);
  uint32_t done = 0, ticket = 0, where = 0, observed = 0, used = 0;
  bool isSame = true, isFirst = true;
  Cta *target = nullptr;
  uint32_t passed = ~0u;
  Group &own = w.group();
  bool isWoken = own.isWoken;
  own.isWoken = false;
  // Usually all lanes test the same phase, so test once.
  uint64_t lastAddress = 0, lastPhase = 0;
  bool isDone = false;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t address = laneAddress(w, i->a, is64, i->imm, lane);
    uint64_t phase =
        byParity ? w.at<uint32_t>(i->b)[lane] & 1 : w.at<uint64_t>(i->b)[lane];
    bool isAsked = m != mask && address == lastAddress && phase == lastPhase;
    if (isAsked) {
      done |= uint32_t(isDone) << lane;
      continue;
    }
    lastAddress = address;
    lastPhase = phase;
    Cta *owner;
    uint32_t offset;
    uint64_t *word = mbarrierWord(w, i, space, address, lane, owner, offset);
    if (!word)
      return nullptr;
    if (owner != w.cta)
      return w.fail(i, {FindingKind::Barrier, Situation::ForeignWait},
                    "waits for an mbarrier of CTA rank " +
                        std::to_string(owner->rank) +
                        ": expected an mbarrier of its own CTA",
                    1u << lane);
    if (Order *order = w.order(); order && offset != used) {
      used = offset;
      order->useBarrier(w, i, 1u << lane, order->of(w).known, *owner, offset);
      order->noteUse(w, i, order->of(w).step(), *owner, offset);
    }
    uint32_t parity = byParity ? uint32_t(phase) : mbarrierState(phase).parity;
    isDone = false;
    Fault f = byParity ? mbarrierTestParity(*word, parity, isDone)
                       : mbarrierTest(*word, phase, isDone);
    if (f) {
      f.message +=
          " (mbarrier at " + w.machine->describeSharedOffset(offset) + ")";
      return w.fault(i, f, 1u << lane);
    }
    isDone |= isWoken && offset == own.address && parity == own.ticket;
    if (isDone) {
      done |= 1u << lane;
      if (w.trace && offset != passed)
        w.trace->observe(w, i, *owner, passed = offset, parity);
      if (Order *order = w.order(); order && offset != observed) {
        observed = offset;
        order->observe(w, i, *owner, offset, /*isRelaxed=*/i->aux & 4);
      }
      continue;
    }
    if (isFirst) {
      ticket = parity;
      where = offset;
      target = owner;
      isFirst = false;
    } else {
      isSame &= ticket == parity && where == offset;
    }
  }
  // A failed test_wait yields to other groups. A failed try_wait blocks, unless
  // some lanes succeed or the time limit has expired.
  if (done == mask || (done && mayWait)) {
    setPredicate(w, i->d, done, mask);
    ++w.counts.mbarrierWaits;
    // Asynchronous operations take no time in untimed launches, so a warp could
    // complete several phases before another warp tests the first. Yield after
    // a successful wait to let other warps catch up.
    ++w.cta->cluster->effects;
    return w.watch ? i + 1 : w.poll(i + 1);
  }
  Group &g = w.group();
  g.ticket = ticket;
  g.address = where;
  g.cta = target;
  bool hasGivenUp = std::exchange(g.hasGivenUp, false);
  if (!mayWait || w.cta->cluster->timeout || hasGivenUp || failsOnce(w, i)) {
    setPredicate(w, i->d, done, mask);
    if (w.trace)
      w.trace->testFailed(w, i, *target, where, ticket);
    return done || hasGivenUp ? i + 1 : w.poll(i + 1);
  }
  if (!isSame)
    return w.poll(i);
  if (w.watch)
    g.givesUpAt = w.watch->givesUpAt(i, g.step);
  return w.block(i, Wait::Mbarrier);
}

const Instr *pendingCount(Warp &w, const Instr *i, uint32_t mask) {
  forLanes(mask, [&](unsigned lane) {
    w.at<uint32_t>(i->d)[lane] =
        mbarrierPendingCount(w.at<uint64_t>(i->a)[lane]);
  });
  return i + 1;
}

void decodeMbarrier(Decoder &d) {
  static constexpr std::string_view names[] = {
      "init",        "inval",     "arrive",   "arrive_drop",  "expect_tx",
      "complete_tx", "test_wait", "try_wait", "pending_count"};
  int op = -1;
  // arrive.expect_tx contains two names. The first is the operation.
  for (std::string_view m : d.modifiers()) {
    for (unsigned k = 0; k < 9; ++k)
      if (m == names[k] && op < 0)
        op = k;
  }
  if (op < 0)
    return d.unsupported("expects an operation");
  d.take(names[op]);
  if (op == 8) {
    d.take("b64");
    if (!d.expectOperands(2, 2))
      return;
    Slot a = d.use(1, {'B', 64}), out = d.def(0, {'U', 32});
    Instr &i = d.emit(pendingCount);
    i.d = out;
    i.a = a;
    return;
  }
  bool expect = (op == 2 || op == 3) && d.take("expect_tx");
  bool noComplete = d.take("noComplete");
  bool parity = d.take("parity");
  bool isRelaxed = d.takeAny({"relaxed", "release", "acquire"}) == 0;
  bool isOfCta = d.takeAny({"cta", "cluster"}) == 0;
  Space space = d.takeSpace();
  if (!d.take("b64"))
    return d.unsupported("expects .b64");
  if (space != Space::Generic && space != Space::Shared)
    return d.unsupported("mbarriers must be in shared memory");
  size_t k = 0;
  if (op >= 6) {
    if (!d.expectOperands(3, 4)) // optional time limit
      return;
    Slot p = d.defPredicate(0);
    Address a = d.address(1);
    Slot s = parity ? d.use(2, {'U', 32}) : d.use(2, {'B', 64});
    Instr &i = d.emit(mbarrierWait);
    i.d = p;
    i.a = a.base;
    i.imm = a.offset;
    i.b = s;
    i.aux = parity | (op == 7) << 1 | isRelaxed << 2;
    i.aux2 = a.is64 | unsigned(space) << 1;
    return;
  }
  Slot state = kNoSlot;
  bool isArrive = op == 2 || op == 3;
  if (isArrive && d.operandAt(0).kind != Operand::Memory) {
    if (d.operand(0).kind != Operand::Sink)
      state = d.def(0, {'B', 64});
    k = 1;
  }
  Address a = d.address(k++);
  Slot value = kNoSlot, count = kNoSlot;
  if (k < d.numOperands())
    value = d.use(k++, {'U', 32});
  if (expect && k < d.numOperands())
    count = d.use(k++, {'U', 32});
  if (k < d.numOperands())
    return d.unsupported("too many operands");
  if ((op == 0 || op >= 4 || expect) && value == kNoSlot)
    return d.unsupported("expects a count");
  static const MbarOp ops[] = {Init,       Inval,    Arrive,
                               ArriveDrop, ExpectTx, CompleteTx};
  MbarOp final = ops[op];
  if (expect)
    final = op == 2 ? ArriveExpect : DropExpect;
  Instr &i = d.emit(mbarrier);
  i.d = state;
  i.a = a.base;
  i.imm = a.offset;
  i.b = value;
  i.c = count;
  i.aux = final | noComplete << 4 | isRelaxed << 5 | isOfCta << 6;
  i.aux2 = a.is64 | unsigned(space) << 1;
}

} // namespace

void mx::sim::addMbarrierInstructions(DecodeTable &t) {
  t["mbarrier"] = decodeMbarrier;
}
