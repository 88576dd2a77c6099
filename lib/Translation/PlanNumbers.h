//===- PlanNumbers.h - Arithmetic of the host as expressions ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Turns arithmetic on sizes into the expressions of a launch plan: constants
// are folded and equal expressions are listed once.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_TRANSLATION_PLANNUMBERS_H
#define MX_LIB_TRANSLATION_PLANNUMBERS_H

#include "mlir/IR/Operation.h"
#include "mx/Plan/Plan.h"
#include "llvm/ADT/DenseMap.h"

namespace mx {

class PlanNumbers {
public:
  explicit PlanNumbers(plan::Entry &entry) : entry(entry) {}

  /// The number that `op` gives for the operands: a constant, one of them, or
  /// an expression.
  plan::Number apply(plan::Operator op, plan::Number a, plan::Number b,
                     plan::Number c = {});
  plan::Number mul(plan::Number a, plan::Number b) {
    return apply(plan::Operator::Mul, a, b);
  }
  plan::Number ceilDiv(plan::Number a, plan::Number b) {
    return apply(plan::Operator::CeilDiv, a, b);
  }

  void set(mlir::Value value, plan::Number number) { numbers[value] = number; }
  /// The number of a value that was translated. Every operand of an operation
  /// of the plan was: whatever is not is an error at the operation before it.
  plan::Number get(mlir::Value value) const;
  bool has(mlir::Value value) const { return numbers.count(value); }

  /// Whether `op` is arithmetic that a plan can express.
  static bool isArithmetic(mlir::Operation *op);
  mlir::LogicalResult translate(mlir::Operation *op);

  /// Requires `condition` unless it is known to hold.
  void require(plan::Number condition, std::string message,
               std::vector<plan::Number> values);

private:
  mlir::LogicalResult translateBinary(mlir::Operation *op);
  mlir::LogicalResult translateCast(mlir::Operation *op);
  std::optional<plan::Number> simplify(plan::Operator op, plan::Number a,
                                       plan::Number b, plan::Number c) const;
  bool isNonNegative(plan::Number number) const;
  /// Plans know signed numbers only: requires those of unsigned arithmetic to
  /// be at least 0, where they are the same.
  void requireNonNegative(mlir::Operation *op);

  plan::Entry &entry;
  /// Numbers that are required to be at least 0.
  std::vector<plan::Number> requiredNonNegative;
  llvm::DenseMap<mlir::Value, plan::Number> numbers;
  /// Of each value of the entry, whether it is known to be at least 0.
  std::vector<bool> nonNegative;
};

} // namespace mx

#endif // MX_LIB_TRANSLATION_PLANNUMBERS_H
