//===- ParserImpl.h - Recursive descent parser of PTX -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four files implement the parser: Parser.cpp (modules and function headers),
// ParserDeclarations.cpp (variables and constants), ParserBody.cpp (bodies and
// operands) and ParserDebug.cpp (source locations).
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_PTX_PARSERIMPL_H
#define MXSIM_LIB_PTX_PARSERIMPL_H

#include "AST.h"
#include "Lexer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace mx::sim::ptx {

// Limits that protect the host from malicious input.
inline constexpr uint64_t kMaxRegisters = 1u << 20;
inline constexpr uint64_t kMaxVariableBytes = 1ull << 36;
inline constexpr unsigned kMaxDepth = 64;

/// Named register or variable. Elements of a vector register (.v2, .v4) are
/// consecutive registers; a scalar has one element.
struct Entity {
  enum Kind : uint8_t { Reg, Var } kind;
  uint32_t reg = 0;
  Variable *var = nullptr;
  uint32_t elements = 1;
};

struct RegRange {
  std::string_view prefix;
  uint32_t count, first, elements;
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

struct Linkage {
  bool isExtern = false, isVisible = false, isWeak = false;
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
  /// Last .loc of the function for each file, line and column.
  std::map<std::array<uint32_t, 3>, int32_t> lastLoc;
  unsigned depth = 0;
  /// Type of the last constant. Floats are accepted only if `takesFloats`, in
  /// operands and initial values.
  bool constantIsUnsigned = false, constantIsFloat = false, takesFloats = false;

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
  /// Formats the token for a message, with nonprintable bytes as \xNN.
  std::string found() const {
    if (tok.kind == Tok::End)
      return "end of file";
    std::string out = "'";
    for (unsigned char c : tok.text) {
      const char *digits = "0123456789abcdef";
      if (c >= 0x20 && c < 0x7F)
        out += char(c);
      else
        out += {'\\', 'x', digits[c >> 4], digits[c & 15]};
    }
    return out + "'";
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
  bool linkage(Linkage &linkage);
  bool aliasDirective();
  bool section();
  bool debugString();
  bool fileDirective();
  bool function(bool isEntry, Linkage linkage);
  bool parameters(Function &f, bool results);
  bool functionDirectives(Function &f);
  bool triple(std::array<uint32_t, 3> &out);
  bool body();
  bool statement();
  bool registers();
  bool variables(Space space, Linkage linkage, bool isParameterOf = false);
  bool initializer(Variable &v, Type type);
  bool initValue(Variable &v, Type type, unsigned level);
  bool constant(uint64_t &value);
  /// Fails with an error if the last constant is a float.
  bool isInteger(const Token &at);
  bool combine(const Token &op, uint64_t &value, uint64_t rhs);
  bool constantExpression(uint64_t &value, unsigned minPrecedence = 0);
  /// Parses an integer or a float. `value` of a float is the bits of an f64.
  bool number(uint64_t &value);
  bool instruction();
  bool operand(Operand &op);
  bool primary(Operand &op);
  bool memory(Operand &op);
  bool identifier(Operand &op);
  bool vectorRegister(const Entity &e, std::string_view name, Operand &op);
  bool loc();
  void sharedLines();
  bool locInlined(SourceLocation &place);
  bool numbers(std::array<uint32_t, 3> &out);
  bool skipToSemicolon();
  bool closeScope();

  const Entity *lookup(std::string_view name);
  Variable *addVariable(Variable v) {
    m.variables.push_back(std::move(v));
    return &m.variables.back();
  }
};

bool parseSpace(std::string_view word, Space &space);

} // namespace mx::sim::ptx

#endif // MXSIM_LIB_PTX_PARSERIMPL_H
