//===- Bulk.cpp - cp.async.bulk and bulk groups ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: cp.async.bulk, cp.reduce.async.bulk, bulk groups, and bulk prefetch.
//===----------------------------------------------------------------------===//

#include "../machine/LeftOut.h"
#include "BulkCopies.h"
#include "CopyAsync.h"
#include "Instructions.h"

#include <tuple>

using namespace mx::sim;

namespace {

enum class Bulk : uint8_t { GlobalToShared, SharedToGlobal, SharedToShared };

struct BulkCopy {
  Bulk kind;
  bool multicast, isReduce;
  ReduceOp reduce;
  ReduceType type;
  uint32_t pack() const {
    return unsigned(kind) | multicast << 4 | isReduce << 5 |
           unsigned(reduce) << 8 | unsigned(type) << 12;
  }
  explicit BulkCopy(uint32_t v)
      : kind(Bulk(v & 15)), multicast(v >> 4 & 1), isReduce(v >> 5 & 1),
        reduce(ReduceOp(v >> 8 & 15)), type(ReduceType(v >> 12 & 15)) {}
  BulkCopy() : BulkCopy(0) {}
};

/// Adds the buffer to the message of a bounds fault.
Fault withBuffer(Warp &w, Fault f, const char *word, uint64_t address,
                 uint32_t size) {
  if (f.kind == FaultKind::Bounds)
    f.message += std::string(" (") + word + " " +
                 w.machine->memory.describe(address, size) + ")";
  return f;
}

/// Describes a transfer to or from global memory. Adds the addresses in timed
/// launches only.
time::Transfer transferOf(const Warp &w, uint64_t address, uint32_t size) {
  time::Transfer t{size};
  if (w.watch)
    time::addPieces(t.pieces, address, size);
  return t;
}

const Instr *bulkToGlobal(Warp &w, const Instr *i, uint32_t mask) {
  BulkCopy copy(i->aux2);
  if (copy.isReduce && w.isEager() && !w.takeTurn(i))
    return nullptr;
  const Slot *s = &w.machine->program.extra[i->aux];
  Cluster &cluster = *w.cta->cluster;
  ++cluster.effects;
  if (!copy.isReduce)
    mask = firstOfEach(mask, [&](unsigned lane) {
      return std::make_tuple(addressOf(w, s, lane),
                             addressOf(w, s + kPlaceSlots, lane),
                             w.at<uint32_t>(i->b)[lane]);
    });
  const Instr *next = i + 1;
  for (uint32_t m = mask; m && next; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t dst = addressOf(w, s, lane);
    uint64_t src = sharedAddress(addressOf(w, s + kPlaceSlots, lane));
    uint32_t size = w.at<uint32_t>(i->b)[lane];
    Cta *from = sharedOwner(w, i, src, lane);
    if (!from)
      return nullptr;
    uint32_t offset = src & kOffsetMask;
    next = issueInGroup(
        w, i, lane, copy.isReduce, *from, offset, transferOf(w, dst, size),
        [=, &w, &cluster] {
          TmaResult r = copy.isReduce ? bulkReduce(copy.reduce, copy.type,
                                                   cluster.engineGlobal, dst,
                                                   from->view(), offset, size)
                                      : bulkStore(cluster.engineGlobal, dst,
                                                  from->view(), offset, size);
          r.fault = withBuffer(w, r.fault, "to", dst, size);
          if (from->leftOut)
            followStore(w, *from, offset, size, {{dst, size}}, copy.isReduce);
          return r;
        });
  }
  return next;
}

/// extra: addresses of dst, src and mbarrier, slot of the multicast mask; b:
/// size.
const Instr *bulkToShared(Warp &w, const Instr *i, uint32_t mask) {
  BulkCopy copy(i->aux2);
  const Slot *s = &w.machine->program.extra[i->aux];
  Cluster &cluster = *w.cta->cluster;
  ++cluster.effects;
  const Instr *next = i + 1;
  for (uint32_t m = mask; m && next; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t dst = sharedAddress(addressOf(w, s, lane));
    uint64_t src = addressOf(w, s + kPlaceSlots, lane);
    uint64_t bar = sharedAddress(addressOf(w, s + 2 * kPlaceSlots, lane));
    uint32_t size = w.at<uint32_t>(i->b)[lane];
    Cta *to = sharedOwner(w, i, dst, lane);
    Cta *holder, *from = nullptr;
    uint32_t barOffset;
    if (!to ||
        !mbarrierWord(w, i, ptx::Space::Shared, bar, lane, holder, barOffset))
      return nullptr;
    if (holder != to)
      return w.fail(i, FindingKind::IllegalInstruction,
                    "copies into CTA rank " + std::to_string(to->rank) +
                        " but signals an mbarrier of CTA rank " +
                        std::to_string(holder->rank),
                    1u << lane);
    if (copy.kind == Bulk::SharedToShared) {
      src = sharedAddress(src);
      if (!(from = sharedOwner(w, i, src, lane, /*isOwnOnly=*/true)))
        return nullptr;
    }
    uint32_t ranks = copy.multicast
                         ? w.at<uint32_t>(s[3 * kPlaceSlots])[lane] & 0xffff
                         : 1u << to->rank;
    if (!checkMulticast(w, i, ranks, lane))
      return nullptr;
    uint32_t offset = dst & kOffsetMask;
    auto known = knowledgeAtIssue(w, /*isDeferred=*/true);
    uint64_t done =
        w.trace ? w.trace->load(
                      w, i, Engine::BulkLoad, ranks, offset,
                      from ? time::Transfer{size} : transferOf(w, src, size),
                      from ? steps::kClusterLatency : steps::kCopyLatency)
                : 0;
    bool isFirst = true;
    for (; ranks && next; ranks &= ranks - 1, isFirst = false) {
      Cta *target = cluster.ctas[__builtin_ctz(ranks)].get();
      Cta *signal = copy.multicast ? target : holder;
      ToShared end{known, signal, barOffset, done};
      next = issueToShared(w, i, lane, end, [=, &w, &cluster] {
        uint32_t at = src & kOffsetMask;
        SharedMemory there = target->view();
        TmaResult r =
            !from ? bulkLoad(cluster.engineGlobal, src, there, offset, size)
            : copy.isReduce ? bulkReduceShared(copy.reduce, copy.type, there,
                                               offset, from->view(), at, size)
                            : bulkShared(there, offset, from->view(), at, size);
        if (!from)
          r.fault = withBuffer(w, r.fault, "from", src, size);
        if (!followsLeftOut(w))
          ;
        else if (!from)
          followLoad(w, {{src, size}}, *target, offset, size);
        else if (from->leftOut->meets(at, size))
          target->leftOut->mark(offset, size);
        w.counts.bulkLoadBytes += r.bytes;
        w.counts.bulkReadBytes += isFirst ? r.bytes : 0;
        return r;
      });
    }
  }
  return next;
}

const Instr *commitBulk(Warp &w, const Instr *i, uint32_t) {
  w.bulkGroups.commit();
  if (w.trace)
    w.trace->commitGroup(w, Recorder::Groups::Bulk);
  return i + 1;
}

/// imm: number of groups allowed to be pending; aux: true for .read.
const Instr *waitBulk(Warp &w, const Instr *i, uint32_t) {
  bool isOver = w.bulkGroups.atMost(i->imm);
  if (w.trace && (isOver || !w.watch))
    w.trace->waitGroups(w, Recorder::Groups::Bulk, i->imm, i->aux);
  if (!isOver) {
    w.block(i, Wait::BulkGroup);
    w.group().index = uint32_t(i->imm);
    return nullptr;
  }
  uint64_t committed = w.bulkGroups.committed();
  if (Order *order = w.order(); order && committed > uint64_t(i->imm))
    order->waitBulk(w, committed - i->imm, i->aux);
  return i + 1;
}

void decodeBulk(Decoder &d, bool isReduce) {
  BulkCopy copy;
  // State spaces of dst and src, in this order.
  std::vector<bool> isShared;
  for (std::string_view m : d.modifiers()) {
    if (m == "global")
      isShared.push_back(false);
    else if (m.substr(0, 6) == "shared")
      isShared.push_back(true);
  }
  if (isShared.size() != 2 || (!isShared[0] && !isShared[1]))
    return d.unsupported("expects two state spaces");
  while (d.takeAny({"global", "shared::cta", "shared::cluster", "shared"}) >= 0)
    ;
  copy.kind = !isShared[0]  ? Bulk::SharedToGlobal
              : isShared[1] ? Bulk::SharedToShared
                            : Bulk::GlobalToShared;
  copy.isReduce = isReduce;
  bool hasHint;
  hasHint = d.take("L2::cache_hint");
  if (isReduce) {
    bool hasOp = false, hasType = false;
    std::vector<std::string_view> mods = d.modifiers();
    for (std::string_view m : mods) {
      if (!hasOp && parseReduceOp(m, copy.reduce)) {
        hasOp = true;
        d.take(m);
      } else if (!hasType && parseReduceType(m, copy.type)) {
        hasType = true;
        d.take(m);
      }
    }
    d.take("noftz");
    if (!hasOp || !hasType)
      return d.unsupported("expects an operation and a type");
  }
  bool toGlobal = copy.kind == Bulk::SharedToGlobal;
  if (!d.take(toGlobal ? "bulk_group" : "mbarrier::complete_tx::bytes"))
    return d.unsupported("expects a completion mechanism");
  copy.multicast = !toGlobal && d.take("multicast::cluster");
  size_t n = 3 + !toGlobal + copy.multicast + hasHint;
  if (!d.expectOperands(n, n))
    return;
  Address dst = d.address(0), src = d.address(1), bar = dst;
  Slot size = d.use(2, {'U', 32});
  if (!toGlobal)
    bar = d.address(3);
  Slot mask = copy.multicast ? d.use(4, {'U', 16}) : kNoSlot;
  uint32_t first = d.program.extra.size();
  addPlace(d, dst);
  addPlace(d, src);
  addPlace(d, bar);
  d.addExtra(mask);
  Instr &i = d.emit(toGlobal ? bulkToGlobal : bulkToShared);
  i.b = size;
  i.aux = first;
  i.aux2 = copy.pack();
}

void decodePrefetch(Decoder &d) {
  while (!d.modifiers().empty())
    d.take(d.modifiers().front());
  d.emit(nop);
}

void decodeBulkGroup(Decoder &d, bool isWait) {
  int64_t pending = 0;
  bool isRead = d.take("read");
  if (!d.expectOperands(isWait, isWait) || (isWait && !d.immediate(0, pending)))
    return;
  if (pending < 0)
    return d.unsupported("expects a number of groups");
  Instr &i = d.emit(isWait ? waitBulk : commitBulk);
  i.imm = pending;
  i.aux = isRead;
}

void decodeCp(Decoder &d) {
  bool isReduce = d.take("reduce");
  if (!d.take("async"))
    return d.unsupported("expects .async");
  if (!d.take("bulk"))
    return decodeCopyAsync(d);
  if (d.take("commit_group"))
    return decodeBulkGroup(d, false);
  if (d.take("wait_group"))
    return decodeBulkGroup(d, true);
  if (d.take("prefetch"))
    return decodePrefetch(d);
  if (d.take("tensor"))
    return decodeBulkTensor(d, isReduce);
  return decodeBulk(d, isReduce);
}

} // namespace

void mx::sim::addBulkInstructions(DecodeTable &t) { t["cp"] = decodeCp; }
