//===- TensorHardwareTest.cpp - Dot products against an H200 --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants are hashes of the results that mma.sync and wgmma.mma_async
// (m64n8) returned on an H200 for operands from the same generator. A hash
// covers all bits of the results of 96 MMAs (16 x 8 each), including NaN,
// infinities and subnormals.
//===----------------------------------------------------------------------===//

#include "mxsim/tensor/WarpMma.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

using namespace mx::sim;

namespace {

constexpr unsigned numTiles = 96, numCells = 128;

/// Distribution of operands.
enum Spread : unsigned {
  Narrow,
  Medium,
  Tiny,     ///< many zeros and subnormals
  AnyCode,  ///< includes NaN and infinities
  AnyValue, ///< uniform over finite exponents
  ZeroTimesHuge,
  Large,
  NearEqual,
  numSpreads,
};

class Generator {
public:
  explicit Generator(uint64_t seed) : state(seed) {
    for (unsigned i = 0; i < 20; ++i)
      next();
  }
  uint32_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<uint32_t>(state >> 16);
  }

private:
  uint64_t state;
};

struct Format {
  ElementType type;
  int bits;
  int exponentBits; ///< 0 for integers
};
const Format f16{ElementType::F16, 16, 5}, bf16{ElementType::BF16, 16, 8},
    tf32{ElementType::TF32, 32, 8}, e4m3{ElementType::E4M3, 8, 4},
    e5m2{ElementType::E5M2, 8, 5}, s8{ElementType::S8, 8, 0},
    u8{ElementType::U8, 8, 0}, s4{ElementType::S4, 4, 0},
    u4{ElementType::U4, 4, 0}, b1{ElementType::B1, 1, 0};

uint32_t element(Generator &random, const Format &f, unsigned spread,
                 bool isB) {
  uint32_t x = random.next(), y = random.next();
  uint32_t all = f.bits == 32 ? ~0u : (1u << f.bits) - 1;
  if (!f.exponentBits)
    return x & all;
  int mantissaBits = f.bits - 1 - f.exponentBits;
  int bias = (1 << (f.exponentBits - 1)) - 1, top = (1 << f.exponentBits) - 1;
  bool wide = f.exponentBits == 8;
  uint32_t sign = (x >> 31) << (f.bits - 1);
  uint32_t mantissa = y & ((1u << mantissaBits) - 1);
  auto with = [&](int exponent) {
    exponent = std::min(std::max(exponent, 0), top - 1);
    return sign | static_cast<uint32_t>(exponent) << mantissaBits | mantissa;
  };
  switch (spread) {
  case Narrow:
    return with(bias - 2 + int(x % 5));
  case Medium:
    return with(bias - 12 + int(x % 25));
  case Tiny:
    if (x % 4 < 2)
      return x % 4 ? sign | mantissa : sign;
    return with((wide ? bias - 10 : 0) + int(x % 6));
  case AnyCode:
    return (x ^ y * 2654435761u) & all;
  case AnyValue:
    return with(int(x % uint32_t(top)));
  case ZeroTimesHuge:
    if (x % 3 == 0)
      return isB ? with(top - 1) : sign;
    if (wide)
      return with(bias - 30 + int(x % 4));
    return with(isB ? int(x % 3) : int(x % 4));
  case Large:
    return with(wide ? bias + 62 + int(x % 3) : top - 1 - int(x % 3));
  default:
    return with(bias - 1 + int(x % 2) - (x % 8 < 6 ? 0 : 14 + int(x % 9)));
  }
}

