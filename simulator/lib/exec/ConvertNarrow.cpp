//===- ConvertNarrow.cpp - Packed and narrow conversions ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "cvt" to and from .f16x2, .bf16x2 and the narrow formats, and
// "cvt.pack".
//===----------------------------------------------------------------------===//

#include "ConvertOps.h"

#include <algorithm>

using namespace mx::sim;
using ptx::Operand;

namespace {

// Flags in `aux`, above the format.
constexpr uint32_t kReluBit = 1u << 8, kUpBit = 1u << 9, kSatBit = 1u << 10;

inline float positive(float x, uint32_t aux) {
  return (aux & kReluBit) && x < 0    ? 0.0f
         : (aux & kReluBit) && x == 0 ? 0.0f
                                      : x;
}

unsigned widthOf(FloatFormat f) { return f == FloatFormat::E2M1 ? 4 : 8; }

uint32_t encodeNarrow(uint32_t aux, float x) {
  FloatFormat f = FloatFormat(aux & 0xff);
  if (f == FloatFormat::E8M0)
    return aux & kUpBit ? encodeE8M0Up(x, aux & kSatBit)
                        : encodeE8M0Down(x, aux & kSatBit);
  return encode(f, positive(x, aux));
}

/// Encodes two f32 (a: high) as a pair of codes.
[[gnu::always_inline]] inline const Instr *encodePair(Warp &w, const Instr *i,
                                                      uint32_t mask) {
  const float *a = w.at<float>(i->a), *b = w.at<float>(i->b);
  uint32_t *d = w.at<uint32_t>(i->d);
  FloatFormat f = FloatFormat(i->aux & 0xff);
  unsigned width = widthOf(f);
  if (mask == ~0u && f != FloatFormat::E8M0 && !(i->aux & kReluBit)) {
    const FloatFormatInfo info = getInfo(f);
    MX_LANES_INDEPENDENT
    for (unsigned lane = 0; lane < 32; ++lane)
      d[lane] =
          encodeNearest(info, a[lane]) << width | encodeNearest(info, b[lane]);
    return i + 1;
  }
  forLanes(mask, [&](unsigned lane) {
    d[lane] =
        encodeNarrow(i->aux, a[lane]) << width | encodeNarrow(i->aux, b[lane]);
  });
  return i + 1;
}

/// Encodes a pair of 16-bit floats as a pair of codes.
template <bool BF16>
const Instr *encodeHalves(Warp &w, const Instr *i, uint32_t mask) {
  const uint32_t *a = w.at<uint32_t>(i->a);
  uint32_t *d = w.at<uint32_t>(i->d);
  unsigned width = widthOf(FloatFormat(i->aux & 0xff));
  forLanes(mask, [&](unsigned lane) {
    uint16_t hi = a[lane] >> 16, lo = uint16_t(a[lane]);
    float h = BF16 ? bf16ToFloat(hi) : f16ToFloat(hi);
    float l = BF16 ? bf16ToFloat(lo) : f16ToFloat(lo);
    d[lane] = encodeNarrow(i->aux, h) << width | encodeNarrow(i->aux, l);
  });
  return i + 1;
}

/// Decodes a pair of codes to a pair of 16-bit floats.
template <bool BF16>
const Instr *decodePair(Warp &w, const Instr *i, uint32_t mask) {
  const uint32_t *a = w.at<uint32_t>(i->a);
  uint32_t *d = w.at<uint32_t>(i->d);
  FloatFormat f = FloatFormat(i->aux & 0xff);
  unsigned width = widthOf(f);
  uint32_t codeMask = (1u << width) - 1;
  forLanes(mask, [&](unsigned lane) {
    float h = positive(decode(f, (a[lane] >> width) & codeMask), i->aux);
    float l = positive(decode(f, a[lane] & codeMask), i->aux);
    d[lane] = BF16 ? uint32_t(floatToBf16(h)) << 16 | floatToBf16(l)
                   : uint32_t(floatToF16(h)) << 16 | floatToF16(l);
  });
  return i + 1;
}

uint32_t f32ToBf16x2(float hi, float lo) {
  return uint32_t(floatToBf16(hi)) << 16 | floatToBf16(lo);
}

/// Converts two f32 to a pair of 16-bit floats, with any modifiers.
const Instr *packHalves(Warp &w, const Instr *i, uint32_t mask) {
  Mode m(i->aux);
  const uint32_t *a = w.at<uint32_t>(i->a), *b = w.at<uint32_t>(i->b);
  uint32_t *d = w.at<uint32_t>(i->d);
  forLanes(mask, [&](unsigned lane) {
    d[lane] = uint32_t(convertOne(m, a[lane])) << 16 |
              uint32_t(convertOne(m, b[lane]));
  });
  return i + 1;
}

bool takeNarrow(Decoder &d, FloatFormat &f) {
  static constexpr std::pair<std::string_view, FloatFormat> names[] = {
      {"e4m3x2", FloatFormat::E4M3}, {"e5m2x2", FloatFormat::E5M2},
      {"e3m2x2", FloatFormat::E3M2}, {"e2m3x2", FloatFormat::E2M3},
      {"e2m1x2", FloatFormat::E2M1}, {"ue8m0x2", FloatFormat::E8M0},
  };
  for (auto &[name, value] : names)
    if (d.take(name)) {
      f = value;
      return true;
    }
  return false;
}

//===----------------------------------------------------------------------===//
// Stochastic rounding
//===----------------------------------------------------------------------===//

/// Rounds x to format f stochastically: truncates x, then increases the
/// magnitude by one unit if adding the random bits to the upper `count`
/// discarded bits overflows.
uint32_t encodeStochastic(FloatFormat f, float x, uint32_t random,
                          unsigned count, uint32_t aux) {
  const FloatFormatInfo &info = getInfo(f);
  uint32_t bits = bitsOf(positive(x, aux));
  uint32_t sign = bits >> 31 << (info.bits - 1);
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u)
    return info.nanCode;
  bool isHalf = f == FloatFormat::F16 || f == FloatFormat::BF16;
  uint32_t infinity = f == FloatFormat::F16    ? 0x7C00u
                      : f == FloatFormat::BF16 ? 0x7F80u
                                               : 0;
  uint32_t most = isHalf && !(aux & kSatBit) ? infinity : info.maxCode;
  if (magnitude == 0x7F800000u)
    return sign | most;
  int exponent = int(magnitude >> 23);
  uint64_t significand = magnitude & 0x7FFFFFu;
  if (exponent)
    significand |= 1u << 23;
  else
    exponent = 1;
  // Exponent of the target, at least the exponent of its subnormals.
  int target = std::max(exponent - 127, 1 - info.bias);
  unsigned drop = 23 - info.mantissaBits + (target - (exponent - 127));
  if (drop > 23 + 24)
    return sign; // too small to affect the result
  // Align the discarded bits so that the highest is bit count - 1.
  uint64_t discarded = significand & ((1ull << drop) - 1);
  discarded =
      drop > count ? discarded >> (drop - count) : discarded << (count - drop);
  uint64_t kept = significand >> drop;
  kept += (discarded + (random & ((1ull << count) - 1))) >> count;
  // Codes increase with magnitude, so a carry into the exponent is correct.
  uint64_t code = kept;
  if (target > 1 - info.bias || kept >> info.mantissaBits)
    code += uint64_t(target + info.bias - 1) << info.mantissaBits;
  if (code > info.maxCode)
    code = most;
  return sign | uint32_t(code);
}

