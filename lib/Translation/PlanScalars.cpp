//===- PlanScalars.cpp - Arithmetic of the host as expressions ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Sizes are numbers of 64 bits (index, i64); narrower integers come as
// arguments and go to kernels, but are not computed with.
//
//===----------------------------------------------------------------------===//

#include "PlanScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mx/Dialect/MX/IR/Place.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using plan::Number;
using plan::Operator;

/// The operator of an operation on two numbers.
static std::optional<Operator> getOperator(Operation *op) {
  if (!isa<arith::ArithDialect>(op->getDialect()))
    return std::nullopt;
  return llvm::StringSwitch<std::optional<Operator>>(
             op->getName().stripDialect())
      .Case("addi", Operator::Add)
      .Case("subi", Operator::Sub)
      .Case("muli", Operator::Mul)
      .Cases({"divui", "divsi", "floordivsi"}, Operator::FloorDiv)
      .Cases({"ceildivui", "ceildivsi"}, Operator::CeilDiv)
      .Cases({"remui", "remsi"}, Operator::Mod)
      .Cases({"minui", "minsi"}, Operator::Min)
      .Cases({"maxui", "maxsi"}, Operator::Max)
      .Case("addf", Operator::AddF)
      .Case("subf", Operator::SubF)
      .Case("mulf", Operator::MulF)
      .Case("divf", Operator::DivF)
      .Case("sitofp", Operator::IntToF)
      .Default(std::nullopt);
}

/// Operations whose result for numbers below 0 is not that of the operator.
static bool isUnsigned(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compare.getPredicate() >= arith::CmpIPredicate::ult;
  return isa<arith::DivUIOp, arith::DivSIOp, arith::CeilDivUIOp, arith::RemUIOp,
             arith::RemSIOp, arith::MinUIOp, arith::MaxUIOp,
             arith::IndexCastUIOp, arith::ExtUIOp>(op);
}

/// Integers of at least 8 and at most 64 bits.
static bool isIntegerType(Type type) {
  return type.isIndex() ||
         (type.isSignlessInteger() && type.getIntOrFloatBitWidth() >= 8 &&
          type.getIntOrFloatBitWidth() <= 64);
}

/// Comparisons of floats that a plan has, and whether the operands change
/// places.
static std::optional<std::pair<Operator, bool>>
getComparison(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return std::pair(Operator::EqF, false);
  case arith::CmpFPredicate::OLT:
    return std::pair(Operator::LtF, false);
  case arith::CmpFPredicate::OLE:
    return std::pair(Operator::LeF, false);
  case arith::CmpFPredicate::OGT:
    return std::pair(Operator::LtF, true);
  case arith::CmpFPredicate::OGE:
    return std::pair(Operator::LeF, true);
  default:
    return std::nullopt;
  }
}

/// Whether a value is an argument of the function, whose bits are known.
static bool isArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument &&
         isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
}

bool PlanScalars::isArithmetic(Operation *op) {
  auto areAll = [&](auto isRight) {
    return llvm::all_of(op->getOperandTypes(), isRight) &&
           llvm::all_of(op->getResultTypes(), isRight);
  };
  auto isBit = [](Type type) { return type.isInteger(1); };
  auto isInteger = [](Type type) {
    return type.isIndex() || type.isSignlessInteger();
  };
  if (isa<arith::ConstantOp>(op))
    return true; // of which type it may be is up to its users
  if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return areAll(isBit);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return isIntegerType(compare.getLhs().getType());
  auto isFloat = [](Type type) { return type.isF32(); };
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return isFloat(compare.getLhs().getType()) &&
           getComparison(compare.getPredicate());
  if (auto convert = dyn_cast<arith::SIToFPOp>(op))
    return isIntegerType(convert.getIn().getType()) &&
           isFloat(convert.getType());
  if (isa<arith::NegFOp>(op))
    return areAll(isFloat);
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return select.getCondition().getType().isInteger(1) &&
           (isIntegerType(select.getType()) || isBit(select.getType()) ||
            isFloat(select.getType()));
  // The bits of an argument, to look at its sign or whether it is NaN.
  if (isa<arith::BitcastOp>(op))
    return isArgument(op->getOperand(0)) && op->getOperand(0).getType().isF32();
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp>(op))
    return areAll(isInteger);
  return getOperator(op) && (areAll(isIntegerType) || areAll(isFloat));
}