uint32_t accumulator(Generator &random, AccumulatorType type, unsigned spread) {
  uint32_t x = random.next(), y = random.next();
  if (type == AccumulatorType::S32)
    return x;
  bool half = type == AccumulatorType::F16;
  uint32_t sign = x >> 31 << (half ? 15 : 31);
  uint32_t mantissa = y & (half ? 0x3FF : 0x7FFFFF);
  uint32_t exponent;
  switch (spread) {
  case Narrow:
    exponent = half ? 13 + x % 5 : 120 + x % 15;
    break;
  case Medium:
    exponent = half ? 3 + x % 25 : 100 + x % 50;
    break;
  case Tiny:
    if (x % 4 == 0)
      return sign;
    if (!half && x % 4 == 1)
      return sign | mantissa;
    exponent = half ? x % 3 : 1 + x % 110;
    break;
  case AnyCode:
    return half ? x & 0xFFFF : x;
  case AnyValue:
    exponent = half ? x % 31 : 1 + x % 254;
    break;
  case ZeroTimesHuge:
    if (x % 3 == 0)
      return sign;
    exponent = half         ? (x % 4 ? 0 : 1)
               : x % 3 == 1 ? 1 + x % 30
                            : 127 - 40 + x % 6;
    break;
  case Large:
    exponent = half ? 28 + x % 3 : std::min(127 + x % 128, 254u);
    break;
  default:
    exponent = half ? 12 + x % 6 : 124 + x % 30;
    break;
  }
  return sign | exponent << (half ? 10 : 23) | mantissa;
}

struct Case {
  const char *name;
  Format a, b;
  AccumulatorType d;
  unsigned k;
  bool isWgmma;
  uint64_t hashes[numSpreads];
  bool exclusiveOr = false;
};

#include "TensorHardware.inc"

void fillRow(Generator &random, const Format &f, unsigned spread, unsigned k,
             bool isB, uint8_t *row) {
  std::memset(row, 0, warpRowBytes);
  for (unsigned i = 0; i < k; ++i) {
    uint32_t code = element(random, f, spread, isB);
    if (f.bits >= 8)
      std::memcpy(row + i * f.bits / 8, &code, f.bits / 8);
    else
      row[i * f.bits / 8] |= code << i * f.bits % 8;
  }
}

uint64_t hashOf(const Case &c, unsigned index, unsigned spread) {
  WarpMmaOp op;
  op.a = c.a.type;
  op.b = c.b.type;
  op.d = c.d;
  op.k = c.k;
  op.exclusiveOr = c.exclusiveOr;
  bool is8Bit = c.a.exponentBits && c.a.bits == 8;
  op.viaF16 = is8Bit && !c.isWgmma;
  if (is8Bit && c.isWgmma)
    op.model.fractionBits = op.model.resultBits = 13;
  uint64_t hash = 0xCBF29CE484222325u;
  for (unsigned tile = 0; tile < numTiles; ++tile) {
    uint8_t a[16 * warpRowBytes], b[8 * warpRowBytes];
    uint32_t cells[numCells];
    uint64_t place = index * 1000003 + spread * 10007;
    Generator random(0x9E3779B97F4A7C15u * (1 + place + tile));
    for (unsigned row = 0; row < 16; ++row)
      fillRow(random, c.a, spread, c.k, false, a + row * warpRowBytes);
    // The four warps of a warpgroup share B.
    Generator randomB(0xD1B54A32D192ED03u *
                      (7 + place + (c.isWgmma ? tile / 4 * 4 : tile)));
    for (unsigned row = 0; row < 8; ++row)
      fillRow(randomB, c.b, spread, c.k, true, b + row * warpRowBytes);
    for (uint32_t &cell : cells)
      cell = accumulator(random, c.d, spread);
    multiplyRows(op, a, b, Numerics::Truncate25, cells);
    for (uint32_t cell : cells)
      hash = (hash ^ cell) * 0x100000001B3u;
  }
  return hash;
}

TEST(TensorHardware, TruncatedSumsMatchAnH200) {
  unsigned index = 0;
  for (const Case &c : cases) {
    for (unsigned spread = 0; spread < numSpreads; ++spread)
      EXPECT_EQ(hashOf(c, index, spread), c.hashes[spread])
          << c.name << ", spread " << spread;
    ++index;
  }
}

} // namespace
