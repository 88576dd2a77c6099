//===- CallPlan.cpp - Choice between inlining and routines ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Analyzes the call graph before any instruction is decoded; see Calls.cpp.
//===----------------------------------------------------------------------===//

#include "Decoder.h"

using namespace mx::sim;
using ptx::Function;
using ptx::Operand;

/// Limit on the instructions of all inlined copies of a function.
constexpr uint64_t kMostInPlace = 50000;
/// Limit on the nesting depth of inlined calls.
constexpr size_t kMostNested = 200;

static bool isCall(const ptx::Instruction &i) { return i.opcode == "call"; }

static const Operand *calleeOf(const ptx::Instruction &i) {
  size_t k = !i.operands.empty() && i.operands[0].kind == Operand::List;
  return k < i.operands.size() ? &i.operands[k] : nullptr;
}

/// Selects the routines among the functions reachable from `kernel`.
void Decoder::planCalls(const Function &kernel) {
  // Find functions referenced as addresses in code and in initializers.
  std::vector<const Function *> taken;
  auto take = [&](const ptx::Module &m, std::string_view name) {
    auto it = m.functionByName.find(name);
    if (it != m.functionByName.end() && it->second->isDefined &&
        !it->second->isEntry)
      taken.push_back(it->second);
  };
  for (const ptx::Module *m : module.linked) {
    for (const Function &f : m->functions)
      for (const ptx::Instruction &i : f.body)
        for (const Operand &op : i.operands)
          if (op.kind == Operand::Func && !(isCall(i) && &op == calleeOf(i)))
            take(*m, op.name);
    for (const ptx::Variable *v : m->globals)
      for (const ptx::Variable::Fixup &fix : v->fixups)
        take(*m, fix.target);
  }

  // Depth-first traversal: finds cycles and the inlined length of each
  // function.
  struct Visit {
    const Function *f;
    size_t next; ///< next instruction
    uint64_t total;
  };
  enum { New, Open, Done };
  std::unordered_map<const Function *, int> state;
  std::unordered_map<const Function *, uint64_t> length, sites;
  std::vector<Visit> stack;
  auto open = [&](const Function *f) {
    state[f] = Open;
    stack.push_back({f, 0, f->body.size()});
  };
  bool hasIndirect = false;
  open(&kernel);
  while (!stack.empty()) {
    Visit &v = stack.back();
    if (v.next == v.f->body.size()) {
      length[v.f] = v.total;
      state[v.f] = Done;
      stack.pop_back();
      if (stack.empty() && hasIndirect)
        for (const Function *t : taken)
          if (stack.empty() && state[t] == New)
            open(t);
      continue;
    }
    const ptx::Instruction &i = v.f->body[v.next];
    usesStack |= i.opcode == "alloca" || i.opcode == "stacksave" ||
                 i.opcode == "stackrestore";
    const Operand *callee = isCall(i) ? calleeOf(i) : nullptr;
    const Function *g = nullptr;
    if (callee && callee->kind == Operand::Func) {
      const auto &functions = v.f->home->functionByName;
      auto it = functions.find(callee->name);
      if (it != functions.end() && it->second->isDefined)
        g = it->second;
    } else if (callee) {
      hasIndirect = true;
    }
    if (g && state[g] == New) {
      open(g); // visit this instruction again after the callee
      continue;
    }
    ++v.next;
    if (!g)
      continue;
    ++sites[g];
    // A function on the traversal stack is recursive. No real program nests
    // calls beyond the limit.
    if (state[g] == Open || stack.size() > kMostNested)
      routineOf[g];
    else if (!routineOf.count(g))
      v.total += length[g];
  }
  if (hasIndirect)
    for (const Function *t : taken)
      routineOf[t];
  // Callees finish before their callers, so call counts are complete only here.
  // Long functions with many call sites become routines.
  for (auto &[f, n] : sites)
    if (n > 1 && length[f] * n > kMostInPlace)
      routineOf[f];
  routineOf.erase(&kernel);
  usesStack |= !routineOf.empty();
}
