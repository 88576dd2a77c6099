//===- HostCollectives.h - What code of this process calls ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Code of the reference path calls functions of C where ranks meet
// (mx/Conversion/MXToCPU/Collectives.h). These go to what a thread has set for
// its calls.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_EXECUTION_HOSTCOLLECTIVES_H
#define MX_LIB_EXECUTION_HOSTCOLLECTIVES_H

#include "mx/Execution/Ranks.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

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

#endif // MX_LIB_EXECUTION_HOSTCOLLECTIVES_H
