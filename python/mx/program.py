# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that mx-compile wrote, and their entries."""

import contextlib
import ctypes
import dataclasses
import os
import threading

import numpy as np

from . import library
from .array import DeviceArray, array, empty
from .device import stream_handle
from .library import call

# What ml_dtypes calls the numbers that NumPy lacks: arrays of these are taken
# as their bits.
NAMES = {"bf16": "bfloat16", "f8E4M3FN": "float8_e4m3fn",
         "f8E5M2": "float8_e5m2", "f8E8M0FNU": "float8_e8m0fnu"}


@dataclasses.dataclass(frozen=True)
class Value:
    """An argument or a result of an entry."""
    name: str
    type: str  # in MLIR
    dtype: np.dtype  # numbers that NumPy lacks as bits
    shape: tuple  # None where the call decides; of a number: None
    is_taken: bool = False  # the launch takes its memory, and knows its shape

    @property
    def is_number(self):
        return self.shape is None

    def accepts(self, dtype):
        if dtype == self.dtype:
            return True
        name = NAMES.get(self._element())
        return name == dtype.name and dtype.itemsize == self.dtype.itemsize

    def _element(self):
        kind = self.type.partition("<")[2].partition(",")[0] or self.type
        return kind.rstrip(">").rpartition("x")[2]


def _read_value(info):
    shape = tuple(None if extent < 0 else extent
                  for extent in info.shape[:info.rank])
    return Value(info.name.decode(), info.type.decode(),
                 np.dtype(info.dtype.decode()),
                 None if info.is_number else shape, bool(info.is_taken))


