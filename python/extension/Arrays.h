//===- Arrays.h - Arrays of one library -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes arrays of a library, and computes signatures of call arguments.
//===----------------------------------------------------------------------===//

#ifndef MX_PYTHON_EXTENSION_ARRAYS_H
#define MX_PYTHON_EXTENSION_ARRAYS_H

#include "Exchange.h"
#include "Support.h"

namespace mx::python {

/// Immutable Python object Arrays(capsule, types, is_grad_enabled).
struct Arrays {
  PyObject ob_base;
  const dlpack::ExchangeTable *table;
  PyObject *types;         // tuple of the exact array types
  PyObject *isGradEnabled; // function
  PyObject *requiresGrad;  // attribute name
  PyObject *dtype;         // attribute name

  /// Describes `x` in `out`. Returns false without an exception unless `x` is
  /// an array of the library and supported by DLPack.
  bool describe(PyObject *x, dlpack::Tensor &out) const;

  static PyObject *makeType();
  /// Returns true if `object` is an instance of the Python type Arrays.
  static bool isOne(PyObject *object);
};

/// Returns true if the elements are dense in row-major order.
bool isContiguous(const dlpack::Tensor &tensor);

} // namespace mx::python

#endif // MX_PYTHON_EXTENSION_ARRAYS_H
