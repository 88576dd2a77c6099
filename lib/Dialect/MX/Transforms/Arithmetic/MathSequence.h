//===- MathSequence.h - Builder of IEEE sequences ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences consist of integer operations, selects, and f32 and f64 additions,
// multiplications, divisions, fma and square roots, which round to nearest.
// Rarely used functions extend f32 operands to f64 ("wide") and round the
// result once. docs/reference/Math.md documents the functions and their errors.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_ARITHMETIC_MATHSEQUENCE_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_ARITHMETIC_MATHSEQUENCE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

namespace mx {

using mlir::ArrayRef;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

/// Builds operations on scalars, or on vectors with the shape of `shape`.
class Sequence : public mlir::ImplicitLocOpBuilder {
public:
  Sequence(mlir::OpBuilder &builder, mlir::Location loc, Type shape)
      : ImplicitLocOpBuilder(loc, builder),
        vector(mlir::dyn_cast<mlir::VectorType>(shape)) {}

  /// Returns `element`, or the vector type with these elements.
  Type like(Type element) {
    return vector ? Type(vector.clone(element)) : element;
  }

  Value number(float value) { return constant(getF32FloatAttr(value)); }
  Value wideNumber(double value) { return constant(getF64FloatAttr(value)); }
  Value bits(int32_t value) { return constant(getI32IntegerAttr(value)); }
  Value wideBits(int64_t value) { return constant(getI64IntegerAttr(value)); }
  Value numberLike(Value x, double value) {
    return constant(getFloatAttr(getElementTypeOrSelf(x), value));
  }

#define MX_BINARY(NAME, OP)                                                    \
  Value NAME(Value a, Value b) { return mlir::OP::create(*this, a, b); }
  MX_BINARY(add, arith::AddFOp)
  MX_BINARY(sub, arith::SubFOp)
  MX_BINARY(mul, arith::MulFOp)
  MX_BINARY(div, arith::DivFOp)
  MX_BINARY(withSignOf, math::CopySignOp)
  MX_BINARY(addBits, arith::AddIOp)
  MX_BINARY(subBits, arith::SubIOp)
  MX_BINARY(mulBits, arith::MulIOp)
  MX_BINARY(andBits, arith::AndIOp)
  MX_BINARY(orBits, arith::OrIOp)
  MX_BINARY(xorBits, arith::XOrIOp)
  MX_BINARY(shiftLeft, arith::ShLIOp)
  MX_BINARY(shiftRight, arith::ShRUIOp)
  MX_BINARY(shiftRightSigned, arith::ShRSIOp)
#undef MX_BINARY

  Value sqrt(Value a) { return mlir::math::SqrtOp::create(*this, a); }
  Value negate(Value a) { return mlir::arith::NegFOp::create(*this, a); }
  Value magnitude(Value x) { return mlir::math::AbsFOp::create(*this, x); }
  Value fma(Value a, Value b, Value c) {
    return mlir::math::FmaOp::create(*this, a, b, c);
  }
  /// Evaluates c[0] + x * (c[1] + x * (c[2] + ...)) in the type of x.
  template <typename T>
  Value polynomial(Value x, ArrayRef<T> terms) {
    Value sum = numberLike(x, terms.back());
    for (T term : llvm::reverse(terms.drop_back()))
      sum = fma(sum, x, numberLike(x, term));
    return sum;
  }

  Value less(Value a, Value b) {
    return mlir::arith::CmpFOp::create(*this, mlir::arith::CmpFPredicate::OLT,
                                       a, b);
  }
  Value equal(Value a, Value b) {
    return mlir::arith::CmpFOp::create(*this, mlir::arith::CmpFPredicate::OEQ,
                                       a, b);
  }
  Value isZero(Value a) {
    Value zero = constant(getIntegerAttr(getElementTypeOrSelf(a), 0));
    return mlir::arith::CmpIOp::create(*this, mlir::arith::CmpIPredicate::eq, a,
                                       zero);
  }
  Value select(Value condition, Value a, Value b) {
    return mlir::arith::SelectOp::create(*this, condition, a, b);
  }

