# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays in device memory."""

import ctypes
import math
from typing import Any

import numpy as np

from .._runtime.device import (device_name, device_of, is_host, number_of, on_device,
                               require_device)
from .._runtime.internal import internal
from .._runtime.library import call
from .._runtime.streams import Stream, stream_handle, wait
from . import cuda_array
from . import dlpack
from .elements import (FP4, UNPACKED_FP4, as_numpy, find_element, normalize_bools,
                       pack_fp4)


def dlpack_device(name=None):
    """Returns DLPack's (type, number) of a device, by default the current device. The simulator is
    described as the host."""
    number = number_of(name or device_name())
    return (dlpack.CPU, 0) if number < 0 else (dlpack.CUDA, number)


_ON_HOST = "mx_compiler.DeviceArray", "pass arrays of NumPy or PyTorch as they are"


class DeviceArray:
    """Dense row-major array in device memory, with a shape and a dtype of NumPy or ml_dtypes.
    Owns its memory unless created from existing memory.

    `device` names the device, as for set_device, and `element` the element type. Arrays of
    f4E2M1FN have dtype uint8 and contain two elements per byte; their shape counts bytes."""

    def __init__(self, shape: Any, dtype: Any, device: str | None = None) -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.shape = tuple(map(int, self.shape))
        self.element = find_element(dtype)
        self.dtype = self.element.dtype
        if any(extent < 0 for extent in self.shape):
            raise ValueError(f"expected extents of at least 0, found shape {self.shape}")
        self.size = math.prod(self.shape)
        self.nbytes = self.size * self.dtype.itemsize
        if self.nbytes >= 2 ** 63:
            raise ValueError("expected a size that fits into 64 bits, found shape "
                             f"{self.shape} of {self.dtype}")
        self.device = device or device_name()
        # Prepared calls compare signatures.
        self.signature = self.element.mlir, self.shape, self.device
        self._pointer = None
        self._owned = False
        self._owner = None  # keeps the memory of another library alive
        self._stream = None  # stream that produces the contents

    @staticmethod
    def from_pointer(pointer: int, shape: Any, dtype: Any, owner: Any = None,
                     device: str | None = None) -> "DeviceArray":
        """Wraps memory of another library at a device address, such as a tensor's `data_ptr()`.
        The memory must outlive the array, which keeps `owner` alive. Without `device`, the runtime
        looks up the device of the address."""
        require_device(*_ON_HOST)
        array = DeviceArray(shape, dtype, device or device_of(pointer))
        array._pointer = int(pointer)
        array._owner = owner
        return array

    @staticmethod
    @internal
    def adopt(pointer, shape, dtype, device=None):
        """Wraps memory allocated by the runtime and takes ownership."""
        array = DeviceArray.from_pointer(pointer, shape, dtype, device=device)
        array._owned = True
        return array

    @property
    def pointer(self) -> int:
        """Device address of the first element. Raises ValueError if the array was freed."""
        if self._pointer is None:
            raise ValueError(f"{self!r} was freed")
        return self._pointer

    def view(self, dtype: Any) -> "DeviceArray":
        """Returns an array of the same memory with another dtype of the same size. For example,
        `view("u2")` reads the bits of bfloat16, and `view("f4E2M1FN")` interprets bytes as packed
        pairs. Raises TypeError if the sizes differ."""
        array = DeviceArray.from_pointer(self.pointer, self.shape, dtype, self,
                                         self.device)
        if array.nbytes != self.nbytes:
            raise TypeError(f"expected a dtype of {self.dtype.itemsize} bytes, found {array.dtype}")
        array._stream = self._stream
        return array

    # --- Copies -------------------------------------------------------------------

    def copy_from(self, source: Any, stream: Any = None) -> "DeviceArray":
        """Copies from a NumPy array or a DeviceArray of the same shape. The source has the same
        dtype, or the dtype of its bits. The copy is stream-ordered. Returns the array."""
        to = self.pointer
        if isinstance(source, DeviceArray):
            self._check(source, "the source")
            call("mxMemcpyOnDevice", to, source.pointer, self.nbytes,
                 stream_handle(stream))
            self._stream = stream
            return self
        source = as_numpy(source)
        source = np.ascontiguousarray(source).reshape(source.shape)
        if source.dtype == bool:
            source = normalize_bools(source)
        if self.element is FP4 and source.dtype == UNPACKED_FP4:
            source = pack_fp4(source)
        self._check(source, "the source")
        call("mxMemcpyToDevice", to, source.ctypes.data, self.nbytes,
             stream_handle(stream))
        self._stream = stream
        if isinstance(stream, Stream):
            stream.keep(source)
        elif stream is not None:  # no other reference keeps `source`
            wait(stream)
        return self

    def numpy(self, out: np.ndarray | None = None, stream: Any = None, dtype: Any = None) -> np.ndarray:
        """Copies to the host, waits for the copy, and returns a NumPy array. `dtype` reinterprets
        the bits as a dtype of the same size, such as "u2" for bfloat16. `out` is an optional
        contiguous destination."""
        if out is None:
            out = np.empty(self.shape, self.dtype)
        self._check(out, "`out`")
        if not out.flags.c_contiguous or not out.flags.writeable:
            raise ValueError("expected `out` to be contiguous and writable")
        call("mxMemcpyToHost", out.ctypes.data, self.pointer, self.nbytes,
             stream_handle(stream))
        wait(stream)
        return out if dtype is None else out.view(dtype)

    def __array__(self, dtype=None, copy=None):
        """Raises TypeError, because NumPy cannot read device memory, and an implicit copy would hide
        its cost and become stale."""
        raise TypeError(
            f"{self!r} is device memory, which NumPy cannot read: x.numpy() copies it to the host")

    def fill(self, byte: int, stream: Any = None) -> "DeviceArray":
        """Sets every byte to `byte` in stream order. Returns the array."""
        call("mxMemset", self.pointer, byte, self.nbytes, stream_handle(stream))
        self._stream = stream
        return self

    # --- Other libraries ----------------------------------------------------------

    def __dlpack_device__(self):
        return dlpack_device(self.device)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None,
                   copy=None):
        """Returns a capsule of DLPack 1.1, or of a version before 1.0 for older consumers. An array
        on a GPU is exported without a copy unless `copy` is true. The host cannot read the
        simulator's memory, so the capsule of a simulator array contains a copy."""
        device = self.__dlpack_device__()
        if dl_device is not None and tuple(dl_device) != device:
            raise BufferError(f"expected dl_device {device} of {self!r}, found {tuple(dl_device)}")
        versioned = max_version is not None and tuple(max_version) >= (1, 0)
        if device[0] == dlpack.CPU:
            if copy is False:
                raise BufferError(
                    f"{self!r} is in the simulator's memory, which the host "
                    "cannot read: expected copy=None or True, found False")
            if stream is not None:
                raise BufferError(f"expected no stream for memory of the host, found {stream}")
            self._wait_for_contents()
            host = self.numpy()
            return dlpack.make_capsule(host.ctypes.data, self.shape,
                                       self.element, device, host, versioned,
                                       copied=True)
        shown = self
        if stream != -1:
            # DLPack numbers the default stream 1; elsewhere it is 0.
            consumer = 0 if stream in (None, 0, 1) else stream
            if copy:
                with on_device(self.device):
                    shown = empty(self.shape, self.element)
                self._order(consumer)
                shown.copy_from(self, consumer)
            else:
                self._order(consumer)
        elif copy:
            self._wait_for_contents()
            with on_device(self.device):
                shown = empty(self.shape, self.element).copy_from(self)
                call("mxStreamSynchronize", None)
        return dlpack.make_capsule(shown.pointer, self.shape, self.element,
                                   device, shown, versioned, bool(copy))

    @property
    def __cuda_array_interface__(self):
        """Version 3 of the interface, for arrays on a GPU. Types unknown to NumPy are exported as
        bits."""
        if number_of(self.device) < 0:
            raise AttributeError(f"{self!r} is on the simulator, not on a GPU")
        return cuda_array.describe(self, stream_handle(self._live_stream()))

    def _live_stream(self):
        """Returns the stream, or None if the stream was closed. Closing a stream waits for its
        work."""
        if isinstance(self._stream, Stream) and self._stream._handle is None:
            self._stream = None
        return self._stream

    def _order(self, consumer):
        """Orders later work on stream `consumer` after the writers of this array."""
        call("mxStreamWait", consumer, stream_handle(self._live_stream()))

    def _wait_for_contents(self):
        with on_device(self.device):  # the default stream of the array's device
            call("mxStreamSynchronize", stream_handle(self._live_stream()))

    # --- Lifetime -----------------------------------------------------------------

    def free(self) -> None:
        """Frees the memory. Later use of the array is an error. May wait for kernels that use the
        memory."""
        pointer, self._pointer = self._pointer, None
        self._owner = None
        if self._owned and pointer is not None:
            call("mxMemFree", pointer)

    def _check(self, other, what):
        if other.shape != self.shape or other.dtype not in (
                self.dtype, self.element.storage):
            raise ValueError(f"expected {what} to be {self.dtype}{self.shape}, "
                             f"found {other.dtype}{other.shape}")

    def __enter__(self) -> "DeviceArray":
        return self

    def __exit__(self, *_: Any) -> None:
        self.free()

    def __del__(self):
        try:
            self.free()
        except Exception:  # the process may be ending
            pass

    def __repr__(self):
        return f"<mx_compiler.DeviceArray {self.element}{self.shape}>"


