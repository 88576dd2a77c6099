//===- PlanScalars.cpp - Host arithmetic as plan expressions --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An `index` is a size, a 64-bit number with inferred properties that must not
// overflow. Other numbers use the types and semantics of arith and math.
//===----------------------------------------------------------------------===//

#include "PlanScalars.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "mx/Dialect/MX/IR/Place.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using plan::Number;
using plan::Operator;

static plan::NumberType getNumberType(Type type) {
  using plan::NumberType;
  if (type.isIndex())
    return {NumberType::Integer, 64};
  if (type.isInteger())
    return {NumberType::Integer, uint8_t(type.getIntOrFloatBitWidth())};
  return {type.isF16()    ? NumberType::F16
          : type.isBF16() ? NumberType::BF16
          : type.isF32()  ? NumberType::F32
          : type.isF64()  ? NumberType::F64
                          : NumberType::None,
          0};
}

bool PlanScalars::isNumber(Type type) {
  return type.isIndex() ||
         (type.isSignlessInteger() && type.getIntOrFloatBitWidth() >= 1 &&
          type.getIntOrFloatBitWidth() <= 64) ||
         (isa<FloatType>(type) && type.getIntOrFloatBitWidth() <= 64);
}

bool PlanScalars::isArithmetic(Operation *op) {
  if (isa<arith::ConstantOp>(op))
    return true; // users check its type
  return isa_and_present<arith::ArithDialect, index::IndexDialect,
                         math::MathDialect, ub::UBDialect>(op->getDialect()) &&
         llvm::all_of(op->getOperandTypes(), isNumber) &&
         llvm::all_of(op->getResultTypes(), isNumber);
}

Number PlanScalars::get(Value value) const {
  auto found = numbers.find(value);
  assert(found != numbers.end() && "operands are translated before their uses");
  return found->second;
}

void PlanScalars::require(Number condition, std::string message,
                          std::vector<Number> values, bool isEarly) {
  if (condition.isConstant() && condition.value)
    return;
  plan::Requirement requirement = {condition, std::move(message),
                                   std::move(values)};
  if ((isInBlock() && !isEarly) || !isKnown(condition)) {
    addStep(plan::Step::Require).requirement = std::move(requirement);
    return;
  }
  bool isThere =
      llvm::any_of(entry.requirements, [&](const plan::Requirement &other) {
        return other.condition == condition &&
               other.message == requirement.message &&
               other.values == requirement.values;
      });
  if (!isThere)
    entry.requirements.push_back(std::move(requirement));
}

void PlanScalars::requireNonNegative(Operation *at, Number number) {
  if (isNonNegative(number))
    return;
  require(apply(Operator::Le, 0, number),
          getPlace(at->getLoc()) + "expected a number of at least 0, found {}",
          {number});
  requiredNonNegative.push_back(number);
}

Number PlanScalars::widen(Operation *at, Value value) {
  Type i64 = IntegerType::get(at->getContext(), 64);
  return applyTyped(Operator::ExtUI, at, get(value), value.getType(), i64);
}

