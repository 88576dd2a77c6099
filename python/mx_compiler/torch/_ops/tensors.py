# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion between PyTorch tensors and mx.Quantized.

PyTorch stores blocked scales (SWIZZLE_32_4_4) as a matrix with rows and columns padded to 128 and 4.
mx stores the same bytes as tiles."""

import torch
from torch.compiler import is_compiling

from ..._arrays.elements import OF_MLIR
from ..._programs.values import ALIGNMENT
from ..._ops import scale_tiles, weight_tiles
from ..._ops.formats import find_format
from ..._ops.quantized import Quantized, scales_shape
from ..._ops.scale_tiles import capacity


def operator(name):
    """Declares the operator mx::NAME for a kernel that accepts any strides (`plain`). torch.compile
    then passes views of computed tensors without changing their strides, as for its own matmuls."""
    return torch.library.custom_op(f"mx::{name}", mutates_args=(),
                                   tags=(torch.Tag.flexible_layout,))


def define(name, schema, kernel, fake):
    """Declares the operator mx::NAME like `operator`, for a kernel with arguments in the order of
    `schema`."""
    definition = torch.library.custom_op(f"mx::{name}", kernel, mutates_args=(), schema=schema,
                                         tags=(torch.Tag.flexible_layout,))
    definition.register_fake(fake)
    return definition


def plain(x):
    """Returns the tensor in the form that programs require: dense, aligned and detached.
    Tensors are detached because the operators define gradients. They are aligned because a gradient
    may be a part of another tensor. Callers cannot align such a gradient."""
    if x is None:
        return None
    if x.requires_grad and torch.is_grad_enabled():
        x = x.detach()
    if x.is_contiguous() and not x.data_ptr() % ALIGNMENT:
        return x
    return x.clone(memory_format=torch.contiguous_format)


def pad_rows(x, rows):
    """Pads x with zeros to `rows` rows, which changes no sum over rows and no scale of a whole block."""
    missing = rows - x.shape[0]
    return torch.nn.functional.pad(x, (0, 0, 0, missing)) if missing else x


def without_none(backward, weight):
    """Returns a kernel that returns an empty tensor instead of each None of `backward`. The first result has
    the type of the first argument, and others have the type of the argument at index `weight`."""
    def kernel(*arguments):
        like = (arguments[0], *[arguments[weight]] * 2)
        return tuple(one.new_empty(0) if x is None else x for x, one in zip(backward(*arguments), like))
    return kernel


_MOST_CHECKED = 4096


def once(check):
    """Returns a function that calls `check` unless equal arguments passed before, because functions are
    called repeatedly with the same types and shapes. `check` must read only the dtype and shape of
    tensors, and refuse values that are not hashable. The first argument must be a tensor if any is."""
    right = set()

    def check_once(*arguments):
        if is_compiling():  # a trace would depend on earlier calls
            return check(*arguments)
        key = _key(arguments) if isinstance(arguments[0], torch.Tensor) else arguments
        try:
            if key in right:
                return
        except TypeError:  # not hashable
            return check(*arguments)
        check(*arguments)
        if len(right) >= _MOST_CHECKED:
            right.clear()
        right.add(key)
    return check_once


def _key(x):
    """Returns a key of a tuple of values, tensors and such tuples."""
    return tuple([(x.dtype, x.shape) if isinstance(x, torch.Tensor) else
                  _key(x) if isinstance(x, (tuple, list)) else x for x in x])


def dtype_of(mlir):
    """Returns PyTorch's dtype of an element type, or the dtype of its bits if there is none."""
    element = OF_MLIR[mlir]
    name = element.torch or element.storage.name
    return getattr(torch, name)


def layout_of(blocked):
    return "sf_128x4" if blocked else "linear"


def from_tiles(scales, blocked):
    """Reshapes tiles of scales to PyTorch's matrix. Returns other scales unchanged."""
    if not blocked:
        return scales
    *batch, rows, columns = scales.shape[:-3]
    return scales.view(*batch, rows * scale_tiles.ROWS, columns * scale_tiles.BLOCKS)


