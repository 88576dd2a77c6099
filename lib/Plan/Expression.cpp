//===- Expression.cpp - Numbers of a launch plan --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spelling and arithmetic.
//===----------------------------------------------------------------------===//

#include "mx/Plan/Plan.h"

#include <algorithm>
#include <cstring>

using namespace mx::plan;

namespace {

struct OperatorInfo {
  const char *name;
  unsigned operands;
};

/// In the order of the enumeration.
constexpr OperatorInfo kOperators[kNumOperators] = {
    {"add", 2},  {"sub", 2},  {"mul", 2}, {"floordiv", 2}, {"ceildiv", 2},
    {"mod", 2},  {"min", 2},  {"max", 2}, {"select", 3},   {"eq", 2},
    {"ne", 2},   {"lt", 2},   {"le", 2},  {"addf", 2},     {"subf", 2},
    {"mulf", 2}, {"divf", 2}, {"eqf", 2}, {"ltf", 2},      {"lef", 2},
    {"itof", 1}};

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

float toFloat(int64_t bits) {
  uint32_t word = uint32_t(bits);
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}

int64_t toBits(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  return int64_t(word);
}

/// `a` divided by `b` of at least 1, rounded down.
int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

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

std::string Number::str() const {
  std::string index = std::to_string(value);
  switch (kind) {
  case Constant:
    return index;
  case Value:
    return "v" + index;
  case Extent:
    return "arg" + index + "[" + std::to_string(dim) + "]";
  case Argument:
    return "arg" + index;
  case ArgumentBits:
    return "arg" + index + ".bits";
  case ArgumentAddress:
    return "arg" + index + ".address";
  case ResultAddress:
    return "result" + index + ".address";
  case WorkAddress:
    return "work" + index + ".address";
  case ChosenAddress:
    return "buf" + index + ".address";
  case SmCount:
    return "sm_count";
  }
  return {};
}

std::optional<Number> Number::parse(std::string_view text) {
  if (text == "sm_count")
    return Number(SmCount, 0);
  struct Prefix {
    const char *text;
    std::optional<Kind> alone, address;
  };
  constexpr Prefix kPrefixes[] = {{"arg", Argument, ArgumentAddress},
                                  {"result", std::nullopt, ResultAddress},
                                  {"work", std::nullopt, WorkAddress},
                                  {"buf", std::nullopt, ChosenAddress},
                                  {"v", Value, std::nullopt}};
  const Prefix *prefix = nullptr;
  for (const Prefix &candidate : kPrefixes)
    if (!prefix && take(text, candidate.text))
      prefix = &candidate;
  std::optional<unsigned> index = prefix ? takeIndex(text) : std::nullopt;
  if (!index)
    return std::nullopt;
  if (text == ".bits" && prefix == kPrefixes)
    return Number(ArgumentBits, *index);
  if (text == ".address" && prefix->address)
    return Number(*prefix->address, *index);
  if (text.empty() && prefix->alone)
    return Number(*prefix->alone, *index);
  if (prefix != kPrefixes || !take(text, "["))
    return std::nullopt;
  std::optional<unsigned> dim = takeIndex(text);
  if (!dim || text != "]")
    return std::nullopt;
  return Number(Extent, *index, *dim);
}

static const char *const kBuffers[] = {"arg", "result", "work", "buf"};

std::string Buffer::str() const {
  return kBuffers[kind] + std::to_string(index);
}

std::optional<Buffer> Buffer::parse(std::string_view text) {
  for (Kind kind : {Argument, Result, Work, Chosen}) {
    std::string_view rest = text;
    if (!take(rest, kBuffers[kind]))
      continue;
    std::optional<unsigned> index = takeIndex(rest);
    if (index && rest.empty())
      return Buffer{kind, *index};
  }
  return std::nullopt;
}

std::optional<int64_t> mx::plan::apply(Operator op, const Operands &operands,
                                       std::string &error) {
  int64_t a = operands[0], b = operands[1], c = operands[2];
  auto fail = [&](const char *why) -> std::optional<int64_t> {
    error = std::string(getName(op)) + "(" + std::to_string(a) + ", " +
            std::to_string(b) + "): " + why;
    return std::nullopt;
  };
  auto overflow = [&](const char *sign) -> std::optional<int64_t> {
    error = std::to_string(a) + sign + std::to_string(b) +
            " does not fit into 64 bits";
    return std::nullopt;
  };
  int64_t result = 0;
  switch (op) {
  case Operator::Add:
    return __builtin_add_overflow(a, b, &result) ? overflow(" + ")
                                                 : std::optional(result);
  case Operator::Sub:
    return __builtin_sub_overflow(a, b, &result) ? overflow(" - ")
                                                 : std::optional(result);
  case Operator::Mul:
    return __builtin_mul_overflow(a, b, &result) ? overflow(" * ")
                                                 : std::optional(result);
  case Operator::FloorDiv:
  case Operator::CeilDiv:
  case Operator::Mod:
    if (b < 1)
      return fail("expected a divisor of at least 1");
    if (op == Operator::Mod)
      return a % b + (a % b < 0 ? b : 0);
    return floorDivide(a, b) + (op == Operator::CeilDiv && a % b != 0);
  case Operator::Min:
    return std::min(a, b);
  case Operator::Max:
    return std::max(a, b);
  case Operator::Select:
    return a != 0 ? b : c;
  case Operator::Eq:
    return a == b;
  case Operator::Ne:
    return a != b;
  case Operator::Lt:
    return a < b;
  case Operator::Le:
    return a <= b;
  case Operator::AddF:
    return toBits(toFloat(a) + toFloat(b));
  case Operator::SubF:
    return toBits(toFloat(a) - toFloat(b));
  case Operator::MulF:
    return toBits(toFloat(a) * toFloat(b));
  case Operator::DivF:
    return toBits(toFloat(a) / toFloat(b));
  case Operator::EqF:
    return toFloat(a) == toFloat(b);
  case Operator::LtF:
    return toFloat(a) < toFloat(b);
  case Operator::LeF:
    return toFloat(a) <= toFloat(b);
  case Operator::IntToF:
    return toBits(float(a));
  }
  return fail("no such operation");
}
