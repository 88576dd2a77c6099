//===- HostExit.h - Compiled code that ends the program ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The reference path checks its data where it uses them, and ends the program
// with a message where something is wrong (lib/Conversion/MXToCPU): it calls
// dprintf and exit. In a process of another program these functions take
// their place, and the message is the error of the call.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_EXECUTION_HOSTEXIT_H
#define MX_LIB_EXECUTION_HOSTEXIT_H

#include "llvm/Support/Error.h"

namespace mx::host_exit {

/// Calls compiled code. Where it called `exit`, what it had printed is the
/// error; memory that it had allocated until then is lost.
llvm::Error call(void (*function)(void **), void **arguments);

/// As those of C. What is printed to standard error is kept until the call
/// ends.
int print(int file, const char *format, ...);
[[noreturn]] void exit(int status);

} // namespace mx::host_exit

#endif // MX_LIB_EXECUTION_HOSTEXIT_H
