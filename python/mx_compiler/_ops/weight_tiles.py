# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where packed weights lie: #mxgpu.fragment_64x64. The modes repeat the formula of
lib/Dialect/MXGPU/IR/OperandOrders.cpp, with which test/Package/tiles.py compares
them; everything else follows."""

import math

from .scale_tiles import round_up

# Dimensions of a tile from the outermost to the innermost: the index in each is
# coordinate // divisor % size. The first three are of threads, the others of the
# elements of a thread.
MODES = (("row", 16, 4), ("row", 2, 8), ("column", 2, 4),
         ("column", 16, 4), ("column", 8, 2), ("row", 1, 2), ("column", 1, 2))
THREADS = math.prod(size for *_, size in MODES[:3])
VALUES = math.prod(size for *_, size in MODES[3:])
ROWS = math.prod(size for kind, _, size in MODES if kind == "row")
COLUMNS = math.prod(size for kind, _, size in MODES if kind == "column")

# All dimensions, in the order of packed weights and in that of the matrix. FROM_TILES
# permutes a tensor of tiles to that of the matrix.
_OF_TILES = [("row", ROWS), ("column", COLUMNS), *(mode[:2] for mode in MODES)]
_OF_MATRIX = sorted(_OF_TILES, key=lambda dim: (dim[0] != "row", -dim[1]))
FROM_TILES = tuple(_OF_TILES.index(dim) for dim in _OF_MATRIX)
# How many of them are of threads and of their elements, and of rows and of columns.
OF_THREAD = (3, len(MODES) - 3)
OF_MATRIX = tuple(sum(dim[0] == kind for dim in _OF_MATRIX) for kind in ("row", "column"))


def fills_tiles(rows, columns):
    """Whether packed weights of that size have no padding."""
    return rows % ROWS == 0 and columns % COLUMNS == 0


def padded(rows, columns):
    """Rows and columns of the tiles that cover a matrix."""
    return round_up(rows, ROWS), round_up(columns, COLUMNS)


def tile_shape(per_byte):
    """Of the array of a tile."""
    return THREADS, VALUES // per_byte


def packed_shape(shape, per_byte):
    """Of the array of packed weights of `shape`."""
    *batch, rows, columns = shape
    whole = padded(rows, columns)
    return (*batch, whole[0] // ROWS, whole[1] // COLUMNS, *tile_shape(per_byte))


def split_tiles(rows, columns, per_byte):
    """Of packed weights of whole tiles: the dimensions that FROM_TILES permutes. The
    last one is of elements that share a byte where several do."""
    *sizes, last = (size for *_, size in MODES)
    return rows // ROWS, columns // COLUMNS, *sizes, last // per_byte
