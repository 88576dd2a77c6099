# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Entries of programs: functions on arrays and numbers."""

import ctypes
import math
from typing import Any, MutableSequence, Sequence

import numpy as np

from .._arrays.array import DeviceArray, empty
from .._arrays.elements import find_element
from .._arrays.interop import Numpy, find_library, place_of
from .._runtime import library
from .._runtime.device import device_name, on_device
from .._runtime.errors import printable
from .._runtime.internal import internal
from .._runtime.library import call
from .._runtime.streams import stream_handle
from .calls import PreparedCall, convert_all, sign
from .values import ALIGNMENT, read_value

# Limit of prepared calls of an entry. If the limit is exceeded, the oldest calls are dropped.
MOST_SIGNATURES = 256


class Entry:
    """Function of a program. Arguments are numbers and arrays: NumPy arrays, DeviceArrays,
    PyTorch tensors, CuPy arrays, or objects with __dlpack__ or __cuda_array_interface__."""

    workspace_element = find_element("ui8")

    def __init__(self, program: Any, handle: Any) -> None:
        info = library.INTERFACE.mxEntryInfo()
        call("mxEntryGetInfo", handle, info)
        self._program = program
        self.handle = handle
        self.name = info.name.decode()
        self.arguments = self._read("mxEntryGetArgument", "argument",
                                    info.argument_count)
        self.results = self._read("mxEntryGetResult", "result",
                                  info.result_count)
        # The values of size arguments are part of the signature.
        self._size_arguments = [
            index for index, value in enumerate(self.arguments)
            if value.is_number and self._is_size(index)]
        self._prepared = {}
        self.workspaces = {}  # unused workspaces, keyed by device and stream

    def _read(self, function, what, count):
        values = []
        for index in range(count):
            info = library.INTERFACE.mxValueInfo()
            call(function, self.handle, index, info)
            values.append(read_value(info, f"entry '{printable(self.name)}': {what} {index}"))
        return tuple(values)

    @internal
    def note_place(self, place):
        """Records a device used by calls. Unloading the program waits for this device."""
        self._program.note_place(place)

    @internal
    def forget_calls(self):
        """Drops all prepared calls, because their sizes are no longer valid."""
        self._prepared.clear()

    def _is_size(self, index):
        answer = ctypes.c_int32()
        call("mxEntryIsSizeArgument", self.handle, index, answer)
        return bool(answer.value)

    def __call__(self, *arguments: Any, stream: Any = None) -> list[Any]:
        """Calls the entry and returns a list of its results.

        If an argument is a PyTorch tensor on the GPU, the results are PyTorch tensors from PyTorch's
        allocator. Otherwise, they are CuPy arrays if an argument is a CuPy array, else DeviceArrays.
        If all arguments are host arrays of NumPy or (on the simulator) of PyTorch, the results are
        arrays of that library, and the call waits. Numbers are NumPy scalars.

        `stream` is a Stream, a stream of PyTorch or CuPy, or the number of a stream. The default is
        the current stream of PyTorch or CuPy if that library allocates the results, else the default
        stream. The call waits for the device only if an argument is a host array or the program
        reads numbers from the device.

        Raises TypeError or ValueError before any launch, with the name of the argument. Raises Error
        if the device fails."""
        return self.call(arguments, None, stream)

    @internal
    def call(self, arguments, signature, stream, padded=()):
        """Calls the entry with a known signature (calls.sign). `padded` lists the results with
        memory to clear, because the program writes them partially."""
        program = self._program
        program.enter()
        try:
            prepared, arguments = self._prepare(arguments, stream, signature, padded)
            results = prepared.call(arguments, stream)
            if prepared.is_simple:
                return results
            return [x[()] if value.is_number else x
                    for x, value in zip(results, self.results)]
        finally:
            program.leave()

    def _check_count(self, arguments):
        if len(arguments) != len(self.arguments):
            raise ValueError(f"entry '{printable(self.name)}': expected "
                             f"{len(self.arguments)} arguments, found {len(arguments)}")

    def _prepare(self, arguments, stream=None, signature=None, padded=()):
        """Returns the prepared call and its converted arguments."""
        self._check_count(arguments)
        if signature is None:
            signature = sign(arguments)
        if signature is None:
            arguments = convert_all(self, arguments, stream)
            signature = sign(arguments)
        signature = signature, padded
        for index in self._size_arguments:
            value = self.arguments[index]
            signature += (value.number(arguments[index]).tobytes(),)
        prepared = self._prepared.get(signature)
        if prepared is not None and prepared.download:
            # If all arrays are host arrays, the call runs on the current device.
            signature += (device_name(),)
            if prepared.place != signature[-1]:
                prepared = self._prepared.get(signature)
        if prepared is None:
            prepared = PreparedCall(self, arguments, padded)
            while len(self._prepared) >= MOST_SIGNATURES:
                self._prepared.pop(next(iter(self._prepared)), None)
            self._prepared[signature] = prepared
        return prepared, arguments

    # --- The steps of a call --------------------------------------------------------

    def result_shapes(self, *arguments: Any) -> list[tuple[int, ...] | None]:
        """Returns the shape of each result of a call with these arguments. The shape is () for a
        number, and None if the launch determines the shape."""
        with self._program.use():
            return list(self._prepare(arguments)[0].result_shapes)

    def workspace_bytes(self, *arguments: Any) -> int:
        """Returns the workspace size of a call with these arguments, in bytes."""
        with self._program.use():
            return self._prepare(arguments)[0].workspace_bytes

    def make_results(self, *arguments: Any) -> list[Any]:
        """Allocates the results of a call with these arguments. The list contains DeviceArrays,
        NumPy arrays without dimensions for numbers, and None for results that the launch
        allocates."""
        shapes = self.result_shapes(*arguments)
        with on_device(place_of(arguments)):
            return [np.zeros((), value.dtype) if value.is_number
                    else None if value.is_taken else empty(shape, value.element)
                    for shape, value in zip(shapes, self.results)]

    def make_workspace(self, *arguments: Any) -> DeviceArray:
        count = self.workspace_bytes(*arguments)
        with on_device(place_of(arguments)):
            return empty(count, np.uint8)

    def launch(self, arguments: Sequence[Any], results: MutableSequence[Any], workspace: Any = None,
               stream: Any = None) -> None:
        """Launches all steps of the entry on the stream. Arguments and `results` are device arrays
        of any library. The call neither allocates device memory nor waits, unless the entry reads
        numbers from the device. Results that are numbers are valid on return. If the launch
        determines the shape of a result, its list element must be None and is replaced by a
        DeviceArray that owns its memory. Raises TypeError or ValueError. Errors name the argument."""
        with self._program.use():
            prepared, arguments = self._prepare(arguments, stream)
            if prepared.uploads:
                value = self.arguments[prepared.uploads[0][0]]
                raise TypeError(f"{value.where}: expected an mx_compiler.DeviceArray, found a "
                                "host array: call the entry, or copy the array with "
                                "mx_compiler.array")
            if len(results) != len(self.results):
                raise ValueError(f"entry '{printable(self.name)}': expected "
                                 f"{len(self.results)} results, found {len(results)}")
            for x, value, shape in zip(results, self.results,
                                       prepared.result_shapes):
                _check_result(x, value, shape, prepared.place)
            if workspace is not None:
                _check_workspace(printable(self.name), workspace, prepared)
            with on_device(prepared.place):
                prepared.launch(arguments, results, workspace,
                                prepared.library.current_stream(prepared.device)
                                if stream is None else stream_handle(stream), _pointer)
            for x in results:
                if isinstance(x, DeviceArray):
                    x._stream = stream

    def __repr__(self):
        types = ", ".join(f"{printable(v.name)}: {v.type}" for v in self.arguments)
        results = ", ".join(v.type for v in self.results)
        return f"<mx_compiler.Entry {printable(self.name)}({types}) -> ({results})>"


