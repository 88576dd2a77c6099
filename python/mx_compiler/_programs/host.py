# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs on the device "cpu". The compiler's reference path (mxcHostProgram in mx-c/Compiler.h)
compiles functions to host code. It runs in this process on host arrays."""

import ctypes
import threading

import numpy as np

from .._arrays.array import host_view
from .._arrays.interop import NUMPY
from .._compile.compiler_library import Module, interface
from .._runtime import library
from .._runtime.device import HOST
from .._runtime.errors import Error, InvalidValueError
from .._runtime.streams import stream_handle
from .calls import convert_all, describe_call, read_operand
from .entry import Entry
from .host_ranks import HostRanks
from .values import read_value


class HostCode:
    """Compiled functions of a text. Programs share a HostCode unless the text uses rank groups. Calls
    are serialized, because the compiler allows only one call at a time."""
    what = "a program for cpu"
    size = 4 << 20  # estimate in bytes

    def __init__(self, text, name, entries, pipeline):
        self.functions = {}
        self._lock = threading.Lock()
        self._module = Module(text, name, pipeline)
        self.ranks = HostRanks(text)
        for entry in entries or self._module.entries():
            handle = ctypes.c_void_p()
            self._module.check(self._module.library.mxcHostProgramCreate(
                handle, self._module.handle, entry.encode()))
            self.functions[entry] = handle
            self.ranks.read(self._module.library, handle)
        self.diagnostics = tuple(self._module.diagnostics)

    # --- Interface of Loaded, for Program ------------------------------------------------

    def open(self):
        return self

    def close(self):
        """Releases the rank groups. The code is freed with the last reference to this object."""
        self.ranks.close()

    @staticmethod
    def entries(program, code):
        return [HostEntry(program, code, name) for name in code.functions]

    @property
    def is_of_ranks(self):
        return bool(self.ranks.groups)

    @staticmethod
    def groups(code):
        return code.ranks.groups

    @staticmethod
    def bind(code, name, group):
        code.ranks.bind(name, group)

    @staticmethod
    def refuse(code, name):
        raise Error("expected the entry to be one of "
                    f"[{', '.join(code.functions)}], found '{name}'",
                    *library.status(library.INTERFACE.MX_ERROR_NOT_FOUND))

    # --- Interface for HostEntry -------------------------------------------------------

    def describe(self, name, what):
        """Returns the Values of a function's arguments or results. `what` is "Argument" or
        "Result"."""
        compiler, handle = self._module.library, self.functions[name]
        values = []
        for index in range(getattr(compiler, f"mxcHostProgram{what}Count")(handle)):
            info = interface().mxcHostValueInfo()
            getattr(compiler, f"mxcHostProgramGet{what}")(handle, index, info)
            values.append(read_value(
                info, f"entry '{name}': {what.lower()} {index}"))
        return tuple(values)

    def call(self, name, arrays, results):
        """Runs a function on dense NumPy arrays. Returns copies of the results; `results` are their
        Values. Raises InvalidValueError with the message of the compiled code."""
        given = interface().mxcHostArray.array(len(arrays))
        for place, x in zip(given, arrays):
            place.data = x.ctypes.data
            place.shape = (ctypes.c_int64 * max(x.ndim, 1))(*x.shape)
        found = interface().mxcHostArray.array(len(results))
        with self._lock:
            messages = self._module.diagnostics
            messages.clear()
            if self._module.library.mxcHostProgramCall(
                    self.functions[name], given, len(arrays), found, len(results)):
                text = f"entry '{name}': " + "\n".join(map(_place_and_text, messages))
                if error := self.ranks.take_error(text):
                    raise error
                raise InvalidValueError(text, *library.status(library.INVALID_VALUE))
            return [host_view(x.data, tuple(x.shape[:len(value.shape or ())]),
                              value.element, None).copy()
                    for x, value in zip(found, results)]

    def __del__(self):
        try:
            for handle in self.functions.values():
                self._module.library.mxcHostProgramDestroy(handle)
            self._module.close()
        except Exception:  # construction may have failed
            pass


def _place_and_text(message):
    """Formats a diagnostic like the messages of the runtime, without the severity."""
    place = "" if message.file is None else (
        f"{message.file}:{message.line}:{message.column}: ")
    return place + message.text


class HostEntry(Entry):
    """Function of a program on "cpu", called like any Entry. Launches, device memory and
    streams exist only on other devices."""

    def __init__(self, program, code, name):
        self._program = program
        self._code = code
        self.name = name
        self.arguments = code.describe(name, "Argument")
        self.results = code.describe(name, "Result")

    def call(self, arguments, signature, stream, padded=()):
        """Calls the entry. `signature` and `padded` are not used; all memory is initially zero."""
        return self(*arguments, stream=stream)

    def __call__(self, *arguments, stream=None):
        """Calls the entry and returns a list of its results. The results are PyTorch tensors if an
        argument is a PyTorch tensor, else NumPy arrays. Numbers are NumPy scalars. Arguments are not
        modified.

        `stream` must be None or the default stream, because a call is complete on return.

        Raises TypeError or ValueError. Errors name the argument."""
        with self._program.use():
            self._check_count(arguments)
            self._code.ranks.check_bound(self.name)
            if stream_handle(stream):
                raise ValueError(f"entry '{self.name}': expected no stream on cpu, "
                                 f"where calls wait, found {stream!r}")
            arrays, source = [], NUMPY
            converted = convert_all(self, arguments, stream)
            for value, x in zip(self.arguments, converted):
                if value.is_number:
                    arrays.append(value.number(x))
                    continue
                found, _ = read_operand(value, x, HOST)
                try:
                    x = found.to_host(x)
                except TypeError as error:
                    raise TypeError(f"{value.where}: {error}") from None
                # np.ascontiguousarray would add a dimension to 0-d arrays.
                arrays.append(x if x.flags.c_contiguous else np.ascontiguousarray(x))
                source = max(source, found, key=lambda found: found.priority)
            try:
                results = self._code.call(self.name, arrays, self.results)
            except InvalidValueError as error:
                text = describe_call(self, arguments, [x.shape for x in arrays])
                raise InvalidValueError(f"{error}{text}", error.status,
                                        error.name) from None
            return [x[()] if value.is_number else source.from_host(x, value.element)
                    for x, value in zip(results, self.results)]

    def forget_calls(self):
        """Does nothing, because calls on "cpu" are not prepared."""

    def _prepare(self, arguments, stream=None):
        raise ValueError(f"entry '{self.name}': expected the device sim or a GPU for "
                         "the steps of a call, found cpu: call the entry")
