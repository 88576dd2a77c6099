//===- ExitStatus.h - Exit statuses of all tools ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/guide/Run.md lists the statuses. A fault has the same status in every
// tool and with all options.
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_EXITSTATUS_H
#define MX_SUPPORT_EXITSTATUS_H

namespace mx {

enum ExitStatus : int {
  /// The request succeeded without faults.
  kExitClean = 0,
  /// A check, a comparison, a device or the assembler found a fault.
  kExitFault = 1,
  /// Files, options or sizes are rejected, or memory is insufficient.
  kExitBadInput = 2,
  /// The kernels are deadlocked.
  kExitDeadlock = 3,
  /// A requested comparison compared no elements.
  kExitUnchecked = 4
};

} // namespace mx

#endif // MX_SUPPORT_EXITSTATUS_H
