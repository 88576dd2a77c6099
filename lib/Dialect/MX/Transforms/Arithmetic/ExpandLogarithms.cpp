//===- ExpandLogarithms.cpp - Logarithms, powers and roots ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bits of x determine x = 2^k * m with m between sqrt(1/2) and sqrt(2). In
// log(x) = k * log(2) + log(m), the second term therefore cancels at most half
// of the first.
//===----------------------------------------------------------------------===//

#include "MathSequence.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mx;

namespace {

/// Bits of sqrt(1/2), rounded.
constexpr int32_t kSqrtHalf = 0x3F3504F3;
constexpr int64_t kWideSqrtHalf = 0x3FE6A09E667F3BCD;

/// Coefficients of L in log(1 + f) = f + f^2 L(f) and, for kLog2, in
/// log2(1 + f) = f / log(2) + f^2 L(f). Minimax polynomials for the relative
/// error; the coefficients were rounded successively.
constexpr float kLog[] = {-0x1p-1f,        0x1.555554p-2f,  -0x1.000228p-2f,
                          0x1.99a038p-3f,  -0x1.54718ap-3f, 0x1.22d4b2p-3f,
                          -0x1.0d8634p-3f, 0x1.056eb6p-3f,  -0x1.38ba6ep-4f};
constexpr float kLog2[] = {-0x1.71547p-1f,  0x1.ec7094p-2f,  -0x1.715adap-2f,
                           0x1.277f32p-2f,  -0x1.eab622p-3f, 0x1.a2ddacp-3f,
                           -0x1.868d26p-3f, 0x1.7c9cecp-3f,  -0x1.d28e0ep-4f,
                           0x1.075a4p-7f};
constexpr float kLn2 = 0x1.62e43p-1f;

/// Coefficients of W in log(m) = s * (2 + s^2 * W(s^2)), with
/// s = (m - 1) / (m + 1).
constexpr double kWideLog[] = {0x1.5555555555592p-1, 0x1.999999997ff0bp-2,
                               0x1.24924941e3467p-2, 0x1.c71c5211b23e9p-3,
                               0x1.74663daeef2b0p-3, 0x1.39a1cfaf3e450p-3,
                               0x1.2f04ee9093cb3p-3};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Represents x = 2^whole * (1 + rest).
struct Normalized {
  Value whole, rest;
};

Normalized normalize(Sequence &s, Value x) {
  Value isSubnormal = s.less(x, s.number(0x1p-126f));
  Value scaled = s.select(isSubnormal, s.mul(x, s.number(0x1p+23f)), x);
  Value bits = s.toBits(scaled);
  Value k = s.shiftRightSigned(s.subBits(bits, s.bits(kSqrtHalf)), s.bits(23));
  Value m = s.fromBits(s.subBits(bits, s.shiftLeft(k, s.bits(23))));
  Value less = s.select(isSubnormal, s.bits(23), s.bits(0));
  return {s.toNumber(s.subBits(k, less)), s.sub(m, s.number(1.0f))};
}

/// Returns -infinity for zeros, NaN for negative x, and x for infinity and NaN.
Value fixSpecials(Sequence &s, Value result, Value x) {
  Value zero = s.numberLike(x, 0.0), infinity = s.numberLike(x, kInfinity);
  Value none = s.numberLike(x, std::numeric_limits<double>::quiet_NaN());
  result = s.select(s.less(x, infinity), result, s.add(x, x));
  result = s.select(s.equal(x, zero), s.numberLike(x, -kInfinity), result);
  return s.select(s.less(x, zero), none, result);
}

/// Computes log(1 + x). For |x| >= 2^-20 the rounding error of the sum is
/// negligible.
Value emitWideLog1p(Sequence &s, Value x) {
  Value large = emitWideLog(s, s.add(x, s.wideNumber(1.0)));
  Value small = s.fma(s.mul(x, x), s.wideNumber(-0.5), x);
  Value isSmall = s.less(s.magnitude(x), s.wideNumber(0x1p-20));
  return s.select(isSmall, small, large);
}

} // namespace

