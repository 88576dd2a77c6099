//===- Tensor.cpp - tcgen05 -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "TensorCore 5th generation family instructions". The operands are
// taken apart here; what they do to memory is in the tensor library. What one
// thread issues happens in issue order: the PTX ISA promises that for the pairs
// that matter (mma after mma, cp or shift), and hardware has one queue.
//===----------------------------------------------------------------------===//

#include "AsyncOperands.h"
#include "WarpFragments.h"

#include "mx/Simulator/tensor/Tcgen05.h"

#include <algorithm>
#include <array>

using namespace mx::sim;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

/// The CTA, or both CTAs of its pair with the even one first.
bool views(Warp &w, const Instr *i, unsigned group, CtaView out[2]) {
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

/// The PTX ISA does not name the proxy through which tcgen05.alloc writes the
/// address. Kernels read it with ld.shared behind a barrier: it is taken for a
/// write of the allocating warp.
void writeAddress(Cta &cta, uint32_t offset, uint32_t value) {
  std::memcpy(cta.shared.data() + offset, &value, 4);
  if (cta.tracker)
    cta.tracker->markWritten(offset, 4);
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
    if (r.status == TensorMemory::AllocStatus::Blocked) {
      w.group().ticket = columns;
      return w.block(i, Wait::TensorAlloc);
    }
    if (r.status == TensorMemory::AllocStatus::Rejected)
      return w.fault(i, r.fault, mask);
    writeAddress(cta, offset, r.column);
    if (Order *order = w.order())
      order->accessShared(w, i, cta, offset, 4, 1u << lane, Touch::Write,
                          false);
    ++w.cta->cluster->effects;
    return i + 1;
  }
  Cluster &c = *cta.cluster;
  if ((cta.rank | 1u) >= c.ctas.size())
    return w.fail(i, FindingKind::IllegalInstruction,
                  "cta_group::2 needs a cluster with an even number of CTAs",
                  mask);
  PairAlloc &pair = c.pairs[cta.rank / 2];
  if (Order *order = w.order(); order && pair.waitingRank != int(cta.rank))
    order->accessShared(w, i, cta, offset, 4, 1u << lane, Touch::Write, false);
  if (pair.waitingRank < 0) {
    pair.waitingRank = cta.rank;
    pair.columns = columns;
    pair.waitingAddress = offset;
    ++w.cta->cluster->effects;
    w.group().ticket = pair.generation;
    return w.block(i + 1, Wait::PairAlloc);
  }
  if (pair.waitingRank == int(cta.rank)) {
    w.group().ticket = columns;
    return w.block(i, Wait::TensorAlloc);
  }
  if (pair.columns != columns)
    return w.fail(i, FindingKind::IllegalInstruction,
                  "the CTAs of a pair allocate " +
                      std::to_string(pair.columns) + " and " +
                      std::to_string(columns) + " columns",
                  mask);
  Cta &even = *c.ctas[cta.rank & ~1u], &odd = *c.ctas[cta.rank | 1u];
  TensorMemory::AllocResult r = TensorMemory::allocatePair(
      *even.tensor, even.owner, *odd.tensor, odd.owner, columns);
  if (r.status == TensorMemory::AllocStatus::Blocked) {
    w.group().ticket = columns;
    return w.block(i, Wait::TensorAlloc);
  }
  if (r.status == TensorMemory::AllocStatus::Rejected)
    return w.fault(i, r.fault, mask);
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

/// a: address; aux: first register in extra; aux2: shape | repeat << 4 |
/// pack << 12; imm: split offset; b holds the constant part of the address.
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
  Fault f = w.cta->tensor->load(w.cta->owner, t, values);
  if (f && !w.fault(i, f, mask))
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
  return w.fault(i, w.cta->tensor->store(w.cta->owner, t, values), mask);
}

const Instr *waitLoad(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  if (w.pendingCount)
    w.forgetTensorLoads();
  if (Order *order = w.order())
    order->waitTensorLoads(w);
  return i + 1;
}
const Instr *waitStore(Warp &w, const Instr *i, uint32_t mask) {
  if (!w.collect(i, mask, ~0u))
    return nullptr;
  if (Order *order = w.order())
    order->waitTensorStores(w);
  return i + 1;
}

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

/// An operation of the tcgen05 pipe, in line behind those of the same warp.
template <class F>
const Instr *issueToPipe(Warp &w, const Instr *i, unsigned lane, F &&run) {
  auto known = knowledgeAtIssue(w);
  uint32_t step = w.order() ? w.order()->of(w).pipeStep : 0;
  auto action = [=, &w]() -> Fault {
    Order *order = w.order();
    ScopeGuard guard(order,
                     order ? order->pipeScope(w, i, 1u << lane, *known, step)
                           : EngineScope());
    return run();
  };
  return w.issue(i, 1u << lane, w.line(Warp::kTensorLine), false, action);
}

