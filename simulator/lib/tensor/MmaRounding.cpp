//===- MmaRounding.cpp - Exact sums and their rounding --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slow path for single elements, used for sums with exponents too far apart for
// doubles and for subnormal or overflowing results.
//===----------------------------------------------------------------------===//

#include "MmaKernels.h"
#include "mxsim/tensor/NumberFormats.h"

#include <algorithm>
#include <cmath>

using namespace mx;
using namespace mx::sim;

namespace {

/// Fixed-point number with 32-bit digits, each stored in 64 bits to defer
/// carries. The digits cover every product of two scaled elements, because
/// 2^-576 is below the last bit of the smallest product, and 2^512 is above the
/// sum of the largest products.
class WideSum {
public:
  void add(double value) {
    int exponent;
    double fraction = std::frexp(value, &exponent);
    if (fraction == 0)
      return;
    auto significand = static_cast<int64_t>(std::ldexp(fraction, 53));
    bool negative = significand < 0;
    uint64_t magnitude = negative ? -static_cast<uint64_t>(significand)
                                  : static_cast<uint64_t>(significand);
    unsigned position = static_cast<unsigned>(exponent - 53 - lowest);
    unsigned digit = position / 32, shift = position % 32;
    // Three digits cover 53 bits at any shift.
    uint64_t low = magnitude << shift;
    uint64_t high = shift ? magnitude >> (64 - shift) : 0;
    int64_t parts[3] = {static_cast<int64_t>(low & 0xFFFFFFFFu),
                        static_cast<int64_t>(low >> 32),
                        static_cast<int64_t>(high)};
    for (int i = 0; i < 3; ++i)
      digits[digit + i] += negative ? -parts[i] : parts[i];
  }

  Truncated result() {
    bool negative = carry();
    if (negative) {
      for (int64_t &digit : digits)
        digit = -digit;
      carry();
    }
    int top = numDigits - 1;
    while (top >= 0 && digits[top] == 0)
      --top;
    Truncated out;
    if (top < 0)
      return out;
    // Two digits contain 33 to 64 significant bits, enough to round to f32 or
    // f16. A double keeps 53 of these bits.
    int next = top - 1;
    auto window = static_cast<uint64_t>(digits[top]);
    if (next >= 0)
      window = window << 32 | static_cast<uint64_t>(digits[next--]);
    int exponent = lowest + 32 * (next + 1);
    for (; window >> 53 != 0; ++exponent) {
      out.inexact |= window & 1;
      window >>= 1;
    }
    for (; next >= 0 && !out.inexact; --next)
      out.inexact = digits[next] != 0;
    out.value = std::ldexp(static_cast<double>(window), exponent);
    if (negative)
      out.value = -out.value;
    return out;
  }

private:
  static constexpr int lowest = -640;
  static constexpr int numDigits = 40;
  int64_t digits[numDigits] = {};

  /// Normalizes all digits except the last to [0, 2^32). Returns true if the
  /// number is negative.
  bool carry() {
    for (int i = 0; i + 1 < numDigits; ++i) {
      int64_t over = digits[i] >> 32;
      digits[i] -= over * (int64_t{1} << 32);
      digits[i + 1] += over;
    }
    return digits[numDigits - 1] < 0;
  }
};

/// Exact sum of terms that fit into one 128-bit window. Covers most sums that a
/// double cannot represent.
class WindowSum {
public:
  /// Returns false if the window is too small for `count` terms. Ignores zeros.
  bool fits(const double *terms, unsigned count) {
    int highest = -5000;
    lowest = 5000;
    for (unsigned i = 0; i < count; ++i) {
      uint64_t bits = bitsOf(terms[i]) & 0x7FFFFFFFFFFFFFFF;
      if (bits == 0)
        continue;
      int exponent = static_cast<int>(bits >> 52);
      if (exponent == 0)
        return false; // smaller than any product
      highest = std::max(highest, exponent);
      lowest = std::min(lowest, exponent - 52 + trailingZeros(bits));
    }
    // Reserve a sign bit and the carry bits of a sum of up to 2^9 terms.
    return highest - lowest < 128 - 1 - 9 - 1;
  }

