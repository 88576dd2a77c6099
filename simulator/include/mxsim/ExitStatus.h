//===- ExitStatus.h - Exit statuses of mx-sim -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Equal to the statuses of mx's other tools.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_EXITSTATUS_H
#define MXSIM_EXITSTATUS_H

namespace mx::sim {

enum ExitStatus : int {
  kExitClean = 0,
  /// A check, a trap or an illegal access.
  kExitFault = 1,
  /// Files, options or sizes that are refused, or more memory than there is.
  kExitBadInput = 2,
  /// The kernels wait for each other without end.
  kExitDeadlock = 3
};

} // namespace mx::sim

#endif // MXSIM_EXITSTATUS_H
