//===- TensorMma.cpp - The tcgen05.mma instructions -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: tcgen05.mma of all kinds, with dense and sparse operands.
//===----------------------------------------------------------------------===//

#include "TensorOps.h"
#include "WarpFragments.h"

#include <array>

using namespace mx::sim;
using ptx::Operand;

namespace {

// Offsets of the operands in Program::extra.
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
  kDisable, // first of up to eight words
};

/// aux: first operand in extra; aux2: kind | scale vector size << 4 | cta_group
/// << 8 | A is in tensor memory << 12 | ws << 13 | ashift << 14 | number of
/// disable-output-lane words << 16; imm: scale-input-d.
const Instr *multiplyTensors(Warp &w, const Instr *i, uint32_t mask) {
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
  if (!tensorViews(w, i, op.ctaGroup, ctas.data()))
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
    // Check the descriptor even if the MMA is skipped.
    bool isSkipped = w.machine->skipsMmas;
    next = issueToPipe(w, i, lane, [=] {
      if (InstrDesc desc; isSkipped)
        return decodeInstrDesc(op.idesc, op.kind, op.ctaGroup, op.scaleVec,
                               desc, {op.sparse, op.weightStationary});
      MmaOp now = op;
      now.disableOutputLane = numDisable ? disable.data() : nullptr;
      return mma(now, ctas.data(), numerics);
    });
  }
  return next;
}

} // namespace

void mx::sim::decodeTensorMma(Decoder &d) {
  bool sparse = d.take("sp"), ws = d.take("ws"), ashift = d.take("ashift");
  unsigned group = takeTensorGroup(d);
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
                           " words in disable-output-lane");
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
    return d.unsupported("unexpected operand " + std::to_string(k + 1));
  if (scaleD < 0 || scaleD > 15)
    return d.unsupported("scale-input-d must be 0 to 15");
  uint32_t first = d.program.extra.size();
  for (Slot slot : s)
    d.addExtra(slot);
  Instr &i = d.emit(multiplyTensors);
  i.aux = first;
  i.aux2 = unsigned(kind) | unsigned(vec) << 4 | group << 8 |
           unsigned(aInTensor) << 12 | unsigned(ws) << 13 |
           unsigned(ashift) << 14 | numDisable << 16;
  i.imm = scaleD;
}