def _pointer(x):
    return find_library(type(x)).pointer(x)


def _check_result(x, value, shape, place):
    """Checks the array for a result, because the runtime cannot check types and devices."""
    if value.is_taken:
        if x is not None:
            raise TypeError(f"{value.where}: expected None, because the launch determines the "
                            f"shape, found {x!r}")
        return
    if value.is_number:
        if not (isinstance(x, np.ndarray) and x.shape == () and
                x.dtype in (value.dtype, value.storage) and x.flags.writeable):
            raise TypeError(f"{value.where}: expected a writable NumPy array of "
                            f"{value.dtype} without dimensions, found {x!r}")
        return
    source = find_library(type(x))
    if source is None or isinstance(source, Numpy):
        raise TypeError(f"{value.where}: expected an mx_compiler.DeviceArray, found "
                        f"{type(x).__name__}")
    operand = source.operand(x)
    value.check(operand.element, operand.shape)
    if operand.device != place:
        raise ValueError(f"{value.where}: expected memory of {place}, found {operand.device}")
    if operand.wrong:
        raise ValueError(f"{value.where}: expected {operand.wrong}")
    if operand.shape != shape:
        raise ValueError(f"{value.where}: expected shape {shape}, found {operand.shape}")
    if source.pointer(x) % ALIGNMENT and 0 not in shape:
        value.refuse_address(source.pointer(x))


def _check_workspace(name, x, prepared):
    source = find_library(type(x))
    if source is None or isinstance(source, Numpy):
        raise TypeError(f"entry '{name}': expected the workspace to be a "
                        f"mx_compiler.DeviceArray, found {type(x).__name__}")
    element, shape, device, _ = source.operand(x)
    found = math.prod(shape) * element.dtype.itemsize
    if device != prepared.place or found < prepared.workspace_bytes:
        raise ValueError(f"entry '{name}': expected a workspace of at least "
                         f"{prepared.workspace_bytes} bytes on {prepared.place}, "
                         f"found {found} bytes on {device}")
