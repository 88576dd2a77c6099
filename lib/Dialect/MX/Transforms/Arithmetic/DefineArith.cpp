//===- DefineArith.cpp - Definition of results that arith leaves open -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements section "Arithmetic" of docs/reference/Math.md. Targets differ in
// conversions of values that do not fit an integer, in divisions by 0, in
// shifts by at least the bit width, and in the bits of NaN.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace mx {
#define GEN_PASS_DEF_MXDEFINEARITH
#define GEN_PASS_DEF_MXKEEPROUNDINGS
#include "mx/Dialect/MX/Transforms/Passes.h.inc"
} // namespace mx

namespace {

using arith::CmpFPredicate;
using arith::CmpIPredicate;

/// Width of integers that are exact in f32.
constexpr unsigned kFloatBits = 24;
/// Value that rounds to infinity in f16, because the largest f16 value is
/// 65504. Integers of at least 16 bits can reach this value.
constexpr double kBeyondF16 = 65535;
constexpr unsigned kBitsBeyondF16 = 16;

bool isHalf(Type type) {
  return getElementTypeOrSelf(type).isF16() ||
         getElementTypeOrSelf(type).isBF16();
}

Type withElements(Type type, Type element) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    return shaped.clone(element);
  return element;
}

/// Replaces a scalar or elementwise operation by well-defined operations.
class Definition {
public:
  explicit Definition(Operation *op)
      : op(op), builder(op->getLoc(), op), type(op->getResult(0).getType()) {}

  Value toInteger(Value x, bool isSigned);
  Value toHalf(Value x, bool isSigned);
  Value fromBool(Value x, bool isSigned);
  Value getBits(Value x);
  Value getPositiveNaN(Value x);
  Value keepRounding(Value x);
  void guardDivision(bool isSigned, bool isRemainder);
  void guardShift(bool isArithmetic);

private:
  template <typename OpT, typename... Args>
  Value make(Args &&...args) {
    return OpT::create(builder, std::forward<Args>(args)...).getResult();
  }
  Value constant(Type type, const llvm::APInt &value) {
    return constant(type,
                    builder.getIntegerAttr(getElementTypeOrSelf(type), value));
  }
  Value constant(Type type, const llvm::APFloat &value) {
    return constant(type,
                    builder.getFloatAttr(getElementTypeOrSelf(type), value));
  }
  Value constant(Type type, TypedAttr value) {
    if (auto shaped = dyn_cast<ShapedType>(type))
      value = DenseElementsAttr::get(shaped, Attribute(value));
    return make<arith::ConstantOp>(value);
  }

  /// Returns the scalar or splat constant of `value`, if constant.
  static std::optional<llvm::APInt> getConstant(Value value) {
    llvm::APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return constant;
    return std::nullopt;
  }
  unsigned getWidth() const {
    Type element = getElementTypeOrSelf(type);
    return element.isIndex() ? IndexType::kInternalStorageBitWidth
                             : element.getIntOrFloatBitWidth();
  }
  /// Replaces the second operand of `op`, and selects `other` as the result if
  /// `isOther` is true.
  void replaceUnless(Value isOther, Value other) {
    builder.setInsertionPointAfter(op);
    Value result = op->getResult(0);
    auto select = arith::SelectOp::create(builder, isOther, other, result);
    result.replaceAllUsesExcept(select, select);
  }

  Operation *op;
  ImplicitLocOpBuilder builder;
  Type type; ///< type of the result
};

} // namespace

