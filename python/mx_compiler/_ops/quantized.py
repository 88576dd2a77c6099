# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-scaled matrices: elements, scales, and their description."""

from typing import Any, NamedTuple, Optional

from .._runtime.internal import internal
from . import scale_tiles, weight_tiles
from .formats import Format
from .mlir_text import tensor

LAYOUTS = ("sf_128x4", "linear")


class Quantized(NamedTuple):
    """Block-scaled matrix, or a batch.

    elements  array of the matrix, K-major: blocks run along the last dimension, also
              for a matrix quantized along its columns, which is stored transposed.
              4-bit elements are stored two in a byte
    scales    array of the scales. `layout` "linear": the matrix's shape with the last
              dimension divided by the block. "sf_128x4": tiles,
              [batch..., ceil(rows / 128), ceil(columns / block / 4), 32, 4, 4]
    shape     of the matrix, in elements
    format    a Format
    layout    of the scales
    ragged    dimension divided by expert groups, "rows" or "reduction", or None
    groups    number of expert groups, or None
    global_scale  factor of NVFP4 applied on reading: an array without dimensions in
              device memory; else None
    packed    True if elements are ordered as by `pack_weights`, as an array of
              [batch..., ceil(rows / 64), ceil(columns / 64), 128, 32]"""
    elements: Any
    scales: Any
    shape: tuple
    format: Format
    layout: str = "sf_128x4"
    ragged: Optional[str] = None
    groups: Optional[int] = None
    global_scale: Any = None
    packed: bool = False

    @property
    @internal
    def about(self):
        """Key of all fields except the arrays."""
        return *self[2:7], self.global_scale is None, self.packed

    def __array__(self, *_, **__):
        """Raises TypeError: NumPy would convert the tuple of fields."""
        raise TypeError("an mx_compiler.Quantized is no array: mx_compiler.dequantize(q) gives "
                        "the matrix that it stands for, q.elements and q.scales its parts")

    def __repr__(self):
        ragged = f", {self.groups} expert groups of {self.ragged}" if self.groups else ""
        return (f"<mx_compiler.Quantized {self.format.name}{tuple(self.shape)}, scales "
                f"{self.layout}{ragged}{', packed' * self.packed}>")


def scales_shape(shape, format, layout, ragged=None, groups=None):
    """Returns the shape of the scales array of a matrix (docs/reference/Spec.md, Scales)."""
    *batch, rows, columns = shape
    blocks = columns // format.block
    if layout == "linear":
        return (*batch, rows, blocks)
    return (*batch, *scale_tiles.tiles_shape(rows, blocks,
                                             groups if ragged == "rows" else None))


def elements_shape(shape, format, is_packed=False):
    """Returns the shape of the elements array of a matrix."""
    if is_packed:
        return weight_tiles.packed_shape(shape, format.per_byte)
    *outer, last = shape
    return (*outer, last // format.per_byte)


def elements_type(dims, format, ragged=None, groups=None, is_packed=False):
    """Returns the MLIR type of the elements; None is a dynamic dimension."""
    if is_packed:
        return tensor(dims, format.elements, "#mxgpu.fragment_64x64")
    encoding = (f"#mx.ragged<groups = {groups}, align = {scale_tiles.REDUCTION_ALIGN}>"
                if ragged == "reduction" else "")
    return tensor(dims, format.elements, encoding)


def scales_type(dims, format, layout, ragged=None, groups=None):
    """Returns the MLIR type of the scales of elements of `dims`."""
    last = None if dims[-1] is None else dims[-1] // format.block
    encoding = ""
    if layout != "linear" or groups:
        of_groups = f", ragged = {ragged}, groups = {groups}" if groups else ""
        encoding = f"#mx.scale_layout<{layout}{of_groups}>"
    return tensor((*dims[:-1], last), format.scales, encoding)
