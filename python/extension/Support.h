//===- Support.h - Python's stable ABI with ownership -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Includes Python.h, limited to the stable ABI of Python 3.10, and defines a
// class for the ownership of a reference.
//===----------------------------------------------------------------------===//

#ifndef MX_PYTHON_EXTENSION_SUPPORT_H
#define MX_PYTHON_EXTENSION_SUPPORT_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

namespace mx::python {

/// Owner of a reference, or empty.
class Owned {
public:
  Owned() = default;
  explicit Owned(PyObject *object) : object(object) {}
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;
  ~Owned() { reset(nullptr); }

  static PyObject *share(PyObject *object) {
    Py_INCREF(object);
    return object;
  }
  PyObject *get() const { return object; }
  explicit operator bool() const { return object; }
  PyObject *release() {
    PyObject *given = object;
    object = nullptr;
    return given;
  }
  /// Replaces the object. The old object is released last, because a destructor
  /// may run Python code.
  void reset(PyObject *other) {
    PyObject *before = object;
    object = other;
    Py_XDECREF(before);
  }

private:
  PyObject *object = nullptr;
};

/// Allocates an object of a type of this module. The memory after the
/// object's head is zero. Returns null with an exception if memory is
/// exhausted.
template <typename T>
T *allocate(PyTypeObject *type) {
  auto make = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  return reinterpret_cast<T *>(make(type, 0));
}

inline void release(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

template <typename F>
void *slot(F function) {
  return reinterpret_cast<void *>(function);
}

} // namespace mx::python

#endif // MX_PYTHON_EXTENSION_SUPPORT_H