def empty(shape: Any, dtype: Any) -> DeviceArray:
    """Allocates an uninitialized array on the current device. `dtype` is a dtype of NumPy,
    ml_dtypes or PyTorch, or an MLIR name. The shape of an f4E2M1FN array counts bytes, each with
    two elements."""
    require_device(*_ON_HOST)
    array = DeviceArray(shape, dtype)
    pointer = ctypes.c_void_p()
    call("mxMemAlloc", pointer, array.nbytes)
    array._pointer, array._owned = pointer.value or 0, True
    return array


def array(source: Any, stream: Any = None, dtype: Any = None) -> DeviceArray:
    """Copies a NumPy array, or anything NumPy converts to one, to the device. `dtype`
    reinterprets the bits as a type of the same size. Arrays of ml_dtypes' float4_e2m1fn are
    packed, two elements per byte. Raises TypeError for dtypes that are not numeric."""
    source = as_numpy(source)
    if source.dtype == UNPACKED_FP4:
        source, dtype = pack_fp4(source), dtype or FP4
    if source.dtype.hasobject:
        raise TypeError(f"expected a numeric dtype, found {source.dtype}")
    result = empty(source.shape, source.dtype if dtype is None else dtype)
    if result.dtype.itemsize != source.dtype.itemsize:
        raise TypeError(f"expected a dtype of {source.dtype.itemsize} bytes, like "
                        f"{source.dtype}, found {result.dtype}")
    return result.copy_from(source.view(result.dtype), stream)


