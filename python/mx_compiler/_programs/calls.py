# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prepared calls of an entry. The types and shapes of the arguments are processed once, so a call
only fills in addresses and numbers."""

import contextlib
import ctypes

import numpy as np

from .._arrays.array import DeviceArray
from .._arrays.interop import MINE, NUMPY, convert, find_library, place_of
from .._runtime import library
from .._runtime.device import (HOST, device_name, is_simulator, number_of,
                               on_device)
from .._runtime.errors import printable
from .._runtime.extension import extension
from .._runtime.interrupts import run_interruptibly
from .._runtime.library import call, fail
from .._runtime.streams import stream_handle, wait
from .values import ALIGNMENT

_MISALIGNED = ALIGNMENT - 1
_NOTHING = contextlib.nullcontext()
# Type codes of the numbers that the extension supports.
_KINDS = {("i", 4): "i", ("i", 8): "q", ("f", 4): "f", ("f", 8): "d"}

# Functions that return an argument's part of the signature, keyed by the type of the argument. For
# numbers, this part is the type.
SIGNS = {int: type, float: type, bool: type}
# Functions of the extension that return the signature of all arguments at once.
_signers = []


def sign(arguments):
    """Returns the signature of a call, or None if an argument must be converted first."""
    for signer in _signers:
        found = signer(arguments)
        if found is not None:
            return found
    try:
        return tuple([SIGNS[type(x)](x) for x in arguments])
    except KeyError:
        pass
    for kind in {type(x) for x in arguments} - SIGNS.keys():
        found = find_library(kind)
        if found:
            SIGNS[kind] = found.sign
            arrays = getattr(found, "arrays", None)
            if arrays is not None and arrays.sign not in _signers:
                _signers.append(arrays.sign)
        elif issubclass(kind, np.generic):
            SIGNS[kind] = type
        else:
            return None
    return sign(arguments)


def read_operand(value, x, place):
    """Returns the library of an array argument and its Operand. Raises TypeError or ValueError."""
    source = find_library(type(x))
    if source is None:
        raise TypeError(f"{value.where}: expected an array for {value.type}, found {x!r}")
    try:
        operand = source.operand(x)
    except TypeError as error:
        raise TypeError(f"{value.where}: {error}") from None
    value.check(operand.element, operand.shape)
    is_copied = source is NUMPY or (operand.device == HOST and is_simulator(place))
    if operand.device != place and not is_copied:
        if place == HOST and source is MINE:
            try:
                source.to_host(x)
            except TypeError as error:
                raise TypeError(f"{value.where}: {error}") from None
        raise ValueError(f"{value.where}: expected memory of {place}, the device of "
                         f"the call, found {operand.device}: copy it to one device")
    if operand.wrong:
        raise ValueError(f"{value.where}: expected {operand.wrong}")
    return source, operand


def describe_call(entry, arguments, shapes):
    """Returns a description of all arguments. Errors about a call append it."""
    return "; called with " + ", ".join(
        f"{printable(value.name)}: " + (f"{x!r}" if value.is_number else
                             f"{value.element}{tuple(shape)}")
        for value, x, shape in zip(entry.arguments, arguments, shapes))


class Frame:
    """Arguments for the runtime. Only one call uses a frame at a time."""

    def __init__(self, entry, shapes):
        count = max(len(entry.arguments), 1)
        # Fields of mxArgument: size, data address, shape address.
        self.words = (ctypes.c_uint64 * (3 * count))()
        self.words[::3] = [ctypes.sizeof(library.INTERFACE.mxArgument)] * count
        self.results = (ctypes.c_uint64 * max(len(entry.results), 1))()
        self.cells, self.taken = {}, {}
        self.shapes = []
        for index, (value, shape) in enumerate(zip(entry.arguments, shapes)):
            if value.is_number:
                cell = self.cells[index] = np.zeros((), value.dtype)
                self.words[3 * index + 1] = cell.ctypes.data
            else:
                extents = (ctypes.c_int64 * max(len(shape), 1))(*shape)
                self.shapes.append(extents)
                self.words[3 * index + 2] = ctypes.addressof(extents)
        for index, value in enumerate(entry.results):
            if value.is_taken:
                extents = (ctypes.c_int64 * max(len(value.shape), 1))()
                self.taken[index] = library.INTERFACE.mxTakenMemory(None, extents)
                self.results[index] = ctypes.addressof(self.taken[index])
        self.words_address = ctypes.addressof(self.words)
        self.results_address = ctypes.addressof(self.results)


class PreparedCall:
    """Calls an entry with arguments of one signature. Each call uses a frame and a workspace for
    its stream from pools, so threads do not share them."""

    def __init__(self, entry, arguments, padded=()):
        self.entry = entry
        self.place = place_of(x for value, x in zip(entry.arguments, arguments)
                              if not value.is_number)
        self.device = number_of(self.place)
        self.launch_function = library.library().mxEntryLaunch
        entry.note_place(self.place)
        with on_device(self.place):
            self._prepare(arguments, padded)

    def _prepare(self, arguments, padded):
        entry = self.entry
        self._read(arguments)
        self._frames = [Frame(entry, self.shapes)]
        self._find_sizes(arguments)
        maker = self.library.maker
        self.makers = [None if v.is_number or v.is_taken
                       else maker(shape, v.element, zeros=i in padded)
                       for i, (v, shape) in enumerate(zip(entry.results,
                                                          self.result_shapes))]
        self.make_workspace = self.library.maker(
            (self.workspace_bytes,), entry.workspace_element)
        self.is_simple = all(self.makers)
        self.run = self._find_run(arguments)

    def _find_run(self, arguments):
        """Returns the `run` method of an extension's Call. Returns None if the extension does not
        support the call: on the simulator, with arrays of libraries without an exchange table, or
        if the launch determines the size of a result."""
        arrays = getattr(self.library, "arrays", None)
        kinds = [_KINDS.get((v.dtype.kind, v.dtype.itemsize)) if v.is_number else "a"
                 for v in self.entry.arguments]
        if (arrays is None or self.device < 0 or self.uploads or not self.is_simple
                or None in kinds):
            return None
        launch = ctypes.cast(self.launch_function, ctypes.c_void_p).value
        try:
            return extension().Call(
                arrays, launch, self.entry.handle.value, "".join(kinds),
                tuple(arguments), tuple(self.makers),
                self.make_workspace if self.workspace_bytes else None,
                self.workspace_bytes).run
        except ValueError:  # the extension does not support an array
            return None

    def _read(self, arguments):
        """Checks the arguments, and records how each argument is passed."""
        entry, device = self.entry, self.place
        self.pointers, self.numbers, self.uploads = [], [], []
        self.shapes, self.library, hosts = [], NUMPY, set()
        for index, (value, x) in enumerate(zip(entry.arguments, arguments)):
            if value.is_number:
                value.number(x)
                self.numbers.append((index, value.reader(type(x))))
                self.shapes.append(None)
                continue
            source, operand = read_operand(value, x, device)
            if operand.device == HOST:
                hosts.add(source)
                self.uploads.append((index, source.upload, operand.element))
                self.pointers.append((index, MINE.pointer))
            else:
                self.pointers.append((index, source.pointer))
                if source.priority > self.library.priority:
                    self.library = source
            self.shapes.append(operand.shape)
        # If all arrays are host arrays, results are copied to the host.
        self.download = None
        if self.library is NUMPY:
            self.library = MINE
            self.download = max(hosts | {NUMPY}, key=lambda x: x.priority).download

    def _find_sizes(self, arguments):
        entry, frame = self.entry, self._frames[0]
        self._fill_numbers(frame, arguments)
        given = frame.words_address, len(entry.arguments)
        given = ctypes.cast(given[0], ctypes.POINTER(library.INTERFACE.mxArgument)), given[1]
        self.result_shapes = []
        with self.blame(arguments):
            for index, value in enumerate(entry.results):
                if value.is_taken:
                    self.result_shapes.append(None)
                    continue
                rank = len(value.shape or ())
                shape = (ctypes.c_int64 * max(rank, 1))()
                call("mxEntryGetResultShape", entry.handle, *given, index, shape)
                self.result_shapes.append(tuple(shape[:rank]))
            size = ctypes.c_size_t()
            call("mxEntryGetWorkspaceBytes", entry.handle, *given, size)
            self.workspace_bytes = size.value

    @contextlib.contextmanager
    def blame(self, arguments):
        """Appends a description of the arguments to errors of the runtime."""
        try:
            yield
        except library.InvalidValueError as error:
            raise type(error)(str(error) + self.describe(arguments), error.status,
                              error.name) from None

    def describe(self, arguments):
        return describe_call(self.entry, arguments, self.shapes)

    def _fill_numbers(self, frame, arguments):
        for index, number in self.numbers:
            frame.cells[index][...] = number(arguments[index])

    def _take_frame(self):
        try:
            return self._frames.pop()
        except IndexError:
            return Frame(self.entry, self.shapes)

    # --- Calls --------------------------------------------------------------------

    def call(self, arguments, stream):
        """Allocates results and launches on the device of the arguments. Waits only if host arrays
        are copied."""
        if self.run is not None and stream is None:
            results = self.run(arguments)
            if type(results) is list:
                if library.told.texts:
                    library.warn()
                return results
            if results is not None:
                self._fail(results, arguments)
        if self.place == device_name():
            return self._call(arguments, stream)
        with on_device(self.place):
            return self._call(arguments, stream)

    def _call(self, arguments, stream):
        source = self.library
        current = source.current_stream(self.device)
        handle = current if stream is None else stream_handle(stream)
        ordered = stream if stream is not None else handle
        if self.uploads:
            arguments = list(arguments)
            for index, upload, element in self.uploads:
                arguments[index] = upload(arguments[index], element, ordered)
        if handle == current:
            results, workspace = self._allocate(handle)
        else:
            with source.within(handle) or _NOTHING:
                results, workspace = self._allocate(handle)
        self.launch(arguments, results, workspace, handle)
        if source is MINE:
            if self.workspace_bytes:
                self.entry.workspaces[self.place, handle].append(workspace)
            for result in results:
                if type(result) is DeviceArray:
                    result._stream = ordered
        elif not self.is_simple:
            results = [source.adopt(x) if type(x) is DeviceArray else x
                       for x in results]
        if self.download:
            results = [self.download(x, ordered)
                       if type(x) is DeviceArray else x for x in results]
        elif self.uploads:
            # The device copies of host arrays are freed on return, so the launch must be complete.
            wait(handle)
        return results

    def _allocate(self, handle):
        if self.is_simple:
            results = [make() for make in self.makers]
        else:
            results = self.make_results()
        if not self.workspace_bytes:
            return results, None
        if self.library is MINE:
            kept = self.entry.workspaces.setdefault((self.place, handle), [])
            try:
                workspace = kept.pop()
                if workspace.nbytes >= self.workspace_bytes:
                    return results, workspace
            except IndexError:
                pass
        return results, self.make_workspace()

    def _launch(self, given, arguments):
        status = self.launch_function(*given)
        if status:
            self._fail(status, arguments)

    def _fail(self, status, arguments):
        fail(status, self.describe(arguments)
             if status == library.INVALID_VALUE else "")

    def make_results(self):
        return [np.zeros((), v.dtype) if v.is_number else make and make()
                for v, make in zip(self.entry.results, self.makers)]

    def launch(self, arguments, results, workspace, handle, pointer=None):
        """Launches with checked results. If the launch allocates a result, its entry in the list is
        replaced by a DeviceArray. `pointer` returns the address of a result or of the workspace."""
        entry, frame = self.entry, self._take_frame()
        try:
            words, pointer = frame.words, pointer or self.library.pointer
            for index, address_of in self.pointers:
                address = address_of(arguments[index])
                if address & _MISALIGNED and 0 not in self.shapes[index]:
                    entry.arguments[index].refuse_address(address)
                words[3 * index + 1] = address
            if self.numbers:
                self._fill_numbers(frame, arguments)
            if self.is_simple:
                for index, result in enumerate(results):
                    frame.results[index] = pointer(result)
            else:
                for index, (value, x) in enumerate(zip(entry.results, results)):
                    if not value.is_taken:
                        frame.results[index] = (x.ctypes.data if value.is_number
                                                else pointer(x))
            given = (entry.handle, frame.words_address, len(entry.arguments),
                     frame.results_address, len(results),
                     None if workspace is None else pointer(workspace),
                     self.workspace_bytes if workspace is not None else 0, handle)
            if is_simulator(self.place):
                run_interruptibly(self._launch, given, arguments)
            else:
                self._launch(given, arguments)
            for index, memory in frame.taken.items():
                value = entry.results[index]
                results[index] = DeviceArray.adopt(
                    memory.data, memory.shape[:len(value.shape)], value.element,
                    self.place)
            if library.told.texts:
                library.warn()
        finally:
            self._frames.append(frame)


def convert_all(entry, arguments, stream):
    """Converts numbers to their dtype, and arrays of other libraries to DeviceArrays."""
    converted = list(arguments)
    for index, (value, x) in enumerate(zip(entry.arguments, arguments)):
        if value.is_number:
            converted[index] = value.number(x)
        elif find_library(type(x)) is None:
            try:
                converted[index] = convert(x, stream)
            except (BufferError, TypeError, ValueError) as error:
                kind = TypeError if type(error) is TypeError else ValueError
                raise kind(f"{value.where}: {error}") from None
            if isinstance(converted[index], np.ndarray) and not np.ndim(x) and \
                    not isinstance(x, (list, tuple)):
                raise TypeError(f"{value.where}: expected an array for {value.type}, found {x!r}")
    return converted
