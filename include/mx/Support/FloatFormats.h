//===- FloatFormats.h - narrow number formats on the host -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The one place that knows how E4M3, E5M2, E3M2, E2M3, E2M1, E8M0, UE4M3,
// bf16, f16 and MXINT8 encode numbers and how they round. Folding, the
// reference path, the simulator and the tests all use it. Everything works on
// integers, so neither the processor's flush-to-zero mode nor the compiler's
// floating-point options can change a bit.
//
// Sources: OCP Microscaling Formats (MX) v1.0, section 5.3 (element formats)
// and 5.4.1 (E8M0); PTX ISA, section "Data Movement and Conversion: cvt".
//
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

/// What there is to know about one format.
struct FloatFormatInfo {
  FloatFormat format;
  const char *name;      ///< PTX's spelling: "e4m3", "ue8m0", "bf16"
  const char *typeName;  ///< MLIR's spelling: "f8E4M3FN", "bf16"
  unsigned bits;         ///< width of a code, sign included
  unsigned exponentBits; ///< 8 for E8M0, which is all exponent
  unsigned mantissaBits; ///< stored bits, without the hidden one
  int bias;
  int emax;           ///< exponent of the largest finite value
  uint32_t maxCode;   ///< code of the largest finite value
  float maxFinite;    ///< its value
  float minSubnormal; ///< smallest positive value
  bool hasSign;
  bool hasInfinity;
  bool hasNaN;
  /// What encode() gives for NaN. Formats without NaN give their largest
  /// value, as cvt.rn.satfinite does.
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

/// The exact value of `code`. Bits above the format's width are ignored, so
/// are the padding bits of a 4- or 6-bit code in a byte and UE4M3's bit 7. A
/// NaN becomes 0x7FFFFFFF, except that bf16, which widens by a shift, keeps its
/// bits.
float decode(FloatFormat format, uint32_t code);

/// The values of all 256 codes of a byte, for formats of at most eight bits.
const std::array<float, 256> &decodeTable(FloatFormat format);

/// Rounds to nearest, ties to even, subnormals kept.
///  - E4M3, E5M2, E3M2, E2M3, E2M1: cvt.rn.satfinite. Values beyond the range
///    and infinities become the largest finite value of their sign, NaN becomes
///    `nanCode`, and the sign of zero is kept.
///  - UE4M3: the same on the absolute value.
///  - bf16, f16: IEEE 754 with infinities; NaN becomes 0x7FFF.
///  - E8M0 has no nearest rounding in hardware: encodeE8M0Up is used.
uint32_t encode(FloatFormat format, float value);

/// The same from a double, with one rounding. For E8M0 the rounding is upwards
/// from the exact value.
uint32_t encodeF64(FloatFormat format, double value);

/// The binary32 nearest to `value` (ties to even), with infinities; NaN
/// becomes 0x7FFFFFFF.
uint32_t encodeF32Bits(double value);
inline float roundToF32(double value) {
  return floatFromBits(encodeF32Bits(value));
}

/// cvt.rp.satfinite.ue8m0 and cvt.rz.satfinite.ue8m0: the sign is dropped, NaN
/// gives 0xFF, an infinity (or rounding past 2^127) gives 0xFE. Without
/// `saturate` (no .satfinite) the latter gives 0xFF.
uint8_t encodeE8M0Up(float value, bool saturate = true);
uint8_t encodeE8M0Down(float value, bool saturate = true);

/// MXINT8: the value is i / 64. Encoding rounds to nearest even and saturates
/// to -127..127; NaN gives 0, as float-to-integer cvt does. Decoding takes -128
/// too.
int8_t encodeInt8(float value);
float decodeInt8(int8_t code);

/// The exact value of `value` as a double, subnormals included; NaN stays NaN.
double widenF32(float value);

} // namespace mx

#endif // MX_SUPPORT_FLOATFORMATS_H
