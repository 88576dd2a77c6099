//===- Routines.h - functions that have frames on a stack -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the decoder and the handlers of calls agree on. See Calls.cpp.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_ROUTINES_H
#define MXSIM_LIB_MACHINE_ROUTINES_H

#include "Machine.h"

namespace mx::sim {

/// A frame begins with the index of the instruction to return to, the frame
/// pointer and the stack pointer of the caller.
constexpr uint32_t kFrameHeader = 16;
/// In place of lane bytes: a register that holds 32 predicates.
constexpr uint32_t kPredicateBlock = 1;

/// What the name of a function is as a value: no address of memory.
constexpr uint64_t kFunctionWindow = 0x7a0000000000ull;
uint64_t addressOfFunction(const ptx::Function &f);

/// Ends the launch: the stack of the lane has no room.
const Instr *reportOverflow(Warp &w, const Instr *i, unsigned lane);

/// d: frame pointer, b: stack pointer, imm: where the stack begins.
const Instr *setStack(Warp &w, const Instr *i, uint32_t mask);
/// d = frame pointer a + imm.
template <class T>
const Instr *frameAddress(Warp &w, const Instr *i, uint32_t mask);
extern template const Instr *frameAddress<uint32_t>(Warp &, const Instr *,
                                                    uint32_t);
extern template const Instr *frameAddress<uint64_t>(Warp &, const Instr *,
                                                    uint32_t);
/// d or a: register of aux bytes; b: frame pointer, imm: offset.
const Instr *loadFrame(Warp &w, const Instr *i, uint32_t mask);
const Instr *storeFrame(Warp &w, const Instr *i, uint32_t mask);

/// a, b: frame and stack pointer, c: pointer to a function or kNoSlot, imm:
/// entry. aux, in Program::extra: both places to meet, the table of entries by
/// function or kNoSlot, its length, and the arguments: their number and, for
/// each, whether it is a variable, offset in the frame, bytes, slot.
const Instr *callRoutine(Warp &w, const Instr *i, uint32_t mask);
/// b: stack pointer, aux: results, as the arguments of callRoutine.
const Instr *takeResults(Warp &w, const Instr *i, uint32_t mask);
/// a, b: frame and stack pointer; aux, aux2: slot and lane bytes of registers
/// that are saved and restored; imm: their offset << 32 | size of the frame.
const Instr *enterRoutine(Warp &w, const Instr *i, uint32_t mask);
const Instr *leaveRoutine(Warp &w, const Instr *i, uint32_t mask);

template <unsigned Bytes>
const Instr *copyRegister(Warp &w, const Instr *i, uint32_t mask);
extern template const Instr *copyRegister<4>(Warp &, const Instr *, uint32_t);
extern template const Instr *copyRegister<8>(Warp &, const Instr *, uint32_t);
extern template const Instr *copyRegister<16>(Warp &, const Instr *, uint32_t);

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_ROUTINES_H
