//===- FloatSelection.cpp - Minimum, maximum, sign, properties ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA: min, max, abs, neg, copysign and testp of floats, and the packed
// 16-bit integer operations that share their decoding.
//===----------------------------------------------------------------------===//

#include "FloatOps.h"
#include "Instructions.h"

#include <cmath>

using namespace mx::sim;

namespace {

constexpr unsigned kNaN = 2, kXorSign = 4, kAbs = 8, kMax = 16;

/// Computes min or max. Bits of m: kFtz, kNaN (a NaN operand makes the result
/// NaN), kXorSign, kAbs and kMax.
inline float minMax(unsigned m, float a, float b) {
  if (m & kFtz) {
    a = flush(a);
    b = flush(b);
  }
  uint32_t sign = (bitsOf(a) ^ bitsOf(b)) & 0x80000000u;
  if (m & (kAbs | kXorSign)) {
    a = std::fabs(a);
    b = std::fabs(b);
  }
  float r;
  if (a != a || b != b) {
    r = (m & kNaN) || (a != a && b != b) ? floatFromBits(kF32CanonicalNaN)
        : a != a                         ? b
                                         : a;
  } else {
    // min and max treat negative zero as less than positive zero.
    bool aFirst = a < b || (a == b && std::signbit(a));
    r = aFirst == !(m & kMax) ? a : b;
  }
  if ((m & kXorSign) && r == r)
    r = floatFromBits((bitsOf(r) & 0x7FFFFFFFu) | sign);
  return r;
}

[[gnu::always_inline]] inline const Instr *minMaxF32(Warp &w, const Instr *i,
                                                     uint32_t mask) {
  float *d = w.at<float>(i->d);
  const float *a = w.at<float>(i->a), *b = w.at<float>(i->b),
              *c = w.at<float>(i->c);
  unsigned m = i->aux;
  // Vectorize the common case of two operands without NaN.
  if (mask == ~0u && !(m & (kFtz | kXorSign)) && i->b == i->c) {
    bool clean = true;
    uint32_t keep = m & kAbs ? 0x7FFFFFFFu : ~0u;
    const uint32_t *x = w.at<uint32_t>(i->a), *y = w.at<uint32_t>(i->b);
    uint32_t special = 0;
    for (unsigned l = 0; l < 32; ++l)
      special |= uint32_t((x[l] & 0x7FFFFFFFu) > 0x7F800000u) |
                 uint32_t((y[l] & 0x7FFFFFFFu) > 0x7F800000u);
    clean = !special;
    if (clean) {
      // Flip the magnitude bits of negative numbers to compare floats as signed
      // integers.
      int32_t *out = w.at<int32_t>(i->d);
      bool isMax = m & kMax;
      MX_LANES_INDEPENDENT
      for (unsigned l = 0; l < 32; ++l) {
        int32_t p = x[l] & keep, q = y[l] & keep;
        int32_t ps = p ^ int32_t(uint32_t(p >> 31) >> 1);
        int32_t qs = q ^ int32_t(uint32_t(q >> 31) >> 1);
        out[l] = (ps > qs) == isMax ? p : q;
      }
      return i + 1;
    }
  }
  bool three = i->b != i->c;
  forLanes(mask, [&](unsigned lane) {
    float r = minMax(m, a[lane], b[lane]);
    d[lane] = three ? minMax(m, r, c[lane]) : r;
  });
  return i + 1;
}
double quiet(double x) {
  return doubleFromBits(bitsOf(x) | 0x0008000000000000ull);
}

const Instr *minMaxF64(Warp &w, const Instr *i, uint32_t mask) {
  double *d = w.at<double>(i->d);
  const double *a = w.at<double>(i->a), *b = w.at<double>(i->b);
  forLanes(mask, [&](unsigned lane) {
    double x = a[lane], y = b[lane];
    bool aFirst = x < y || (x == y && std::signbit(x));
    d[lane] = x != x                       ? (y != y ? quiet(y) : y)
              : y != y                     ? x
              : aFirst == !(i->aux & kMax) ? x
                                           : y;
  });
  return i + 1;
}
template <class H>
uint16_t minMaxHalf(unsigned m, uint16_t a, uint16_t b) {
  return H::narrow(minMax(m, H::widen(a), H::widen(b)));
}
template <class H, bool Packed>
const Instr *minMax16(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t *d = w.at<uint32_t>(i->d);
  const uint32_t *a = w.at<uint32_t>(i->a), *b = w.at<uint32_t>(i->b),
                 *c = w.at<uint32_t>(i->c);
  bool three = i->b != i->c;
  forLanes(mask, [&](unsigned l) {
    uint32_t r = minMaxHalf<H>(i->aux, a[l], b[l]);
    if (three)
      r = minMaxHalf<H>(i->aux, r, c[l]);
    if (Packed) {
      uint32_t h = minMaxHalf<H>(i->aux, a[l] >> 16, b[l] >> 16);
      if (three)
        h = minMaxHalf<H>(i->aux, h, c[l] >> 16);
      r |= h << 16;
    }
    d[l] = r;
  });
  return i + 1;
}

/// Computes abs.f64 or neg.f64. A NaN keeps its sign and payload and becomes
/// quiet (seen on sm_90).
template <bool Neg>
uint64_t signF64(uint64_t a) {
  constexpr uint64_t sign = 1ull << 63;
  if ((a & ~sign) > 0x7FF0000000000000ull)
    return a | 0x0008000000000000ull;
  return Neg ? a ^ sign : a & ~sign;
}

/// Computes abs or neg in a 16-bit format with infinity `Inf`. A NaN
/// becomes canonical.
template <bool Neg, uint16_t Inf>
uint16_t signHalf(uint16_t a) {
  uint16_t magnitude = a & 0x7FFF;
  return magnitude > Inf ? 0x7FFF : Neg ? a ^ 0x8000 : magnitude;
}
template <bool Neg, uint16_t Inf>
uint32_t signHalves(uint32_t a) {
  return uint32_t(signHalf<Neg, Inf>(a >> 16)) << 16 |
         signHalf<Neg, Inf>(uint16_t(a));
}

/// Computes abs.f32 or neg.f32. A NaN becomes canonical (seen on sm_90).
template <bool Neg>
uint32_t signF32(uint32_t a) {
  uint32_t magnitude = a & 0x7FFFFFFFu;
  return magnitude > 0x7F800000u ? kF32CanonicalNaN
         : Neg                   ? a ^ 0x80000000u
                                 : magnitude;
}

template <bool Neg>
float flushSign(float x) {
  return canonical(flush(Neg ? -x : std::fabs(x)));
}

template <bool Neg>
uint16_t flushSign16(uint16_t x) {
  return signHalf<Neg, 0x7C00>(HalfF16Ftz::flushed(x));
}
template <bool Neg>
uint32_t flushSignPair(uint32_t x) {
  return uint32_t(flushSign16<Neg>(x >> 16)) << 16 |
         flushSign16<Neg>(uint16_t(x));
}

template <PackedOp Op, class T, bool Relu = false>
uint32_t packed16(uint32_t a, uint32_t b) {
  auto one = [](T x, T y) -> uint16_t {
    if (Op == PackedOp::Add)
      return uint16_t(x + y);
    T r = (x < y) == (Op == PackedOp::Min) ? x : y;
    return uint16_t(Relu && r < 0 ? 0 : r);
  };
  return uint32_t(one(T(a >> 16), T(b >> 16))) << 16 | one(T(a), T(b));
}

float copySign(float a, float b) { return std::copysign(b, a); }
double copySignD(double a, double b) { return std::copysign(b, a); }

void decodeCopysign(Decoder &d) {
  Format f = takeFormat(d);
  emitFormat(d,
             f == Format::F32   ? map<copySign>
             : f == Format::F64 ? map<copySignD>
                                : nullptr,
             f, 2);
}

const Instr *testProperty(Warp &w, const Instr *i, uint32_t mask) {
  uint32_t bits = 0;
  forLanes(mask, [&](unsigned lane) {
    int c = i->aux2 ? std::fpclassify(w.at<double>(i->a)[lane])
                    : std::fpclassify(w.at<float>(i->a)[lane]);
    bool r = false;
    switch (i->aux) {
    case 0:
      r = c != FP_NAN && c != FP_INFINITE;
      break;
    case 1:
      r = c == FP_INFINITE;
      break;
    case 2:
      r = c != FP_NAN;
      break;
    case 3:
      r = c == FP_NAN;
      break;
    case 4:
      r = c == FP_NORMAL || c == FP_ZERO; // includes zero (seen on sm_90)
      break;
    case 5:
      r = c == FP_SUBNORMAL;
      break;
    }
    bits |= uint32_t(r) << lane;
  });
  setPredicate(w, i->d, bits, mask);
  return i + 1;
}
void decodeTestp(Decoder &d) {
  int k = d.takeAny(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Format f = takeFormat(d);
  if (k < 0 || (f != Format::F32 && f != Format::F64))
    return d.unsupported("expects a property and .f32 or .f64");
  if (!d.expectOperands(2, 2))
    return;
  Slot a = useFormat(d, 1, f), out = d.defPredicate(0);
  Instr &i = d.emit(testProperty);
  i.d = out;
  i.a = a;
  i.aux = k;
  i.aux2 = f == Format::F64;
}

} // namespace

void mx::sim::decodeFloatMinMax(Decoder &d, bool isMax) {
  unsigned m = (d.take("ftz") ? kFtz : 0) | (d.take("NaN") ? kNaN : 0) |
               (d.take("xorsign") ? kXorSign : 0) | (d.take("abs") ? kAbs : 0) |
               (isMax ? kMax : 0);
  Format f = takeFormat(d);
  bool ftz = m & kFtz;
  Handler h = f == Format::F32   ? forVectors<minMaxF32>()
              : f == Format::F64 ? minMaxF64
              : f == Format::F16
                  ? ftz ? minMax16<HalfF16Ftz, false> : minMax16<HalfF16, false>
              : f == Format::F16x2
                  ? ftz ? minMax16<HalfF16Ftz, true> : minMax16<HalfF16, true>
              : f == Format::BF16   ? minMax16<HalfBF16, false>
              : f == Format::BF16x2 ? minMax16<HalfBF16, true>
                                    : nullptr;
  if (!h)
    return d.unsupported("no such type");
  if (!d.expectOperands(3, 4))
    return;
  Slot a = useFormat(d, 1, f), b = useFormat(d, 2, f);
  Slot c = d.numOperands() == 4 ? useFormat(d, 3, f) : b;
  Slot out = defFormat(d, 0, f);
  Instr &i = d.emit(h);
  i.d = out;
  i.a = a;
  i.b = b;
  i.c = c;
  i.aux = m;
}

void mx::sim::decodeFloatSign(Decoder &d, FloatSign op) {
  bool ftz = d.take("ftz");
  Format f = takeFormat(d);
  bool neg = op == FloatSign::Neg;
  Handler h = nullptr;
  switch (f) {
  case Format::F32:
    h = neg ? map<signF32<true>> : map<signF32<false>>;
    break;
  case Format::F64:
    h = neg ? map<signF64<true>> : map<signF64<false>>;
    break;
  case Format::F16:
    h = neg ? map<signHalf<true, 0x7C00>> : map<signHalf<false, 0x7C00>>;
    break;
  case Format::BF16:
    h = neg ? map<signHalf<true, 0x7F80>> : map<signHalf<false, 0x7F80>>;
    break;
  case Format::F16x2:
    h = neg ? map<signHalves<true, 0x7C00>> : map<signHalves<false, 0x7C00>>;
    break;
  case Format::BF16x2:
    h = neg ? map<signHalves<true, 0x7F80>> : map<signHalves<false, 0x7F80>>;
    break;
  default:
    break;
  }
  if (ftz && f == Format::F32)
    h = neg ? map<flushSign<true>> : map<flushSign<false>>;
  else if (ftz)
    h = f == Format::F16
            ? neg ? map<flushSign16<true>> : map<flushSign16<false>>
        : f == Format::F16x2
            ? neg ? map<flushSignPair<true>> : map<flushSignPair<false>>
            : nullptr;
  emitFormat(d, h, f, 1);
}

void mx::sim::emitPacked16(Decoder &d, PackedOp op, bool isSigned, bool relu) {
  if (relu)
    return emitFormat(d,
                      op == PackedOp::Min
                          ? map<packed16<PackedOp::Min, int16_t, true>>
                          : map<packed16<PackedOp::Max, int16_t, true>>,
                      Format::F16x2, 2);
  Handler h = op == PackedOp::Add ? map<packed16<PackedOp::Add, uint16_t>>
              : op == PackedOp::Min
                  ? isSigned ? map<packed16<PackedOp::Min, int16_t>>
                             : map<packed16<PackedOp::Min, uint16_t>>
              : isSigned ? map<packed16<PackedOp::Max, int16_t>>
                         : map<packed16<PackedOp::Max, uint16_t>>;
  emitFormat(d, h, Format::F16x2, 2);
}

void mx::sim::addFloatSelection(DecodeTable &t) {
  t["copysign"] = decodeCopysign;
  t["testp"] = decodeTestp;
}
