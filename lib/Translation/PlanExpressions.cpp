//===- PlanExpressions.cpp - Simplification of plan expressions -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simplifies and deduplicates expressions and infers their properties.
// Determines whether the table or a step computes an expression.
//===----------------------------------------------------------------------===//

#include "PlanScalars.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using plan::Number;
using plan::Operator;

bool PlanScalars::isNonNegative(Number number) const {
  if (llvm::is_contained(requiredNonNegative, number))
    return true;
  switch (number.kind) {
  case Number::Constant:
    return number.value >= 0;
  case Number::Value:
    return definitions[number.value].isNonNegative;
  case Number::Argument:
  case Number::ArgumentBits:
    return false;
  default:
    return true;
  }
}

bool PlanScalars::isNonNegative(const plan::Expression &expression) const {
  auto [a, b, c] = expression.operands;
  switch (expression.op) {
  case Operator::Max:
    return isNonNegative(a) || isNonNegative(b);
  case Operator::Select:
    return isNonNegative(b) && isNonNegative(c);
  case Operator::Mod:
  case Operator::Eq:
  case Operator::Ne:
  case Operator::Lt:
  case Operator::Le:
    return true;
  case Operator::Add:
  case Operator::Mul:
  case Operator::FloorDiv:
  case Operator::CeilDiv:
  case Operator::Min:
    return isNonNegative(a) && isNonNegative(b);
  case Operator::ExtUI:
    return expression.type.width < 64;
  case Operator::AndI:
    return isNonNegative(a) || isNonNegative(b);
  default: // Sub, and typed numbers, which are compared in their type
    return false;
  }
}

bool PlanScalars::isKnown(Number number) const {
  if (number.kind == Number::Value)
    return definitions[number.value].isKnown;
  return number.kind != Number::ChosenAddress;
}

bool PlanScalars::isSize(Number number) const {
  switch (number.kind) {
  case Number::Value:
    return definitions[number.value].isKnown &&
           !definitions[number.value].isAddress;
  case Number::ArgumentAddress:
  case Number::ResultAddress:
  case Number::WorkAddress:
  case Number::ConstantAddress:
  case Number::ChosenAddress:
    return false;
  default:
    return true;
  }
}

std::optional<Number>
PlanScalars::simplify(const plan::Expression &expression) const {
  Operator op = expression.op;
  auto [a, b, c] = expression.operands;
  if (a.isConstant() && b.isConstant() && c.isConstant()) {
    std::string ignored; // report errors at the call
    if (std::optional<int64_t> value =
            plan::apply(expression, {a.value, b.value, c.value}, ignored))
      return Number(*value);
  }
  bool areSame = a == b;
  Number zero(0), one(1);
  switch (op) {
  case Operator::Add:
  case Operator::Sub:
    return b == zero ? std::optional(a) : std::nullopt;
  case Operator::Mul:
    return b == one    ? std::optional(a)
           : b == zero ? std::optional(zero)
                       : std::nullopt;
  case Operator::FloorDiv:
  case Operator::CeilDiv:
    return b == one ? std::optional(a) : std::nullopt;
  case Operator::Mod: {
    bool isAligned =
        (a.kind == Number::WorkAddress || a.kind == Number::ConstantAddress) &&
        b.isConstant() && b.value > 0 &&
        plan::kWorkspaceAlignment % b.value == 0;
    return b == one || isAligned ? std::optional(zero) : std::nullopt;
  }
  case Operator::Min:
  case Operator::Max:
    return areSame ? std::optional(a) : std::nullopt;
  case Operator::Select:
    return b == c           ? std::optional(b)
           : a.isConstant() ? std::optional(a.value ? b : c)
                            : std::nullopt;
  case Operator::Eq:
    return areSame ? std::optional(one) : std::nullopt;
  case Operator::Le: {
    bool isLess = a.isConstant() && a.value <= 0 && isNonNegative(b);
    return areSame || isLess ? std::optional(one) : std::nullopt;
  }
  case Operator::Ne:
  case Operator::Lt:
    return areSame ? std::optional(zero) : std::nullopt;
  default: // typed operators
    return std::nullopt;
  }
}

/// Returns true if the operands of an operator may be exchanged.
static bool isCommutative(Operator op) {
  return llvm::is_contained({Operator::Add, Operator::Mul, Operator::Min,
                             Operator::Max, Operator::Eq, Operator::Ne},
                            op);
}

/// Returns true if `a` precedes `b` in the order of operands. Constants are
/// last in this order; the order of other numbers is arbitrary.
static bool isInOrder(Number a, Number b) {
  if (a.isConstant() || b.isConstant())
    return b.isConstant();
  return std::tie(a.kind, a.value, a.dim) <= std::tie(b.kind, b.value, b.dim);
}

Number PlanScalars::apply(plan::Expression expression) {
  Operator op = expression.op;
  auto &[a, b, c] = expression.operands;
  if (isCommutative(op) && !isInOrder(a, b))
    std::swap(a, b);
  // x * 32 * 4
  if (op == Operator::Mul && b.isConstant() && a.kind == Number::Value &&
      definitions[a.value].isExpression) {
    const plan::Expression &inner = definitions[a.value].expression;
    int64_t product;
    if (inner.op == op && inner.operands[1].isConstant() &&
        !llvm::MulOverflow(inner.operands[1].value, b.value, product))
      return apply(
          {op, {inner.operands[0], product}, {}, {}, expression.place});
  }
  if (std::optional<Number> simple = simplify(expression))
    return *simple;
  if (std::optional<Number> known = find(expression))
    return *known;
  Number value = define(isNonNegative(expression));
  Definition &definition = definitions[value.value];
  definition.expression = expression;
  definition.isExpression = true;
  definition.isKnown = mayPrecede(expression);
  if (definition.isKnown) {
    definition.isAddress = !llvm::all_of(
        expression.operands, [&](Number operand) { return isSize(operand); });
    table.push_back(value.value);
    return value;
  }
  computed.push_back(value.value);
  plan::Step &step = addStep(plan::Step::Compute);
  step.expression = expression;
  step.results = {value};
  return value;
}

Number PlanScalars::define(bool isNonNegative) {
  Definition &definition = definitions.emplace_back();
  definition.isNonNegative = isNonNegative;
  return Number(Number::Value, int64_t(definitions.size()) - 1);
}

std::optional<Number>
PlanScalars::find(const plan::Expression &expression) const {
  for (const std::vector<int64_t> *values : {&table, &computed})
    for (int64_t value : *values)
      if (definitions[value].expression == expression)
        return Number(Number::Value, value);
  return std::nullopt;
}

/// Blocks may not run, and a hoisted division could fail, so divisions leave a
/// block only if the divisor is a positive constant.
bool PlanScalars::mayPrecede(const plan::Expression &expression) const {
  if (!llvm::all_of(expression.operands,
                    [&](Number operand) { return isKnown(operand); }))
    return false;
  Number divisor = expression.operands[1];
  return !isInBlock() || !plan::isDivision(expression.op) ||
         (divisor.isConstant() && divisor.value > 0);
}

plan::Step &PlanScalars::addStep(plan::Step::Kind kind) {
  plan::Step &step = blocks.back().steps->emplace_back();
  step.kind = kind;
  return step;
}

void PlanScalars::close() {
  computed.resize(blocks.back().computed);
  requiredNonNegative.resize(blocks.back().requiredNonNegative);
  blocks.pop_back();
}
