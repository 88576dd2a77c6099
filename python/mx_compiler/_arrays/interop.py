# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of NumPy, PyTorch, CuPy and this package as arguments and results of entries.

The class of each library computes an array's signature for prepared calls, its element type, shape,
device and address. All arrays except NumPy's may be in device memory."""

import functools
import sys
from typing import NamedTuple

import numpy as np

from .._runtime.device import HOST, device_name, is_simulator
from .._runtime.extension import extension
from .._runtime.library import call
from .._runtime.streams import stream_handle
from . import cuda_array
from .array import DeviceArray, array, dlpack_device, empty, from_dlpack, host_view
from .elements import (ELEMENTS, FP4, OF_DTYPE, UNPACKED_FP4, as_numpy, find_element,
                       pack_fp4)


class Operand(NamedTuple):
    element: object
    shape: tuple
    device: str  # "cuda:0", or "cpu" for host arrays, which are copied to the device
    wrong: str = ""  # text of an error if the array cannot be passed


class Mine:
    """DeviceArrays."""
    priority = 1

    @staticmethod
    def sign(x):
        return x.signature

    @staticmethod
    def operand(x):
        return Operand(x.element, x.shape, x.device)

    @staticmethod
    def place(x):
        return x.device

    @staticmethod
    def pointer(x):
        return x.pointer

    @staticmethod
    def current_stream(number):
        return 0

    @staticmethod
    def maker(shape, element, zeros=False):
        """Returns a function that allocates a result. `zeros` is True if the program leaves some
        bytes unwritten. These are cleared only on the simulator, because memory of this class on a
        GPU belongs to no stream."""
        if zeros and is_simulator(device_name()):
            return lambda: empty(shape, element).fill(0)
        return functools.partial(empty, shape, element)

    @staticmethod
    def within(stream):
        return None  # memory belongs to no stream

    @staticmethod
    def to_host(x):
        raise TypeError(f"expected a host array, found {x!r}: pass x.numpy()")

    @staticmethod
    def view(x, element):
        """Returns an array of the same memory with another element type. If the library lacks that
        type, the elements are the bits."""
        return x.view(element)


