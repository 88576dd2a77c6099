//===- Call.h - Prepared call of an entry -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_PYTHON_EXTENSION_CALL_H
#define MX_PYTHON_EXTENSION_CALL_H

#include "Support.h"

namespace mx::python {

/// Creates the Python type Call.
PyObject *makeCallType();

} // namespace mx::python

#endif // MX_PYTHON_EXTENSION_CALL_H