class Entry:
    """A function of a program. Arguments are DeviceArrays and numbers."""

    def __init__(self, program, handle):
        info = library.EntryInfo()
        call("mxEntryGetInfo", handle, info)
        self._program = program
        self._handle = handle
        self.name = info.name.decode()
        self.arguments = self._read("mxEntryGetArgument", info.argument_count)
        self.results = self._read("mxEntryGetResult", info.result_count)

    def _read(self, function, count):
        values = []
        for index in range(count):
            info = library.ValueInfo()
            call(function, self._handle, index, info)
            values.append(_read_value(info))
        return tuple(values)

    def result_shapes(self, *arguments):
        """The shape of each result of a call with such arguments; () of a
        number, None where only the run knows it."""
        with self._program._use():
            packed = self._pack(arguments)
            shapes = []
            for index, result in enumerate(self.results):
                if result.is_taken:
                    shapes.append(None)
                    continue
                rank = len(result.shape or ())
                shape = (ctypes.c_int64 * max(rank, 1))()
                call("mxEntryGetResultShape", self._handle, packed,
                     len(arguments), index, shape)
                shapes.append(tuple(shape[:rank]))
            return shapes

    def workspace_bytes(self, *arguments):
        """Bytes of the workspace of a call with such arguments."""
        with self._program._use():
            size = ctypes.c_size_t()
            call("mxEntryGetWorkspaceBytes", self._handle,
                 self._pack(arguments), len(arguments), size)
            return size.value

    def make_results(self, *arguments):
        """Device memory for the results of a call with such arguments; for
        numbers NumPy arrays without dimensions, and None where the launch takes
        the memory."""
        return [np.zeros((), result.dtype) if result.is_number
                else None if result.is_taken
                else empty(shape, result.dtype) for shape, result in zip(
                    self.result_shapes(*arguments), self.results)]

    def make_workspace(self, *arguments):
        return empty(self.workspace_bytes(*arguments), np.uint8)

    def launch(self, arguments, results, workspace=None, stream=None):
        """Launches everything the entry does on the stream, into `results`. It
        neither allocates device memory nor waits, unless the entry reads numbers
        from the device. Results that are numbers are known when it returns.
        Where only the run knows the shape of a result, None in the list becomes a
        DeviceArray, which then owns its memory."""
        with self._program._use():
            packed = self._pack(arguments)
            shapes = self.result_shapes(*arguments)
            if len(results) != len(self.results):
                raise ValueError(f"entry '{self.name}': expected "
                                 f"{len(self.results)} results, found "
                                 f"{len(results)}")
            for index, (value, shape) in enumerate(zip(self.results, shapes)):
                if value.is_taken:
                    if results[index] is not None:
                        raise TypeError(
                            f"{self._where(value, f'result {index}')}: expected "
                            "None, as only the run knows its shape, found "
                            f"{results[index]!r}")
                    continue
                if value.is_number:
                    self._check_number(results[index], value, f"result {index}")
                    continue
                self._check(results[index], value, f"result {index}")
                if results[index].shape != shape:
                    raise ValueError(
                        f"{self._where(value, f'result {index}')}: expected "
                        f"shape {shape}, found {results[index].shape}")
            if workspace is not None and not isinstance(workspace, DeviceArray):
                raise TypeError(f"entry '{self.name}': expected the workspace "
                                "to be a mx.DeviceArray, found "
                                f"{type(workspace).__name__}")
            taken = {}
            for index, value in enumerate(self.results):
                if value.is_taken:
                    shape = (ctypes.c_int64 * max(len(value.shape), 1))()
                    taken[index] = library.TakenMemory(None, shape)
            pointers = (ctypes.c_void_p * max(len(results), 1))(
                *[ctypes.addressof(taken[index]) if value.is_taken
                  else result.ctypes.data if value.is_number else result.pointer
                  for index, (value, result) in enumerate(
                      zip(self.results, results))])
            call("mxEntryLaunch", self._handle, packed, len(arguments),
                 pointers, len(results),
                 workspace.pointer if workspace is not None else None,
                 workspace.nbytes if workspace is not None else 0,
                 stream_handle(stream))
            for index, memory in taken.items():
                value = self.results[index]
                results[index] = DeviceArray.adopt(
                    memory.data, memory.shape[:len(value.shape)], value.dtype)

    def __call__(self, *arguments):
        """Calls the entry on NumPy arrays: copies them to the device, allocates
        what is needed, launches, waits, and copies the results back."""
        with contextlib.ExitStack() as stack:
            def own(thing):
                return stack.enter_context(thing)
            self._check_count(arguments)
            on_device = []
            for index, value in enumerate(self.arguments):
                given = arguments[index]
                if not value.is_number and not isinstance(given, DeviceArray):
                    given = np.asarray(given)
                    self._check(given, value, f"argument {index}")
                    given = own(array(given))
                on_device.append(given)
            results = [own(r) if isinstance(r, DeviceArray) else r
                       for r in self.make_results(*on_device)]
            self.launch(on_device, results, own(self.make_workspace(*on_device)))
            for result, value in zip(results, self.results):
                if value.is_taken:
                    own(result)
            return [result.numpy() if isinstance(result, DeviceArray)
                    else result[()] for result in results]

    # What the runtime cannot see is checked here: types and ranks of arrays.

    def _where(self, value, what):
        return f"entry '{self.name}': {what} '{value.name}'"

    def _check_count(self, arguments):
        if len(arguments) != len(self.arguments):
            raise ValueError(f"entry '{self.name}': expected "
                             f"{len(self.arguments)} arguments, found "
                             f"{len(arguments)}")

    def _check(self, given, value, what):
        if not isinstance(given, (DeviceArray, np.ndarray)):
            raise TypeError(f"{self._where(value, what)}: expected a "
                            f"mx.DeviceArray, found {type(given).__name__}")
        if not value.accepts(given.dtype):
            raise TypeError(f"{self._where(value, what)}: expected dtype "
                            f"{value.dtype} for {value.type}, found "
                            f"{given.dtype}")
        if len(given.shape) != len(value.shape):
            raise ValueError(f"{self._where(value, what)}: expected "
                             f"{len(value.shape)} dimensions for {value.type}, "
                             f"found shape {given.shape}")

    def _number(self, given, value, what):
        """The number as an array of its dtype, without loss of range."""
        found = np.asarray(given)
        kinds = "biu" if value.dtype.kind in "iu" else "biuf"
        if found.shape or not (value.accepts(found.dtype) or
                               found.dtype.kind in kinds):
            raise TypeError(f"{self._where(value, what)}: expected a number of "
                            f"dtype {value.dtype} for {value.type}, found "
                            f"{given!r}")
        if value.dtype.kind in "iu" and found.dtype.kind in "biu":
            limits = np.iinfo(value.dtype)
            if not limits.min <= int(found) <= limits.max:
                raise ValueError(f"{self._where(value, what)}: expected a "
                                 f"number of {limits.min} to {limits.max}, "
                                 f"found {given}")
            return found.astype(value.dtype)
        if value.accepts(found.dtype):
            return found.view(value.dtype)
        return found.astype(value.dtype)

    def _check_number(self, found, value, what):
        """A place for a result that is a number."""
        if not (isinstance(found, np.ndarray) and found.shape == () and
                found.dtype == value.dtype and found.flags.writeable):
            raise TypeError(f"{self._where(value, what)}: expected a writable "
                            f"NumPy array of {value.dtype} without dimensions, "
                            f"found {found!r}")

    def _pack(self, arguments):
        """The arguments as the runtime takes them."""
        self._check_count(arguments)
        packed = (library.Argument * max(len(arguments), 1))()
        packed.owned = []  # lives as long as `packed`
        for index, (given, value) in enumerate(zip(arguments, self.arguments)):
            what = f"argument {index}"
            if value.is_number:
                number = self._number(given, value, what)
                packed[index].data = number.ctypes.data
                packed.owned.append(number)
                continue
            self._check(given, value, what)
            if not isinstance(given, DeviceArray):
                raise TypeError(f"{self._where(value, what)}: expected a "
                                "mx.DeviceArray, found a NumPy array: call the "
                                "entry, or copy it by mx.array")
            shape = (ctypes.c_int64 * max(len(given.shape), 1))(*given.shape)
            packed.owned.append(shape)
            packed[index].data = given.pointer
            packed[index].shape = ctypes.cast(shape,
                                              ctypes.POINTER(ctypes.c_int64))
        return packed

    def __repr__(self):
        types = ", ".join(f"{v.name}: {v.type}" for v in self.arguments)
        results = ", ".join(v.type for v in self.results)
        return f"<mx.Entry {self.name}({types}) -> ({results})>"


