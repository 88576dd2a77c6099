//===- ParserDeclarations.cpp - Parsing of variables and constants --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, chapter "State spaces, types, and variables", and constant
// expressions.
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"

using namespace mx::sim;
using namespace mx::sim::ptx;

bool mx::sim::ptx::parseSpace(std::string_view word, Space &space) {
  static const std::pair<const char *, Space> names[] = {
      {"global", Space::Global}, {"const", Space::Const},
      {"shared", Space::Shared}, {"local", Space::Local},
      {"param", Space::Param},   {"reg", Space::Reg},
  };
  for (auto &[name, value] : names)
    if (word == name) {
      space = value;
      return true;
    }
  return false;
}

bool mx::sim::ptx::parseType(std::string_view word, Type &type) {
  struct Row {
    const char *name;
    Type type;
  };
  static const Row rows[] = {
      {"pred", {'P', 1}},    {"b8", {'B', 8}},       {"b16", {'B', 16}},
      {"b32", {'B', 32}},    {"b64", {'B', 64}},     {"b128", {'B', 128}},
      {"u8", {'U', 8}},      {"u16", {'U', 16}},     {"u32", {'U', 32}},
      {"u64", {'U', 64}},    {"s8", {'S', 8}},       {"s16", {'S', 16}},
      {"s32", {'S', 32}},    {"s64", {'S', 64}},     {"f16", {'F', 16}},
      {"f32", {'F', 32}},    {"f64", {'F', 64}},     {"f16x2", {'B', 32}},
      {"bf16", {'B', 16}},   {"bf16x2", {'B', 32}},  {"tf32", {'B', 32}},
      {"e4m3x2", {'B', 16}}, {"e5m2x2", {'B', 16}},  {"u16x2", {'B', 32}},
      {"s16x2", {'B', 32}},  {"b1024", {'B', 1024}},
  };
  for (const Row &row : rows)
    if (word == row.name) {
      type = row.type;
      return true;
    }
  return false;
}

bool Parser::variables(Space space, Linkage linkage, bool isParameterOf) {
  Variable proto;
  proto.space = space;
  proto.isExtern = linkage.isExtern;
  proto.isVisible = linkage.isVisible;
  proto.isWeak = linkage.isWeak;
  proto.align = 0;
  Type type;
  unsigned vector = 1;
  bool hasType = false;
  while (tok.kind == Tok::Dotted) {
    if (tok.text == "align") {
      advance();
      if (tok.kind != Tok::Int || !tok.value || (tok.value & (tok.value - 1)) ||
          tok.value > (1u << 20))
        return error("expected an alignment that is a power of two, found " +
                     found());
      if (!hasType || !isParameterOf)
        proto.align = tok.value;
      advance();
    } else if (tok.text == "v2" || tok.text == "v4" || tok.text == "v8") {
      vector = tok.text[1] - '0';
      advance();
    } else if (tok.text == "ptr" || tok.text == "attribute") {
      bool isAttribute = tok.text == "attribute";
      advance();
      if (isAttribute) {
        while (tok.kind != Tok::End && !tok.is(')'))
          advance();
        if (!expect(')'))
          return false;
      }
    } else if (Space pointee;
               hasType && isParameterOf && parseSpace(tok.text, pointee)) {
      advance();
    } else if (parseType(tok.text, type)) {
      hasType = true;
      proto.type = tok.text;
      advance();
    } else {
      return error("unexpected '." + std::string(tok.text) +
                   "' in a declaration");
    }
  }
  if (!hasType)
    return error("expected a type, found " + found());
  if (type.kind == 'P')
    return error("a predicate has no address");

  unsigned unit = type.bits / 8 * vector;
  do {
    Variable v = proto;
    v.line = tok.line;
    if (!v.align)
      v.align = unit;
    if (!expectIdent(v.name, "a variable name"))
      return false;
    uint64_t count = 1;
    bool open = false;
    while (take('[')) {
      uint64_t n = 0;
      if (tok.is(']'))
        open = true;
      else if (!constantExpression(n))
        return false;
      if (!open && n > kMaxVariableBytes)
        return error("array of more than 64 GiB");
      count = open ? count : count * n;
      if (count > kMaxVariableBytes)
        return error("array of more than 64 GiB");
      if (!expect(']'))
        return false;
    }
    v.bytes = open ? 0 : count * unit;
    if (v.bytes > kMaxVariableBytes)
      return error("array of more than 64 GiB");
    if (take('=')) {
      if (!initializer(v, type))
        return false;
      if (open)
        v.bytes = v.init.size();
      else if (v.init.size() > v.bytes)
        return error("initializer of " + std::to_string(v.init.size()) +
                     " bytes for a variable of " + std::to_string(v.bytes));
    } else if (open && !linkage.isExtern && !isParameterOf &&
               space != Space::Param) {
      return error("variable '" + std::string(v.name) + "' has no size");
    }
    Variable *added = addVariable(std::move(v));
    scopes.back().names[added->name] = {Entity::Var, 0, added};
    if (!isParameterOf) {
      if (fn)
        fn->locals.push_back(added);
      else
        m.globals.push_back(added);
    }
    if (isParameterOf)
      return true;
  } while (take(','));
  return expect(';');
}

