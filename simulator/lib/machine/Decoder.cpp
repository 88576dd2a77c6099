//===- Decoder.cpp - Lowering of parsed instructions to handlers ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decodes instructions one at a time. Operands.cpp decodes operands, Calls.cpp
// decodes calls, and Convergence.cpp adds convergence points.
//===----------------------------------------------------------------------===//

#include "Decoder.h"

#include "Handlers.h"
#include "Routines.h"

#include <algorithm>

using namespace mx::sim;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

constexpr size_t kMaxCode = 1u << 22;

//===----------------------------------------------------------------------===//
// Modifiers
//===----------------------------------------------------------------------===//

bool Decoder::take(std::string_view name) {
  auto it = std::find(mods.begin(), mods.end(), name);
  if (it == mods.end())
    return false;
  mods.erase(it);
  return true;
}

int Decoder::takeAny(std::initializer_list<std::string_view> names) {
  int k = 0;
  for (std::string_view n : names) {
    if (take(n))
      return k;
    ++k;
  }
  return -1;
}

std::string_view Decoder::takePrefix(std::string_view prefix) {
  for (auto it = mods.begin(); it != mods.end(); ++it)
    if (it->substr(0, prefix.size()) == prefix) {
      std::string_view found = *it;
      mods.erase(it);
      return found;
    }
  return {};
}

bool Decoder::takeType(Type &type) {
  for (auto it = mods.begin(); it != mods.end(); ++it)
    if (ptx::parseType(*it, type)) {
      mods.erase(it);
      return true;
    }
  return false;
}

unsigned Decoder::takeVector() {
  switch (takeAny({"v2", "v4", "v8"})) {
  case 0:
    return 2;
  case 1:
    return 4;
  case 2:
    return 8;
  }
  return 1;
}

Space Decoder::takeSpace() {
  switch (takeAny({"global", "shared", "shared::cta", "shared::cluster",
                   "local", "param", "param::entry", "param::func", "const"})) {
  case 0:
    return Space::Global;
  case 1:
  case 2:
  case 3:
    return Space::Shared;
  case 4:
    return Space::Local;
  case 5:
  case 6:
  case 7:
    return Space::Param;
  case 8:
    return Space::Const;
  }
  return Space::Generic;
}

