"""Compares the package's scale tiles (sf_128x4) and packed-weight tiles (fragment_64x64) with the constants in the
compiler's headers, and with the addresses derived from these constants.

RUN: %python %s %mx_src
"""

import pathlib
import re
import sys

import numpy as np

from mx_compiler._ops import scale_tiles, weight_tiles

HEADERS = {kind: pathlib.Path(sys.argv[1], path).read_text() for kind, path in (
    ("Scale", "include/mx/Support/ScaleLayout.h"), ("Weight", "include/mx/Support/OperandOrders.h"),
    ("Map", "lib/Dialect/MXGPU/IR/OperandOrders.cpp"))}


def find(kind, pattern):
    found = re.search(pattern, HEADERS[kind], re.DOTALL)
    assert found, f"expected {pattern} in {kind}"
    return found


def modes(kind, name):
    text = find("Scale", rf"ScaleTileMode {name}\[\] = \{{(.*?)\}};")[1]
    numbers = [tuple(map(int, mode)) for mode in re.findall(r"\{(\d+), (\d+), (\d+)\}", text)]
    assert numbers, text
    return [(kind, *mode) for mode in numbers]


wanted = modes("row", "kScaleRowModes") + modes("block", "kScaleBlockModes")
assert scale_tiles.MODES == tuple(mode[:3] for mode in wanted), wanted
assert scale_tiles.REDUCTION_ALIGN == int(find("Scale", r"kRaggedReductionAlign = (\d+);")[1])

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

wanted = [int(find("Weight", rf"kWeightTile{name} = (\d+)[,;]")[1]) for name in ("Rows", "Columns", "Threads", "Values")]
assert wanted == [weight_tiles.ROWS, weight_tiles.COLUMNS, weight_tiles.THREADS,
                  weight_tiles.VALUES], wanted
thread, value = np.meshgrid(*map(np.arange, wanted[2:]), indexing="ij")
row, column = (eval(f"({text})".replace(".floorDiv", "//"), {"thread": thread, "value": value})
               for text in find("Map", r"AffineExpr row = (.*?);\s*AffineExpr column = (.*?);").groups())
assert np.unique(row * wanted[1] + column).size == wanted[0] * wanted[1]

rows, columns = weight_tiles.padded(130, 96)
assert (rows, columns) == (192, 128)
matrix = np.arange(rows * columns).reshape(rows, columns)
packed = matrix.reshape(3, 64, 2, 64)[:, row, :, column].transpose(2, 3, 0, 1)
# 4-bit codes: the two columns of a byte stay together.
for per_byte in (1, 2):
    given = packed[..., ::per_byte]
    assert given.shape == weight_tiles.packed_shape((130, 96), per_byte), given.shape
    tiles = given.reshape(weight_tiles.split_tiles(rows, columns, per_byte))
    found = tiles.transpose(weight_tiles.FROM_TILES).reshape(rows, -1)
    assert (found == matrix[:, ::per_byte]).all(), per_byte
assert [weight_tiles.fills_tiles(*size) for size in ((64, 128), (65, 64), (64, 96))] == [
    True, False, False]
