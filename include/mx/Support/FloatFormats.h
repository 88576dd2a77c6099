//===- FloatFormats.h - Narrow number formats on the host -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encodings and rounding of E4M3, E5M2, E3M2, E2M3, E2M1, E8M0, UE4M3, bf16,
// f16 and MXINT8, shared by folding, the reference path, the simulator and
// tests. All code uses integers, so flush-to-zero modes and floating-point
// options cannot change a bit. Sources: OCP Microscaling Formats (MX) v1.0,
// sections 5.3 and 5.4.1; PTX ISA, "Data Movement and Conversion: cvt".
//===----------------------------------------------------------------------===//
#ifndef MX_SUPPORT_FLOATFORMATS_H
#define MX_SUPPORT_FLOATFORMATS_H

#include <array>
#include <cstdint>
#include <cstring>

namespace mx {

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

inline constexpr unsigned kNumFloatFormats = 9;

/// Properties of a format.
struct FloatFormatInfo {
  FloatFormat format;
  const char *name;      ///< PTX spelling: "e4m3", "ue8m0", "bf16"
  const char *typeName;  ///< MLIR spelling: "f8E4M3FN", "bf16"
  unsigned bits;         ///< width of a code, sign included
  unsigned exponentBits; ///< 8 for E8M0, which consists of an exponent only
  unsigned mantissaBits; ///< stored bits, without the hidden bit
  int bias;
  int emax;           ///< exponent of the largest finite value
  uint32_t maxCode;   ///< code of the largest finite value
  float maxFinite;    ///< its value
  float minSubnormal; ///< smallest positive value
  bool hasSign;
  bool hasInfinity;
  bool hasNaN;
  /// Result of encode() for NaN. Formats without NaN use their largest value,
  /// as cvt.rn.satfinite does.
  uint32_t nanCode;
};

const FloatFormatInfo &getInfo(FloatFormat format);

//===----------------------------------------------------------------------===//
// Bit patterns
//===----------------------------------------------------------------------===//

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

inline constexpr uint32_t kF32CanonicalNaN = 0x7FFFFFFFu;
inline constexpr uint32_t kF16CanonicalNaN = 0x7FFFu;
inline constexpr uint32_t kBF16CanonicalNaN = 0x7FFFu;
inline constexpr uint8_t kE8M0NaN = 0xFF;

//===----------------------------------------------------------------------===//
// Decoding and encoding
//===----------------------------------------------------------------------===//

/// Returns the exact value of `code`. Ignores bits above the format's width,
/// padding bits of a 4- or 6-bit code in a byte, and bit 7 of UE4M3. A NaN
/// becomes 0x7FFFFFFF, except for bf16, which is widened by a shift.
float decode(FloatFormat format, uint32_t code);

/// Returns the values of all 256 codes of a format with at most 8 bits.
const std::array<float, 256> &decodeTable(FloatFormat format);

/// Rounds to nearest, ties to even, and keeps subnormals.
/// - E4M3, E5M2, E3M2, E2M3, E2M1: cvt.rn.satfinite. Values beyond the range
///   and infinities become the largest finite value of their sign, NaN becomes
///   `nanCode`, and the sign of zero is kept.
/// - UE4M3: the same on the absolute value.
/// - bf16, f16: IEEE 754 with infinities; NaN becomes 0x7FFF.
/// - E8M0 has no nearest rounding in hardware: uses encodeE8M0Up.
uint32_t encode(FloatFormat format, float value);

/// Encodes a double with a single rounding, which is upwards for E8M0.
uint32_t encodeF64(FloatFormat format, double value);

/// Returns the bits of the binary32 nearest to `value` (ties to even), with
/// infinities. NaN becomes 0x7FFFFFFF.
uint32_t encodeF32Bits(double value);
inline float roundToF32(double value) {
  return floatFromBits(encodeF32Bits(value));
}

/// Implement cvt.rp.satfinite.ue8m0 and cvt.rz.satfinite.ue8m0. The sign is
/// dropped and NaN becomes 0xFF. Infinities and values that round past 2^127
/// become 0xFE, or 0xFF without `saturate` (no .satfinite).
uint8_t encodeE8M0Up(float value, bool saturate = true);
uint8_t encodeE8M0Down(float value, bool saturate = true);

/// MXINT8: the value is i / 64. Encoding rounds to nearest even and saturates
/// to -127..127; NaN becomes 0, as in cvt to integers. Decoding accepts -128.
int8_t encodeInt8(float value);
float decodeInt8(int8_t code);

/// Returns the exact double of an f32, subnormals included; NaN stays NaN.
double widenF32(float value);

} // namespace mx

#endif // MX_SUPPORT_FLOATFORMATS_H
