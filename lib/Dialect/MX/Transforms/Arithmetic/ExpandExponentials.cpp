//===- ExpandExponentials.cpp - exp, sigmoid, erf and erfc ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes e^x as 2^k * 2^f with k = round(x * log2(e)) and |f| <= 1/2. The
// exponent bits represent 2^k, and a polynomial approximates 2^f. Sequences
// need no branches and no conversions to integers. Clamps preserve NaN, so NaN
// is no special case.
//===----------------------------------------------------------------------===//

#include "MathSequence.h"
#include "mlir/IR/Matchers.h"
#include "mx/Dialect/MX/IR/NormalReciprocal.h"

using namespace mlir;
using namespace mx;

namespace {

/// Adding this value rounds a number to an integer, which is stored in the low
/// bits of the sum, because the ulp of the sum is 1.
constexpr float kRound = 0x1.8p+23f;

/// Coefficients of 2^f = 1 + f * (c[0] + f * (c[1] + ...)) on [-1/2, 1/2].
/// Among the neighbors of the rounded minimax coefficients, they have the least
/// maximum relative error.
constexpr float kSixTerms[] = {0x1.62e43p-1f,   0x1.ebfbdcp-3f,
                               0x1.c6aefep-5f,  0x1.3b2c7ep-7f,
                               0x1.5f3e52p-10f, 0x1.41fbbep-13f};
/// Shorter polynomial with an error of at most 0.77 * 2^-23, which is less than
/// the rounding errors of a sigmoid.
constexpr float kFiveTerms[] = {0x1.62e42ap-1f, 0x1.ebf9c8p-3f, 0x1.c6b754p-5f,
                                0x1.3cea6p-7f, 0x1.5bb8dp-10f};

/// If |x| exceeds this limit, exp is 0 or infinite in f32. Otherwise k / 2 is a
/// valid exponent.
constexpr float kExpLimit = 104.0f;
constexpr float kExp2Limit = 151.0f;

/// Up to this limit 2^k is normal and 1 + e^-x has a normal reciprocal.
constexpr float kSigmoidLimit = 87.0f;
/// 1 / (1 + e^kSigmoidLimit). Subtracting this value from a sigmoid returns 0
/// beyond the limit and changes no result above 2^-100.
constexpr float kSigmoidAtLimit = 0x1.666d0ep-126f;

/// Represents 2^k * 2^f, where `rounded` is kRound plus k and `fraction` is f.
struct SplitExponent {
  Value rounded, fraction;
};

} // namespace

static SplitExponent split(Sequence &s, Value x, float sign) {
  Value factor = s.number(sign * kLog2E);
  Value rounded = s.fma(x, factor, s.number(kRound));
  Value minusWhole = s.sub(s.number(kRound), rounded);
  Value fraction = s.fma(x, factor, minusWhole);
  fraction = s.fma(x, s.number(sign * kLog2ELow), fraction);
  return {s.toBits(rounded), fraction};
}

/// Splits 2^x. The fraction is exact.
static SplitExponent splitBinary(Sequence &s, Value x) {
  Value rounded = s.add(x, s.number(kRound));
  return {s.toBits(rounded), s.sub(x, s.sub(rounded, s.number(kRound)))};
}

static Value powerOfFraction(Sequence &s, Value fraction,
                             ArrayRef<float> terms) {
  return s.fma(s.polynomial(fraction, terms), fraction, s.number(1.0f));
}

/// Multiplies by 2^(k / 2) twice, because 2^k may be out of range. The result
/// is exact unless the last multiplication underflows or overflows.
static Value scale(Sequence &s, Value power, Value rounded) {
  Value half = s.shiftRightSigned(rounded, s.bits(1));
  Value otherHalf = s.subBits(rounded, half);
  Value scaled = s.mul(power, s.powerOfTwo(half));
  return s.mul(scaled, s.powerOfTwo(otherHalf));
}

static bool isF32(Type type) {
  return getElementTypeOrSelf(type).isF32() &&
         isa<Float32Type, VectorType>(type);
}

static Value emitSigmoid(Sequence &s, Value x) {
  auto [rounded, fraction] = split(s, s.clamp(x, kSigmoidLimit), -1.0f);
  Value power = powerOfFraction(s, fraction, kFiveTerms);
  Value sum = s.fma(power, s.powerOfTwo(rounded), s.number(1.0f));
  auto reciprocal = arith::DivFOp::create(s, s.number(1.0f), sum);
  reciprocal->setAttr(mx::kNormalReciprocalName, s.getUnitAttr());
  return s.sub(reciprocal, s.number(kSigmoidAtLimit));
}

/// Returns x if `sum` is 1 + exp(-x), else null.
static Value matchOnePlusExpOfMinus(Value sum) {
  auto add = sum.getDefiningOp<arith::AddFOp>();
  if (!add)
    return {};
  Value a = add.getLhs(), b = add.getRhs();
  if (matchPattern(b, m_OneFloat()))
    std::swap(a, b);
  auto exp = b.getDefiningOp<math::ExpOp>();
  auto minus = exp ? exp.getOperand().getDefiningOp<arith::NegFOp>() : nullptr;
  return matchPattern(a, m_OneFloat()) && minus ? minus.getOperand() : Value();
}

