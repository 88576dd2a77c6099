//===- ParameterUses.h - what a kernel does with its parameters -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX does not say which words of the parameters are addresses. What the
// instructions do with them does, well enough for a person who writes a launch
// file: it is a guess, on which no run depends.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_PTX_PARAMETERUSES_H
#define MXSIM_LIB_PTX_PARAMETERUSES_H

#include "AST.h"

namespace mx::sim::ptx {

/// Fills in what `kernel.info` says of the uses of its parameters and of
/// dynamic shared memory.
void findParameterUses(const Module &module, Function &kernel);

} // namespace mx::sim::ptx

#endif // MXSIM_LIB_PTX_PARAMETERUSES_H
