//===- PlanScalars.h - Host arithmetic as plan expressions ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts host arithmetic to plan expressions. Folds constants and reuses
// equal expressions. Expressions that depend only on arguments are added to the
// entry's table. All others become steps. Values are numbered in order of
// creation; PlanPrune.cpp assigns the final numbers.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_TRANSLATION_PLANSCALARS_H
#define MX_LIB_TRANSLATION_PLANSCALARS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Operation.h"
#include "mx/Plan/Plan.h"
#include "llvm/ADT/DenseMap.h"

namespace mx {

class PlanScalars {
public:
  explicit PlanScalars(plan::Entry &entry) : entry(entry) { open(entry.steps); }

  /// Returns the result of an expression, which is a constant, an operand or a
  /// value of the table or of a step.
  plan::Number apply(plan::Expression expression);
  plan::Number apply(plan::Operator op, plan::Number a, plan::Number b,
                     plan::Number c = {}) {
    return apply(plan::Expression{op, {a, b, c}, {}, {}, {}});
  }
  plan::Number mul(plan::Number a, plan::Number b) {
    return apply(plan::Operator::Mul, a, b);
  }
  plan::Number ceilDiv(plan::Number a, plan::Number b) {
    return apply(plan::Operator::CeilDiv, a, b);
  }
  /// Defines a value that a step computes.
  plan::Number define(bool isNonNegative = false);

  void set(mlir::Value value, plan::Number number) { numbers[value] = number; }
  /// Returns the number of a translated value. Operands are always translated,
  /// because a failure is reported at their definition.
  plan::Number get(mlir::Value value) const;
  bool has(mlir::Value value) const { return numbers.count(value); }

  /// Returns true for integers and floats of up to 64 bits.
  static bool isNumber(mlir::Type type);
  /// Returns true for arithmetic on such numbers, even if plans reject it.
  static bool isArithmetic(mlir::Operation *op);
  mlir::LogicalResult translate(mlir::Operation *op);

  /// `widen` zero-extends to 64 bits. `narrow` returns the low bits.
  plan::Number widen(mlir::Operation *at, mlir::Value value);
  plan::Number narrow(mlir::Operation *at, plan::Number number,
                      mlir::Type type);
  void requireNonNegative(mlir::Operation *at, plan::Number number);

  /// Requires `condition`, unless it is known to hold. The check precedes all
  /// steps if no block is open or `isEarly` is set. `isEarly` requires operands
  /// known before the steps run.
  void require(plan::Number condition, std::string message,
               std::vector<plan::Number> values, bool isEarly = false);

  /// Appends steps to `steps` until close().
  void open(std::vector<plan::Step> &steps) {
    blocks.push_back({&steps, computed.size(), requiredNonNegative.size()});
  }
  void close();
  bool isInBlock() const { return getDepth() > 0; }
  size_t getDepth() const { return blocks.size() - 1; }
  plan::Step &addStep(plan::Step::Kind kind);

  /// `isKnown` returns true if a number is known before the steps run. `isSize`
  /// also requires that the number does not depend on an address.
  bool isKnown(plan::Number number) const;
  bool isSize(plan::Number number) const;
  bool isNonNegative(plan::Number number) const;

  const std::vector<int64_t> &getTable() const { return table; }
  const plan::Expression &getExpression(int64_t value) const {
    return definitions[value].expression;
  }
  size_t count() const { return definitions.size(); }

private:
  struct Definition {
    plan::Expression expression;
    bool isExpression = false;
    bool isNonNegative = false;
    /// True for values of the table, and for values that depend on an address.
    bool isKnown = false, isAddress = false;
  };
  struct Block {
    std::vector<plan::Step> *steps;
    /// Sizes of these lists when the block was opened.
    size_t computed, requiredNonNegative;
  };

  // PlanScalars.cpp
  void translateConstant(mlir::Operation *op, mlir::Attribute value);
  bool translateSizes(mlir::Operation *op);
  mlir::LogicalResult translateIndex(mlir::Operation *op);
  plan::Number castIndex(mlir::Operation *op, bool isSigned);
  plan::Number compare(mlir::Operation *op,
                       mlir::arith::CmpIPredicate predicate);
  plan::Number compareFloats(mlir::arith::CmpFOp op);
  std::optional<plan::Number> divide(mlir::Operation *op);
  /// Emits a typed arith or math operation.
  plan::Number applyTyped(plan::Operator op, mlir::Operation *at,
                          llvm::ArrayRef<plan::Number> operands,
                          mlir::Type type, mlir::Type to = {});
  std::optional<plan::Number>
  simplify(const plan::Expression &expression) const;
  std::optional<plan::Number> find(const plan::Expression &expression) const;
  bool isNonNegative(const plan::Expression &expression) const;
  /// Returns true if an expression may be computed before the steps.
  bool mayPrecede(const plan::Expression &expression) const;
  void requireFits(mlir::Operation *op, plan::Number number);

  plan::Entry &entry;
  std::vector<Definition> definitions;
  /// Values of the table, and values computed by steps in open blocks.
  std::vector<int64_t> table, computed;
  /// Numbers that are required to be at least 0.
  std::vector<plan::Number> requiredNonNegative;
  std::vector<Block> blocks;
  llvm::DenseMap<mlir::Value, plan::Number> numbers;
};

} // namespace mx

#endif // MX_LIB_TRANSLATION_PLANSCALARS_H