/// Parses an initializer. Braces group values without padding, as in compiler
/// output.
bool Parser::initializer(Variable &v, Type type) {
  return initValue(v, type, 0);
}

static double asDouble(uint64_t bits) {
  double d;
  std::memcpy(&d, &bits, sizeof d);
  return d;
}

bool Parser::initValue(Variable &v, Type type, unsigned level) {
  if (level > kMaxDepth)
    return error("initializer nested too deeply");
  if (take('{')) {
    while (!tok.is('}')) {
      if (!initValue(v, type, level + 1))
        return false;
      if (!take(',') && !tok.is('}'))
        return error("expected ',' or '}', found " + found());
    }
    advance();
    return true;
  }
  uint64_t value = 0;
  unsigned bytes = type.bits / 8;
  if (tok.kind == Tok::Float32) {
    value = tok.value;
    advance();
  } else if (tok.kind == Tok::Ident) {
    std::string_view name = tok.text;
    advance();
    bool isGeneric = name == "generic" && take('(');
    if (isGeneric && !expectIdent(name, "a variable"))
      return false;
    if (isGeneric && !expect(')'))
      return false;
    uint64_t addend = 0;
    if (tok.is('+')) {
      advance();
      if (!constantExpression(addend))
        return false;
    }
    v.fixups.push_back({v.init.size(), bytes, name, int64_t(addend)});
  } else if (!number(value)) {
    return false;
  } else if (constantIsFloat && type.kind == 'F' && type.bits == 32) {
    float f = float(asDouble(value));
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    value = bits;
  }
  for (unsigned i = 0; i < bytes; ++i)
    v.init.push_back(i < 8 ? uint8_t(value >> (8 * i)) : 0);
  return true;
}

/// Returns the quotient, or the remainder if `rest`. The arithmetic is signed
/// unless `isUnsigned`. Overflow does not trap.
static uint64_t divide(uint64_t a, uint64_t b, bool isUnsigned, bool rest) {
  if (isUnsigned)
    return rest ? a % b : a / b;
  if (b == ~0ull)
    return rest ? 0 : -a;
  return rest ? int64_t(a) % int64_t(b) : int64_t(a) / int64_t(b);
}

/// Parses a number, a parenthesized expression, or a unary operator with its
/// operand. Constants have 64 bits (PTX ISA, "Constant expressions"). Numbers
/// with a U suffix or beyond the range of .s64 are .u64, and other numbers are
/// .s64. An operation is unsigned if either operand is.
bool Parser::constant(uint64_t &value) {
  if (++depth > kMaxDepth)
    return error("expression nested too deeply");
  struct Leave {
    unsigned &d;
    ~Leave() { --d; }
  } leave{depth};
  if (tok.kind == Tok::Int) {
    value = tok.value;
    constantIsUnsigned = tok.text.back() == 'U' || value > INT64_MAX;
    constantIsFloat = false;
    advance();
    return true;
  }
  if (tok.kind == Tok::Float64 && takesFloats) {
    value = tok.value;
    constantIsUnsigned = false;
    constantIsFloat = true;
    advance();
    return true;
  }
  Token at = tok;
  if (take('-')) {
    bool ok = constant(value);
    value = constantIsFloat ? value ^ 1ull << 63 : -value;
    return ok;
  }
  if (take('+'))
    return constant(value);
  if (take('~')) {
    bool ok = constant(value) && isInteger(at);
    value = ~value;
    return ok;
  }
  if (take('!')) {
    bool ok = constant(value) && isInteger(at);
    value = !value;
    constantIsUnsigned = false;
    return ok;
  }
  if (take('('))
    return constantExpression(value) && expect(')');
  if (tok.kind == Tok::Ident && tok.text == "WARP_SZ") {
    value = 32;
    constantIsUnsigned = constantIsFloat = false;
    advance();
    return true;
  }
  return error("expected a number, found " + found());
}