  void add(double term) {
    uint64_t bits = bitsOf(term) & 0x7FFFFFFFFFFFFFFF;
    if (bits == 0)
      return;
    int zeros = trailingZeros(bits);
    int exponent = static_cast<int>(bits >> 52) - 52 + zeros;
    auto magnitude = static_cast<Integer>(significand(bits) >> zeros)
                     << (exponent - lowest);
    sum += std::signbit(term) ? -magnitude : magnitude;
  }

  Truncated result() const {
    Truncated out;
    if (sum == 0)
      return out;
    auto magnitude = static_cast<Unsigned>(sum < 0 ? -sum : sum);
    auto top = static_cast<uint64_t>(magnitude >> 64);
    int width = top ? 128 - __builtin_clzll(top)
                    : 64 - __builtin_clzll(static_cast<uint64_t>(magnitude));
    int drop = std::max(width - 53, 0);
    auto kept = static_cast<uint64_t>(magnitude >> drop);
    out.inexact = (static_cast<Unsigned>(kept) << drop) != magnitude;
    out.value = std::ldexp(static_cast<double>(kept), drop + lowest - 1023);
    if (sum < 0)
      out.value = -out.value;
    return out;
  }

private:
  __extension__ typedef __int128 Integer;
  __extension__ typedef unsigned __int128 Unsigned;
  int lowest = 0; ///< biased exponent of the last bit of the window
  Integer sum = 0;

  static uint64_t significand(uint64_t bits) {
    return (bits & 0xFFFFFFFFFFFFF) | uint64_t{1} << 52;
  }
  static int trailingZeros(uint64_t bits) {
    return __builtin_ctzll(significand(bits));
  }
};

} // namespace

Truncated mx::sim::addExact(double sum, double c) {
  double high = sum + c;
  if (!std::isfinite(high))
    return {high, false};
  double part = high - sum;
  double low = (sum - (high - part)) + (c - part);
  if (low != 0 && std::signbit(low) != std::signbit(high))
    high = doubleFromBits(bitsOf(high) - 1);
  return {high, low != 0};
}

Truncated mx::sim::dotExact(const double *a, const double *b, unsigned k,
                            double c) {
  constexpr unsigned most = 256;
  double terms[most + 1];
  double special = 0;
  bool finite = true;
  for (unsigned i = 0; i <= k; ++i) {
    double term = i < k ? a[i] * b[i] : c;
    terms[i] = term;
    if (std::isfinite(term))
      continue;
    finite = false;
    special += term;
  }
  if (!finite)
    return {special, false};
  WindowSum window;
  if (window.fits(terms, k + 1)) {
    for (unsigned i = 0; i <= k; ++i)
      window.add(terms[i]);
    return window.result();
  }
  WideSum sum;
  for (unsigned i = 0; i <= k; ++i)
    sum.add(terms[i]);
  return sum.result();
}

uint32_t mx::sim::truncateToF32Bits(const Truncated &value) {
  double x = value.value;
  if (std::isnan(x))
    return kF32CanonicalNaN;
  uint32_t sign = std::signbit(x) ? 0x80000000u : 0;
  double magnitude = std::fabs(x);
  if (magnitude >= 0x1p128)
    return sign | 0x7F800000u;
  if (magnitude < 0x1p-126) { // units of the smallest subnormal
    auto units = static_cast<uint32_t>(std::ldexp(magnitude, 149));
    return units ? sign | units : 0;
  }
  uint64_t bits = bitsOf(magnitude);
  auto exponent = static_cast<uint32_t>(bits >> 52) - 1023 + 127;
  return sign | exponent << 23 | (static_cast<uint32_t>(bits >> 29) & 0x7FFFFF);
}

uint16_t mx::sim::roundToF16Bits(const Truncated &value) {
  double x = value.value;
  if (std::isnan(x))
    return static_cast<uint16_t>(kF16CanonicalNaN);
  // Rounding to odd first makes the second rounding correct.
  if (value.inexact)
    x = doubleFromBits(bitsOf(x) | 1);
  auto code = static_cast<uint16_t>(encodeF64(FloatFormat::F16, x));
  return code & 0x7FFF ? code : 0;
}
