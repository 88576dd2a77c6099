# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-scaled matrices: elements, scales, and their description."""

from typing import Any, NamedTuple, Optional

from .._runtime.internal import internal
from . import scale_tiles, weight_tiles
from .formats import Format
from .mlir_text import tensor

LAYOUTS = ("sf_128x4", "linear")
# Adjacent rows in the layout mn_major.
_MN_MAJOR_ROWS = 4


class Quantized(NamedTuple):
    """Block-scaled matrix, or a batch of them.

    elements  array of the elements. Blocks run along the last dimension; a matrix that is
              quantized along its columns is stored transposed. A byte contains two
              4-bit elements
    scales    array of the scales. For the layout "linear", its shape is that of the
              matrix with the last dimension divided by the block size. For "sf_128x4",
              the array consists of tiles and has the shape
              [batch..., ceil(rows / 128), ceil(columns / block / 4), 32, 4, 4]
    shape     shape of the matrix in elements
    format    a Format
    layout    layout of the scales
    ragged    dimension divided by expert groups, "rows" or "reduction", or None
    groups    number of expert groups, or None
    global_scale  for NVFP4, the factor of the dequantized values: an array without
              dimensions in device memory; None for other formats
    packed    True if the elements are in the order of `pack_weights`, in an array of
              shape [batch..., ceil(rows / 64), ceil(columns / 64), 128, 32]"""
    elements: Any
    scales: Any
    shape: tuple[int, ...]
    format: Format
    layout: str = "sf_128x4"
    ragged: Optional[str] = None
    groups: Optional[int] = None
    global_scale: Any = None
    packed: bool = False

    @property
    @internal
    def about(self):
        """Key with all fields except the arrays."""
        return *self[2:7], self.global_scale is None, self.packed

    def __array__(self, *_, **__):
        """Raises TypeError, because NumPy would convert the tuple of fields to an array."""
        raise TypeError("an mx_compiler.Quantized is not an array: mx_compiler.dequantize(q) "
                        "returns its matrix, and q.elements and q.scales are its parts")

    def __repr__(self):
        ragged = f", {self.groups} expert groups of {self.ragged}" if self.groups else ""
        return (f"<mx_compiler.Quantized {self.format.name}{tuple(self.shape)}, scales "
                f"{self.layout}{ragged}{', packed' * self.packed}>")


def scales_shape(shape, format, layout, ragged=None, groups=None):
    """Returns the shape of the scales array of a matrix (docs/reference/Spec.md, Scales)."""
    *batch, rows, columns = shape
    rows, blocks = -(-rows // format.rows), columns // format.block
    if layout == "linear":
        return (*batch, rows, blocks)
    if layout == "mn_major":
        return (*batch, blocks, -(-rows // _MN_MAJOR_ROWS), _MN_MAJOR_ROWS)
    return (*batch, *scale_tiles.tiles_shape(rows, blocks,
                                             groups if ragged == "rows" else None))


def elements_shape(shape, format, is_packed=False):
    """Returns the shape of the elements array of a matrix."""
    if is_packed:
        return weight_tiles.packed_shape(shape, format.per_byte)
    *outer, last = shape
    return (*outer, last // format.per_byte)


def elements_type(dims, format, ragged=None, groups=None, is_packed=False):
    """Returns the MLIR type of the elements. A dimension of None is dynamic."""
    if is_packed:
        return tensor(dims, format.elements, "#mxgpu.fragment_64x64")
    encoding = (f"#mx.ragged<groups = {groups}, align = {scale_tiles.REDUCTION_ALIGN}>"
                if ragged == "reduction" else "")
    return tensor(dims, format.elements, encoding)


def scales_type(dims, format, layout, ragged=None, groups=None):
    """Returns the MLIR type of the scales of a matrix with dimensions `dims`."""
    *batch, rows, last = dims
    last = None if last is None else last // format.block
    rows = None if rows is None else -(-rows // format.rows)
    encoding = ""
    if layout != "linear" or groups:
        of_groups = f", ragged = {ragged}, groups = {groups}" if groups else ""
        encoding = f"#mx.scale_layout<{layout}{of_groups}>"
    return tensor((*batch, rows, last), format.scales, encoding)
