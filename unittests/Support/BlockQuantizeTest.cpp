//===- BlockQuantizeTest.cpp - quantization recipes -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Scales for every bf16 magnitude and every f32 near a decision, against the
// recipes written with doubles and searches, and whole blocks against a block
// quantizer of the same kind.
//
//===----------------------------------------------------------------------===//

#include "mx/Support/BlockQuantize.h"
#include "Oracle.h"
#include "gtest/gtest.h"
#include <cfloat>

using namespace mx;
using Rounding = ScaleRecipe::Rounding;
using namespace mx::test;

namespace {

constexpr FloatFormat kElements[] = {FloatFormat::E4M3, FloatFormat::E5M2,
                                     FloatFormat::E3M2, FloatFormat::E2M3,
                                     FloatFormat::E2M1};
constexpr Rounding kRoundings[] = {Rounding::Ceil, Rounding::Floor,
                                   Rounding::Even, Rounding::Fit};

constexpr uint32_t kInfinityBits = 0x7F800000u;

/// The scale by the recipe's words, on doubles. Products of two binary32
/// numbers are exact in a double, and casting rounds to nearest even.
uint8_t scaleByDefinition(double max, unsigned mantissaBits, Rounding rounding,
                          uint32_t bits) {
  double a = double(floatFromBits(bits));
  if (std::isnan(a))
    return 255;
  if (std::isinf(a))
    return 254;
  if (rounding == Rounding::Ceil) {
    float reciprocal = float(1.0 / max);
    return e8m0Search(double(float(a * double(reciprocal))), true, true);
  }
  bool isFitOfE4M3 = rounding == Rounding::Fit && max == 448;
  // All other types have a number after the largest, to which ties go.
  if (rounding == Rounding::Fit && !isFitOfE4M3)
    rounding = Rounding::Even;
  if (rounding == Rounding::Even && bits >= 0x00800000u) {
    // Round a to the element's mantissa, away from zero in ties: the integer
    // add of half an ulp.
    int exponent = std::ilogb(a);
    double ulp = std::ldexp(1.0, exponent - int(mantissaBits));
    a = std::floor(a / ulp + 0.5) * ulp;
  }
  // Binary32's exponent field, which is 0 for subnormals.
  int field = a < 0x1p-126 ? 0 : std::ilogb(a) + 127;
  if (rounding == Rounding::Even && bits < 0x00800000u)
    field = double(bits) + std::ldexp(0.5, 23 - int(mantissaBits)) >= 0x1p23;
  if (isFitOfE4M3 && a >= 0x1p-126)
    field += std::ldexp(a, -std::ilogb(a)) > 464.0 / 256;
  int byte = field - std::ilogb(max);
  return uint8_t(std::max(0, std::min(254, byte)));
}

/// Every bf16 magnitude, and f32 values around every mantissa that a recipe
/// could decide on, at every exponent.
std::vector<uint32_t> magnitudes() {
  std::vector<uint32_t> all;
  for (uint32_t b = 0; b < 0x8000; ++b)
    all.push_back(b << 16);
  for (uint32_t exponent = 0; exponent < 255; ++exponent)
    for (uint32_t step = 0; step <= 256; ++step)
      for (int d = -3; d <= 3; ++d) {
        int64_t bits = int64_t(exponent << 23) + int64_t(step << 15) + d;
        if (bits >= 0)
          all.push_back(uint32_t(bits));
      }
  for (uint32_t nan : {0x7F800001u, 0x7FBFFFFFu, 0x7FC00000u, 0x7FFFFFFFu})
    all.push_back(nan);
  return all;
}

double maxOf(FloatFormat elem) { return oracle(elem).max(); }

TEST(BlockQuantize, RecipesFollowFromTheFormats) {
  for (FloatFormat elem : kElements) {
    const ScaleRecipe &recipe = getScaleRecipe(elem);
    SCOPED_TRACE(getInfo(elem).name);
    EXPECT_EQ(recipe.maxReciprocalBits, bitsOf(float(1.0 / maxOf(elem))));
    EXPECT_EQ(recipe.emax, std::ilogb(maxOf(elem)));
    EXPECT_EQ(int(recipe.mantissaBits), oracle(elem).mantissaBits);
    EXPECT_EQ(recipe.ceilThreshold, bitsOf(float(maxOf(elem))) & 0x7FFFFFu);
  }
  const ScaleRecipe &int8 = getInt8ScaleRecipe();
  EXPECT_EQ(int8.maxReciprocalBits, bitsOf(float(64.0 / 127.0)));
  EXPECT_EQ(int8.emax, 0);
  EXPECT_EQ(int8.mantissaBits, 6u);
  EXPECT_EQ(int8.ceilThreshold, bitsOf(127.0f / 64) & 0x7FFFFFu);
}

TEST(BlockQuantize, ScalesOfAllMagnitudes) {
  std::vector<uint32_t> all = magnitudes();
  auto check = [&](const char *name, const ScaleRecipe &recipe, double max,
                   unsigned mantissaBits) {
    for (Rounding rounding : kRoundings)
      for (uint32_t bits : all) {
        unsigned found = blockScale(recipe, rounding, bits);
        unsigned expected =
            scaleByDefinition(max, mantissaBits, rounding, bits);
        if (found != expected)
          ADD_FAILURE() << name << " rounding " << int(rounding) << " of 0x"
                        << std::hex << bits << ": expected " << std::dec
                        << expected << ", found " << found;
      }
  };
  for (FloatFormat elem : kElements)
    check(getInfo(elem).name, getScaleRecipe(elem), maxOf(elem),
          unsigned(oracle(elem).mantissaBits));
  check("int8", getInt8ScaleRecipe(), 127.0 / 64, 6);
}

/// `Ceil` in integers, as a kernel may compute it.
int ceilInIntegers(const ScaleRecipe &recipe, uint32_t bits) {
  int exponent = int(bits >> 23);
  bool above = (bits & 0x7FFFFFu) > recipe.ceilThreshold;
  int byte = exponent == 0 ? 0 : exponent - recipe.emax + above;
  return std::max(0, std::min(254, byte));
}

TEST(BlockQuantize, CeilInIntegersDiffersInOneValue) {
  // Found by trying all 2^31 magnitudes.
  constexpr uint32_t exceptions[] = {0x04600001u, 0x07E00001u, 0x02600001u,
                                     0x01700001u, 0x01400001u};
  std::vector<uint32_t> all = magnitudes();
  for (FloatFormat elem : kElements) {
    const ScaleRecipe &recipe = getScaleRecipe(elem);
    uint32_t exception = exceptions[unsigned(elem)];
    EXPECT_EQ(blockScale(elem, Rounding::Ceil, exception), 0);
    EXPECT_EQ(ceilInIntegers(recipe, exception), 1);
    for (uint32_t bits : all) {
      if (bits >= kInfinityBits || bits == exception)
        continue;
      ASSERT_EQ(int(blockScale(elem, Rounding::Ceil, bits)),
                ceilInIntegers(recipe, bits))
          << getInfo(elem).name << std::hex << " 0x" << bits;
    }
  }
  const ScaleRecipe &int8 = getInt8ScaleRecipe();
  for (uint32_t b = 0; b < 0x7F80; ++b)
    EXPECT_EQ(int(blockScale(int8, Rounding::Ceil, b << 16)),
              ceilInIntegers(int8, b << 16));
}

TEST(BlockQuantize, CeilNeverSaturates) {
  for (FloatFormat elem : kElements)
    for (uint32_t bits : magnitudes()) {
      if (bits >= kInfinityBits)
        continue;
      uint8_t scale = blockScale(elem, Rounding::Ceil, bits);
      double scaled = double(floatFromBits(bits)) / e8m0Value(scale);
      // fl(1/max) may let through one ulp, which rounds back to max.
      ASSERT_LE(scaled, maxOf(elem) * (1 + 0x1p-22)) << std::hex << bits;
    }
}

TEST(BlockQuantize, InverseScaleIsThePowerOfTwo) {
  for (int byte = 0; byte < 255; ++byte)
    EXPECT_EQ(double(inverseScale(uint8_t(byte))), std::ldexp(1.0, 127 - byte));
  EXPECT_EQ(bitsOf(inverseScale(254)), 0x00400000u);
  EXPECT_TRUE(std::isnan(inverseScale(255)));
}

TEST(BlockQuantize, AbsMaxOrdersNaNAboveInfinityAboveFinite) {
  float x[] = {-3.0f, 2.0f, 0.0f, -0.0f};
  EXPECT_EQ(absMaxBits(x, 4), bitsOf(3.0f));
  EXPECT_EQ(absMaxBits(x, 0), 0u);
  EXPECT_EQ(absMaxBits(x, 2, 2), bitsOf(3.0f));
  EXPECT_EQ(absMaxBits(x + 1, 2, 2), bitsOf(2.0f));
  x[2] = -INFINITY;
  EXPECT_EQ(absMaxBits(x, 4), kInfinityBits);
  x[0] = floatFromBits(0xFF800001u);
  EXPECT_EQ(absMaxBits(x, 4), 0x7F800001u);
}

/// Blocks with values of one or of all magnitudes, zeros, subnormals,
/// infinities and NaNs.
std::vector<std::vector<float>> blocks(size_t n) {
  std::mt19937 engine(7);
  std::vector<std::vector<float>> all;
  auto add = [&](auto next) {
    std::vector<float> block(n);
    for (float &x : block)
      x = next();
    all.push_back(block);
  };
  auto bits = [&](uint32_t mask, uint32_t set) {
    return floatFromBits((uint32_t(engine()) & mask) | set);
  };
  add([] { return 0.0f; });
  add([] { return -0.0f; });
  for (int i = 0; i < 50; ++i)
    add([&] { return bits(0x807FFFFFu, 0); }); // Subnormals.
  for (int i = 0; i < 3000; ++i) {
    uint32_t exponent = uint32_t(engine()) % 250 << 23;
    // Magnitudes within a factor of 2^6 of each other.
    add([&] {
      uint32_t step = uint32_t(engine()) % 6 << 23;
      return bits(0x807FFFFFu, exponent + step);
    });
  }
  for (int i = 0; i < 500; ++i)
    add([&] { return bits(0xFFFFFFFFu, 0); }); // Often with NaN.
  for (int i = 0; i < 100; ++i) {
    add([&] { return bits(0xBFFFFFFFu, 0); });
    all.back()[size_t(i) % n] = i % 2 ? INFINITY : -INFINITY;
  }
  for (int i = 0; i < 4; ++i) {
    add([&] { return bits(0xBFFFFFFFu, 0); });
    all.back()[n - 1] = floatFromBits(0xFFC00000u + uint32_t(i));
  }
  add([] { return FLT_MAX; });
  return all;
}

double maxMagnitude(const std::vector<float> &block) {
  double max = 0;
  for (float x : block) {
    if (std::isnan(x))
      return x;
    max = std::max(max, std::fabs(double(x)));
  }
  return max;
}

TEST(BlockQuantize, WholeBlocksByDefinition) {
  for (const std::vector<float> &block : blocks(32)) {
    uint32_t a = bitsOf(float(std::fabs(maxMagnitude(block))));
    for (FloatFormat elem : kElements)
      for (Rounding rounding : kRoundings) {
        const Oracle &o = oracle(elem);
        uint8_t scale =
            scaleByDefinition(o.max(), unsigned(o.mantissaBits), rounding, a);
        uint8_t codes[32];
        ASSERT_EQ(quantizeBlock(elem, rounding, block.data(), 32, codes),
                  scale);
        for (int i = 0; i < 32; ++i) {
          double inverse = scale == 255 ? NAN : std::ldexp(1.0, 127 - scale);
          double x = double(float(double(block[size_t(i)]) * inverse));
          ASSERT_EQ(uint32_t(codes[i]), o.encode(x))
              << getInfo(elem).name << " " << block[size_t(i)] << " scale "
              << int(scale);
        }
      }
    int8_t codes[32];
    uint8_t scale = scaleByDefinition(127.0 / 64, 6, Rounding::Ceil, a);
    ASSERT_EQ(quantizeBlockInt8(Rounding::Ceil, block.data(), 32, codes),
              scale);
    for (int i = 0; i < 32; ++i) {
      double inverse = scale == 255 ? NAN : std::ldexp(1.0, 127 - scale);
      double x = double(float(double(block[size_t(i)]) * inverse)) * 64;
      double r = std::isnan(x) ? 0 : std::nearbyint(x);
      ASSERT_EQ(double(codes[i]), std::max(-127.0, std::min(127.0, r)));
    }
  }
}

TEST(BlockQuantize, NaNAndInfiniteBlocks) {
  float x[4] = {1.0f, NAN, -0.0f, 5.0f};
  uint8_t codes[4];
  EXPECT_EQ(quantizeBlock(FloatFormat::E4M3, Rounding::Ceil, x, 4, codes), 255);
  for (uint8_t code : codes)
    EXPECT_EQ(code, 0x7F);
  quantizeBlock(FloatFormat::E2M3, Rounding::Ceil, x, 4, codes);
  EXPECT_EQ(codes[0], 0x1F);
  quantizeBlock(FloatFormat::E2M1, Rounding::Floor, x, 4, codes);
  EXPECT_EQ(codes[2], 0x7);
  x[1] = -INFINITY;
  EXPECT_EQ(quantizeBlock(FloatFormat::E4M3, Rounding::Ceil, x, 4, codes), 254);
  EXPECT_EQ(codes[0], 0x00);
  EXPECT_EQ(codes[1], 0xFE);
  EXPECT_EQ(codes[2], 0x80);
  // Byte 254 multiplies by the subnormal 2^-127: 3e38 * 2^-127 is 1.76.
  float big[2] = {INFINITY, 3e38f};
  quantizeBlock(FloatFormat::E4M3, Rounding::Ceil, big, 2, codes);
  EXPECT_EQ(uint32_t(codes[1]), oracle(FloatFormat::E4M3).encode(1.763241526));
}

TEST(BlockQuantize, StridesWalkColumns) {
  std::vector<float> matrix(32 * 3);
  for (size_t i = 0; i < matrix.size(); ++i)
    matrix[i] = float(i) - 40.5f;
  for (size_t column = 0; column < 3; ++column) {
    float dense[32];
    for (size_t i = 0; i < 32; ++i)
      dense[i] = matrix[3 * i + column];
    uint8_t expected[32];
    std::vector<uint8_t> found(96, 0xAA);
    uint8_t scale =
        quantizeBlock(FloatFormat::E4M3, Rounding::Ceil, dense, 32, expected);
    EXPECT_EQ(quantizeBlock(FloatFormat::E4M3, Rounding::Ceil, &matrix[column],
                            32, &found[column], 3),
              scale);
    for (size_t i = 0; i < 96; ++i)
      EXPECT_EQ(found[i], i % 3 == column ? expected[i / 3] : 0xAA);
  }
}

TEST(BlockQuantize, NVFP4ByDefinition) {
  const Oracle &e4m3 = oracle(FloatFormat::E4M3);
  const Oracle &e2m1 = oracle(FloatFormat::E2M1);
  for (float enc : {1.0f, 448.0f * 6 / 1000, 3e-5f, 1e30f, 1e-38f, FLT_MAX})
    for (const std::vector<float> &block : blocks(16)) {
      double a = maxMagnitude(block);
      float sixth = float(std::fabs(a) * double(float(1.0 / 6)));
      float t = float(double(sixth) * double(enc));
      uint32_t s = e4m3.encode(double(t));
      uint8_t codes[16];
      ASSERT_EQ(uint32_t(quantizeBlockNVFP4(enc, block.data(), 16, codes)), s);
      float inverse = 0;
      if (s == 0x7F)
        inverse = NAN;
      else if (s != 0) // Quotients of binary32 round to themselves via double.
        inverse = std::min(enc / float(e4m3.value(s)), FLT_MAX);
      ASSERT_EQ(std::isnan(inverse),
                std::isnan(nvfp4InverseScale(uint8_t(s), enc)));
      for (size_t i = 0; i < 16; ++i) {
        double x = double(float(double(block[i]) * double(inverse)));
        ASSERT_EQ(uint32_t(codes[i]), e2m1.encode(x)) << block[i] << " " << enc;
      }
    }
  // Overflow of enc / s is held at the largest finite number.
  EXPECT_EQ(nvfp4InverseScale(1, FLT_MAX), FLT_MAX);
  EXPECT_EQ(nvfp4InverseScale(0, FLT_MAX), 0.0f);
}

TEST(BlockQuantize, DequantizesEveryCodeWithEveryScale) {
  for (FloatFormat elem : kElements) {
    const Oracle &o = oracle(elem);
    uint32_t sign = 1u << o.signBit();
    for (uint32_t code = 0; code < 2 * sign; ++code)
      for (uint32_t scale = 0; scale < 256; ++scale) {
        uint32_t magnitude = code & (sign - 1);
        bool infinite = elem == FloatFormat::E5M2 && magnitude == 0x7C;
        bool nan = scale == 255 || (magnitude >= o.finiteCodes && !infinite);
        double value = nan ? NAN
                       : infinite
                           ? HUGE_VAL
                           : std::ldexp(o.value(magnitude), int(scale) - 127);
        value = code & sign ? -value : value;
        auto e8m0 = FloatFormat::E8M0;
        uint32_t f32 = nan ? 0x7FFFFFFFu : bitsOf(float(value));
        ASSERT_EQ(bitsOf(dequantize(elem, code, e8m0, uint8_t(scale))), f32)
            << code << " " << scale;
        for (FloatFormat result : {FloatFormat::BF16, FloatFormat::F16})
          ASSERT_EQ(dequantizeTo(result, elem, code, e8m0, uint8_t(scale)),
                    oracle(result).encode(value))
              << code << " " << scale;
      }
  }
  for (uint32_t code = 0; code < 16; ++code)
    for (uint32_t scale = 0; scale < 256; ++scale)
      for (FloatFormat format : {FloatFormat::UE4M3, FloatFormat::E4M3}) {
        float product = decode(FloatFormat::E2M1, code) *
                        decode(FloatFormat::E4M3, scale & 0x7F);
        uint32_t expected =
            (scale & 0x7F) == 0x7F ? 0x7FFFFFFFu : bitsOf(product);
        EXPECT_EQ(
            bitsOf(dequantize(FloatFormat::E2M1, code, format, uint8_t(scale))),
            expected);
      }
  for (int code = -128; code < 128; ++code)
    for (int scale = 0; scale < 255; ++scale)
      ASSERT_EQ(dequantizeExactInt8(int8_t(code), uint8_t(scale)),
                std::ldexp(code, scale - 127 - 6));
  EXPECT_TRUE(std::isnan(dequantizeExactInt8(1, 255)));
}

} // namespace
