"""Runs examples/matmul.mlir on random shapes and compares with numpy.

usage: matmul_shapes.py MX_RUN FILE.mlir DEVICE DIRECTORY COUNT
"""

import itertools

import numpy as np
import reference
from harness import Harness

test = Harness("mx_run", "program", "device", "folder", "count")
device, count = test.device, int(test.count)
EDGES = [1, 31, 127, 128, 129, 300]
DEPTHS = [32, 96, 256, 1056]
PROFILES = ["plain", "outliers", "wide", "specials"]

# Every edge case of M and N with every K, then random shapes.
rng = np.random.default_rng(20)
shapes = list(zip(EDGES, EDGES[::-1], itertools.cycle(DEPTHS)))
shapes += list(zip(EDGES, EDGES[2:] + EDGES[:2], itertools.cycle(DEPTHS[::-1])))
while len(shapes) < count:
    if rng.integers(2):
        m, n = rng.choice(EDGES, 2)
    else:
        m, n = rng.integers(1, 320, 2)
    shapes.append((int(m), int(n), int(rng.choice(DEPTHS))))

# The CPU adds in f64 and rounds once; the simulator rounds to f32 at each step.
factor = 2.0**-48 if device == "cpu" else 2.0**-23
for index, (m, n, k) in enumerate(shapes[:count]):
    profile = PROFILES[index % len(PROFILES)]
    test.case = f"{m} x {n} x {k} {profile}"
    x, w = reference.make_input(rng, m, k, profile), reference.make_input(rng, n, k, profile)
    y, = test.run(test.program, [x, w], 1, check=True)
    if y.shape != (m, n) or y.dtype != np.uint16:
        test.fail(f"found {y.shape} {y.dtype}")
        continue
    reference.compare_matmul(test, "result", y, reference.operand(x), reference.operand(w), factor)
test.finish()
