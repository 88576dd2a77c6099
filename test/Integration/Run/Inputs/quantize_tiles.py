"""Quantizes along columns, and along both axes from one read, and compares
every bit with numpy, on sizes that are no multiples of tiles.

usage: quantize_tiles.py MX_RUN DIRECTORY CHIP...
"""

import os
import subprocess
import sys

import numpy as np
import reference

mx_run, directory, *chips = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
os.makedirs(directory, exist_ok=True)
rng = np.random.default_rng(17)


def run(program, x, count, chip):
    name = lambda i: os.path.join(directory, f"{i}.npy")
    np.save(name("x"), x)
    command = [mx_run, os.path.join(here, program), "--device=sim"]
    command += [f"--chip={chip}", "--check=cpu", "--arg", name("x")]
    for i in range(count):
        command += ["--result", name(i)]
    subprocess.run(command, check=True)
    return [np.load(name(i)) for i in range(count)]


def expect(x, axis):
    values = reference.from_bits(np.ascontiguousarray(x if axis else x.T))
    elements, scale = reference.quantize(values)
    return [elements, reference.tile_scales(scale)]


def compare(name, found, expected):
    wrong = sum(int((f != e).sum()) for f, e in zip(found, expected))
    shapes = [f.shape for f in found] == [e.shape for e in expected]
    print(f"{name}: {wrong} bytes unequal")
    return wrong != 0 or not shapes


# Each number once as the largest of its block, which is a column's; shuffled,
# anywhere in the blocks of both axes.
codes = np.arange(65536, dtype=np.uint32)
magnitude = codes & 0x7FFF
below = (rng.random((65536, 32)) * (magnitude[:, None] + 1)).astype(np.uint32)
largest = below | (rng.integers(0, 2, below.shape, dtype=np.uint32) << 15)
largest[np.arange(65536), rng.integers(0, 32, 65536)] = codes
largest = np.ascontiguousarray(largest.astype(np.uint16).reshape(512, 4096).T)

bits = lambda *shape: rng.integers(0, 65536, shape).astype(np.uint16)
finite = lambda *shape: reference.to_bits(rng.normal(size=shape))
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
failures = 0
for chip in chips:
    for name, x in columns.items():
        found = run("quantize-columns.mlir", x, 2, chip)
        failures += compare(f"{chip} columns, {name}", found, expect(x, 0))
    for name, x in both.items():
        found = run("quantize-both.mlir", x, 4, chip)
        expected = expect(x, 1) + expect(x, 0)
        failures += compare(f"{chip} both, {name}", found, expected)
print(f"{failures} failures")
sys.exit(failures != 0)
