# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays in device memory."""

import ctypes
import math

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
    """What DLPack calls a device; that in use without a name. The simulator is the
    host."""
    number = number_of(name or device_name())
    return (dlpack.CPU, 0) if number < 0 else (dlpack.CUDA, number)


_ON_HOST = "mx_compiler.DeviceArray", "pass arrays of NumPy or PyTorch as they are"


class DeviceArray:
    """A dense array in device memory, row-major, with a shape and a dtype of NumPy
    or ml_dtypes. It owns its memory unless it came from elsewhere.

    `device` is where it lies, as set_device takes it, and `element` the type of its
    elements. Elements of f4E2M1FN lie two to a byte:
    such an array has the dtype uint8, and its shape counts bytes."""

    def __init__(self, shape, dtype, device=None):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.shape = tuple(map(int, self.shape))
        self.element = find_element(dtype)
        self.dtype = self.element.dtype
        if any(extent < 0 for extent in self.shape):
            raise ValueError("expected extents of at least 0, found shape "
                             f"{self.shape}")
        self.size = math.prod(self.shape)
        self.nbytes = self.size * self.dtype.itemsize
        if self.nbytes >= 2 ** 63:
            raise ValueError("expected a size that fits into 64 bits, found shape "
                             f"{self.shape} of {self.dtype}")
        self.device = device or device_name()
        # What a prepared call goes by.
        self.signature = self.element.mlir, self.shape, self.device
        self._pointer = None
        self._owned = False
        self._owner = None  # keeps the memory of another library alive
        self._stream = None  # after whose work its contents are there

    @staticmethod
    def from_pointer(pointer, shape, dtype, owner=None, device=None):
        """Memory of another library, at an address of a device: a tensor's
        `data_ptr()`. It must outlive the array; `owner` is kept with it. Without a
        name the device is asked for."""
        require_device(*_ON_HOST)
        array = DeviceArray(shape, dtype, device or device_of(pointer))
        array._pointer = int(pointer)
        array._owner = owner
        return array

    @staticmethod
    @internal
    def adopt(pointer, shape, dtype, device=None):
        """Memory that the runtime allocated, which the array then owns."""
        array = DeviceArray.from_pointer(pointer, shape, dtype, device=device)
        array._owned = True
        return array

    @property
    def pointer(self):
        """The address on the device."""
        if self._pointer is None:
            raise ValueError(f"{self!r} was freed")
        return self._pointer

    def view(self, dtype):
        """The same memory with another dtype of the same size: `view("u2")` has
        the bits of bfloat16, `view("f4E2M1FN")` says what bytes hold."""
        array = DeviceArray.from_pointer(self.pointer, self.shape, dtype, self,
                                         self.device)
        if array.nbytes != self.nbytes:
            raise TypeError(f"expected a dtype of {self.dtype.itemsize} bytes, "
                            f"found {array.dtype}")
        array._stream = self._stream
        return array

    # --- Copies -------------------------------------------------------------------

    def copy_from(self, source, stream=None):
        """Copies from a NumPy array or a DeviceArray of this shape and dtype, or
        of its bits, in the order of the stream."""
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

    def numpy(self, out=None, stream=None, dtype=None):
        """A copy on the host, complete when this returns; `dtype` of the same
        size instead of the array's: "u2" for the bits of bfloat16."""
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
        """NumPy does not see device memory: an implicit copy would
        hide its cost, and would not follow the device's memory."""
        raise TypeError(
            f"{self!r} is device memory, which NumPy cannot read: "
            "x.numpy() copies it to the host")

    def fill(self, byte, stream=None):
        """Sets every byte."""
        call("mxMemset", self.pointer, byte, self.nbytes, stream_handle(stream))
        self._stream = stream
        return self

    # --- Other libraries ----------------------------------------------------------

    def __dlpack_device__(self):
        return dlpack_device(self.device)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None,
                   copy=None):
        """A capsule of DLPack 1.1, or of the version before 1.0 for consumers
        that know no other. On a GPU it shows this memory. On the simulator, whose
        memory the host cannot read, it has a copy on the host."""
        device = self.__dlpack_device__()
        if dl_device is not None and tuple(dl_device) != device:
            raise BufferError(f"expected dl_device {device} of {self!r}, found "
                              f"{tuple(dl_device)}")
        versioned = max_version is not None and tuple(max_version) >= (1, 0)
        if device[0] == dlpack.CPU:
            if copy is False:
                raise BufferError(
                    f"{self!r} lies in the simulator's memory, which the host "
                    "cannot read: expected copy=None or True, found False")
            if stream is not None:
                raise BufferError("expected no stream for memory of the host, "
                                  f"found {stream}")
            self._wait_for_contents()
            host = self.numpy()
            return dlpack.make_capsule(host.ctypes.data, self.shape,
                                       self.element, device, host, versioned,
                                       copied=True)
        shown = self
        if stream != -1:
            # 1 is the default stream, which is 0 elsewhere.
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
        """Version 3, on a GPU. Types that NumPy lacks go as their bits."""
        if number_of(self.device) < 0:
            raise AttributeError(f"{self!r} lies on the simulator, not on a GPU")
        return cuda_array.describe(self, stream_handle(self._live_stream()))

    def _live_stream(self):
        """None where the stream was closed: it was waited for then."""
        if isinstance(self._stream, Stream) and self._stream._handle is None:
            self._stream = None
        return self._stream

    def _order(self, consumer):
        """What comes on the stream `consumer` runs after what writes this."""
        call("mxStreamWait", consumer, stream_handle(self._live_stream()))

    def _wait_for_contents(self):
        with on_device(self.device):  # the default stream is that of the one in use
            call("mxStreamSynchronize", stream_handle(self._live_stream()))

    # --- Its life -----------------------------------------------------------------

    def free(self):
        """Gives the memory back; using the array afterwards is an error. Kernels
        that use it should have ended: this may wait for them."""
        pointer, self._pointer = self._pointer, None
        self._owner = None
        if self._owned and pointer is not None:
            call("mxMemFree", pointer)

    def _check(self, other, what):
        if other.shape != self.shape or other.dtype not in (
                self.dtype, self.element.storage):
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
        return f"<mx_compiler.DeviceArray {self.element}{self.shape}>"


