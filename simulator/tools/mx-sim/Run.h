//===- Run.h - mx-sim run ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_TOOLS_RUN_H
#define MXSIM_TOOLS_RUN_H

namespace mx::sim {

/// Runs `mx-sim run ARGUMENTS`. The first argument is "run". Returns the exit
/// status.
int runProgram(int argc, char **argv);

} // namespace mx::sim

#endif // MXSIM_TOOLS_RUN_H
