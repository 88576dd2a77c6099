//===- Decoder.h - Lowering of parsed instructions to handlers --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each family of opcodes (see InstructionSet) has a function that reads the
// modifiers in any order, maps operands to register slots, and emits handlers.
// If a modifier remains unread, the instruction is reported as unsupported.
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

/// Target of a memory operand: the value of `base` plus `offset`.
struct Address {
  Slot base = kNoSlot;
  bool is64 = true;
  int64_t offset = 0;
  /// State space of the named variable, or Generic.
  ptx::Space space = ptx::Space::Generic;
};

class Decoder {
public:
  Decoder(ptx::Module &module, Program &program,
          const InstructionSet &instructions)
      : module(module), program(program), instructions(instructions) {
    program.instructions = &instructions;
  }

  /// Fills in the program. Each unsupported instruction is listed in
  /// `unsupported` and decoded to a handler that reports the error.
  bool decode(const ptx::Function &kernel, std::vector<Diagnostic> &errors,
              std::vector<Diagnostic> &unsupported);

  // Interface for decode functions.
  const ptx::Instruction *inst = nullptr;

  /// Removes a modifier. Returns false if the modifier is absent.
  bool take(std::string_view name);
  /// Removes the first of `names` that is a modifier of the instruction.
  /// Returns its index in `names`, or -1 if there is none.
  int takeAny(std::initializer_list<std::string_view> names);
  /// Removes the first modifier with the given prefix. Returns an empty view if
  /// there is none.
  std::string_view takePrefix(std::string_view prefix);
  bool takeType(ptx::Type &type);
  /// Removes .v2, .v4 or .v8. Returns the vector length, or 1.
  unsigned takeVector();
  /// Removes state spaces (with ::cta and ::cluster). Returns Generic if there
  /// are none.
  ptx::Space takeSpace();
  /// Removes caching and ordering qualifiers because they have no functional
  /// effect. Returns the memory scope, by default the device.
  MemoryScope takeMemoryQualifiers();
  /// Returns the scope named by a modifier, without removing the modifier.
  MemoryScope scopeNamed() const;
  /// Records the scope of a fence or of an instruction on global memory.
  MemoryScope useScope(MemoryScope scope);
  const std::vector<std::string_view> &modifiers() const { return mods; }

  size_t numOperands() const { return inst->operands.size(); }
  const ptx::Operand &operand(size_t k) { return operandAt(k); }

  /// Return the slot of a source (`use`) or destination (`def`). The lane size
  /// of the register must equal `laneBytes` (4, 8 or 16) unless `laneBytes` is
  /// 0. On failure these functions record the error and return a harmless slot.
  Slot use(const ptx::Operand &op, unsigned laneBytes,
           ptx::Type immediate = {'B', 32});
  Slot def(const ptx::Operand &op, unsigned laneBytes);
  Slot use(size_t k, ptx::Type type);
  Slot def(size_t k, ptx::Type type);
  Slot usePredicate(size_t k) { return usePredicate(operandAt(k)); }
  Slot usePredicate(const ptx::Operand &op);
  Slot defPredicate(size_t k) { return defPredicate(operandAt(k)); }
  Slot defPredicate(const ptx::Operand &op);
  /// Returns 4, 8 or 16 for a register or vector element, and 0 for an
  /// immediate.
  unsigned laneBytesOf(const ptx::Operand &op) const;
  bool isPredicate(const ptx::Operand &op) const;
  bool immediate(size_t k, int64_t &value);
  Address address(size_t k) { return address(operandAt(k)); }
  Address address(const ptx::Operand &op);
  /// Returns the elements of {a, b}, or the operand itself.
  const std::vector<ptx::Operand> &elements(const ptx::Operand &op);
  const ptx::Operand &operandAt(size_t k);
  /// Returns the constant pool register with `value` in every lane.
  Slot constant(uint64_t value, unsigned laneBytes);
  Slot constantPredicate(bool value);
  /// Returns a shared register for unused results. `temporary` instead returns
  /// a new register.
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
  /// Records the reason why the instruction cannot be executed.
  void unsupported(std::string why);
  bool expectOperands(size_t low, size_t high);

  ptx::Module &module;
  Program &program;
  const InstructionSet &instructions;

  /// Returns the address of a variable in its state space. Allocates the
  /// variable on first use.
  uint64_t place(ptx::Variable &v);
  bool isPlacedLocally(const ptx::Variable &v) const;

  /// Decodes a call: inlines the callee, or emits a call of a routine.
  void call();
  /// Emits a branch from `inst` to an instruction of the current function.
  void branch(Slot condition, bool isUniform, uint32_t target);
  void ret();
  /// Current end of a thread's stack; kNoSlot if the kernel needs no stack.
  Slot stackPointer = kNoSlot;

private:
  /// Function that is not inlined; see Calls.cpp.
  struct Routine {
    uint32_t entry = 0, frameBytes = 0;
    /// Slots and lane bytes of the registers to preserve for an outer
    /// activation.
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
  /// Entries of Program::extra with instruction indices.
  std::vector<size_t> codeIndices;
  uint32_t functionTable = kNoSlot;
  Routine *routine = nullptr; ///< routine being decoded
  bool usesStack = false;
  Slot framePointer = kNoSlot;

  struct Frame {
    const ptx::Function *function = nullptr;
    std::vector<Slot> registers;
    std::unordered_map<const ptx::Variable *, uint64_t> locals;
    Frame *caller = nullptr;
    /// Program index of each instruction, and of the end of the function.
    std::vector<uint32_t> starts;
    std::vector<std::pair<uint32_t, uint32_t>> branches; ///< code index, target
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
