//===- Error.h - The error that sticks --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches called by generated code return nothing, so the first error of a
// thread is kept until the thread clears it.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_ERROR_H
#define MX_RUNTIME_LIB_ERROR_H

#include "Device.h"

#include <exception>

namespace mx::runtime {

/// Records an error of this thread, obeys the policy, returns the status.
/// `driverCall` is that of MLIR's wrapper, which prints its name.
int report(const Error &error, const char *driverCall = nullptr);
/// The same for what was thrown by `function`, where no memory may be left.
int reportThrown(const char *function, const std::exception &thrown);

/// Does what an exported function does, and reports the error that it returns.
/// Exceptions of the C++ library end here, as hosts are C or generated code.
/// The runtime throws none.
template <class Call>
int attempt(Call call, const char *function = __builtin_FUNCTION(),
            const char *driverCall = nullptr) {
  try {
    return report(call(), driverCall);
  } catch (const std::exception &thrown) {
    return reportThrown(function, thrown);
  }
}

/// That a function of the interface was given no `argument`.
int reportNull(const char *argument,
               const char *function = __builtin_FUNCTION());

/// Whether an error of this thread waits to be cleared.
bool hasError();

/// Tells the host a warning: its handler, or else standard error.
/// Nothing may be locked.
void warn(const std::string &text);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_ERROR_H
