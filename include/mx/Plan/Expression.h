//===- Expression.h - Numbers of a launch plan ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grids, sizes and extents are not known when a program is compiled, but how
// they follow from the arguments is. A plan lists the operations in order, so
// that each is computed once and nothing recurses. Arithmetic is that of 64-bit
// integers; what does not fit, and a division by zero, is an error with the
// operands in it.
//===----------------------------------------------------------------------===//

#ifndef MX_PLAN_EXPRESSION_H
#define MX_PLAN_EXPRESSION_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mx::plan {

/// A constant, or where a number comes from.
struct Number {
  enum Kind : uint8_t {
    Constant,        ///< 128
    Value,           ///< "v3": what expression 3 gives
    Extent,          ///< "arg0[1]": a dimension of an array argument
    Argument,        ///< "arg2": an argument that is an integer
    ArgumentBits,    ///< "arg2.bits": those of an argument that is an f32
    ArgumentAddress, ///< "arg0.address"
    ResultAddress,   ///< "result0.address"
    WorkAddress,     ///< "work0.address"
    ChosenAddress,   ///< "buf0.address"
    SmCount          ///< "sm_count"
  };
  Kind kind = Constant;
  /// The constant, or which value, argument or result.
  int64_t value = 0;
  unsigned dim = 0;

  Number() = default;
  Number(int64_t constant) : value(constant) {}
  Number(Kind kind, int64_t index, unsigned dim = 0)
      : kind(kind), value(index), dim(dim) {}

  bool isConstant() const { return kind == Constant; }
  bool operator==(const Number &other) const {
    return kind == other.kind && value == other.value && dim == other.dim;
  }
  /// As the manifest has it, without quotes.
  std::string str() const;
  /// What `str` gave, unless it was a constant.
  static std::optional<Number> parse(std::string_view text);
};

enum class Operator : uint8_t {
  Add,
  Sub,
  Mul,
  FloorDiv,
  CeilDiv,
  Mod,
  Min,
  Max,
  Select,
  Eq,
  Ne,
  Lt,
  Le,
  // Of f32s, by their bits; each is rounded to nearest even.
  AddF,
  SubF,
  MulF,
  DivF,
  EqF,
  LtF,
  LeF,
  IntToF
};
inline constexpr unsigned kNumOperators = 21;

const char *getName(Operator op);
std::optional<Operator> parseOperator(std::string_view name);
unsigned getOperandCount(Operator op);

using Operands = std::array<int64_t, 3>;

/// The result, or nothing and why. Divisors must be at least 1; quotients are
/// rounded down or up and remainders are not negative; comparisons give 1 or 0;
/// `select` gives its second operand unless the first is 0. Of f32s the low 32
/// bits of a number count, and the others of a result are 0.
std::optional<int64_t> apply(Operator op, const Operands &operands,
                             std::string &error);

struct Expression {
  Operator op = Operator::Add;
  std::array<Number, 3> operands;

  bool operator==(const Expression &other) const {
    return op == other.op && operands == other.operands;
  }
};

} // namespace mx::plan

#endif // MX_PLAN_EXPRESSION_H
