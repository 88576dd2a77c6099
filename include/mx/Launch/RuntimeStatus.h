//===- RuntimeStatus.h - Statuses and notices of runtime tools --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For tools that run programs through libmx_runtime.
//===----------------------------------------------------------------------===//

#ifndef MX_LAUNCH_RUNTIMESTATUS_H
#define MX_LAUNCH_RUNTIMESTATUS_H

#include "mx/Support/ExitStatus.h"
#include "mx_runtime.h"

namespace mx {

/// Notice that "auto" found no GPU and selected the simulator.
inline constexpr char kSimulatedNotice[] =
    "no GPU here can run this program: it runs on the simulator, which is far "
    "slower (--device=sim selects it without this notice)";

/// Returns the exit status of a tool for an mxStatus of the runtime.
inline ExitStatus getExitStatus(int runtimeStatus) {
  switch (runtimeStatus) {
  case MX_SUCCESS:
    return kExitClean;
  case MX_ERROR_CHECK:
  case MX_ERROR_KERNEL:
  case MX_ERROR_DRIVER:
  case MX_ERROR_PEER:
  case MX_ERROR_TIMEOUT:
    return kExitFault;
  case MX_ERROR_DEADLOCK:
    return kExitDeadlock;
  default:
    return kExitBadInput;
  }
}

} // namespace mx

#endif // MX_LAUNCH_RUNTIMESTATUS_H
