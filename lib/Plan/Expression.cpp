//===- Expression.cpp - Numbers of a launch plan --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spelling and arithmetic.
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"
#include "mx/Plan/Plan.h"

#include <algorithm>

using namespace mx::plan;

namespace {

/// Between which types an operator is.
enum class Form : uint8_t {
  Sizes,
  Integers,
  IntegersOrFloats,
  Floats,
  IntegerToWider,
  IntegerToNarrower,
  IntegerToFloat,
  FloatToInteger,
  FloatToWider,
  FloatToNarrower,
  SameBits
};

struct OperatorInfo {
  const char *name;
  unsigned operands;
  Form form;
};

constexpr OperatorInfo kOperators[kNumOperators] = {
#define MX_OPERATOR(value, name, operands, form) {name, operands, Form::form},
#include "mx/Plan/Operators.def"
};

/// Takes a decimal number off the front of `text`; at most 9 digits, more than
/// any list has elements.
std::optional<unsigned> takeIndex(std::string_view &text) {
  size_t digits = 0;
  unsigned value = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9')
    value = value * 10 + unsigned(text[digits++] - '0');
  bool isPadded = digits > 1 && text[0] == '0';
  if (digits == 0 || digits > 9 || isPadded)
    return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view &text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix)
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

unsigned getWidth(NumberType type) {
  switch (type.kind) {
  case NumberType::None:
    return 0;
  case NumberType::Integer:
    return type.width;
  case NumberType::F16:
  case NumberType::BF16:
    return 16;
  case NumberType::F32:
    return 32;
  case NumberType::F64:
    return 64;
  }
  return 0;
}

/// `a` divided by `b` of at least 1, rounded down, and what is left, from 0 on.
/// Most divisors are powers of two, and a division takes longer than all else
/// about a number.
bool isPowerOfTwo(int64_t b) { return (b & (b - 1)) == 0; }
int64_t floorDivide(int64_t a, int64_t b) {
  return isPowerOfTwo(b) ? a >> __builtin_ctzll(uint64_t(b))
                         : a / b - (a % b < 0);
}
int64_t floorModulo(int64_t a, int64_t b) {
  if (isPowerOfTwo(b))
    return a & (b - 1);
  int64_t rest = a % b;
  return rest + (rest < 0 ? b : 0);
}

} // namespace

const char *mx::plan::getName(Operator op) {
  return kOperators[unsigned(op)].name;
}

unsigned mx::plan::getOperandCount(Operator op) {
  return kOperators[unsigned(op)].operands;
}

std::optional<Operator> mx::plan::parseOperator(std::string_view name) {
  for (unsigned i = 0; i < kNumOperators; ++i)
    if (name == kOperators[i].name)
      return Operator(i);
  return std::nullopt;
}

unsigned mx::plan::getTypeCount(Operator op) {
  Form form = kOperators[unsigned(op)].form;
  return form == Form::Sizes ? 0 : form <= Form::Floats ? 1 : 2;
}

bool mx::plan::takesTypes(Operator op, NumberType type, NumberType to) {
  bool isInteger = type.kind == NumberType::Integer;
  bool toInteger = to.kind == NumberType::Integer;
  switch (kOperators[unsigned(op)].form) {
  case Form::Sizes:
    return true;
  case Form::Integers:
    return isInteger;
  case Form::IntegersOrFloats:
    return isInteger || type.isFloat();
  case Form::Floats:
    return type.isFloat();
  case Form::IntegerToWider:
    return isInteger && toInteger && type.width < to.width;
  case Form::IntegerToNarrower:
    return isInteger && toInteger && type.width > to.width;
  case Form::IntegerToFloat:
    return isInteger && to.isFloat();
  case Form::FloatToInteger:
    return type.isFloat() && toInteger;
  case Form::FloatToWider:
    return type.isFloat() && to.isFloat() && getWidth(type) < getWidth(to);
  case Form::FloatToNarrower:
    return type.isFloat() && to.isFloat() && getWidth(type) > getWidth(to);
  case Form::SameBits:
    return getWidth(type) != 0 && getWidth(type) == getWidth(to);
  }
  return false;
}

bool mx::plan::isDivision(Operator op) {
  switch (op) {
  case Operator::FloorDiv:
  case Operator::CeilDiv:
  case Operator::Mod:
  case Operator::DivSI:
  case Operator::DivUI:
  case Operator::RemSI:
  case Operator::RemUI:
  case Operator::FloorDivSI:
  case Operator::CeilDivSI:
  case Operator::CeilDivUI:
    return true;
  default:
    return false;
  }
}

static const char *const kFloatTypes[] = {"f16", "bf16", "f32", "f64"};

std::string NumberType::str() const {
  if (kind == None)
    return {};
  return kind == Integer ? "i" + std::to_string(width)
                         : kFloatTypes[kind - F16];
}

std::optional<NumberType> NumberType::parse(std::string_view text) {
  for (Kind kind : {F16, BF16, F32, F64})
    if (text == kFloatTypes[kind - F16])
      return NumberType{kind, 0};
  if (!take(text, "i"))
    return std::nullopt;
  std::optional<unsigned> width = takeIndex(text);
  if (!width || !text.empty() || *width < 1 || *width > 64)
    return std::nullopt;
  return NumberType{Integer, uint8_t(*width)};
}

