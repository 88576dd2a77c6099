# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where scales lie in the layout sf_128x4. The modes repeat those of
include/mx/Support/ScaleLayout.h, with which test/Package/tiles.py compares them;
everything else follows."""

import math

# Dimensions of a tile from the outermost to the innermost: the index in each is
# coordinate // divisor % size, where the coordinate is a row or a block.
MODES = (("row", 1, 32), ("row", 32, 4), ("block", 1, 4))
# Expert groups of a ragged reduction begin at multiples of this many elements.
REDUCTION_ALIGN = 128

SHAPE = tuple(size for _, _, size in MODES)
ROWS = math.prod(size for kind, _, size in MODES if kind == "row")
BLOCKS = math.prod(size for kind, _, size in MODES if kind == "block")

# All dimensions, in the order of a tensor of tiles and in that of the matrix. A tensor
# with those of the matrix is permuted by TO_TILES, one of tiles by FROM_TILES.
_OF_TILES = [("row", ROWS), ("block", BLOCKS), *(mode[:2] for mode in MODES)]
_OF_MATRIX = sorted(_OF_TILES, key=lambda dim: (dim[0] != "row", -dim[1]))
TO_TILES = tuple(_OF_MATRIX.index(dim) for dim in _OF_TILES)
FROM_TILES = tuple(_OF_TILES.index(dim) for dim in _OF_MATRIX)


def round_up(count, multiple):
    return -(-count // multiple) * multiple


def padded(rows, blocks):
    """Rows and blocks of the tiles that cover a matrix of scales."""
    return round_up(rows, ROWS), round_up(blocks, BLOCKS)


def are_whole(rows, blocks):
    """Whether a matrix of scales fills its tiles; where it does not, programs leave what is
    around it as it was."""
    return padded(rows, blocks) == (rows, blocks)


def row_tiles(rows, groups=None):
    """Rows of tiles; if expert groups divide the rows, each has its own, wherever it ends."""
    return -(-rows // ROWS) if groups is None else rows // ROWS + groups


def tiles_shape(rows, blocks, groups=None):
    """The shape of the tensor of tiles."""
    return (row_tiles(rows, groups), -(-blocks // BLOCKS), *SHAPE)


def split_shape(rows, blocks):
    """The shape of a matrix of whole tiles, whose dimensions TO_TILES permutes."""
    tiles = tiles_shape(rows, blocks)
    return tuple(tiles[dim] for dim in FROM_TILES)


def capacity(total, groups):
    """Elements of a ragged reduction that have room for any expert groups
    (docs/reference/Spec.md)."""
    return round_up(total + (REDUCTION_ALIGN - 1) * groups, REDUCTION_ALIGN)
