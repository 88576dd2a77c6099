//===- StoreAsync.cpp - Asynchronous and bulk stores ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: st.async, red.async and st.bulk. The first two write to shared
// memory of any CTA in the cluster and count their bytes on an mbarrier of the
// same CTA. st.bulk fills shared memory with zeros.
//===----------------------------------------------------------------------===//

#include "StoreAsync.h"

#include "BulkCopies.h"

#include "mxsim/tensor/IntegerReduce.h"

using namespace mx::sim;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

struct Value {
  uint8_t bytes[16];
};

template <class T>
void combine(ReduceOp op, uint8_t *to, const uint8_t *from) {
  T old, b;
  std::memcpy(&old, to, sizeof(T));
  std::memcpy(&b, from, sizeof(T));
  old = reduceInteger(op, old, b);
  std::memcpy(to, &old, sizeof(T));
}
using Combine = void (*)(ReduceOp op, uint8_t *to, const uint8_t *from);
/// Indexed by width (1 for 64 bits) and signedness.
constexpr Combine kCombine[2][2] = {{combine<uint32_t>, combine<int32_t>},
                                    {combine<uint64_t>, combine<int64_t>}};

/// extra: addresses of dst and mbarrier, values; aux2: op | bytes per value <<
/// 8 | number of values << 16 | is signed << 24 | is a store << 25.
const Instr *storeAsync(Warp &w, const Instr *i, uint32_t mask) {
  const Slot *s = &w.machine->program.extra[i->aux];
  ReduceOp op = ReduceOp(i->aux2 & 0xff);
  unsigned bytes = i->aux2 >> 8 & 0xff, count = i->aux2 >> 16 & 0xff;
  bool isStore = i->aux2 >> 25 & 1;
  Combine combine = kCombine[bytes == 8][i->aux2 >> 24 & 1];
  Cluster &cluster = *w.cta->cluster;
  ++cluster.effects;
  const Instr *next = i + 1;
  auto known = knowledgeAtIssue(w, /*isDeferred=*/true);
  for (uint32_t m = mask; m && next; m &= m - 1) {
    unsigned lane = __builtin_ctz(m), total = bytes * count;
    uint64_t dst = sharedAddress(addressOf(w, s, lane));
    uint64_t bar = sharedAddress(addressOf(w, s + kPlaceSlots, lane));
    uint8_t *to = resolveAddress(w, i, Space::Shared, dst, total, lane, true);
    Cta *holder;
    uint32_t barOffset;
    if (!to || !mbarrierWord(w, i, Space::Shared, bar, lane, holder, barOffset))
      return nullptr;
    Cta *owner = cluster.ctas[dst >> kRankShift].get();
    if (holder != owner)
      return w.fail(i, FindingKind::IllegalInstruction,
                    "stores into CTA rank " + std::to_string(owner->rank) +
                        " but signals an mbarrier of CTA rank " +
                        std::to_string(holder->rank),
                    1u << lane);
    Value v = {};
    for (unsigned k = 0; k < count; ++k) {
      Slot slot = s[2 * kPlaceSlots + k];
      if (bytes == 8)
        std::memcpy(v.bytes + 8 * k, &w.at<uint64_t>(slot)[lane], 8);
      else
        std::memcpy(v.bytes + 4 * k, &w.at<uint32_t>(slot)[lane], 4);
    }
    uint64_t done =
        w.trace ? w.trace->load(w, i, Engine::StoreAsync, 0, dst & kOffsetMask,
                                {total}, steps::kClusterLatency)
                : 0;
    ToShared end{known, holder, barOffset, done};
    next = issueToShared(w, i, lane, end, [=, &w] {
      if (Order *order = w.order())
        order->engineShared(*owner, dst & kOffsetMask, total, true);
      if (isStore)
        std::memcpy(to, v.bytes, total);
      else
        combine(op, to, v.bytes);
      w.counts.sharedStoreBytes += total;
      return TmaResult{Fault(), total};
    });
  }
  return next;
}

