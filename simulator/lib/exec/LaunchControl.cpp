//===- LaunchControl.cpp - Cluster launch control -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: clusterlaunchcontrol.try_cancel claims a cluster that has not
// started, so that another cluster can take over its work. PTX does not specify
// the format of the 16-byte response. Here, the response consists of the 32-bit
// x, y and z indices of the first CTA, followed by 1 on success.
//===----------------------------------------------------------------------===//

#include "BulkCopies.h"
#include "Instructions.h"

using namespace mx::sim;
using ptx::Space;

namespace {

constexpr uint32_t kAnswerBytes = 16;

/// extra: addresses of response and mbarrier; aux2: multicast.
const Instr *tryCancel(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.takeTurn(i))
    return nullptr;
  const Slot *s = &w.machine->program.extra[i->aux];
  Cluster &cluster = *w.cta->cluster;
  ++cluster.effects;
  const Instr *next = i + 1;
  for (uint32_t m = mask; m && next; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t dst = sharedAddress(addressOf(w, s, lane));
    uint64_t bar = sharedAddress(addressOf(w, s + kPlaceSlots, lane));
    if (!resolveAddress(w, i, Space::Shared, dst, kAnswerBytes, lane, true))
      return nullptr;
    Cta *holder;
    uint32_t barOffset;
    if (!mbarrierWord(w, i, Space::Shared, bar, lane, holder, barOffset))
      return nullptr;
    std::array<uint32_t, 4> answer = {0, 0, 0, 0};
    uint64_t index;
    if (w.machine->cancelCluster(cluster, index)) {
      Dim3 cta = w.machine->firstCtaOf(index);
      answer = {cta.x, cta.y, cta.z, 1};
    }
    uint32_t own = 1u << (dst >> kRankShift);
    uint32_t ranks = i->aux2 ? (1u << cluster.ctas.size()) - 1 : own;
    uint32_t offset = dst & kOffsetMask;
    auto known = knowledgeAtIssue(w, /*isDeferred=*/true);
    uint64_t done = w.trace ? w.trace->control(w, i) : 0;
    for (; ranks && next; ranks &= ranks - 1) {
      Cta *target = cluster.ctas[__builtin_ctz(ranks)].get();
      Cta *signal = i->aux2 ? target : holder;
      ToShared end{known, signal, barOffset, done};
      next = issueToShared(w, i, lane, end, [=, &w] {
        std::memcpy(target->shared.data() + offset, answer.data(),
                    kAnswerBytes);
        if (target->tracker)
          target->tracker->markWritten(offset, kAnswerBytes);
        if (Order *order = w.order())
          order->engineAnswer(*target, offset, kAnswerBytes);
        return TmaResult{Fault(), kAnswerBytes};
      });
    }
  }
  return next;
}

/// a: response of 16 bytes per lane; d: predicate.
const Instr *isCanceled(Warp &w, const Instr *i, uint32_t mask) {
  const uint32_t *a = w.at<uint32_t>(i->a);
  uint32_t bits = 0;
  forLanes(mask, [&](unsigned lane) {
    bits |= uint32_t(a[4 * lane + 3] & 1) << lane;
  });
  setPredicate(w, i->d, bits, mask);
  return i + 1;
}

/// aux: first of the four result slots (x, y, z, w) in extra; an unused slot is
/// kNoSlot.
const Instr *firstCta(Warp &w, const Instr *i, uint32_t mask) {
  const Slot *s = &w.machine->program.extra[i->aux];
  const uint32_t *a = w.at<uint32_t>(i->a);
  forLanes(mask, [&](unsigned lane) {
    for (unsigned k = 0; k < 4; ++k)
      if (s[k] != kNoSlot)
        w.at<uint32_t>(s[k])[lane] = k < 3 ? a[4 * lane + k] : 0;
  });
  return i + 1;
}

void decodeQuery(Decoder &d) {
  if (d.take("is_canceled")) {
    d.take("pred");
    d.take("b128");
    if (!d.expectOperands(2, 2))
      return;
    Slot p = d.defPredicate(0), a = d.use(1, {'B', 128});
    Instr &i = d.emit(isCanceled);
    i.d = p;
    i.a = a;
    return;
  }
  std::string_view what = d.takePrefix("get_first_ctaid");
  if (what.empty())
    return d.unsupported("expects .is_canceled or .get_first_ctaid");
  bool isVector = d.takeVector() == 4;
  d.take("b32");
  d.take("b128");
  if (!d.expectOperands(2, 2))
    return;
  Slot out[4] = {kNoSlot, kNoSlot, kNoSlot, kNoSlot};
  if (isVector) {
    std::vector<ptx::Operand> parts = d.elements(d.operand(0));
    if (parts.size() != 4)
      return d.unsupported("expects 4 elements");
    for (unsigned k = 0; k < 4; ++k)
      if (parts[k].kind != ptx::Operand::Sink)
        out[k] = d.def(parts[k], 4);
  } else {
    size_t k = what.size() > 2 ? std::string_view("xyz").find(what.back())
                               : std::string_view::npos;
    if (what.size() != sizeof("get_first_ctaid::x") - 1 || k > 2)
      return d.unsupported("expects ::x, ::y or ::z");
    out[k] = d.def(0, {'B', 32});
  }
  Slot a = d.use(1, {'B', 128});
  uint32_t first = d.program.extra.size();
  for (Slot s : out)
    d.addExtra(s);
  Instr &i = d.emit(firstCta);
  i.a = a;
  i.aux = first;
}

void decodeLaunchControl(Decoder &d) {
  if (d.take("query_cancel"))
    return decodeQuery(d);
  if (!d.take("try_cancel"))
    return d.unsupported("expects .try_cancel or .query_cancel");
  d.take("async");
  d.takeSpace();
  if (!d.take("mbarrier::complete_tx::bytes"))
    return d.unsupported("expects .mbarrier::complete_tx::bytes");
  bool multicast = d.take("multicast::cluster::all");
  d.take("b128");
  if (!d.expectOperands(2, 2))
    return;
  Address dst = d.address(0), bar = d.address(1);
  uint32_t first = d.program.extra.size();
  addPlace(d, dst);
  addPlace(d, bar);
  Instr &i = d.emit(tryCancel);
  i.aux = first;
  i.aux2 = multicast;
}

} // namespace

void mx::sim::addLaunchControlInstructions(DecodeTable &t) {
  t["clusterlaunchcontrol"] = decodeLaunchControl;
}
