//===- FloatFormats.cpp - Narrow number formats on the host ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All conversions use the same table and rounding function. They split a finite
// value into significand * 2^exponent and round it to the mantissa and exponent
// range of the target format.
//===----------------------------------------------------------------------===//

#include "mx/Support/FloatFormats.h"
#include <cassert>

using namespace mx;

namespace {

constexpr FloatFormatInfo kInfos[kNumFloatFormats] = {
    // format, name, typeName, bits, exponent, mantissa, bias, emax, maxCode,
    // maxFinite, minSubnormal, sign, infinity, NaN, nanCode
    {FloatFormat::E4M3, "e4m3", "f8E4M3FN", 8, 4, 3, 7, 8, 0x7E, 448.0f,
     0x1p-9f, true, false, true, 0x7F},
    {FloatFormat::E5M2, "e5m2", "f8E5M2", 8, 5, 2, 15, 15, 0x7B, 57344.0f,
     0x1p-16f, true, true, true, 0x7F},
    {FloatFormat::E3M2, "e3m2", "f6E3M2FN", 6, 3, 2, 3, 4, 0x1F, 28.0f, 0x1p-4f,
     true, false, false, 0x1F},
    {FloatFormat::E2M3, "e2m3", "f6E2M3FN", 6, 2, 3, 1, 2, 0x1F, 7.5f, 0x1p-3f,
     true, false, false, 0x1F},
    {FloatFormat::E2M1, "e2m1", "f4E2M1FN", 4, 2, 1, 1, 2, 0x7, 6.0f, 0x1p-1f,
     true, false, false, 0x7},
    {FloatFormat::E8M0, "ue8m0", "f8E8M0FNU", 8, 8, 0, 127, 127, 0xFE, 0x1p127f,
     0x1p-127f, false, false, true, 0xFF},
    // The scales of NVFP4 have element type f8E4M3FN in MLIR.
    {FloatFormat::UE4M3, "ue4m3", "f8E4M3FN", 8, 4, 3, 7, 8, 0x7E, 448.0f,
     0x1p-9f, false, false, true, 0x7F},
    {FloatFormat::BF16, "bf16", "bf16", 16, 8, 7, 127, 127, 0x7F7F, 0x1.FEp127f,
     0x1p-133f, true, true, true, kBF16CanonicalNaN},
    {FloatFormat::F16, "f16", "f16", 16, 5, 10, 15, 15, 0x7BFF, 65504.0f,
     0x1p-24f, true, true, true, kF16CanonicalNaN},
};

/// Unpacked number: (-1)^negative * significand * 2^exponent.
struct Unpacked {
  enum Kind : uint8_t { Finite, Infinite, NaN } kind;
  bool negative;
  int exponent;
  uint64_t significand;
};

/// Unpacks an IEEE number with these field widths.
Unpacked unpack(uint64_t bits, unsigned exponentBits, unsigned mantissaBits) {
  uint64_t mantissa = bits & ((uint64_t(1) << mantissaBits) - 1);
  unsigned allOnes = (1u << exponentBits) - 1;
  unsigned field = unsigned(bits >> mantissaBits) & allOnes;
  bool negative = (bits >> (mantissaBits + exponentBits)) & 1;
  if (field == allOnes)
    return {mantissa ? Unpacked::NaN : Unpacked::Infinite, negative, 0, 0};
  int bias = int(allOnes >> 1);
  if (field == 0) // Subnormals use the smallest normal exponent.
    field = 1;
  else
    mantissa |= uint64_t(1) << mantissaBits;
  return {Unpacked::Finite, negative, int(field) - bias - int(mantissaBits),
          mantissa};
}

Unpacked unpack(float value) { return unpack(bitsOf(value), 8, 23); }
Unpacked unpack(double value) { return unpack(bitsOf(value), 11, 52); }

/// Returns the number of bits up to the highest set bit. `value` must not be 0.
unsigned bitLength(uint64_t value) {
  return 64 - unsigned(__builtin_clzll(value));
}

/// Rounds to nearest even for this mantissa and bias, and returns the bits
/// without the sign. A carry increments the exponent, which is unlimited.
uint64_t roundMagnitude(const Unpacked &x, unsigned mantissaBits, int bias) {
  if (x.significand == 0)
    return 0;
  int minExponent = 1 - bias;
  int exponent = x.exponent + int(bitLength(x.significand)) - 1;
  if (exponent < minExponent)
    exponent = minExponent;
  int shift = exponent - int(mantissaBits) - x.exponent;
  uint64_t kept;
  if (shift <= 0) {
    kept = x.significand << -shift;
  } else if (shift > 64) {
    kept = 0; // Less than half of the smallest subnormal.
  } else {
    kept = shift == 64 ? 0 : x.significand >> shift;
    uint64_t half = uint64_t(1) << (shift - 1);
    uint64_t rest = x.significand & (half | (half - 1));
    // Do not branch, because random data mispredicts half of the branches.
    bool odd = kept & 1;
    kept += (rest > half) | ((rest == half) & odd);
  }
  return kept + (uint64_t(exponent - minExponent) << mantissaBits);
}

/// Rounds to IEEE binary32.
uint32_t roundToF32Bits(const Unpacked &x) {
  uint32_t sign = x.negative ? 0x80000000u : 0;
  switch (x.kind) {
  case Unpacked::NaN:
    return kF32CanonicalNaN;
  case Unpacked::Infinite:
    return sign | 0x7F800000u;
  case Unpacked::Finite:
    break;
  }
  uint64_t magnitude = roundMagnitude(x, 23, 127);
  return sign | (magnitude > 0x7F800000u ? 0x7F800000u : uint32_t(magnitude));
}

/// Implements cvt.{rp,rz}.ue8m0 for any source format.
uint8_t roundToE8M0(const Unpacked &x, bool up, bool saturate) {
  uint8_t overflow = saturate ? 0xFE : kE8M0NaN;
  if (x.kind == Unpacked::NaN)
    return kE8M0NaN;
  if (x.kind == Unpacked::Infinite)
    return overflow;
  if (x.significand == 0)
    return 0;
  int length = int(bitLength(x.significand));
  int code = x.exponent + length - 1 + 127;
  bool powerOfTwo = x.significand == uint64_t(1) << (length - 1);
  if (up && !powerOfTwo)
    ++code;
  if (code < 0)
    return 0; // Both roundings end at 2^-127; there is no zero.
  return code > 0xFE ? overflow : uint8_t(code);
}

uint32_t encodeUnpacked(FloatFormat format, const Unpacked &x) {
  if (format == FloatFormat::E8M0)
    return roundToE8M0(x, /*up=*/true, /*saturate=*/true);
  const FloatFormatInfo &info = kInfos[unsigned(format)];
  if (x.kind == Unpacked::NaN)
    return info.nanCode;
  // Only IEEE formats overflow to infinity. E5M2 can represent infinities, but
  // cvt.satfinite does not return them.
  bool ieee = format == FloatFormat::BF16 || format == FloatFormat::F16;
  uint32_t limit = info.maxCode + (ieee ? 1 : 0);
  uint32_t sign = info.hasSign && x.negative ? 1u << (info.bits - 1) : 0;
  if (x.kind == Unpacked::Infinite)
    return sign | limit;
  uint64_t magnitude = roundMagnitude(x, info.mantissaBits, info.bias);
  return sign | (magnitude > limit ? limit : uint32_t(magnitude));
}

float decodeE8M0(uint32_t code) {
  if (code == kE8M0NaN)
    return floatFromBits(kF32CanonicalNaN);
  return floatFromBits(code == 0 ? 0x00400000u : code << 23);
}

/// Decodes a code of any format except E8M0 and bf16.
float decodeSmall(const FloatFormatInfo &info, uint32_t code) {
  uint32_t magnitudeBits = info.exponentBits + info.mantissaBits;
  uint32_t magnitude = code & ((1u << magnitudeBits) - 1);
  uint32_t sign =
      info.hasSign && ((code >> magnitudeBits) & 1) ? 0x80000000u : 0;
  if (magnitude > info.maxCode) {
    bool infinite = info.hasInfinity && magnitude == info.maxCode + 1;
    return floatFromBits(infinite ? sign | 0x7F800000u : kF32CanonicalNaN);
  }
  // All values are zero or normal in binary32, so this is exact.
  uint32_t field = magnitude >> info.mantissaBits;
  uint64_t significand = magnitude & ((1u << info.mantissaBits) - 1);
  if (field == 0)
    field = 1;
  else
    significand |= uint64_t(1) << info.mantissaBits;
  int exponent = int(field) - info.bias - int(info.mantissaBits);
  return floatFromBits(
      roundToF32Bits({Unpacked::Finite, sign != 0, exponent, significand}));
}

using DecodeTables = std::array<std::array<float, 256>, kNumFloatFormats>;

DecodeTables makeDecodeTables() {
  DecodeTables tables{};
  for (const FloatFormatInfo &info : kInfos) {
    if (info.bits > 8)
      continue;
    for (uint32_t code = 0; code < 256; ++code)
      tables[unsigned(info.format)][code] = info.format == FloatFormat::E8M0
                                                ? decodeE8M0(code)
                                                : decodeSmall(info, code);
  }
  return tables;
}

} // namespace

