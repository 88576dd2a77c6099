//===- Tensor.cpp - Dispatch, copies and commits of tcgen05 ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selects the decoder of each tcgen05 operation, and implements tcgen05.cp,
// shift, commit and fence (PTX ISA).
//===----------------------------------------------------------------------===//

#include "Instructions.h"
#include "TensorOps.h"

#include <array>

using namespace mx::sim;
using ptx::Operand;
using ptx::Space;

bool mx::sim::tensorViews(Warp &w, const Instr *i, unsigned group,
                          CtaView out[2]) {
  Cluster &c = *w.cta->cluster;
  uint32_t first = group == 2 ? w.cta->rank & ~1u : w.cta->rank;
  for (unsigned k = 0; k < group; ++k) {
    if (first + k >= c.ctas.size()) {
      w.fail(i, FindingKind::IllegalInstruction,
             "cta_group::2 needs a cluster with an even number of CTAs",
             w.mask);
      return false;
    }
    Cta &cta = *c.ctas[first + k];
    out[k].shared = cta.view();
    out[k].tensor = cta.tensor;
    out[k].owner = cta.owner;
  }
  return true;
}

unsigned mx::sim::takeTensorGroup(Decoder &d) {
  int k = d.takeAny({"cta_group::1", "cta_group::2"});
  if (k < 0) {
    d.unsupported("expects .cta_group::1 or .cta_group::2");
    return 1;
  }
  unsigned group = k + 1;
  if (d.program.ctaGroup && d.program.ctaGroup != group)
    d.unsupported("the kernel mixes .cta_group::1 and .cta_group::2");
  d.program.ctaGroup = group;
  return group;
}

Slot mx::sim::tensorAddress(Decoder &d, const Operand &op, uint32_t &offset) {
  Address a = d.address(op);
  offset = uint32_t(a.offset);
  if (a.is64 && op.kind == Operand::Memory && op.parts[0].kind == Operand::Imm)
    return d.constant(uint64_t(op.parts[0].value), 4);
  if (a.is64)
    d.unsupported("a tensor memory address has 32 bits");
  return a.is64 ? d.constant(0, 4) : a.base;
}

