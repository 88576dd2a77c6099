//===- MmaRounding.cpp - exact sums and their rounding --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the hot loops leave to be done element by element: sums whose exponents
// are too far apart for doubles, subnormal and overflowing results.
//===----------------------------------------------------------------------===//

#include "MmaKernels.h"
#include "mx/Support/FloatFormats.h"

#include <cmath>

using namespace mx;
using namespace mx::sim;

namespace {

/// A fixed-point number of 32-bit digits, each kept in 64 bits so that carries
/// wait until the end. Covers every product of two scaled elements: 2^-576 is
/// below the last bit of the smallest, 2^512 above the sum of the largest.
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
    // Three digits take 53 bits at any shift.
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
    // Two digits hold 33 to 64 bits, enough to round to f32 or f16; a double
    // takes 53 of them.
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

  /// Brings all digits but the last into 0 .. 2^32 - 1; true when the number
  /// is negative.
  bool carry() {
    for (int i = 0; i + 1 < numDigits; ++i) {
      int64_t over = digits[i] >> 32;
      digits[i] -= over * (int64_t{1} << 32);
      digits[i + 1] += over;
    }
    return digits[numDigits - 1] < 0;
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
  WideSum sum;
  double special = std::isfinite(c) ? 0.0 : c;
  bool finite = std::isfinite(c);
  for (unsigned i = 0; i < k; ++i) {
    double product = a[i] * b[i];
    if (std::isfinite(product)) {
      sum.add(product);
      continue;
    }
    finite = false;
    special += product;
  }
  if (!finite)
    return {special, false};
  sum.add(c);
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
  // Rounding to odd first makes the second rounding right.
  if (value.inexact)
    x = doubleFromBits(bitsOf(x) | 1);
  auto code = static_cast<uint16_t>(encodeF64(FloatFormat::F16, x));
  return code & 0x7FFF ? code : 0;
}