Number PlanScalars::narrow(Operation *at, Number number, Type type) {
  Type i64 = IntegerType::get(at->getContext(), 64);
  return applyTyped(Operator::TruncI, at, number, i64, type);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Requires that a size, which must not wrap, fits in the result type of `op`.
void PlanScalars::requireFits(Operation *op, Number number) {
  Type type = op->getResult(0).getType();
  if (type.isIndex() || type.getIntOrFloatBitWidth() >= 64)
    return;
  unsigned width = type.getIntOrFloatBitWidth();
  int64_t most = (int64_t(1) << (width - 1)) - 1;
  Number isLarge = apply(Operator::Le, -most - 1, number);
  Number isSmall = apply(Operator::Le, number, most);
  Number fits = apply(Operator::Min, isLarge, isSmall);
  require(fits,
          getPlace(op->getLoc()) + "expected a number of " +
              std::to_string(width) + " bits, found {}",
          {number});
}

/// Divides non-negative sizes. Other divisions use the semantics of arith.
std::optional<Number> PlanScalars::divide(Operation *op) {
  auto kind = llvm::TypeSwitch<Operation *, std::optional<Operator>>(op)
                  .Case<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(
                      [](auto) { return Operator::FloorDiv; })
                  .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>(
                      [](auto) { return Operator::CeilDiv; })
                  .Case<arith::RemUIOp, arith::RemSIOp>(
                      [](auto) { return Operator::Mod; })
                  .Default([](auto) { return std::nullopt; });
  if (!kind)
    return std::nullopt;
  Number a = get(op->getOperand(0)), b = get(op->getOperand(1));
  // Unsigned operations require non-negative sizes, because a negative size is
  // an error and not a large unsigned number.
  if (isa<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp>(op)) {
    requireNonNegative(op, a);
    requireNonNegative(op, b);
  }
  bool isRounded = isa<arith::FloorDivSIOp, arith::CeilDivSIOp>(op) &&
                   b.isConstant() && b.value > 0;
  if (!isRounded && !(isNonNegative(a) && isNonNegative(b)))
    return std::nullopt;
  bool mayFail = !b.isConstant() || b.value < 1;
  return apply({*kind, {a, b}, {}, {}, mayFail ? getPlace(op->getLoc()) : ""});
}

/// Translates arithmetic on sizes. Returns false if plans lack the operation.
bool PlanScalars::translateSizes(Operation *op) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 1)
    return false;
  Type type = op->getOperand(0).getType();
  Number a = get(op->getOperand(0)), b = get(op->getOperand(1));
  auto set = [&](Operator kind, std::string place = "") {
    this->set(op->getResult(0), apply({kind, {a, b}, {}, {}, place}));
    return true;
  };
  if (type.isInteger(1)) {
    if (isa<arith::AndIOp>(op))
      return set(Operator::Min);
    if (isa<arith::OrIOp>(op))
      return set(Operator::Max);
    return isa<arith::XOrIOp>(op) && set(Operator::Ne);
  }
  if (!type.isIndex())
    return false;
  // Location for the overflow message.
  std::string place = getPlace(op->getLoc());
  if (isa<arith::AddIOp>(op))
    return set(Operator::Add, place);
  if (isa<arith::SubIOp>(op))
    return set(Operator::Sub, place);
  if (isa<arith::MulIOp>(op))
    return set(Operator::Mul, place);
  bool areNonNegative = isNonNegative(a) && isNonNegative(b);
  if (isa<arith::MinSIOp>(op) || (isa<arith::MinUIOp>(op) && areNonNegative))
    return set(Operator::Min);
  if (isa<arith::MaxSIOp>(op) || (isa<arith::MaxUIOp>(op) && areNonNegative))
    return set(Operator::Max);
  if (std::optional<Number> quotient = divide(op)) {
    this->set(op->getResult(0), *quotient);
    return true;
  }
  return false;
}

