//===- ExitStatus.h - Exit statuses of mx-sim -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The other tools of mx use the same values.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_EXITSTATUS_H
#define MXSIM_EXITSTATUS_H

namespace mx::sim {

enum ExitStatus : int {
  kExitClean = 0,
  /// A failed check, a trap or an illegal access.
  kExitFault = 1,
  /// Rejected files, options or sizes, or not enough memory.
  kExitBadInput = 2,
  /// The kernels wait for each other forever.
  kExitDeadlock = 3
};

} // namespace mx::sim

#endif // MXSIM_EXITSTATUS_H