Number PlanScalars::get(Value value) const {
  auto found = numbers.find(value);
  assert(found != numbers.end() && "operands are translated before their uses");
  return found->second;
}

void PlanScalars::require(Number condition, std::string message,
                          std::vector<Number> values) {
  if (condition.isConstant() && condition.value)
    return;
  plan::Requirement requirement = {condition, std::move(message),
                                   std::move(values)};
  if (isInBlock() || !isKnown(condition)) {
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

void PlanScalars::requireNonNegative(Operation *op) {
  if (!isUnsigned(op))
    return;
  for (Value operand : op->getOperands()) {
    Number number = get(operand);
    if (isNonNegative(number))
      continue;
    require(apply(Operator::Le, 0, number),
            getPlace(op->getLoc()) +
                "expected a number of at least 0, found {}",
            {number});
    requiredNonNegative.push_back(number);
  }
}

LogicalResult PlanScalars::translateBinary(Operation *op) {
  Number a = get(op->getOperand(0)), b = get(op->getOperand(1));
  auto set = [&](Number number) {
    this->set(op->getResult(0), number);
    return success();
  };
  if (isa<arith::AndIOp>(op))
    return set(apply(Operator::Min, a, b));
  if (isa<arith::OrIOp>(op))
    return set(apply(Operator::Max, a, b));
  if (isa<arith::XOrIOp>(op))
    return set(apply(Operator::Ne, a, b));
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    auto [comparison, isSwapped] = *getComparison(compare.getPredicate());
    return set(isSwapped ? apply(comparison, b, a) : apply(comparison, a, b));
  }
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare) {
    Number result = apply(*getOperator(op), a, b);
    if (op->getResult(0).getType().isIntOrIndex())
      requireFits(op, result);
    return set(result);
  }
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::eq:
    return set(apply(Operator::Eq, a, b));
  case arith::CmpIPredicate::ne:
    return set(apply(Operator::Ne, a, b));
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return set(apply(Operator::Lt, a, b));
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return set(apply(Operator::Le, a, b));
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    return set(apply(Operator::Lt, b, a));
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::uge:
    return set(apply(Operator::Le, b, a));
  }
  llvm_unreachable("all predicates are listed");
}

/// Requires a number to fit into the result of `op`, as plans know none that
/// wrap around.
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

/// Widening keeps the number; narrowing must.
LogicalResult PlanScalars::translateCast(Operation *op) {
  Number number = get(op->getOperand(0));
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  auto widthOf = [](Type type) {
    return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  };
  if (widthOf(to) < widthOf(from))
    requireFits(op, number);
  set(op->getResult(0), number);
  return success();
}

LogicalResult PlanScalars::translate(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
      set(constant, integer.getType().isInteger(1)
                        ? int64_t(!integer.getValue().isZero())
                        : integer.getValue().getSExtValue());
    else if (auto number = dyn_cast<FloatAttr>(constant.getValue());
             number && number.getType().isF32())
      set(constant, int64_t(number.getValue().bitcastToAPInt().getZExtValue()));
    return success();
  }
  for (Value operand : op->getOperands())
    if (!has(operand))
      return op->emitOpError("expected operands that are sizes, found one of ")
             << "type " << operand.getType()
             << " that a launch plan does not know";
  requireNonNegative(op);
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    set(select, apply(Operator::Select, get(select.getCondition()),
                      get(select.getTrueValue()), get(select.getFalseValue())));
    return success();
  }
  if (isa<arith::BitcastOp>(op)) { // floats are known by their bits
    set(op->getResult(0), get(op->getOperand(0)));
    return success();
  }
  if (isa<arith::NegFOp>(op)) { // -0.0 - x
    set(op->getResult(0),
        apply(Operator::SubF, int64_t(0x80000000), get(op->getOperand(0))));
    return success();
  }
  if (isa<arith::SIToFPOp>(op)) {
    set(op->getResult(0), apply(Operator::IntToF, get(op->getOperand(0)), {}));
    return success();
  }
  return op->getNumOperands() == 1 ? translateCast(op) : translateBinary(op);
}
