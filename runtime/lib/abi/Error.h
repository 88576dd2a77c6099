//===- Error.h - The error that sticks --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches called by generated code return nothing, so the first error of the
// process is kept until the caller clears it, or ends the process at once.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_ABI_ERROR_H
#define MX_RUNTIME_LIB_ABI_ERROR_H

#include "../Device.h"

#include <exception>

namespace mx::runtime {

/// Records an error, obeys the policy, returns the status.
int report(const Error &error);
/// The same for what was thrown by `function`, where no memory may be left.
int reportThrown(const char *function, const std::exception &thrown);

/// Does what an exported function does, and reports the error that it returns.
/// Exceptions end here, as hosts are C or generated code: of the C++ library,
/// where it has no memory or no thread to give. The runtime throws none.
template <class Call>
int attempt(Call call, const char *function = __builtin_FUNCTION()) {
  try {
    return report(call());
  } catch (const std::exception &thrown) {
    return reportThrown(function, thrown);
  }
}

/// That a function of the interface was given no `argument`.
int reportNull(const char *argument,
               const char *function = __builtin_FUNCTION());

/// Whether an error waits to be cleared.
bool hasError();

/// Tells the host a warning: its handler, or else standard error.
/// Nothing may be locked.
void warn(const std::string &text);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_ABI_ERROR_H
