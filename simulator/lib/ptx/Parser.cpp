//===- Parser.cpp - PTX modules and function headers ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX ISA, chapters "Syntax" and "Directives". Accepts the output of nvcc and
// LLVM, including debug sections and pragmas.
//===----------------------------------------------------------------------===//

#include "Parser.h"
#include "ParserImpl.h"

#include <cstring>

using namespace mx::sim;
using namespace mx::sim::ptx;

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
  sharedLines();
  auto heap = m.functionByName.find("malloc");
  if (heap != m.functionByName.end() && !heap->second->isDefined) {
    Variable v;
    v.name = kHeapName;
    v.align = 256;
    v.bytes = kHeapBytes;
    m.globals.push_back(addVariable(std::move(v)));
  }
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
    if (!isAddress && tok.kind == Tok::Float64) {
      double number;
      std::memcpy(&number, &tok.value, sizeof number);
      if (number > 0 && number < 1000)
        m.version = unsigned(number * 10 + 0.5);
    }
    advance();
    return true;
  }
  if (tok.text == "target") {
    advance();
    Token at = tok;
    std::string_view target;
    if (!expectIdent(target, "a target"))
      return false;
    if (!isSimulated(target))
      return error("target '" + std::string(target) +
                       "' is not simulated: expected sm_90a, sm_100a, sm_100f, "
                       "sm_103a, sm_103f, sm_120a, sm_120f, sm_121a, sm_121f, "
                       "or without a suffix one of these or an architecture "
                       "up to sm_100",
                   at);
    m.target = target;
    parseTarget(target, m.chip);
    while (take(','))
      advance();
    return true;
  }
  if (tok.text == "file")
    return fileDirective();
  if (tok.text == "section")
    return section();
  if (tok.text == "pragma")
    return skipToSemicolon();
  if (tok.text == "alias")
    return aliasDirective();
  if (tok.text == "loc")
    return loc();

  Linkage how;
  if (!linkage(how))
    return false;
  if (tok.isDotted("entry") || tok.isDotted("func")) {
    bool isEntry = tok.text == "entry";
    advance();
    return function(isEntry, how);
  }
  Space space;
  if (tok.kind == Tok::Dotted && parseSpace(tok.text, space) &&
      (space == Space::Global || space == Space::Const ||
       space == Space::Shared)) {
    advance();
    return variables(space, how);
  }
  return error("unexpected directive " + found() + " at module scope");
}

/// Parses `.alias fast, slow`. The declared function `fast` becomes another
/// name of the defined function `slow` (PTX ISA, "Kernel and function
/// directives").
bool Parser::aliasDirective() {
  advance();
  Token at = tok;
  std::string_view name, target;
  if (!expectIdent(name, "a function") || !expect(',') ||
      !expectIdent(target, "a function"))
    return false;
  auto it = m.functionByName.find(target);
  if (it == m.functionByName.end() || !it->second->isDefined)
    return error("'" + std::string(target) + "' is not a defined function", at);
  if (!m.functionByName.count(name))
    return error("'" + std::string(name) + "' is not a declared function", at);
  m.functionByName[name] = it->second;
  return expect(';');
}

bool Parser::linkage(Linkage &linkage) {
  while (tok.kind == Tok::Dotted &&
         (tok.text == "visible" || tok.text == "extern" || tok.text == "weak" ||
          tok.text == "common" || tok.text == "attribute")) {
    linkage.isExtern |= tok.text == "extern";
    linkage.isVisible |= tok.text != "extern" && tok.text != "attribute";
    linkage.isWeak |= tok.text == "weak" || tok.text == "common";
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

bool Parser::function(bool isEntry, Linkage linkage) {
  Function f;
  f.isVisible = linkage.isVisible;
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
  for (Variable *p : f.params) {
    std::string type(p->type);
    if (Type t; parseType(p->type, t) && p->bytes != t.bits / 8u)
      type += "[" + std::to_string(p->bytes / (t.bits / 8u)) + "]";
    f.info.parameters.push_back({std::string(p->name),
                                 uint32_t(p->address),
                                 uint32_t(p->bytes),
                                 p->align,
                                 std::move(type),
                                 ParameterUse::Unknown,
                                 {}});
  }
  if (!f.info.parameters.empty())
    f.info.parameterBytes =
        f.info.parameters.back().offset + f.info.parameters.back().bytes;
  if (!functionDirectives(f))
    return false;

  if (tok.is('{')) {
    f.isDefined = true;
    currentLoc = -1;
    lastLoc.clear();
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
    f.index = m.functions.size();
    m.functions.push_back(std::move(f));
    it->second = &m.functions.back();
  } else {
    f.index = it->second->index;
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
      if (!variables(Space::Param, {}, /*isParameterOf=*/true))
        return false;
      Variable *v = &m.variables.back();
      offset = (offset + v->align - 1) / v->align * v->align;
      v->address = offset;
      offset += v->bytes;
      if (offset > (1u << 20))
        return error("the parameters exceed 1 MiB");
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
    std::array<uint32_t, 3> value;
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
      if (!triple(value))
        return false;
      if (word == "minnctapersm")
        f.minimumCtas = value[0];
      else if (word == "maxnreg")
        f.maximumRegisters = value[0];
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

std::unique_ptr<ptx::Module>
mx::sim::ptx::parse(std::string_view text, std::string_view name,
                    std::vector<Diagnostic> &errors) {
  auto module = std::make_unique<ptx::Module>();
  module->text = text;
  module->name = name;
  if (!Parser(*module, errors).run())
    return nullptr;
  module->numFunctions = module->functions.size();
  for (Function &f : module->functions)
    f.home = module.get();
  return module;
}

std::string mx::sim::ptx::link(const std::vector<Module *> &modules) {
  std::unordered_map<std::string_view, Function *> functions;
  std::unordered_map<std::string_view, Variable *> variables;
  uint32_t count = 0;
  for (Module *m : modules) {
    for (Function &f : m->functions) {
      f.index = count++;
      if (f.isDefined && f.isVisible && !f.isEntry)
        functions.try_emplace(f.name, &f);
    }
    // A strong definition overrides weak definitions. If all definitions are
    // weak, the first is used.
    for (Variable *v : m->globals) {
      if (v->isExtern || !v->isVisible || v->space == Space::Shared)
        continue;
      auto [it, isNew] = variables.try_emplace(v->name, v);
      if (isNew)
        continue;
      if (!v->isWeak && !it->second->isWeak)
        return "variable '" + std::string(v->name) +
               "' is defined in more than one module";
      if (it->second->isWeak && !v->isWeak)
        it->second = v;
    }
  }
  for (Module *m : modules) {
    m->linked = modules;
    m->numFunctions = count;
    for (auto &[name, f] : m->functionByName) {
      auto it = functions.find(name);
      if (!f->isDefined && it != functions.end())
        f = it->second;
    }
    for (Variable *v : m->globals) {
      auto it = variables.find(v->name);
      if ((v->isExtern || v->isWeak) && v->space != Space::Shared &&
          it != variables.end() && it->second != v) {
        if (it->second->bytes < v->bytes)
          return "variable '" + std::string(v->name) + "' has " +
                 std::to_string(v->bytes) + " bytes in one module and " +
                 std::to_string(it->second->bytes) + " in another";
        v->definition = it->second;
      }
    }
  }
  return {};
}
