//===- ExpandPowers.cpp - Powers and roots ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// x^y = exp(y * log|x|) in f64, and the cases that IEEE 754 and C list for pow.
//
//===----------------------------------------------------------------------===//

#include "MathSequence.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mx;

namespace {

/// y, and whether it is an integer, and an odd one.
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
  // Beyond these the result is 0 or infinite. NaN stays.
  Value high = s.wideNumber(200.0), low = s.wideNumber(-200.0);
  exponent = s.select(s.less(high, exponent), high, exponent);
  exponent = s.select(s.less(exponent, low), low, exponent);
  Value power = s.narrow(emitWideExp(s, exponent));

  // Negative numbers have powers to integers only.
  Value isNegative = arith::CmpIOp::create(s, arith::CmpIPredicate::slt,
                                           s.toBits(x), s.bits(0));
  power = s.select(s.andBits(isNegative, y.isOdd), s.negate(power), power);
  Value isBelow = s.andBits(s.less(x, zero), s.less(size, infinity));
  Value hasNone = s.andBits(isBelow, isNot(s, y.isInteger));
  power = s.select(hasNone, none, power);
  // What is asked for most.
  Value isSquare = s.equal(y.value, s.wideNumber(2.0));
  power = s.select(isSquare, s.mul(x, x), power);
  // 1 to any exponent, also NaN; anything to 0; -1 to an infinite one.
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
  // The general sequence gives this where y is 2, known or not.
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

/// A third of the exponent, then t * (2 x + t^3) / (x + 2 t^3) twice (Halley):
/// from 5 bits to 16, and to 47.
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
  // Zeros, infinities and NaN are themselves.
  Value infinity = s.wideNumber(std::numeric_limits<double>::infinity());
  Value isOrdinary =
      s.andBits(s.less(s.wideNumber(0.0), size), s.less(size, infinity));
  Value root = s.select(isOrdinary, t, size);
  return s.narrow(s.withSignOf(root, x));
}
