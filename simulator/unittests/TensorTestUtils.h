//===- TensorTestUtils.h - Utilities of tensor tests ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoders and value functions for tests. They are written from the
// specifications without code of the simulator, so that they can verify the
// simulator.
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_SIMULATOR_TENSORTESTUTILS_H
#define MX_UNITTESTS_SIMULATOR_TENSORTESTUTILS_H

#include "mxsim/tensor/Tcgen05.h"
#include "mxsim/tensor/Tma.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace mx::sim::test {

/// Encodes a matrix descriptor (PTX ISA table 40) with `layout` in bits 61-63.
inline uint64_t smemDesc(uint64_t start, uint64_t lbo, uint64_t sbo,
                         uint64_t layout, uint64_t base = 0) {
  return (start >> 4) | (lbo >> 4) << 16 | (sbo >> 4) << 32 |
         uint64_t{1} << 46 | base << 49 | layout << 61;
}

/// Returns the value of a code with a sign, `e` exponent bits and `m` mantissa
/// bits, which is (-1)^s * 2^(E - bias) * 1.M, or (-1)^s * 2^(1 - bias) * 0.M
/// for subnormals. With `nanAtTop`, a code of all ones is NaN, as in E4M3; with
/// `ieee`, the largest exponent encodes infinity and NaN, as in E5M2.
inline double floatValue(unsigned code, int e, int m, int bias, bool ieee,
                         bool nanAtTop) {
  int exponent = code >> m & ((1 << e) - 1);
  int mantissa = code & ((1 << m) - 1);
  double sign = code >> (e + m) & 1 ? -1 : 1;
  int top = (1 << e) - 1;
  if (ieee && exponent == top)
    return mantissa ? std::nan("") : sign * INFINITY;
  if (nanAtTop && exponent == top && mantissa == (1 << m) - 1)
    return std::nan("");
  double fraction = std::ldexp(mantissa, -m);
  return exponent ? sign * std::ldexp(1 + fraction, exponent - bias)
                  : sign * std::ldexp(fraction, 1 - bias);
}
inline double e4m3(unsigned c) { return floatValue(c & 255, 4, 3, 7, 0, 1); }
inline double e5m2(unsigned c) { return floatValue(c & 255, 5, 2, 15, 1, 0); }
inline double e2m3(unsigned c) { return floatValue(c & 63, 2, 3, 1, 0, 0); }
inline double e3m2(unsigned c) { return floatValue(c & 63, 3, 2, 3, 0, 0); }
inline double e2m1(unsigned c) { return floatValue(c & 15, 2, 1, 1, 0, 0); }
inline double ue4m3(unsigned c) { return floatValue(c & 127, 4, 3, 7, 0, 1); }
inline double f16(unsigned c) { return floatValue(c & 65535, 5, 10, 15, 1, 0); }
inline double e8m0(unsigned c) {
  return c == 255 ? std::nan("") : std::ldexp(1.0, static_cast<int>(c) - 127);
}
inline double bf16(unsigned c) {
  return floatValue(c & 65535, 8, 7, 127, true, false);
}
inline float asFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline uint32_t asBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
inline double tf32(unsigned c) { return asFloat(c & ~0x1FFFu); }
inline double s8(unsigned c) { return static_cast<int8_t>(c); }
inline double s4(unsigned c) { return c & 8 ? int(c & 15) - 16 : int(c & 15); }

/// Element type of mma.sync and wgmma, with its name in PTX.
struct WarpType {
  const char *name;
  unsigned bits;
  double (*value)(unsigned);
};
inline constexpr WarpType tF16{"f16", 16, f16}, tBF16{"bf16", 16, bf16},
    tTF32{"tf32", 32, tf32}, tE4M3{"e4m3", 8, e4m3}, tS8{"s8", 8, s8},
    tS4{"s4", 4, s4};

/// Restricts random f16 values to `count` exponents from `lowest` on, so that
/// their sums do not overflow.
struct HalfRange {
  unsigned lowest, count;
};

/// Returns a random code of a finite number.
inline uint32_t finiteCode(std::mt19937 &random, unsigned bits,
                           double (*value)(unsigned), HalfRange half) {
  if (bits == 32)
    return asBits(std::normal_distribution<float>()(random));
  if (value == bf16)
    return asBits(std::normal_distribution<float>()(random)) >> 16;
  for (;;) {
    uint32_t code = random() & ((1u << bits) - 1);
    if (value == f16)
      code = (code & 0x83FF) | (half.lowest + random() % half.count) << 10;
    if (std::isfinite(value(code)))
      return code;
  }
}

/// Fixed-point number that represents every sum of the tests exactly, as an
/// integer times 2^lowest. The integer consists of little-endian 32-bit digits
/// in two's complement.
class BigFixed {
public:
  static constexpr int lowest = -700, digits = 48;