/// Returns the random bits of element k of n. Each element of a pair uses 16
/// bits, or the lower 13 of them for f16. If there are four elements, the first
/// two share the upper half, and the last two share the lower half.
uint32_t randomBits(uint32_t all, unsigned k, unsigned n) {
  return n == 2 ? (k ? all & 0xFFFF : all >> 16)
                : (k < 2 ? all >> 16 : all & 0xFFFF);
}

/// aux: format and flags; aux2: first source in extra | count << 24; b: random
/// bits.
const Instr *encodeRandom(Warp &w, const Instr *i, uint32_t mask) {
  FloatFormat f = FloatFormat(i->aux & 0xff);
  unsigned n = i->aux2 >> 24, width = getInfo(f).bits;
  // Each 6-bit code occupies a byte.
  width = width == 6 ? 8 : width;
  const Slot *sources = &w.machine->program.extra[i->aux2 & 0xffffff];
  uint32_t *d = w.at<uint32_t>(i->d);
  const uint32_t *random = w.at<uint32_t>(i->b);
  forLanes(mask, [&](unsigned lane) {
    uint32_t r = 0;
    for (unsigned k = 0; k < n; ++k)
      r = r << width | encodeStochastic(f, w.at<float>(sources[k])[lane],
                                        randomBits(random[lane], k, n),
                                        f == FloatFormat::F16 ? 13 : 16,
                                        i->aux);
    d[lane] = r;
  });
  return i + 1;
}

