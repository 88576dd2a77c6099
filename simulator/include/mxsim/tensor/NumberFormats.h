//===- NumberFormats.h - Narrow floating-point formats ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The simulator's own codecs of E4M3, E5M2, E3M2, E2M3, E2M1, E8M0, UE4M3, bf16
// and f16, written apart from the compiler's: an oracle shares no codec with
// the code under test. unittests/Target/SimulatorAgreementTest.cpp compares
// both. Arithmetic stays in normal doubles and integers, so the processor's
// flush-to-zero mode changes no bit.
//
// Sources: OCP Microscaling Formats (MX) v1.0, sections 5.3 and 5.4.1; PTX ISA,
// "Data Movement and Conversion Instructions: cvt".
//
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
  unsigned bits;         ///< width of a code, sign included
  unsigned mantissaBits; ///< stored bits, without the hidden bit
  int bias;
  int maxExponent;  ///< exponent of the largest finite value
  uint32_t maxCode; ///< code of the largest finite value
  /// Code of NaN; formats without NaN give their largest value, as
  /// cvt.rn.satfinite does.
  uint32_t nanCode;
  bool hasSign;
  /// An overflow in encode() gives infinity, code `maxCode + 1`.
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
/// format and bit 7 of UE4M3. NaN is 0x7FFFFFFF, except that bf16 keeps its
/// bits.
float decode(FloatFormat format, uint32_t code);

/// Rounds to nearest, ties to even; keeps subnormals and the sign of zero.
/// Formats of 8 bits and less saturate (cvt.rn.satfinite); UE4M3 encodes the
/// absolute value, E8M0 rounds it upwards. bf16 and f16 overflow to infinity.
uint32_t encode(FloatFormat format, float value);

/// Encodes a double with one rounding.
uint32_t encodeF64(FloatFormat format, double value);

/// Encode as cvt.{rp,rz}{.satfinite}.ue8m0: the sign is dropped, NaN gives
/// 0xFF, an overflow 0xFE, or 0xFF without `saturate`.
uint8_t encodeE8M0Up(float value, bool saturate = true);
uint8_t encodeE8M0Down(float value, bool saturate = true);

/// Returns the exact value as a double, subnormals included; keeps the payload
/// of NaN.
double widenF32(float value);

} // namespace mx::sim

#endif // MXSIM_TENSOR_NUMBERFORMATS_H
