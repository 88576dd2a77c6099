"""Compares mx_compiler's description of fragment_64x64 with the formula of the compiler's
HEADER, of which the text is read."""

import re
import sys

import numpy as np

from mx_compiler._ops import weight_tiles

with open(sys.argv[1], encoding="utf-8") as file:
    header = file.read()


def find(pattern):
    found = re.search(pattern, header, re.DOTALL)
    assert found, f"expected {pattern} in {sys.argv[1]}"
    return found


def constant(name):
    return int(find(rf"{name} = (\d+);")[1])


wanted = [constant(f"kWeightTile{name}") for name in ("Rows", "Columns", "Threads", "Values")]
assert wanted == [weight_tiles.ROWS, weight_tiles.COLUMNS, weight_tiles.THREADS,
                  weight_tiles.VALUES], wanted
thread, value = np.meshgrid(*map(np.arange, wanted[2:]), indexing="ij")
row, column = (eval(f"({text})".replace("/", "//"), {"thread": thread, "value": value})
               for text in find(r"return \{([^,]+),([^}]+)\};").groups())
assert np.unique(row * wanted[1] + column).size == wanted[0] * wanted[1]

rows, columns = weight_tiles.padded(130, 96)
assert (rows, columns) == (192, 128)
matrix = np.arange(rows * columns).reshape(rows, columns)
split = matrix.reshape(weight_tiles.split_matrix(rows, columns, 1))
tiles = split.transpose(weight_tiles.TO_TILES)
assert tiles.shape == weight_tiles.split_tiles(rows, columns, 1), tiles.shape
packed = tiles.reshape(weight_tiles.packed_shape((130, 96), 1))
assert packed.shape == (3, 2, *wanted[2:])
for i in range(3):
    for j in range(2):
        assert (packed[i, j] == matrix[64 * i + row, 64 * j + column]).all(), (i, j)
assert (tiles.transpose(weight_tiles.FROM_TILES).reshape(rows, columns) == matrix).all()
# Of 4 bits: pairs of columns that share a byte stay together.
pairs = matrix[:, ::2].reshape(weight_tiles.split_matrix(rows, columns, 2))
assert (pairs.transpose(weight_tiles.TO_TILES).reshape(weight_tiles.packed_shape(
    (130, 96), 2)) == packed[..., ::2]).all()
assert [weight_tiles.fills_tiles(*size) for size in ((64, 128), (65, 64), (64, 96))] == [
    True, False, False]