/// Rounds towards zero and saturates; NaN becomes 0. Converts 0 in place of a
/// value that is out of range, and then selects the limit as the result.
Value Definition::toInteger(Value x, bool isSigned) {
  if (isHalf(x.getType()))
    x = make<arith::ExtFOp>(withElements(x.getType(), builder.getF32Type()), x);
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  const llvm::fltSemantics &semantics =
      cast<FloatType>(getElementTypeOrSelf(x.getType())).getFloatSemantics();
  // An unsigned i1 is 0 or 1, and a signed i1 is 0 or -1. LLVM's conversion to
  // i1 is wrong for NVPTX.
  if (width == 1)
    return make<arith::CmpFOp>(
        isSigned ? CmpFPredicate::OLE : CmpFPredicate::OGE, x,
        constant(x.getType(),
                 llvm::APFloat::getOne(semantics, /*Negative=*/isSigned)));
  // The limits are powers of two, which are exact in every type.
  auto get = [&](const llvm::APInt &limit, bool isNegative) {
    llvm::APFloat value(semantics);
    value.convertFromAPInt(limit, /*IsSigned=*/false,
                           llvm::APFloat::rmNearestTiesToEven);
    if (isNegative)
      value.changeSign();
    return constant(x.getType(), value);
  };
  unsigned bits = isSigned ? width - 1 : width;
  Value above = get(llvm::APInt::getOneBitSet(width + 1, bits), false);
  Value least = get(isSigned ? llvm::APInt::getOneBitSet(width + 1, bits)
                             : llvm::APInt(width + 1, 0),
                    isSigned);
  Value isLarge = make<arith::CmpFOp>(CmpFPredicate::OGE, x, above);
  Value fits =
      make<arith::AndIOp>(make<arith::CmpFOp>(CmpFPredicate::OGE, x, least),
                          make<arith::CmpFOp>(CmpFPredicate::OLT, x, above));
  Value zero = constant(x.getType(), llvm::APFloat::getZero(semantics));
  Value inside = make<arith::SelectOp>(fits, x, zero);
  Value number = isSigned ? make<arith::FPToSIOp>(type, inside)
                          : make<arith::FPToUIOp>(type, inside);
  llvm::APInt largest = isSigned ? llvm::APInt::getSignedMaxValue(width)
                                 : llvm::APInt::getMaxValue(width);
  number = make<arith::SelectOp>(isLarge, constant(type, largest), number);
  if (!isSigned)
    return number;
  Value isSmall = make<arith::CmpFOp>(CmpFPredicate::OLT, x, least);
  Value smallest = constant(type, llvm::APInt::getSignedMinValue(width));
  return make<arith::SelectOp>(isSmall, smallest, number);
}

/// Converts an integer to f16 or bf16 with a single rounding. For bf16,
/// integers that are inexact in f32 are first rounded to odd at 24 bits, so
/// that the last bit represents all lost bits. A conversion to f64 and then to
/// bf16 would not work, because canonicalization merges both steps.
Value Definition::toHalf(Value x, bool isSigned) {
  Type integers = x.getType();
  unsigned width = getElementTypeOrSelf(integers).getIntOrFloatBitWidth();
  auto number = [&](uint64_t value) {
    return constant(integers, llvm::APInt(width, value));
  };
  Type floats = withElements(integers, builder.getF32Type());
  auto convert = [&](Value exact) -> Value {
    Value wide = isSigned ? make<arith::SIToFPOp>(floats, exact)
                          : make<arith::UIToFPOp>(floats, exact);
    if (getElementTypeOrSelf(type).isF16())
      wide = keepRounding(wide);
    return make<arith::TruncFOp>(type, wide);
  };
  // Integers that are inexact in f32 exceed the range of f16.
  if (getElementTypeOrSelf(type).isF16())
    return convert(x);
  Value magnitude = isSigned ? make<math::AbsIOp>(x) : x;
  Value leading = make<math::CountLeadingZerosOp>(magnitude);
  Value most = number(width - kFloatBits), zero = number(0), one = number(1);
  Value lost = make<arith::MaxSIOp>(make<arith::SubIOp>(most, leading), zero);
  Value last = make<arith::ShLIOp>(one, lost);
  Value below = make<arith::SubIOp>(last, one);
  Value rest = make<arith::AndIOp>(x, below);
  Value isExact = make<arith::CmpIOp>(CmpIPredicate::eq, rest, zero);
  Value kept = make<arith::SubIOp>(x, rest);
  Value odd = make<arith::OrIOp>(kept, last);
  return convert(make<arith::SelectOp>(isExact, x, odd));
}

/// A signed i1 is 0 or -1, which LLVM converts to 1 in bf16 for NVPTX.
Value Definition::fromBool(Value x, bool isSigned) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics();
  llvm::APFloat one = llvm::APFloat::getOne(semantics, /*Negative=*/isSigned);
  Value no = constant(type, llvm::APFloat::getZero(semantics));
  Value yes = constant(type, one);
  return make<arith::SelectOp>(x, yes, no);
}

