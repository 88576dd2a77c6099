"""Makes the inputs of examples/c/grouped_linear.c, and checks its results.

usage: grouped_linear.py make|check DIRECTORY
"""

import os
import sys

import ml_dtypes
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "..", "..", "Integration", d)
             for d in ("CPU", "Run/Inputs")]
import mx_reference as ref
from matmul_formats import compare

BF16 = ml_dtypes.bfloat16
GROUPS, IN, OUT = 8, 256, 384
SIZES = [[0, 130, 1, 0, 33, 64, 31, 0], [0, 0, 0, 77, 0, 0, 0, 0]]
ROWS = [300, 77]  # of the first, 41 belong to nobody


def make(directory):
    rng = np.random.default_rng(6)

    def save(name, array):
        path = os.path.join(directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        array.tofile(path)

    def normal(*shape):
        return rng.standard_normal(shape).astype(BF16)

    save("w.bin", normal(GROUPS, OUT, IN))
    for index, (sizes, rows) in enumerate(zip(SIZES, ROWS)):
        x, dy = normal(rows, IN), normal(rows, OUT)
        x[sum(sizes):] = dy[sum(sizes):] = np.nan
        save(f"{index}/x.bin", x)
        save(f"{index}/dy.bin", dy)
        save(f"{index}/ends.bin", np.cumsum(sizes).astype(np.int32))


def quantized(x):
    """What blocks along the last axis become."""
    return ref.real(*ref.quantize(x.astype(np.float32), "f8E4M3FN"), "f8E4M3FN")


def check(directory):
    def load(name, *shape, dtype=BF16):
        return np.fromfile(os.path.join(directory, name), dtype).reshape(shape)

    w = load("w.bin", GROUPS, OUT, IN)
    failures = 0
    for index, (sizes, rows) in enumerate(zip(SIZES, ROWS)):
        x, dy = load(f"{index}/x.bin", rows, IN), load(f"{index}/dy.bin", rows, OUT)
        y, dx = load(f"{index}/y.bin", rows, OUT), load(f"{index}/dx.bin", rows, IN)
        dw = load(f"{index}/dw.bin", GROUPS, OUT, IN, dtype=np.float32)
        begin = 0
        for g, size in enumerate(sizes):
            part = slice(begin, begin + size)
            begin += size
            steps = max(-(-size // 32), 1)
            for name, found, a, b, n, mantissa in [
                    ("y", y[part], x[part], w[g], IN // 32, 7),
                    ("dx", dx[part], dy[part], w[g].T, OUT // 32, 7),
                    ("dw", dw[g], dy[part].T, x[part].T, steps, 23)]:
                wrong, _ = compare(found.astype(np.float64), quantized(a),
                                   quantized(b), n, mantissa)
                if wrong:
                    print(f"batch {index}, group {g}: {wrong} wrong in {name}")
                failures += wrong
    sys.exit(failures != 0)


{"make": make, "check": check}[sys.argv[1]](sys.argv[2])
