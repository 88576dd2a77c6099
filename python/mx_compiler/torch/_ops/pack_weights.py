# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed weights as tensors of PyTorch: elements in the order in which the threads of a
matmul hold them. Nothing is compiled: dimensions of tiles change places."""

import torch
from torch import Tensor

from ..._arrays.elements import OF_MLIR
from ..._ops import checks as check
from ..._ops import weight_tiles
from ..._ops.formats import find_format
from .checks import check_names, check_tensor
from .tensors import check_packed, matrix_shape


def pack_weights(elements, format):
    """Elements of weights in the order in which the threads of a matmul hold them
    (docs/reference/Formats.md), for matmuls with packed=True. Scales stay as they are.

    elements  [..., N, K] of `format`, as quantizers give them: N and K multiples of 64

    Returns [..., N / 64, K / 64, 128, 32], of 4 bits 16 bytes for 32, in the same dtype.
    No gradient goes through. Raises a TypeError or ValueError that names the argument."""
    check_tensor("elements", elements)
    check_names(format=format)
    return torch.ops.mx.pack_weights(elements, format)


def unpack_weights(elements, format):
    """What pack_weights was given, of what it returned: the same bytes."""
    check_tensor("elements", elements)
    check_names(format=format)
    return torch.ops.mx.unpack_weights(elements, format)


def _find(elements, format):
    element, _ = check.matrix("elements", elements, tuple(OF_MLIR))
    found = find_format(format)
    if not found.has_matmul:
        raise ValueError(f"format: expected one that supports matmuls, found {format}")
    if element.mlir not in (found.elements, "i8", "ui8"):
        raise TypeError(f"elements: expected {found.elements}, as {found.name} has, or their "
                        f"bits, torch.uint8, found {element.mlir}")
    return found


def _check_plain(elements, format):
    found = _find(elements, format)
    *_, rows, columns = matrix_shape(elements.shape, found)
    if not weight_tiles.fills_tiles(rows, columns):
        raise ValueError(
            f"elements: expected multiples of {weight_tiles.ROWS} rows and "
            f"{weight_tiles.COLUMNS} columns (N and K), to be packed, found {rows} and "
            f"{columns}: matmuls take them as they are")
    return found


@torch.library.custom_op("mx::pack_weights", mutates_args=())
def _pack(elements: Tensor, format: str) -> Tensor:
    found = _check_plain(elements, format)
    *batch, rows, columns = matrix_shape(elements.shape, found)
    return _turn(elements, batch, weight_tiles.split_matrix(rows, columns, found.per_byte),
                 weight_tiles.TO_TILES,
                 weight_tiles.packed_shape((rows, columns), found.per_byte))


@torch.library.custom_op("mx::unpack_weights", mutates_args=())
def _unpack(elements: Tensor, format: str) -> Tensor:
    found = _find(elements, format)
    check_packed("elements", elements, found)
    *batch, rows, columns = matrix_shape(elements.shape, found, is_packed=True)
    return _turn(elements, batch, weight_tiles.split_tiles(rows, columns, found.per_byte),
                 weight_tiles.FROM_TILES, (rows, columns // found.per_byte))


def _turn(elements, batch, split, order, shape):
    """The dimensions after those of a batch, divided as `split` says, in another order,
    as `shape`. Of bytes: PyTorch copies no elements that lie two to a byte."""
    order = (*range(len(batch)), *(len(batch) + dim for dim in order))
    bits = elements.contiguous().view(torch.uint8).view(*batch, *split)
    turned = bits.permute(order).clone(memory_format=torch.contiguous_format)
    return turned.view(*batch, *shape).view(elements.dtype)


@_pack.register_fake
def _(elements, format):
    found = _check_plain(elements, format)
    return elements.new_empty(weight_tiles.packed_shape(
        matrix_shape(elements.shape, found), found.per_byte))


@_unpack.register_fake
def _(elements, format):
    found = _find(elements, format)
    check_packed("elements", elements, found)
    *outer, columns = matrix_shape(elements.shape, found, is_packed=True)
    return elements.new_empty((*outer, columns // found.per_byte))
