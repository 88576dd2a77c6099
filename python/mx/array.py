# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays in device memory."""

import ctypes
import math

import numpy as np

from .device import Stream, stream_handle, wait
from .library import call


class DeviceArray:
    """A dense array in device memory, with a shape and a NumPy dtype. It owns
    its memory unless it came from `from_pointer`."""

    def __init__(self, shape, dtype):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.shape = tuple(map(int, self.shape))
        self.dtype = np.dtype(dtype)
        if any(extent < 0 for extent in self.shape):
            raise ValueError("expected extents of at least 0, found shape "
                             f"{self.shape}")
        if self.dtype.hasobject:
            raise TypeError(f"expected a dtype of numbers, found {self.dtype}")
        self._pointer = None
        self._owned = False

    @staticmethod
    def from_pointer(pointer, shape, dtype):
        """Memory of somebody else, at an address of the device: a tensor's
        `data_ptr()`. It must outlive the array."""
        array = DeviceArray(shape, dtype)
        array._pointer = int(pointer)
        return array

    @staticmethod
    def adopt(pointer, shape, dtype):
        """Memory that the runtime allocated, which the array then owns."""
        array = DeviceArray.from_pointer(pointer, shape, dtype)
        array._owned = True
        return array

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    @property
    def pointer(self):
        """The address on the device."""
        if self._pointer is None:
            raise ValueError(f"{self!r} was freed")
        return self._pointer

    def copy_from(self, source, stream=None):
        """Copies from a NumPy array or a DeviceArray of this shape and dtype, in
        the order of the stream."""
        to = self.pointer
        if isinstance(source, DeviceArray):
            self._check(source, "the source")
            call("mxMemcpyOnDevice", to, source.pointer, self.nbytes,
                 stream_handle(stream))
            return self
        source = np.ascontiguousarray(source).reshape(np.shape(source))
        self._check(source, "the source")
        call("mxMemcpyToDevice", to, source.ctypes.data, self.nbytes,
             stream_handle(stream))
        if isinstance(stream, Stream):
            stream.keep(source)
        elif stream is not None:  # nobody else keeps `source`
            wait(stream)
        return self

    def numpy(self, out=None, stream=None):
        """A copy on the host, complete when this returns."""
        out = np.empty(self.shape, self.dtype) if out is None else out
        self._check(out, "`out`")
        if not out.flags.c_contiguous or not out.flags.writeable:
            raise ValueError("expected `out` to be contiguous and writable")
        call("mxMemcpyToHost", out.ctypes.data, self.pointer, self.nbytes,
             stream_handle(stream))
        wait(stream)
        return out

    def __array__(self, dtype=None, copy=None):
        """NumPy does not see device memory: a copy that nobody wrote down would
        hide what it costs, and would not follow the device's memory."""
        raise TypeError(
            f"{self!r} is device memory, which NumPy cannot read: "
            "x.numpy() copies it to the host")

    def fill(self, byte, stream=None):
        """Sets every byte."""
        call("mxMemset", self.pointer, byte, self.nbytes, stream_handle(stream))
        return self

    def free(self):
        """Gives the memory back; using the array afterwards is an error. Kernels
        that use it should have ended: this may wait for them."""
        pointer, self._pointer = self._pointer, None
        if self._owned and pointer is not None:
            call("mxMemFree", pointer)

    def _check(self, other, what):
        if other.shape != self.shape or other.dtype != self.dtype:
            raise ValueError(f"expected {what} to be {self.dtype}{self.shape}, "
                             f"found {other.dtype}{other.shape}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.free()

    def __del__(self):
        try:
            self.free()
        except Exception:  # the process may be ending
            pass

    def __repr__(self):
        return f"<mx.DeviceArray {self.dtype}{self.shape}>"


def empty(shape, dtype):
    """Device memory; what it holds is not defined."""
    array = DeviceArray(shape, dtype)
    pointer = ctypes.c_void_p()
    call("mxMemAlloc", pointer, array.nbytes)
    array._pointer, array._owned = pointer.value or 0, True
    return array


def array(source, stream=None):
    """A copy of a NumPy array on the device."""
    source = np.asarray(source)
    return empty(source.shape, source.dtype).copy_from(source, stream)
