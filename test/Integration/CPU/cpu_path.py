# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs mx IR on arrays through the CPU path and compares bits."""

import os
import subprocess
import sys

import ml_dtypes
import mx_reference as ref
import numpy as np

FLOATS = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
BITS = {"f32": np.uint32, "bf16": np.uint16, "f16": np.uint16}


class Runner:
    """`script.py MX_RUN DIRECTORY`"""

    def __init__(self):
        self.program, self.directory = sys.argv[1:3]
        os.makedirs(self.directory, exist_ok=True)
        self.compared = 0
        self.failures = 0

    def run(self, text, arguments, results):
        """The arrays that @main returns."""
        path = lambda name: os.path.join(self.directory, name)
        with open(path("case.mlir"), "w") as f:
            f.write(text)
        command = [self.program, path("case.mlir"), "--device=cpu"]
        for i, array in enumerate(arguments):
            np.save(path(f"in{i}.npy"), array)
            command.append("--arg=" + path(f"in{i}.npy"))
        for i in range(results):
            command.append("--result=" + path(f"out{i}.npy"))
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n"
                     f"{done.stderr}{text}")
        return [np.load(path(f"out{i}.npy")) for i in range(results)]

    def expect(self, name, found, expected):
        """Compares bits, whatever the width of float in which they came."""
        self.compared += expected.size
        if found.dtype != expected.dtype:
            found = found.view(expected.dtype)
        if found.shape != expected.shape:
            self.failures += 1
            print(f"{name}: expected shape {expected.shape}, found "
                  f"{found.shape}")
        elif not np.array_equal(found, expected):
            self.failures += 1
            places = np.argwhere(found != expected)
            first = tuple(places[0])
            print(f"{name}: {len(places)} of {expected.size} differ; at "
                  f"{first} expected {expected[first]:#x}, found "
                  f"{found[first]:#x}")

    def finish(self, least):
        """`least` values must have been compared: an empty loop is no test."""
        print(f"{self.compared} values compared, {self.failures} arrays differ")
        sys.exit(self.failures != 0 or self.compared < least)


def to_array(x, dtype):
    """Numbers as mx-run takes them, and as float32."""
    with np.errstate(all="ignore"):
        numbers = np.asarray(x).astype(FLOATS[dtype])
    array = numbers if dtype != "bf16" else numbers.view(np.uint16)
    return np.ascontiguousarray(array), numbers.astype(np.float32)


def from_bits(bits, dtype):
    return bits.view(FLOATS[dtype]).astype(np.float64)


def random_operand(rng, shape, element, nvfp4=False, scales=(120, 134)):
    """Finite elements and scales whose products add exactly in float64."""
    width = int(element[1])
    codes = rng.integers(0, 2**width, shape).astype(np.uint8)
    codes[~np.isfinite(ref.decode(codes, element))] = 0
    *outer, k = shape
    if nvfp4:
        return codes, rng.integers(0x20, 0x50, (*outer, k // 16)).astype(np.uint8)
    return codes, rng.integers(*scales, (*outer, k // 32)).astype(np.uint8)


def group_ends(rng, total, groups):
    """Cumulative ends with an empty expert group where there are several."""
    ends = np.sort(rng.integers(0, total + 1, groups))
    if groups > 2:
        ends[1] = ends[0]
    ends[-1] = total
    return ends.astype(np.int32)
