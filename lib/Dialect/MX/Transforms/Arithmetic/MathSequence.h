//===- MathSequence.h - Functions as sequences of IEEE operations -*- C++ -*-=//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What all sequences are built of: additions, multiplications, divisions, fma
// and square roots of f32 and f64, all rounded to nearest; integers;
// selections. Nothing branches. Rare functions are computed in f64 ("wide")
// from f32 and rounded once. See docs/reference/Math.md for the functions and
// their errors.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_ARITHMETIC_MATHSEQUENCE_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_ARITHMETIC_MATHSEQUENCE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace mx {

using mlir::ArrayRef;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

/// Builds operations on numbers or vectors of them, of the shape of `shape`.
class Sequence : public mlir::ImplicitLocOpBuilder {
public:
  Sequence(mlir::OpBuilder &builder, mlir::Location loc, Type shape)
      : ImplicitLocOpBuilder(loc, builder),
        vector(mlir::dyn_cast<mlir::VectorType>(shape)) {}

  /// `element`, or the vector of it.
  Type like(Type element) {
    return vector ? Type(vector.clone(element)) : element;
  }

  Value number(float value) { return constant(getF32FloatAttr(value)); }
  Value wideNumber(double value) { return constant(getF64FloatAttr(value)); }
  Value bits(int32_t value) { return constant(getI32IntegerAttr(value)); }
  Value wideBits(int64_t value) { return constant(getI64IntegerAttr(value)); }
  /// `value` in the floating-point type of `x`.
  Value numberLike(Value x, double value) {
    return constant(getFloatAttr(getElementTypeOrSelf(x), value));
  }

  Value add(Value a, Value b) {
    return mlir::arith::AddFOp::create(*this, a, b);
  }
  Value sub(Value a, Value b) {
    return mlir::arith::SubFOp::create(*this, a, b);
  }
  Value mul(Value a, Value b) {
    return mlir::arith::MulFOp::create(*this, a, b);
  }
  Value div(Value a, Value b) {
    return mlir::arith::DivFOp::create(*this, a, b);
  }
  Value sqrt(Value a) { return mlir::math::SqrtOp::create(*this, a); }
  Value negate(Value a) { return mlir::arith::NegFOp::create(*this, a); }
  Value fma(Value a, Value b, Value c) {
    return mlir::math::FmaOp::create(*this, a, b, c);
  }
  /// c[0] + x * (c[1] + x * (c[2] + ...)), in the type of x.
  template <typename T>
  Value polynomial(Value x, ArrayRef<T> terms) {
    Value sum = numberLike(x, terms.back());
    for (T term : llvm::reverse(terms.drop_back()))
      sum = fma(sum, x, numberLike(x, term));
    return sum;
  }

  Value addBits(Value a, Value b) {
    return mlir::arith::AddIOp::create(*this, a, b);
  }
  Value subBits(Value a, Value b) {
    return mlir::arith::SubIOp::create(*this, a, b);
  }
  Value mulBits(Value a, Value b) {
    return mlir::arith::MulIOp::create(*this, a, b);
  }
  Value andBits(Value a, Value b) {
    return mlir::arith::AndIOp::create(*this, a, b);
  }
  Value orBits(Value a, Value b) {
    return mlir::arith::OrIOp::create(*this, a, b);
  }
  Value xorBits(Value a, Value b) {
    return mlir::arith::XOrIOp::create(*this, a, b);
  }
  Value shiftLeft(Value a, Value by) {
    return mlir::arith::ShLIOp::create(*this, a, by);
  }
  Value shiftRight(Value a, Value by) {
    return mlir::arith::ShRUIOp::create(*this, a, by);
  }
  Value shiftRightSigned(Value a, Value by) {
    return mlir::arith::ShRSIOp::create(*this, a, by);
  }

