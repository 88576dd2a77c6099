//===- Handlers.h - Handlers used by the decoder ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control flow handlers. The decoder must recognize them to find convergence
// points.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_HANDLERS_H
#define MXSIM_LIB_MACHINE_HANDLERS_H

#include "Machine.h"

namespace mx::sim {

const Instr *branchAlways(Warp &w, const Instr *i, uint32_t mask);
/// Branches if predicate a is true; imm: target, aux: convergence point.
const Instr *branchIf(Warp &w, const Instr *i, uint32_t mask);
/// Jumps to entry a of a table of b branchAlways instructions at imm.
const Instr *branchIndexed(Warp &w, const Instr *i, uint32_t mask);
const Instr *exitThread(Warp &w, const Instr *i, uint32_t mask);
const Instr *trapThread(Warp &w, const Instr *i, uint32_t mask);
const Instr *converge(Warp &w, const Instr *i, uint32_t mask);
/// Computes predicate d as a != 0.
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
