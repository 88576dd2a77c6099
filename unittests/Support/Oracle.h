//===- Oracle.h - Number formats by exhaustive search -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A second implementation of the number formats that shares no code with the
// library: values are computed with ldexp from the definition of a format, and
// encoding searches for the nearest value. Doubles represent every value and
// every midpoint of adjacent values exactly, so all comparisons are exact.
//===----------------------------------------------------------------------===//
#ifndef MX_UNITTESTS_SUPPORT_ORACLE_H
#define MX_UNITTESTS_SUPPORT_ORACLE_H

#include "mx/Support/FloatFormats.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace mx::test {

/// A signed format with an implicit leading one and subnormals, written from
/// OCP MX v1.0 and IEEE 754.
struct Oracle {
  FloatFormat format;
  int exponentBits, mantissaBits, bias;
  uint32_t finiteCodes; ///< codes 0 .. finiteCodes - 1 are finite
  bool ieee;            ///< overflow becomes infinite
  uint32_t nanCode;
  std::vector<double> values; ///< values of the non-negative finite codes

  Oracle(FloatFormat format, int e, int m, int bias, uint32_t finite, bool ieee,
         uint32_t nan)
      : format(format), exponentBits(e), mantissaBits(m), bias(bias),
        finiteCodes(finite), ieee(ieee), nanCode(nan) {
    for (uint32_t code = 0; code < finite; ++code)
      values.push_back(value(code));
  }

  /// Returns the value of a code as if every exponent were finite.
  double value(uint32_t code) const {
    int field = int(code >> mantissaBits);
    double fraction =
        double(code & ((1u << mantissaBits) - 1)) / double(1u << mantissaBits);
    return field == 0 ? std::ldexp(fraction, 1 - bias)
                      : std::ldexp(1.0 + fraction, field - bias);
  }

  double max() const { return values.back(); }
  unsigned signBit() const { return unsigned(exponentBits + mantissaBits); }

  /// Returns the code of the nearest value, or the even code of a tie. Returns
  /// the code after the last finite code on overflow.
  uint32_t encode(double x) const {
    if (std::isnan(x))
      return nanCode;
    uint32_t sign = std::signbit(x) ? 1u << signBit() : 0;
    double a = std::fabs(x);
    uint32_t above = uint32_t(
        std::lower_bound(values.begin(), values.end(), a) - values.begin());
    uint32_t code = above;
    if (above != 0 && (above == finiteCodes || values[above] != a)) {
      double low = values[above - 1], high = value(above);
      double middle = low + (high - low) / 2; // Exact: neighbors share an ulp.
      code = a < middle || (a == middle && above % 2 == 1) ? above - 1 : above;
    }
    return sign | (ieee ? code : std::min(code, finiteCodes - 1));
  }
};

/// Formats that round to nearest.
inline const std::vector<Oracle> &oracles() {
  static const std::vector<Oracle> all = {
      {FloatFormat::E4M3, 4, 3, 7, 0x7F, false, 0x7F},
      {FloatFormat::E5M2, 5, 2, 15, 0x7C, false, 0x7F},
      {FloatFormat::E3M2, 3, 2, 3, 0x20, false, 0x1F},
      {FloatFormat::E2M3, 2, 3, 1, 0x20, false, 0x1F},
      {FloatFormat::E2M1, 2, 1, 1, 0x8, false, 0x7},
      {FloatFormat::BF16, 8, 7, 127, 0x7F80, true, 0x7FFF},
      {FloatFormat::F16, 5, 10, 15, 0x7C00, true, 0x7FFF},
  };
  return all;
}

inline const Oracle &oracle(FloatFormat format) {
  for (const Oracle &o : oracles())
    if (o.format == format)
      return o;
  return oracles().front();
}

/// Returns 2^(code - 127), the definition of E8M0.
inline double e8m0Value(int code) { return std::ldexp(1.0, code - 127); }

/// Returns patterns that every function must handle: zeros, subnormals, powers
/// of two and their neighbors, infinities, NaNs of all kinds.
inline std::vector<uint32_t> specialBits() {
  std::vector<uint32_t> all;
  for (uint32_t exponent = 0; exponent <= 255; ++exponent)
    for (uint32_t mantissa :
         {0u, 1u, 2u, 0x1FFFFFu, 0x200000u, 0x200001u, 0x3FFFFFu, 0x400000u,
          0x400001u, 0x5FFFFFu, 0x600000u, 0x600001u, 0x6FFFFFu, 0x700000u,
          0x700001u, 0x7E0000u, 0x7FFFFEu, 0x7FFFFFu})
      for (uint32_t sign : {0u, 0x80000000u})
        all.push_back(sign | exponent << 23 | mantissa);
  return all;
}

} // namespace mx::test

#endif // MX_UNITTESTS_SUPPORT_ORACLE_H
