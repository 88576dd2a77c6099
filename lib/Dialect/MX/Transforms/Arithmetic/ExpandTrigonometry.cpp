//===- ExpandTrigonometry.cpp - Trigonometric and hyperbolic functions ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Large angles are reduced exactly: the 24-bit significand is multiplied by the
// bits of 2/pi that the exponent selects (Payne and Hanek). For other angles, a
// multiple of pi / 2 is subtracted in several terms (Cody and Waite). All
// inverse functions use an atan2 in f64.
//===----------------------------------------------------------------------===//

#include "MathSequence.h"

using namespace mlir;
using namespace mx;

namespace {

/// Bits of 2/pi, most significant first. The first word is the integer part.
constexpr uint32_t kTwoOverPi[] = {0,          0xA2F9836E, 0x4E441529,
                                   0xFC2757D1, 0xF534DDC0, 0xDB629599,
                                   0x3C439041, 0xFE5163AB};

/// Up to this limit, x / (pi / 2) rounds to a 17-bit integer, so three terms of
/// pi / 2 suffice, and subtracting the multiple of the first term is exact.
constexpr float kLarge = 0x1p+16f;
constexpr float kHalfPiTerms[] = {0x1.921fbp+0f, 0x1.5110b4p-22f,
                                  0x1.846988p-48f};
constexpr double kWideHalfPiTerms[] = {0x1.921fb54442d18p+0,
                                       0x1.1a62633145c07p-54};
constexpr double kTwoOverPiRounded = 0x1.45f306dc9c883p-1;
constexpr double kPi = 0x1.921fb54442d18p+1;
constexpr double kHalfPi = 0x1.921fb54442d18p+0;

/// Coefficients of S and C in sin(r) = r + r^3 S(r^2) and
/// cos(r) = 1 - r^2 / 2 + r^4 C(r^2) for |r| <= pi / 4. Minimax polynomials for
/// the relative error; the coefficients were rounded successively.
constexpr float kSin[] = {-0x1.555556p-3f, 0x1.111174p-7f, -0x1.a05954p-13f,
                          0x1.7c2c4ep-19f};
constexpr float kCos[] = {-0x1p-1f, 0x1.55554ap-5f, -0x1.6c0c28p-10f,
                          0x1.99e80cp-16f};
constexpr double kWideSin[] = {-0x1.55555555521c5p-3, 0x1.1111110c7e9a3p-7,
                               -0x1.a019f92d3d376p-13, 0x1.71d766732762fp-19,
                               -0x1.a95f2c41a678ep-26};
constexpr double kWideCos[] = {-0x1p-1,
                               0x1.5555555552d76p-5,
                               -0x1.6c16c16716f8fp-10,
                               0x1.a019fa54f31c8p-16,
                               -0x1.27e006926f903p-22,
                               0x1.1bbcf35c9676ep-29};
/// Coefficients of A in atan(z) = z + z^3 A(z^2) on [0, 1].
constexpr double kAtan[] = {
    -0x1.5555555518f9ap-2, 0x1.999999673229dp-3,  -0x1.249241b9df7a6p-3,
    0x1.c71b54ebdf089p-4,  -0x1.7450455a3b85fp-4, 0x1.3ab28a860c2f9p-4,
    -0x1.0f0fb1280c72cp-4, 0x1.d2802098539b8p-5,  -0x1.831115372158bp-5,
    0x1.2558950964934p-5,  -0x1.7bb0dcf215774p-6, 0x1.8534428788361p-7,
    -0x1.20e49c1c847f1p-8, 0x1.0fbdc2817ec0fp-10, -0x1.e19d970de60abp-14};

/// Represents |x| = (4 n + quadrant) * pi/2 + remainder for some integer n,
/// with |remainder| <= pi/4.
struct Angle {
  Value quadrant, remainder;
};

/// Returns 128 bits of 2/pi, starting at bit `offset`, as four words.
SmallVector<Value> selectWords(Sequence &s, Value offset) {
  SmallVector<Value> words;
  for (uint32_t word : kTwoOverPi)
    words.push_back(s.bits(word));
  // Shifts by four, two and one words if the corresponding bit of the offset is
  // set. Each step keeps the words that later steps need.
  for (int step : {4, 2, 1}) {
    Value stays = s.isZero(s.andBits(offset, s.bits(32 * step)));
    for (int i = 0, count = 3 + step; i < count; ++i)
      if (i + step < int(words.size()))
        words[i] = s.select(stays, words[i], words[i + step]);
    words.resize(3 + step);
  }
  return words;
}

/// Reduces 0 <= x <= kLarge, or NaN, to x - k * pi/2 with k = round(x * 2/pi).
/// Adding the constant `toInteger` leaves k in the low bits.
template <typename T>
Angle reduceSmall(Sequence &s, Value x, ArrayRef<T> terms, double toInteger) {
  Value rounded = s.fma(x, s.numberLike(x, T(kTwoOverPiRounded)),
                        s.numberLike(x, toInteger));
  Value minusK = s.sub(s.numberLike(x, toInteger), rounded);
  Value remainder = x;
  for (T term : terms)
    remainder = s.fma(minusK, s.numberLike(x, term), remainder);
  return {s.toBits(rounded), remainder};
}

/// Reduces any x > 1, or infinity, to an f64 remainder, using the bits of 2/pi.
Angle reduceLarge(Sequence &s, Value absolute) {
  Value bits = s.toBits(absolute);
  Value significand =
      s.orBits(s.andBits(bits, s.bits(0x007FFFFF)), s.bits(0x00800000));
  // x is significand * 2^(e - 150). Bits of 2/pi before bit e - 151 contribute
  // multiples of 4 to the quotient. The first bit of kTwoOverPi is bit -31.
  Value offset = s.subBits(s.shiftRight(bits, s.bits(23)), s.bits(151 - 31));
  SmallVector<Value> words = selectWords(s, offset);
  Value shift = s.widenBits(s.andBits(offset, s.bits(31)));
  Value half = s.wideBits(32);
  auto getWord = [&](int i) {
    Value pair = s.orBits(s.shiftLeft(s.widenBits(words[i]), half),
                          s.widenBits(words[i + 1]));
    return s.shiftRight(s.shiftLeft(pair, shift), half);
  };
  // Computes the upper 64 of the last 96 bits of the product. The top two bits
  // are the quadrant.
  Value factor = s.widenBits(significand);
  Value upper = s.shiftLeft(s.mulBits(factor, getWord(0)), half);
  Value middle = s.mulBits(factor, getWord(1));
  Value lower = s.shiftRight(s.mulBits(factor, getWord(2)), half);
  Value product = s.addBits(s.addBits(upper, middle), lower);
  Value nearest = s.shiftRight(s.addBits(product, s.wideBits(int64_t(1) << 61)),
                               s.wideBits(62));
  Value fraction = s.subBits(product, s.shiftLeft(nearest, s.wideBits(62)));
  Value remainder =
      s.mul(s.toWideNumber(fraction), s.wideNumber(kHalfPi * 0x1p-62));

  Value infinity = s.number(std::numeric_limits<float>::infinity());
  Value none = s.wideNumber(std::numeric_limits<double>::quiet_NaN());
  return {s.narrowBits(nearest),
          s.select(s.less(absolute, infinity), remainder, none)};
}

/// Reduces x to an f32 remainder. A branch handles large angles.
Angle reduce(Sequence &s, Value x) {
  Value absolute = s.magnitude(x);
  Angle small = reduceSmall<float>(s, absolute, kHalfPiTerms, 0x1.8p+23);
  SmallVector<Value> results =
      s.branch(s.less(s.number(kLarge), absolute),
               {small.quadrant, small.remainder}, [&]() -> SmallVector<Value> {
                 Angle large = reduceLarge(s, absolute);
                 return {large.quadrant, s.narrow(large.remainder)};
               });
  return {results[0], results[1]};
}

/// Reduces x to an f64 remainder. Computes both reductions instead of
/// branching, because their cost is small compared with the callers' other
/// operations.
Angle reduceWide(Sequence &s, Value x) {
  Value absolute = s.magnitude(x);
  Angle small =
      reduceSmall<double>(s, s.widen(absolute), kWideHalfPiTerms, 0x1.8p+52);
  Angle large = reduceLarge(s, absolute);
  Value isLarge = s.less(s.number(kLarge), absolute);
  return {s.select(isLarge, large.quadrant, s.narrowBits(small.quadrant)),
          s.select(isLarge, large.remainder, small.remainder)};
}

Value isOdd(Sequence &s, Value quadrant) {
  return arith::CmpIOp::create(s, arith::CmpIPredicate::ne,
                               s.andBits(quadrant, s.bits(1)), s.bits(0));
}

/// Returns the sine of the angle plus `quadrants` * pi/2, without x's sign.
Value emitSine(Sequence &s, const Angle &angle, int quadrants) {
  Value r = angle.remainder, square = s.mul(r, r);
  Value sine = s.fma(s.mul(r, square), s.polynomial<float>(square, kSin), r);
  Value cosine =
      s.fma(square, s.polynomial<float>(square, kCos), s.number(1.0f));
  Value quadrant = angle.quadrant;
  if (quadrants)
    quadrant = s.addBits(quadrant, s.bits(quadrants));
  Value value = s.select(isOdd(s, quadrant), cosine, sine);
  Value sign = s.shiftLeft(s.andBits(quadrant, s.bits(2)), s.bits(30));
  return s.fromBits(s.xorBits(s.toBits(value), sign));
}

Value flipBySign(Sequence &s, Value value, Value x) {
  Value sign = s.andBits(s.toBits(x), s.bits(INT32_MIN));
  return s.fromBits(s.xorBits(s.toBits(value), sign));
}

/// Returns the angle of the point (x, y), in f64.
Value emitWideAtan2(Sequence &s, Value y, Value x) {
  Value width = s.magnitude(x), height = s.magnitude(y);
  Value isSteep = s.less(width, height);
  Value smaller = s.select(isSteep, width, height);
  Value larger = s.select(isSteep, height, width);
  // The ratio is 0 for zeros, and 1 for equal magnitudes including infinities.
  Value zero = s.wideNumber(0.0);
  Value same = s.select(s.equal(larger, zero), zero, s.wideNumber(1.0));
  Value z = s.select(s.equal(smaller, larger), same, s.div(smaller, larger));
  Value square = s.mul(z, z);
  Value angle = s.fma(s.mul(z, square), s.polynomial<double>(square, kAtan), z);
  angle = s.select(isSteep, s.sub(s.wideNumber(kHalfPi), angle), angle);
  Value isLeft = arith::CmpIOp::create(s, arith::CmpIPredicate::slt,
                                       s.toBits(x), s.wideBits(0));
  angle = s.select(isLeft, s.sub(s.wideNumber(kPi), angle), angle);
  return s.withSignOf(angle, y);
}

/// Returns sqrt(1 - x^2), or NaN for |x| > 1.
Value emitOther(Sequence &s, Value x) {
  Value one = s.wideNumber(1.0);
  return s.sqrt(s.mul(s.sub(one, x), s.add(one, x)));
}

} // namespace

