# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed weights as PyTorch tensors, in the fragment order of matmul threads."""

import torch
from torch import Tensor

from ..._arrays.elements import OF_MLIR
from ..._ops import checks as check
from ..._ops import pack_weights as packing
from ..._ops import weight_tiles
from ..._ops.formats import find_format
from ..._ops.quantized import elements_shape
from . import tensors
from .checks import check_names, check_tensor


def pack_weights(elements: Tensor, format: str) -> Tensor:
    """Packs the elements of weights in the fragment order of matmul threads
    (docs/reference/Formats.md), for matmuls with packed=True. Scales are unchanged.

    elements  elements of `format` from a quantizer, [..., N, K]; N and K are multiples of
              64

    Returns [..., N / 64, K / 64, 128, 32] in the same dtype, or [..., 128, 16] for 4-bit elements.
    Not differentiable. Raises TypeError or ValueError. Errors name the argument."""
    check_tensor("elements", elements)
    check_names(format=format)
    return torch.ops.mx.pack_weights(elements, format)


def unpack_weights(elements: Tensor, format: str) -> Tensor:
    """Reverses pack_weights. Returns the original bytes."""
    check_tensor("elements", elements)
    check_names(format=format)
    return torch.ops.mx.unpack_weights(elements, format)


def _find(elements, format, is_packed):
    """Returns the format, and the shape of the weights in elements."""
    element, _ = check.matrix("elements", elements, tuple(OF_MLIR))
    found = find_format(format)
    if not found.has_matmul:
        raise ValueError(f"format: expected a format that supports matmuls, found {format}")
    if element.mlir not in (found.elements, "i8", "ui8"):
        raise TypeError(f"elements: expected {found.elements} for {found.name}, or their bits "
                        f"as torch.uint8, found {element.mlir}")
    if is_packed:
        tensors.check_packed("elements", elements, found)
    shape = tensors.matrix_shape(elements.shape, found, is_packed)
    rows, columns = shape[-2:]
    if not is_packed and not weight_tiles.fills_tiles(rows, columns):
        raise ValueError(
            f"elements: expected multiples of {weight_tiles.ROWS} rows and "
            f"{weight_tiles.COLUMNS} columns (N and K), found {rows} and {columns}: pass "
            "the unpacked weights to matmuls")
    return found, shape


def _define(name, is_packed):
    @torch.library.custom_op(f"mx::{name}", mutates_args=())
    def operator(elements: Tensor, format: str) -> Tensor:
        found, shape = _find(elements, format, is_packed)
        bits = tensors.plain(elements).view(tensors.dtype_of(found.elements))
        return packing.rearrange(bits, shape, found, is_packed).view(elements.dtype)

    @operator.register_fake
    def _(elements, format):
        found, shape = _find(elements, format, is_packed)
        return elements.new_empty(elements_shape(shape, found, not is_packed))


_define("pack_weights", is_packed=False)
_define("unpack_weights", is_packed=True)
