//===- ParserBody.cpp - Parsing of scopes, instructions, operands ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses function bodies. Nested scopes may redeclare labels and registers. The
// parser uses only the syntax of operands and is independent of individual
// instructions.
//===----------------------------------------------------------------------===//

#include "ParserImpl.h"

using namespace mx::sim;
using namespace mx::sim::ptx;

namespace {

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
    {"reserved_smem_offset_0", false},
    {"reserved_smem_offset_1", false},
    {"current_graph_exec", false},
};

const SpecialName *findSpecial(std::string_view name) {
  for (const SpecialName &s : kSpecials)
    if (name == s.name)
      return &s;
  // %pm0 to %pm7 (and their 64-bit variants), %envreg0 to %envreg31.
  static constexpr SpecialName counter = {"pm", false};
  auto number = [&](std::string_view prefix, unsigned limit) {
    if (name.substr(0, prefix.size()) != prefix)
      return false;
    std::string_view digits = name.substr(prefix.size());
    unsigned n = 0;
    for (char c : digits)
      n = c >= '0' && c <= '9' ? std::min(n * 10 + (c - '0'), limit) : limit;
    return !digits.empty() && n < limit;
  };
  std::string_view whole = name;
  if (name.size() > 3 && name.substr(name.size() - 3) == "_64")
    name.remove_suffix(3);
  bool isCounter = number("pm", 8);
  name = whole;
  return isCounter || number("envreg", 32) ? &counter : nullptr;
}

} // namespace

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

/// Resolves labels of the scope; passes unresolved labels to the outer scope.
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
    // scopes[1] is the function scope. Outside of a function, only the names of
    // functions can still resolve the operand.
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
      return section();
    Linkage how;
    if (!linkage(how))
      return false;
    Space space;
    if (tok.kind == Tok::Dotted && parseSpace(tok.text, space)) {
      advance();
      return variables(space, how);
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
      // The prefix may end in a digit.
      if (name.size() <= range.prefix.size() || digits > range.prefix.size() ||
          name.compare(0, range.prefix.size(), range.prefix) != 0)
        continue;
      uint64_t index = 0;
      for (size_t k = range.prefix.size(); k < name.size(); ++k)
        index = std::min<uint64_t>(index * 10 + (name[k] - '0'), kMaxRegisters);
      if (index < range.count) {
        Entity e{Entity::Reg, uint32_t(range.first + index * range.elements),
                 nullptr, range.elements};
        return &scope.names.emplace(name, e).first->second;
      }
    }
  }
  return nullptr;
}

/// Parses a vector register, `name`, or one of its elements: .x to .w, also
/// spelled .r, .g, .b and .a (PTX ISA, "Vectors as operands").
bool Parser::vectorRegister(const Entity &e, std::string_view name,
                            Operand &op) {
  Operand element;
  element.kind = Operand::Reg;
  if (tok.kind != Tok::Dotted) {
    op.kind = Operand::Vector;
    for (uint32_t k = 0; k < e.elements; ++k) {
      element.reg = e.reg + k;
      op.parts.push_back(element);
    }
    return true;
  }
  constexpr std::string_view spellings = "xyzwrgba";
  size_t k = tok.text.size() == 1 ? spellings.find(tok.text[0]) : 8;
  if (k >= spellings.size() || k % 4 >= e.elements)
    return error("vector register '" + std::string(name) + "' has " +
                 std::to_string(e.elements) + " elements, and no " + found());
  element.reg = e.reg + k % 4;
  op = element;
  advance();
  return true;
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
    if (e->kind == Entity::Reg && e->elements > 1)
      return vectorRegister(*e, name, op);
    if (e->kind == Entity::Reg) {
      op.kind = Operand::Reg;
      op.reg = e->reg;
      // Video instructions select bytes and halves: %r1.b0, %r1.h10.
      if (tok.kind == Tok::Dotted) {
        op.name = tok.text;
        advance();
      }
      return true;
    }
    op.kind = Operand::Var;
    op.var = e->var;
    op.value = 0;
    if (tok.is('+') || tok.is('-')) {
      uint64_t offset; // including the sign
      if (!constant(offset))
        return false;
      op.value = int64_t(offset);
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
      // Extend the view over "tid.x", which is contiguous in the text.
      op.name = std::string_view(op.name.data(),
                                 tok.text.data() + 1 - op.name.data());
      advance();
    }
    return true;
  }
  op.kind = Operand::Label; // or a function; resolved when the scope closes
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
    if (base.kind == Operand::Vector)
      return error("expected one register as an address, found a vector");
    if (tok.is('+') || tok.is('-')) {
      uint64_t offset; // including the sign: a-4+2 is a-2
      if (!constantExpression(offset))
        return false;
      op.value = int64_t(offset);
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
  if (tok.kind == Tok::Float32) {
    op.kind = Operand::F32;
    op.value = int64_t(tok.value);
    advance();
    return true;
  }
  if (take('!')) {
    // Iterative, since recursion could exhaust the stack.
    bool isNegated = true;
    while (take('!'))
      isNegated = !isNegated;
    Token at = tok;
    if (!primary(op))
      return false;
    if (op.kind == Operand::F32 || op.kind == Operand::F64)
      return error(
          "expected a predicate or an integer after '!', found a float", at);
    if (op.kind == Operand::Imm)
      op.value = isNegated ? !op.value : !!op.value;
    else
      op.negated = isNegated;
    return true;
  }
  uint64_t value;
  if (!number(value))
    return false;
  op.kind = constantIsFloat ? Operand::F64 : Operand::Imm;
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