Value mx::emitWideLog(Sequence &s, Value x, Base base) {
  Value bits = s.toBits(x), by = s.wideBits(52);
  Value k = s.shiftRightSigned(s.subBits(bits, s.wideBits(kWideSqrtHalf)), by);
  Value m = s.fromBits(s.subBits(bits, s.shiftLeft(k, by)));
  Value ratio = s.div(s.sub(m, s.wideNumber(1.0)), s.add(m, s.wideNumber(1.0)));
  Value square = s.mul(ratio, ratio);
  Value sum =
      s.fma(square, s.polynomial<double>(square, kWideLog), s.wideNumber(2.0));
  Value logOfM = s.mul(ratio, sum);
  if (base == Base::ten)
    logOfM = s.mul(logOfM, s.wideNumber(0x1.bcb7b1526e50ep-2));
  Value logOf2 = s.wideNumber(base == Base::ten ? 0x1.34413509f79ffp-2
                                                : 0x1.62e42fefa39efp-1);
  return fixSpecials(s, s.fma(s.toWideNumber(k), logOf2, logOfM), x);
}

Value mx::emitLog(Sequence &s, ValueRange operands) {
  Value x = operands[0];
  auto [k, f] = normalize(s, x);
  Value logOfM = s.fma(s.mul(f, f), s.polynomial<float>(f, kLog), f);
  return fixSpecials(s, s.fma(k, s.number(kLn2), logOfM), x);
}

Value mx::emitLog2(Sequence &s, ValueRange operands) {
  Value x = operands[0];
  auto [k, f] = normalize(s, x);
  Value rest = s.mul(f, s.number(kLog2ELow));
  rest = s.fma(s.mul(f, f), s.polynomial<float>(f, kLog2), rest);
  Value logOfM = s.fma(f, s.number(kLog2E), rest);
  return fixSpecials(s, s.add(k, logOfM), x);
}

Value mx::emitLog10(Sequence &s, ValueRange operands) {
  return s.narrow(emitWideLog(s, s.widen(operands[0]), Base::ten));
}

Value mx::emitLog1p(Sequence &s, ValueRange operands) {
  return s.narrow(emitWideLog1p(s, s.widen(operands[0])));
}

//===----------------------------------------------------------------------===//
// Powers and roots
//
// x^y = exp(y * log|x|) in f64, plus the special cases of IEEE 754 and C.
//===----------------------------------------------------------------------===//

namespace {

/// Exponent y of a power. The i1 values `isInteger` and `isOdd` classify y.
struct Exponent {
  Value value, isInteger, isOdd;
};

Value isTrue(Sequence &s, bool value) {
  return s.constant(s.getBoolAttr(value));
}

Value isNot(Sequence &s, Value condition) {
  return s.xorBits(condition, isTrue(s, true));
}

Value emitPower(Sequence &s, Value x, const Exponent &y) {
  Value zero = s.number(0.0f), one = s.number(1.0f);
  Value infinity = s.number(std::numeric_limits<float>::infinity());
  Value none = s.number(std::numeric_limits<float>::quiet_NaN());
  Value size = s.magnitude(x);
  Value exponent = s.mul(y.value, emitWideLog(s, s.widen(size)));
  // Beyond these limits the result is 0 or infinite. NaN is unchanged.
  Value high = s.wideNumber(200.0), low = s.wideNumber(-200.0);
  exponent = s.select(s.less(high, exponent), high, exponent);
  exponent = s.select(s.less(exponent, low), low, exponent);
  Value power = s.narrow(emitWideExp(s, exponent));

  // Powers of a negative x are NaN unless y is an integer.
  Value isNegative = arith::CmpIOp::create(s, arith::CmpIPredicate::slt,
                                           s.toBits(x), s.bits(0));
  power = s.select(s.andBits(isNegative, y.isOdd), s.negate(power), power);
  Value isBelow = s.andBits(s.less(x, zero), s.less(size, infinity));
  Value hasNone = s.andBits(isBelow, isNot(s, y.isInteger));
  power = s.select(hasNone, none, power);
  // Computes x^2, the most frequent power, directly.
  Value isSquare = s.equal(y.value, s.wideNumber(2.0));
  power = s.select(isSquare, s.mul(x, x), power);
  // 1^y and x^0 are 1 even for NaN, and (-1)^(+-infinity) is 1.
  Value endless = s.wideNumber(std::numeric_limits<double>::infinity());
  Value isOne =
      s.andBits(s.equal(size, one), s.equal(s.magnitude(y.value), endless));
  isOne = s.orBits(isOne, s.equal(x, one));
  isOne = s.orBits(isOne, s.equal(y.value, s.wideNumber(0.0)));
  return s.select(isOne, one, power);
}

} // namespace

