//===- IntExpr.h - Integer arithmetic in operator syntax --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Int wraps a Value of an integer or index type, so arithmetic on number
// formats reads like formulas. Constants fold on construction. Upstream's
// arith::ArithBuilder supports only seven operations, and no constants, bit
// operations, shifts or conversions.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_UTILS_INTEXPR_H
#define MX_LIB_CONVERSION_UTILS_INTEXPR_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mx {

class Int {
public:
  Int(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value)
      : builder(&builder), loc(loc), value(value) {}
  Int(mlir::ImplicitLocOpBuilder &builder, mlir::Value value)
      : Int(builder, builder.getLoc(), value) {}

  static Int constant(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Type type, int64_t number) {
    auto attr = builder.getIntegerAttr(type, number);
    return {builder, loc, mlir::arith::ConstantOp::create(builder, loc, attr)};
  }
  Int like(int64_t number) const {
    return constant(*builder, loc, value.getType(), number);
  }

  operator mlir::Value() const { return value; }
  mlir::Type type() const { return value.getType(); }

#define MX_INT_OPERATOR(SYMBOL, OP)                                            \
  Int operator SYMBOL(Int other) const {                                       \
    return make<mlir::arith::OP>(value, other.value);                          \
  }                                                                            \
  Int operator SYMBOL(int64_t other) const { return *this SYMBOL like(other); }
  MX_INT_OPERATOR(+, AddIOp)
  MX_INT_OPERATOR(-, SubIOp)
  MX_INT_OPERATOR(*, MulIOp)
  MX_INT_OPERATOR(&, AndIOp)
  MX_INT_OPERATOR(|, OrIOp)
  MX_INT_OPERATOR(^, XOrIOp)
  MX_INT_OPERATOR(<<, ShLIOp)
  MX_INT_OPERATOR(>>, ShRUIOp) // logical
  MX_INT_OPERATOR(/, DivUIOp)
  MX_INT_OPERATOR(%, RemUIOp)
#undef MX_INT_OPERATOR

  // Signed comparisons; the result is an i1.
#define MX_INT_COMPARISON(SYMBOL, PREDICATE)                                   \
  Int operator SYMBOL(Int other) const {                                       \
    return make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::PREDICATE,    \
                                     value, other.value);                      \
  }                                                                            \
  Int operator SYMBOL(int64_t other) const { return *this SYMBOL like(other); }
  MX_INT_COMPARISON(==, eq)
  MX_INT_COMPARISON(!=, ne)
  MX_INT_COMPARISON(<, slt)
  MX_INT_COMPARISON(<=, sle)
  MX_INT_COMPARISON(>, sgt)
  MX_INT_COMPARISON(>=, sge)
#undef MX_INT_COMPARISON

  Int max(Int other) const {
    return make<mlir::arith::MaxSIOp>(value, other.value);
  }
  Int max(int64_t other) const { return max(like(other)); }
  Int min(Int other) const {
    return make<mlir::arith::MinSIOp>(value, other.value);
  }
  Int min(int64_t other) const { return min(like(other)); }

  Int select(Int then, Int otherwise) const {
    return make<mlir::arith::SelectOp>(value, then.value, otherwise.value);
  }
  Int select(int64_t then, Int otherwise) const {
    return select(otherwise.like(then), otherwise);
  }
  Int select(Int then, int64_t otherwise) const {
    return select(then, then.like(otherwise));
  }

  /// Round a quotient up, or round up to a multiple. This value must not be
  /// negative.
  Int ceilDiv(int64_t divisor) const {
    return (*this + (divisor - 1)) / divisor;
  }
  Int roundUp(int64_t multiple) const { return ceilDiv(multiple) * multiple; }

  /// Converts to an integer type or `index` by zero extension or truncation.
  Int to(mlir::Type type) const {
    if (type == value.getType())
      return *this;
    if (value.getType().isIndex() || type.isIndex())
      return make<mlir::arith::IndexCastUIOp>(type, value);
    if (type.getIntOrFloatBitWidth() > value.getType().getIntOrFloatBitWidth())
      return make<mlir::arith::ExtUIOp>(type, value);
    return make<mlir::arith::TruncIOp>(type, value);
  }
  /// Bitcasts to another type.
  mlir::Value as(mlir::Type type) const {
    return builder->createOrFold<mlir::arith::BitcastOp>(loc, type, value);
  }

private:
  template <typename OpTy, typename... Args>
  Int make(Args &&...args) const {
    return {*builder, loc,
            builder->createOrFold<OpTy>(loc, std::forward<Args>(args)...)};
  }

  mlir::OpBuilder *builder;
  mlir::Location loc;
  mlir::Value value;
};

} // namespace mx

#endif // MX_LIB_CONVERSION_UTILS_INTEXPR_H
