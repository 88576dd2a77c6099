//===- MathSequence.h - Functions as sequences of IEEE operations -*- C++ -*-=//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What all sequences are built of: additions, multiplications, divisions, fma
// and square roots of f32 and f64, all rounded to nearest; integers;
// selections. Nothing branches. Rare functions are computed in f64 ("wide")
// from f32 and rounded once. See docs/Math.md for the functions and their
// errors.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_DIALECT_MX_TRANSFORMS_MATHSEQUENCE_H
#define MX_LIB_DIALECT_MX_TRANSFORMS_MATHSEQUENCE_H

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

  Value add(Value a, Value b) { return create<mlir::arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return create<mlir::arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return create<mlir::arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return create<mlir::arith::DivFOp>(a, b); }
  Value sqrt(Value a) { return create<mlir::math::SqrtOp>(a); }
  Value negate(Value a) { return create<mlir::arith::NegFOp>(a); }
  Value fma(Value a, Value b, Value c) {
    return create<mlir::math::FmaOp>(a, b, c);
  }
  /// c[0] + x * (c[1] + x * (c[2] + ...)), in the type of x.
  template <typename T>
  Value polynomial(Value x, ArrayRef<T> terms) {
    Value sum = numberLike(x, terms.back());
    for (T term : llvm::reverse(terms.drop_back()))
      sum = fma(sum, x, numberLike(x, term));
    return sum;
  }

  Value addBits(Value a, Value b) { return create<mlir::arith::AddIOp>(a, b); }
  Value subBits(Value a, Value b) { return create<mlir::arith::SubIOp>(a, b); }
  Value mulBits(Value a, Value b) { return create<mlir::arith::MulIOp>(a, b); }
  Value andBits(Value a, Value b) { return create<mlir::arith::AndIOp>(a, b); }
  Value orBits(Value a, Value b) { return create<mlir::arith::OrIOp>(a, b); }
  Value xorBits(Value a, Value b) { return create<mlir::arith::XOrIOp>(a, b); }
  Value shiftLeft(Value a, Value by) {
    return create<mlir::arith::ShLIOp>(a, by);
  }
  Value shiftRight(Value a, Value by) {
    return create<mlir::arith::ShRUIOp>(a, by);
  }
  Value shiftRightSigned(Value a, Value by) {
    return create<mlir::arith::ShRSIOp>(a, by);
  }

  Value less(Value a, Value b) {
    return create<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::OLT, a, b);
  }
  Value equal(Value a, Value b) {
    return create<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::OEQ, a, b);
  }
  /// Of integers.
  Value isZero(Value a) {
    Value zero = constant(getIntegerAttr(getElementTypeOrSelf(a), 0));
    return create<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::eq, a, zero);
  }
  Value select(Value condition, Value a, Value b) {
    return create<mlir::arith::SelectOp>(condition, a, b);
  }

  Value toBits(Value x) {
    bool isWide = getElementTypeOrSelf(x).isF64();
    return create<mlir::arith::BitcastOp>(
        like(isWide ? Type(getI64Type()) : Type(getI32Type())), x);
  }
  Value fromBits(Value x) {
    bool isWide = getElementTypeOrSelf(x).isInteger(64);
    return create<mlir::arith::BitcastOp>(
        like(isWide ? Type(getF64Type()) : Type(getF32Type())), x);
  }
  Value widen(Value x) {
    return create<mlir::arith::ExtFOp>(like(getF64Type()), x);
  }
  Value narrow(Value x) {
    return create<mlir::arith::TruncFOp>(like(getF32Type()), x);
  }
  Value widenBits(Value x) {
    return create<mlir::arith::ExtUIOp>(like(getI64Type()), x);
  }
  Value narrowBits(Value x) {
    return create<mlir::arith::TruncIOp>(like(getI32Type()), x);
  }
  Value toNumber(Value x) {
    return create<mlir::arith::SIToFPOp>(like(getF32Type()), x);
  }
  Value toWideNumber(Value x) {
    return create<mlir::arith::SIToFPOp>(like(getF64Type()), x);
  }
  Value magnitude(Value x) { return create<mlir::math::AbsFOp>(x); }
  Value withSignOf(Value x, Value sign) {
    return create<mlir::math::CopySignOp>(x, sign);
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
    auto ifOp = create<mlir::scf::IfOp>(mlir::TypeRange(ValueRange(common)),
                                        condition, /*withElse=*/true);
    InsertionGuard guard(*this);
    setInsertionPointToStart(ifOp.elseBlock());
    create<mlir::scf::YieldOp>(common);
    setInsertionPointToStart(ifOp.thenBlock());
    create<mlir::scf::YieldOp>(rare());
    return llvm::to_vector_of<Value>(ifOp.getResults());
  }

  /// `limit` with the sign of x beyond it; NaN stays.
  Value clamp(Value x, float limit) {
    Value above = create<mlir::arith::MaximumFOp>(x, number(-limit));
    return create<mlir::arith::MinimumFOp>(above, number(limit));
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
    return create<mlir::arith::ConstantOp>(value);
  }

private:
  mlir::VectorType vector;
};

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

// ExpandHyperbolics.cpp
Value emitExpm1(Sequence &s, ValueRange operands);
Value emitSinh(Sequence &s, ValueRange operands);
Value emitCosh(Sequence &s, ValueRange operands);
Value emitAsinh(Sequence &s, ValueRange operands);
Value emitAcosh(Sequence &s, ValueRange operands);
Value emitAtanh(Sequence &s, ValueRange operands);

// ExpandLogarithms.cpp
Value emitLog(Sequence &s, ValueRange operands);
Value emitLog2(Sequence &s, ValueRange operands);
Value emitLog10(Sequence &s, ValueRange operands);
Value emitLog1p(Sequence &s, ValueRange operands);

// ExpandPowers.cpp
Value emitPowf(Sequence &s, ValueRange operands);
Value emitFPowI(Sequence &s, ValueRange operands);
Value emitRsqrt(Sequence &s, ValueRange operands);
Value emitCbrt(Sequence &s, ValueRange operands);

// ExpandTrigonometry.cpp
Value emitSin(Sequence &s, ValueRange operands);
Value emitCos(Sequence &s, ValueRange operands);
Value emitTan(Sequence &s, ValueRange operands);
Value emitAsin(Sequence &s, ValueRange operands);
Value emitAcos(Sequence &s, ValueRange operands);
Value emitAtan(Sequence &s, ValueRange operands);
Value emitAtan2(Sequence &s, ValueRange operands);

// ExpandErrorFunctions.cpp
Value emitErf(Sequence &s, ValueRange operands);
Value emitErfc(Sequence &s, ValueRange operands);

} // namespace mx

#endif // MX_LIB_DIALECT_MX_TRANSFORMS_MATHSEQUENCE_H
