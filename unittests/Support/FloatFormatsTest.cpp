//===- FloatFormatsTest.cpp - Definitions and modes of number formats -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compares definitions, and roundings of doubles, with the search in Oracle.h.
// test/Support/number-formats.py decodes every code and encodes around every
// rounding boundary, and SimulatorAgreementTest.cpp does so with doubles.
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "gtest/gtest.h"
#include <cfloat>
#include <random>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

using namespace mx;
using namespace mx::test;

namespace {

double exact(uint32_t bits) { return double(floatFromBits(bits)); }

/// Expects equal codes, and adds the input to the message. Fast if they are
/// equal.
void expectCode(const char *what, uint32_t bits, uint32_t found,
                uint32_t expected) {
  if (found != expected)
    ADD_FAILURE() << what << " of 0x" << std::hex << bits << ": expected 0x"
                  << expected << ", found 0x" << found;
}

TEST(FloatFormats, InfoAgreesWithDefinitions) {
  for (const Oracle &o : oracles()) {
    const FloatFormatInfo &info = getInfo(o.format);
    SCOPED_TRACE(info.name);
    EXPECT_EQ(info.format, o.format);
    EXPECT_EQ(info.bits, o.signBit() + 1);
    EXPECT_EQ(int(info.exponentBits), o.exponentBits);
    EXPECT_EQ(int(info.mantissaBits), o.mantissaBits);
    EXPECT_EQ(info.bias, o.bias);
    EXPECT_EQ(info.maxCode, o.finiteCodes - 1);
    EXPECT_EQ(double(info.maxFinite), o.max());
    EXPECT_EQ(info.emax, std::ilogb(o.max()));
    EXPECT_EQ(double(info.minSubnormal), o.values[1]);
    EXPECT_EQ(info.nanCode, o.nanCode);
    EXPECT_TRUE(info.hasSign);
  }
  const FloatFormatInfo &e8m0 = getInfo(FloatFormat::E8M0);
  EXPECT_EQ(double(e8m0.maxFinite), e8m0Value(0xFE));
  EXPECT_EQ(double(e8m0.minSubnormal), e8m0Value(0));
  EXPECT_FALSE(e8m0.hasSign);
  EXPECT_EQ(e8m0.nanCode, 0xFFu);
  const FloatFormatInfo &ue4m3 = getInfo(FloatFormat::UE4M3);
  EXPECT_EQ(ue4m3.maxFinite, 448.0f);
  EXPECT_FALSE(ue4m3.hasSign);
  EXPECT_STREQ(ue4m3.name, "ue4m3");
}

TEST(FloatFormats, TablesEqualDecode) {
  for (unsigned f = 0; f < kNumFloatFormats; ++f) {
    auto format = FloatFormat(f);
    if (getInfo(format).bits > 8)
      continue;
    const std::array<float, 256> &table = decodeTable(format);
    for (uint32_t code = 0; code < 256; ++code)
      EXPECT_EQ(bitsOf(table[code]), bitsOf(decode(format, code)));
  }
}

TEST(FloatFormats, DoublesAreRoundedOnce) {
  for (const Oracle &o : oracles()) {
    const char *name = getInfo(o.format).name;
    for (uint32_t code = 0; code < o.finiteCodes; ++code) {
      double low = o.value(code), high = o.value(code + 1);
      double middle = low + (high - low) / 2;
      // Neighbors of the tie, equal to the tie in binary32.
      for (double x : {std::nextafter(middle, 0.0), middle,
                       std::nextafter(middle, HUGE_VAL), low}) {
        expectCode(name, code, encodeF64(o.format, x), o.encode(x));
        expectCode(name, code, encodeF64(o.format, -x), o.encode(-x));
      }
    }
    for (double x : {0.0, DBL_TRUE_MIN, DBL_MIN, DBL_MAX, HUGE_VAL,
                     std::numeric_limits<double>::quiet_NaN()}) {
      EXPECT_EQ(encodeF64(o.format, x), o.encode(x)) << name << " " << x;
      EXPECT_EQ(encodeF64(o.format, -x), o.encode(-x)) << name << " " << x;
    }
  }
}

TEST(FloatFormats, RoundsDoublesToBinary32AsTheProcessorDoes) {
  std::mt19937_64 engine(3);
  auto check = [](double x) {
    uint32_t expected = std::isnan(x) ? 0x7FFFFFFFu : bitsOf(float(x));
    if (encodeF32Bits(x) != expected)
      ADD_FAILURE() << "rounding " << x;
  };
  for (int i = 0; i < 1000000; ++i) {
    uint64_t bits = engine();
    check(doubleFromBits(bits));
    // Use exponents in the range of binary32, including subnormals.
    uint64_t exponent = 860 + bits % 300;
    check(doubleFromBits((bits & 0x800FFFFFFFFFFFFFull) | exponent << 52));
  }
  for (uint32_t bits : specialBits()) {
    double x = exact(bits),
           next = exact((bits & 0x80000000u) |
                        (((bits & 0x7FFFFFFF) + 1) & 0x7FFFFFFF));
    double middle = x / 2 + next / 2;
    for (double y : {x, middle, std::nextafter(middle, 0.0),
                     std::nextafter(middle, HUGE_VAL)})
      check(y);
    if (!std::isnan(x)) {
      EXPECT_EQ(widenF32(floatFromBits(bits)), x);
      EXPECT_EQ(encodeF32Bits(x), bits);
    }
  }
  check(DBL_MAX);
  check(DBL_TRUE_MIN);
  EXPECT_TRUE(std::isnan(widenF32(floatFromBits(0x7F800001u))));
}

TEST(FloatFormats, Int8CountsSixtyFourths) {
  for (int i = -128; i < 128; ++i)
    EXPECT_EQ(double(decodeInt8(int8_t(i))), i / 64.0);
}

#if defined(__SSE2__)
// A program that loads the runtime may have set the processor to flush
// subnormals. No result may depend on this mode.
TEST(FloatFormats, IgnoresFlushToZero) {
  std::vector<uint32_t> inputs = specialBits();
  auto run = [&] {
    std::vector<uint64_t> results;
    for (uint32_t bits : inputs) {
      float x = floatFromBits(bits);
      for (const Oracle &o : oracles())
        results.push_back(encode(o.format, x));
      results.push_back(encodeE8M0Up(x));
      results.push_back(bitsOf(widenF32(x)));
      results.push_back(encodeF32Bits(doubleFromBits(uint64_t(bits) << 30)));
    }
    return results;
  };
  std::vector<uint64_t> expected = run();
  unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040); // FTZ and DAZ.
  std::vector<uint64_t> found = run();
  _mm_setcsr(saved);
  EXPECT_EQ(found, expected);
}
#endif

} // namespace
