//===- Expression.h - Numbers of a launch plan ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grids, sizes and extents are not known when a program is compiled, but how
// they follow from the arguments is. A plan lists the operations in order, so
// that each is computed once and nothing recurses. Arithmetic on sizes is that
// of 64-bit integers; what does not fit, and a division by zero, is an error.
// What else a program computes on the host is done in the types it names.
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
    ArgumentBits,    ///< "arg2.bits": those of an argument that is a float
    ArgumentAddress, ///< "arg0.address"
    ResultAddress,   ///< "result0.address"
    WorkAddress,     ///< "work0.address"
    ConstantAddress, ///< "const0.address"
    WindowAddress,   ///< "win0.address"
    ChosenAddress,   ///< "buf0.address"
    Rank,            ///< "group0.rank"
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
  bool operator!=(const Number &other) const { return !(*this == other); }
  bool operator==(const Number &other) const {
    return kind == other.kind && value == other.value && dim == other.dim;
  }
  /// As the manifest has it, without quotes.
  std::string str() const;
  /// What `str` gave, unless it was a constant.
  static std::optional<Number> parse(std::string_view text);
};

/// What arithmetic is done in. Every number is held as 64 bits: an integer
/// with its sign, an i1 as 0 or 1, a float as its bits, with zeros above.
struct NumberType {
  enum Kind : uint8_t { None, Integer, F16, BF16, F32, F64 };
  Kind kind = None;
  /// Bits of an integer, 1 to 64.
  uint8_t width = 0;

  bool isFloat() const { return kind >= F16; }
  unsigned getBits() const;
  bool operator==(const NumberType &other) const {
    return kind == other.kind && width == other.width;
  }
  /// As in MLIR: "i32", "bf16".
  std::string str() const;
  static std::optional<NumberType> parse(std::string_view text);
};

/// Those of sizes first, which have no type: 64 bits, and what does not fit is
/// an error. The others are operations of the arith and math dialects in one
/// type; conversions name two.
enum class Operator : uint8_t {
#define MX_OPERATOR(value, name, operands, form) value,
#include "mx/Plan/Operators.def"
};
inline constexpr unsigned kNumOperators = unsigned(Operator::Bitcast) + 1;

const char *getName(Operator op);
std::optional<Operator> parseOperator(std::string_view name);
unsigned getOperandCount(Operator op);
/// How many types it names: 0, 1 or 2.
unsigned getTypeCount(Operator op);
/// Whether it may be done in these types.
bool takesTypes(Operator op, NumberType type, NumberType to);
/// Whether it fails for a divisor that is 0 (or, of sizes, below 1).
bool isDivision(Operator op);

using Operands = std::array<int64_t, 3>;

/// An operator, its types and what it is applied to.
struct Expression {
  Operator op = Operator::Add;
  std::array<Number, 3> operands;
  NumberType type, to;
  /// Where it stands in the program, for messages: "x.mlir:3:5: " or nothing.
  std::string place;

  bool operator==(const Expression &other) const {
    return op == other.op && operands == other.operands && type == other.type &&
           to == other.to;
  }
};

/// The result, or nothing and why.
///
/// Of sizes: divisors must be at least 1; quotients are rounded down or up and
/// remainders are not negative; comparisons give 1 or 0; `select` gives its
/// second operand unless the first is 0. Of the others docs/reference/Math.md
/// says what they give; only a division by 0 has no result.
std::optional<int64_t> apply(const Expression &expression,
                             const Operands &operands, std::string &error);

} // namespace mx::plan

#endif // MX_PLAN_EXPRESSION_H