/// Decodes st.async or red.async; `op` is null for a store.
void decodeStoreAsync(Decoder &d, const ReduceOp *op, unsigned count, Type t) {
  if (!d.expectOperands(3, 3))
    return;
  if (t.bits != 32 && t.bits != 64)
    return d.unsupported("expects a 32- or 64-bit type");
  Address dst = d.address(0), bar = d.address(2);
  std::vector<Operand> parts = d.elements(d.operand(1));
  if (parts.size() != count)
    return d.unsupported("expects " + std::to_string(count) + " elements");
  if (count * t.bits > 128)
    return d.unsupported("the values must have at most 16 bytes");
  std::vector<Slot> values;
  for (const Operand &p : parts)
    values.push_back(d.use(p, t.bits / 8, t));
  uint32_t first = d.program.extra.size();
  addPlace(d, dst);
  addPlace(d, bar);
  for (Slot v : values)
    d.addExtra(v);
  Instr &i = d.emit(storeAsync);
  i.aux = first;
  i.aux2 = unsigned(op ? *op : ReduceOp()) | unsigned(t.bits / 8) << 8 |
           count << 16 | unsigned(t.kind == 'S') << 24 | unsigned(!op) << 25;
}

/// a: address, b: size; aux: is64 | size is 64-bit << 1.
const Instr *storeBulk(Warp &w, const Instr *i, uint32_t mask) {
  ++w.cta->cluster->effects;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t a = sharedAddress(laneAddress(w, i->a, i->aux & 1, i->imm, lane));
    uint64_t size =
        i->aux & 2 ? w.at<uint64_t>(i->b)[lane] : w.at<uint32_t>(i->b)[lane];
    Cta *owner = nullptr;
    uint8_t *p =
        size <= (1u << 24) ? w.machine->shared(w, a, size, owner) : nullptr;
    if (a % 8 || size % 8)
      return w.fail(i, FindingKind::Misaligned,
                    "st.bulk expects an address and a size that are multiples "
                    "of 8 bytes, found " +
                        w.machine->describeShared(*w.cta, a, size),
                    1u << lane);
    if (!p)
      return w.fail(i, FindingKind::OutOfBounds,
                    "store out of bounds: " +
                        w.machine->describeShared(*w.cta, a, size),
                    1u << lane);
    if (!checkOwnCta(w, i, "store", a, size, lane))
      return nullptr;
    std::memset(p, 0, size);
    uint32_t offset = a & kOffsetMask;
    if (owner->tracker)
      owner->tracker->markWritten(offset, uint32_t(size));
    AccessRange range{offset, size, 1u << lane, LaneRun()};
    if (Order *order = w.order())
      order->accessShared(w, i, *owner, {&range, 1}, {Touch::Write});
    w.counts.sharedStoreBytes += size;
  }
  return i + 1;
}

} // namespace

void mx::sim::decodeStAsync(Decoder &d) {
  d.takeAny({"weak"});
  d.takeSpace();
  if (!d.take("mbarrier::complete_tx::bytes"))
    return d.unsupported("expects .mbarrier::complete_tx::bytes");
  unsigned count = d.takeVector();
  Type t;
  if (!d.takeType(t))
    return d.unsupported("expects a type");
  decodeStoreAsync(d, nullptr, count, t);
}

void mx::sim::decodeRedAsync(Decoder &d) {
  d.take("relaxed");
  d.takeAny({"cluster", "cta"});
  d.takeSpace();
  if (!d.take("mbarrier::complete_tx::bytes"))
    return d.unsupported("expects .mbarrier::complete_tx::bytes");
  int index =
      d.takeAny({"add", "min", "max", "inc", "dec", "and", "or", "xor"});
  Type t;
  if (index < 0 || !d.takeType(t))
    return d.unsupported("expects an operation and a type");
  ReduceOp op = ReduceOp(index);
  decodeStoreAsync(d, &op, 1, t);
}

void mx::sim::decodeStBulk(Decoder &d) {
  d.take("weak");
  d.takeSpace();
  if (!d.expectOperands(3, 3))
    return;
  int64_t value;
  if (!d.immediate(2, value))
    return;
  if (value)
    return d.unsupported("the initial value must be 0");
  Address a = d.address(0);
  bool isWide = d.laneBytesOf(d.operand(1)) == 8;
  Slot size = d.use(1, {'U', uint16_t(isWide ? 64 : 32)});
  Instr &i = d.emit(storeBulk);
  i.a = a.base;
  i.imm = a.offset;
  i.b = size;
  i.aux = a.is64 | isWide << 1;
}
