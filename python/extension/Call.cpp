//===- Call.cpp - Prepared call of an entry -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a call with known types and shapes. The call compares its arguments with
// the prepared arguments, reads their addresses, creates the results and the
// workspace, and launches. If the arguments differ from the prepared ones, the
// call returns None, and Python runs the call or reports the error.
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Arrays.h"

#include "mx_program.h"

#include <cmath>
#include <cstring>

using namespace mx;
using namespace mx::python;

namespace {
constexpr Py_ssize_t kMostValues = 32; // limit of arguments and of results
constexpr uintptr_t kAlignment = 16;   // ALIGNMENT in the package's values.py

/// Prepared argument.
struct Value {
  char kind; // 'a' for an array, or the struct.pack code of a number
  dlpack::DataType dtype;
  int32_t rank;
  bool isEmpty;
  int64_t *shape;
};

union Number {
  int32_t i32;
  int64_t i64;
  float f32;
  double f64;
};

/// Immutable Python object Call. Threads can share it.
struct Call {
  PyObject ob_base;
  PyObject *arrays;
  decltype(&mxEntryLaunch) launch;
  mxEntry entry;
  dlpack::Device device;
  Py_ssize_t count;
  Value values[kMostValues];
  PyObject *makers;        // tuple of functions that create the results
  PyObject *makeWorkspace; // function for the workspace, or None
  Py_ssize_t workspaceBytes;

  const Arrays &library() const {
    return *reinterpret_cast<const Arrays *>(arrays);
  }
};
} // namespace

static void *addressOf(const dlpack::Tensor &tensor) {
  return static_cast<char *>(tensor.data) + tensor.byteOffset;
}

//===----------------------------------------------------------------------===//
// Calls. Functions return false without an exception to leave the call to
// Python.
//===----------------------------------------------------------------------===//

static bool isAsPrepared(const Call &call, const Value &value,
                         const dlpack::Tensor &x) {
  return x.device.type == call.device.type && x.device.id == call.device.id &&
         x.dtype.code == value.dtype.code && x.dtype.bits == value.dtype.bits &&
         x.dtype.lanes == value.dtype.lanes && x.ndim == value.rank &&
         (!x.ndim ||
          !std::memcmp(x.shape, value.shape, sizeof(int64_t) * x.ndim)) &&
         isContiguous(x);
}

static bool readArray(const Call &call, const Value &value, PyObject *x,
                      mxArgument &out) {
  dlpack::Tensor tensor = {};
  if (!call.library().describe(x, tensor) || !isAsPrepared(call, value, tensor))
    return false;
  out.data = addressOf(tensor);
  out.shape = value.shape;
  return value.isEmpty || !(reinterpret_cast<uintptr_t>(out.data) % kAlignment);
}

static bool readInteger(const Value &value, PyObject *x, Number &out) {
  int overflow = 0;
  if (!PyLong_CheckExact(x))
    return false;
  out.i64 = PyLong_AsLongLongAndOverflow(x, &overflow);
  if (overflow || value.kind == 'q')
    return !overflow;
  int64_t wide = out.i64;
  out.i32 = static_cast<int32_t>(wide);
  return out.i32 == wide;
}

static bool readFloat(const Value &value, PyObject *x, Number &out) {
  if (!PyFloat_CheckExact(x))
    return false;
  out.f64 = PyFloat_AsDouble(x);
  if (value.kind == 'd')
    return true;
  double wide = out.f64;
  out.f32 = static_cast<float>(wide);
  // Leaves overflow to Python, because NumPy warns about it.
  return std::isfinite(out.f32) || !std::isfinite(wide);
}

static bool readArguments(const Call &call, PyObject *items,
                          mxArgument *arguments, Number *numbers) {
  for (Py_ssize_t i = 0; i < call.count; ++i) {
    PyObject *x = PyTuple_GetItem(items, i);
    const Value &value = call.values[i];
    arguments[i] = {sizeof(mxArgument), &numbers[i], nullptr};
    bool isRead = value.kind == 'a' ? readArray(call, value, x, arguments[i])
                  : value.kind == 'i' || value.kind == 'q'
                      ? readInteger(value, x, numbers[i])
                      : readFloat(value, x, numbers[i]);
    if (!isRead)
      return false;
  }
  return true;
}

/// Calls `maker` to create an array, and reads the array's address. Returns
/// null with an exception if `maker` fails, and null without an exception if
/// the result is not an array of the library.
static PyObject *makeArray(const Call &call, PyObject *maker, void *&address) {
  Owned made(PyObject_CallNoArgs(maker));
  dlpack::Tensor tensor = {};
  if (!made || !call.library().describe(made.get(), tensor))
    return nullptr;
  address = addressOf(tensor);
  return made.release();
}

static PyObject *leftToPython() {
  return PyErr_Occurred() ? nullptr : Owned::share(Py_None);
}

static PyObject *run(PyObject *self, PyObject *given) {
  const Call &call = *reinterpret_cast<Call *>(self);
  // Keeps the arguments alive during the call, even if the list changes.
  Owned items(PySequence_Tuple(given));
  if (!items)
    return nullptr;
  mxArgument arguments[kMostValues];
  Number numbers[kMostValues];
  if (PyTuple_Size(items.get()) != call.count ||
      !readArguments(call, items.get(), arguments, numbers))
    return leftToPython();

  void *stream = nullptr;
  if (call.library().table->currentStream(call.device.type, call.device.id,
                                          &stream)) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_RuntimeError,
                   "expected the arrays' library to have a current stream on "
                   "device %d, found none",
                   int(call.device.id));
    return nullptr;
  }
  void *addresses[kMostValues];
  Py_ssize_t resultCount = PyTuple_Size(call.makers);
  Owned results(PyList_New(resultCount));
  if (!results)
    return nullptr;
  for (Py_ssize_t i = 0; i < resultCount; ++i) {
    PyObject *made =
        makeArray(call, PyTuple_GetItem(call.makers, i), addresses[i]);
    if (!made)
      return leftToPython();
    PyList_SetItem(results.get(), i, made);
  }
  void *space = nullptr;
  Owned workspace;
  if (call.makeWorkspace != Py_None) {
    workspace.reset(makeArray(call, call.makeWorkspace, space));
    if (!workspace)
      return leftToPython();
  }

  PyThreadState *state = PyEval_SaveThread();
  int status = call.launch(call.entry, arguments, int32_t(call.count),
                           addresses, int32_t(resultCount), space,
                           space ? size_t(call.workspaceBytes) : 0,
                           static_cast<mxStream>(stream));
  PyEval_RestoreThread(state);
  return status ? PyLong_FromLong(status) : results.release();
}

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

