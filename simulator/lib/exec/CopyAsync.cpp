//===- CopyAsync.cpp - Non-bulk asynchronous copies -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: cp.async, its groups, and cp.async.mbarrier.arrive. The copies of a
// warp complete in order and belong to the generic proxy.
//===----------------------------------------------------------------------===//

#include "CopyAsync.h"

#include "AsyncOperands.h"

#include "mxsim/tensor/Mbarrier.h"

using namespace mx::sim;
using ptx::Space;

namespace {

struct LaneCopy {
  uint64_t from = 0;
  uint8_t *source = nullptr; ///< null: zero fill only
  uint8_t *target = nullptr;
  Cta *cta = nullptr;
  uint32_t offset = 0;
  uint8_t take = 0;
};

/// Resolves the source address. Only the copied bytes must be accessible.
uint8_t *resolveSource(Warp &w, const Instr *i, uint64_t from, unsigned bytes,
                       unsigned take, unsigned lane) {
  bool isMisaligned = from & (bytes - 1);
  if (take == bytes || isMisaligned)
    return resolveAddress(w, i, Space::Global, from, bytes, lane, false);
  uint8_t *first = resolveAddress(w, i, Space::Global, from, 1, lane, false);
  bool isWhole = first && resolveAddress(w, i, Space::Global, from + take - 1,
                                         1, lane, false);
  return isWhole ? first : nullptr;
}

/// extra: addresses of dst and src; b: ignore-src or kNoSlot, c: src-size or
/// kNoSlot; aux2: bytes.
const Instr *copyAsync(Warp &w, const Instr *i, uint32_t mask) {
  const Slot *s = &w.machine->program.extra[i->aux];
  unsigned bytes = i->aux2;
  auto copies = std::make_shared<std::vector<LaneCopy>>();
  uint64_t sources[32];
  uint32_t reads = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t dst = sharedAddress(addressOf(w, s, lane));
    LaneCopy c;
    sources[lane] = c.from = addressOf(w, s + kPlaceSlots, lane);
    uint32_t take = bytes;
    if (i->c != kNoSlot)
      take = w.at<uint32_t>(i->c)[lane];
    if (i->b != kNoSlot && w.predicate(i->b) >> lane & 1)
      take = 0;
    if (take > bytes)
      return w.fail(i, FindingKind::IllegalInstruction,
                    "cp.async of " + std::to_string(take) + " of " +
                        std::to_string(bytes) + " bytes",
                    1u << lane);
    c.take = uint8_t(take);
    reads |= uint32_t(take != 0) << lane;
    if (take && !(c.source = resolveSource(w, i, c.from, bytes, take, lane)))
      return nullptr;
    if (!(c.target =
              resolveAddress(w, i, Space::Shared, dst, bytes, lane, true)))
      return nullptr;
    c.cta = w.cta->cluster->ctas[dst >> kRankShift].get();
    c.offset = dst & kOffsetMask;
    copies->push_back(c);
  }
  uint64_t group = w.copyGroups.add();
  auto known = knowledgeAtIssue(w);
  uint32_t step = w.order() ? w.order()->of(w).copyStep : 0;
  if (w.trace) {
    time::Transfer transfer{copies->size() * bytes};
    if (w.watch)
      time::addSectors(transfer.pieces, sources, bytes, reads);
    w.trace->copyAsync(w, i, std::move(transfer));
  }
  auto action = [=, &w]() -> Fault {
    Order *order = w.order();
    ScopeGuard guard(order, order ? order->copyScope(w, i, mask, *known, step)
                                  : EngineScope());
    for (const LaneCopy &c : *copies) {
      uint8_t data[16] = {};
      if (c.take) {
        std::memcpy(data, c.source, c.take);
        if (order)
          order->engineGlobal(c.from, c.take, false);
      }
      if (!w.cta->leavesOut)
        std::memcpy(c.target, data, bytes);
      if (followsLeftOut(w))
        followLoad(w, {{c.from, c.take}}, *c.cta, c.offset, bytes);
      if (order)
        order->engineShared(*c.cta, c.offset, bytes, true);
      w.counts.copyBytes += bytes;
    }
    w.copyGroups.complete(group);
    return Fault();
  };
  return w.issue(i, mask, w.line(Warp::kCopyLine), false, action);
}

