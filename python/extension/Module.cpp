//===- Module.cpp - mx_calls, a Python extension --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls entries with tensors, without ctypes and with little Python code. The
// package works more slowly without this module
// (python/mx_compiler/_runtime/extension.py).
//===----------------------------------------------------------------------===//

#include "Arrays.h"
#include "Call.h"

using namespace mx::python;

static int execute(PyObject *module) {
  Owned arrays(Arrays::makeType());
  if (!arrays || PyModule_AddObjectRef(module, "Arrays", arrays.get()))
    return -1;
  Owned call(makeCallType());
  if (!call || PyModule_AddObjectRef(module, "Call", call.get()))
    return -1;
  return PyModule_AddIntConstant(module, "INTERFACE", MX_CALLS_INTERFACE);
}

PyMODINIT_FUNC PyInit_mx_calls() {
  static PyModuleDef_Slot slots[] = {{Py_mod_exec, slot(execute)},
                                     {0, nullptr}};
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                   "mx_calls",
                                   "Prepared calls of entries with tensors.",
                                   0,
                                   nullptr,
                                   slots,
                                   nullptr,
                                   nullptr,
                                   nullptr};
  return PyModuleDef_Init(&definition);
}