/// Decodes cvt.rs to two or four elements.
void decodeStochastic(Decoder &d, uint32_t flags) {
  static constexpr std::pair<std::string_view, FloatFormat> names[] = {
      {"f16x2", FloatFormat::F16},   {"bf16x2", FloatFormat::BF16},
      {"e4m3x4", FloatFormat::E4M3}, {"e5m2x4", FloatFormat::E5M2},
      {"e3m2x4", FloatFormat::E3M2}, {"e2m3x4", FloatFormat::E2M3},
      {"e2m1x4", FloatFormat::E2M1},
  };
  unsigned n = 0;
  FloatFormat f = FloatFormat::F16;
  for (auto &[name, format] : names)
    if (!n && d.take(name)) {
      f = format;
      n = name.back() - '0';
    }
  if (!n || !d.take("f32"))
    return d.unsupported("no such type");
  if (n == 4 && !(flags & kSatBit))
    return d.unsupported("expects .satfinite");
  size_t random = n == 2 ? 3 : 2;
  if (!d.expectOperands(random + 1, random + 1))
    return;
  std::vector<Slot> sources;
  if (n == 2) {
    for (size_t k = 1; k < 3; ++k)
      sources.push_back(d.use(k, {'F', 32}));
  } else {
    const std::vector<Operand> parts = d.elements(d.operand(1));
    if (parts.size() != 4)
      return d.unsupported("expects four elements");
    for (const Operand &op : parts)
      sources.push_back(d.use(op, 4, {'F', 32}));
  }
  Slot bits = d.use(random, {'B', 32}), out = d.def(0, {'B', 32});
  uint32_t first = d.program.extra.size();
  for (Slot s : sources)
    d.addExtra(s);
  Instr &i = d.emit(encodeRandom);
  i.d = out;
  i.b = bits;
  i.aux = uint32_t(f) | flags;
  i.aux2 = first | n << 24;
}

//===----------------------------------------------------------------------===//
// cvt.pack
//===----------------------------------------------------------------------===//

/// Saturates operands `a` and `b` to `Bits` bits and packs them below the low
/// bits of operand `c`. Two 16-bit results fill the register, so the 16-bit
/// form has no operand `c`.
template <unsigned Bits, bool Signed>
const Instr *packSaturated(Warp &w, const Instr *i, uint32_t mask) {
  const int32_t *a = w.at<int32_t>(i->a), *b = w.at<int32_t>(i->b);
  const uint32_t *c = w.at<uint32_t>(i->c);
  uint32_t *d = w.at<uint32_t>(i->d);
  auto clamp = [](int32_t v) -> uint32_t {
    constexpr int32_t lo = Signed ? -(1 << (Bits - 1)) : 0;
    constexpr int32_t hi = (1 << (Bits - Signed)) - 1;
    return uint32_t(v < lo ? lo : v > hi ? hi : v) & ((1u << Bits) - 1);
  };
  forLanes(mask, [&](unsigned lane) {
    uint32_t pair = clamp(a[lane]) << Bits | clamp(b[lane]);
    if constexpr (Bits < 16)
      pair |= c[lane] << (2 * Bits);
    d[lane] = pair;
  });
  return i + 1;
}

