//===- Report.h - Messages of mx-launch -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_LAUNCH_REPORT_H
#define MX_LIB_LAUNCH_REPORT_H

#include "mx/Support/ExitStatus.h"

#include <string>

namespace mx {

/// Prints the message, and returns the status.
ExitStatus report(const std::string &message,
                  ExitStatus status = kExitBadInput);
/// Reports what the runtime found.
ExitStatus reportLastError();

} // namespace mx

#endif // MX_LIB_LAUNCH_REPORT_H
