"""Runs examples/matmul.mlir on random shapes and compares with numpy.

usage: matmul_shapes.py MX_RUN FILE.mlir DEVICE DIRECTORY COUNT
"""

import itertools
import os
import subprocess
import sys

import numpy as np
import reference

mx_run, program, device, directory, count = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
EDGES = [1, 31, 127, 128, 129, 300]
DEPTHS = [32, 96, 256, 1056]
PROFILES = ["plain", "outliers", "wide", "specials"]

# Every edge for M and for N and every depth, then random ones.
rng = np.random.default_rng(20)
shapes = list(zip(EDGES, EDGES[::-1], itertools.cycle(DEPTHS)))
shapes += list(zip(EDGES, EDGES[2:] + EDGES[:2], itertools.cycle(DEPTHS[::-1])))
while len(shapes) < int(count):
    if rng.integers(2):
        m, n = rng.choice(EDGES, 2)
    else:
        m, n = rng.integers(1, 320, 2)
    shapes.append((int(m), int(n), int(rng.choice(DEPTHS))))

# The CPU adds in f64 and rounds once; the simulator rounds to f32 at each step.
factor = 2.0**-48 if device == "cpu" else 2.0**-23
failures = 0
for index, (m, n, k) in enumerate(shapes[: int(count)]):
    profile = PROFILES[index % len(PROFILES)]
    x = reference.make_input(rng, m, k, profile)
    w = reference.make_input(rng, n, k, profile)
    paths = [os.path.join(directory, f"{name}.npy") for name in "xwy"]
    np.save(paths[0], x)
    np.save(paths[1], w)
    if os.path.exists(paths[2]):
        os.remove(paths[2])
    command = [mx_run, program, f"--device={device}", "--check=cpu"]
    command += ["--arg", paths[0], "--arg", paths[1], "--result", paths[2]]
    done = subprocess.run(command, capture_output=True, text=True)
    what = f"{m} x {n} x {k} {profile}"
    if done.returncode != 0:
        print(f"{what}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        failures += 1
        continue
    y = np.load(paths[2])
    if y.shape != (m, n) or y.dtype != np.uint16:
        print(f"{what}: found {y.shape} {y.dtype}")
        failures += 1
        continue
    a = reference.dequantize(*reference.quantize(reference.from_bits(x)))
    b = reference.dequantize(*reference.quantize(reference.from_bits(w)))
    wrong, ratio = reference.compare_matmul(reference.from_bits(y), a, b, factor)
    print(f"{what}: {wrong} wrong, largest deviation {ratio:.3f} of the bound")
    failures += wrong != 0
print(f"{len(shapes[:int(count)])} shapes, {failures} failures")
sys.exit(failures != 0)
