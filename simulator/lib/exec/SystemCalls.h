//===- SystemCalls.h - functions of the device's run time -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX calls them as functions that no module defines (CUDA C++ Programming
// Guide, formatted output and assertion).
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_SYSTEMCALLS_H
#define MXSIM_LIB_EXEC_SYSTEMCALLS_H

#include "../machine/Program.h"

namespace mx::sim {

struct SystemCall {
  std::string_view name;
  size_t arguments;
  bool hasResult;
  /// aux: the first of Program::extra, which hold the registers with
  /// the addresses of the arguments and of the result in parameter space.
  Handler handler;
};

/// Null when there is none of that name.
const SystemCall *findSystemCall(std::string_view name);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_SYSTEMCALLS_H
