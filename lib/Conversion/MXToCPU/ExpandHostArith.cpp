//===- ExpandHostArith.cpp - What a host computes otherwise ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A GPU has instructions for the fused multiply-add of f16 and bf16, and for a
// maximum that orders zeros and leaves out NaN, and moves bf16 as bits. LLVM
// gives a host a library's function, or two roundings, a maximum of some zero,
// and numbers that a conversion has changed.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "mx/Conversion/MXToCPU/Passes.h"

namespace mx {
#define GEN_PASS_DEF_EXPANDHOSTARITH
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

using namespace mlir;

namespace {

/// maximumNumber and minimumNumber: of a number and NaN the number; of two
/// numbers what `NumbersOp` gives, which orders zeros.
template <typename OpT, typename NumbersOp>
struct ExpandNumber final : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder builder(op.getLoc(), rewriter);
    Value a = op.getLhs(), b = op.getRhs();
    auto isNaN = [&](Value x) -> Value {
      return arith::CmpFOp::create(builder, arith::CmpFPredicate::UNO, x, x);
    };
    Value result = NumbersOp::create(builder, a, b);
    result = arith::SelectOp::create(builder, isNaN(b), a, result);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isNaN(a), b, result);
    return success();
  }
};

/// One rounding: the product is exact in f64. The sum is rounded to odd there,
/// so that its last bit stands for all that was lost: f64 has more than two
/// bits beyond those of a half, and truncf rounds as if it saw the exact sum.
struct ExpandHalfFma final : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    Type element = getElementTypeOrSelf(op.getType());
    if (!element.isF16() && !element.isBF16())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto as = [&](Type element) -> Type {
      if (auto shaped = dyn_cast<ShapedType>(op.getType()))
        return shaped.clone(element);
      return element;
    };
    Type doubles = as(b.getF64Type()), integers = as(b.getI64Type());
    auto constant = [&](Type type, TypedAttr value) -> Value {
      if (auto shaped = dyn_cast<ShapedType>(type))
        value = DenseElementsAttr::get(shaped, Attribute(value));
      return arith::ConstantOp::create(b, value);
    };
    auto integer = [&](int64_t value) {
      return constant(integers, b.getI64IntegerAttr(value));
    };
    auto widen = [&](Value x) -> Value {
      return arith::ExtFOp::create(b, doubles, x);
    };
    auto sub = [&](Value x, Value y) -> Value {
      return arith::SubFOp::create(b, x, y);
    };
    auto bitsOf = [&](Value x) -> Value {
      return arith::BitcastOp::create(b, integers, x);
    };
    Value product =
        arith::MulFOp::create(b, widen(op.getA()), widen(op.getB()));
    Value addend = widen(op.getC());
    // sum + error is exact (Knuth's TwoSum). Of infinities error is NaN.
    Value sum = arith::AddFOp::create(b, product, addend);
    Value added = sub(sum, product);
    Value error = arith::AddFOp::create(b, sub(product, sub(sum, added)),
                                        sub(addend, added));
    Value bits = bitsOf(sum);
    Value zero = constant(doubles, b.getF64FloatAttr(0.0));
    Value isRounded =
        arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, error, zero);
    Value isEven = arith::CmpIOp::create(
        b, arith::CmpIPredicate::eq, arith::AndIOp::create(b, bits, integer(1)),
        integer(0));
    // An error of the sum's sign is beyond it, and bits grow with magnitudes.
    Value isBeyond = arith::CmpIOp::create(
        b, arith::CmpIPredicate::sge,
        arith::XOrIOp::create(b, bits, bitsOf(error)), integer(0));
    Value step = arith::SelectOp::create(b, isBeyond, integer(1), integer(-1));
    Value odd =
        arith::SelectOp::create(b, arith::AndIOp::create(b, isRounded, isEven),
                                arith::AddIOp::create(b, bits, step), bits);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(
        op, op.getType(), arith::BitcastOp::create(b, doubles, odd));
    return success();
  }
};

/// A selection of bits. Where a host has conversions to bf16, LLVM selects
/// among f32 and converts what is selected, which makes zeros of subnormal
/// numbers.
struct SelectHalfBits final : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::SelectOp op,
                                PatternRewriter &rewriter) const override {
    Type element = getElementTypeOrSelf(op.getType());
    if (!element.isF16() && !element.isBF16())
      return failure();
    Type integers = rewriter.getI16Type();
    if (auto shaped = dyn_cast<ShapedType>(op.getType()))
      integers = shaped.clone(integers);
    auto bitsOf = [&](Value x) -> Value {
      return arith::BitcastOp::create(rewriter, op.getLoc(), integers, x);
    };
    Value selected = arith::SelectOp::create(
        rewriter, op.getLoc(), op.getCondition(), bitsOf(op.getTrueValue()),
        bitsOf(op.getFalseValue()));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), selected);
    return success();
  }
};

struct ExpandHostArithPass final
    : mx::impl::ExpandHostArithBase<ExpandHostArithPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandNumber<arith::MaxNumFOp, arith::MaximumFOp>,
                 ExpandNumber<arith::MinNumFOp, arith::MinimumFOp>,
                 ExpandHalfFma, SelectHalfBits>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