/// Prevents later passes from merging the conversion of an integer to `x` with
/// the rounding of `x` to the result type. LLVM would also merge them, without
/// checking the range of f16.
Value Definition::keepRounding(Value x) {
  if (!getElementTypeOrSelf(type).isF16())
    return make<math::CopySignOp>(x, x);
  auto limit = [&](double value) {
    llvm::APFloat number(value);
    bool isInexact;
    number.convert(
        cast<FloatType>(getElementTypeOrSelf(x.getType())).getFloatSemantics(),
        llvm::APFloat::rmNearestTiesToEven, &isInexact);
    return constant(x.getType(), number);
  };
  Value least = limit(-kBeyondF16), most = limit(kBeyondF16);
  return make<arith::MinimumFOp>(make<arith::MaximumFOp>(x, least), most);
}

/// Returns the bits of x with a canonical NaN.
Value Definition::getBits(Value x) {
  Type element = getElementTypeOrSelf(x.getType());
  unsigned width = element.getIntOrFloatBitWidth();
  Type integers = withElements(x.getType(), builder.getIntegerType(width));
  Value bits = make<arith::BitcastOp>(integers, x);
  llvm::APInt largest = llvm::APInt::getSignedMaxValue(width);
  Value nan = constant(integers, largest); // all bits but the sign
  Value infinity = constant(
      integers,
      llvm::APFloat::getInf(cast<FloatType>(element).getFloatSemantics())
          .bitcastToAPInt());
  Value magnitude = make<arith::AndIOp>(bits, nan);
  Value isNaN = make<arith::CmpIOp>(CmpIPredicate::ugt, magnitude, infinity);
  return make<arith::SelectOp>(isNaN, nan, bits);
}

Value Definition::getPositiveNaN(Value x) {
  return make<arith::BitcastOp>(x.getType(), getBits(x));
}

/// Defines division as in RISC-V. Division by 0 returns a quotient of all ones,
/// and the dividend as the remainder. The minimum divided by -1 returns the
/// minimum and the remainder 0. Neither division is executed, because host CPUs
/// trap.
void Definition::guardDivision(bool isSigned, bool isRemainder) {
  Value a = op->getOperand(0), b = op->getOperand(1);
  std::optional<llvm::APInt> divisor = getConstant(b);
  if (divisor && !divisor->isZero() && !(isSigned && divisor->isAllOnes()))
    return;
  unsigned width = getWidth();
  auto number = [&](llvm::APInt value) { return constant(type, value); };
  auto isEqual = [&](Value x, Value y) {
    return make<arith::CmpIOp>(CmpIPredicate::eq, x, y);
  };
  Value one = number(llvm::APInt(width, 1));
  Value isZero = isEqual(b, number(llvm::APInt::getZero(width)));
  Value safe = make<arith::SelectOp>(isZero, one, b);
  Value ones = number(llvm::APInt::getAllOnes(width));
  if (isSigned) {
    Value least = number(llvm::APInt::getSignedMinValue(width));
    Value isBeyond = make<arith::AndIOp>(isEqual(a, least), isEqual(b, ones));
    safe = make<arith::SelectOp>(isBeyond, one, safe);
  }
  op->setOperand(1, safe);
  replaceUnless(isZero, isRemainder ? a : ones);
}

/// A shift by at least the bit width shifts out all bits.
void Definition::guardShift(bool isArithmetic) {
  Value by = op->getOperand(1);
  unsigned width = getWidth();
  std::optional<llvm::APInt> amount = getConstant(by);
  if (amount && amount->ult(width))
    return;
  Value most = constant(type, llvm::APInt(width, width - 1));
  op->setOperand(1, make<arith::MinUIOp>(by, most));
  if (isArithmetic)
    return; // only the sign remains
  Value isTooMuch = make<arith::CmpIOp>(CmpIPredicate::ugt, by, most);
  replaceUnless(isTooMuch, constant(type, llvm::APInt::getZero(width)));
}

