//===- Arrays.cpp - Arrays of one library ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Arrays.h"

#include <cstring>

using namespace mx;
using namespace mx::python;

bool python::isContiguous(const dlpack::Tensor &tensor) {
  int64_t expected = 1;
  bool isDense = true;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (!tensor.shape[i])
      return true;
    if (tensor.shape[i] != 1 && tensor.strides) {
      isDense = isDense && tensor.strides[i] == expected;
      expected *= tensor.shape[i];
    }
  }
  return isDense;
}

bool Arrays::describe(PyObject *x, dlpack::Tensor &out) const {
  auto *type = reinterpret_cast<PyObject *>(Py_TYPE(x));
  bool isKnown = false;
  for (Py_ssize_t i = 0, e = PyTuple_Size(types); i < e && !isKnown; ++i)
    isKnown = PyTuple_GetItem(types, i) == type;
  if (!isKnown)
    return false;
  if (table->describe(x, &out)) {
    PyErr_Clear();
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

namespace {
/// Fixed-size part of an argument's signature; the extents of an array follow.
/// The struct has no padding, because signatures are compared as bytes.
struct Head {
  uint8_t kind, flags;
  uint16_t rank;
  int32_t deviceType, deviceId;
  uint32_t unused;
  // Address of the dtype object, which lives as long as the library. DLPack's
  // data types do not distinguish all sub-byte types.
  uint64_t dtype;
};
static_assert(sizeof(Head) == 24, "expected no padding");

enum : uint8_t { kIsContiguous = 1, kNeedsGradient = 2 };

/// Buffer for a signature of limited length.
class Writer {
public:
  bool add(const void *bytes, size_t count) {
    if (count > sizeof(text) - used)
      return false;
    std::memcpy(text + used, bytes, count);
    used += count;
    return true;
  }
  PyObject *take() const {
    return PyBytes_FromStringAndSize(text, static_cast<Py_ssize_t>(used));
  }

private:
  char text[1024];
  size_t used = 0;
};
} // namespace

/// Returns 1 if operations on `x` are recorded for the backward pass, 0 if not,
/// and -1 with an exception on failure.
static int needsGradient(const Arrays &arrays, PyObject *x) {
  Owned asked(PyObject_GetAttr(x, arrays.requiresGrad));
  int answer = asked ? PyObject_IsTrue(asked.get()) : -1;
  if (answer != 1)
    return answer;
  Owned enabled(PyObject_CallNoArgs(arrays.isGradEnabled));
  return enabled ? PyObject_IsTrue(enabled.get()) : -1;
}

/// Returns the kind of a number, or 0 for other objects, including instances of
/// subclasses of int and float.
static uint8_t kindOfNumber(PyObject *x) {
  if (PyFloat_CheckExact(x))
    return 'f';
  if (PyLong_CheckExact(x))
    return 'i';
  return PyBool_Check(x) ? 'b' : 0;
}

/// Adds the signature of argument `x`. Returns 1 on success, 0 if `x` has no
/// signature or the signature is too long, and -1 with an exception.
static int addArgument(const Arrays &arrays, PyObject *x, Writer &writer) {
  Head head = {};
  head.kind = kindOfNumber(x);
  if (head.kind)
    return writer.add(&head, sizeof(head));
  dlpack::Tensor tensor = {};
  if (!arrays.describe(x, tensor) || tensor.ndim < 0 || tensor.ndim > 64)
    return 0;
  Owned dtype(PyObject_GetAttr(x, arrays.dtype));
  int gradient = dtype ? needsGradient(arrays, x) : -1;
  if (gradient < 0)
    return -1;
  head.kind = 'a';
  head.dtype = reinterpret_cast<uintptr_t>(dtype.get());
  head.rank = static_cast<uint16_t>(tensor.ndim);
  head.deviceType = tensor.device.type;
  head.deviceId = tensor.device.id;
  head.flags = (isContiguous(tensor) ? kIsContiguous : 0) |
               (gradient ? kNeedsGradient : 0);
  return writer.add(&head, sizeof(head)) &&
         (!tensor.ndim ||
          writer.add(tensor.shape, sizeof(int64_t) * head.rank));
}

static PyObject *sign(PyObject *self, PyObject *arguments) {
  auto &arrays = *reinterpret_cast<Arrays *>(self);
  Owned items(PySequence_Tuple(arguments));
  if (!items)
    return nullptr;
  Writer writer;
  for (Py_ssize_t i = 0, e = PyTuple_Size(items.get()); i < e; ++i) {
    int added = addArgument(arrays, PyTuple_GetItem(items.get(), i), writer);
    if (added < 0)
      return nullptr;
    if (!added)
      return Owned::share(Py_None);
  }
  return writer.take();
}

//===----------------------------------------------------------------------===//
// Type object
//===----------------------------------------------------------------------===//

/// Returns the capsule's table for `dlpack::kMajorVersion`, or null with an
/// exception.
static const dlpack::ExchangeTable *readTable(PyObject *capsule) {
  auto *header = static_cast<const dlpack::ExchangeHeader *>(
      PyCapsule_GetPointer(capsule, dlpack::kCapsuleName));
  if (!header)
    return nullptr;
  uint32_t newest = header->version.major;
  while (header && header->version.major > dlpack::kMajorVersion)
    header = header->previous;
  auto *table = reinterpret_cast<const dlpack::ExchangeTable *>(header);
  if (!table || table->header.version.major != dlpack::kMajorVersion) {
    PyErr_Format(PyExc_ValueError,
                 "expected an exchange table of DLPack %u, found version %u",
                 unsigned(dlpack::kMajorVersion), unsigned(newest));
    return nullptr;
  }
  if (!table->describe || !table->currentStream) {
    PyErr_SetString(PyExc_ValueError,
                    "expected an exchange table with functions that describe "
                    "an array and return the current stream, found a table "
                    "that lacks one of these functions");
    return nullptr;
  }
  return table;
}

static PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *) {
  PyObject *capsule, *types, *isGradEnabled;
  if (!PyArg_ParseTuple(arguments, "OO!O:Arrays", &capsule, &PyTuple_Type,
                        &types, &isGradEnabled))
    return nullptr;
  const dlpack::ExchangeTable *table = readTable(capsule);
  if (!table)
    return nullptr;
  auto *made = allocate<Arrays>(type);
  if (!made)
    return nullptr;
  Owned self(reinterpret_cast<PyObject *>(made));
  made->table = table;
  made->types = Owned::share(types);
  made->isGradEnabled = Owned::share(isGradEnabled);
  made->requiresGrad = PyUnicode_InternFromString("requires_grad");
  made->dtype = PyUnicode_InternFromString("dtype");
  return made->requiresGrad && made->dtype ? self.release() : nullptr;
}

static void destroy(PyObject *self) {
  auto &arrays = *reinterpret_cast<Arrays *>(self);
  Py_XDECREF(arrays.types);
  Py_XDECREF(arrays.isGradEnabled);
  Py_XDECREF(arrays.requiresGrad);
  Py_XDECREF(arrays.dtype);
  release(self);
}

bool Arrays::isOne(PyObject *object) {
  // Subclasses would inherit `make`, but the type cannot be subclassed.
  return PyType_GetSlot(Py_TYPE(object), Py_tp_new) == slot(make);
}

PyObject *Arrays::makeType() {
  static PyMethodDef methods[] = {
      {"sign", sign, METH_O,
       "Returns the signature of a call with these arguments as bytes, or None "
       "if an argument is neither a number nor an array of the library."},
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char *>(
                      "Arrays(capsule, types, is_grad_enabled): the arrays "
                      "of a library. `capsule` contains the library's DLPack "
                      "exchange table.")},
      {Py_tp_new, slot(make)},
      {Py_tp_dealloc, slot(destroy)},
      {Py_tp_methods, methods},
      {0, nullptr}};
  static PyType_Spec spec = {"mx_calls.Arrays", sizeof(Arrays), 0,
                             Py_TPFLAGS_DEFAULT, slots};
  return PyType_FromSpec(&spec);
}
