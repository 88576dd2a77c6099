# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scale layout sf_128x4. MODES duplicates include/mx/Support/ScaleLayout.h, and
test/Package/tiles.py compares the two. All other values are derived from MODES."""

import math

# Dimensions of a tile as (coordinate, divisor, size), outermost first. The index in a dimension is
# coordinate // divisor % size, and the coordinate is a row or a block.
MODES = (("row", 1, 32), ("row", 32, 4), ("block", 1, 4))
# Alignment of expert groups in a ragged reduction, in elements.
REDUCTION_ALIGN = 128

SHAPE = tuple(size for _, _, size in MODES)
ROWS = math.prod(size for kind, _, size in MODES if kind == "row")
BLOCKS = math.prod(size for kind, _, size in MODES if kind == "block")

# All dimensions in tile order and in matrix order. TO_TILES permutes from matrix order to tile
# order, and FROM_TILES is the inverse permutation.
_OF_TILES = [("row", ROWS), ("block", BLOCKS), *(mode[:2] for mode in MODES)]
_OF_MATRIX = sorted(_OF_TILES, key=lambda dim: (dim[0] != "row", -dim[1]))
TO_TILES = tuple(_OF_MATRIX.index(dim) for dim in _OF_TILES)
FROM_TILES = tuple(_OF_TILES.index(dim) for dim in _OF_MATRIX)


def round_up(count, multiple):
    return -(-count // multiple) * multiple


def padded(rows, blocks):
    """Returns the numbers of rows and blocks in the tiles of a scale matrix."""
    return round_up(rows, ROWS), round_up(blocks, BLOCKS)


def are_whole(rows, blocks):
    """Returns True if a scale matrix fills its tiles. Otherwise programs do not write the
    padding."""
    return padded(rows, blocks) == (rows, blocks)


def row_tiles(rows, groups=None):
    """Returns the number of tiles along the rows. Each expert group along the rows has its own
    tiles."""
    return -(-rows // ROWS) if groups is None else rows // ROWS + groups


def tiles_shape(rows, blocks, groups=None):
    """Returns the shape of the tensor of tiles."""
    return (row_tiles(rows, groups), -(-blocks // BLOCKS), *SHAPE)


def split_shape(rows, blocks):
    """Returns the shape to which a matrix of whole tiles is expanded before TO_TILES permutes its
    dimensions."""
    tiles = tiles_shape(rows, blocks)
    return tuple(tiles[dim] for dim in FROM_TILES)


def capacity(total, groups):
    """Returns the size of a ragged reduction that fits any expert groups
    (docs/reference/Spec.md)."""
    return round_up(total + (REDUCTION_ALIGN - 1) * groups, REDUCTION_ALIGN)
