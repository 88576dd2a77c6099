//===- Decoder.h - from parsed to executable instructions -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per family of opcodes (an InstructionSet has them) reads the
// modifiers in whatever order they come, turns operands into register slots
// and emits handlers. A modifier that no handler has read makes the instruction
// unsupported: nothing is silently ignored.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_DECODER_H
#define MXSIM_LIB_MACHINE_DECODER_H

#include "InstructionSet.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <unordered_map>

namespace mx::sim {

/// Where a memory operand points: the value of `base` plus `offset`.
struct Address {
  Slot base = kNoSlot;
  bool is64 = true;
  int64_t offset = 0;
  /// The state space of the variable that was named, else Generic.
  ptx::Space space = ptx::Space::Generic;
};

class Decoder {
public:
  Decoder(ptx::Module &module, Program &program,
          const InstructionSet &instructions)
      : module(module), program(program), instructions(instructions) {
    program.instructions = &instructions;
  }

  /// Fills the program. Unsupported instructions become handlers that report
  /// themselves; `unsupported` lists them.
  bool decode(const ptx::Function &kernel, std::vector<Diagnostic> &errors,
              std::vector<Diagnostic> &unsupported);

  // For the decode functions.
  const ptx::Instruction *inst = nullptr;

  /// Removes a modifier; false when it is not there.
  bool take(std::string_view name);
  /// Removes the first modifier of the list that is there and returns its
  /// index, or -1.
  int takeAny(std::initializer_list<std::string_view> names);
  /// Removes the first modifier that begins like that; empty when none does.
  std::string_view takePrefix(std::string_view prefix);
  /// Removes the next modifier that is a type.
  bool takeType(ptx::Type &type);
  /// Removes .v2, .v4, .v8; 1 when there is none.
  unsigned takeVector();
  /// Removes state spaces (with ::cta and ::cluster); Generic when none.
  ptx::Space takeSpace();
  /// Removes what has no functional effect: cache and ordering qualifiers.
  /// Returns the scope: that of the device where there is none.
  MemoryScope takeMemoryQualifiers();
  /// The scope among the modifiers, which stays there.
  MemoryScope scopeNamed() const;
  /// An instruction on global memory, or a fence, has that scope.
  MemoryScope useScope(MemoryScope scope);
  const std::vector<std::string_view> &modifiers() const { return mods; }

  size_t numOperands() const { return inst->operands.size(); }
  const ptx::Operand &operand(size_t k) { return operandAt(k); }

  /// Operand slots. `laneBytes` (4, 8 or 16) must be what the register has;
  /// 0 takes any. On an error they note it and return a harmless slot.
  Slot use(const ptx::Operand &op, unsigned laneBytes,
           ptx::Type immediate = {'B', 32});
  Slot def(const ptx::Operand &op, unsigned laneBytes);
  Slot use(size_t k, ptx::Type type);
  Slot def(size_t k, ptx::Type type);
  Slot usePredicate(size_t k) { return usePredicate(operandAt(k)); }
  Slot usePredicate(const ptx::Operand &op);
  Slot defPredicate(size_t k) { return defPredicate(operandAt(k)); }
  Slot defPredicate(const ptx::Operand &op);
  /// 4, 8 or 16 for a register or vector element; 0 for an immediate.
  unsigned laneBytesOf(const ptx::Operand &op) const;
  bool isPredicate(const ptx::Operand &op) const;
  bool immediate(size_t k, int64_t &value);
  Address address(size_t k) { return address(operandAt(k)); }
  Address address(const ptx::Operand &op);
  /// The elements of {a, b}, or the operand alone.
  const std::vector<ptx::Operand> &elements(const ptx::Operand &op);
  const ptx::Operand &operandAt(size_t k);
  /// The pool's register with `value` in every lane.
  Slot constant(uint64_t value, unsigned laneBytes);
  Slot constantPredicate(bool value);
  /// A register for unused results; `temporary` is the caller's own.
  Slot scratch(unsigned laneBytes);
  Slot temporary(unsigned laneBytes) { return newRegister(laneBytes); }
  Slot temporaryPredicate() { return newPredicate(); }
  Slot scratchPredicate();
  Slot special(Special kind, unsigned laneBytes, int64_t value = 0);

