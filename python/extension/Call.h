//===- Call.h - A call of an entry that was prepared ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MX_PYTHON_EXTENSION_CALL_H
#define MX_PYTHON_EXTENSION_CALL_H

#include "Support.h"

namespace mx::python {

/// The type Call of Python.
PyObject *makeCallType();

} // namespace mx::python

#endif // MX_PYTHON_EXTENSION_CALL_H
