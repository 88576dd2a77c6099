//===- Convert.cpp - Conversions of single values -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, "Data movement and conversion: cvt". The type modifiers, not the
// register sizes, determine how integers are extended and truncated.
//===----------------------------------------------------------------------===//

#include "ConvertOps.h"
#include "Instructions.h"

#include <cfenv>
#include <cmath>
#include <limits>

using namespace mx::sim;
using ptx::Operand;
using ptx::Type;

namespace {

//===----------------------------------------------------------------------===//
// Integer to integer
//===----------------------------------------------------------------------===//

/// Converts integers of type S to type D, saturating if aux is 1. SL and DL are
/// the lane types of the registers.
template <class S, class D, class SL, class DL>
const Instr *intToInt(Warp &w, const Instr *i, uint32_t mask) {
  DL *d = w.at<DL>(i->d);
  const SL *a = w.at<SL>(i->a);
  using Extended =
      std::conditional_t<std::is_signed_v<D>, std::make_signed_t<DL>,
                         std::make_unsigned_t<DL>>;
  if (i->aux & 1) {
    forLanes(mask, [&](unsigned lane) {
      __int128 v = S(a[lane]);
      __int128 lo = std::numeric_limits<D>::min(),
               hi = std::numeric_limits<D>::max();
      d[lane] = DL(Extended(D(v < lo ? lo : v > hi ? hi : v)));
    });
    return i + 1;
  }
  if (mask == ~0u) {
    MX_LANES_INDEPENDENT
    for (unsigned lane = 0; lane < 32; ++lane)
      d[lane] = DL(Extended(D(S(a[lane]))));
  } else {
    forLanes(mask,
             [&](unsigned lane) { d[lane] = DL(Extended(D(S(a[lane])))); });
  }
  return i + 1;
}

template <class S, class D>
Handler pickLanes(bool s8, bool d8) {
  if (s8)
    return d8 ? intToInt<S, D, uint64_t, uint64_t>
              : intToInt<S, D, uint64_t, uint32_t>;
  return d8 ? intToInt<S, D, uint32_t, uint64_t>
            : intToInt<S, D, uint32_t, uint32_t>;
}
template <class S>
Handler pickTarget(unsigned k, bool s8, bool d8) {
  switch (k) {
  case 0:
    return pickLanes<S, uint8_t>(s8, d8);
  case 1:
    return pickLanes<S, int8_t>(s8, d8);
  case 2:
    return pickLanes<S, uint16_t>(s8, d8);
  case 3:
    return pickLanes<S, int16_t>(s8, d8);
  case 4:
    return pickLanes<S, uint32_t>(s8, d8);
  case 5:
    return pickLanes<S, int32_t>(s8, d8);
  case 6:
    return pickLanes<S, uint64_t>(s8, true);
  }
  return pickLanes<S, int64_t>(s8, true);
}
unsigned intIndex(Type t) {
  unsigned width = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : 3;
  return 2 * width + (t.kind == 'S');
}
Handler pickInt(Type from, Type to, bool s8, bool d8) {
  unsigned k = intIndex(to);
  switch (intIndex(from)) {
  case 0:
    return pickTarget<uint8_t>(k, s8, d8);
  case 1:
    return pickTarget<int8_t>(k, s8, d8);
  case 2:
    return pickTarget<uint16_t>(k, s8, d8);
  case 3:
    return pickTarget<int16_t>(k, s8, d8);
  case 4:
    return pickTarget<uint32_t>(k, s8, d8);
  case 5:
    return pickTarget<int32_t>(k, s8, d8);
  case 6:
    return pickTarget<uint64_t>(k, true, d8);
  }
  return pickTarget<int64_t>(k, true, d8);
}

//===----------------------------------------------------------------------===//
// Conversions from or to floats
//===----------------------------------------------------------------------===//

bool isFloatNum(Num n) { return n >= Num::F16; }
unsigned bitsOfNum(Num n) {
  static const unsigned bits[] = {8,  8,  16, 16, 32, 32, 64,
                                  64, 16, 16, 32, 64, 32};
  return bits[unsigned(n)];
}

/// Rounds to an integral value in the given mode.
double roundIntegral(double x, Rounding r) {
  switch (r) {
  case RZ:
    return std::trunc(x);
  case RM:
    return std::floor(x);
  case RP:
    return std::ceil(x);
  case RNA:
    return std::round(x);
  case RN:
    break;
  }
  return std::nearbyint(x);
}

template <class T>
uint64_t clampToInt(double x) {
  if (x != x)
    return 0;
  // As a double, the upper limit of a 64-bit type is rounded up, hence >=.
  constexpr double lo = double(std::numeric_limits<T>::min());
  constexpr double hi = double(std::numeric_limits<T>::max());
  if (x <= lo)
    return uint64_t(int64_t(std::numeric_limits<T>::min()));
  if (x >= hi)
    return uint64_t(std::numeric_limits<T>::max());
  return uint64_t(T(x));
}
uint64_t doubleToInt(double x, Num to) {
  switch (to) {
  case Num::U8:
    return clampToInt<uint8_t>(x);
  case Num::S8:
    return clampToInt<int8_t>(x);
  case Num::U16:
    return clampToInt<uint16_t>(x);
  case Num::S16:
    return clampToInt<int16_t>(x);
  case Num::U32:
    return clampToInt<uint32_t>(x);
  case Num::S32:
    return clampToInt<int32_t>(x);
  case Num::U64:
    return clampToInt<uint64_t>(x);
  default:
    return clampToInt<int64_t>(x);
  }
}

template <class T>
__attribute__((noinline)) T narrowDirected(volatile double x, Rounding r) {
  static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                              FE_UPWARD};
  std::fesetround(modes[r]);
  volatile T y = T(x);
  std::fesetround(FE_TONEAREST);
  return y;
}

