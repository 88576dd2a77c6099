"""Runs the program of wgmma_blocks.py and compares each element with float64. Results of one type must be bitwise
equal for all divisions of the rows and all locations of A.

    run_wgmma_blocks.py PROGRAM [--device sim|cuda|cuda:N] [--save FILE.npz] [--same-as FILE.npz]

For a GPU, save the results of the simulator, then pass --device=cuda --same-as with that file."""

import pathlib
import sys

import mx_compiler as mx
import numpy as np
from wgmma import Results, bound, make, widen

sys.path.append(str(pathlib.Path(__file__).parents[3] / "Pipelines" / "Inputs"))
from wgmma_blocks import CASES  # noqa: E402

# Whole and partial tiles; one step of K, a partial step, and more steps than stages in the ring.
SHAPES = [(64, 64, 64), (1, 4, 16), (150, 132, 144), (300, 260, 336)]
F8 = {"f8E4M3FN": (7, 3), "f8E5M2": (15, 2)}  # bias, bits of fraction


def make_f8(rng, shape, element):
    """Draws small integers with exact sums: wgmma adds products of 8-bit elements with 13 bits (MMA-Sim)."""
    bias, fraction = F8[element]
    values = rng.integers(-2, 3, shape)
    magnitude = (bias + (np.abs(values) == 2)) << fraction
    bits = np.where(values == 0, 0, magnitude) | (values < 0) << 7
    return bits.astype("u1"), values.astype(np.float64)


def operand(rng, shape, element):
    """Returns the bits of the operand, and its values."""
    if element in F8:
        return make_f8(rng, shape, element)
    if element == "bf16":
        bits = make(rng, shape)
        return bits, widen(bits)
    values = rng.standard_normal(shape).astype(np.float16)
    return values, values.astype(np.float64)


def main():
    found, first = Results(__doc__), {}
    with mx.Program(found.options.program) as program:
        for m, n, k in SHAPES:
            for case in CASES:
                # The same operands for all cases of their types.
                rng = np.random.default_rng(11)
                a, wide = operand(rng, (m, k), case.a)
                b, high = operand(rng, (n, k), case.b)
                c, = program[case.name](a, b, np.full((m, n), np.nan, np.float32))
                most = 0.0 if case.a in F8 else bound(wide, high, 0.0)
                found.compare(f"{case.name} {m}x{n}x{k}", c, wide @ high.T, most,
                              first.setdefault((case.a, m, n, k), c))
    return found.finish()


if __name__ == "__main__":
    sys.exit(main())
