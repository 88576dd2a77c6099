# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout of packed weights, #mxgpu.fragment_64x64. MODES duplicates
lib/Dialect/MXGPU/IR/OperandOrders.cpp, and test/Package/tiles.py compares the two. All other values
are derived from MODES."""

import math

from .scale_tiles import round_up

# Dimensions of a tile as (coordinate, divisor, size), outermost first. The index in a dimension is
# coordinate // divisor % size. The first three dimensions select a thread, and the others select an
# element of the thread.
MODES = (("row", 16, 4), ("row", 2, 8), ("column", 2, 4),
         ("column", 16, 4), ("column", 8, 2), ("row", 1, 2), ("column", 1, 2))
THREADS = math.prod(size for *_, size in MODES[:3])
VALUES = math.prod(size for *_, size in MODES[3:])
ROWS = math.prod(size for kind, _, size in MODES if kind == "row")
COLUMNS = math.prod(size for kind, _, size in MODES if kind == "column")

# All dimensions in packed order and in matrix order. FROM_TILES permutes from packed to matrix
# order.
_OF_TILES = [("row", ROWS), ("column", COLUMNS), *(mode[:2] for mode in MODES)]
_OF_MATRIX = sorted(_OF_TILES, key=lambda dim: (dim[0] != "row", -dim[1]))
FROM_TILES = tuple(_OF_TILES.index(dim) for dim in _OF_MATRIX)
# Numbers of dimensions that select a thread and an element, and numbers of row and column
# dimensions in matrix order.
OF_THREAD = (3, len(MODES) - 3)
OF_MATRIX = tuple(sum(dim[0] == kind for dim in _OF_MATRIX) for kind in ("row", "column"))


def fills_tiles(rows, columns):
    """Returns True if packed weights of this size need no padding."""
    return rows % ROWS == 0 and columns % COLUMNS == 0


def padded(rows, columns):
    """Returns the numbers of rows and columns in the tiles of a matrix."""
    return round_up(rows, ROWS), round_up(columns, COLUMNS)


def tile_shape(per_byte):
    """Returns the shape of a tile in an array with `per_byte` elements in a byte."""
    return THREADS, VALUES // per_byte


def packed_shape(shape, per_byte):
    """Returns the array shape of packed weights for a matrix of `shape`."""
    *batch, rows, columns = shape
    whole = padded(rows, columns)
    return (*batch, whole[0] // ROWS, whole[1] // COLUMNS, *tile_shape(per_byte))


def split_tiles(rows, columns, per_byte):
    """Returns the shape to which packed weights of whole tiles are expanded before FROM_TILES
    permutes their dimensions. If several elements share a byte, the last extent counts bytes."""
    *sizes, last = (size for *_, size in MODES)
    return rows // ROWS, columns // COLUMNS, *sizes, last // per_byte
