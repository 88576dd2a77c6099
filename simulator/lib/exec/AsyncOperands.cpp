//===- AsyncOperands.cpp - Operands of asynchronous copies ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "AsyncOperands.h"

#include "../machine/LeftOut.h"

#include <algorithm>

using namespace mx::sim;

void mx::sim::addPlace(Decoder &d, const Address &a) {
  d.addExtra(a.base);
  d.addExtra(a.is64);
  d.addExtra(uint32_t(a.offset));
  d.addExtra(uint32_t(uint64_t(a.offset) >> 32));
}

uint64_t mx::sim::addressOf(Warp &w, const Slot *s, unsigned lane) {
  return laneAddress(w, s[0], s[1] != 0, int64_t(uint64_t(s[3]) << 32 | s[2]),
                     lane);
}

Cta *mx::sim::sharedOwner(Warp &w, const Instr *i, uint64_t address,
                          unsigned lane, bool isOwnOnly) {
  Cluster &c = *w.cta->cluster;
  uint64_t rank = address >> kRankShift;
  if (rank < c.ctas.size())
    return checkOwnCta(w, i, "copy", address, 16, lane, isOwnOnly)
               ? c.ctas[rank].get()
               : nullptr;
  w.fail(i, FindingKind::OutOfBounds,
         "copy out of bounds: " +
             w.machine->describeShared(*w.cta, address, 16),
         1u << lane);
  return nullptr;
}

bool mx::sim::checkMulticast(Warp &w, const Instr *i, uint32_t ranks,
                             unsigned lane) {
  size_t size = w.cta->cluster->ctas.size();
  if (!(ranks >> size))
    return true;
  w.fail(i, FindingKind::IllegalInstruction,
         "the multicast mask names CTAs beyond the cluster of " +
             std::to_string(size),
         1u << lane);
  return false;
}

std::shared_ptr<const Knowledge> mx::sim::knowledgeAtIssue(Warp &w,
                                                           bool isDeferred) {
  Order *order = w.order();
  if (!order)
    return nullptr;
  if (auto known = order->knownAlone(w)) {
    order->of(w).nextStep();
    return known;
  }
  const Knowledge &known = order->of(w).known;
  if (w.isEager() && !isDeferred) // used immediately: borrow, do not copy
    return {std::shared_ptr<const Knowledge>(), &known};
  auto copy = std::make_shared<const Knowledge>(known);
  // Later actions of the issuer do not happen before the operation.
  order->of(w).nextStep();
  return copy;
}

void mx::sim::followLoad(Warp &w, const std::vector<TmaStretch> &from, Cta &to,
                         uint32_t offset, uint64_t bytes) {
  time::LeftOut &global = *w.machine->memory.leftOut;
  bool meets = std::any_of(from.begin(), from.end(), [&](TmaStretch s) {
    return global.meets(s.address, s.bytes);
  });
  meets ? to.leftOut->mark(offset, bytes) : to.leftOut->clear(offset, bytes);
}

void mx::sim::followStore(Warp &w, Cta &from, uint32_t offset, uint64_t bytes,
                          const std::vector<TmaStretch> &to, bool isReduce) {
  time::LeftOut &global = *w.machine->memory.leftOut;
  bool meets = w.cta->leavesOut || from.leftOut->meets(offset, bytes);
  for (TmaStretch s : to)
    if (meets)
      global.mark(s.address, s.bytes);
    else if (!isReduce)
      global.clear(s.address, s.bytes);
}