namespace {

const Instr *fenceBefore(Warp &w, const Instr *i, uint32_t) {
  if (Order *order = w.order())
    order->tensorFenceBefore(w);
  return i + 1;
}
const Instr *fenceAfter(Warp &w, const Instr *i, uint32_t) {
  if (Order *order = w.order())
    order->tensorFenceAfter(w);
  return i + 1;
}

/// Returns the bytes of shared memory that each CTA reads.
uint64_t bytesOf(CpShape shape) {
  switch (shape) {
  case CpShape::L128x256b:
    return 128 * 32;
  case CpShape::L128x128b:
    return 128 * 16;
  case CpShape::L64x128b:
    return 64 * 16;
  case CpShape::L32x128b:
    return 32 * 16;
  case CpShape::L4x256b:
    return 4 * 32;
  }
  return 0;
}

/// a: address, b: descriptor, c: constant part of the address; aux: shape |
/// multicast << 4 | decompress << 8 | cta_group << 12.
const Instr *copyToTensorMemory(Warp &w, const Instr *i, uint32_t mask) {
  CpOp op;
  op.shape = CpShape(i->aux & 15);
  op.multicast = CpMulticast(i->aux >> 4 & 15);
  op.decompress = CpDecompress(i->aux >> 8 & 15);
  op.ctaGroup = i->aux >> 12;
  std::array<CtaView, 2> ctas;
  if (!tensorViews(w, i, op.ctaGroup, ctas.data()))
    return nullptr;
  ++w.cta->cluster->effects;
  const Instr *next = i + 1;
  for (uint32_t m = mask; m && next; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    op.address = w.at<uint32_t>(i->a)[lane] + i->c;
    op.desc = w.at<uint64_t>(i->b)[lane];
    w.counts.tensorCopyBytes += bytesOf(op.shape) * op.ctaGroup;
    if (w.trace)
      w.trace->copyToTensor(w, i, op, bytesOf(op.shape));
    next =
        issueToPipe(w, i, lane, [=] { return copyToTensor(op, ctas.data()); });
  }
  return next;
}

const Instr *shift(Warp &w, const Instr *i, uint32_t mask) {
  std::array<CtaView, 2> ctas;
  unsigned group = i->aux;
  if (!tensorViews(w, i, group, ctas.data()))
    return nullptr;
  unsigned lane = firstLane(mask);
  uint32_t address = w.at<uint32_t>(i->a)[lane] + i->c;
  if (w.trace)
    w.trace->shift(w, i, group);
  return issueToPipe(w, i, lane,
                     [=] { return shiftDown(address, group, ctas.data()); });
}

/// a: mbarrier, b: mask or kNoSlot; aux: is64.
const Instr *commit(Warp &w, const Instr *i, uint32_t mask) {
  Cluster &cluster = *w.cta->cluster;
  std::shared_ptr<Knowledge> known;
  Epoch epoch;
  if (Order *order = w.order()) {
    epoch = order->pipeEpoch(w, i);
    known = std::make_shared<Knowledge>(order->pipeSoFar(w));
  }
  const Instr *next = i + 1;
  for (uint32_t m = mask; m && next; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    Cta *owner;
    uint32_t offset;
    uint64_t address =
        sharedAddress(laneAddress(w, i->a, i->aux, i->imm, lane));
    if (!mbarrierWord(w, i, Space::Shared, address, lane, owner, offset))
      return nullptr;
    uint32_t ranks = i->b == kNoSlot ? 1u << owner->rank
                                     : w.at<uint32_t>(i->b)[lane] & 0xffff;
    if (!checkMulticast(w, i, ranks, lane))
      return nullptr;
    uint64_t done = w.trace ? w.trace->commit(w, i) : 0;
    auto action = [=, &w, &cluster]() -> Fault {
      Recorder::Moment moment(w.trace, done);
      for (uint32_t left = ranks; left; left &= left - 1) {
        Cta &target = *cluster.ctas[__builtin_ctz(left)];
        if (Order *order = w.order()) {
          order->useBarrier(w, i, 1u << lane, *known, target, offset);
          order->noteEngineUse(w, i, AgentKind::Pipe, *known, target, offset);
          if (&target != w.cta)
            order->noteUser(target, epoch);
        }
        Fault f = arriveOn(w, i, 1u << lane, target, offset, 1, known.get());
        if (f) {
          f.message +=
              " (mbarrier at " + w.machine->describeSharedOffset(offset) + ")";
          return f;
        }
      }
      return Fault();
    };
    next = w.issue(i, 1u << lane, w.line(Warp::kTensorLine), false, action);
  }
  return next;
}

void decodeTensorCopy(Decoder &d) {
  unsigned group = takeTensorGroup(d);
  CpShape shape{};
  CpMulticast multicast = CpMulticast::None;
  CpDecompress decompress = CpDecompress::None;
  bool isFound = false;
  std::vector<std::string_view> mods = d.modifiers();
  for (std::string_view m : mods) {
    if (parseCpShape(m, shape)) {
      isFound = true;
      d.take(m);
    } else if (parseCpMulticast(m, multicast) ||
               parseCpDecompress(m, decompress) || m == "b8x16") {
      d.take(m);
    }
  }
  if (!isFound)
    return d.unsupported("expects a shape");
  if (!d.expectOperands(2, 2))
    return;
  uint32_t offset;
  Slot a = tensorAddress(d, d.operand(0), offset);
  Slot desc = d.use(1, {'B', 64});
  Instr &i = d.emit(copyToTensorMemory);
  i.a = a;
  i.b = desc;
  i.c = offset;
  i.aux = unsigned(shape) | unsigned(multicast) << 4 |
          unsigned(decompress) << 8 | group << 12;
}

void decodeShift(Decoder &d) {
  unsigned group = takeTensorGroup(d);
  d.take("down");
  if (!d.expectOperands(1, 1))
    return;
  uint32_t offset;
  Slot a = tensorAddress(d, d.operand(0), offset);
  Instr &i = d.emit(shift);
  i.a = a;
  i.c = offset;
  i.aux = group;
}

void decodeCommit(Decoder &d) {
  takeTensorGroup(d);
  if (!d.take("mbarrier::arrive::one"))
    return d.unsupported("expects .mbarrier::arrive::one");
  d.takeSpace();
  bool multicast = d.take("multicast::cluster");
  d.take("b64");
  if (!d.expectOperands(1u + multicast, 1u + multicast))
    return;
  Address a = d.address(0);
  Slot mask = multicast ? d.use(1, {'U', 16}) : kNoSlot;
  Instr &i = d.emit(commit);
  i.a = a.base;
  i.imm = a.offset;
  i.b = mask;
  i.aux = a.is64;
}

void decodeTcgen05(Decoder &d) {
  d.program.usesTensorMemory = true;
  d.take("sync");
  d.take("aligned");
  static constexpr std::pair<std::string_view, DecodeFn> ops[] = {
      {"alloc", decodeTensorAlloc},
      {"dealloc", decodeTensorDealloc},
      {"relinquish_alloc_permit", decodeTensorRelinquish},
      {"ld", [](Decoder &d) { decodeTensorTransfer(d, true); }},
      {"st", [](Decoder &d) { decodeTensorTransfer(d, false); }},
      {"wait::ld", [](Decoder &d) { decodeTensorWait(d, true); }},
      {"wait::st", [](Decoder &d) { decodeTensorWait(d, false); }},
      {"cp", decodeTensorCopy},
      {"shift", decodeShift},
      {"mma", decodeTensorMma},
      {"commit", decodeCommit},
      {"fence::before_thread_sync", [](Decoder &d) { d.emit(fenceBefore); }},
      {"fence::after_thread_sync", [](Decoder &d) { d.emit(fenceAfter); }},
  };
  for (auto &[name, fn] : ops)
    if (d.take(name))
      return fn(d);
  d.unsupported("no such operation");
}

} // namespace

void mx::sim::addTensorInstructions(DecodeTable &t) {
  t["tcgen05"] = decodeTcgen05;
}