void decodeCvtPack(Decoder &d) {
  d.take("pack");
  if (!d.take("sat"))
    return d.unsupported("expects .sat");
  int to = d.takeAny({"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"});
  if (to < 0 || !d.take("s32"))
    return d.unsupported("no such type");
  d.take("b32");
  bool hasC = to >= 2;
  if (!d.expectOperands(hasC ? 4 : 3, hasC ? 4 : 3))
    return;
  Slot a = d.use(1, {'S', 32}), b = d.use(2, {'S', 32});
  Slot c = hasC ? d.use(3, {'B', 32}) : a;
  Slot out = d.def(0, {'B', 32});
  static const Handler h[] = {packSaturated<16, false>, packSaturated<16, true>,
                              packSaturated<8, false>,  packSaturated<8, true>,
                              packSaturated<4, false>,  packSaturated<4, true>,
                              packSaturated<2, false>,  packSaturated<2, true>};
  Instr &i = d.emit(h[to]);
  i.d = out;
  i.a = a;
  i.b = b;
  i.c = c;
}

} // namespace

void mx::sim::decodePackedConversion(Decoder &d) {
  for (std::string_view s : d.modifiers())
    if (s == "pack")
      return decodeCvtPack(d);
  Mode m;
  bool isRandom = d.take("rs");
  int r = d.takeAny({"rn", "rz", "rm", "rp"});
  m.rounding = r >= 0 ? Rounding(r) : RN;
  m.satfinite = d.take("satfinite");
  m.relu = d.take("relu");
  FloatFormat f;
  bool toF16 = false, toBF16 = false;
  bool narrowFirst = false;
  if (!d.modifiers().empty()) {
    std::string_view first = d.modifiers().front();
    narrowFirst = first[0] == 'e' || first[0] == 'u';
  }
  uint32_t flags = (m.relu ? kReluBit : 0) | (m.rounding == RP ? kUpBit : 0) |
                   (m.satfinite ? kSatBit : 0);
  if (isRandom)
    return decodeStochastic(d, flags);
  if (narrowFirst) {
    if (!takeNarrow(d, f))
      return d.unsupported("no such type");
    bool isScale = f == FloatFormat::E8M0;
    if (isScale ? m.rounding != RP && m.rounding != RZ
                : m.rounding != RN || !m.satfinite)
      return d.unsupported(isScale ? "expects .rp or .rz"
                                   : "expects .rn.satfinite");
    bool fromF16 = d.take("f16x2"), fromBF16 = d.take("bf16x2");
    // The destination is a .b8 for e2m1x2, and 16 bits otherwise.
    if (fromF16 || fromBF16) {
      if (!d.expectOperands(2, 2))
        return;
      Slot a = d.use(1, {'B', 32}), out = d.def(0, {'B', 16});
      Instr &i = d.emit(fromF16 ? encodeHalves<false> : encodeHalves<true>);
      i.d = out;
      i.a = a;
      i.aux = uint32_t(f) | flags;
      return;
    }
    if (!d.take("f32"))
      return d.unsupported("expects a source of .f32, .f16x2 or .bf16x2");
    if (!d.expectOperands(3, 3))
      return;
    Slot a = d.use(1, {'F', 32}), b = d.use(2, {'F', 32});
    Slot out = d.def(0, {'B', 16});
    Instr &i = d.emit(forVectors<encodePair>());
    i.d = out;
    i.a = a;
    i.b = b;
    i.aux = uint32_t(f) | flags;
    return;
  }
  toF16 = d.take("f16x2");
  toBF16 = !toF16 && d.take("bf16x2");
  if (!toF16 && !toBF16)
    return d.unsupported("no such type");
  if (takeNarrow(d, f)) {
    if (!d.expectOperands(2, 2))
      return;
    Slot a = d.use(1, {'B', 16}), out = d.def(0, {'B', 32});
    Instr &i = d.emit(toF16 ? decodePair<false> : decodePair<true>);
    i.d = out;
    i.a = a;
    i.aux = uint32_t(f) | flags;
    return;
  }
  if (!d.take("f32"))
    return d.unsupported("no such source type");
  if (!d.expectOperands(3, 3))
    return;
  Slot a = d.use(1, {'F', 32}), b = d.use(2, {'F', 32});
  Slot out = d.def(0, {'B', 32});
  bool isPlain = m.rounding == RN && !m.relu && !m.satfinite && toBF16;
  m.from = Num::F32;
  m.to = toF16 ? Num::F16 : Num::BF16;
  Instr &i = d.emit(isPlain ? map<f32ToBf16x2> : packHalves);
  i.d = out;
  i.a = a;
  i.b = b;
  i.aux = m.pack();
}
