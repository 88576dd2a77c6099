"""Runs a program with mx-run, and runs the compiled program with mx-launch. Both results must have the same bytes.

usage: compare.py DIRECTORY FILE.mlir RESULTS ARG [ARG ...]

ARG is DTYPE:SHAPE, for example "u2:96x256". Arrays are random: u2 arrays contain finite bf16 values, and u1 arrays
contain bytes below 0x78.
"""

import numpy as np
from harness import Harness

test = Harness("folder", "program", "count", "*arguments", seed=11)
test.mx_compile, test.mx_launch = "mx-compile", "mx-launch"


def make(spec):
    dtype, _, shape = spec.partition(":")
    shape = tuple(int(n) for n in shape.split("x")) if shape else ()
    if dtype == "u1":
        return test.rng.integers(0, 0x78, shape, dtype=np.uint8)
    values = test.rng.standard_normal(shape)
    if dtype == "u2":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype("<" + dtype)


arrays, count = [make(spec) for spec in test.arguments], int(test.count)
by_run = test.run(test.program, arrays, count)
by_launch = test.launch(test.compile(test.program, "--ptxas=none"), arrays, count)
for i, (run, launch) in enumerate(zip(by_run, by_launch)):
    test.expect(f"result {i}", launch, run)
    test.require(f"result {i} other than zeros", run.any() or not run.size)
test.finish(least=2 * count)