def host_view(address, shape, element, owner):
    """Returns a NumPy array over host memory that keeps `owner` alive."""
    count = math.prod(shape) * element.dtype.itemsize
    if not count:
        return np.empty(shape, element.dtype)
    memory = (ctypes.c_uint8 * count).from_address(address)
    memory.owner = owner
    return np.frombuffer(memory, np.uint8).view(element.dtype).reshape(shape)


def borrow(source, stream=None):
    """Returns an array that shares the memory of `source`, and its element type. The array is a
    NumPy array for host memory and a DeviceArray otherwise. Raises BufferError."""
    expected = dlpack_device()
    kind, number = map(int, source.__dlpack_device__())
    if kind == dlpack.CUDA_MANAGED:
        kind = dlpack.CUDA
    # If the current device is a GPU, arrays on any GPU are accepted.
    if kind != expected[0] or kind != dlpack.CUDA and number != expected[1]:
        raise BufferError(f"expected memory of {_name(expected)}, found {_name((kind, number))}")
    if kind == dlpack.CPU:
        found = dlpack.ask(source, None)
    else:
        found = dlpack.ask(source, stream_handle(stream) or
                           cuda_array.DEFAULT_STREAM)
    if found.strides is not None:
        raise BufferError("expected a dense row-major array, found shape "
                          f"{found.shape} with strides {found.strides}; make it contiguous")
    if kind == dlpack.CPU:
        return host_view(*found[:2], found.element, found.owner), found.element
    array = DeviceArray.from_pointer(found.address, found.shape, found.element,
                                     found.owner, f"cuda:{number}")
    array._stream = stream
    return array, found.element


def _name(device):
    names = {dlpack.CPU: "the host (cpu)", dlpack.CUDA: f"cuda:{device[1]}"}
    return names.get(device[0], f"DLPack's device {device}")


def from_dlpack(source: Any, stream: Any = None) -> Any:
    """Converts an object with `__dlpack__`, such as a PyTorch tensor or an array of CuPy or JAX. On
    a GPU, the result shares the memory and can be used on `stream`, by default the default stream.
    On the simulator, the result is a copy of host memory. On "cpu", the result is a NumPy array of
    the same memory. Raises BufferError for strided arrays, arrays on another device, and
    unsupported element types."""
    if isinstance(source, DeviceArray):
        return source.view(source.element)
    if isinstance(source, np.ndarray) and dlpack_device()[0] == dlpack.CPU:
        # NumPy cannot export the types of ml_dtypes.
        return as_numpy(source) if is_host() else array(source, stream)
    found, element = borrow(source, stream)
    return found if isinstance(found, DeviceArray) or is_host() else (
        array(found, stream, element))