/// Converts x to a 16-bit float in any rounding mode: rounds to nearest, then
/// steps to the adjacent code if required by the mode.
uint16_t narrow16(double x, FloatFormat f, Rounding r) {
  uint32_t nearest = encodeF64(f, x);
  if (r == RN || x != x)
    return nearest;
  double back = decode(f, nearest);
  if (back == x)
    return nearest;
  // Codes of these formats are ordered by magnitude.
  bool wantUp = r == RP || (r == RZ && x < 0);
  if ((back > x) == wantUp)
    return nearest;
  bool negative = nearest & 0x8000;
  uint16_t magnitude = nearest & 0x7FFF;
  if (wantUp != negative)
    ++magnitude;
  else if (magnitude)
    --magnitude;
  else
    return wantUp ? 1 : 0x8001;
  return uint16_t(magnitude | (negative ? 0x8000 : 0));
}

} // namespace

uint64_t mx::sim::convertOne(const Mode &m, uint64_t in) {
  double x = 0;
  bool exactInt = false;
  unsigned __int128 magnitude = 0;
  bool negative = false;
  switch (m.from) {
  case Num::U8:
  case Num::U16:
  case Num::U32:
  case Num::U64: {
    unsigned b = bitsOfNum(m.from);
    uint64_t v = b == 64 ? in : in & ((1ull << b) - 1);
    magnitude = v;
    exactInt = true;
    x = double(v);
    break;
  }
  case Num::S8:
  case Num::S16:
  case Num::S32:
  case Num::S64: {
    unsigned b = bitsOfNum(m.from);
    int64_t v = int64_t(in << (64 - b)) >> (64 - b);
    negative = v < 0;
    magnitude = negative ? -(__int128)v : v;
    exactInt = true;
    x = double(v);
    break;
  }
  case Num::F16:
    x = f16ToFloat(uint16_t(in));
    break;
  case Num::BF16:
    x = bf16ToFloat(uint16_t(in));
    break;
  case Num::F32:
  case Num::TF32: {
    // Conversion of f32 to f16 ignores .ftz. Conversion of a NaN to f64
    // discards the payload only with .ftz (seen on sm_90).
    float f = asFloat(uint32_t(in));
    x = m.ftz && m.to != Num::F16 ? canonical(flush(f)) : f;
    break;
  }
  case Num::F64:
    x = doubleFromBits(in);
    break;
  }
  // Round integers beyond 2^53 to odd to make the second rounding correct in
  // every mode.
  if (exactInt && magnitude >> 53 && m.to != Num::F64) {
    unsigned shift = 0;
    while ((magnitude >> shift) >> 53)
      ++shift;
    uint64_t kept = uint64_t(magnitude >> shift);
    if (((unsigned __int128)kept << shift) != magnitude)
      kept |= 1;
    x = std::ldexp(double(kept), shift);
    if (negative)
      x = -x;
  }
  if (!isFloatNum(m.to)) {
    // A NaN in f16, bf16 or f32 becomes 0 in an integer of at most 32 bits. All
    // other conversions of a NaN set only the most significant bit (seen on
    // sm_90, and documented in CUDA's math API).
    unsigned bits = bitsOfNum(m.to);
    if (x != x && (bits == 64 || m.from == Num::F64)) {
      bool isSigned = unsigned(m.to) & 1;
      return (isSigned ? ~0ull : 1ull) << (bits - 1);
    }
    return doubleToInt(roundIntegral(x, m.rounding), m.to);
  }
  if (m.integral)
    x = roundIntegral(x, m.rounding);
  if (m.sat)
    x = x > 0 ? (x < 1 ? x : 1.0) : 0.0;
  if (m.relu && !(x > 0))
    x = x != x ? x : 0.0;
  Rounding r = m.integral ? RN : m.rounding;
  switch (m.to) {
  case Num::F64: {
    double y = x;
    if (exactInt && magnitude >> 53 && !m.sat) {
      // Integer to double: use the host conversion in the requested mode.
      static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                  FE_UPWARD};
      std::fesetround(modes[r & 3]);
      volatile uint64_t u = uint64_t(magnitude);
      volatile int64_t s = int64_t(in);
      volatile double z = negative ? double(s) : double(u);
      y = z;
      std::fesetround(FE_TONEAREST);
    }
    return bitsOf(y) | (y != y ? 0x0008000000000000ull : 0);
  }
  case Num::F32: {
    float y = r == RN ? float(x) : narrowDirected<float>(x, r);
    if (m.from != Num::F64)
      y = canonical(y);
    // Whether a result is flushed depends on its value with unbounded exponent:
    // 0x1.ffffffp-127 rounds up to 0x1p-126, but smaller values are flushed
    // (seen on sm_90).
    if (m.ftz)
      y = r == RN && std::fabs(x) < 0x1.ffffffp-127
              ? std::copysign(0.0f, float(x))
              : flush(y);
    return bitsOf(y);
  }
  case Num::TF32: {
    // tf32 keeps 10 mantissa bits, and rna rounds ties away from zero. The
    // results for NaN, and for .satfinite with .rna, were seen on sm_90.
    uint32_t b = bitsOf(float(x));
    if ((b & 0x7F800000u) == 0x7F800000u) {
      b = uint32_t(in) & ~0x1FFFu;
      if (r == RNA)
        return m.satfinite ? b - 0x2000u : b;
      if (x != x)
        return 0x7FFFE000u;
      return m.satfinite ? (b & 0x80000000u) | 0x7F7FE000u : b;
    }
    if (r == RNA)
      b += 0x1000;
    else if (r == RN)
      b += 0xFFF + ((b >> 13) & 1);
    b &= ~0x1FFFu;
    if (m.satfinite && (b & 0x7F800000u) == 0x7F800000u)
      b = (b & 0x80000000u) | 0x7F7FE000u;
    return b;
  }
  case Num::F16:
  case Num::BF16: {
    FloatFormat f = m.to == Num::F16 ? FloatFormat::F16 : FloatFormat::BF16;
    uint16_t h = narrow16(x, f, r);
    if (x != x && m.from == Num::F64)
      // Keep the upper bits of the NaN, made quiet (seen on sm_90).
      return m.to == Num::F16
                 ? (in >> 48 & 0x8000) | 0x7E00 | (in >> 42 & 0x3FF)
                 : (in >> 48 & 0x8000) | 0x7FC0 | (in >> 45 & 0x7F);
    if (m.satfinite && x == x) {
      uint16_t most = m.to == Num::F16 ? 0x7BFF : 0x7F7F;
      if ((h & 0x7FFF) > most)
        h = (h & 0x8000) | most;
    }
    return h;
  }
  default:
    return 0;
  }
}