MemoryScope Decoder::takeMemoryQualifiers() {
  // One host thread executes all accesses in order and there are no caches, so
  // every access satisfies the strongest qualifier.
  bool isForSystem = take("mmio");
  isForSystem |= take("volatile");
  takeAny({"weak", "relaxed", "acquire", "release", "acq_rel", "sc"});
  MemoryScope scope = isForSystem ? MemoryScope::System : scopeNamed();
  takeAny({"cta", "cluster", "gpu", "sys"});
  takeAny({"nc"});
  takeAny({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  takePrefix("L1::");
  while (!takePrefix("L2::").empty())
    ;
  take("unified");
  return scope;
}

MemoryScope Decoder::scopeNamed() const {
  for (std::string_view m : mods)
    for (unsigned k = 0; k < kMemoryScopes; ++k)
      if (m == kScopeNames[k])
        return MemoryScope(k);
  return MemoryScope::Device;
}

MemoryScope Decoder::useScope(MemoryScope scope) {
  program.memoryScopes |= 1u << unsigned(scope);
  return scope;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Instr &Decoder::emit(Handler fn) {
  program.code.emplace_back();
  Instr &i = program.code.back();
  i.fn = fn;
  i.guard = guard;
  InstrInfo info;
  info.line = inst->line;
  info.loc = inst->loc;
  info.function = frame->function;
  info.source = inst;
  for (std::string_view m : inst->modifiers)
    if (m == "shared" || m == "shared::cta")
      info.isOfOwnCta = true;
    else if (m == "shared::cluster") {
      info.isOfOwnCta = false;
      break;
    }
  program.info.push_back(info);
  return i;
}

void Decoder::decodeInstruction(const ptx::Instruction &i) {
  inst = &i;
  mods = i.modifiers;
  failure.clear();
  uses.clear();
  defs.clear();
  isMove = false;
  guard = kNoSlot;
  if (i.guarded) {
    Operand op;
    op.kind = Operand::Reg;
    op.reg = i.guard;
    op.negated = i.guardNegated;
    guard = predicateOf(op);
  }
  Slot own = guard;
  size_t start = program.code.size();
  const ptx::Module &home = *frame->function->home;
  std::string missing = missingOn(home.chip, home.target, i);
  DecodeFn decodeOperands = instructions.decoderOf(i.opcode);
  if (!decodeOperands)
    unsupported("unknown opcode");
  else if (!missing.empty())
    unsupported(missing);
  else
    decodeOperands(*this);
  if (failure.empty() && !mods.empty())
    unsupported("modifier '." + std::string(mods.front()) +
                "' is not supported here");
  if (start > kMaxCode)
    unsupported("the program is too long");
  if (!failure.empty()) {
    program.code.resize(start);
    program.info.resize(start);
    frame->branches.erase(
        std::remove_if(frame->branches.begin(), frame->branches.end(),
                       [&](auto &b) { return b.first >= start; }),
        frame->branches.end());
    routineCalls.erase(
        std::remove_if(routineCalls.begin(), routineCalls.end(),
                       [&](auto &c) { return c.first >= start; }),
        routineCalls.end());
    if (routine)
      while (!routine->leaves.empty() && routine->leaves.back() >= start)
        routine->leaves.pop_back();
    guard = own;
    program.messages.push_back("unsupported instruction '" + i.text() +
                               "': " + failure);
    unsupportedList->push_back({program.messages.back(), i.line, 0});
    emit(reportUnsupported).aux = program.messages.size() - 1;
    return;
  }
  if (program.code.size() > start)
    program.info[start].isFirst = true;
  if (program.code.size() > start && i.opcode != "call") {
    DataFlow flow = instructions.dataFlowOf(i);
    // If the instruction expands to several handlers, assume that all of them
    // read the operands and the last handler writes the results.
    for (size_t k = start; k < program.code.size(); ++k) {
      program.info[k].firstUse = program.uses.size();
      program.info[k].numUses = uses.size();
      bool isLast = k + 1 == program.code.size();
      program.info[k].flow = isLast ? flow : getFlowBefore(flow);
    }
    InstrInfo &info = program.info.back();
    info.firstDef = program.defs.size();
    info.numDefs = defs.size();
    info.isMove = isMove;
    program.uses.insert(program.uses.end(), uses.begin(), uses.end());
    program.defs.insert(program.defs.end(), defs.begin(), defs.end());
  }
}

void Decoder::decodeFunction(Frame &f) {
  Frame *outer = frame;
  f.caller = outer;
  frame = &f;
  f.registers.resize(f.function->registers.size(), kNoSlot);
  for (const ptx::Instruction &i : f.function->body) {
    f.starts.push_back(program.code.size());
    decodeInstruction(i);
  }
  f.starts.push_back(program.code.size());
  for (auto [code, target] : f.branches)
    program.code[code].imm = f.starts[target];
  frame = outer;
}

void Decoder::branch(Slot condition, bool isUniform, uint32_t target) {
  Slot saved = guard;
  guard = kNoSlot;
  Instr &i = emit(condition == kNoSlot ? branchAlways : branchIf);
  i.a = condition;
  i.aux = kNoSlot;
  guard = saved;
  frame->branches.push_back({uint32_t(program.code.size() - 1), target});
}

bool Decoder::decode(const ptx::Function &kernel,
                     std::vector<Diagnostic> &errors,
                     std::vector<Diagnostic> &unsupportedOut) {
  errorList = &errors;
  unsupportedList = &unsupportedOut;
  program.kernel = &kernel;
  program.staticSharedEnd = kReservedShared;
  // Place static variables of the kernel in declaration order.
  Frame f;
  f.function = &kernel;
  frame = &f;
  for (ptx::Variable *v : kernel.locals)
    if (v->space == Space::Shared)
      place(*v);
  frame = nullptr;
  planCalls(kernel);
  size_t stackInit = 0;
  if (usesStack) {
    static const ptx::Instruction begin{};
    inst = &begin;
    frame = &f;
    stackInit = beginStack();
    frame = nullptr;
  }
  decodeFunction(f);
  // A function without a final `ret` returns at its end.
  static const ptx::Instruction end{};
  inst = &end;
  frame = &f;
  guard = kNoSlot;
  emit(exitThread);
  program.info.back().line =
      kernel.body.empty() ? kernel.line : kernel.body.back().line;
  frame = nullptr;
  decodeRoutines();
  if (usesStack)
    finishStack(stackInit);
  markConvergence();

  uint32_t align = program.dynamicSharedAlign;
  uint32_t dynamic = (program.staticSharedEnd + align - 1) / align * align;
  for (ExternFix &fix : externFixes)
    program.specials[fix.special].value =
        int64_t(dynamic + uint64_t(fix.offset));
  program.registerBytes = (program.registerBytes + 127) & ~127u;
  // Add padding because handlers may read a whole register at any pool slot.
  program.constants.resize(program.constants.size() + 512);
  return errors.empty();
}
