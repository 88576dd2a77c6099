# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types and their names in MLIR, NumPy, ml_dtypes, DLPack and PyTorch."""

from typing import Any, NamedTuple, Optional

import ml_dtypes
import numpy as np


class Element(NamedTuple):
    mlir: str
    dtype: np.dtype  # NumPy dtype of an array
    code: int  # DLDataTypeCode
    bits: int
    lanes: int = 1
    # True if items of `dtype` are wider than elements.
    padded: bool = False
    torch: Optional[str] = None  # PyTorch dtype, or None

    @property
    def storage(self):
        """The dtype itself if it is built into NumPy, else the unsigned integer of its size."""
        native = self.dtype.kind in "biuf" and self.dtype.isbuiltin == 1
        return self.dtype if native else np.dtype(f"u{self.dtype.itemsize}")

    @property
    def is_packed(self):
        """True if an item of `dtype` contains several elements."""
        return self.lanes > 1

    def __str__(self):
        return self.mlir if self.is_packed else self.dtype.name


def _element(mlir, dtype, code, bits, **others):
    return Element(mlir, np.dtype(dtype), code, bits, **others)


ELEMENTS = (
    _element("i1", np.bool_, 6, 8, torch="bool"),
    _element("i8", np.int8, 0, 8, torch="int8"),
    _element("i16", np.int16, 0, 16, torch="int16"),
    _element("i32", np.int32, 0, 32, torch="int32"),
    _element("i64", np.int64, 0, 64, torch="int64"),
    _element("ui8", np.uint8, 1, 8, torch="uint8"),
    _element("ui16", np.uint16, 1, 16, torch="uint16"),
    _element("ui32", np.uint32, 1, 32, torch="uint32"),
    _element("ui64", np.uint64, 1, 64, torch="uint64"),
    _element("f16", np.float16, 2, 16, torch="float16"),
    _element("f32", np.float32, 2, 32, torch="float32"),
    _element("f64", np.float64, 2, 64, torch="float64"),
    _element("bf16", ml_dtypes.bfloat16, 4, 16, torch="bfloat16"),
    _element("f8E4M3FN", ml_dtypes.float8_e4m3fn, 10, 8, torch="float8_e4m3fn"),
    _element("f8E5M2", ml_dtypes.float8_e5m2, 12, 8, torch="float8_e5m2"),
    _element("f8E8M0FNU", ml_dtypes.float8_e8m0fnu, 14, 8,
             torch="float8_e8m0fnu"),
    _element("f6E2M3FN", ml_dtypes.float6_e2m3fn, 15, 6, padded=True),
    _element("f6E3M2FN", ml_dtypes.float6_e3m2fn, 16, 6, padded=True),
    # A byte contains two elements, the first in the low bits. In ml_dtypes, a byte contains one.
    _element("f4E2M1FN", np.uint8, 17, 4, lanes=2, torch="float4_e2m1fn_x2"),
)

OF_MLIR = {element.mlir: element for element in ELEMENTS}
OF_MLIR["index"] = OF_MLIR["i64"]
OF_DTYPE = {e.dtype: e for e in ELEMENTS if not e.is_packed}
OF_TORCH = {f"torch.{e.torch}": e for e in ELEMENTS if e.torch}
OF_DLPACK = {(e.code, e.bits): e for e in ELEMENTS}
FP4 = OF_MLIR["f4E2M1FN"]
# Dtype of ml_dtypes with one element per byte.
UNPACKED_FP4 = np.dtype(ml_dtypes.float4_e2m1fn)
_OF_NAME = {**{e.dtype.name: e for e in OF_DTYPE.values()}, **OF_MLIR,
            **{e.torch: e for e in ELEMENTS if e.torch},
            UNPACKED_FP4.name: FP4}


def find_element(dtype):
    """Returns the Element of a dtype: an MLIR name ("f8E4M3FN"), a dtype of NumPy, ml_dtypes or
    PyTorch, or the name of a dtype. Raises TypeError."""
    if isinstance(dtype, Element):
        return dtype
    found = OF_TORCH.get(str(dtype)) if type(dtype).__module__ == "torch" else (
        _OF_NAME.get(dtype) if isinstance(dtype, str) else None)
    if found is None:
        try:
            given = None if dtype is None else np.dtype(dtype)
        except TypeError:
            given = None
        if given is not None and not given.isnative:
            raise TypeError("expected numbers in the byte order of this machine, found "
                            f"{given.str}: convert them, for example with x.astype("
                            f"{given.newbyteorder('=').name!r})")
        found = FP4 if given == UNPACKED_FP4 else OF_DTYPE.get(given)
    if found is None:
        raise TypeError(f"expected a numeric dtype, found {dtype!r}; supported are "
                        + ", ".join(OF_MLIR) + ", and the corresponding dtypes of NumPy, "
                        "ml_dtypes and PyTorch")
    return found


def as_numpy(x):
    """Converts to a NumPy array. Raises TypeError for a masked array, because its mask would be
    lost."""
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError("expected an array without a mask, found a "
                        f"numpy.ma.{type(x).__name__}: pass x.filled(value)")
    return np.asarray(x)


def normalize_bools(array):
    """Returns a bool array with bytes 0 and 1. NumPy and PyTorch treat any nonzero byte as
    true and do not convert it to 1."""
    codes = array.view(np.uint8)
    return array if codes.max(initial=0) <= 1 else codes != 0


def pack_fp4(array: Any) -> np.ndarray:
    """Packs an array of ml_dtypes.float4_e2m1fn along the last dimension. Its extent must be even.
    Each byte of the uint8 result contains two elements, the first in the low bits. Raises TypeError or
    ValueError."""
    array = as_numpy(array)
    if array.dtype != UNPACKED_FP4:
        raise TypeError(f"expected an array of ml_dtypes.float4_e2m1fn, found {array.dtype}")
    codes = np.ascontiguousarray(array).view(np.uint8)
    if not array.ndim or array.shape[-1] % 2:
        raise ValueError("expected an even number of float4_e2m1fn in the last "
                         f"dimension, found shape {array.shape}")
    return (codes[..., 0::2] & 15) | (codes[..., 1::2] << 4)


def unpack_fp4(array: Any) -> np.ndarray:
    """Unpacks the result of pack_fp4 to an array of ml_dtypes.float4_e2m1fn. Its last extent is
    twice as large. Raises TypeError unless the array is uint8 and at least one-dimensional."""
    bits = as_numpy(array)
    if bits.dtype != np.uint8 or not bits.ndim:
        raise TypeError("expected a uint8 array of rank at least 1, found "
                        f"{bits.dtype} of shape {bits.shape}")
    codes = np.stack([bits & 15, bits >> 4], axis=-1)
    return codes.reshape(*bits.shape[:-1], 2 * bits.shape[-1]).view(UNPACKED_FP4)