Value mx::emitSin(Sequence &s, ValueRange operands) {
  Value x = operands[0];
  return flipBySign(s, emitSine(s, reduce(s, x), 0), x);
}

Value mx::emitCos(Sequence &s, ValueRange operands) {
  return emitSine(s, reduce(s, operands[0]), 1);
}

Value mx::emitTan(Sequence &s, ValueRange operands) {
  Value x = operands[0];
  Angle angle = reduceWide(s, x);
  Value r = angle.remainder, square = s.mul(r, r);
  Value sine =
      s.fma(s.mul(r, square), s.polynomial<double>(square, kWideSin), r);
  Value cosine =
      s.fma(square, s.polynomial<double>(square, kWideCos), s.wideNumber(1.0));
  Value odd = isOdd(s, angle.quadrant);
  Value numerator = s.select(odd, s.negate(cosine), sine);
  Value denominator = s.select(odd, sine, cosine);
  return flipBySign(s, s.narrow(s.div(numerator, denominator)), x);
}

Value mx::emitAtan2(Sequence &s, ValueRange operands) {
  return s.narrow(emitWideAtan2(s, s.widen(operands[0]), s.widen(operands[1])));
}

Value mx::emitAtan(Sequence &s, ValueRange operands) {
  return s.narrow(emitWideAtan2(s, s.widen(operands[0]), s.wideNumber(1.0)));
}

