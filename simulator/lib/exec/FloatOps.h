//===- FloatOps.h - Floating-point decoding shared by opcodes ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers and floats share opcodes such as add, sub, mul and min, so the
// integer decoders call these functions for floats. The file also contains
// vectorizable conversions between f32 and 16-bit formats.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_FLOATOPS_H
#define MXSIM_LIB_EXEC_FLOATOPS_H

#include "../machine/Lanes.h"

#include "mxsim/tensor/NumberFormats.h"

#include <cmath>

namespace mx::sim {

enum class FloatSign { Abs, Neg };
enum class PackedOp { Add, Min, Max };

void decodeFloatArithmetic(Decoder &d); ///< add sub mul mad fma
void decodeFloatDivide(Decoder &d);
void decodeFloatMinMax(Decoder &d, bool isMax);
void decodeFloatSign(Decoder &d, FloatSign op);
void emitPacked16(Decoder &d, PackedOp op, bool isSigned, bool relu = false);

enum class Format { F32, F64, F16, BF16, F16x2, BF16x2, F32x2, None };
/// Removes the next floating-point type modifier.
Format takeFormat(Decoder &d);
Slot useFormat(Decoder &d, size_t k, Format f);
Slot defFormat(Decoder &d, size_t k, Format f);
/// Emits d = h(a[, b[, c]]) with operands of one format. Rejects the
/// instruction if the handler is null.
void emitFormat(Decoder &d, Handler h, Format f, unsigned sources,
                uint32_t aux = 0);

constexpr unsigned kFtz = 1, kSat = 2, kRelu = 4;

enum class FOp { Add, Sub, Mul, Fma, Div, Sqrt };
/// Returns the handler for directed rounding, or null if the format does not
/// support it. The handler expects FOp | rounding << 4 | flags << 8 in aux.
Handler directedHandler(Format f);

inline float asFloat(uint32_t bits) { return floatFromBits(bits); }

/// Canonicalizes NaN results (PTX ISA, "Floating point").
inline float canonical(float x) {
  return x != x ? floatFromBits(kF32CanonicalNaN) : x;
}
inline double canonical(double x) {
  return x != x ? doubleFromBits(0x7FFFFFFFFFFFFFFFull) : x;
}
inline float flush(float x) {
  uint32_t b = bitsOf(x);
  return floatFromBits((b & 0x7F800000u) ? b : b & 0x80000000u);
}

inline float bf16ToFloat(uint16_t v) {
  return floatFromBits(uint32_t(v) << 16);
}
/// Rounds to nearest even; NaN becomes 0x7FFF.
inline uint16_t floatToBf16(float x) {
  uint32_t b = bitsOf(x);
  uint32_t rounded = (b + 0x7FFFu + ((b >> 16) & 1)) >> 16;
  return (b & 0x7FFFFFFFu) > 0x7F800000u ? kBF16CanonicalNaN
                                         : uint16_t(rounded);
}
inline float f16ToFloat(uint16_t v) {
  // Move the exponent to its f32 position and scale. The multiplication also
  // normalizes subnormals.
  uint32_t magnitude = uint32_t(v & 0x7FFF) << 13;
  float scaled = floatFromBits(magnitude) * 0x1p112f;
  uint32_t bits =
      (v & 0x7C00) == 0x7C00 ? magnitude | 0x7F800000u : bitsOf(scaled);
  return floatFromBits(bits | uint32_t(v & 0x8000) << 16);
}
inline uint16_t floatToF16(float x) {
  return uint16_t(encode(FloatFormat::F16, x));
}

template <unsigned M>
inline float input(float x) {
  return M & kFtz ? flush(x) : x;
}
template <unsigned M>
inline float output(float x) {
  if (M & kFtz)
    x = flush(x);
  if (M & kSat)
    return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; // NaN gives +0
  return canonical(x);
}

// Operations on 16-bit formats widen exactly, compute in f32 or f64, and round
// once.
struct HalfF16 {
  static float widen(uint16_t v) { return f16ToFloat(v); }
  static uint16_t narrow(float x) { return floatToF16(x); }
  static uint16_t narrowD(double x) {
    return uint16_t(encodeF64(FloatFormat::F16, x));
  }
};
/// f16 with .ftz: subnormal operands and results become signed zeros. Results
/// below kFlushBelow with unbounded exponent are flushed.
struct HalfF16Ftz {
  static constexpr float kFlushBelow = 0x1.ffep-15f;
  static uint16_t flushed(uint16_t v) { return v & 0x7C00 ? v : v & 0x8000; }
  static float widen(uint16_t v) { return f16ToFloat(flushed(v)); }
  static uint16_t narrow(float x) {
    return floatToF16(std::fabs(x) < kFlushBelow ? std::copysign(0.0f, x) : x);
  }
  static uint16_t narrowD(double x) {
    return HalfF16::narrowD(std::fabs(x) < kFlushBelow ? std::copysign(0.0, x)
                                                       : x);
  }
};
struct HalfBF16 {
  static float widen(uint16_t v) { return bf16ToFloat(v); }
  static uint16_t narrow(float x) { return floatToBf16(x); }
  static uint16_t narrowD(double x) {
    return uint16_t(encodeF64(FloatFormat::BF16, x));
  }
};

/// Replaces an f64 NaN result by the first NaN among operands `b`, `c` and `a`,
/// made quiet (seen on sm_90). Unlike f32, f64 preserves the payload of NaNs.
inline double lastNaN(double r, double a, double b, double c) {
  if (r == r)
    return r;
  double nan = b != b ? b : c != c ? c : a;
  return nan != nan ? doubleFromBits(bitsOf(nan) | 0x0008000000000000ull) : r;
}

/// Flushes r = a * b + c if it was rounded up to the smallest normal number but
/// is smaller with unbounded exponent. To find out, computes the result again
/// with operands scaled by 2^40. This cannot overflow because the unscaled
/// result is tiny.
template <class F>
float flushTiny(float r, float a, float b, float c, F &&fma) {
  if (std::fabs(r) != 0x1p-126f)
    return r;
  float large = std::fabs(a) < std::fabs(b) ? fma(a * 0x1p40f, b, c * 0x1p40f)
                                            : fma(a, b * 0x1p40f, c * 0x1p40f);
  return std::fabs(large) < 0x1p-86f ? std::copysign(0.0f, r) : r;
}

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_FLOATOPS_H