/// Converts from or to index. The number must fit in a narrower result.
Number PlanScalars::castIndex(Operation *op, bool isSigned) {
  Number number = get(op->getOperand(0));
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  if (from.isIndex()) {
    if (to.isInteger(1))
      return applyTyped(Operator::TruncI, op, number, from, to);
    requireFits(op, number);
    return number;
  }
  bool isWider = from.getIntOrFloatBitWidth() < 64;
  bool keepsNumber = isSigned ? !from.isInteger(1) : isNonNegative(number);
  if (!isWider || keepsNumber)
    return number;
  return applyTyped(isSigned ? Operator::ExtSI : Operator::ExtUI, op, number,
                    from, to);
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

Number PlanScalars::compare(Operation *op, arith::CmpIPredicate predicate) {
  using Predicate = arith::CmpIPredicate;
  auto isAny = [&](std::initializer_list<Predicate> predicates) {
    return llvm::is_contained(predicates, predicate);
  };
  Value lhs = op->getOperand(0);
  Number a = get(lhs), b = get(op->getOperand(1));
  if (isAny({Predicate::eq, Predicate::ne}))
    return apply(predicate == Predicate::eq ? Operator::Eq : Operator::Ne, a,
                 b);
  bool isUnsigned =
      isAny({Predicate::ult, Predicate::ule, Predicate::ugt, Predicate::uge});
  bool isEqual =
      isAny({Predicate::sle, Predicate::sge, Predicate::ule, Predicate::uge});
  bool isSwapped =
      isAny({Predicate::sgt, Predicate::sge, Predicate::ugt, Predicate::uge});
  if (isSwapped)
    std::swap(a, b);
  // An i1 is stored as 0 or 1, but its signed value is 0 or -1.
  bool areAsHeld = isUnsigned ? isNonNegative(a) && isNonNegative(b)
                              : !lhs.getType().isInteger(1);
  if (areAsHeld)
    return apply(isEqual ? Operator::Le : Operator::Lt, a, b);
  Operator kind = isUnsigned ? (isEqual ? Operator::ULe : Operator::ULt)
                             : (isEqual ? Operator::SLe : Operator::SLt);
  return applyTyped(kind, op, {a, b}, lhs.getType());
}

Number PlanScalars::compareFloats(arith::CmpFOp op) {
  using Predicate = arith::CmpFPredicate;
  struct Comparison {
    Predicate predicate;
    Operator kind;
    bool isSwapped = false;
  };
  static constexpr Comparison kComparisons[] = {
      {Predicate::OEQ, Operator::OEq},
      {Predicate::OGT, Operator::OLt, true},
      {Predicate::OGE, Operator::OLe, true},
      {Predicate::OLT, Operator::OLt},
      {Predicate::OLE, Operator::OLe},
      {Predicate::ONE, Operator::ONe},
      {Predicate::ORD, Operator::Ord},
      {Predicate::UEQ, Operator::UEq},
      {Predicate::UGT, Operator::ULt, true},
      {Predicate::UGE, Operator::ULe, true},
      {Predicate::ULT, Operator::ULt},
      {Predicate::ULE, Operator::ULe},
      {Predicate::UNE, Operator::UNe},
      {Predicate::UNO, Operator::Uno}};
  Number a = get(op.getLhs()), b = get(op.getRhs());
  for (auto [predicate, kind, isSwapped] : kComparisons)
    if (predicate == op.getPredicate()) {
      if (isSwapped)
        std::swap(a, b);
      return applyTyped(kind, op, {a, b}, op.getLhs().getType());
    }
  return op.getPredicate() == Predicate::AlwaysTrue;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Number PlanScalars::applyTyped(Operator op, Operation *at,
                               ArrayRef<Number> operands, Type type, Type to) {
  plan::Expression expression;
  expression.op = op;
  llvm::copy(operands, expression.operands.begin());
  expression.type = getNumberType(type);
  if (to)
    expression.to = getNumberType(to);
  Number divisor = expression.operands[1];
  if (plan::isDivision(op) && (!divisor.isConstant() || divisor.value == 0))
    expression.place = getPlace(at->getLoc());
  return apply(std::move(expression));
}

/// Translates a constant. A constant with more than 64 bits gets no number, and
/// its users report an error.
void PlanScalars::translateConstant(Operation *op, Attribute value) {
  APInt bits;
  if (auto integer = dyn_cast<IntegerAttr>(value))
    bits = integer.getValue();
  else if (auto number = dyn_cast<FloatAttr>(value))
    bits = number.getValue().bitcastToAPInt();
  else
    return;
  bool isBits = isa<FloatAttr>(value) || bits.getBitWidth() == 1;
  if (bits.getBitWidth() >= 1 && bits.getBitWidth() <= 64)
    set(op->getResult(0),
        isBits ? int64_t(bits.getZExtValue()) : bits.getSExtValue());
}

static LogicalResult refuse(Operation *op) {
  return op->emitOpError(
      "expected an arith or math operation on integers of "
      "up to 64 bits, f16, bf16, f32 and f64 that a launch "
      "plan supports (docs/reference/Manifest.md), found another operation");
}

/// Translates index operations, which are equivalent to operations of arith.
LogicalResult PlanScalars::translateIndex(Operation *op) {
  auto set = [&](Number number) {
    this->set(op->getResult(0), number);
    return success();
  };
  if (auto constant = dyn_cast<index::ConstantOp>(op))
    return set(constant.getValue().getSExtValue());
  if (auto constant = dyn_cast<index::BoolConstantOp>(op))
    return set(int64_t(constant.getValue()));
  if (isa<index::CastSOp, index::CastUOp>(op))
    return set(castIndex(op, /*isSigned=*/isa<index::CastSOp>(op)));
  if (auto comparison = dyn_cast<index::CmpOp>(op))
    return set(compare(op, arith::CmpIPredicate(comparison.getPred())));
  // Use an operator on sizes, or else the typed operator of arith.
  StringRef name = op->getName().stripDialect();
  auto kind = llvm::StringSwitch<std::optional<Operator>>(name)
                  .Case("maxs", Operator::Max)
                  .Case("mins", Operator::Min)
                  .Default(plan::parseOperator(name));
  if (!kind)
    kind = plan::parseOperator((name + "i").str());
  if (!kind)
    return refuse(op);
  Number a = get(op->getOperand(0)), b = get(op->getOperand(1));
  return set(plan::getTypeCount(*kind)
                 ? applyTyped(*kind, op, {a, b}, op->getOperand(0).getType())
                 : apply(*kind, a, b));
}

LogicalResult PlanScalars::translate(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    translateConstant(op, constant.getValue());
    return success();
  }
  if (isa<ub::PoisonOp>(op)) { // any value is valid
    set(op->getResult(0), 0);
    return success();
  }
  for (Value operand : op->getOperands())
    if (!has(operand))
      return op->emitOpError("expected sizes as operands, found an operand of ")
             << "type " << operand.getType()
             << " that a launch plan does not compute";
  if (isa<index::IndexDialect>(op->getDialect()))
    return translateIndex(op);
  auto set = [&](Number number) {
    this->set(op->getResult(0), number);
    return success();
  };
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return set(apply(Operator::Select, get(select.getCondition()),
                     get(select.getTrueValue()), get(select.getFalseValue())));
  if (auto comparison = dyn_cast<arith::CmpIOp>(op))
    return set(compare(op, comparison.getPredicate()));
  if (auto comparison = dyn_cast<arith::CmpFOp>(op))
    return set(compareFloats(comparison));
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return set(castIndex(op, /*isSigned=*/isa<arith::IndexCastOp>(op)));
  if (translateSizes(op))
    return success();

  Type type = op->getOperand(0).getType();
  SmallVector<Number> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  // These operations have two results, the low half and the high half or carry.
  if (isa<arith::MulSIExtendedOp, arith::MulUIExtendedOp,
          arith::AddUIExtendedOp>(op)) {
    bool isSum = isa<arith::AddUIExtendedOp>(op);
    Operator high = isSum                             ? Operator::AddUICarry
                    : isa<arith::MulSIExtendedOp>(op) ? Operator::MulSIHigh
                                                      : Operator::MulUIHigh;
    this->set(op->getResult(0),
              applyTyped(isSum ? Operator::AddI : Operator::MulI, op, operands,
                         type));
    this->set(op->getResult(1), applyTyped(high, op, operands, type));
    return success();
  }
  // Other operators have the name of the arith or math operation.
  std::optional<Operator> kind =
      plan::parseOperator(op->getName().stripDialect());
  unsigned types = kind ? plan::getTypeCount(*kind) : 0;
  bool isTyped = types != 0 && op->getNumResults() == 1 &&
                 operands.size() == plan::getOperandCount(*kind);
  Type to = types == 2 ? op->getResult(0).getType() : Type();
  if (isTyped && plan::takesTypes(*kind, getNumberType(type),
                                  to ? getNumberType(to) : plan::NumberType()))
    return set(applyTyped(*kind, op, operands, type, to));
  return refuse(op);
}
