//===- Expression.cpp - Expressions of launch plans -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses and prints numbers and operators, and classifies operators.
//===----------------------------------------------------------------------===//

#include "mx/Plan/Plan.h"

using namespace mx::plan;

namespace {

/// Operand types of an operator.
enum class Form : uint8_t {
  Sizes,
  SizeDivision,
  Integers,
  IntegerDivision,
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

/// Removes a decimal number of at most 9 digits from the front of `text`. No
/// list has more elements than 9 digits can index.
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
  return form <= Form::SizeDivision ? 0 : form <= Form::Floats ? 1 : 2;
}

bool mx::plan::takesTypes(Operator op, NumberType type, NumberType to) {
  bool isInteger = type.kind == NumberType::Integer;
  bool toInteger = to.kind == NumberType::Integer;
  switch (kOperators[unsigned(op)].form) {
  case Form::Sizes:
  case Form::SizeDivision:
    return true;
  case Form::Integers:
  case Form::IntegerDivision:
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
    return type.isFloat() && to.isFloat() && type.getBits() < to.getBits();
  case Form::FloatToNarrower:
    return type.isFloat() && to.isFloat() && type.getBits() > to.getBits();
  case Form::SameBits:
    return type.getBits() != 0 && type.getBits() == to.getBits();
  }
  return false;
}

bool mx::plan::isDivision(Operator op) {
  Form form = kOperators[unsigned(op)].form;
  return form == Form::SizeDivision || form == Form::IntegerDivision;
}

unsigned NumberType::getBits() const {
  constexpr unsigned kBits[] = {0, 0, 16, 16, 32, 64};
  return kind == Integer ? width : kBits[kind];
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
/// Text around the index of a number; extents and sm_count use other forms.
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
    {Number::Peers, "group", ".peers"},
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
