"""Runs the entries of pipelined-loops.mlir and compares each element with float64.

    pipelined-loops.py PROGRAM [--device sim|cuda|cuda:N]
"""

import argparse
import sys

import mx_compiler as mx
import numpy as np
from wgmma import bound, make, widen

# One full step and a partial step, odd and even step counts, and more steps than stages in the ring.
SHAPES = [(64, 128, 64), (70, 200, 40), (33, 132, 136), (64, 128, 256), (200, 264, 584)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--device", default="sim")
    options = parser.parse_args()
    mx.set_device(options.device)
    rng = np.random.default_rng(11)
    wrong = 0
    with mx.Program(options.program) as program:
        for m, n, k in SHAPES:
            a, b = make(rng, (m, k)), make(rng, (n, k))
            wide, high = widen(a), widen(b)
            for entry in ("deep", "peeled"):
                c, = program[entry](a, b, np.full((m, n), np.nan, np.float32))
                bad = ~(np.abs(c - wide @ high.T) <= bound(wide, high, 0.0))
                if bad.any():
                    print(f"{entry} {m}x{n}x{k}: {bad.sum()} of {c.size} wrong")
                wrong += int(bad.sum())
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
