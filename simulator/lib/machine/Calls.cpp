//===- Calls.cpp - Inlined calls and routines -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decoder inlines most calls, so they cost nothing at run time. Recursive
// functions, functions called through pointers, and large functions with many
// call sites become routines. A routine is decoded once. Each activation of a
// routine has a frame on a stack in local memory. The frame contains the return
// address, the arguments and results (in a layout shared by caller and callee),
// the variables, and the saved registers of an outer activation.
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Handlers.h"
#include "Routines.h"

#include <algorithm>

using namespace mx::sim;
using ptx::Function;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

/// Stack bytes of kernels with an unknown number of frames because of recursion
/// or calls through pointers.
constexpr uint32_t kOpenStack = 16384;

uint64_t mx::sim::addressOfFunction(const Function &f) {
  return kFunctionWindow + uint64_t(f.index) * 16;
}

//===----------------------------------------------------------------------===//
// The stack
//===----------------------------------------------------------------------===//

/// Emits the stack setup; finishStack fills in its operands.
size_t Decoder::beginStack() {
  framePointer = newRegister(4);
  stackPointer = newRegister(4);
  Instr &i = emit(setStack);
  i.d = framePointer;
  i.b = stackPointer;
  return program.code.size() - 1;
}

void Decoder::finishStack(size_t init) {
  program.code[init].imm = program.localBytes;
  uint64_t bytes = program.localBytes + uint64_t(kOpenStack);
  for (auto &[f, r] : routineOf)
    bytes += r.frameBytes;
  program.localBytes =
      uint32_t(std::min<uint64_t>(bytes, 1u << 20) + 15) & ~15u;
}

/// Returns the address of `offset` in local or parameter space as a value.
Slot Decoder::localAddress(uint64_t offset, unsigned laneBytes) {
  if (!routine)
    return constant(offset, laneBytes);
  Slot s = newRegister(laneBytes);
  Instr &i =
      emit(laneBytes == 8 ? frameAddress<uint64_t> : frameAddress<uint32_t>);
  i.d = s;
  i.a = framePointer;
  i.imm = int64_t(offset);
  return s;
}

//===----------------------------------------------------------------------===//
// Routines
//===----------------------------------------------------------------------===//

namespace {

/// Layout of arguments and results in a frame: consecutive and aligned.
class FrameLayout {
public:
  uint32_t place(uint64_t bytes, uint32_t align) {
    used = (used + align - 1) / align * align;
    uint32_t at = used;
    used += uint32_t(std::min<uint64_t>(bytes, 1u << 20));
    return at;
  }
  uint32_t end() const { return (used + 15) & ~15u; }

private:
  uint32_t used = kFrameHeader;
};

unsigned laneBytesFor(Type t) {
  return t.bits <= 32 ? 4 : t.bits <= 64 ? 8 : 16;
}

} // namespace

void Decoder::decodeRoutines() {
  for (auto &[f, r] : routineOf)
    decodeRoutine(*f, r);
  for (auto [code, f] : routineCalls)
    program.code[code].imm = routineOf[f].entry;
  if (functionTable != kNoSlot)
    for (auto &[f, r] : routineOf) {
      program.extra[functionTable + f->index] = r.entry;
      codeIndices.push_back(functionTable + f->index);
    }
}

void Decoder::decodeRoutine(const Function &f, Routine &r) {
  Frame own;
  own.function = &f;
  own.registers.resize(f.registers.size(), kNoSlot);
  static const ptx::Instruction begin{};
  inst = &begin;
  guard = kNoSlot;
  routine = &r;
  frame = &own;
  predicateBytes = 0; // do not share predicate registers with the caller
  r.entry = program.code.size();

  FrameLayout layout;
  std::vector<std::pair<Slot, uint32_t>> arguments;
  failure.clear();
  for (ptx::Variable *v : f.params)
    own.locals[v] = layout.place(v->bytes, v->align) + kLocalParams;
  for (uint32_t reg : f.paramRegs) {
    unsigned bytes = laneBytesFor(f.registers[reg].type);
    arguments.push_back({kNoSlot, layout.place(bytes, bytes)});
  }
  for (ptx::Variable *v : f.results)
    own.locals[v] = layout.place(v->bytes, v->align) + kLocalParams;
  for (uint32_t reg : f.resultRegs) {
    unsigned bytes = laneBytesFor(f.registers[reg].type);
    r.resultRegisters.push_back({reg, layout.place(bytes, bytes)});
  }
  r.frameBytes = layout.end();

  size_t enter = program.code.size();
  emit(enterRoutine);
  for (size_t k = 0; k < f.paramRegs.size(); ++k) {
    Operand op;
    op.kind = Operand::Reg;
    op.reg = f.paramRegs[k];
    moveFrame(op, arguments[k].second, /*load=*/true);
  }
  frame = nullptr;
  decodeFunction(own);
  static const ptx::Instruction end{};
  inst = &end;
  guard = kNoSlot;
  frame = &own;
  leave();
  program.info.back().line = f.body.empty() ? f.line : f.body.back().line;
  frame = nullptr;
  routine = nullptr;
  predicateBytes = 0;

  // All registers are known now, so reserve their save area in the frame.
  uint32_t list = program.extra.size(), saved = 0;
  for (auto [slot, bytes] : r.registers) {
    program.extra.push_back(slot);
    program.extra.push_back(bytes);
    saved += bytes == kPredicateBlock ? 4 : bytes;
  }
  uint32_t registers = r.frameBytes;
  r.frameBytes = (r.frameBytes + saved + 15) & ~15u;
  auto fill = [&](Instr &i) {
    i.a = framePointer;
    i.b = stackPointer;
    i.aux = list;
    i.aux2 = r.registers.size();
    i.imm = int64_t(uint64_t(registers) << 32 | r.frameBytes);
  };
  fill(program.code[enter]);
  for (size_t k : r.leaves)
    fill(program.code[k]);
}