  Value less(Value a, Value b) {
    return mlir::arith::CmpFOp::create(*this, mlir::arith::CmpFPredicate::OLT,
                                       a, b);
  }
  Value equal(Value a, Value b) {
    return mlir::arith::CmpFOp::create(*this, mlir::arith::CmpFPredicate::OEQ,
                                       a, b);
  }
  /// Of integers.
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
  Value widen(Value x) {
    return mlir::arith::ExtFOp::create(*this, like(getF64Type()), x);
  }
  Value narrow(Value x) {
    return mlir::arith::TruncFOp::create(*this, like(getF32Type()), x);
  }
  Value widenBits(Value x) {
    return mlir::arith::ExtUIOp::create(*this, like(getI64Type()), x);
  }
  Value narrowBits(Value x) {
    return mlir::arith::TruncIOp::create(*this, like(getI32Type()), x);
  }
  Value toNumber(Value x) {
    return mlir::arith::SIToFPOp::create(*this, like(getF32Type()), x);
  }
  Value toWideNumber(Value x) {
    return mlir::arith::SIToFPOp::create(*this, like(getF64Type()), x);
  }
  Value magnitude(Value x) { return mlir::math::AbsFOp::create(*this, x); }
  Value withSignOf(Value x, Value sign) {
    return mlir::math::CopySignOp::create(*this, x, sign);
  }

  /// `common`, or what `rare` builds where `condition` holds: by a branch for
  /// numbers; of vectors both are computed.
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

  /// `limit` with the sign of x beyond it; NaN stays.
  Value clamp(Value x, float limit) {
    Value above = mlir::arith::MaximumFOp::create(*this, x, number(-limit));
    return mlir::arith::MinimumFOp::create(*this, above, number(limit));
  }

  /// 2^k, where `bits` are k in their last nine.
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

/// log2(e) in two terms, the second for what the first's rounding leaves out.
constexpr float kLog2E = 0x1.715476p+0f;
constexpr float kLog2ELow = 0x1.4ae0cp-26f;

/// e^x and e^x - 1 in f64 to 2^-45 of it, |x| <= 700 or NaN.
Value emitWideExp(Sequence &s, Value x);
Value emitWideExpm1(Sequence &s, Value x);
/// 2^y for y <= 0 of f32 and at least -120, to 2^-23 of it; NaN stays.
Value emitSmallPower(Sequence &s, Value y);

/// log(x) / log(base) in f64 to 2^-50 of it, x a number of f64 with a normal
/// exponent, 0, infinite, negative or NaN.
enum class Base { e, ten };
Value emitWideLog(Sequence &s, Value x, Base base = Base::e);

/// A function of f32, or vectors of them.
using EmitFunction = Value (*)(Sequence &s, ValueRange operands);

// ExpandExponentials.cpp
Value emitExp(Sequence &s, ValueRange operands);
Value emitExp2(Sequence &s, ValueRange operands);
Value emitErf(Sequence &s, ValueRange operands);
Value emitErfc(Sequence &s, ValueRange operands);

// ExpandLogarithms.cpp
Value emitLog(Sequence &s, ValueRange operands);
Value emitLog2(Sequence &s, ValueRange operands);
Value emitLog10(Sequence &s, ValueRange operands);
Value emitLog1p(Sequence &s, ValueRange operands);
Value emitPowf(Sequence &s, ValueRange operands);
Value emitFPowI(Sequence &s, ValueRange operands);
Value emitRsqrt(Sequence &s, ValueRange operands);
Value emitCbrt(Sequence &s, ValueRange operands);

// ExpandTrigonometry.cpp
Value emitExpm1(Sequence &s, ValueRange operands);
Value emitSinh(Sequence &s, ValueRange operands);
Value emitCosh(Sequence &s, ValueRange operands);
Value emitAsinh(Sequence &s, ValueRange operands);
Value emitAcosh(Sequence &s, ValueRange operands);
Value emitAtanh(Sequence &s, ValueRange operands);
Value emitSin(Sequence &s, ValueRange operands);
Value emitCos(Sequence &s, ValueRange operands);
Value emitTan(Sequence &s, ValueRange operands);
Value emitAsin(Sequence &s, ValueRange operands);
Value emitAcos(Sequence &s, ValueRange operands);
Value emitAtan(Sequence &s, ValueRange operands);
Value emitAtan2(Sequence &s, ValueRange operands);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_ARITHMETIC_MATHSEQUENCE_H
