# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import and export of arrays through __cuda_array_interface__ version 3. Types unknown to NumPy
are passed as bits."""

from typing import NamedTuple, Optional

import numpy as np

from .elements import OF_DTYPE

DEFAULT_STREAM = 1  # instead of 0, which the protocol forbids


class Tensor(NamedTuple):
    address: int
    shape: tuple
    strides: Optional[tuple]  # in bytes; None if dense
    element: object
    stream: Optional[int]  # stream to wait for, or None


def describe(array, stream):
    """Returns the interface of a DeviceArray. Later work on `stream` can use the contents."""
    return {"shape": array.shape, "typestr": array.element.storage.str,
            "data": (array.pointer, False), "strides": None, "version": 3,
            "stream": stream or DEFAULT_STREAM}


def read(source):
    """Reads the interface of an object. Raises BufferError."""
    found = source.__cuda_array_interface__
    if found.get("mask") is not None:
        raise BufferError("expected an array without a mask, found a masked array")
    dtype, shape = np.dtype(found["typestr"]), tuple(found["shape"])
    element = OF_DTYPE.get(dtype)
    if element is None:
        raise BufferError(f"expected a supported element type, found typestr {found['typestr']!r}")
    strides = found.get("strides")
    if strides is not None:
        dense, step = [], dtype.itemsize
        for extent in reversed(shape):
            dense.insert(0, step)
            step *= extent
        if step == 0 or all(n == 1 or s == d for n, s, d in
                            zip(shape, strides, dense)):
            strides = None
    return Tensor(found["data"][0] or 0, shape, strides, element,
                  found.get("stream"))
