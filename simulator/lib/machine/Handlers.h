//===- Handlers.h - handlers that the decoder itself refers to --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control flow, which the decoder must recognise to find convergence points.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_HANDLERS_H
#define MXSIM_LIB_MACHINE_HANDLERS_H

#include "Machine.h"

namespace mx::sim {

const Instr *branchAlways(Warp &w, const Instr *i, uint32_t mask);
/// a: predicate, imm: target, aux: where the ways meet.
const Instr *branchIf(Warp &w, const Instr *i, uint32_t mask);
/// a: index, imm: first of b branchAlways in a table after it.
const Instr *branchIndexed(Warp &w, const Instr *i, uint32_t mask);
const Instr *exitThread(Warp &w, const Instr *i, uint32_t mask);
const Instr *trapThread(Warp &w, const Instr *i, uint32_t mask);
const Instr *converge(Warp &w, const Instr *i, uint32_t mask);
/// d: predicate, a != 0.
const Instr *predicateFromWord(Warp &w, const Instr *i, uint32_t mask);
const Instr *nop(Warp &w, const Instr *i, uint32_t mask);
const Instr *reportUnsupported(Warp &w, const Instr *i, uint32_t mask);
template <class T>
const Instr *readClock(Warp &w, const Instr *i, uint32_t mask);
extern template const Instr *readClock<uint32_t>(Warp &, const Instr *,
                                                 uint32_t);
extern template const Instr *readClock<uint64_t>(Warp &, const Instr *,
                                                 uint32_t);

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_HANDLERS_H