namespace {

struct DefineArith final : mx::impl::MXDefineArithBase<DefineArith> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa_and_present<arith::ArithDialect, math::MathDialect>(
              op->getDialect()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      dropFlags(op);
      if (failed(verifyRounding(op)))
        return signalPassFailure();
      // Operations on tensors are decomposed to scalars by other passes.
      if (op->getNumResults() && !isa<TensorType>(op->getResult(0).getType()))
        define(op);
    }
  }

  /// Removes fast-math flags, because targets use them differently.
  static void dropFlags(Operation *op) {
    if (isa<arith::ExtFOp, arith::TruncFOp>(op))
      op->removeAttr("fastmath");
    else if (auto flags = dyn_cast<arith::ArithFastMathInterface>(op))
      op->setAttr(flags.getFastMathAttrName(),
                  arith::FastMathFlagsAttr::get(op->getContext(),
                                                arith::FastMathFlags::none));
  }

  static LogicalResult verifyRounding(Operation *op) {
    auto rounded = dyn_cast<arith::TruncFOp>(op);
    if (!rounded || !rounded.getRoundingmode())
      return success();
    arith::RoundingMode mode = *rounded.getRoundingmode();
    if (mode != arith::RoundingMode::to_nearest_even)
      return op->emitOpError("expected rounding to_nearest_even, which all "
                             "targets compute, found ")
             << arith::stringifyRoundingMode(mode);
    rounded.removeRoundingmodeAttr();
    return success();
  }

  static void define(Operation *op) {
    Definition definition(op);
    auto replace = [&](Value value) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    };
    auto isNumber = [](Value value) {
      Type type = getElementTypeOrSelf(value.getType());
      return isHalf(type) || type.isF32() || type.isF64();
    };
    auto getWidth = [](Operation *op) {
      return getElementTypeOrSelf(op->getOperand(0).getType())
          .getIntOrFloatBitWidth();
    };
    // Returns true for conversions of integers that may be inexact in f32 or
    // overflow f16.
    auto isRoundedTwice = [&](Operation *op) {
      Type to = getElementTypeOrSelf(op->getResult(0).getType());
      return (to.isBF16() && getWidth(op) > kFloatBits) ||
             (to.isF16() && getWidth(op) >= kBitsBeyondF16);
    };
    auto isRoundedInteger = [&](Value value) {
      Operation *from = value.getDefiningOp();
      return isa_and_present<arith::SIToFPOp, arith::UIToFPOp>(from) &&
             getWidth(from) >= kBitsBeyondF16;
    };
    llvm::TypeSwitch<Operation *>(op)
        .Case<arith::FPToSIOp, arith::FPToUIOp>([&](auto op) {
          if (isNumber(op.getIn()))
            replace(definition.toInteger(op.getIn(), isa<arith::FPToSIOp>(op)));
        })
        .Case<arith::SIToFPOp, arith::UIToFPOp>([&](auto op) {
          if (isNumber(op) && getElementTypeOrSelf(op.getIn()).isInteger(1))
            return replace(
                definition.fromBool(op.getIn(), isa<arith::SIToFPOp>(op)));
          if (isRoundedTwice(op))
            replace(definition.toHalf(op.getIn(), isa<arith::SIToFPOp>(op)));
        })
        .Case([&](arith::BitcastOp op) {
          if (isNumber(op.getIn()) &&
              getElementTypeOrSelf(op.getType()).isInteger())
            replace(definition.getBits(op.getIn()));
        })
        .Case([&](arith::TruncFOp op) {
          if (isRoundedInteger(op.getIn()))
            op.getInMutable().assign(definition.keepRounding(op.getIn()));
        })
        .Case([&](math::CopySignOp copy) {
          copy.getRhsMutable().assign(definition.getPositiveNaN(copy.getRhs()));
        })
        .Case<arith::DivSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(
            [&](Operation *) {
              definition.guardDivision(/*isSigned=*/true,
                                       /*isRemainder=*/false);
            })
        .Case<arith::DivUIOp, arith::CeilDivUIOp>([&](Operation *) {
          definition.guardDivision(/*isSigned=*/false, /*isRemainder=*/false);
        })
        .Case<arith::RemSIOp, arith::RemUIOp>([&](Operation *op) {
          definition.guardDivision(isa<arith::RemSIOp>(op),
                                   /*isRemainder=*/true);
        })
        .Case<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(
            [&](Operation *op) {
              definition.guardShift(isa<arith::ShRSIOp>(op));
            });
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Roundings
//
// On all paths, f16 and bf16 arithmetic rounds after every operation. Upstream
// folds extf(truncf(x)) to x only if fast-math flags permit this.
//===----------------------------------------------------------------------===//

namespace {
struct KeepRoundings final : mx::impl::MXKeepRoundingsBase<KeepRoundings> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto widened = dyn_cast<arith::ExtFOp>(op))
        widened.setFastmathAttr({});
      else if (auto rounded = dyn_cast<arith::TruncFOp>(op))
        rounded.setFastmathAttr({});
    });
  }
};
} // namespace
