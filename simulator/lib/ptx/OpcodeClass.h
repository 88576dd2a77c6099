//===- OpcodeClass.h - what kind of instruction it is -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_PTX_OPCODECLASS_H
#define MXSIM_LIB_PTX_OPCODECLASS_H

#include "AST.h"

#include <string_view>

namespace mx::sim {

/// "integer", "shared load", "bulk copy", ...: simulator/docs/Simulator.md
/// lists them.
std::string_view classOf(const ptx::Instruction &i);

/// Whether the opcode has a modifier, or one that begins with it where it ends
/// in '*'. An empty one it always has.
bool hasModifier(const ptx::Instruction &i, std::string_view modifier);

/// An MMA with accumulators in registers, of a warp or a warpgroup.
bool isWarpMma(const ptx::Instruction &i);

} // namespace mx::sim

#endif // MXSIM_LIB_PTX_OPCODECLASS_H
