//===- Error.h - The error that sticks --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches called by generated code return nothing, so the first error of the
// process is kept until somebody clears it, or ends the process at once.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_ERROR_H
#define MX_RUNTIME_ERROR_H

#include "Device.h"

namespace mx::runtime {

/// Records an error, obeys the policy, returns the status.
int report(const Error &error);
/// Whether an error waits to be cleared.
bool hasError();

} // namespace mx::runtime

#endif // MX_RUNTIME_ERROR_H