namespace {

const Instr *convertGeneral(Warp &w, const Instr *i, uint32_t mask) {
  Mode m(i->aux);
  forLanes(mask, [&](unsigned lane) {
    uint64_t in =
        m.from8 ? w.at<uint64_t>(i->a)[lane] : w.at<uint32_t>(i->a)[lane];
    uint64_t out = convertOne(m, in);
    if (m.to8)
      w.at<uint64_t>(i->d)[lane] = out;
    else
      w.at<uint32_t>(i->d)[lane] = uint32_t(out);
  });
  return i + 1;
}

// Fast paths for conversions in inner loops.
uint32_t sameBits(uint32_t v) { return v; }
float bf16ToF32(uint16_t v) { return bf16ToFloat(v); }
float f16ToF32(uint16_t v) { return canonical(f16ToFloat(v)); }
uint16_t f32ToBf16(float v) { return floatToBf16(v); }
uint16_t f32ToF16(float v) { return floatToF16(v); }
float s32ToF32(int32_t v) { return float(v); }
float u32ToF32(uint32_t v) { return float(v); }

Num takeNum(Decoder &d) {
  static constexpr std::pair<std::string_view, Num> names[] = {
      {"u8", Num::U8},     {"s8", Num::S8},   {"u16", Num::U16},
      {"s16", Num::S16},   {"u32", Num::U32}, {"s32", Num::S32},
      {"u64", Num::U64},   {"s64", Num::S64}, {"f16", Num::F16},
      {"bf16", Num::BF16}, {"f32", Num::F32}, {"f64", Num::F64},
      {"tf32", Num::TF32},
  };
  // The destination type is first.
  for (std::string_view m : d.modifiers())
    for (auto &[name, n] : names)
      if (m == name) {
        d.take(m);
        return n;
      }
  return Num(15);
}

void decodeCvt(Decoder &d) {
  Mode m;
  for (std::string_view s : d.modifiers())
    if (s == "pack" || (s.size() > 2 && s[s.size() - 2] == 'x'))
      return decodePackedConversion(d);
  int r = d.takeAny({"rn", "rz", "rm", "rp", "rna"});
  int ri = d.takeAny({"rni", "rzi", "rmi", "rpi"});
  m.rounding = r >= 0 ? Rounding(r) : ri >= 0 ? Rounding(ri) : RN;
  m.integral = ri >= 0;
  m.ftz = d.take("ftz");
  m.satfinite = d.take("satfinite");
  m.sat = d.take("sat");
  m.relu = d.take("relu");

  m.to = takeNum(d);
  m.from = takeNum(d);
  if (unsigned(m.to) == 15 || unsigned(m.from) == 15)
    return d.unsupported("expects two types");
  if (!d.expectOperands(2, 2))
    return;
  unsigned srcLane = d.laneBytesOf(d.operand(1));
  unsigned dstLane = d.laneBytesOf(d.operand(0));
  // Registers may be wider than integers, but not wider than floats.
  if (isFloatNum(m.from) || !srcLane)
    srcLane = bitsOfNum(m.from) <= 32 ? 4 : 8;
  if (isFloatNum(m.to) || !dstLane)
    dstLane = bitsOfNum(m.to) <= 32 ? 4 : 8;
  if (bitsOfNum(m.from) > srcLane * 8 || bitsOfNum(m.to) > dstLane * 8)
    return d.unsupported("a register is smaller than the type");
  Slot a = d.use(d.operand(1), srcLane,
                 {isFloatNum(m.from) ? 'F' : 'B', uint16_t(bitsOfNum(m.from))});
  Slot out = d.def(d.operand(0), dstLane);
  m.from8 = srcLane == 8;
  m.to8 = dstLane == 8;

  if (!isFloatNum(m.from) && !isFloatNum(m.to)) {
    auto type = [](Num n) {
      return Type{unsigned(n) & 1 ? 'S' : 'U', uint16_t(bitsOfNum(n))};
    };
    Instr &i = d.emit(pickInt(type(m.from), type(m.to), m.from8, m.to8));
    i.d = out;
    i.a = a;
    i.aux = m.sat;
    return;
  }
  Handler h = convertGeneral;
  bool isPlain =
      r <= 0 && !m.ftz && !m.sat && !m.relu && !m.satfinite && !m.integral;
  if (isPlain) {
    auto is = [&](Num from, Num to) { return m.from == from && m.to == to; };
    // Without modifiers, cvt from f32 to f32 is a move (seen on sm_90).
    if (is(Num::F32, Num::F32))
      h = map<sameBits>;
    else if (is(Num::BF16, Num::F32))
      h = map<bf16ToF32>;
    else if (is(Num::F16, Num::F32))
      h = map<f16ToF32>;
    else if (is(Num::F32, Num::BF16))
      h = map<f32ToBf16>;
    else if (is(Num::F32, Num::F16))
      h = map<f32ToF16>;
    else if (is(Num::S32, Num::F32))
      h = map<s32ToF32>;
    else if (is(Num::U32, Num::F32))
      h = map<u32ToF32>;
  }
  if (!isFloatNum(m.to) && !m.integral)
    return d.unsupported("expects .rni, .rzi, .rmi or .rpi");
  Instr &i = d.emit(h);
  i.d = out;
  i.a = a;
  i.aux = m.pack();
}

} // namespace

void mx::sim::addConversionInstructions(DecodeTable &t) {
  t["cvt"] = decodeCvt;
}
