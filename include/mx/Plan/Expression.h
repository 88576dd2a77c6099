//===- Expression.h - Expressions of launch plans ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grids, sizes and extents are computed from the arguments of a call. A plan
// lists expressions in order, so each is evaluated once and without
// recursion. Size arithmetic uses 64-bit integers; overflow and division by
// zero are errors. Other host arithmetic uses the types in the expression.
//===----------------------------------------------------------------------===//

#ifndef MX_PLAN_EXPRESSION_H
#define MX_PLAN_EXPRESSION_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mx::plan {

/// Constant, or reference to a value of the plan.
struct Number {
  enum Kind : uint8_t {
    Constant,        ///< 128
    Value,           ///< "v3": result of expression 3
    Extent,          ///< "arg0[1]": dimension of an array argument
    Argument,        ///< "arg2": integer argument
    ArgumentBits,    ///< "arg2.bits": bits of a float argument
    ArgumentAddress, ///< "arg0.address"
    ResultAddress,   ///< "result0.address"
    WorkAddress,     ///< "work0.address"
    ConstantAddress, ///< "const0.address"
    WindowAddress,   ///< "win0.address"
    ChosenAddress,   ///< "buf0.address"
    Peers,           ///< "group0.peers"
    Rank,            ///< "group0.rank"
    SmCount          ///< "sm_count"
  };
  Kind kind = Constant;
  /// The constant, or the index of the value, argument or result.
  int64_t value = 0;
  unsigned dim = 0;

  Number() = default;
  Number(int64_t constant) : value(constant) {}
  Number(Kind kind, int64_t index, unsigned dim = 0)
      : kind(kind), value(index), dim(dim) {}

  bool isConstant() const { return kind == Constant; }
  bool operator!=(const Number &other) const { return !(*this == other); }
  bool operator==(const Number &other) const {
    return kind == other.kind && value == other.value && dim == other.dim;
  }
  /// Returns the spelling in manifests, without quotes.
  std::string str() const;
  /// Parses the result of `str`, except constants.
  static std::optional<Number> parse(std::string_view text);
};

/// Type of an operation. Every number is stored in 64 bits: integers are
/// sign-extended, i1 is 0 or 1, and floats are their zero-extended bits.
struct NumberType {
  enum Kind : uint8_t { None, Integer, F16, BF16, F32, F64 };
  Kind kind = None;
  /// Bits of an integer type, 1 to 64.
  uint8_t width = 0;

  bool isFloat() const { return kind >= F16; }
  unsigned getBits() const;
  bool operator==(const NumberType &other) const {
    return kind == other.kind && width == other.width;
  }
  /// Returns the MLIR spelling: "i32", "bf16".
  std::string str() const;
  static std::optional<NumberType> parse(std::string_view text);
};

/// Operators of expressions. The first operators compute sizes and have no
/// type: they use 64 bits, and overflow is an error. The others are operations
/// of the arith and math dialects on a type, or conversions between two types.
enum class Operator : uint8_t {
#define MX_OPERATOR(value, name, operands, form) value,
#include "mx/Plan/Operators.def"
};
inline constexpr unsigned kNumOperators = unsigned(Operator::Bitcast) + 1;

const char *getName(Operator op);
std::optional<Operator> parseOperator(std::string_view name);
unsigned getOperandCount(Operator op);
/// Returns the number of types of an operator: 0, 1 or 2.
unsigned getTypeCount(Operator op);
/// Returns true if the operator supports these types.
bool takesTypes(Operator op, NumberType type, NumberType to);
/// Returns true if the operator fails for a divisor of 0 or, for operators on
/// sizes, for a divisor below 1.
bool isDivision(Operator op);

using Operands = std::array<int64_t, 3>;

/// Operator with its types and operands.
struct Expression {
  Operator op = Operator::Add;
  std::array<Number, 3> operands;
  NumberType type, to;
  /// Source location for messages: "x.mlir:3:5: ", or empty.
  std::string place;

  bool operator==(const Expression &other) const {
    return op == other.op && operands == other.operands && type == other.type &&
           to == other.to;
  }
};

/// Returns the result. On failure returns nothing and sets `error`.
///
/// For sizes, divisors must be at least 1, quotients are rounded down or up,
/// remainders are not negative, comparisons return 1 or 0, and `select` returns
/// its second operand unless the first is 0. docs/reference/Math.md defines the
/// other operators; only a division by 0 fails.
std::optional<int64_t> apply(const Expression &expression,
                             const Operands &operands, std::string &error);

} // namespace mx::plan

#endif // MX_PLAN_EXPRESSION_H
