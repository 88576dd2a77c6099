//===- ArithBuilder.h - Arithmetic on sizes and addresses -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unsigned arithmetic on i32 and index values, shared by builders of kernels,
// launches and plans. Upstream's arith::ArithBuilder lacks constants and
// division, and must be recreated for each location.
//===----------------------------------------------------------------------===//

#ifndef MX_DIALECT_SHARED_ARITHBUILDER_H
#define MX_DIALECT_SHARED_ARITHBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mx {

class ArithBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantOp::create(*this, getIndexAttr(value));
  }
  mlir::Value i32(int64_t value) {
    return mlir::arith::ConstantOp::create(*this, getI32IntegerAttr(value));
  }
  /// Creates the constant `value` in the type of `other`.
  mlir::Value constantLike(mlir::Value other, int64_t value) {
    return mlir::arith::ConstantOp::create(
        *this, getIntegerAttr(other.getType(), value));
  }

#define MX_ARITH_OPERATION(NAME, OP)                                           \
  mlir::Value NAME(mlir::Value a, mlir::Value b) {                             \
    return mlir::arith::OP::create(*this, a, b);                               \
  }                                                                            \
  mlir::Value NAME(mlir::Value a, int64_t b) {                                 \
    return NAME(a, constantLike(a, b));                                        \
  }
  MX_ARITH_OPERATION(add, AddIOp)
  MX_ARITH_OPERATION(sub, SubIOp)
  MX_ARITH_OPERATION(mul, MulIOp)
  MX_ARITH_OPERATION(div, DivUIOp)
  MX_ARITH_OPERATION(ceilDiv, CeilDivUIOp)
  MX_ARITH_OPERATION(rem, RemUIOp)
  MX_ARITH_OPERATION(min, MinUIOp)
  MX_ARITH_OPERATION(andBits, AndIOp)
  MX_ARITH_OPERATION(orBits, OrIOp)
  MX_ARITH_OPERATION(xorBits, XOrIOp)
  MX_ARITH_OPERATION(shiftLeft, ShLIOp)
  MX_ARITH_OPERATION(shiftRight, ShRUIOp)
#undef MX_ARITH_OPERATION

  mlir::Value isBelow(mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpIOp::create(*this, mlir::arith::CmpIPredicate::ult,
                                       a, b);
  }
  mlir::Value isEqual(mlir::Value a, mlir::Value b) {
    return mlir::arith::CmpIOp::create(*this, mlir::arith::CmpIPredicate::eq, a,
                                       b);
  }
  mlir::Value isNot(mlir::Value condition) {
    return mlir::arith::XOrIOp::create(*this, condition,
                                       constantLike(condition, 1));
  }
  mlir::Value both(mlir::Value a, mlir::Value b) {
    return mlir::arith::AndIOp::create(*this, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return mlir::arith::SelectOp::create(*this, condition, a, b);
  }
  mlir::Value bitcast(mlir::Type type, mlir::Value value) {
    return mlir::arith::BitcastOp::create(*this, type, value);
  }
};

} // namespace mx

#endif // MX_DIALECT_SHARED_ARITHBUILDER_H
