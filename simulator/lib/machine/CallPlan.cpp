//===- CallPlan.cpp - which functions become routines ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decided before anything is decoded, from the graph of calls: see Calls.cpp.
//===----------------------------------------------------------------------===//

#include "Decoder.h"

using namespace mx::sim;
using ptx::Function;
using ptx::Operand;

/// Instructions that all copies of a function may have together.
constexpr uint64_t kMostInPlace = 50000;
/// In place, one in the other.
constexpr size_t kMostNested = 200;

static bool isCall(const ptx::Instruction &i) { return i.opcode == "call"; }

/// The operand of a call that names the callee.
static const Operand *calleeOf(const ptx::Instruction &i) {
  size_t k = !i.operands.empty() && i.operands[0].kind == Operand::List;
  return k < i.operands.size() ? &i.operands[k] : nullptr;
}

/// Looks at what the kernel can reach, before anything is decoded.
void Decoder::planCalls(const Function &kernel) {
  // Functions whose address is taken, in code and in initialisers.
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

  // Depth first: cycles, and how long each function would be in place.
  struct Visit {
    const Function *f;
    size_t next; ///< instruction
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
      open(g); // this instruction is looked at again after it
      continue;
    }
    ++v.next;
    if (!g)
      continue;
    ++sites[g];
    // A routine that is open calls itself; and no program nests so deeply.
    if (state[g] == Open || stack.size() > kMostNested)
      routineOf[g];
    else if (!routineOf.count(g))
      v.total += length[g];
  }
  if (hasIndirect)
    for (const Function *t : taken)
      routineOf[t];
  // Callees are Done before their callers, so sites are complete only now:
  // what is long and called often is a routine.
  for (auto &[f, n] : sites)
    if (n > 1 && length[f] * n > kMostInPlace)
      routineOf[f];
  routineOf.erase(&kernel);
  usesStack |= !routineOf.empty();
}
