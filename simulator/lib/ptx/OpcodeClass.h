//===- OpcodeClass.h - Instruction classes ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_PTX_OPCODECLASS_H
#define MXSIM_LIB_PTX_OPCODECLASS_H

#include "AST.h"

#include <string_view>

namespace mx::sim {

/// Returns "integer", "shared load", "bulk copy", ...;
/// simulator/docs/Reports.md lists all classes.
std::string_view classOf(const ptx::Instruction &i);

/// Returns true if `i` has the modifier, or a modifier with the prefix before a
/// trailing '*'. An empty modifier always matches.
bool hasModifier(const ptx::Instruction &i, std::string_view modifier);

/// Returns true for warp and warpgroup MMAs with accumulators in registers.
bool isWarpMma(const ptx::Instruction &i);

} // namespace mx::sim

#endif // MXSIM_LIB_PTX_OPCODECLASS_H