/// What each CTA reads of its shared memory.
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

/// a: address, b: descriptor; c: constant part of the address; aux: shape |
/// multicast << 4 | decompress << 8 | group << 12.
const Instr *copyToTensorMemory(Warp &w, const Instr *i, uint32_t mask) {
  CpOp op;
  op.shape = CpShape(i->aux & 15);
  op.multicast = CpMulticast(i->aux >> 4 & 15);
  op.decompress = CpDecompress(i->aux >> 8 & 15);
  op.ctaGroup = i->aux >> 12;
  std::array<CtaView, 2> ctas;
  if (!views(w, i, op.ctaGroup, ctas.data()))
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
  if (!views(w, i, group, ctas.data()))
    return nullptr;
  unsigned lane = firstLane(mask);
  uint32_t address = w.at<uint32_t>(i->a)[lane] + i->c;
  if (w.trace)
    w.trace->shift(w, i);
  return issueToPipe(w, i, lane,
                     [=] { return shiftDown(address, group, ctas.data()); });
}

// Operands of mma in extra.
enum MmaSlot : unsigned {
  kD,
  kDOffset,
  kA,
  kAOffset,
  kB,
  kIdesc,
  kScaleA,
  kScaleAOffset,
  kScaleB,
  kScaleBOffset,
  kEnable,
  kMetadata,
  kMetadataOffset,
  kZeroMask,
  kDisable, // up to 8 more
};

/// aux: extra; aux2: kind | vec << 4 | group << 8 | aInTensor << 12 |
/// ws << 13 | ashift << 14 | number of disable words << 16; imm: scale-input-d.
const Instr *multiply(Warp &w, const Instr *i, uint32_t mask) {
  const Slot *s = &w.machine->program.extra[i->aux];
  MmaOp op;
  op.kind = MmaKind(i->aux2 & 15);
  op.scaleVec = ScaleVec(i->aux2 >> 4 & 15);
  op.ctaGroup = i->aux2 >> 8 & 15;
  op.aInTensorMemory = i->aux2 >> 12 & 1;
  op.weightStationary = i->aux2 >> 13 & 1;
  op.shiftA = i->aux2 >> 14 & 1;
  op.sparse = s[kMetadata] != kNoSlot;
  unsigned numDisable = i->aux2 >> 16;
  op.scaleInputD = uint32_t(i->imm);
  std::array<CtaView, 2> ctas;
  if (!views(w, i, op.ctaGroup, ctas.data()))
    return nullptr;
  ++w.cta->cluster->effects;
  const Instr *next = i + 1;
  for (uint32_t m = mask; m && next; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    auto get32 = [&](Slot slot) { return w.at<uint32_t>(slot)[lane]; };
    op.idesc = get32(s[kIdesc]);
    op.d = get32(s[kD]) + s[kDOffset];
    if (op.aInTensorMemory)
      op.aAddress = get32(s[kA]) + s[kAOffset];
    else
      op.aDesc = w.at<uint64_t>(s[kA])[lane];
    op.bDesc = w.at<uint64_t>(s[kB])[lane];
    if (s[kScaleA] != kNoSlot) {
      op.scaleA = get32(s[kScaleA]) + s[kScaleAOffset];
      op.scaleB = get32(s[kScaleB]) + s[kScaleBOffset];
    }
    op.enableInputD = w.predicate(s[kEnable]) >> lane & 1;
    if (op.sparse)
      op.metadata = get32(s[kMetadata]) + s[kMetadataOffset];
    if (s[kZeroMask] != kNoSlot)
      op.zeroColumnMask = w.at<uint64_t>(s[kZeroMask])[lane];
    std::array<uint32_t, 8> disable;
    for (unsigned k = 0; k < numDisable; ++k)
      disable[k] = get32(s[kDisable + k]);
    ++w.counts.mmas;
    if (w.trace)
      w.trace->mma(w, i, op);
    Numerics numerics = numericsOf(w);
    next = issueToPipe(w, i, lane, [=] {
      MmaOp now = op;
      now.disableOutputLane = numDisable ? disable.data() : nullptr;
      return mma(now, ctas.data(), numerics);
    });
  }
  return next;
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
          if (&target != w.cta)
            order->noteUser(target, epoch);
        }
        Fault f = arriveOn(w, i, target, offset, 1, known.get());
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

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