  Instr &emit(Handler fn);
  void markMove() { isMove = true; }
  uint32_t addExtra(Slot s) {
    program.extra.push_back(s);
    return program.extra.size() - 1;
  }
  /// Notes why the instruction cannot be executed.
  void unsupported(std::string why);
  bool expectOperands(size_t low, size_t high);

  ptx::Module &module;
  Program &program;
  const InstructionSet &instructions;

  /// Address of a variable in its space; places it at first sight.
  uint64_t place(ptx::Variable &v);
  bool isPlacedLocally(const ptx::Variable &v) const;

  /// Decodes the callee in place, or calls it as a routine.
  void call();
  /// Branch of `inst` to an instruction of the current function.
  void branch(Slot condition, bool isUniform, uint32_t target);
  void ret();
  /// Where the stack of a thread ends; kNoSlot when the kernel needs none.
  Slot stackPointer = kNoSlot;

private:
  /// A function that is not decoded in place: see Calls.cpp.
  struct Routine {
    uint32_t entry = 0, frameBytes = 0;
    /// Slot and lane bytes of what it must not change for an outer activation.
    std::vector<std::pair<Slot, uint32_t>> registers;
    std::vector<std::pair<uint32_t, uint32_t>> resultRegisters;
    std::vector<size_t> leaves;
  };
  struct InOrder {
    bool operator()(const ptx::Function *a, const ptx::Function *b) const {
      return a->index < b->index;
    }
  };
  std::map<const ptx::Function *, Routine, InOrder> routineOf;
  std::vector<std::pair<size_t, const ptx::Function *>> routineCalls;
  /// Places in Program::extra that hold indices of instructions.
  std::vector<size_t> codeIndices;
  uint32_t functionTable = kNoSlot;
  Routine *routine = nullptr; ///< being decoded
  bool usesStack = false;
  Slot framePointer = kNoSlot;

  struct Frame {
    const ptx::Function *function = nullptr;
    std::vector<Slot> registers;
    std::unordered_map<const ptx::Variable *, uint64_t> locals;
    Frame *caller = nullptr;
    /// Program index of each instruction, and of what follows the last.
    std::vector<uint32_t> starts;
    std::vector<std::pair<uint32_t, uint32_t>> branches; ///< code, target
    std::vector<uint32_t> returns;
  };
  Frame *frame = nullptr;
  std::vector<std::string_view> mods;
  std::vector<ptx::Operand> single;
  std::string failure;
  bool isMove = false;
  Slot guard = kNoSlot;
  std::vector<Slot> uses, defs;
  std::map<std::pair<uint64_t, unsigned>, Slot> constants;
  std::map<std::tuple<int, unsigned, int64_t>, Slot> specials;
  struct ExternFix {
    size_t special;
    int64_t offset;
  };
  std::vector<ExternFix> externFixes;
  std::unordered_map<const ptx::Variable *, uint64_t> sharedPlaces;
  uint32_t nextPredicate = 0;
  uint32_t predicateBytes = 0;
  std::vector<Diagnostic> *errorList = nullptr, *unsupportedList = nullptr;
  ptx::Operand nothing;

  void decodeFunction(Frame &f);
  void decodeInstruction(const ptx::Instruction &i);
  void planCalls(const ptx::Function &kernel);
  size_t beginStack();
  void finishStack(size_t init);
  Slot localAddress(uint64_t offset, unsigned laneBytes);
  void decodeRoutines();
  void decodeRoutine(const ptx::Function &f, Routine &r);
  void moveFrame(const ptx::Operand &op, uint32_t offset, bool load);
  void leave();
  void skipUnlessGuard();
  void callInPlace(const ptx::Function &target,
                   const std::vector<ptx::Operand> &args,
                   const std::vector<ptx::Operand> &results);
  void callRoutineAt(const ptx::Function *target, const ptx::Operand *pointer,
                     const std::vector<ptx::Operand> &args,
                     const std::vector<ptx::Operand> &results);
  void callSystem(const SystemCall &system,
                  const std::vector<ptx::Operand> &args,
                  const std::vector<ptx::Operand> &results);
  Slot newPredicate();
  Slot predicateOf(const ptx::Operand &op);
  Slot newRegister(unsigned laneBytes);
  Slot sharedRegister(unsigned laneBytes);
  void markConvergence();
};

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_DECODER_H