/// Copies between a register or constant and an offset in the current frame.
void Decoder::moveFrame(const Operand &op, uint32_t offset, bool load) {
  unsigned bytes = laneBytesOf(op);
  Slot s = load ? def(op, 0) : use(op, bytes);
  Instr &i = emit(load ? loadFrame : storeFrame);
  i.d = i.a = s;
  i.b = framePointer;
  i.aux = bytes;
  i.imm = offset;
}

void Decoder::leave() {
  for (auto [reg, offset] : routine->resultRegisters) {
    Operand op;
    op.kind = Operand::Reg;
    op.reg = reg;
    moveFrame(op, offset, /*load=*/false);
  }
  routine->leaves.push_back(program.code.size());
  emit(leaveRoutine);
}

/// Emits a branch over the current instruction for lanes with a false guard.
void Decoder::skipUnlessGuard() {
  if (guard == kNoSlot)
    return;
  Slot skip = guard ^ kSlotNegated;
  guard = kNoSlot;
  branch(skip, false, uint32_t(inst - frame->function->body.data()) + 1);
}

void Decoder::ret() {
  if (frame->caller) {
    // Jump past the last instruction of the inlined function.
    branch(guard, false, frame->function->body.size());
    return;
  }
  if (!routine) {
    emit(exitThread);
    return;
  }
  skipUnlessGuard();
  leave();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void Decoder::call() {
  take("uni");
  size_t k = 0;
  const std::vector<Operand> none;
  const std::vector<Operand> *results = &none, *args = &none;
  if (operandAt(k).kind == Operand::List)
    results = &operandAt(k++).parts;
  const Operand &callee = operandAt(k++);
  if (k < numOperands() && operand(k).kind == Operand::List)
    args = &operand(k++).parts;
  if (callee.kind == Operand::Reg) {
    skipUnlessGuard();
    return callRoutineAt(nullptr, &callee, *args, *results);
  }
  if (callee.kind != Operand::Func) {
    unsupported("expects a function or a register");
    return;
  }
  const auto &functions = frame->function->home->functionByName;
  auto it = functions.find(callee.name);
  const Function *target = it == functions.end() ? nullptr : it->second;
  if (!target || !target->isDefined) {
    skipUnlessGuard();
    if (const SystemCall *system = instructions.findSystemCall(callee.name))
      return callSystem(*system, *args, *results);
    unsupported("function '" + std::string(callee.name) +
                "' is not defined in this module");
    return;
  }
  auto count = [&](size_t formals, size_t actuals, const char *what) {
    if (formals != actuals)
      unsupported("'" + std::string(target->name) + "' expects " +
                  std::to_string(formals) + " " + what + ", found " +
                  std::to_string(actuals));
  };
  count(target->params.size() + target->paramRegs.size(), args->size(),
        "arguments");
  count(target->results.size() + target->resultRegs.size(), results->size(),
        "results");
  if (!failure.empty())
    return;
  skipUnlessGuard();
  if (routineOf.count(target))
    return callRoutineAt(target, nullptr, *args, *results);
  callInPlace(*target, *args, *results);
}

void Decoder::callInPlace(const Function &target,
                          const std::vector<Operand> &args,
                          const std::vector<Operand> &results) {
  Frame inner;
  inner.function = &target;
  inner.registers.resize(target.registers.size(), kNoSlot);
  auto bindVariables = [&](const std::vector<ptx::Variable *> &formals,
                           const std::vector<Operand> &actuals) {
    for (size_t n = 0; n < formals.size(); ++n) {
      if (actuals[n].kind != Operand::Var || !isPlacedLocally(*actuals[n].var))
        return unsupported("arguments of a call must be .param variables");
      if (actuals[n].var->bytes < formals[n]->bytes)
        return unsupported("argument '" + std::string(actuals[n].var->name) +
                           "' has " + std::to_string(actuals[n].var->bytes) +
                           " bytes, but the parameter has " +
                           std::to_string(formals[n]->bytes));
      inner.locals[formals[n]] = place(*actuals[n].var);
    }
  };
  auto bindRegisters = [&](const std::vector<uint32_t> &formals,
                           const std::vector<Operand> &actuals, bool isResult) {
    for (size_t n = 0; n < formals.size(); ++n) {
      Type t = target.registers[formals[n]].type;
      if (t.kind == 'P')
        return unsupported("a predicate cannot be an argument or a result");
      unsigned bytes = laneBytesFor(t);
      Slot &own = inner.registers[formals[n]];
      if (own == kNoSlot)
        own = newRegister(bytes);
      Slot other =
          isResult ? def(actuals[n], bytes) : use(actuals[n], bytes, t);
      Instr &i = emit(bytes == 4   ? copyRegister<4>
                      : bytes == 8 ? copyRegister<8>
                                   : copyRegister<16>);
      i.d = isResult ? other : own;
      i.a = isResult ? own : other;
    }
  };
  bool hasVariables = !target.params.empty(),
       hasRegs = !target.paramRegs.empty();
  if (hasVariables && hasRegs)
    return unsupported("a function cannot mix .param and .reg parameters");
  bindVariables(target.params, args);
  bindVariables(target.results, results);
  bindRegisters(target.paramRegs, args, false);
  if (!failure.empty())
    return;

  // decodeInstruction is reentered; save the state of this instruction.
  const ptx::Instruction *savedInst = inst;
  emit(nop);
  decodeFunction(inner);
  inst = savedInst;
  mods.clear();
  failure.clear();
  guard = kNoSlot;
  bindRegisters(target.resultRegs, results, true);
}

/// Stores the arguments into a new frame, calls the routine, and loads the
/// results.
void Decoder::callRoutineAt(const Function *target, const Operand *pointer,
                            const std::vector<Operand> &args,
                            const std::vector<Operand> &results) {
  FrameLayout layout;
  std::vector<uint32_t> in, out;
  auto transfer = [&](const std::vector<Operand> &ops, bool isResult,
                      std::vector<uint32_t> &list) {
    for (const Operand &op : ops) {
      bool isVariable = op.kind == Operand::Var;
      if (isVariable && !isPlacedLocally(*op.var)) {
        unsupported("arguments of a call must be .param variables");
        return;
      }
      uint32_t bytes = isVariable ? uint32_t(op.var->bytes) : laneBytesOf(op);
      if (!bytes) {
        unsupported("a constant cannot be passed to a routine");
        return;
      }
      uint32_t at = layout.place(bytes, isVariable ? op.var->align : bytes);
      Slot s = isVariable ? use(op, 8) : isResult ? def(op, 0) : use(op, 0);
      list.insert(list.end(), {isVariable, at, bytes, s});
    }
  };
  transfer(args, false, in);
  transfer(results, true, out);
  Slot to = pointer ? use(*pointer, 8) : kNoSlot;
  if (!failure.empty())
    return;
  if (pointer && functionTable == kNoSlot) {
    functionTable = program.extra.size();
    program.extra.resize(functionTable + module.numFunctions, kNoSlot);
  }

  // Lanes reconverge after the call. If an activation of the same call already
  // waits at the first convergence point, they use the second:
  //     call; meet; bra end; meet; end: results
  uint32_t header = program.extra.size();
  size_t at = program.code.size();
  auto append = [&](const std::vector<uint32_t> &list) {
    program.extra.push_back(list.size() / 4);
    program.extra.insert(program.extra.end(), list.begin(), list.end());
  };
  codeIndices.push_back(header);
  codeIndices.push_back(header + 1);
  program.extra.push_back(uint32_t(at + 1));
  program.extra.push_back(uint32_t(at + 3));
  program.extra.push_back(pointer ? functionTable : kNoSlot);
  program.extra.push_back(module.numFunctions);
  append(in);
  Instr &jump = emit(callRoutine);
  jump.a = framePointer;
  jump.b = stackPointer;
  jump.c = to;
  jump.aux = header;
  if (target)
    routineCalls.push_back({at, target});
  emit(converge);
  emit(branchAlways).imm = int64_t(at + 4);
  emit(converge);
  uint32_t list = program.extra.size();
  append(out);
  Instr &take = emit(takeResults);
  take.b = stackPointer;
  take.aux = list;
}

/// Calls a function provided by the machine. Its handler reads the arguments
/// from the places where the caller stored them.
void Decoder::callSystem(const SystemCall &system,
                         const std::vector<Operand> &args,
                         const std::vector<Operand> &results) {
  std::vector<Operand> places = args;
  places.insert(places.end(), results.begin(), results.end());
  if (args.size() != system.arguments || results.size() != system.hasResult)
    return unsupported("'" + std::string(system.name) + "' expects " +
                       std::to_string(system.arguments) + " arguments and " +
                       (system.hasResult ? "a result" : "no result"));
  std::vector<Slot> slots;
  for (const Operand &op : places) {
    if (op.kind != Operand::Var || !isPlacedLocally(*op.var))
      return unsupported("arguments of a call must be .param variables");
    slots.push_back(use(op, 8));
  }
  uint32_t first = program.extra.size();
  program.extra.insert(program.extra.end(), slots.begin(), slots.end());
  emit(system.handler).aux = first;
}
