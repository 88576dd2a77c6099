//===- PlanScalars.h - Arithmetic of the host as expressions ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Turns arithmetic on sizes into the expressions of a launch plan: constants
// are folded and equal expressions are listed once. What follows from the
// arguments goes into the entry's table, the rest becomes steps.
//
// While a plan is built, values are numbered in the order in which they are
// made; PlanPrune.cpp gives them the numbers that the manifest wants.
//
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

  /// The number that an expression gives: a constant, one of its operands, or
  /// a value.
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
  /// A value that a step defines.
  plan::Number define(bool isNonNegative = false);

  void set(mlir::Value value, plan::Number number) { numbers[value] = number; }
  /// The number of a value that was translated. Every operand of an operation
  /// of the plan was: whatever is not is an error at the operation before it.
  plan::Number get(mlir::Value value) const;
  bool has(mlir::Value value) const { return numbers.count(value); }

  /// Whether a plan has numbers of the type: it knows integers and floats of up
  /// to 64 bits.
  static bool isNumber(mlir::Type type);
  /// Whether `op` is arithmetic on such numbers. A plan may still lack it.
  static bool isArithmetic(mlir::Operation *op);
  mlir::LogicalResult translate(mlir::Operation *op);

  /// An unsigned integer in 64 bits, and the low bits of such a number.
  plan::Number widen(mlir::Operation *at, mlir::Value value);
  plan::Number narrow(mlir::Operation *at, plan::Number number,
                      mlir::Type type);
  void requireNonNegative(mlir::Operation *at, plan::Number number);

  /// Requires `condition` unless it is known to hold: before the steps where
  /// no block is open, or `isEarly`, and all that it says is known there.
  void require(plan::Number condition, std::string message,
               std::vector<plan::Number> values, bool isEarly = false);

  /// Steps go into a block, until it is closed.
  void open(std::vector<plan::Step> &steps) {
    blocks.push_back({&steps, computed.size(), requiredNonNegative.size()});
  }
  void close();
  bool isInBlock() const { return getDepth() > 0; }
  /// Of blocks within one another.
  size_t getDepth() const { return blocks.size() - 1; }
  plan::Step &addStep(plan::Step::Kind kind);

  /// Whether a number is known before the steps, and whether it also follows
  /// from no address.
  bool isKnown(plan::Number number) const;
  bool isSize(plan::Number number) const;
  bool isNonNegative(plan::Number number) const;

  /// The expressions of the table, by value.
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
    /// Stands in the table, and follows from an address.
    bool isKnown = false, isAddress = false;
  };
  struct Block {
    std::vector<plan::Step> *steps;
    /// How much was known when it was opened.
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
  /// An operation of arith or math in the types that it has.
  plan::Number applyTyped(plan::Operator op, mlir::Operation *at,
                          llvm::ArrayRef<plan::Number> operands,
                          mlir::Type type, mlir::Type to = {});
  std::optional<plan::Number>
  simplify(const plan::Expression &expression) const;
  std::optional<plan::Number> find(const plan::Expression &expression) const;
  bool isNonNegative(const plan::Expression &expression) const;
  /// Whether an expression may be computed before the steps.
  bool mayPrecede(const plan::Expression &expression) const;
  void requireFits(mlir::Operation *op, plan::Number number);

  plan::Entry &entry;
  std::vector<Definition> definitions;
  /// Values of the table, and those that steps of open blocks compute.
  std::vector<int64_t> table, computed;
  /// Numbers that are required to be at least 0.
  std::vector<plan::Number> requiredNonNegative;
  std::vector<Block> blocks;
  llvm::DenseMap<mlir::Value, plan::Number> numbers;
};

} // namespace mx

#endif // MX_LIB_TRANSLATION_PLANSCALARS_H
