"""Quantizes every bf16 number on a device and compares every bit with numpy.

usage: quantize_all.py MX_RUN FILE.mlir DEVICE DIRECTORY
"""

import os
import subprocess
import sys

import numpy as np
import reference

mx_run, program, device, directory = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
rng = np.random.default_rng(5)


def run(x):
    paths = [os.path.join(directory, f"{name}.npy") for name in ("x", "q", "s")]
    np.save(paths[0], x)
    command = [mx_run, program, f"--device={device}", "--arg", paths[0]]
    command += ["--result", paths[1], "--result", paths[2]]
    subprocess.run(command, check=True)
    return np.load(paths[1]), np.load(paths[2])


# Each number once as the largest of its block and, shuffled, anywhere.
codes = np.arange(65536, dtype=np.uint32)
magnitude = codes & 0x7FFF
below = (rng.random((65536, 32)) * (magnitude[:, None] + 1)).astype(np.uint32)
largest = below | (rng.integers(0, 2, below.shape, dtype=np.uint32) << 15)
largest[np.arange(65536), rng.integers(0, 32, 65536)] = codes
inputs = {
    "largest": largest.astype(np.uint16).reshape(4096, 512),
    "shuffled": rng.permutation(codes).astype(np.uint16).reshape(256, 256),
    "ragged rows": rng.integers(0, 65536, (131, 160)).astype(np.uint16),
}
failures = 0
for name, x in inputs.items():
    elements, scales = run(x)
    expected, byte = reference.quantize(reference.from_bits(x))
    tiled = reference.tile_scales(byte)
    wrong = int((elements != expected).sum()) + int((scales != tiled).sum())
    print(f"{name}: {wrong} bytes unequal")
    failures += wrong != 0 or scales.shape != tiled.shape
print(f"{failures} failures")
sys.exit(failures != 0)
