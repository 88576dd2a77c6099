# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of NumPy and PyTorch in host memory, which kernels access at the same address, and their tensor
maps (CUtensorMap)."""

import ctypes
import sys
from typing import Any, NamedTuple, Optional, Sequence

import numpy as np

from .._runtime.device import override_device
from .._runtime.library import call

BYTES = 128
# Number of CUtensorMapDataType, and bits of an element.
_TYPES = {"uint8": (0, 8), "uint16": (1, 16), "uint32": (2, 32), "int32": (3, 32), "uint64": (4, 64),
          "int64": (5, 64), "float16": (6, 16), "float32": (7, 32), "float64": (8, 64), "bfloat16": (9, 16),
          "float32_ftz": (10, 32), "tfloat32": (11, 32), "tfloat32_ftz": (12, 32), "16u4_align8b": (13, 4),
          "16u4_align16b": (14, 4), "16u6_align16b": (15, 6)}
_INTERLEAVES = {None: 0, "16B": 1, "32B": 2}
_SWIZZLES = {None: 0, "32B": 1, "64B": 2, "128B": 3, "128B_atom_32B": 4, "128B_atom_32B_flip_8B": 5,
             "128B_atom_64B": 6}
_L2 = {None: 0, "64B": 1, "128B": 2, "256B": 3}
_FILLS = {"zero": 0, "nan": 1}


class View(NamedTuple):
    address: int
    shape: tuple
    strides: tuple  # in bytes
    itemsize: int
    dtype: str  # "float32", "bfloat16", ...
    is_contiguous: bool

    @property
    def range(self):
        if 0 in self.shape:
            return self.address, self.address
        spans = [(size - 1) * stride for size, stride in zip(self.shape, self.strides)]
        return (self.address + sum(min(span, 0) for span in spans),
                self.address + sum(max(span, 0) for span in spans) + self.itemsize)


def view_of(array, name):
    """Returns the View of an array, or None for other values. Raises TypeError or ValueError for an array
    that a kernel cannot access."""
    if isinstance(array, np.ndarray):
        if array.dtype.hasobject:
            raise TypeError(f"{name}: expected an array of numbers or structs, found elements of {array.dtype}")
        if not array.flags.writeable:
            raise ValueError(f"{name}: expected a writable array, found a read-only array: pass a copy")
        return View(array.__array_interface__["data"][0], array.shape, array.strides, array.itemsize,
                    array.dtype.name, array.flags.c_contiguous)
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(array, torch.Tensor):
        return None
    if array.device.type != "cpu" or array.layout != torch.strided:
        raise ValueError(f"{name}: expected a dense tensor of the device cpu, found {array.layout} on "
                         f"{array.device}: pass tensor.cpu()")
    return View(array.data_ptr(), tuple(array.shape), tuple(n * array.itemsize for n in array.stride()), array.itemsize,
                str(array.dtype).removeprefix("torch."), array.is_contiguous())


def merge(ranges):
    """Merges overlapping ranges (begin, end, name), since the device shares each byte once."""
    merged = []
    for begin, end, name in sorted(set(ranges)):
        if merged and begin < merged[-1][1]:
            begin, last, names = merged.pop()
            end, name = max(last, end), f"{names}, {name}"
        if begin != end:
            merged.append((begin, end, name))
    return merged


class TensorMap(NamedTuple):
    """Argument for a CUtensorMap parameter, made by tensor_map."""
    array: Any
    shape: tuple[int, ...]  # in elements of the map
    image: bytes


def tensor_map(array: Any, *, box: Sequence[int], swizzle: Optional[str] = None, interleave: Optional[str] = None,
               element_strides: Optional[Sequence[int]] = None, l2: Optional[str] = None, fill: str = "zero",
               dtype: Optional[str] = None) -> TensorMap:
    """Encodes a tensor map of an array, which the kernel shares like an array argument. `box` and
    `element_strides` are in the order of `array.shape`, with the contiguous dimension last, while
    cuTensorMapEncodeTiled takes it first. `dtype` overrides the type of the elements, for example with
    "tfloat32" or "16u4_align8b" (packed 4-bit numbers of an array of bytes)."""
    view = view_of(array, "tensor_map")
    if view is None:
        raise TypeError(f"tensor_map: expected an array of NumPy or PyTorch, found {type(array).__name__}")
    name = dtype or (view.dtype if view.dtype in _TYPES or view.itemsize > 1 else "uint8")
    number, bits = _lookup("dtype", _TYPES, name)
    rank = len(view.shape)
    if rank == 0 or view.strides[-1] != view.itemsize and view.shape[-1] > 1:
        raise ValueError("tensor_map: expected an array with a contiguous last dimension, found shape "
                         f"{view.shape} and strides of {view.strides} bytes")
    if max(bits, 8) != 8 * view.itemsize:
        raise ValueError(f"tensor_map: expected elements of {max(bits, 8)} bits for {name}, found {view.dtype}")
    shape = (*view.shape[:-1], view.shape[-1] * 8 * view.itemsize // bits)
    for what, values in ("box", box), ("element_strides", element_strides):
        if values is not None and len(values) != rank:
            raise ValueError(f"tensor_map: expected {what} with {rank} numbers, one for each dimension of the "
                             f"array, found {tuple(values)}")
    image = encode(number, view.address, shape, view.strides, box, element_strides,
                   _lookup("interleave", _INTERLEAVES, interleave), _lookup("swizzle", _SWIZZLES, swizzle),
                   _lookup("l2", _L2, l2), _lookup("fill", _FILLS, fill))
    return TensorMap(array, shape, image)


def encode(number, address, shape, strides, box, element_strides, *modes):
    """Returns the bytes of a tensor map. Dimensions are in the order of arrays, `strides` in bytes."""
    def row(type, values):
        return (type * len(shape))(*reversed(values))
    image = (ctypes.c_uint8 * BYTES)()
    with override_device("sim"):
        call("mxTensorMapEncodeTiled", image, number, len(shape), address, row(ctypes.c_int64, shape),
             row(ctypes.c_int64, strides[:-1]), row(ctypes.c_int32, box),
             element_strides and row(ctypes.c_int32, element_strides), *modes)
    return bytes(image)


def _lookup(what, table, value):
    if value not in table:
        raise ValueError(f"tensor_map: expected {what} to be one of {', '.join(map(repr, table))}, found {value!r}")
    return table[value]
