//===- FloatFormatsTest.cpp - Exhaustive tests of number formats ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Decodes every code and encodes every rounding boundary, and compares the
// results with the search in Oracle.h.
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "gtest/gtest.h"
#include <cfloat>
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

TEST(FloatFormats, DecodesEveryCode) {
  for (const Oracle &o : oracles()) {
    SCOPED_TRACE(getInfo(o.format).name);
    uint32_t sign = 1u << o.signBit();
    for (uint32_t code = 0; code < 2 * sign; ++code) {
      float value = decode(o.format, code);
      uint32_t magnitude = code & (sign - 1);
      if (magnitude < o.finiteCodes) {
        double expected = o.value(magnitude);
        EXPECT_EQ(double(value), code & sign ? -expected : expected) << code;
        EXPECT_EQ(std::signbit(value), (code & sign) != 0) << code;
      } else if (getInfo(o.format).hasInfinity && magnitude == o.finiteCodes) {
        EXPECT_EQ(value, code & sign ? -INFINITY : INFINITY) << code;
      } else if (o.format == FloatFormat::BF16) {
        EXPECT_EQ(bitsOf(value), code << 16);
      } else {
        EXPECT_EQ(bitsOf(value), 0x7FFFFFFFu) << code;
      }
      if (o.format != FloatFormat::BF16) { // Padding bits are ignored.
        EXPECT_EQ(
            bitsOf(decode(o.format, code | 0xFFFFFFFFu << (o.signBit() + 1))),
            bitsOf(value));
      }
    }
  }
}