  void add(double value) {
    if (value == 0)
      return;
    int exponent;
    double fraction = std::frexp(std::fabs(value), &exponent);
    // Adding one bit at a time is slow but obviously correct.
    BigFixed term;
    for (int i = 1; i <= 53 && fraction != 0; ++i) {
      fraction *= 2;
      if (fraction >= 1) {
        int position = exponent - i - lowest;
        term.words[position / 32] |= 1u << position % 32;
        fraction -= 1;
      }
    }
    if (value < 0)
      term.negate();
    uint64_t carry = 0;
    for (int i = 0; i < digits; ++i) {
      carry += uint64_t{words[i]} + term.words[i];
      words[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }

  /// Rounds toward zero to at most `keep` significant bits, with no bits below
  /// 2^least. Sets `exact` to whether no bits are lost.
  double truncate(int keep, int least, bool *exact = nullptr) const {
    BigFixed magnitude = *this;
    bool negative = words[digits - 1] >> 31;
    if (negative)
      magnitude.negate();
    int top = digits * 32 - 1;
    while (top >= 0 && !magnitude.bit(top))
      --top;
    double result = 0;
    int bottom = std::max(top - keep + 1, least - lowest);
    bool lost = false;
    for (int i = 0; i <= top; ++i) {
      if (!magnitude.bit(i))
        continue;
      if (i >= bottom)
        result += std::ldexp(1.0, i + lowest);
      else
        lost = true;
    }
    if (exact)
      *exact = !lost;
    return negative ? -result : result;
  }

private:
  uint32_t words[digits] = {};
  bool bit(int i) const { return words[i / 32] >> i % 32 & 1; }
  void negate() {
    uint64_t carry = 1;
    for (int i = 0; i < digits; ++i) {
      carry += static_cast<uint32_t>(~words[i]);
      words[i] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
};

using Factors = std::pair<double, double>;

/// Returns a sum of products as wgmma adds E4M3 numbers: terms are truncated 13
/// bits below the largest exponent, and the result has 13 fraction bits. A
/// subnormal number has the exponent of the smallest normal number.
inline float sumOfE4M3(double accumulator,
                       const std::vector<Factors> &factors) {
  auto exponentOf = [](double value, int least) {
    return std::max(std::ilogb(value), least);
  };
  std::vector<double> terms{accumulator};
  int largest = exponentOf(accumulator, -126);
  for (auto [x, y] : factors) {
    terms.push_back(x * y);
    if (x * y != 0)
      largest = std::max(largest, exponentOf(x, -6) + exponentOf(y, -6));
  }
  BigFixed sum;
  for (double term : terms)
    sum.add(
        std::ldexp(std::trunc(std::ldexp(term, 13 - largest)), largest - 13));
  return static_cast<float>(sum.truncate(14, -149));
}

/// CTA with a pattern in shared memory and all of its tensor memory allocated.
struct TestCta {
  std::vector<uint8_t> shared;
  TensorMemory tensor;
  CtaView view;

  explicit TestCta(uint32_t bytes = 200 << 10) : shared(bytes, 0xCD) {
    view.shared = {shared.data(), bytes, nullptr};
    view.tensor = &tensor;
    view.owner = 7;
    (void)tensor.allocate(7, 512);
  }
  void set(unsigned lane, unsigned column, uint32_t value) {
    tensor.row(lane)[column] = value;
    tensor.define(lane, column, 1);
  }
  void setByte(unsigned lane, unsigned column, unsigned byte, uint8_t value) {
    uint32_t &cell = tensor.row(lane)[column];
    cell = (cell & ~(0xFFu << 8 * byte)) | uint32_t{value} << 8 * byte;
    tensor.define(lane, column, 1);
  }
  /// Sets `count` bits of one cell. Bit `position` is counted from `column`.
  void setBits(unsigned lane, unsigned column, unsigned position,
               unsigned count, uint32_t value) {
    column += position / 32;
    position %= 32;
    uint32_t mask = (count == 32 ? ~0u : (1u << count) - 1) << position;
    uint32_t &cell = tensor.row(lane)[column];
    cell = (cell & ~mask) | (value << position & mask);
    tensor.define(lane, column, 1);
  }
};

class FlatMemory : public GlobalAccess {
public:
  static constexpr uint64_t base = 0x10000;
  std::vector<uint8_t> bytes;
  explicit FlatMemory(size_t size) : bytes(size) {}
  uint8_t *translate(uint64_t address, uint64_t size, bool) override {
    if (address < base || address - base + size > bytes.size())
      return nullptr;
    return &bytes[address - base];
  }
};

/// Returns a map of an `outer` x `inner` byte matrix with row pitch `pitch`.
inline TensorMapDesc matrix(uint64_t inner, uint64_t outer, uint64_t pitch,
                            uint32_t boxInner, uint32_t boxOuter) {
  TensorMapDesc map;
  map.globalAddress = FlatMemory::base;
  map.rank = 2;
  map.dims = {inner, outer};
  map.strides = {pitch};
  map.box = {boxInner, boxOuter};
  return map;
}

} // namespace mx::sim::test

#endif // MX_UNITTESTS_SIMULATOR_TENSORTESTUTILS_H
