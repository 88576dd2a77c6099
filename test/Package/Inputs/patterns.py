"""Arrays of all types with bits of all kinds."""

import ml_dtypes
import numpy as np


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def make(rng, mlir, name):
    """Bits of all kinds, NaNs too."""
    columns = 4 if mlir == "f4E2M1FN" else 8
    top = 2 if mlir == "i1" else 64 if mlir.startswith("f6E") else 256
    size = dtype_of(name).itemsize
    return rng.integers(0, top, (5, columns * size), dtype="u1").view(dtype_of(name))


def bits(array):
    return np.ascontiguousarray(array).view("u1").tobytes()
