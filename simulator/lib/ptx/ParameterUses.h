//===- ParameterUses.h - Inference of parameter uses ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX does not declare which words of parameters are addresses. Inference from
// instructions is accurate enough to help users write a launch file, and no
// execution depends on the result.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_PTX_PARAMETERUSES_H
#define MXSIM_LIB_PTX_PARAMETERUSES_H

#include "AST.h"

namespace mx::sim::ptx {

/// Fills in the uses of parameters and of dynamic shared memory in
/// `kernel.info`.
void findParameterUses(const Module &module, Function &kernel);

} // namespace mx::sim::ptx

#endif // MXSIM_LIB_PTX_PARAMETERUSES_H
