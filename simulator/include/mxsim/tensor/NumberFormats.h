//===- NumberFormats.h - Narrow floating-point formats ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codecs written independently of the compiler, to serve as a test oracle
// (unittests/Target/SimulatorAgreementTest.cpp). Arithmetic uses normal doubles
// and integers only, so flush-to-zero modes have no effect. Sources: OCP
// Microscaling Formats (MX) v1.0, sections 5.3 and 5.4.1; PTX ISA, "Data
// Movement and Conversion Instructions: cvt".
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TENSOR_NUMBERFORMATS_H
#define MXSIM_TENSOR_NUMBERFORMATS_H

#include <cstdint>
#include <cstring>

namespace mx::sim {

enum class FloatFormat : uint8_t {
  E4M3,
  E5M2,
  E3M2,
  E2M3,
  E2M1,
  E8M0,
  UE4M3,
  BF16,
  F16
};

struct FloatFormatInfo {
  unsigned bits;         ///< width of a code, including the sign
  unsigned mantissaBits; ///< stored bits, without the hidden bit
  int bias;
  int maxExponent;  ///< exponent of the largest finite value
  uint32_t maxCode; ///< code of the largest finite value
  /// Code of NaN. Formats without NaN use their largest value, as
  /// cvt.rn.satfinite does.
  uint32_t nanCode;
  bool hasSign;
  /// True if encode() overflows to infinity, code `maxCode + 1`.
  bool overflowsToInfinity;
};

const FloatFormatInfo &getInfo(FloatFormat format);

inline constexpr uint32_t kF32CanonicalNaN = 0x7FFFFFFFu;
inline constexpr uint32_t kF16CanonicalNaN = 0x7FFFu;
inline constexpr uint32_t kBF16CanonicalNaN = 0x7FFFu;

inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline uint64_t bitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float floatFromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
inline double doubleFromBits(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Returns the exact value of `code`. Ignores bits above the width of the
/// format and bit 7 of UE4M3. NaN decodes to 0x7FFFFFFF, except in bf16, where
/// the bits are kept.
float decode(FloatFormat format, uint32_t code);

/// Rounds to nearest, ties to even; keeps subnormals and the sign of zero.
/// Formats of at most 8 bits saturate (cvt.rn.satfinite). UE4M3 encodes the
/// absolute value; E8M0 also rounds it up. bf16 and f16 overflow to infinity.
uint32_t encode(FloatFormat format, float value);

/// Like encode, for formats other than E8M0. Vectorizable: in the binades of
/// normal results, rounds the bits of the float; below, adds a float with the
/// spacing of the subnormal results.
inline uint32_t encodeNearest(const FloatFormatInfo &info, float value) {
  uint32_t bits = bitsOf(value), magnitude = bits & 0x7FFFFFFFu;
  uint32_t dropped = 23 - info.mantissaBits, least = uint32_t(128 - info.bias);
  uint32_t normal =
      ((magnitude + (1u << (dropped - 1)) - 1 + (magnitude >> dropped & 1)) >>
       dropped) -
      ((least - 1) << info.mantissaBits);
  uint32_t spacing = (least + dropped) << 23;
  uint32_t small =
      bitsOf(floatFromBits(magnitude) + floatFromBits(spacing)) - spacing;
  uint32_t code = magnitude < least << 23 ? small : normal;
  uint32_t limit = info.maxCode + info.overflowsToInfinity;
  code = code > limit ? limit : code;
  code |= info.hasSign ? bits >> 31 << (info.bits - 1) : 0;
  return magnitude > 0x7F800000u ? info.nanCode : code;
}

/// Encodes a double with a single rounding.
uint32_t encodeF64(FloatFormat format, double value);

/// Encodes as cvt.{rp,rz}{.satfinite}.ue8m0 does: drops the sign, and maps NaN
/// to 0xFF and overflow to 0xFE, or to 0xFF without `saturate`.
uint8_t encodeE8M0Up(float value, bool saturate = true);
uint8_t encodeE8M0Down(float value, bool saturate = true);

/// Returns the exact value as a double, including subnormals; keeps the payload
/// of NaN.
double widenF32(float value);

} // namespace mx::sim

#endif // MXSIM_TENSOR_NUMBERFORMATS_H
