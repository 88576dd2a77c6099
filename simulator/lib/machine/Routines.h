//===- Routines.h - Functions with stack frames -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conventions shared by the decoder and the call handlers. See Calls.cpp. The
// comments of handlers list the fields of Instr that contain their operands.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_ROUTINES_H
#define MXSIM_LIB_MACHINE_ROUTINES_H

#include "Machine.h"

namespace mx::sim {

/// Frame header: the index of the return instruction, and the frame pointer and
/// stack pointer of the caller.
constexpr uint32_t kFrameHeader = 16;
/// Replaces the lane bytes of a register that contains 32 predicates.
constexpr uint32_t kPredicateBlock = 1;

/// Base of function addresses, disjoint from all memory addresses.
constexpr uint64_t kFunctionWindow = 0x7a0000000000ull;
uint64_t addressOfFunction(const ptx::Function &f);

/// Ends the launch because the stack of the lane overflows.
const Instr *reportOverflow(Warp &w, const Instr *i, unsigned lane);

/// Operands: d: frame pointer, b: stack pointer, imm: start of the stack.
const Instr *setStack(Warp &w, const Instr *i, uint32_t mask);
/// Computes d = frame pointer a + imm.
template <class T>
const Instr *frameAddress(Warp &w, const Instr *i, uint32_t mask);
extern template const Instr *frameAddress<uint32_t>(Warp &, const Instr *,
                                                    uint32_t);
extern template const Instr *frameAddress<uint64_t>(Warp &, const Instr *,
                                                    uint32_t);
/// Operands: d or a: register of aux bytes; b: frame pointer, imm: offset.
const Instr *loadFrame(Warp &w, const Instr *i, uint32_t mask);
const Instr *storeFrame(Warp &w, const Instr *i, uint32_t mask);

/// Operands: a, b: frame and stack pointer, c: function pointer or kNoSlot,
/// imm: entry, aux: index of a list in Program::extra. The list contains both
/// convergence points, the table of entries by function (or kNoSlot), the
/// length of the table, the number of arguments, and for each argument whether
/// it is a variable, its offset in the frame, its bytes and its slot.
const Instr *callRoutine(Warp &w, const Instr *i, uint32_t mask);
/// Operands: b: stack pointer, aux: results, encoded like the arguments of
/// callRoutine.
const Instr *takeResults(Warp &w, const Instr *i, uint32_t mask);
/// Operands: a, b: frame and stack pointer; aux, aux2: slots and lane bytes of
/// saved registers; imm: their offset << 32 | size of the frame.
const Instr *enterRoutine(Warp &w, const Instr *i, uint32_t mask);
const Instr *leaveRoutine(Warp &w, const Instr *i, uint32_t mask);

template <unsigned Bytes>
const Instr *copyRegister(Warp &w, const Instr *i, uint32_t mask);
extern template const Instr *copyRegister<4>(Warp &, const Instr *, uint32_t);
extern template const Instr *copyRegister<8>(Warp &, const Instr *, uint32_t);
extern template const Instr *copyRegister<16>(Warp &, const Instr *, uint32_t);

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_ROUTINES_H
