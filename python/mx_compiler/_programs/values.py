# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Descriptions of the arguments and results of entries, and checks of the values passed for them."""

import dataclasses
from typing import Any, Optional

import numpy as np

from .._arrays.elements import OF_DTYPE, OF_MLIR, Element, as_numpy
from .._runtime.errors import printable
from .._runtime.internal import internal

# Required alignment of arrays in bytes, because kernels load 16 bytes at once.
ALIGNMENT = 16


@dataclasses.dataclass(frozen=True)
class Value:
    """Argument or result of an entry."""
    name: str
    type: str  # MLIR type
    element: Element
    shape: Optional[tuple[Optional[int], ...]]  # None for a number; an extent is None if it is dynamic
    is_taken: bool = False  # True if the launch allocates the result and determines its shape
    where: str = ""  # prefix of messages

    @property
    def dtype(self) -> np.dtype:
        """Dtype of NumPy or ml_dtypes. For f4E2M1FN, it is uint8, with two elements in a byte."""
        return self.element.dtype

    @property
    def storage(self) -> np.dtype:
        """Dtype of the bits, such as uint16 for bfloat16. Dtypes of NumPy are unchanged."""
        return self.element.storage

    @property
    def is_number(self) -> bool:
        return self.shape is None

    def accepts(self, element: Any) -> bool:
        return element in (self.element, OF_DTYPE[self.storage])

    @internal
    def check(self, element, shape):
        """Raises TypeError or ValueError unless an array of this type and shape is valid."""
        if not self.accepts(element):
            raise TypeError(f"{self.where}: expected dtype {self._expected()} for "
                            f"{self.type}, found {element}")
        if len(shape) != len(self.shape):
            raise ValueError(f"{self.where}: expected {len(self.shape)} "
                             f"dimensions for {self.type}, found shape {tuple(shape)}")
        for index, (expected, found) in enumerate(zip(self.shape, shape)):
            if expected is not None and expected != found:
                raise ValueError(f"{self.where}: expected dimension {index} to be "
                                 f"{expected} for {self.type}, found {found} in "
                                 f"shape {tuple(shape)}")

    def _expected(self):
        bits = self.element.storage
        return str(self.element) if bits == self.dtype else (
            f"{self.element}, or {bits} for its bits,")

    @internal
    def refuse_address(self, address):
        """Raises the error for a misaligned address."""
        raise ValueError(f"{self.where}: expected memory aligned to "
                         f"{ALIGNMENT} bytes, found address {address:#x}: copy it")

    @internal
    def number(self, given):
        """Converts a number to an array of this Value's dtype. Raises TypeError for other objects,
        and ValueError if the number is out of range."""
        try:
            found = as_numpy(given)
        except Exception:
            found = np.asarray(None)
        kinds = "biu" if self.dtype.kind in "iu" else "biuf"
        same = found.dtype in (self.dtype, self.storage)
        if found.shape or not (same or found.dtype.kind in kinds):
            raise TypeError(f"{self.where}: expected a number of dtype "
                            f"{self.dtype} for {self.type}, found {given!r}")
        if self.dtype.kind in "iu" and found.dtype.kind in "biu":
            limits = np.iinfo(self.dtype)
            if not limits.min <= int(found) <= limits.max:
                raise ValueError(f"{self.where}: expected a number of "
                                 f"{limits.min} to {limits.max}, found {given}")
            return found.astype(self.dtype)
        return found.view(self.dtype) if same else found.astype(self.dtype)


    @internal
    def reader(self, kind):
        """Returns a function that converts numbers of the Python type `kind`. The function is
        `number`, or a faster function for common types."""
        if kind is float and self.dtype in (np.float32, np.float64):
            return float
        if kind is not int or self.dtype.kind not in "iu":
            return self.number
        limits = np.iinfo(self.dtype)
        low, high = int(limits.min), int(limits.max)
        return lambda x: x if low <= x <= high else self.number(x)


def read_value(info, where):
    """Returns the Value that an mxValueInfo or an mxcHostValueInfo describes. The latter lacks the
    field is_taken."""
    shape = tuple(None if extent < 0 else extent
                  for extent in info.shape[:info.rank])
    name, kind = info.name.decode(), printable(info.type.decode())
    return Value(name, kind, _read_element(kind, info.dtype.decode()),
                 None if info.is_number else shape, bool(getattr(info, "is_taken", 0)),
                 f"{where} '{printable(name)}'")


def _read_element(kind, dtype):
    """Returns the Element of an MLIR type. If the element type is unknown here, returns the Element
    of the runtime's `dtype`."""
    name = kind.partition("<")[2].partition(",")[0] or kind
    name = name.rstrip(">").rpartition("x")[2]
    element = OF_MLIR.get(name)
    bits = np.dtype(dtype)
    if element is None or element.storage.itemsize != bits.itemsize:
        return OF_DTYPE[bits]
    return element
