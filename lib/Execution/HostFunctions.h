//===- HostFunctions.h - What code of this process calls --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Code of the reference path calls functions of C where ranks meet
// (mx/Conversion/MXToCPU/Collectives.h). These go to what a thread has set for
// its calls.
//
// The reference path checks its data where it uses them, and ends the program
// with a message where something is wrong (lib/Conversion/MXToCPU): it calls
// dprintf and exit. In a process of another program these functions take
// their place, and the message is the error of the call.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_EXECUTION_HOSTFUNCTIONS_H
#define MX_LIB_EXECUTION_HOSTFUNCTIONS_H

#include "mx/Execution/Ranks.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mx::host_collectives {

/// Sets them for the calls of this thread until it is destroyed.
class Scope {
public:
  /// `entry` is the function that is called.
  Scope(HostCollectives *collectives, llvm::StringRef entry);
  ~Scope();
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;

  HostCollectives *const collectives;
  const llvm::StringRef entry;
  /// Those that the call has begun.
  int64_t count = 0;

private:
  Scope *const outer;
};

/// Calls `add` with the name and the address of each function.
void forEachFunction(llvm::function_ref<void(llvm::StringRef, void *)> add);

} // namespace mx::host_collectives

namespace mx::host_exit {

/// Calls compiled code. Where it called `exit`, what it had printed is the
/// error; memory that it had allocated until then is lost.
llvm::Error call(void (*function)(void **), void **arguments);

/// As those of C. What is printed to standard error is kept until the call
/// ends.
int print(int file, const char *format, ...);
[[noreturn]] void exit(int status);

} // namespace mx::host_exit

#endif // MX_LIB_EXECUTION_HOSTFUNCTIONS_H
