//===- FloatOps.cpp - Floating-point operand decoding ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats by name, and the registers and constants of each format.
//===----------------------------------------------------------------------===//

#include "FloatOps.h"

using namespace mx::sim;
using ptx::Type;

Format mx::sim::takeFormat(Decoder &d) {
  static constexpr std::pair<const char *, Format> names[] = {
      {"f32", Format::F32},     {"f64", Format::F64},
      {"f16", Format::F16},     {"bf16", Format::BF16},
      {"f16x2", Format::F16x2}, {"bf16x2", Format::BF16x2},
      {"f32x2", Format::F32x2},
  };
  for (auto &[name, f] : names)
    if (d.take(name))
      return f;
  return Format::None;
}

static unsigned laneBytes(Format f) {
  return f == Format::F64 || f == Format::F32x2 ? 8 : 4;
}

static Type immediateType(Format f) {
  switch (f) {
  case Format::F64:
    return {'F', 64};
  case Format::F32:
    return {'F', 32};
  case Format::F32x2:
    return {'B', 64};
  default:
    return {'B', 32};
  }
}

Slot mx::sim::useFormat(Decoder &d, size_t k, Format f) {
  return d.use(d.operandAt(k), laneBytes(f), immediateType(f));
}
Slot mx::sim::defFormat(Decoder &d, size_t k, Format f) {
  return d.def(d.operandAt(k), laneBytes(f));
}

void mx::sim::emitFormat(Decoder &d, Handler h, Format f, unsigned sources,
                         uint32_t aux) {
  if (!h)
    return d.unsupported("no such combination of modifiers");
  if (!d.expectOperands(sources + 1, sources + 1))
    return;
  Slot s[3] = {kNoSlot, kNoSlot, kNoSlot};
  for (unsigned k = 0; k < 3; ++k)
    s[k] = k < sources ? useFormat(d, k + 1, f) : s[0];
  Slot out = defFormat(d, 0, f);
  Instr &i = d.emit(h);
  i.d = out;
  i.a = s[0];
  i.b = s[1];
  i.c = s[2];
  i.aux = aux;
}
