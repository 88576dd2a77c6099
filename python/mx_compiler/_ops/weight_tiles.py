# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layout of packed weights, #mxgpu.fragment_64x64. The modes duplicate
lib/Dialect/MXGPU/IR/OperandOrders.cpp, and test/Package/tiles.py compares the two; everything
else is derived."""

import math

from .scale_tiles import round_up

# Dimensions of a tile, outermost first: the index in each is coordinate // divisor % size. The
# first three select a thread, the rest an element of the thread.
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
# Number of modes that select a thread and an element, and number of row and column dimensions.
OF_THREAD = (3, len(MODES) - 3)
OF_MATRIX = tuple(sum(dim[0] == kind for dim in _OF_MATRIX) for kind in ("row", "column"))


def fills_tiles(rows, columns):
    """Returns True if packed weights of that size need no padding."""
    return rows % ROWS == 0 and columns % COLUMNS == 0


def padded(rows, columns):
    """Returns the rows and columns of the tiles that cover a matrix."""
    return round_up(rows, ROWS), round_up(columns, COLUMNS)


def tile_shape(per_byte):
    """Returns the array shape of a tile."""
    return THREADS, VALUES // per_byte


def packed_shape(shape, per_byte):
    """Returns the array shape of packed weights of `shape`."""
    *batch, rows, columns = shape
    whole = padded(rows, columns)
    return (*batch, whole[0] // ROWS, whole[1] // COLUMNS, *tile_shape(per_byte))


def split_tiles(rows, columns, per_byte):
    """Returns the dimensions that FROM_TILES permutes, for packed weights of whole tiles. The
    last dimension counts bytes if several elements share a byte."""
    *sizes, last = (size for *_, size in MODES)
    return rows // ROWS, columns // COLUMNS, *sizes, last // per_byte
