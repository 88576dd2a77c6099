//===- TensorAllocation.cpp - Allocation of tensor memory -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: tcgen05.alloc, dealloc and relinquish_alloc_permit.
//===----------------------------------------------------------------------===//

#include "TensorOps.h"

using namespace mx::sim;
using ptx::Space;

namespace {

/// Reports the write of the result address by tcgen05.alloc to the order check.
/// The PTX ISA does not name the proxy of this write. Kernels read the address
/// with ld.shared after a barrier, and overwrite the bytes with bulk copies
/// after another barrier. The check therefore attributes the write to the
/// allocating warp and requires no fence before accesses of either proxy.
void noteAddress(Warp &w, const Instr *i, uint32_t offset, unsigned lane) {
  AccessRange range{offset, 4, 1u << lane, LaneRun()};
  AccessKind kind{Touch::Write};
  kind.isAnyProxy = true;
  if (Order *order = w.order())
    order->accessShared(w, i, *w.cta, {&range, 1}, kind);
}

void writeAddress(Cta &cta, uint32_t offset, uint32_t value) {
  std::memcpy(cta.shared.data() + offset, &value, 4);
  if (cta.tracker)
    cta.tracker->markWritten(offset, 4);
}

const Instr *waitForColumns(Warp &w, const Instr *i, uint32_t columns) {
  w.group().ticket = columns;
  return w.block(i, Wait::TensorAlloc);
}

/// Handles an allocation that must wait or fail.
const Instr *refuse(Warp &w, const Instr *i,
                    const TensorMemory::AllocResult &result, uint32_t columns,
                    uint32_t mask) {
  if (result.status == TensorMemory::AllocStatus::Blocked)
    return waitForColumns(w, i, columns);
  return w.fault(i, result.fault, mask);
}

/// a: address of the result, b: columns; aux: cta_group; aux2: is64.
const Instr *alloc(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  unsigned lane = firstLane(mask);
  uint64_t address = laneAddress(w, i->a, i->aux2, i->imm, lane);
  if (address - kSharedWindow < kWindowBytes)
    address -= kSharedWindow;
  if (!resolveAddress(w, i, Space::Shared, address, 4, lane, true))
    return nullptr;
  uint32_t offset = address & kOffsetMask;
  uint32_t columns = uniform32(w, i->b, mask);
  Cta &cta = *w.cta;
  if (i->aux == 1) {
    TensorMemory::AllocResult r = cta.tensor->allocate(cta.owner, columns);
    if (r.status != TensorMemory::AllocStatus::Done)
      return refuse(w, i, r, columns, mask);
    writeAddress(cta, offset, r.column);
    noteAddress(w, i, offset, lane);
    ++w.cta->cluster->effects;
    return i + 1;
  }
  Cluster &c = *cta.cluster;
  if ((cta.rank | 1u) >= c.ctas.size())
    return w.fail(i, FindingKind::IllegalInstruction,
                  "cta_group::2 needs a cluster with an even number of CTAs",
                  mask);
  PairAlloc &pair = c.pairs[cta.rank / 2];
  if (pair.waitingRank != int(cta.rank))
    noteAddress(w, i, offset, lane);
  if (pair.waitingRank < 0) {
    pair.waitingRank = cta.rank;
    pair.columns = columns;
    pair.waitingAddress = offset;
    ++w.cta->cluster->effects;
    w.group().ticket = pair.generation;
    return w.block(i + 1, Wait::PairAlloc);
  }
  if (pair.waitingRank == int(cta.rank))
    return waitForColumns(w, i, columns);
  if (pair.columns != columns)
    return w.fail(i, FindingKind::IllegalInstruction,
                  "the CTAs of a pair allocate " +
                      std::to_string(pair.columns) + " and " +
                      std::to_string(columns) + " columns",
                  mask);
  Cta &even = *c.ctas[cta.rank & ~1u], &odd = *c.ctas[cta.rank | 1u];
  TensorMemory::AllocResult r = TensorMemory::allocatePair(
      *even.tensor, even.owner, *odd.tensor, odd.owner, columns);
  if (r.status != TensorMemory::AllocStatus::Done)
    return refuse(w, i, r, columns, mask);
  writeAddress(cta, offset, r.column);
  writeAddress(*c.ctas[pair.waitingRank], pair.waitingAddress, r.column);
  pair.waitingRank = -1;
  ++pair.generation;
  if (w.trace)
    w.trace->pairAllocated(w);
  ++w.cta->cluster->effects;
  return i + 1;
}

/// a: address, b: columns.
const Instr *dealloc(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  ++w.cta->cluster->effects;
  uint32_t address = uniform32(w, i->a, mask),
           columns = uniform32(w, i->b, mask);
  if (Order *order = w.order())
    order->freeTensor(w, i, mask, *w.cta, address, columns);
  return w.fault(i, w.cta->tensor->deallocate(w.cta->owner, address, columns),
                 mask);
}
const Instr *relinquish(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  return w.fault(i, w.cta->tensor->relinquish(w.cta->owner), mask);
}

} // namespace

void mx::sim::decodeTensorAlloc(Decoder &d) {
  unsigned group = takeTensorGroup(d);
  d.takeSpace();
  d.take("b32");
  if (!d.expectOperands(2, 2))
    return;
  Address a = d.address(0);
  Slot columns = d.use(1, {'U', 32});
  Instr &i = d.emit(alloc);
  i.a = a.base;
  i.imm = a.offset;
  i.b = columns;
  i.aux = group;
  i.aux2 = a.is64;
}

void mx::sim::decodeTensorDealloc(Decoder &d) {
  takeTensorGroup(d);
  d.take("b32");
  if (!d.expectOperands(2, 2))
    return;
  Slot a = d.use(0, {'U', 32}), columns = d.use(1, {'U', 32});
  Instr &i = d.emit(dealloc);
  i.a = a;
  i.b = columns;
}

void mx::sim::decodeTensorRelinquish(Decoder &d) {
  takeTensorGroup(d);
  d.emit(relinquish);
}