def shapes(shape, format, blocked, ragged=None, groups=None):
    """Returns the shapes of elements and scales of a matrix of `shape` with blocks along the
    last dimension. Accepts symbolic sizes."""
    *outer, last = shape
    scales = scales_shape(shape, format, layout_of(blocked), ragged, groups)
    if blocked:
        *batch, rows, columns = scales[:-3]
        scales = (*batch, rows * scale_tiles.ROWS, columns * scale_tiles.BLOCKS)
    return (*outer, last // format.per_byte), tuple(scales)


def scales_shapes(shape, format, blocked, ragged=None, groups=None):
    """Returns the shapes that the scales of such a matrix may have. Blocked scales of a single matrix
    may be one-dimensional, because PyTorch creates them in this form."""
    wanted = shapes(shape, format, blocked, ragged, groups)[1]
    return (wanted, (wanted[0] * wanted[1],)) if blocked and len(wanted) == 2 else (wanted,)


def make_empty(x, shape, format, blocked, ragged=None, groups=None):
    """Returns uninitialized elements and scales on the device of `x`."""
    elements, scales = shapes(shape, format, blocked, ragged, groups)
    return (x.new_empty(elements, dtype=dtype_of(format.elements)),
            x.new_empty(scales, dtype=dtype_of(format.scales)))


def transposed_shape(shape, groups=None):
    """Returns the shape of the transposed result if a matrix is quantized along its rows."""
    *batch, rows, columns = shape
    return (*batch, columns, rows if groups is None else capacity(rows, groups))


def quantized(name, elements, scales, format, blocked, ragged=None, groups=None,
              global_scale=None, is_packed=False):
    """Returns an mx.Quantized of PyTorch tensors. Raises ValueError. The error names the
    tensors."""
    format = find_format(format)
    elements, scales = plain(elements), plain(scales)
    if elements.dim() < 2:
        raise ValueError(f"{name}: expected 2 dimensions or more, found shape "
                         f"{tuple(elements.shape)}")
    if is_packed:
        check_packed(name, elements, format)
    shape = matrix_shape(elements.shape, format, is_packed)
    tiles = scales_shape(shape, format, layout_of(blocked), ragged, groups)
    known = scales_shapes(shape, format, blocked, ragged, groups)
    if tuple(scales.shape) not in known:
        raise ValueError(
            f"scale_{name}: expected shape {known[0]} of "
            f"{'blocked (SWIZZLE_32_4_4)' if blocked else 'plain'} scales for "
            f"{name} of shape {tuple(elements.shape)}, found {tuple(scales.shape)}")
    return Quantized(typed(elements, format.elements), typed(
        scales.view(tiles), format.scales), shape, format, layout_of(blocked), ragged,
        groups, plain(global_scale), is_packed)


def matrix_shape(elements, format, is_packed=False):
    """Returns the shape, in elements, of a matrix with an elements array of shape `elements`.
    Packed weights consist of whole tiles."""
    if is_packed:
        *batch, rows, columns = elements[:-2]
        return (*batch, rows * weight_tiles.ROWS, columns * weight_tiles.COLUMNS)
    *outer, last = elements
    return (*outer, last * (1 if format is None else find_format(format).per_byte))


def check_packed(name, elements, format):
    """Raises ValueError unless the shape is one of packed weights of `format`."""
    shape, tile = tuple(elements.shape), weight_tiles.tile_shape(format.per_byte)
    if len(shape) < 4 or shape[-2:] != tile:
        raise ValueError(f"{name}: expected packed weights of {format.name}, [..., N / 64, "
                         f"K / 64, {tile[0]}, {tile[1]}], found shape {shape}: "
                         "mx_compiler.torch.pack_weights returns them")


def typed(x, mlir):
    """Views bytes as an element type."""
    wanted = dtype_of(mlir)
    return x.view(wanted) if x.dtype == torch.uint8 and wanted != x.dtype else x
