# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of Python values to the declared types of kernel parameters."""

import ctypes
import operator
import re
import struct

import numpy as np

from ._arrays import BYTES, TensorMap, view_of

_FLOATS = {16: "e", 32: "f", 64: "d"}


def convert(value, parameter, name, ranges):
    """Returns the bytes of an argument. Adds the memory of an array to `ranges`, as (begin, end, name).
    `parameter` is the description by mxModuleDescribe. Raises TypeError or ValueError."""
    size, type = parameter["bytes"], parameter["type"]
    is_scalar, is_float = re.fullmatch(r"[usbf]\d+", type) is not None, type[0] == "f"

    def wrong(found, error=TypeError):
        what = "a number" if is_float else "an array or an int" if size == 8 else "an int"
        expected = f"{what} for a parameter of type {type}" if is_scalar else (
            f"bytes, a ctypes.Structure or a NumPy scalar of {size} bytes" + ", or a tensor_map" * (size == BYTES))
        return error(f"{name}: expected {expected}, found {found}")

    if isinstance(value, TensorMap):
        if size != BYTES or is_scalar:
            raise wrong("a tensor map of 128 bytes")
        ranges.append((*view_of(value.array, name).range, name))
        return value.image
    view = view_of(value, name)
    if view is not None:
        if not is_scalar or size != 8 or is_float:
            raise wrong(f"an array of {view.dtype}")
        if not view.is_contiguous:
            raise ValueError(f"{name}: expected a contiguous array, found shape {view.shape} and strides of "
                             f"{view.strides} bytes: pass a contiguous copy")
        ranges.append((*view.range, name))
        return struct.pack("<Q", view.address)
    if is_scalar and isinstance(value, (int, np.integer)) and not is_float:
        number, bits = operator.index(value), 8 * size
        if not -(1 << bits - 1) <= number < 1 << bits:
            raise wrong(f"{number}, which does not fit", ValueError)
        return (number & (1 << bits) - 1).to_bytes(size, "little")
    if is_float and isinstance(value, (int, float, np.integer)):
        try:
            return struct.pack("<" + _FLOATS[8 * size], value)
        except OverflowError:
            raise wrong(f"{value}, which does not fit", ValueError) from None
    if not isinstance(value, (bytes, bytearray, np.generic, ctypes.Structure, ctypes.Union, ctypes.Array)):
        raise wrong(f"{value!r} of type {value.__class__.__name__}")
    found = value.tobytes() if isinstance(value, np.generic) else bytes(value)
    if len(found) != size:
        raise wrong(f"{len(found)} bytes of {value.__class__.__name__}", ValueError)
    return found