const FloatFormatInfo &mx::getInfo(FloatFormat format) {
  return kInfos[unsigned(format)];
}

const std::array<float, 256> &mx::decodeTable(FloatFormat format) {
  static const DecodeTables tables = makeDecodeTables();
  assert(getInfo(format).bits <= 8 && "16-bit formats have no byte table");
  return tables[unsigned(format)];
}

float mx::decode(FloatFormat format, uint32_t code) {
  switch (format) {
  case FloatFormat::BF16:
    return floatFromBits(code << 16);
  case FloatFormat::F16:
    return decodeSmall(getInfo(format), code);
  default:
    return decodeTable(format)[code & 0xFF];
  }
}

uint32_t mx::encode(FloatFormat format, float value) {
  return encodeUnpacked(format, unpack(value));
}

uint32_t mx::encodeF64(FloatFormat format, double value) {
  return encodeUnpacked(format, unpack(value));
}

uint32_t mx::encodeF32Bits(double value) {
  return roundToF32Bits(unpack(value));
}

uint8_t mx::encodeE8M0Up(float value, bool saturate) {
  return roundToE8M0(unpack(value), /*up=*/true, saturate);
}

uint8_t mx::encodeE8M0Down(float value, bool saturate) {
  return roundToE8M0(unpack(value), /*up=*/false, saturate);
}