def empty(shape, dtype):
    """Device memory; what it holds is not defined. `dtype` is a dtype of NumPy,
    ml_dtypes or PyTorch, or a name of MLIR; the shape of f4E2M1FN counts bytes,
    of two elements each."""
    require_device(*_ON_HOST)
    array = DeviceArray(shape, dtype)
    pointer = ctypes.c_void_p()
    call("mxMemAlloc", pointer, array.nbytes)
    array._pointer, array._owned = pointer.value or 0, True
    return array


def array(source, stream=None, dtype=None):
    """A copy of an array of NumPy on the device, or of what NumPy makes an array
    of. `dtype` of the same size says what its bits are. An array of ml_dtypes'
    float4_e2m1fn is packed, two to a byte."""
    source = as_numpy(source)
    if source.dtype == UNPACKED_FP4:
        source, dtype = pack_fp4(source), dtype or FP4
    if source.dtype.hasobject:
        raise TypeError(f"expected a dtype of numbers, found {source.dtype}")
    result = empty(source.shape, source.dtype if dtype is None else dtype)
    if result.dtype.itemsize != source.dtype.itemsize:
        raise TypeError(f"expected a dtype of {source.dtype.itemsize} bytes, as "
                        f"{source.dtype} has, found {result.dtype}")
    return result.copy_from(source.view(result.dtype), stream)


def host_view(address, shape, element, owner):
    """A NumPy array over memory of the host; `owner` is kept with it."""
    count = math.prod(shape) * element.dtype.itemsize
    if not count:
        return np.empty(shape, element.dtype)
    memory = (ctypes.c_uint8 * count).from_address(address)
    memory.owner = owner
    return np.frombuffer(memory, np.uint8).view(element.dtype).reshape(shape)


def borrow(source, stream=None):
    """A DeviceArray of the same memory, or a NumPy array where that is the host's;
    and the type of the elements. Raises a BufferError."""
    expected = dlpack_device()
    kind, number = map(int, source.__dlpack_device__())
    if kind == dlpack.CUDA_MANAGED:
        kind = dlpack.CUDA
    # Any GPU, where one is in use: the array knows its own.
    if kind != expected[0] or kind != dlpack.CUDA and number != expected[1]:
        raise BufferError(f"expected memory of {_name(expected)}, found "
                          f"{_name((kind, number))}")
    if kind == dlpack.CPU:
        found = dlpack.ask(source, None)
    else:
        found = dlpack.ask(source, stream_handle(stream) or
                           cuda_array.DEFAULT_STREAM)
    if found.strides is not None:
        raise BufferError("expected a dense row-major array, found shape "
                          f"{found.shape} with strides {found.strides}; make it "
                          "contiguous")
    if kind == dlpack.CPU:
        return host_view(*found[:2], found.element, found.owner), found.element
    array = DeviceArray.from_pointer(found.address, found.shape, found.element,
                                     found.owner, f"cuda:{number}")
    array._stream = stream
    return array, found.element


def _name(device):
    names = {dlpack.CPU: "the host (cpu)", dlpack.CUDA: f"cuda:{device[1]}"}
    return names.get(device[0], f"DLPack's device {device}")


def from_dlpack(source, stream=None):
    """A DeviceArray of an object with `__dlpack__`: a tensor of PyTorch, an array of
    CuPy or JAX. On a GPU it is the same memory, ready in the order of `stream`
    (as everywhere: None is the default stream). On the simulator memory of the
    host is copied. On "cpu" it is an array of NumPy, of the same memory. Raises a
    BufferError where the array is strided, lies on another device, or has elements
    that mx lacks."""
    if isinstance(source, DeviceArray):
        return source.view(source.element)
    if isinstance(source, np.ndarray) and dlpack_device()[0] == dlpack.CPU:
        # NumPy exports no types of ml_dtypes.
        return as_numpy(source) if is_host() else array(source, stream)
    found, element = borrow(source, stream)
    return found if isinstance(found, DeviceArray) or is_host() else (
        array(found, stream, element))