unsigned takeGroup(Decoder &d) {
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

/// A tensor memory address in brackets: base register and constant.
Slot tensorAddress(Decoder &d, const Operand &op, uint32_t &offset) {
  Address a = d.address(op);
  offset = uint32_t(a.offset);
  if (a.is64 && op.kind == Operand::Memory && op.parts[0].kind == Operand::Imm)
    return d.constant(uint64_t(op.parts[0].value), 4);
  if (a.is64)
    d.unsupported("a tensor memory address has 32 bits");
  return a.is64 ? d.constant(0, 4) : a.base;
}

void decodeAlloc(Decoder &d) {
  unsigned group = takeGroup(d);
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

void decodeDealloc(Decoder &d) {
  takeGroup(d);
  d.take("b32");
  if (!d.expectOperands(2, 2))
    return;
  Slot a = d.use(0, {'U', 32}), columns = d.use(1, {'U', 32});
  Instr &i = d.emit(dealloc);
  i.a = a;
  i.b = columns;
}

void decodeTransfer(Decoder &d, bool isLoad) {
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

void decodeTensorCopy(Decoder &d) {
  unsigned group = takeGroup(d);
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
  unsigned group = takeGroup(d);
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

void decodeMma(Decoder &d) {
  bool sparse = d.take("sp"), ws = d.take("ws"), ashift = d.take("ashift");
  unsigned group = takeGroup(d);
  std::string_view kindName = d.takePrefix("kind::");
  MmaKind kind;
  if (kindName.empty() || !parseMmaKind(kindName.substr(6), kind))
    return d.unsupported("expects a kind");
  while (!d.takePrefix("collector::").empty())
    ;
  bool scaled = d.take("block_scale");
  if (scaled != isBlockScaled(kind))
    return d.unsupported(scaled ? "this kind has no .block_scale"
                                : "this kind needs .block_scale");
  ScaleVec vec = ScaleVec::Default;
  if (scaled) {
    std::vector<std::string_view> mods = d.modifiers();
    for (std::string_view m : mods)
      if (parseScaleVec(m, kind, vec))
        d.take(m);
  }
  // D, A, B, {metadata,} idesc, {scales or lanes,} enable, {scale or mask}
  size_t k = 4 + sparse;
  if (!d.expectOperands(k + (scaled ? 3 : 1), k + (ws ? 2 : 3)))
    return;
  std::vector<Slot> s(kDisable, kNoSlot);
  uint32_t offset;
  s[kD] = tensorAddress(d, d.operand(0), offset);
  s[kDOffset] = offset;
  bool aInTensor = d.operand(1).kind == Operand::Memory;
  if (aInTensor) {
    s[kA] = tensorAddress(d, d.operand(1), offset);
    s[kAOffset] = offset;
  } else {
    s[kA] = d.use(1, {'B', 64});
  }
  s[kB] = d.use(2, {'B', 64});
  if (sparse) {
    s[kMetadata] = tensorAddress(d, d.operand(3), offset);
    s[kMetadataOffset] = offset;
  }
  s[kIdesc] = d.use(k - 1, {'B', 32});
  if (scaled) {
    s[kScaleA] = tensorAddress(d, d.operand(k), offset);
    s[kScaleAOffset] = offset;
    s[kScaleB] = tensorAddress(d, d.operand(k + 1), offset);
    s[kScaleBOffset] = offset;
    k += 2;
  }
  unsigned numDisable = 0;
  if (d.operandAt(k).kind == Operand::Vector) {
    numDisable = d.operand(k).parts.size();
    if (scaled || ws || numDisable != 4 * group)
      return d.unsupported("expects " + std::to_string(4 * group) +
                           " words of output lanes to disable");
    for (const Operand &op : d.operand(k).parts)
      s.push_back(d.use(op, 4));
    ++k;
  }
  s[kEnable] = d.usePredicate(k++);
  int64_t scaleD = 0;
  if (ws && k < d.numOperands())
    s[kZeroMask] = d.use(k++, {'B', 64});
  if (k < d.numOperands() && !d.immediate(k++, scaleD))
    return;
  if (k < d.numOperands())
    return d.unsupported("operand " + std::to_string(k + 1) +
                         " is not known here");
  if (scaleD < 0 || scaleD > 15)
    return d.unsupported("scale-input-d must be 0 to 15");
  uint32_t first = d.program.extra.size();
  for (Slot slot : s)
    d.addExtra(slot);
  Instr &i = d.emit(multiply);
  i.aux = first;
  i.aux2 = unsigned(kind) | unsigned(vec) << 4 | group << 8 |
           unsigned(aInTensor) << 12 | unsigned(ws) << 13 |
           unsigned(ashift) << 14 | numDisable << 16;
  i.imm = scaleD;
}

void decodeCommit(Decoder &d) {
  takeGroup(d);
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
      {"alloc", decodeAlloc},
      {"dealloc", decodeDealloc},
      {"relinquish_alloc_permit",
       [](Decoder &d) {
         takeGroup(d);
         d.emit(relinquish);
       }},
      {"ld", [](Decoder &d) { decodeTransfer(d, true); }},
      {"st", [](Decoder &d) { decodeTransfer(d, false); }},
      {"wait::ld", [](Decoder &d) { d.emit(waitLoad); }},
      {"wait::st", [](Decoder &d) { d.emit(waitStore); }},
      {"cp", decodeTensorCopy},
      {"shift", decodeShift},
      {"mma", decodeMma},
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