class Program:
    """A directory that mx-compile wrote, loaded. `program[name]` is an entry."""

    def __init__(self, directory):
        self._lock = threading.Lock()
        self._uses = 0
        self._handle = None
        handle = ctypes.c_void_p()
        call("mxProgramLoad", handle, os.fsencode(directory))
        self._handle = handle
        self.directory = os.fspath(directory)
        self.entries = {}
        for index in range(library.library().mxProgramEntryCount(handle)):
            entry = ctypes.c_void_p()
            call("mxProgramGetEntryAt", entry, handle, index)
            entry = Entry(self, entry)
            self.entries[entry.name] = entry

    def __getitem__(self, name):
        if name not in self.entries:
            with self._use():  # the runtime says what there is
                call("mxProgramGetEntry", ctypes.c_void_p(), self._handle,
                     str(name).encode())
        return self.entries[name]

    @contextlib.contextmanager
    def _use(self):
        """While this lasts the program is not unloaded."""
        with self._lock:
            if self._handle is None:
                raise ValueError("the program was closed")
            self._uses += 1
        try:
            yield
        finally:
            with self._lock:
                self._uses -= 1

    def close(self):
        """Waits for the device and unloads the program."""
        with self._lock:
            if self._handle is None:
                return
            if self._uses:
                raise RuntimeError(f"{self.directory}: expected no calls of "
                                   f"entries under way, found {self._uses}")
            handle, self._handle = self._handle, None
        call("mxSynchronize")
        call("mxProgramUnload", handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        try:
            self.close()
        except Exception:  # the process may be ending
            pass