bool Parser::constantExpression(uint64_t &value, unsigned minPrecedence) {
  if (!constant(value))
    return false;
  auto precedence = [](const Token &t) -> unsigned {
    if (t.kind != Tok::Punct)
      return 0;
    switch (t.text[0]) {
    case '|':
      return 1;
    case '^':
      return 2;
    case '&':
      return 3;
    case '+':
    case '-':
      return 4;
    case '*':
    case '/':
    case '%':
      return 5;
    }
    return 0;
  };
  while (unsigned p = precedence(tok)) {
    if (p <= minPrecedence)
      break;
    Token op = tok;
    advance();
    uint64_t rhs;
    bool isUnsigned = constantIsUnsigned, isFloat = constantIsFloat;
    if (!constantExpression(rhs, p))
      return false;
    if (isFloat != constantIsFloat)
      return error("expected two integers or two floats, found one of each",
                   op);
    constantIsUnsigned |= isUnsigned;
    if (!combine(op, value, rhs))
      return false;
  }
  return true;
}

bool Parser::isInteger(const Token &at) {
  return !constantIsFloat ||
         error("expected integers with '" + std::string(at.text) +
                   "', found a float",
               at);
}

/// Sets `value` to the result of `op`. The operands have the type of the last
/// constant.
bool Parser::combine(const Token &op, uint64_t &value, uint64_t rhs) {
  char c = op.text[0];
  bool isZero = constantIsFloat ? asDouble(rhs) == 0 : !rhs;
  if ((c == '/' || c == '%') && isZero)
    return error("division by zero in a constant");
  if (constantIsFloat) {
    double a = asDouble(value), b = asDouble(rhs);
    if (c != '+' && c != '-' && c != '*' && c != '/')
      return isInteger(op);
    a = c == '+' ? a + b : c == '-' ? a - b : c == '*' ? a * b : a / b;
    std::memcpy(&value, &a, sizeof a);
    return true;
  }
  switch (c) {
  case '|':
    value |= rhs;
    break;
  case '^':
    value ^= rhs;
    break;
  case '&':
    value &= rhs;
    break;
  case '+':
    value += rhs;
    break;
  case '-':
    value -= rhs;
    break;
  case '*':
    value *= rhs;
    break;
  case '/':
  case '%':
    value = divide(value, rhs, constantIsUnsigned, c == '%');
    break;
  }
  return true;
}

bool Parser::number(uint64_t &value) {
  takesFloats = true;
  bool ok = constantExpression(value);
  takesFloats = false;
  return ok;
}

bool Parser::registers() {
  advance();
  Token at = tok;
  uint32_t elements = 1;
  if (tok.isDotted("v2") || tok.isDotted("v4")) {
    elements = tok.text[1] - '0';
    advance();
  }
  Type type;
  if (tok.kind != Tok::Dotted || !parseType(tok.text, type))
    return error("expected a register type, found " + found());
  if (elements > 1 && type.kind == 'P')
    return error("a vector register cannot contain predicates", at);
  if (type.bits * elements > 128)
    return error(elements > 1
                     ? "a vector register has at most 128 bits, found " +
                           std::to_string(elements) + " times " +
                           std::to_string(type.bits)
                     : "no register has type " + found());
  advance();
  do {
    std::string_view name;
    if (!expectIdent(name, "a register name"))
      return false;
    uint32_t first = fn->registers.size();
    uint64_t count = 1;
    bool isRange = take('<');
    if (isRange && !(constant(count) && expect('>')))
      return false;
    if (count > kMaxRegisters || first + count * elements > kMaxRegisters)
      return error("more than " + std::to_string(kMaxRegisters) + " registers");
    if (isRange)
      scopes.back().ranges.push_back({name, uint32_t(count), first, elements});
    else
      scopes.back().names[name] = {Entity::Reg, first, nullptr, elements};
    fn->registers.insert(fn->registers.end(), count * elements, {name, type});
  } while (take(','));
  return expect(';');
}
