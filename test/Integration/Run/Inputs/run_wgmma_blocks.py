"""Runs the program of wgmma_blocks.py and compares each element with float64; results
of one type are the same bits, however the rows are divided and wherever A lies.

    run_wgmma_blocks.py PROGRAM [--device sim|cuda|cuda:N] [--save FILE.npz] [--same-as FILE.npz]

The options are those of wgmma.py: for a GPU, save the results of the simulator, and
give --device=cuda --same-as that file."""

import argparse
import pathlib
import sys

import mx_compiler as mx
import numpy as np
from wgmma import bound, make, widen

sys.path.append(str(pathlib.Path(__file__).parents[3] / "Pipelines" / "Inputs"))
from wgmma_blocks import CASES  # noqa: E402

# A tile and parts of tiles; one step of K, parts of one, and more steps than the ring
# has stages.
SHAPES = [(64, 64, 64), (1, 4, 16), (150, 132, 144), (300, 260, 336)]
F8 = {"f8E4M3FN": (7, 3), "f8E5M2": (15, 2)}  # bias, bits of fraction


def make_f8(rng, shape, element):
    """Small integers, of which all sums are exact: wgmma keeps 13 bits of sums of 8-bit
    products (MMA-Sim)."""
    bias, fraction = F8[element]
    values = rng.integers(-2, 3, shape)
    magnitude = (bias + (np.abs(values) == 2)) << fraction
    bits = np.where(values == 0, 0, magnitude) | (values < 0) << 7
    return bits.astype("u1"), values.astype(np.float64)


def operand(rng, shape, element):
    """Its bits, and its values."""
    if element in F8:
        return make_f8(rng, shape, element)
    if element == "bf16":
        bits = make(rng, shape)
        return bits, widen(bits)
    values = rng.standard_normal(shape).astype(np.float16)
    return values, values.astype(np.float64)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--device", default="sim")
    parser.add_argument("--save")
    parser.add_argument("--same-as")
    options = parser.parse_args()
    mx.set_device(options.device)
    known = np.load(options.same_as) if options.same_as else {}
    results, first, wrong, elements = {}, {}, 0, 0
    with mx.Program(options.program) as program:
        for m, n, k in SHAPES:
            for case in CASES:
                # The same operands for all cases of their types.
                rng = np.random.default_rng(11)
                a, wide = operand(rng, (m, k), case.a)
                b, high = operand(rng, (n, k), case.b)
                c, = program[case.name](a, b, np.full((m, n), np.nan, np.float32))
                most = 0.0 if case.a in F8 else bound(wide, high, 0.0)
                off = np.abs(c - wide @ high.T)
                bad = ~(off <= most)
                name = f"{case.name} {m}x{n}x{k}"
                results[name] = c
                same = [first.setdefault((case.a, m, n, k), c)]
                same += [known[name]] if name in known else []
                for other in same:
                    bad |= other.view("u4") != c.view("u4")
                wrong += int(bad.sum())
                elements += c.size
                if bad.any():
                    i = tuple(np.argwhere(bad)[0])
                    print(f"{name}: {bad.sum()} wrong, first at {i}: {c[i]}, off by {off[i]}")
    if options.save:
        np.savez(options.save, **results)
    print(f"{options.device}: {len(results)} products, {elements} elements, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
