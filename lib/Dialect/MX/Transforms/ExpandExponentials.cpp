//===- ExpandExponentials.cpp - exp and sigmoid as IEEE operations --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// e^x = 2^k * 2^f with k = round(x * log2(e)) and |f| <= 1/2, the second factor
// by a polynomial, the first from bits. Nothing branches, rounds to integers by
// an instruction of its own, or needs a case for NaN: clamps keep them, and all
// that follows is arithmetic on floats.
//
//===----------------------------------------------------------------------===//

#include "ExpandExponentials.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mx/Dialect/MX/IR/NormalReciprocal.h"

using namespace mlir;

namespace {

/// log2(e) in two parts, the second for what the first's rounding leaves out.
constexpr float kLog2E = 0x1.715476p+0f;
constexpr float kLog2ELow = 0x1.4ae0cp-26f;

/// Adding it rounds to an integer, which then stands in the low bits: the last
/// of a number of this size counts as one.
constexpr float kRound = 0x1.8p+23f;

/// 2^f = 1 + f * (c[0] + f * (c[1] + ...)) on [-1/2, 1/2]: least largest
/// relative error, then a search among neighbours of the rounded coefficients.
constexpr float kSixTerms[] = {0x1.62e43p-1f,   0x1.ebfbdcp-3f,
                               0x1.c6aefep-5f,  0x1.3b2c7ep-7f,
                               0x1.5f3e52p-10f, 0x1.41fbbep-13f};
/// Off by 0.77 * 2^-23 at most: less than the roundings of a sigmoid.
constexpr float kFiveTerms[] = {0x1.62e42ap-1f, 0x1.ebf9c8p-3f, 0x1.c6b754p-5f,
                                0x1.3cea6p-7f, 0x1.5bb8dp-10f};

/// Beyond it exp is 0 or infinite in f32, and half of k still is an exponent.
constexpr float kExpLimit = 104.0f;

/// Up to it 2^k is normal and 1 + e^-x has a normal reciprocal.
constexpr float kSigmoidLimit = 87.0f;
/// That reciprocal at -kSigmoidLimit: subtracted, it makes what lies beyond the
/// limit zero and changes no result above 2^-100.
constexpr float kSigmoidAtLimit = 0x1.666d0ep-126f;

/// Builds the operations on f32 numbers or vectors of them.
class Sequence : public ImplicitLocOpBuilder {
public:
  Sequence(OpBuilder &builder, Location loc, Type type)
      : ImplicitLocOpBuilder(loc, builder), type(type) {}

  Value number(float value) { return constant(getF32FloatAttr(value), type); }
  Value bits(int32_t value) {
    return constant(getI32IntegerAttr(value), getBitsType());
  }
  Value add(Value a, Value b) { return create<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return create<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return create<arith::MulFOp>(a, b); }
  Value fma(Value a, Value b, Value c) { return create<math::FmaOp>(a, b, c); }

  /// `limit` with the sign of x beyond it; NaN stays.
  Value clamp(Value x, float limit) {
    Value above = create<arith::MaximumFOp>(x, number(-limit));
    return create<arith::MinimumFOp>(above, number(limit));
  }

  /// exp(`sign` * x) as 2^k * 2^f; the bits of `rounded` are those of kRound
  /// plus k.
  struct Parts {
    Value rounded, fraction;
  };
  Parts split(Value x, float sign) {
    Value factor = number(sign * kLog2E);
    Value rounded = fma(x, factor, number(kRound));
    Value minusWhole = sub(number(kRound), rounded);
    Value fraction = fma(x, factor, minusWhole);
    fraction = fma(x, number(sign * kLog2ELow), fraction);
    return {create<arith::BitcastOp>(getBitsType(), rounded), fraction};
  }

  Value powerOfFraction(Value fraction, ArrayRef<float> terms) {
    Value sum = number(terms.back());
    for (float term : llvm::reverse(terms.drop_back()))
      sum = fma(sum, fraction, number(term));
    return fma(sum, fraction, number(1.0f));
  }

  /// 2^k, where `bits` are k in their last nine.
  Value powerOfTwo(Value bits) {
    Value exponent = create<arith::ShLIOp>(bits, this->bits(23));
    Value power = create<arith::AddIOp>(exponent, this->bits(0x3F800000));
    return create<arith::BitcastOp>(type, power);
  }

private:
  Value constant(TypedAttr value, Type ofType) {
    if (auto shaped = dyn_cast<ShapedType>(ofType))
      value = DenseElementsAttr::get(shaped, Attribute(value));
    return create<arith::ConstantOp>(value);
  }
  Type getBitsType() {
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.clone(getI32Type());
    return getI32Type();
  }

  Type type;
};

/// Whether the sequences are for this type.
bool isF32(Type type) {
  return getElementTypeOrSelf(type).isF32() &&
         isa<Float32Type, VectorType>(type);
}

/// Half of k twice, since 2^k may be less or more than any number: exact but
/// for the last multiplication, which may underflow or overflow.
Value emitExp(Sequence &s, Value x) {
  auto [rounded, fraction] = s.split(s.clamp(x, kExpLimit), 1.0f);
  Value power = s.powerOfFraction(fraction, kSixTerms);
  Value half = s.create<arith::ShRSIOp>(rounded, s.bits(1));
  Value otherHalf = s.create<arith::SubIOp>(rounded, half);
  Value scaled = s.mul(power, s.powerOfTwo(half));
  return s.mul(scaled, s.powerOfTwo(otherHalf));
}

Value emitSigmoid(Sequence &s, Value x) {
  auto [rounded, fraction] = s.split(s.clamp(x, kSigmoidLimit), -1.0f);
  Value power = s.powerOfFraction(fraction, kFiveTerms);
  Value sum = s.fma(power, s.powerOfTwo(rounded), s.number(1.0f));
  auto reciprocal = s.create<arith::DivFOp>(s.number(1.0f), sum);
  reciprocal->setAttr(mx::kNormalReciprocalName, s.getUnitAttr());
  return s.sub(reciprocal, s.number(kSigmoidAtLimit));
}

/// The x of 1 + exp(-x).
Value matchOnePlusExpOfMinus(Value sum) {
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

struct ExpandSigmoid final : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
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
};

struct ExpandExp final : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getType()))
      return failure();
    Sequence sequence(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op, emitExp(sequence, op.getOperand()));
    return success();
  }
};

} // namespace

void mx::populateSigmoidExpansionPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandSigmoid>(patterns.getContext());
}

void mx::populateExpExpansionPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandExp>(patterns.getContext(), /*benefit=*/2);
}
