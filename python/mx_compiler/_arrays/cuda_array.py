# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""__cuda_array_interface__, version 3, in and out. It has NumPy's types only:
others go as their bits."""

from typing import NamedTuple, Optional

import numpy as np

from .elements import OF_DTYPE

DEFAULT_STREAM = 1  # in place of 0, which the protocol does not allow


class Tensor(NamedTuple):
    address: int
    shape: tuple
    strides: Optional[tuple]  # in bytes; None where it is dense
    element: object
    stream: Optional[int]  # to be waited for; None: nothing


def describe(array, stream):
    """The interface of a DeviceArray that is ready in the order of a stream."""
    return {"shape": array.shape, "typestr": array.element.storage.str,
            "data": (array.pointer, False), "strides": None, "version": 3,
            "stream": stream or DEFAULT_STREAM}


def read(source):
    """Of an object with the interface. Raises a BufferError."""
    found = source.__cuda_array_interface__
    if found.get("mask") is not None:
        raise BufferError("expected an array without a mask, found one with it")
    dtype, shape = np.dtype(found["typestr"]), tuple(found["shape"])
    element = OF_DTYPE.get(dtype)
    if element is None:
        raise BufferError("expected elements that mx has, found typestr "
                          f"{found['typestr']!r}")
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
