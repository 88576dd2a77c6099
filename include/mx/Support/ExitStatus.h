//===- ExitStatus.h - How every tool ends -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table for all tools: docs/guide/Run.md. A fault has the same status
// whichever tool meets it, and whichever options are given.
//===----------------------------------------------------------------------===//

#ifndef MX_SUPPORT_EXITSTATUS_H
#define MX_SUPPORT_EXITSTATUS_H

namespace mx {

enum ExitStatus : int {
  /// What was asked for was done, and nothing is wrong.
  kExitClean = 0,
  /// A fault was found by running: by a check, a comparison, a device or the
  /// assembler.
  kExitFault = 1,
  /// Files, options or sizes that are refused, or more memory than there is.
  kExitBadInput = 2,
  /// The kernels wait for each other without end.
  kExitDeadlock = 3,
  /// A comparison that was asked for compared no element: nothing is known of
  /// the results.
  kExitUnchecked = 4
};

} // namespace mx

#endif // MX_SUPPORT_EXITSTATUS_H
