"""Quantizes along columns, and along both axes in a single read, and compares every bit with numpy, on sizes that are
not multiples of tiles.

usage: quantize_tiles.py MX_RUN DIRECTORY CHIP...
"""

import os

import mx_reference as ref
import numpy as np
from harness import Harness, to_array, widen

test = Harness("mx_run", "folder", "*chips", seed=17)
rng = test.rng


def check(chip, name, x, axes, program):
    found = iter(test.run(os.path.join(os.path.dirname(__file__), program), [x], 2 * len(axes), chip=chip, check=True))
    for axis in axes:
        elements, scale = ref.quantize(widen(x if axis else x.T).astype(np.float32), "f8E4M3FN")
        test.expect(f"{chip} {name}, axis {axis}, elements", next(found), elements)
        test.expect(f"{chip} {name}, axis {axis}, scales", next(found), ref.tile(scale))


# First, each number is the largest of a column block. Second, the shuffled numbers are in any position of the blocks
# along both axes.
codes = np.arange(65536, dtype=np.uint32)
magnitude = codes & 0x7FFF
below = (rng.random((65536, 32)) * (magnitude[:, None] + 1)).astype(np.uint32)
largest = below | (rng.integers(0, 2, below.shape, dtype=np.uint32) << 15)
largest[np.arange(65536), rng.integers(0, 32, 65536)] = codes
largest = np.ascontiguousarray(largest.astype(np.uint16).reshape(512, 4096).T)

bits = lambda *shape: rng.integers(0, 65536, shape).astype(np.uint16)
finite = lambda *shape: to_array(rng.normal(size=shape), "bf16")[0]
columns = {
    "largest": largest,
    "one block": finite(32, 8),
    "a tile": bits(128, 128),
    "tails": bits(160, 200),
    "narrow tails": bits(288, 72),
}
both = {
    "shuffled": rng.permutation(codes).astype(np.uint16).reshape(256, 256),
    "one block": finite(32, 32),
    "tails": bits(160, 224),
    "wide tails": bits(32, 416),
}
for chip in test.chips:
    for name, x in columns.items():
        check(chip, f"columns, {name}", x, [0], "quantize-columns.mlir")
    for name, x in both.items():
        check(chip, f"both, {name}", x, [1, 0], "quantize-both.mlir")
test.finish(least=2000000 * len(test.chips))