Value mx::emitPowf(Sequence &s, ValueRange operands) {
  Value x = operands[0], y = operands[1];
  // Squares x directly if y is the constant 2. The general sequence returns the
  // same result.
  auto widened = y.getDefiningOp<arith::ExtFOp>();
  APFloat constant(0.0f);
  if (matchPattern(widened ? widened.getIn() : y, m_ConstantFloat(&constant)) &&
      constant.isExactlyValue(2.0))
    return s.mul(x, x);
  auto isWhole = [&](Value value) {
    return s.equal(value, math::TruncOp::create(s, value));
  };
  Value isInteger = isWhole(y);
  Value isEven = isWhole(s.mul(y, s.number(0.5f)));
  Value isOdd = s.andBits(isInteger, isNot(s, isEven));
  return emitPower(s, x, {s.widen(y), isInteger, isOdd});
}

Value mx::emitFPowI(Sequence &s, ValueRange operands) {
  Value x = operands[0], y = operands[1];
  if (getElementTypeOrSelf(y).isIndex())
    y = arith::IndexCastOp::create(s, s.like(s.getI64Type()), y);
  Value one = s.constant(s.getIntegerAttr(getElementTypeOrSelf(y), 1));
  Value isOdd = isNot(s, s.isZero(s.andBits(y, one)));
  return emitPower(s, x, {s.toWideNumber(y), isTrue(s, true), isOdd});
}

Value mx::emitRsqrt(Sequence &s, ValueRange operands) {
  return s.div(s.number(1.0f), s.sqrt(operands[0]));
}

/// Divides the exponent by 3 for an estimate t with 5 correct bits. Two Halley
/// iterations t * (2 x + t^3) / (x + 2 t^3) increase this number to 16 and 47.
Value mx::emitCbrt(Sequence &s, ValueRange operands) {
  Value x = s.widen(operands[0]), size = s.magnitude(x);
  Value half = s.wideBits(32);
  Value high = s.shiftRight(s.toBits(size), half);
  Value third = s.shiftRight(s.mulBits(high, s.wideBits(0x55555556)), half);
  Value t =
      s.fromBits(s.shiftLeft(s.addBits(third, s.wideBits(715094163)), half));
  for (int step = 0; step < 2; ++step) {
    Value cube = s.mul(s.mul(t, t), t);
    Value ratio =
        s.div(s.add(s.add(size, size), cube), s.add(size, s.add(cube, cube)));
    t = s.mul(t, ratio);
  }
  // Zeros, infinities and NaN are returned unchanged.
  Value infinity = s.wideNumber(std::numeric_limits<double>::infinity());
  Value isOrdinary =
      s.andBits(s.less(s.wideNumber(0.0), size), s.less(size, infinity));
  Value root = s.select(isOrdinary, t, size);
  return s.narrow(s.withSignOf(root, x));
}