  Value toBits(Value x) {
    bool isWide = getElementTypeOrSelf(x).isF64();
    return mlir::arith::BitcastOp::create(
        *this, like(isWide ? Type(getI64Type()) : Type(getI32Type())), x);
  }
  Value fromBits(Value x) {
    bool isWide = getElementTypeOrSelf(x).isInteger(64);
    return mlir::arith::BitcastOp::create(
        *this, like(isWide ? Type(getF64Type()) : Type(getF32Type())), x);
  }
#define MX_CONVERSION(NAME, OP, ELEMENT)                                       \
  Value NAME(Value x) {                                                        \
    return mlir::arith::OP::create(*this, like(ELEMENT()), x);                 \
  }
  MX_CONVERSION(widen, ExtFOp, getF64Type)
  MX_CONVERSION(narrow, TruncFOp, getF32Type)
  MX_CONVERSION(widenBits, ExtUIOp, getI64Type)
  MX_CONVERSION(narrowBits, TruncIOp, getI32Type)
  MX_CONVERSION(toNumber, SIToFPOp, getF32Type)
  MX_CONVERSION(toWideNumber, SIToFPOp, getF64Type)
#undef MX_CONVERSION

  /// Returns the values of `rare` if `condition` is true, else `common`. Emits
  /// a branch for scalars and a select for vectors.
  llvm::SmallVector<Value>
  branch(Value condition, llvm::ArrayRef<Value> common,
         llvm::function_ref<llvm::SmallVector<Value>()> rare) {
    if (vector) {
      llvm::SmallVector<Value> values = rare();
      for (auto [value, other] : llvm::zip_equal(values, common))
        value = select(condition, value, other);
      return values;
    }
    auto ifOp =
        mlir::scf::IfOp::create(*this, mlir::TypeRange(ValueRange(common)),
                                condition, /*withElse=*/true);
    InsertionGuard guard(*this);
    setInsertionPointToStart(ifOp.elseBlock());
    mlir::scf::YieldOp::create(*this, common);
    setInsertionPointToStart(ifOp.thenBlock());
    mlir::scf::YieldOp::create(*this, rare());
    return llvm::to_vector_of<Value>(ifOp.getResults());
  }

  /// Clamps |x| to `limit`; NaN is unchanged.
  Value clamp(Value x, float limit) {
    Value above = mlir::arith::MaximumFOp::create(*this, x, number(-limit));
    return mlir::arith::MinimumFOp::create(*this, above, number(limit));
  }

  /// Returns 2^k for k in the last nine bits of `bits`.
  Value powerOfTwo(Value bits) {
    Value exponent = shiftLeft(bits, this->bits(23));
    return fromBits(addBits(exponent, this->bits(0x3F800000)));
  }

  Value constant(mlir::TypedAttr value) {
    if (vector)
      value = mlir::DenseElementsAttr::get(
          mlir::cast<mlir::ShapedType>(like(value.getType())),
          mlir::Attribute(value));
    return mlir::arith::ConstantOp::create(*this, value);
  }

private:
  mlir::VectorType vector;
};

/// log2(e) in two terms; the second is the rounding error of the first.
constexpr float kLog2E = 0x1.715476p+0f;
constexpr float kLog2ELow = 0x1.4ae0cp-26f;

/// Compute e^x and e^x - 1 in f64 with a relative error of 2^-45, for |x| <=
/// 700 or NaN.
Value emitWideExp(Sequence &s, Value x);
Value emitWideExpm1(Sequence &s, Value x);
/// Computes 2^y for -120 <= y <= 0 or NaN (f32), with relative error 2^-23.
Value emitSmallPower(Sequence &s, Value y);

/// Computes log(x) / log(base) in f64 with a relative error of 2^-50, for x
/// with a normal exponent, 0, infinite, negative or NaN.
enum class Base { e, ten };
Value emitWideLog(Sequence &s, Value x, Base base = Base::e);

using EmitFunction = Value(Sequence &s, ValueRange operands);

// ExpandExponentials.cpp
EmitFunction emitExp, emitExp2, emitErf, emitErfc;
/// Patterns for 1 / (1 + exp(-x)) and x / (1 + exp(-x)). Must run before `exp`
/// is expanded.
void populateSigmoidExpansionPatterns(mlir::RewritePatternSet &patterns);
// ExpandLogarithms.cpp
EmitFunction emitLog, emitLog2, emitLog10, emitLog1p, emitPowf, emitFPowI,
    emitRsqrt, emitCbrt;
// ExpandTrigonometry.cpp
EmitFunction emitExpm1, emitSinh, emitCosh, emitAsinh, emitAcosh, emitAtanh,
    emitSin, emitCos, emitTan, emitAsin, emitAcos, emitAtan, emitAtan2;

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_ARITHMETIC_MATHSEQUENCE_H