static LogicalResult expandSigmoid(arith::DivFOp op,
                                   PatternRewriter &rewriter) {
  if (!isF32(op.getType()))
    return failure();
  Value x = matchOnePlusExpOfMinus(op.getRhs());
  bool isSilu = x == op.getLhs();
  if (!x || (!isSilu && !matchPattern(op.getLhs(), m_OneFloat())))
    return failure();
  Sequence sequence(rewriter, op.getLoc(), op.getType());
  Value sigmoid = emitSigmoid(sequence, x);
  rewriter.replaceOp(op, isSilu ? sequence.mul(x, sigmoid) : sigmoid);
  return success();
}

void mx::populateSigmoidExpansionPatterns(RewritePatternSet &patterns) {
  patterns.add(expandSigmoid);
}

Value mx::emitExp(Sequence &s, ValueRange operands) {
  auto [rounded, fraction] = split(s, s.clamp(operands[0], kExpLimit), 1.0f);
  return scale(s, powerOfFraction(s, fraction, kSixTerms), rounded);
}

Value mx::emitExp2(Sequence &s, ValueRange operands) {
  auto [rounded, fraction] = splitBinary(s, s.clamp(operands[0], kExp2Limit));
  return scale(s, powerOfFraction(s, fraction, kSixTerms), rounded);
}

Value mx::emitSmallPower(Sequence &s, Value y) {
  auto [rounded, fraction] = splitBinary(s, y);
  return s.mul(powerOfFraction(s, fraction, kSixTerms), s.powerOfTwo(rounded));
}

//===----------------------------------------------------------------------===//
// Error functions
//
// erf is odd. For |x| >= 1, erf(|x|) is computed as 1 - erfc(|x|), where
// erfc(|x|) is 2 to the power of a polynomial. The function erfc itself is
// computed in f64, because its values may be much smaller than an ulp of erf.
//===----------------------------------------------------------------------===//

/// Coefficients of N in erf(x) = x + x * N(x^2) for |x| <= 1, and of F in
/// log2(erfc(x)) = F(x) for 1 <= x <= 4. Minimax polynomials for the error
/// relative to erf; the coefficients were rounded successively.
constexpr float kNear[] = {0x1.06eba8p-3f,  -0x1.81273ep-2f, 0x1.ce2ce6p-4f,
                           -0x1.b7f71ap-6f, 0x1.53f224p-8f,  -0x1.a3515ep-11f,
                           0x1.4772p-14f};
constexpr float kFar[] = {-0x1.025e0cp-11f, -0x1.a04486p+0f, -0x1.d75f54p-1f,
                          -0x1.30a442p-3f,  0x1.021736p-5f,  -0x1.16b008p-8f,
                          0x1.19eeb4p-12f};
/// Above this limit erf rounds to 1 in f32.
constexpr float kErfLimit = 4.0f;

/// Coefficients of C in erfc(a) = exp(-a^2) / (1 + 2 a) * C((a - 3) / (a + 3))
/// on [0, 11].
constexpr double kErfc[] = {
    0x1.40c522d7e490ap+0,   -0x1.15c084bc3a3c2p-3,  -0x1.85a15c581a868p-5,
    0x1.098366d0e5457p-3,   -0x1.e88b801bce242p-4,  0x1.17ca2190a06d8p-4,
    -0x1.8574da9aafb04p-6,  0x1.4b8fd4f95186dp-9,   0x1.ef2edd848ca5cp-10,
    -0x1.99543b307edd0p-11, -0x1.bfebab5f8e42ep-14, 0x1.09204a1024fe2p-13,
    0x1.341848d3ca32ap-17,  -0x1.415d1650210dap-16, -0x1.3ce7230cf8607p-18};
/// Above this limit erfc is less than half the smallest f32.
constexpr float kErfcLimit = 11.0f;

Value mx::emitErf(Sequence &s, ValueRange operands) {
  Value x = operands[0], size = s.magnitude(x), square = s.mul(x, x);
  Value near = s.fma(x, s.polynomial<float>(square, kNear), x);
  Value limited = arith::MinimumFOp::create(s, size, s.number(kErfLimit));
  Value power = emitSmallPower(s, s.polynomial<float>(limited, kFar));
  Value far = s.withSignOf(s.sub(s.number(1.0f), power), x);
  return s.select(s.less(size, s.number(1.0f)), near, far);
}

Value mx::emitErfc(Sequence &s, ValueRange operands) {
  Value x = s.widen(s.clamp(operands[0], kErfcLimit)), a = s.magnitude(x);
  Value three = s.wideNumber(3.0), one = s.wideNumber(1.0);
  // A single division yields both 1 / (a + 3) and 1 / (1 + 2 a).
  Value sum = s.add(a, three), under = s.fma(a, s.wideNumber(2.0), one);
  Value reciprocal = s.div(one, s.mul(sum, under));
  Value t = s.mul(s.mul(s.sub(a, three), under), reciprocal);
  Value scaled = s.mul(s.mul(s.polynomial<double>(t, kErfc), sum), reciprocal);
  Value tail = s.mul(scaled, emitWideExp(s, s.negate(s.mul(a, a))));
  Value isLeft = s.less(x, s.wideNumber(0.0));
  Value other = s.sub(s.wideNumber(2.0), tail);
  return s.narrow(s.select(isLeft, other, tail));
}