/// a: mbarrier; aux: true for .noinc; aux2: is64.
const Instr *copyAsyncArrive(Warp &w, const Instr *i, uint32_t mask) {
  Knowledge known;
  if (Order *order = w.order())
    known = order->copiesSoFar(w);
  uint64_t done = w.trace ? w.trace->copiesSoFar(w) : 0;
  const Instr *next = i + 1;
  for (uint32_t m = mask; m && next; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    Cta *owner;
    uint32_t offset;
    uint64_t *word =
        mbarrierWord(w, i, Space::Shared,
                     sharedAddress(laneAddress(w, i->a, i->aux2, i->imm, lane)),
                     lane, owner, offset);
    if (!word)
      return nullptr;
    // Without .noinc, the arrival is added to the expected count.
    if (!i->aux)
      if (Fault f = mbarrierExpectArrival(*word))
        return w.fault(i, f, 1u << lane);
    auto action = [=, &w]() -> Fault {
      Recorder::Moment moment(w.trace, done);
      if (Order *order = w.order())
        order->noteEngineUse(w, i, AgentKind::Copies, known, *owner, offset);
      return arriveOn(w, i, 1u << lane, *owner, offset, 1, &known);
    };
    next = w.issue(i, 1u << lane, w.line(Warp::kCopyLine), false, action);
  }
  return next;
}

const Instr *commitCopies(Warp &w, const Instr *i, uint32_t) {
  w.copyGroups.commit();
  if (w.trace)
    w.trace->commitGroup(w, Recorder::Groups::Copy);
  if (Order *order = w.order())
    order->commitCopies(w);
  return i + 1;
}

/// imm: number of groups allowed to be pending; aux: true for wait_all, which
/// also waits for the open group.
const Instr *waitCopies(Warp &w, const Instr *i, uint32_t mask) {
  if (i->aux)
    commitCopies(w, i, mask);
  bool isOver = w.copyGroups.atMost(i->imm);
  if (w.trace && (isOver || !w.watch))
    w.trace->waitGroups(w, Recorder::Groups::Copy, i->imm, false);
  if (!isOver) {
    // wait_all has committed the open group, so resume after the instruction.
    w.block(i->aux ? i + 1 : i, Wait::CopyGroup);
    w.group().index = uint32_t(i->imm);
    if (i->aux)
      if (Order *order = w.order())
        order->waitCopies(w, 0);
    return nullptr;
  }
  if (Order *order = w.order())
    order->waitCopies(w, i->imm);
  return i + 1;
}

} // namespace

void mx::sim::decodeCopyAsync(Decoder &d) {
  if (d.take("commit_group")) {
    d.emit(commitCopies);
    return;
  }
  if (d.take("wait_all")) {
    d.emit(waitCopies).aux = 1;
    return;
  }
  if (d.take("wait_group")) {
    int64_t pending;
    if (!d.expectOperands(1, 1) || !d.immediate(0, pending))
      return;
    if (pending < 0)
      return d.unsupported("expects a number of groups");
    d.emit(waitCopies).imm = pending;
    return;
  }
  if (d.take("mbarrier")) {
    d.take("arrive");
    bool noInc = d.take("noinc");
    d.takeSpace();
    d.take("b64");
    Address a = d.address(0);
    Instr &i = d.emit(copyAsyncArrive);
    i.a = a.base;
    i.imm = a.offset;
    i.aux = noInc;
    i.aux2 = a.is64;
    return;
  }
  d.takeAny({"ca", "cg"});
  d.takeAny({"shared", "shared::cta"});
  d.take("global");
  bool hasHint = d.take("L2::cache_hint");
  d.takePrefix("L2::");
  if (!d.expectOperands(3u + hasHint, 4u + hasHint))
    return;
  int64_t bytes;
  if (!d.immediate(2, bytes))
    return;
  if (bytes != 4 && bytes != 8 && bytes != 16)
    return d.unsupported("the copy size must be 4, 8 or 16 bytes");
  Address dst = d.address(0), src = d.address(1);
  Slot size = kNoSlot, ignore = kNoSlot;
  if (d.numOperands() - hasHint == 4) {
    if (d.isPredicate(d.operand(3)))
      ignore = d.usePredicate(3);
    else
      size = d.use(3, {'U', 32});
  }
  uint32_t first = d.program.extra.size();
  addPlace(d, dst);
  addPlace(d, src);
  Instr &i = d.emit(copyAsync);
  i.b = ignore;
  i.c = size;
  i.aux = first;
  i.aux2 = bytes;
}