/// Records type, shape and device of the array `x`. Returns false with an
/// exception if `x` is not supported.
static bool noteArray(Call &call, Value &value, PyObject *x, bool isFirst) {
  dlpack::Tensor tensor = {};
  if (!call.library().describe(x, tensor)) {
    PyErr_SetString(PyExc_ValueError, "expected an array of the library");
    return false;
  }
  if (isFirst)
    call.device = tensor.device;
  size_t bytes = sizeof(int64_t) * (tensor.ndim ? tensor.ndim : 1);
  value.shape = static_cast<int64_t *>(PyMem_Malloc(bytes));
  if (!value.shape) {
    PyErr_NoMemory();
    return false;
  }
  std::memset(value.shape, 0, bytes);
  if (tensor.ndim)
    std::memcpy(value.shape, tensor.shape, bytes);
  value.rank = tensor.ndim;
  value.dtype = tensor.dtype;
  for (int32_t i = 0; i < value.rank; ++i)
    value.isEmpty = value.isEmpty || !value.shape[i];
  if (isAsPrepared(call, value, tensor))
    return true;
  PyErr_SetString(PyExc_ValueError,
                  "expected dense arrays on the same device, found an array "
                  "that is not dense or is on another device");
  return false;
}

static bool noteArguments(Call &call, const char *kinds, PyObject *items) {
  Py_ssize_t count = PyTuple_Size(items);
  if (count > kMostValues || size_t(count) != std::strlen(kinds) ||
      PyTuple_Size(call.makers) > kMostValues) {
    PyErr_Format(PyExc_ValueError,
                 "expected at most %d arguments and results, and a kind for "
                 "each argument",
                 int(kMostValues));
    return false;
  }
  bool isFirst = true;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Value &value = call.values[i];
    value.kind = kinds[i];
    call.count = i + 1;
    if (value.kind == 'a') {
      if (!noteArray(call, value, PyTuple_GetItem(items, i), isFirst))
        return false;
      isFirst = false;
    } else if (!std::strchr("iqfd", value.kind)) {
      PyErr_SetString(PyExc_ValueError,
                      "expected argument kinds a, i, q, f or d");
      return false;
    }
  }
  if (isFirst)
    PyErr_SetString(PyExc_ValueError, "expected an array, found none");
  return !isFirst;
}

static PyObject *make(PyTypeObject *type, PyObject *given, PyObject *) {
  PyObject *arrays, *launch, *entry, *items, *makers, *makeWorkspace;
  const char *kinds;
  Py_ssize_t workspaceBytes;
  if (!PyArg_ParseTuple(given, "OO!O!sO!O!On:Call", &arrays, &PyLong_Type,
                        &launch, &PyLong_Type, &entry, &kinds, &PyTuple_Type,
                        &items, &PyTuple_Type, &makers, &makeWorkspace,
                        &workspaceBytes))
    return nullptr;
  if (!Arrays::isOne(arrays)) {
    PyErr_SetString(PyExc_TypeError, "expected Arrays as the first argument");
    return nullptr;
  }
  auto *made = allocate<Call>(type);
  if (!made)
    return nullptr;
  Owned self(reinterpret_cast<PyObject *>(made));
  made->arrays = Owned::share(arrays);
  made->makers = Owned::share(makers);
  made->makeWorkspace = Owned::share(makeWorkspace);
  made->workspaceBytes = workspaceBytes;
  made->launch =
      reinterpret_cast<decltype(&mxEntryLaunch)>(PyLong_AsVoidPtr(launch));
  made->entry = static_cast<mxEntry>(PyLong_AsVoidPtr(entry));
  if (PyErr_Occurred() || !noteArguments(*made, kinds, items))
    return nullptr;
  return self.release();
}

static void destroy(PyObject *self) {
  auto &call = *reinterpret_cast<Call *>(self);
  for (Py_ssize_t i = 0; i < call.count; ++i)
    PyMem_Free(call.values[i].shape);
  Py_XDECREF(call.arrays);
  Py_XDECREF(call.makers);
  Py_XDECREF(call.makeWorkspace);
  release(self);
}

PyObject *python::makeCallType() {
  static PyMethodDef methods[] = {
      {"run", run, METH_O,
       "Launches with these arguments on the current stream. Returns a list of "
       "the results, the status if the launch failed, or None if Python must "
       "run the call."},
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char *>("Call(arrays, launch, entry, kinds, arguments, "
                          "makers, make_workspace, workspace_bytes): a "
                          "prepared call of an entry.")},
      {Py_tp_new, slot(make)},
      {Py_tp_dealloc, slot(destroy)},
      {Py_tp_methods, methods},
      {0, nullptr}};
  static PyType_Spec spec = {"mx_calls.Call", sizeof(Call), 0,
                             Py_TPFLAGS_DEFAULT, slots};
  return PyType_FromSpec(&spec);
}
