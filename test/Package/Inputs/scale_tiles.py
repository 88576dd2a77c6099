"""Compares mx_compiler's description of sf_128x4 with that of the compiler, HEADER, and
what follows from it with the addresses that the header's strides give."""

import re
import sys

import numpy as np

from mx_compiler._ops import scale_tiles

with open(sys.argv[1], encoding="utf-8") as file:
    header = file.read()


def find(pattern):
    found = re.search(pattern, header)
    assert found, f"expected {pattern} in {sys.argv[1]}"
    return found[1]


def modes(kind, name):
    text = find(rf"ScaleTileMode {name}\[\] = \{{(.*?)\}};")
    numbers = [tuple(map(int, mode)) for mode in re.findall(r"\{(\d+), (\d+), (\d+)\}", text)]
    assert numbers, text
    return [(kind, *mode) for mode in numbers]


wanted = modes("row", "kScaleRowModes") + modes("block", "kScaleBlockModes")
assert scale_tiles.MODES == tuple(mode[:3] for mode in wanted), wanted
assert scale_tiles.REDUCTION_ALIGN == int(find(r"kRaggedReductionAlign = (\d+);"))

rows, blocks = scale_tiles.padded(200, 9)
assert (rows, blocks) == (256, 12)
matrix = np.arange(rows * blocks).reshape(rows, blocks)
tiles = matrix.reshape(scale_tiles.split_shape(rows, blocks)).transpose(scale_tiles.TO_TILES)
assert tiles.shape == scale_tiles.tiles_shape(200, 9), tiles.shape
flat = tiles.reshape(2, 3, -1)
for row in range(rows):
    for block in range(blocks):
        coordinates = {"row": row, "block": block}
        place = sum(coordinates[kind] // divisor % size * stride
                    for kind, divisor, size, stride in wanted)
        found = flat[row // scale_tiles.ROWS, block // scale_tiles.BLOCKS, place]
        assert found == matrix[row, block], (row, block)
assert (tiles.transpose(scale_tiles.FROM_TILES).reshape(rows, blocks) == matrix).all()