Value mx::emitAsin(Sequence &s, ValueRange operands) {
  Value x = s.widen(operands[0]);
  return s.narrow(emitWideAtan2(s, x, emitOther(s, x)));
}

Value mx::emitAcos(Sequence &s, ValueRange operands) {
  Value x = s.widen(operands[0]);
  return s.narrow(emitWideAtan2(s, emitOther(s, x), x));
}

//===----------------------------------------------------------------------===//
// Hyperbolic functions
//
// Computed in f64 from f32, so squares do not overflow and inputs are never
// subnormal. The rounding of 1 + x is significant only below 2^-20. There, the
// first terms of a series replace the general sequence.
//===----------------------------------------------------------------------===//

namespace {

constexpr double kWideLog2E = 0x1.71547652b82fep+0;
constexpr double kWideLn2 = 0x1.62e42fefa39efp-1,
                 kWideLn2Low = 0x1.abc9e3b39803fp-56;
/// Adding this value rounds a number to an integer, which is stored in the low
/// bits of the sum.
constexpr double kWideRound = 0x1.8p+52;
constexpr double kSmall = 0x1p-20;

/// Coefficients of E in e^f = 1 + f + f^2 E(f) for |f| <= log(2) / 2, rounded
/// successively from a minimax polynomial for the relative error of e^f - 1.
constexpr double kExpm1[] = {
    0x1.0000000000000p-1,  0x1.55555555525ccp-3,  0x1.55555555decd4p-5,
    0x1.111111215f68dp-7,  0x1.6c16c0a0b7417p-10, 0x1.a01997468e24ap-13,
    0x1.a017d70a2b1cep-16, 0x1.72e3733fcd2e0p-19, 0x1.2de28cc8d20ddp-22};

/// Beyond this limit all functions equal their limits at infinity.
constexpr float kLimit = 110.0f;

/// Represents e^x = power * (1 + rest).
struct WidePower {
  Value power, rest;
};

WidePower splitWide(Sequence &s, Value x) {
  Value rounded = s.fma(x, s.wideNumber(kWideLog2E), s.wideNumber(kWideRound));
  Value k = s.sub(s.wideNumber(kWideRound), rounded); // negative
  Value f = s.fma(k, s.wideNumber(kWideLn2), x);
  f = s.fma(k, s.wideNumber(kWideLn2Low), f);
  Value rest = s.fma(s.mul(f, f), s.polynomial<double>(f, kExpm1), f);
  Value exponent = s.shiftLeft(s.toBits(rounded), s.wideBits(52));
  Value one = s.wideBits(0x3FF0000000000000);
  return {s.fromBits(s.addBits(exponent, one)), rest};
}

/// Selects `large`, or x + x^3 * `third` for small x.
Value emitBySize(Sequence &s, Value x, double third, Value large) {
  Value cube = s.mul(s.mul(x, x), x);
  Value small = s.fma(cube, s.wideNumber(third), x);
  return s.select(s.less(s.magnitude(x), s.wideNumber(kSmall)), small, large);
}

} // namespace

