//===- Parser.cpp - PTX text to ptx::Module -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, chapters "Syntax", "State spaces, types, and variables" and
// "Directives". Takes what nvcc and LLVM write: nested scopes that reuse
// labels and registers, debug sections, pragmas. The parser does not know any
// instruction; it only knows what operands look like.
//===----------------------------------------------------------------------===//

#include "Parser.h"
#include "Lexer.h"

#include <algorithm>
#include <cstring>

using namespace mx::sim;
using namespace mx::sim::ptx;

namespace {

// Text comes from anywhere: these keep a hostile file from taking the host.
constexpr uint64_t kMaxRegisters = 1u << 20;
constexpr uint64_t kMaxVariableBytes = 1ull << 36;
constexpr unsigned kMaxDepth = 64;

struct SpecialName {
  const char *name;
  bool isVector;
};
constexpr SpecialName kSpecials[] = {
    {"tid", true},
    {"ntid", true},
    {"ctaid", true},
    {"nctaid", true},
    {"clusterid", true},
    {"nclusterid", true},
    {"cluster_ctaid", true},
    {"cluster_nctaid", true},
    {"cluster_ctarank", false},
    {"cluster_nctarank", false},
    {"is_explicit_cluster", false},
    {"laneid", false},
    {"warpid", false},
    {"nwarpid", false},
    {"smid", false},
    {"nsmid", false},
    {"gridid", false},
    {"lanemask_eq", false},
    {"lanemask_le", false},
    {"lanemask_lt", false},
    {"lanemask_ge", false},
    {"lanemask_gt", false},
    {"clock", false},
    {"clock_hi", false},
    {"clock64", false},
    {"globaltimer", false},
    {"globaltimer_lo", false},
    {"globaltimer_hi", false},
    {"total_smem_size", false},
    {"aggr_smem_size", false},
    {"dynamic_smem_size", false},
    {"reserved_smem_offset_begin", false},
    {"reserved_smem_offset_end", false},
    {"reserved_smem_offset_cap", false},
    {"current_graph_exec", false},
};

const SpecialName *findSpecial(std::string_view name) {
  for (const SpecialName &s : kSpecials)
    if (name == s.name)
      return &s;
  return nullptr;
}

struct Entity {
  enum Kind : uint8_t { Reg, Var } kind;
  uint32_t reg = 0;
  Variable *var = nullptr;
};

struct RegRange {
  std::string_view prefix;
  uint32_t count, first;
};

struct Pending {
  uint32_t instruction, operand;
  std::string_view name;
};

struct Scope {
  std::unordered_map<std::string_view, Entity> names;
  std::vector<RegRange> ranges;
  std::unordered_map<std::string_view, uint32_t> labels;
  std::unordered_map<std::string_view, std::vector<std::string_view>> lists;
  std::vector<Pending> pending;
};

class Parser {
public:
  Parser(ptx::Module &module, std::vector<Diagnostic> &errors)
      : m(module), lexer(module.text), errors(errors) {
    advance();
    scopes.emplace_back();
  }

  bool run();

private:
  ptx::Module &m;
  Lexer lexer;
  std::vector<Diagnostic> &errors;
  Token tok, ahead;
  bool hasAhead = false;
  std::vector<Scope> scopes;
  Function *fn = nullptr;
  int32_t currentLoc = -1;
  unsigned depth = 0;

  void advance() {
    if (hasAhead) {
      tok = ahead;
      hasAhead = false;
    } else {
      tok = lexer.next();
    }
  }
  const Token &peek() {
    if (!hasAhead) {
      ahead = lexer.next();
      hasAhead = true;
    }
    return ahead;
  }
  bool error(std::string message, const Token &at) {
    errors.push_back({std::move(message), at.line, at.column});
    return false;
  }
  bool error(std::string message) { return error(std::move(message), tok); }
  std::string found() const {
    return tok.kind == Tok::End ? "end of file"
                                : "'" + std::string(tok.text) + "'";
  }
  bool expect(char c) {
    if (!tok.is(c))
      return error(std::string("expected '") + c + "', found " + found());
    advance();
    return true;
  }
  bool take(char c) {
    if (!tok.is(c))
      return false;
    advance();
    return true;
  }
  bool expectIdent(std::string_view &name, const char *what) {
    if (tok.kind != Tok::Ident)
      return error(std::string("expected ") + what + ", found " + found());
    name = tok.text;
    advance();
    return true;
  }

