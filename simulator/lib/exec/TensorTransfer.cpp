//===- TensorTransfer.cpp - Transfers between registers and tensor memory -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: tcgen05.ld, tcgen05.st and tcgen05.wait.
//===----------------------------------------------------------------------===//

#include "TensorOps.h"

#include "../time/Stopwatch.h"

#include <algorithm>

using namespace mx::sim;
using ptx::Operand;

namespace {

/// a: address, b: constant part of the address; aux: first register in extra;
/// aux2: shape | repeat << 4 | pack << 12; imm: split offset.
TmemTransfer transferOf(Warp &w, const Instr *i, uint32_t mask) {
  TmemTransfer t;
  t.shape = TmemShape(i->aux2 & 15);
  t.repeat = i->aux2 >> 4 & 0xff;
  t.pack16 = i->aux2 >> 12 & 1;
  t.splitOffset = uint32_t(i->imm);
  t.address = uniform32(w, i->a, mask) + i->b;
  t.warp = w.index;
  return t;
}

/// Marks registers loaded from unwritten tensor memory as undefined.
/// Only a use of such a register is reported.
void markUndefined(Warp &w, const Instr *i, const TmemTransfer &t,
                   const Slot *slots, uint32_t mask) {
  unsigned lane, column;
  for (unsigned r = 0; r < t.registers(); ++r)
    if (uint32_t threads =
            w.cta->tensor->undefinedThreads(t, r, lane, column) & mask)
      w.undefined.mark(w, slots[r], threads,
                       {i, uint64_t(lane) << 32 | column, 4, true});
}

const Instr *tensorLoadRegisters(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  TmemTransfer t = transferOf(w, i, mask);
  uint32_t values[128 * 32];
  unsigned n = t.registers();
  if (n > 128)
    return w.fail(i, FindingKind::IllegalInstruction,
                  "tcgen05.ld of more than 128 registers", mask);
  Order *order = w.order();
  ScopeGuard guard(order,
                   order ? order->transferScope(w, i, mask) : EngineScope());
  w.counts.tensorLoadBytes += n * 128;
  if (w.watch)
    w.watch->accessTensor(w, n, /*isLoad=*/true);
  Fault fault;
  // Accumulators do not exist if MMAs are skipped.
  if (w.machine->skipsMmas)
    std::fill_n(values, 32 * n, 0);
  else
    fault = w.cta->tensor->load(w.cta->owner, t, values);
  bool isUndefined = fault.kind == FaultKind::Uninitialized;
  if (!w.fault(i, isUndefined ? Fault() : fault, mask))
    return nullptr;
  const Slot *slots = &w.machine->program.extra[i->aux];
  bool track = w.machine->config.checks & kCheckLoadBeforeWait;
  for (unsigned r = 0; r < n; ++r) {
    uint32_t *d = w.at<uint32_t>(slots[r]);
    if (mask == ~0u)
      std::memcpy(d, values + r * 32, 128);
    else
      forLanes(mask, [&](unsigned lane) { d[lane] = values[r * 32 + lane]; });
    uint8_t &flag = w.pending[slots[r] / 128];
    if (track && !flag) {
      flag = 1;
      ++w.pendingCount;
    }
  }
  if (isUndefined && w.machine->config.checks & kCheckUninitTensorMemory)
    markUndefined(w, i, t, slots, mask);
  return i + 1;
}

const Instr *tensorStoreRegisters(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  TmemTransfer t = transferOf(w, i, mask);
  uint32_t values[128 * 32] = {};
  unsigned n = t.registers();
  if (n > 128)
    return w.fail(i, FindingKind::IllegalInstruction,
                  "tcgen05.st of more than 128 registers", mask);
  const Slot *slots = &w.machine->program.extra[i->aux];
  for (unsigned r = 0; r < n; ++r)
    std::memcpy(values + r * 32, w.at<uint32_t>(slots[r]), 128);
  ++w.cta->cluster->effects;
  Order *order = w.order();
  ScopeGuard guard(order,
                   order ? order->transferScope(w, i, mask) : EngineScope());
  w.counts.tensorStoreBytes += n * 128;
  if (w.watch)
    w.watch->accessTensor(w, n, /*isLoad=*/false);
  return w.fault(i, w.cta->tensor->store(w.cta->owner, t, values), mask);
}

const Instr *waitLoad(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  if (w.pendingCount)
    w.forgetTensorLoads();
  if (w.watch)
    w.watch->waitTensor(w, /*isLoad=*/true);
  if (Order *order = w.order())
    order->waitTensorLoads(w);
  return i + 1;
}
const Instr *waitStore(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  if (w.watch)
    w.watch->waitTensor(w, /*isLoad=*/false);
  if (Order *order = w.order())
    order->waitTensorStores(w);
  return i + 1;
}

} // namespace

void mx::sim::decodeTensorTransfer(Decoder &d, bool isLoad) {
  if (d.take("red"))
    return d.unsupported("tcgen05.ld.red is not part of sm_100a");
  TmemShape shape{};
  bool isFound = false;
  for (std::string_view m : d.modifiers())
    if (parseTmemShape(m, shape)) {
      isFound = true;
      d.take(m);
      break;
    }
  std::string_view x = d.takePrefix("x");
  unsigned repeat = 0;
  for (char c : x.substr(x.empty() ? 0 : 1))
    repeat =
        c >= '0' && c <= '9' ? std::min(repeat * 10 + (c - '0'), 999u) : 999u;
  bool pack = d.take(isLoad ? "pack::16b" : "unpack::16b");
  d.take("b32");
  if (!isFound || !repeat || repeat > 128)
    return d.unsupported("expects a shape and a number of repetitions");
  bool split = shape == TmemShape::L16x32bx2;
  if (!d.expectOperands(2u + split, 2u + split))
    return;
  size_t addressAt = isLoad ? 1 : 0;
  size_t dataAt = isLoad ? 0 : 1 + split;
  int64_t splitOffset = 0;
  if (split && !d.immediate(isLoad ? 2 : 1, splitOffset))
    return;
  TmemTransfer t;
  t.shape = shape;
  t.repeat = repeat;
  t.pack16 = pack;
  unsigned n = t.registers();
  if (!n)
    return d.unsupported("no such number of repetitions for this shape");
  std::vector<Operand> parts = d.elements(d.operand(dataAt));
  if (parts.size() != n)
    return d.unsupported("expects " + std::to_string(n) + " registers, found " +
                         std::to_string(parts.size()));
  uint32_t offset;
  Slot a = tensorAddress(d, d.operand(addressAt), offset);
  std::vector<Slot> slots;
  for (const Operand &p : parts)
    slots.push_back(isLoad ? d.def(p, 4) : d.use(p, 4));
  uint32_t first = d.program.extra.size();
  for (Slot s : slots)
    d.addExtra(s);
  Instr &i = d.emit(isLoad ? tensorLoadRegisters : tensorStoreRegisters);
  i.a = a;
  i.b = offset;
  i.aux = first;
  i.aux2 = unsigned(shape) | repeat << 4 | unsigned(pack) << 12;
  i.imm = splitOffset;
}

void mx::sim::decodeTensorWait(Decoder &d, bool isLoad) {
  d.emit(isLoad ? waitLoad : waitStore);
}