int8_t mx::encodeInt8(float value) {
  Unpacked x = unpack(value);
  if (x.kind == Unpacked::NaN)
    return 0;
  int magnitude = 127;
  // Values of at least 2^7 / 64 saturate. For smaller values, shift the
  // significand so that its last bit is 2^-6, and round, which yields the
  // integer nearest to value * 64.
  if (x.kind == Unpacked::Finite &&
      (bitsOf(value) & 0x7FFFFFFFu) < 0x40000000u) {
    int shift = -6 - x.exponent; // At least 17: a significand has 24 bits.
    uint64_t kept = 0;
    if (shift < 64) {
      kept = x.significand >> shift;
      uint64_t half = uint64_t(1) << (shift - 1);
      uint64_t rest = x.significand & (half | (half - 1));
      if (rest > half || (rest == half && (kept & 1)))
        ++kept;
    }
    magnitude = kept > 127 ? 127 : int(kept);
  }
  return int8_t(x.negative ? -magnitude : magnitude);
}

float mx::decodeInt8(int8_t code) {
  int magnitude = code < 0 ? -int(code) : int(code);
  return floatFromBits(
      roundToF32Bits({Unpacked::Finite, code < 0, -6, uint64_t(magnitude)}));
}

double mx::widenF32(float value) {
  Unpacked x = unpack(value);
  uint64_t sign = x.negative ? uint64_t(1) << 63 : 0;
  uint64_t mantissa = bitsOf(value) & 0x7FFFFFu;
  if (x.kind != Unpacked::Finite)
    return doubleFromBits(sign | uint64_t(0x7FF) << 52 | mantissa << 29);
  return doubleFromBits(sign | roundMagnitude(x, 52, 1023));
}
