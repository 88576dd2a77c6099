//===- HostFunctions.h - Functions called by host code ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled code of the reference path calls collectives by C names
// (mx/Conversion/MXToCPU/Collectives.h). The calls are forwarded to the
// collectives of the calling thread. On invalid data, compiled code calls
// dprintf and exit (lib/Conversion/MXToCPU). The functions below replace them
// in embedding processes and make the message the error of the call.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_EXECUTION_HOSTFUNCTIONS_H
#define MX_LIB_EXECUTION_HOSTFUNCTIONS_H

#include "mx/Execution/Ranks.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mx::host_collectives {

/// Sets the collectives for the calls of this thread until the scope ends.
class Scope {
public:
  /// `entry` is the called function.
  Scope(HostCollectives *collectives, llvm::StringRef entry);
  ~Scope();
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;

  HostCollectives *const collectives;
  const llvm::StringRef entry;
  /// Number of collectives started by the call.
  int64_t count = 0;

private:
  Scope *const outer;
};

/// Calls `add` with the name and the address of each function.
void forEachFunction(llvm::function_ref<void(llvm::StringRef, void *)> add);

} // namespace mx::host_collectives

namespace mx::host_exit {

/// Calls compiled code. If the code calls `exit`, returns its output as the
/// error and leaks the memory that the call allocated.
llvm::Error call(void (*function)(void **), void **arguments);

/// Replace dprintf and exit. Output to stderr is buffered until the call ends.
int print(int file, const char *format, ...);
[[noreturn]] void exit(int status);

} // namespace mx::host_exit

#endif // MX_LIB_EXECUTION_HOSTFUNCTIONS_H