  bool topLevel();
  bool linkage(bool &isExtern);
  bool skipSection();
  bool fileDirective();
  bool function(bool isEntry);
  bool parameters(Function &f, bool results);
  bool functionDirectives(Function &f);
  bool triple(std::array<uint32_t, 3> &out);
  bool body();
  bool statement();
  bool registers();
  bool variables(Space space, bool isExtern, bool isParameterOf = false);
  bool initializer(Variable &v, Type type);
  bool initValue(Variable &v, Type type, unsigned level);
  bool constant(uint64_t &value);
  bool constantExpression(uint64_t &value, unsigned minPrecedence = 0);
  bool instruction();
  bool operand(Operand &op);
  bool primary(Operand &op);
  bool memory(Operand &op);
  bool identifier(Operand &op);
  bool loc();
  bool skipToSemicolon();
  bool closeScope();

  const Entity *lookup(std::string_view name);
  Variable *addVariable(Variable v) {
    m.variables.push_back(std::move(v));
    return &m.variables.back();
  }
};

} // namespace

static bool parseSpace(std::string_view word, Space &space) {
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

std::string Instruction::text() const {
  std::string s(opcode);
  for (std::string_view mod : modifiers)
    s.append(".").append(mod);
  return s;
}

bool Parser::run() {
  while (tok.kind != Tok::End)
    if (!topLevel())
      return false;
  return true;
}

bool Parser::skipSection() {
  // .section .debug_info { ... }
  while (tok.kind != Tok::End && !tok.is('{'))
    advance();
  unsigned level = 0;
  while (tok.kind != Tok::End) {
    if (tok.is('{'))
      ++level;
    else if (tok.is('}') && --level == 0) {
      advance();
      return true;
    }
    advance();
  }
  return error("section without its closing brace");
}

bool Parser::fileDirective() {
  advance();
  if (tok.kind != Tok::Int)
    return error("expected a file number, found " + found());
  uint32_t number = tok.value;
  advance();
  if (tok.kind != Tok::String)
    return error("expected a file name, found " + found());
  m.files[number] = std::string(tok.text);
  advance();
  while (take(','))
    advance();
  return true;
}

bool Parser::topLevel() {
  if (tok.kind == Tok::Punct && tok.is(';')) {
    advance();
    return true;
  }
  if (tok.kind != Tok::Dotted)
    return error("expected a directive, found " + found());
  if (tok.text == "version" || tok.text == "address_size") {
    bool isAddress = tok.text == "address_size";
    advance();
    if (tok.kind != Tok::Int && tok.kind != Tok::Float64)
      return error("expected a number, found " + found());
    if (isAddress && tok.value != 64)
      return error("only .address_size 64 is supported, found " + found());
    advance();
    return true;
  }
  if (tok.text == "target") {
    advance();
    std::string_view target;
    if (!expectIdent(target, "a target"))
      return false;
    m.target = target;
    while (take(','))
      advance();
    return true;
  }
  if (tok.text == "file")
    return fileDirective();
  if (tok.text == "section")
    return skipSection();
  if (tok.text == "pragma" || tok.text == "alias")
    return skipToSemicolon();
  if (tok.text == "loc")
    return loc();

  bool isExtern = false;
  if (!linkage(isExtern))
    return false;
  if (tok.isDotted("entry") || tok.isDotted("func")) {
    bool isEntry = tok.text == "entry";
    advance();
    return function(isEntry);
  }
  Space space;
  if (tok.kind == Tok::Dotted && parseSpace(tok.text, space) &&
      (space == Space::Global || space == Space::Const ||
       space == Space::Shared)) {
    advance();
    return variables(space, isExtern);
  }
  return error("unexpected directive " + found() + " at module scope");
}

bool Parser::linkage(bool &isExtern) {
  while (tok.kind == Tok::Dotted &&
         (tok.text == "visible" || tok.text == "extern" || tok.text == "weak" ||
          tok.text == "common" || tok.text == "attribute")) {
    if (tok.text == "extern")
      isExtern = true;
    bool isAttribute = tok.text == "attribute";
    advance();
    if (isAttribute) {
      while (tok.kind != Tok::End && !tok.is(')'))
        advance();
      if (!expect(')'))
        return false;
    }
  }
  return true;
}

bool Parser::skipToSemicolon() {
  while (tok.kind != Tok::End && !tok.is(';'))
    advance();
  return expect(';');
}

bool Parser::function(bool isEntry) {
  Function f;
  f.isEntry = isEntry;
  f.line = tok.line;
  scopes.emplace_back();
  fn = &f;
  if (tok.is('('))
    if (!parameters(f, /*results=*/true))
      return false;
  if (!expectIdent(f.name, "a function name"))
    return false;
  if (tok.is('('))
    if (!parameters(f, /*results=*/false))
      return false;
  f.info.name = f.name;
  for (Variable *p : f.params)
    f.info.parameters.push_back({std::string(p->name), uint32_t(p->address),
                                 uint32_t(p->bytes), p->align});
  if (!f.info.parameters.empty())
    f.info.parameterBytes =
        f.info.parameters.back().offset + f.info.parameters.back().bytes;
  if (!functionDirectives(f))
    return false;

  if (tok.is('{')) {
    f.isDefined = true;
    currentLoc = -1;
    advance();
    if (!body())
      return false;
  } else if (!expect(';')) {
    return false;
  }
  if (!closeScope())
    return false;
  fn = nullptr;

  auto [it, isNew] = m.functionByName.try_emplace(f.name, nullptr);
  if (!isNew && it->second->isDefined) {
    if (f.isDefined)
      return error("redefinition of function '" + std::string(f.name) + "'");
    return true;
  }
  if (isNew) {
    m.functions.push_back(std::move(f));
    it->second = &m.functions.back();
  } else {
    *it->second = std::move(f);
  }
  return true;
}

bool Parser::parameters(Function &f, bool results) {
  advance(); // '('
  uint64_t offset = 0;
  while (!tok.is(')')) {
    if (tok.isDotted("reg")) {
      advance();
      Type type;
      if (tok.kind != Tok::Dotted || !parseType(tok.text, type))
        return error("expected a register type, found " + found());
      advance();
      std::string_view name;
      if (!expectIdent(name, "a register name"))
        return false;
      uint32_t index = f.registers.size();
      f.registers.push_back({name, type});
      scopes.back().names[name] = {Entity::Reg, index, nullptr};
      (results ? f.resultRegs : f.paramRegs).push_back(index);
    } else {
      if (!tok.isDotted("param"))
        return error("expected '.param', found " + found());
      advance();
      if (!variables(Space::Param, false, /*isParameterOf=*/true))
        return false;
      Variable *v = &m.variables.back();
      offset = (offset + v->align - 1) / v->align * v->align;
      v->address = offset;
      offset += v->bytes;
      if (offset > (1u << 20))
        return error("parameters of more than 1 MiB");
      (results ? f.results : f.params).push_back(v);
    }
    if (!take(',') && !tok.is(')'))
      return error("expected ',' or ')', found " + found());
  }
  advance();
  return true;
}

bool Parser::triple(std::array<uint32_t, 3> &out) {
  out = {1, 1, 1};
  for (unsigned i = 0; i < 3; ++i) {
    if (tok.kind != Tok::Int)
      return error("expected a number, found " + found());
    out[i] = tok.value;
    advance();
    if (!take(','))
      break;
  }
  return true;
}

bool Parser::functionDirectives(Function &f) {
  while (tok.kind == Tok::Dotted) {
    std::string_view word = tok.text;
    Token at = tok;
    advance();
    std::array<uint32_t, 3> ignored;
    if (word == "reqntid") {
      if (!triple(f.info.requiredBlock))
        return false;
    } else if (word == "maxntid") {
      if (!triple(f.info.maximumBlock))
        return false;
    } else if (word == "reqnctapercluster") {
      if (!triple(f.info.requiredCluster))
        return false;
    } else if (word == "minnctapersm" || word == "maxnctapersm" ||
               word == "maxnreg" || word == "maxclusterrank" ||
               word == "abi_preserve" || word == "abi_preserve_control" ||
               word == "local_maxnreg") {
      if (!triple(ignored))
        return false;
    } else if (word == "pragma") {
      if (!skipToSemicolon())
        return false;
    } else if (word == "attribute") {
      while (tok.kind != Tok::End && !tok.is(')'))
        advance();
      if (!expect(')'))
        return false;
    } else if (word != "explicitcluster" && word != "blocksareclusters" &&
               word != "noreturn" && word != "unified") {
      return error("unknown function directive '." + std::string(word) + "'",
                   at);
    }
  }
  return true;
}

bool Parser::variables(Space space, bool isExtern, bool isParameterOf) {
  Variable proto;
  proto.space = space;
  proto.isExtern = isExtern;
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
    } else if (open && !isExtern && !isParameterOf && space != Space::Param) {
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

/// Flat: braces group but do not pad, which is what compilers write.
bool Parser::initializer(Variable &v, Type type) {
  return initValue(v, type, 0);
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
  if (tok.kind == Tok::Float32 || tok.kind == Tok::Float64 || tok.is('-')) {
    bool negative = take('-');
    value = tok.value;
    if (tok.kind == Tok::Float64 && type.kind == 'F' && type.bits == 32) {
      double d;
      std::memcpy(&d, &value, 8);
      float f = float(negative ? -d : d);
      uint32_t bits;
      std::memcpy(&bits, &f, 4);
      value = bits;
    } else if (tok.kind == Tok::Float64) {
      value ^= uint64_t(negative) << 63;
    } else if (tok.kind == Tok::Float32) {
      value ^= uint64_t(negative) << 31;
    } else if (tok.kind == Tok::Int) {
      value = -value;
    } else {
      return error("expected a number, found " + found());
    }
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
  } else if (!constantExpression(value)) {
    return false;
  }
  for (unsigned i = 0; i < bytes; ++i)
    v.init.push_back(i < 8 ? uint8_t(value >> (8 * i)) : 0);
  return true;
}

/// A number, a parenthesis, or a unary operator and what follows it.
bool Parser::constant(uint64_t &value) {
  if (++depth > kMaxDepth)
    return error("expression nested too deeply");
  struct Leave {
    unsigned &d;
    ~Leave() { --d; }
  } leave{depth};
  if (tok.kind == Tok::Int) {
    value = tok.value;
    advance();
    return true;
  }
  if (take('-')) {
    bool ok = constant(value);
    value = -value;
    return ok;
  }
  if (take('+'))
    return constant(value);
  if (take('~')) {
    bool ok = constant(value);
    value = ~value;
    return ok;
  }
  if (take('!')) {
    bool ok = constant(value);
    value = !value;
    return ok;
  }
  if (take('('))
    return constantExpression(value) && expect(')');
  if (tok.kind == Tok::Ident && tok.text == "WARP_SZ") {
    value = 32;
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
    char op = tok.text[0];
    advance();
    uint64_t rhs;
    if (!constantExpression(rhs, p))
      return false;
    if ((op == '/' || op == '%') && !rhs)
      return error("division by zero in a constant");
    switch (op) {
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
      value /= rhs;
      break;
    case '%':
      value %= rhs;
      break;
    }
  }
  return true;
}

bool Parser::body() {
  size_t outer = scopes.size();
  while (true) {
    if (tok.kind == Tok::End)
      return error("function '" + std::string(fn->name) +
                   "' has no closing brace");
    if (take('{')) {
      if (scopes.size() - outer > kMaxDepth)
        return error("scopes nested too deeply");
      scopes.emplace_back();
      continue;
    }
    if (take('}')) {
      if (scopes.size() == outer)
        return true;
      if (!closeScope())
        return false;
      continue;
    }
    if (!statement())
      return false;
  }
}

/// Labels that this scope does not define are looked for in the outer one.
bool Parser::closeScope() {
  Scope scope = std::move(scopes.back());
  scopes.pop_back();
  auto resolve = [&](Operand &op) {
    auto it = scope.labels.find(op.name);
    if (it == scope.labels.end())
      return false;
    op.kind = Operand::Label;
    op.value = it->second;
    return true;
  };
  for (Pending &p : scope.pending) {
    Operand &op = fn->body[p.instruction].operands[p.operand];
    if (resolve(op))
      continue;
    auto list = scope.lists.find(p.name);
    if (list != scope.lists.end()) {
      op.kind = Operand::Vector;
      for (std::string_view name : list->second) {
        Operand target;
        target.name = name;
        if (!resolve(target)) {
          errors.push_back({"unknown label '" + std::string(name) + "'",
                            fn->body[p.instruction].line, 0});
          return false;
        }
        op.parts.push_back(target);
      }
      continue;
    }
    // Function scope is scopes[1]; beyond it only functions have names.
    if (scopes.size() > 1) {
      scopes.back().pending.push_back(p);
    } else if (fn->body[p.instruction].opcode == "call" ||
               m.functionByName.count(p.name)) {
      op.kind = Operand::Func;
    } else {
      errors.push_back({"unknown identifier '" + std::string(p.name) + "'",
                        fn->body[p.instruction].line, 0});
      return false;
    }
  }
  return true;
}

bool Parser::loc() {
  advance();
  uint32_t numbers[3] = {0, 0, 0};
  for (uint32_t &n : numbers) {
    if (tok.kind != Tok::Int)
      return error("expected a number, found " + found());
    n = tok.value;
    advance();
  }
  // , function_name $L__info_string0, inlined_at 1 5 7
  while (take(',')) {
    if (tok.kind != Tok::Ident)
      return error("expected an attribute of .loc, found " + found());
    advance();
    while (tok.kind == Tok::Int ||
           (tok.kind == Tok::Ident && tok.text.substr(0, 3) == "$L_") ||
           tok.is('+')) {
      // "$L__info_string0" belongs to .loc; a label ends with a colon.
      if (tok.kind == Tok::Ident && peek().is(':'))
        break;
      advance();
    }
  }
  if (fn) {
    currentLoc = fn->locs.size();
    fn->locs.push_back({numbers[0], numbers[1], numbers[2]});
  }
  return true;
}

bool Parser::statement() {
  if (take(';'))
    return true;
  if (tok.kind == Tok::Dotted) {
    if (tok.text == "reg")
      return registers();
    if (tok.text == "loc")
      return loc();
    if (tok.text == "pragma" || tok.text == "noreturn")
      return skipToSemicolon();
    if (tok.text == "file")
      return fileDirective();
    if (tok.text == "section")
      return skipSection();
    bool isExtern = false;
    if (!linkage(isExtern))
      return false;
    Space space;
    if (tok.kind == Tok::Dotted && parseSpace(tok.text, space)) {
      advance();
      return variables(space, isExtern);
    }
    return error("unexpected directive " + found());
  }
  if (tok.kind == Tok::Ident && peek().is(':')) {
    std::string_view name = tok.text;
    Token at = tok;
    advance();
    advance();
    if (tok.isDotted("branchtargets")) {
      advance();
      auto &list = scopes.back().lists[name];
      do {
        std::string_view target;
        if (!expectIdent(target, "a label"))
          return false;
        list.push_back(target);
      } while (take(','));
      return expect(';');
    }
    if (tok.isDotted("callprototype") || tok.isDotted("calltargets")) {
      scopes.back().lists[name];
      return skipToSemicolon();
    }
    if (!scopes.back().labels.try_emplace(name, fn->body.size()).second)
      return error("redefinition of label '" + std::string(name) + "'", at);
    return true;
  }
  return instruction();
}

bool Parser::registers() {
  advance();
  Type type;
  if (tok.kind == Tok::Dotted && tok.text[0] == 'v' &&
      !parseType(tok.text, type))
    return error("vector registers are not supported");
  if (tok.kind != Tok::Dotted || !parseType(tok.text, type))
    return error("expected a register type, found " + found());
  if (type.bits > 128)
    return error("no register has type " + found());
  advance();
  do {
    std::string_view name;
    if (!expectIdent(name, "a register name"))
      return false;
    uint32_t first = fn->registers.size();
    uint64_t count = 1;
    if (take('<')) {
      if (!constant(count))
        return false;
      if (!expect('>'))
        return false;
      if (count > kMaxRegisters || first + count > kMaxRegisters)
        return error("more than " + std::to_string(kMaxRegisters) +
                     " registers");
      scopes.back().ranges.push_back({name, uint32_t(count), first});
      for (uint64_t i = 0; i < count; ++i)
        fn->registers.push_back({name, type});
    } else {
      if (first + 1 > kMaxRegisters)
        return error("more than " + std::to_string(kMaxRegisters) +
                     " registers");
      fn->registers.push_back({name, type});
      scopes.back().names[name] = {Entity::Reg, first, nullptr};
    }
  } while (take(','));
  return expect(';');
}

const Entity *Parser::lookup(std::string_view name) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
    --digits;
  for (size_t i = scopes.size(); i-- > 0;) {
    Scope &scope = scopes[i];
    auto it = scope.names.find(name);
    if (it != scope.names.end())
      return &it->second;
    for (RegRange &range : scope.ranges) {
      // The prefix itself may end in a digit.
      if (name.size() <= range.prefix.size() || digits > range.prefix.size() ||
          name.compare(0, range.prefix.size(), range.prefix) != 0)
        continue;
      uint64_t index = 0;
      for (size_t k = range.prefix.size(); k < name.size(); ++k)
        index = std::min<uint64_t>(index * 10 + (name[k] - '0'), kMaxRegisters);
      if (index < range.count) {
        Entity e{Entity::Reg, uint32_t(range.first + index), nullptr};
        return &scope.names.emplace(name, e).first->second;
      }
    }
  }
  return nullptr;
}

bool Parser::identifier(Operand &op) {
  Token at = tok;
  std::string_view name = tok.text;
  advance();
  if (name == "_") {
    op.kind = Operand::Sink;
    return true;
  }
  if (name == "WARP_SZ") {
    op.kind = Operand::Imm;
    op.value = 32;
    return true;
  }
  if (const Entity *e = lookup(name)) {
    if (e->kind == Entity::Reg) {
      op.kind = Operand::Reg;
      op.reg = e->reg;
      if (tok.kind == Tok::Dotted)
        return error("component '." + std::string(tok.text) +
                     "' of a register is not supported");
      return true;
    }
    op.kind = Operand::Var;
    op.var = e->var;
    op.value = 0;
    if (tok.is('+') || tok.is('-')) {
      bool negative = tok.is('-');
      advance();
      uint64_t offset;
      if (!constant(offset))
        return false;
      op.value = negative ? -int64_t(offset) : int64_t(offset);
    }
    return true;
  }
  if (name[0] == '%') {
    const SpecialName *special = findSpecial(name.substr(1));
    if (!special)
      return error("unknown register '" + std::string(name) + "'", at);
    op.kind = Operand::Special;
    op.name = name.substr(1);
    if (special->isVector) {
      if (tok.kind != Tok::Dotted || (tok.text != "x" && tok.text != "y" &&
                                      tok.text != "z" && tok.text != "w"))
        return error("expected a component of '" + std::string(name) +
                     "', found " + found());
      // One view over "tid.x": the text lies together.
      op.name = std::string_view(op.name.data(),
                                 tok.text.data() + 1 - op.name.data());
      advance();
    }
    return true;
  }
  op.kind = Operand::Label; // or a function: settled when the scope closes
  op.name = name;
  op.value = -1;
  return true;
}

bool Parser::memory(Operand &op) {
  op.kind = Operand::Memory;
  op.value = 0;
  Operand base;
  if (tok.kind == Tok::Ident) {
    if (!identifier(base))
      return false;
    if (base.kind == Operand::Label)
      return error("unknown identifier '" + std::string(base.name) + "'");
    if (tok.is('+') || tok.is('-')) {
      bool negative = tok.is('-');
      advance();
      uint64_t offset;
      if (!constantExpression(offset))
        return false;
      op.value = negative ? -int64_t(offset) : int64_t(offset);
    }
  } else {
    uint64_t address;
    if (!constantExpression(address))
      return false;
    base.kind = Operand::Imm;
    base.value = int64_t(address);
  }
  op.parts.push_back(std::move(base));
  while (take(',')) {
    op.parts.emplace_back();
    if (!operand(op.parts.back()))
      return false;
  }
  return expect(']');
}

bool Parser::primary(Operand &op) {
  if (tok.kind == Tok::Ident)
    return identifier(op);
  if (tok.kind == Tok::Float32 || tok.kind == Tok::Float64) {
    op.kind = tok.kind == Tok::Float32 ? Operand::F32 : Operand::F64;
    op.value = int64_t(tok.value);
    advance();
    return true;
  }
  if (take('!')) {
    if (!primary(op))
      return false;
    if (op.kind == Operand::Imm)
      op.value = !op.value;
    else
      op.negated = !op.negated;
    return true;
  }
  if (tok.is('-') &&
      (peek().kind == Tok::Float32 || peek().kind == Tok::Float64)) {
    advance();
    op.kind = tok.kind == Tok::Float32 ? Operand::F32 : Operand::F64;
    op.value =
        int64_t(tok.value ^ (1ull << (tok.kind == Tok::Float32 ? 31 : 63)));
    advance();
    return true;
  }
  op.kind = Operand::Imm;
  uint64_t value;
  if (!constantExpression(value))
    return false;
  op.value = int64_t(value);
  return true;
}

bool Parser::operand(Operand &op) {
  if (++depth > kMaxDepth)
    return error("operand nested too deeply");
  struct Leave {
    unsigned &d;
    ~Leave() { --d; }
  } leave{depth};
  if (take('['))
    return memory(op);
  if (take('{')) {
    op.kind = Operand::Vector;
    while (!tok.is('}')) {
      op.parts.emplace_back();
      if (!operand(op.parts.back()))
        return false;
      if (!take(',') && !tok.is('}'))
        return error("expected ',' or '}', found " + found());
    }
    advance();
    return true;
  }
  if (tok.is('(') && fn->body.back().opcode == "call") {
    advance();
    op.kind = Operand::List;
    while (!tok.is(')')) {
      op.parts.emplace_back();
      if (!operand(op.parts.back()))
        return false;
      if (!take(',') && !tok.is(')'))
        return error("expected ',' or ')', found " + found());
    }
    advance();
    return true;
  }
  if (!primary(op))
    return false;
  if (take('|')) {
    Operand second;
    if (!primary(second))
      return false;
    Operand pair;
    pair.kind = Operand::Pair;
    pair.parts.push_back(std::move(op));
    pair.parts.push_back(std::move(second));
    op = std::move(pair);
  }
  return true;
}

bool Parser::instruction() {
  fn->body.emplace_back();
  uint32_t index = fn->body.size() - 1;
  Instruction inst;
  inst.loc = currentLoc;
  if (take('@')) {
    inst.guarded = true;
    inst.guardNegated = take('!');
    std::string_view name;
    if (!expectIdent(name, "a predicate"))
      return false;
    const Entity *e = lookup(name);
    if (!e || e->kind != Entity::Reg || fn->registers[e->reg].type.kind != 'P')
      return error("expected a predicate register, found '" +
                   std::string(name) + "'");
    inst.guard = e->reg;
  }
  if (tok.kind != Tok::Ident)
    return error("expected an instruction, found " + found());
  inst.line = tok.line;
  inst.opcode = tok.text;
  advance();
  while (tok.kind == Tok::Dotted) {
    inst.modifiers.push_back(tok.text);
    advance();
  }
  fn->body[index].opcode = inst.opcode;
  while (!tok.is(';')) {
    inst.operands.emplace_back();
    Operand &op = inst.operands.back();
    if (!operand(op))
      return false;
    if (op.kind == Operand::Label)
      scopes.back().pending.push_back(
          {index, uint32_t(inst.operands.size() - 1), op.name});
    if (!take(',') && !tok.is(';'))
      return error("expected ',' or ';', found " + found());
  }
  advance();
  fn->body[index] = std::move(inst);
  return true;
}

std::unique_ptr<ptx::Module>
mx::sim::ptx::parse(std::string_view text, std::string_view name,
                    std::vector<Diagnostic> &errors) {
  auto module = std::make_unique<ptx::Module>();
  module->text = text;
  module->name = name;
  if (!Parser(*module, errors).run())
    return nullptr;
  return module;
}
