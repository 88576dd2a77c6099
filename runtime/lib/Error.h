//===- Error.h - Sticky errors of a thread ----------------------*- C++ -*-===//
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

/// Records an error of this thread, applies the policy and returns the status.
/// `driverCall` is the driver call named by MLIR's wrapper.
int report(const Error &error, const char *driverCall = nullptr);
/// Records an exception thrown by `function`. Works without free memory.
int reportThrown(const char *function, const std::exception &thrown);

/// Runs the body of an exported function and reports the error. Catches
/// exceptions of the C++ library, because callers are C or generated code; the
/// runtime itself throws none.
template <class Call>
int attempt(Call call, const char *function = __builtin_FUNCTION(),
            const char *driverCall = nullptr) {
  try {
    return report(call(), driverCall);
  } catch (const std::exception &thrown) {
    return reportThrown(function, thrown);
  }
}

/// Reports a null `argument` of an interface function.
int reportNull(const char *argument,
               const char *function = __builtin_FUNCTION());

/// Returns true if this thread has an error that is not cleared.
bool hasError();

/// Passes a warning to the host's handler, or to standard error without a
/// handler. The caller must hold no lock.
void warn(const std::string &text);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_ERROR_H