namespace {
/// What stands around the index of a number; an extent and sm_count have forms
/// of their own.
struct Spelling {
  Number::Kind kind;
  const char *prefix, *suffix;
};
constexpr Spelling kSpellings[] = {
    {Number::Value, "v", ""},
    {Number::Argument, "arg", ""},
    {Number::ArgumentBits, "arg", ".bits"},
    {Number::ArgumentAddress, "arg", ".address"},
    {Number::ResultAddress, "result", ".address"},
    {Number::WorkAddress, "work", ".address"},
    {Number::ConstantAddress, "const", ".address"},
    {Number::WindowAddress, "win", ".address"},
    {Number::ChosenAddress, "buf", ".address"},
    {Number::Rank, "group", ".rank"}};
} // namespace

std::string Number::str() const {
  std::string index = std::to_string(value);
  if (kind == SmCount)
    return "sm_count";
  if (kind == Extent)
    return "arg" + index + "[" + std::to_string(dim) + "]";
  for (const Spelling &spelling : kSpellings)
    if (spelling.kind == kind)
      return spelling.prefix + index + spelling.suffix;
  return index;
}

std::optional<Number> Number::parse(std::string_view text) {
  if (text == "sm_count")
    return Number(SmCount, 0);
  for (const Spelling &spelling : kSpellings) {
    std::string_view rest = text;
    std::optional<unsigned> index =
        take(rest, spelling.prefix) ? takeIndex(rest) : std::nullopt;
    if (index && rest == spelling.suffix)
      return Number(spelling.kind, *index);
    if (!index || spelling.kind != Argument || !take(rest, "["))
      continue;
    if (std::optional<unsigned> dim = takeIndex(rest); dim && rest == "]")
      return Number(Extent, *index, *dim);
  }
  return std::nullopt;
}

static const char *const kBuffers[] = {"arg", "result", "work", "const",
                                       "win", "buf",    "taken"};

std::string Buffer::str() const {
  return kBuffers[kind] + std::to_string(index);
}

Number Buffer::getAddress() const {
  constexpr Number::Kind kKinds[] = {
      Number::ArgumentAddress, Number::ResultAddress, Number::WorkAddress,
      Number::ConstantAddress, Number::WindowAddress, Number::ChosenAddress};
  return {kKinds[kind], index};
}

std::optional<Buffer> Buffer::parse(std::string_view text) {
  for (Kind kind : {Argument, Result, Work, Constant, Window, Chosen}) {
    std::string_view rest = text;
    if (!take(rest, kBuffers[kind]))
      continue;
    std::optional<unsigned> index = takeIndex(rest);
    if (index && rest.empty())
      return Buffer{kind, *index};
  }
  return std::nullopt;
}

/// Of the operators of sizes; false where the result does not fit.
static bool applyToSizes(Operator op, const Operands &operands, int64_t &result,
                         std::string &error) {
  int64_t a = operands[0], b = operands[1], c = operands[2];
  auto check = [&](bool overflows, const char *sign) {
    if (overflows)
      error = std::to_string(a) + sign + std::to_string(b) +
              " does not fit into 64 bits";
    return !overflows;
  };
  switch (op) {
  case Operator::Add:
    return check(__builtin_add_overflow(a, b, &result), " + ");
  case Operator::Sub:
    return check(__builtin_sub_overflow(a, b, &result), " - ");
  case Operator::Mul:
    return check(__builtin_mul_overflow(a, b, &result), " * ");
  case Operator::FloorDiv:
    result = floorDivide(a, b);
    break;
  case Operator::CeilDiv:
    result = floorDivide(a, b) + (floorModulo(a, b) != 0);
    break;
  case Operator::Mod:
    result = floorModulo(a, b);
    break;
  case Operator::Min:
    result = std::min(a, b);
    break;
  case Operator::Max:
    result = std::max(a, b);
    break;
  case Operator::Select:
    result = a != 0 ? b : c;
    break;
  case Operator::Eq:
    result = a == b;
    break;
  case Operator::Ne:
    result = a != b;
    break;
  case Operator::Lt:
    result = a < b;
    break;
  default: // Le
    result = a <= b;
    break;
  }
  return true;
}

std::optional<int64_t> mx::plan::apply(const Expression &expression,
                                       const Operands &operands,
                                       std::string &error) {
  Operator op = expression.op;
  bool isOfSizes = getTypeCount(op) == 0;
  if (int64_t divisor = operands[1];
      isDivision(op) && (isOfSizes ? divisor < 1 : divisor == 0)) {
    error = std::string("expected a divisor ") +
            (isOfSizes ? "of at least 1" : "other than 0") + ", found " +
            std::to_string(divisor);
    return std::nullopt;
  }
  if (isOfSizes) {
    int64_t result = 0;
    if (!applyToSizes(op, operands, result, error))
      return std::nullopt;
    return result;
  }
  if (getTypeCount(op) == 2)
    return convert(op, expression.type, expression.to, operands[0]);
  if (expression.type.isFloat())
    return applyToFloats(op, expression.type, operands);
  return applyToIntegers(op, expression.type.width, operands[0], operands[1]);
}