TEST(FloatFormats, DecodesEveryScale) {
  for (int code = 0; code < 0xFF; ++code)
    EXPECT_EQ(double(decode(FloatFormat::E8M0, uint32_t(code))),
              e8m0Value(code));
  EXPECT_EQ(bitsOf(decode(FloatFormat::E8M0, 0xFF)), 0x7FFFFFFFu);
  for (uint32_t code = 0; code < 256; ++code)
    EXPECT_EQ(bitsOf(decode(FloatFormat::UE4M3, code)),
              bitsOf(decode(FloatFormat::E4M3, code & 0x7F)));
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

TEST(FloatFormats, FiniteCodesRoundTripAndAreMonotonic) {
  for (const Oracle &o : oracles()) {
    SCOPED_TRACE(getInfo(o.format).name);
    uint32_t sign = 1u << o.signBit();
    float previous = -1;
    for (uint32_t code = 0; code < o.finiteCodes; ++code) {
      float value = decode(o.format, code);
      EXPECT_GT(value, previous);
      previous = value;
      EXPECT_EQ(encode(o.format, value), code);
      EXPECT_EQ(encode(o.format, -value), code | sign);
      EXPECT_EQ(encodeF64(o.format, double(value)), code);
    }
  }
}

TEST(FloatFormats, EncodesEveryBoundary) {
  for (const Oracle &o : oracles()) {
    const char *name = getInfo(o.format).name;
    auto checkBits = [&](uint32_t bits) {
      expectCode(name, bits, encode(o.format, floatFromBits(bits)),
                 o.encode(exact(bits)));
    };
    for (uint32_t code = 0; code < o.finiteCodes; ++code) {
      double low = o.value(code), high = o.value(code + 1);
      forEachNear(low + (high - low) / 2, 8, checkBits);
      forEachNear(low, 4, checkBits);
    }
    forEachNear(o.value(o.finiteCodes), 8, checkBits);
    for (uint32_t bits : specialBits())
      checkBits(bits);
    for (uint32_t bits : randomBits(1000000, 1))
      checkBits(bits);
  }
}

TEST(FloatFormats, EncodesUE4M3AsTheMagnitude) {
  const Oracle &o = oracle(FloatFormat::E4M3);
  for (uint32_t bits : specialBits())
    expectCode("ue4m3", bits, encode(FloatFormat::UE4M3, floatFromBits(bits)),
               o.encode(std::fabs(exact(bits))));
}

TEST(FloatFormats, EncodesSpecialValues) {
  // cvt.rn.satfinite: NaN of either sign, infinities, ties, sign of zero.
  float nan = floatFromBits(0xFFC00001u), inf = INFINITY;
  struct {
    FloatFormat format;
    float value;
    uint32_t code;
  } cases[] = {
      {FloatFormat::E4M3, nan, 0x7F},       {FloatFormat::E4M3, inf, 0x7E},
      {FloatFormat::E4M3, -inf, 0xFE},      {FloatFormat::E4M3, 0x1p-10f, 0},
      {FloatFormat::E4M3, 0x1.8p-9f, 2},    {FloatFormat::E4M3, 1.0625f, 0x38},
      {FloatFormat::E4M3, 1.1875f, 0x3A},   {FloatFormat::E4M3, 464.f, 0x7E},
      {FloatFormat::E4M3, -1e-30f, 0x80},   {FloatFormat::E4M3, -0.0f, 0x80},
      {FloatFormat::E5M2, inf, 0x7B},       {FloatFormat::E5M2, -1e9f, 0xFB},
      {FloatFormat::E5M2, nan, 0x7F},       {FloatFormat::E3M2, nan, 0x1F},
      {FloatFormat::E2M3, -inf, 0x3F},      {FloatFormat::E2M1, nan, 0x7},
      {FloatFormat::E2M1, 0.25f, 0},        {FloatFormat::E2M1, 0.75f, 2},
      {FloatFormat::E2M1, 5.0f, 6},         {FloatFormat::E2M1, 2.5f, 4},
      {FloatFormat::E2M1, -inf, 0xF},       {FloatFormat::E2M1, -0.1f, 0x8},
      {FloatFormat::BF16, nan, 0x7FFF},     {FloatFormat::BF16, -inf, 0xFF80},
      {FloatFormat::BF16, FLT_MAX, 0x7F80}, {FloatFormat::F16, nan, 0x7FFF},
      {FloatFormat::F16, 65519.f, 0x7BFF},  {FloatFormat::F16, 65520.f, 0x7C00},
      {FloatFormat::F16, -0x1p-25f, 0x8000}};
  for (const auto &c : cases)
    EXPECT_EQ(encode(c.format, c.value), c.code)
        << getInfo(c.format).name << " of " << c.value;
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

TEST(FloatFormats, E8M0RoundsToAnAdjacentPowerOfTwo) {
  auto check = [](uint32_t bits) {
    for (bool saturate : {true, false}) {
      float x = floatFromBits(bits);
      expectCode("rp", bits, encodeE8M0Up(x, saturate),
                 e8m0Search(exact(bits), true, saturate));
      expectCode("rz", bits, encodeE8M0Down(x, saturate),
                 e8m0Search(exact(bits), false, saturate));
    }
  };
  for (uint32_t bits : specialBits())
    check(bits);
  for (uint32_t bits : randomBits(20000, 4))
    check(bits);
  for (uint32_t bits : {0x00400000u, 0x00400001u, 0x003FFFFFu, 0x7F000000u,
                        0x7F000001u, 0x7F7FFFFFu})
    check(bits);
  EXPECT_EQ(encodeE8M0Up(0x1.2p-127f), 1);
  EXPECT_EQ(encodeE8M0Down(0x1.2p-127f), 0);
  EXPECT_EQ(encodeE8M0Up(-2.f), 128);
  EXPECT_EQ(encode(FloatFormat::E8M0, 1.5f), 128u);
  for (uint32_t code = 0; code < 256; ++code) {
    EXPECT_EQ(encodeE8M0Up(decode(FloatFormat::E8M0, code)), code);
    EXPECT_EQ(encodeE8M0Down(decode(FloatFormat::E8M0, code)), code);
  }
}

TEST(FloatFormats, Int8CountsSixtyFourths) {
  for (int i = -128; i < 128; ++i)
    EXPECT_EQ(double(decodeInt8(int8_t(i))), i / 64.0);
  auto check = [](uint32_t bits) {
    double scaled = exact(bits) * 64;
    double rounded = std::isnan(scaled) ? 0 : std::nearbyint(scaled);
    int expected = int(std::max(-127.0, std::min(127.0, rounded)));
    if (encodeInt8(floatFromBits(bits)) != expected)
      ADD_FAILURE() << "0x" << std::hex << bits;
  };
  for (int halves = 0; halves <= 300; ++halves)
    forEachNear(halves / 128.0, 8, check);
  for (uint32_t bits : specialBits())
    check(bits);
  for (uint32_t bits : randomBits(200000, 5))
    check(bits);
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