class Numpy:
    """NumPy arrays. Arguments are copied to the device, and results are copied back."""
    priority = 0

    @staticmethod
    def sign(x):
        return x.dtype, x.shape

    @staticmethod
    def operand(x):
        element, shape = _numpy_type(x.dtype), x.shape
        if x.dtype == UNPACKED_FP4:
            if not shape or shape[-1] % 2:
                return Operand(FP4, shape, "cpu", "an even number of float4_e2m1fn "
                               f"in the last dimension, found shape {shape}")
            shape = (*shape[:-1], shape[-1] // 2)
        return Operand(element, shape, "cpu")

    @staticmethod
    def place(x):
        return HOST

    @staticmethod
    def to_host(x):
        return pack_fp4(x) if x.dtype == UNPACKED_FP4 else x

    @staticmethod
    def from_host(x, element):
        return x

    @staticmethod
    def upload(x, element, stream):
        return array(NUMPY.to_host(x), stream, element)

    @staticmethod
    def download(x, stream):
        return x.numpy(stream=stream)

    @staticmethod
    def view(x, element):
        return NUMPY.to_host(x).view(element.dtype)


class Masked(Numpy):
    """NumPy's masked arrays, which are rejected. Their signature differs from that of plain arrays,
    so a call that was prepared for plain arrays does not accept them."""

    @staticmethod
    def sign(x):
        return type(x), x.dtype, x.shape

    @staticmethod
    def operand(x):
        as_numpy(x)  # raises


@functools.lru_cache(None)
def _numpy_type(dtype):
    return find_element(dtype)


class Torch:
    """PyTorch tensors on a GPU."""
    priority = 3

    def __init__(self, torch):
        self.torch = torch
        self.elements = {getattr(torch, e.torch): e for e in ELEMENTS
                         if e.torch and hasattr(torch, e.torch)}
        self.dtypes = {e: dtype for dtype, e in self.elements.items()}
        self.pointer = torch.Tensor.data_ptr
        self.arrays = self._exchange()
        self._templates = {}
        # Returns the stream without creating an object. Some versions lack this function.
        self._raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    def _exchange(self):
        """Returns the extension's Arrays object for tensors, or None if calls must use ctypes."""
        module, torch = extension(), self.torch
        capsule = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
        if module is None or capsule is None:
            return None
        try:
            return module.Arrays(capsule, (torch.Tensor, torch.nn.Parameter),
                                 torch.is_grad_enabled)
        except ValueError:  # the DLPack version is too new
            return None

    def sign(self, x):
        # get_device() and is_cuda do not create an object for the device.
        return (x.dtype, x.shape, x.get_device(), x.is_cuda, x.is_cpu,
                x.is_contiguous(),
                x.requires_grad and self.torch.is_grad_enabled())

    def operand(self, x):
        element = self.elements.get(x.dtype)
        if element is None:
            raise TypeError(f"expected a supported dtype, found {x.dtype}")
        wrong = ""
        if not x.is_contiguous():
            wrong = (f"a contiguous tensor, found strides {tuple(x.stride())} of "
                     f"shape {tuple(x.shape)}: pass x.contiguous()")
        elif x.requires_grad and self.torch.is_grad_enabled():
            wrong = ("a tensor without requires_grad, because entries have no gradient, "
                     "found a tensor with requires_grad: call under torch.no_grad() or in a "
                     "torch.autograd.Function, or pass x.detach()")
        return Operand(element, tuple(x.shape), str(x.device), wrong)

    @staticmethod
    def place(x):
        return str(x.device)

    def current_stream(self, number):
        if self._raw:
            return self._raw(number)
        return self.torch.cuda.current_stream(number).cuda_stream

    def maker(self, shape, element, zeros=False):
        """Returns a function that allocates a tensor with PyTorch for the current stream."""
        return self._maker(shape, element, self.torch.device(device_name()), zeros)

    def _maker(self, shape, element, device, zeros=False):
        dtype, torch = self._dtype(element), self.torch
        # PyTorch fills new memory if deterministic algorithms are enabled, but cannot fill packed
        # types. So these are allocated as bytes.
        made = torch.uint8 if element.is_packed else dtype
        make = functools.partial(
            torch.zeros_like if zeros else torch.empty_like,
            self._template(made, device).expand(shape),
            memory_format=torch.contiguous_format)
        return (lambda: make().view(dtype)) if element.is_packed else make

    def _template(self, dtype, device):
        """Returns a single-element tensor of the type on the device. torch.empty_like takes half
        the time of torch.empty, which parses shape, type and device."""
        key = dtype, device
        if key not in self._templates:
            with self.torch.inference_mode(False):
                self._templates[key] = self.torch.empty((), dtype=dtype, device=device)
        return self._templates[key]

    def _dtype(self, element):
        """Returns PyTorch's dtype of the elements, or the dtype of their bits if there is none."""
        return self.dtypes.get(element) or self.dtypes[OF_DTYPE[element.storage]]

    def within(self, stream):
        """Returns a context in which PyTorch allocates for `stream`."""
        cuda, number = self.torch.cuda, dlpack_device()[1]
        return cuda.stream(cuda.ExternalStream(stream, device=number))

    def to_host(self, x):
        """Returns a NumPy array that shares the memory of a host tensor."""
        x = x.detach()
        return host_view(x.data_ptr(), tuple(x.shape), self.elements[x.dtype], x)

    def from_host(self, x, element):
        result = self._on_host(x.shape, element)
        host_view(result.data_ptr(), x.shape, element, result)[...] = x
        return result

    def upload(self, x, element, stream):
        return array(self.to_host(x), stream, element)

    def download(self, x, stream):
        result = self._on_host(x.shape, x.element)
        call("mxMemcpyToHost", result.data_ptr(), x.pointer, x.nbytes,
             stream_handle(stream))
        call("mxStreamSynchronize", stream_handle(stream))
        return result

    def _on_host(self, shape, element):
        return self._maker(shape, element, self.torch.device("cpu"))()

    def adopt(self, x):
        return self.torch.from_dlpack(x)

    def view(self, x, element):
        return x.view(self._dtype(element))


class WrappedTorch(Torch):
    """Wrapper tensors, such as torch.masked's. They are rejected, because their own memory
    does not contain their value."""

    def sign(self, x):
        return (type(x), *super().sign(x))

    def operand(self, x):
        found = super().operand(x)
        return found._replace(wrong=f"a plain tensor, found a {type(x).__name__}, which "
                              "wraps another tensor: pass the wrapped tensor")


class Cupy:
    """CuPy arrays. Types unknown to NumPy are passed and returned as bits."""
    priority = 2

    def __init__(self, cupy):
        self.cupy = cupy

    @staticmethod
    def sign(x):
        return x.dtype, x.shape, x.flags.c_contiguous, x.device.id

    @staticmethod
    def operand(x):
        wrong = "" if x.flags.c_contiguous else (
            f"a contiguous array, found strides {x.strides} of shape {x.shape}: "
            "pass cupy.ascontiguousarray(x)")
        return Operand(_numpy_type(x.dtype), x.shape, f"cuda:{x.device.id}", wrong)

    @staticmethod
    def place(x):
        return f"cuda:{x.device.id}"

    @staticmethod
    def pointer(x):
        return x.data.ptr

    def current_stream(self, number):
        return self.cupy.cuda.get_current_stream().ptr

    def maker(self, shape, element, zeros=False):
        make = self.cupy.zeros if zeros else self.cupy.empty
        return functools.partial(make, shape, element.storage)

    def within(self, stream):
        return self.cupy.cuda.ExternalStream(stream)

    def adopt(self, x):
        return self.cupy.asarray(x)

    @staticmethod
    def view(x, element):
        return x.view(element.storage)


MINE, NUMPY, MASKED = Mine(), Numpy(), Masked()
_OPTIONAL = {"torch": ("Tensor", Torch), "cupy": ("ndarray", Cupy)}


@functools.lru_cache(None)
def _library(name):
    return _OPTIONAL[name][1](sys.modules[name])


@functools.lru_cache(None)
def _wrapped_torch():
    return WrappedTorch(sys.modules["torch"])


def find_library(kind):
    """Returns the library of an array type, or None for other types."""
    if issubclass(kind, DeviceArray):
        return MINE
    if issubclass(kind, np.ndarray):
        return MASKED if issubclass(kind, np.ma.MaskedArray) else NUMPY
    for base in kind.__mro__:
        root = base.__module__.partition(".")[0]
        if root in _OPTIONAL and base.__name__ == _OPTIONAL[root][0]:
            if root == "torch" and kind.__torch_dispatch__ is not base.__torch_dispatch__:
                return _wrapped_torch()
            return _library(root)
    return None


def place_of(arrays):
    """Returns the device of the first array in device memory, or the current device if there is no
    such array. If the current device is "cpu", returns "cpu"."""
    current = device_name()
    if current == HOST:
        return current
    for x in arrays:
        source = find_library(type(x))
        if source is not None and \
                (place := source.place(x)).startswith(("cuda:", "sim")):
            return place
    return current


def convert(x, stream):
    """Converts an object with __dlpack__ or __cuda_array_interface__ to a DeviceArray, or to a NumPy
    array on "cpu". Converts other objects to NumPy arrays. Raises BufferError, ValueError or
    TypeError."""
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        return from_dlpack(x, stream)
    if hasattr(x, "__cuda_array_interface__"):
        return from_cuda_array(x, stream)
    return as_numpy(x)


def from_cuda_array(x, stream=None):
    """Returns a DeviceArray that shares the memory of an object with __cuda_array_interface__. The
    array can be used on `stream`. Raises BufferError."""
    if not device_name().startswith("cuda:"):
        raise BufferError(f"expected memory of {device_name()}, found memory of a GPU")
    found = cuda_array.read(x)
    if found.strides is not None:
        raise BufferError(f"expected a dense row-major array, found shape "
                          f"{found.shape} with strides {found.strides}; make it contiguous")
    handle = stream_handle(stream)
    theirs = 0 if found.stream in (None, 1) else found.stream
    if found.stream is not None and theirs != handle:
        call("mxStreamWait", handle, theirs)
    result = DeviceArray.from_pointer(found.address, found.shape, found.element, x)
    result._stream = stream
    return result