Value mx::emitWideExp(Sequence &s, Value x) {
  auto [power, rest] = splitWide(s, x);
  return s.fma(power, rest, power);
}

Value mx::emitWideExpm1(Sequence &s, Value x) {
  auto [power, rest] = splitWide(s, x);
  return s.fma(power, rest, s.sub(power, s.wideNumber(1.0)));
}

Value mx::emitExpm1(Sequence &s, ValueRange operands) {
  Value x = s.widen(s.clamp(operands[0], kLimit));
  return s.narrow(s.withSignOf(emitWideExpm1(s, x), x));
}

Value mx::emitSinh(Sequence &s, ValueRange operands) {
  Value x = s.widen(s.clamp(operands[0], kLimit));
  Value less = emitWideExpm1(s, s.magnitude(x));
  Value ratio = s.div(less, s.add(less, s.wideNumber(1.0)));
  Value sinh = s.mul(s.wideNumber(0.5), s.add(less, ratio));
  return s.narrow(s.withSignOf(sinh, x));
}

Value mx::emitCosh(Sequence &s, ValueRange operands) {
  Value x = s.widen(s.clamp(operands[0], kLimit));
  Value power = emitWideExp(s, x);
  Value sum = s.add(power, s.div(s.wideNumber(1.0), power));
  return s.narrow(s.mul(s.wideNumber(0.5), sum));
}

Value mx::emitAsinh(Sequence &s, ValueRange operands) {
  Value x = s.widen(operands[0]), size = s.magnitude(x);
  Value root = s.sqrt(s.fma(x, x, s.wideNumber(1.0)));
  Value log = emitWideLog(s, s.add(size, root));
  Value result = emitBySize(s, size, -1.0 / 6.0, log);
  return s.narrow(s.withSignOf(result, x));
}

Value mx::emitAcosh(Sequence &s, ValueRange operands) {
  Value x = s.widen(operands[0]), one = s.wideNumber(1.0);
  Value root = s.sqrt(s.mul(s.sub(x, one), s.add(x, one)));
  Value log = emitWideLog(s, s.add(x, root));
  Value none = s.wideNumber(std::numeric_limits<double>::quiet_NaN());
  return s.narrow(s.select(s.less(x, one), none, log));
}

Value mx::emitAtanh(Sequence &s, ValueRange operands) {
  Value x = s.widen(operands[0]), size = s.magnitude(x);
  Value one = s.wideNumber(1.0);
  Value log = emitWideLog(s, s.div(s.add(one, size), s.sub(one, size)));
  Value half = s.mul(s.wideNumber(0.5), log);
  Value result = emitBySize(s, size, 1.0 / 3.0, half);
  return s.narrow(s.withSignOf(result, x));
}
