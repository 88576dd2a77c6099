//===- NumberFormats.cpp - Narrow floating-point formats ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decoders use the formulas of the specifications. The encoders divide a
// value by the spacing of its binade and round the quotient. The division is
// exact in a double.
//===----------------------------------------------------------------------===//

#include "mxsim/tensor/NumberFormats.h"

#include <array>
#include <cmath>

using namespace mx::sim;

namespace {

constexpr FloatFormatInfo kInfos[] = {
    // bits, mantissa, bias, maxExponent, maxCode, nanCode, sign, infinity
    /*E4M3*/ {8, 3, 7, 8, 0x7E, 0x7F, true, false},
    /*E5M2*/ {8, 2, 15, 15, 0x7B, 0x7F, true, false},
    /*E3M2*/ {6, 2, 3, 4, 0x1F, 0x1F, true, false},
    /*E2M3*/ {6, 3, 1, 2, 0x1F, 0x1F, true, false},
    /*E2M1*/ {4, 1, 1, 2, 0x7, 0x7, true, false},
    /*E8M0*/ {8, 0, 127, 127, 0xFE, 0xFF, false, false},
    /*UE4M3*/ {8, 3, 7, 8, 0x7E, 0x7F, false, false},
    /*BF16*/ {16, 7, 127, 127, 0x7F7F, kBF16CanonicalNaN, true, true},
    /*F16*/ {16, 10, 15, 15, 0x7BFF, kF16CanonicalNaN, true, true},
};
constexpr unsigned kByteFormats = 7;

/// Returns 2^exponent; requires a normal double.
double powerOfTwo(int exponent) {
  return doubleFromBits(uint64_t(1023 + exponent) << 52);
}

/// Returns the exponent of the binade of `magnitude`; -1023 for subnormals.
int exponentOf(double magnitude) { return int(bitsOf(magnitude) >> 52) - 1023; }

/// Decodes (-1)^sign * mantissa * 2^exponent. The code must be finite.
float decodeFinite(const FloatFormatInfo &info, uint32_t magnitude,
                   bool isNegative) {
  uint32_t field = magnitude >> info.mantissaBits;
  uint32_t mantissa = magnitude & ((1u << info.mantissaBits) - 1);
  if (field)
    mantissa += 1u << info.mantissaBits;
  else
    field = 1;
  double value = double(mantissa) *
                 powerOfTwo(int(field) - info.bias - int(info.mantissaBits));
  return float(isNegative ? -value : value);
}

float decodeE8M0(uint32_t code) {
  // 2^-127 is subnormal in binary32.
  return floatFromBits(code == 0xFF ? kF32CanonicalNaN
                       : code == 0  ? 0x00400000u
                                    : code << 23);
}

float decodeByFormula(FloatFormat format, uint32_t code) {
  if (format == FloatFormat::E8M0)
    return decodeE8M0(code & 0xFF);
  const FloatFormatInfo &info = getInfo(format);
  uint32_t signBit =
      format == FloatFormat::UE4M3 ? 0x80 : 1u << (info.bits - 1);
  uint32_t magnitude = code & (signBit - 1);
  bool isNegative = info.hasSign && (code & signBit);
  if (magnitude <= info.maxCode)
    return decodeFinite(info, magnitude, isNegative);
  bool hasInfinity = info.overflowsToInfinity || format == FloatFormat::E5M2;
  if (hasInfinity && magnitude == info.maxCode + 1)
    return floatFromBits(isNegative ? 0xFF800000u : 0x7F800000u);
  return floatFromBits(kF32CanonicalNaN);
}

using ByteTables = std::array<std::array<float, 256>, kByteFormats>;

ByteTables makeByteTables() {
  ByteTables tables{};
  for (unsigned format = 0; format < kByteFormats; ++format)
    for (uint32_t code = 0; code < 256; ++code)
      tables[format][code] = decodeByFormula(FloatFormat(format), code);
  return tables;
}

/// Encodes a magnitude other than NaN as cvt.{rp,rz}.ue8m0 does.
uint8_t encodeScale(double magnitude, bool up, bool saturate) {
  uint8_t overflow = saturate ? 0xFE : 0xFF;
  if (std::isinf(magnitude))
    return overflow;
  int exponent = exponentOf(magnitude);
  bool isPower = (bitsOf(magnitude) & ((uint64_t(1) << 52) - 1)) == 0;
  int code = exponent + 127 + (up && !isPower);
  // There is no code for zero, so smaller magnitudes get the smallest code.
  return code < 0 ? 0 : code > 0xFE ? overflow : uint8_t(code);
}

} // namespace

const FloatFormatInfo &mx::sim::getInfo(FloatFormat format) {
  return kInfos[unsigned(format)];
}

float mx::sim::decode(FloatFormat format, uint32_t code) {
  static const ByteTables tables = makeByteTables();
  if (format == FloatFormat::BF16)
    return floatFromBits(code << 16);
  return unsigned(format) < kByteFormats ? tables[unsigned(format)][code & 0xFF]
                                         : decodeByFormula(format, code);
}

uint32_t mx::sim::encodeF64(FloatFormat format, double value) {
  const FloatFormatInfo &info = getInfo(format);
  if (value != value)
    return info.nanCode;
  bool isNegative = bitsOf(value) >> 63;
  double magnitude = isNegative ? -value : value;
  if (format == FloatFormat::E8M0)
    return encodeScale(magnitude, /*up=*/true, /*saturate=*/true);
  uint32_t sign = info.hasSign && isNegative ? 1u << (info.bits - 1) : 0;
  uint32_t limit = info.maxCode + info.overflowsToInfinity;
  int exponent = exponentOf(magnitude), least = 1 - info.bias;
  if (exponent > info.maxExponent)
    return sign | limit;
  if (exponent < least)
    exponent = least;
  double units = magnitude * powerOfTwo(int(info.mantissaBits) - exponent);
  uint32_t whole = uint32_t(units);
  double rest = units - whole;
  if (rest > 0.5 || (rest == 0.5 && (whole & 1)))
    ++whole;
  // If `whole` is rounded up to the next binade, the addition carries into the
  // exponent.
  uint32_t code = whole + (uint32_t(exponent - least) << info.mantissaBits);
  return sign | (code > limit ? limit : code);
}

uint32_t mx::sim::encode(FloatFormat format, float value) {
  return format == FloatFormat::E8M0 ? encodeF64(format, widenF32(value))
                                     : encodeNearest(getInfo(format), value);
}

uint8_t mx::sim::encodeE8M0Up(float value, bool saturate) {
  return value != value
             ? 0xFF
             : encodeScale(std::fabs(widenF32(value)), true, saturate);
}

uint8_t mx::sim::encodeE8M0Down(float value, bool saturate) {
  return value != value
             ? 0xFF
             : encodeScale(std::fabs(widenF32(value)), false, saturate);
}

double mx::sim::widenF32(float value) {
  uint32_t bits = bitsOf(value), field = bits >> 23 & 0xFF;
  uint64_t sign = uint64_t(bits >> 31) << 63;
  if (field == 0xFF)
    return doubleFromBits(sign | uint64_t(0x7FF) << 52 |
                          uint64_t(bits & 0x7FFFFF) << 29);
  if (field)
    return double(value);
  double magnitude = double(bits & 0x7FFFFF) * 0x1p-149;
  return sign ? -magnitude : magnitude;
}
