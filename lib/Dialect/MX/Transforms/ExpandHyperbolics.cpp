//===- ExpandHyperbolics.cpp - sinh, asinh and their kin ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// All in f64 from f32: no square overflows there and no subnormal number is
// one. What a sum with 1 rounds off counts below 2^-20 only: small arguments
// are computed by the first terms of a series.
//
//===----------------------------------------------------------------------===//

#include "MathSequence.h"

using namespace mlir;
using namespace mx;

namespace {

constexpr double kWideLog2E = 0x1.71547652b82fep+0;
constexpr double kWideLn2 = 0x1.62e42fefa39efp-1,
                 kWideLn2Low = 0x1.abc9e3b39803fp-56;
/// Adding it rounds to an integer, which then stands in the low bits.
constexpr double kWideRound = 0x1.8p+52;
constexpr double kSmall = 0x1p-20;

/// e^f = 1 + f + f^2 E(f) for |f| <= log(2) / 2: least largest relative error
/// of e^f - 1, the coefficients rounded one after another.
constexpr double kExpm1[] = {
    0x1.0000000000000p-1,  0x1.55555555525ccp-3,  0x1.55555555decd4p-5,
    0x1.111111215f68dp-7,  0x1.6c16c0a0b7417p-10, 0x1.a01997468e24ap-13,
    0x1.a017d70a2b1cep-16, 0x1.72e3733fcd2e0p-19, 0x1.2de28cc8d20ddp-22};

/// Beyond it all functions are what they are at infinity.
constexpr float kLimit = 110.0f;

/// e^x = power * (1 + rest).
struct WideParts {
  Value power, rest;
};

WideParts splitWide(Sequence &s, Value x) {
  Value rounded = s.fma(x, s.wideNumber(kWideLog2E), s.wideNumber(kWideRound));
  Value k = s.sub(s.wideNumber(kWideRound), rounded); // negative
  Value f = s.fma(k, s.wideNumber(kWideLn2), x);
  f = s.fma(k, s.wideNumber(kWideLn2Low), f);
  Value rest = s.fma(s.mul(f, f), s.polynomial<double>(f, kExpm1), f);
  Value exponent = s.shiftLeft(s.toBits(rounded), s.wideBits(52));
  Value one = s.wideBits(0x3FF0000000000000);
  return {s.fromBits(s.addBits(exponent, one)), rest};
}

/// `large`, or x + x^3 * `third` where x is small.
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
