//===- Arrays.h - The arrays of one library ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a type of arrays says of one: its description, and a signature of the
// arguments of a call.
//===----------------------------------------------------------------------===//

#ifndef MX_PYTHON_EXTENSION_ARRAYS_H
#define MX_PYTHON_EXTENSION_ARRAYS_H

#include "Exchange.h"
#include "Support.h"

namespace mx::python {

/// The object Arrays(capsule, types, is_grad_enabled) of Python. It does not
/// change once it is made.
struct Arrays {
  PyObject ob_base;
  const dlpack::ExchangeTable *table;
  PyObject *types;         // a tuple; arrays are exactly of one of them
  PyObject *isGradEnabled; // a function
  PyObject *requiresGrad;  // the name of an attribute
  PyObject *dtype;         // the same

  /// Whether `x` is an array of the library that DLPack can describe. No
  /// exception is set if not.
  bool describe(PyObject *x, dlpack::Tensor &out) const;

  static PyObject *makeType();
  /// Whether `object` is of that type.
  static bool isOne(PyObject *object);
};

/// Whether the elements lie one after the other, in row-major order.
bool isContiguous(const dlpack::Tensor &tensor);

} // namespace mx::python

#endif // MX_PYTHON_EXTENSION_ARRAYS_H
