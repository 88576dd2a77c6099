"""Runs the program of wgmma.mlir and compares each element with float64.

    wgmma.py PROGRAM [--device sim|cuda|cuda:N] [--save FILE.npz] [--same-as FILE.npz]

--save keeps the results, and --same-as requires the same bits. The simulator adds in the order of the tensor core, so
a GPU and the simulator agree."""

import argparse
import sys

import mx_compiler as mx
import numpy as np

# Whole tiles of 64 x 128, partial tiles, one step of K, a partial step, more steps than stages in the ring, more tiles
# than multiprocessors of the simulator.
SHAPES = [(64, 128, 64), (70, 200, 136), (200, 264, 320), (1, 4, 8), (33, 516, 904),
          (640, 1032, 64)]


def make(rng, shape):
    """Draws bf16 bits over several binades, including signed zeros."""
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)
    x[rng.random(shape) < 0.05] = -0.0
    return (x.astype(np.float32).view("u4") >> 16).astype("u2")


def widen(bits):
    return (bits.astype("u4") << 16).view(np.float32).astype(np.float64)


def bound(a, b, extra):
    """Returns the error bound of wgmma. Each of the k / 16 steps adds 16 products exactly, except that terms
    are truncated to 25 bits relative to the largest exponent (MMA-Sim)."""
    steps = a.shape[1] / 16 + 2
    return steps * 2.0**-22 * (np.abs(a) @ np.abs(b).T + np.abs(extra)) + 1e-30


class Results:
    """Matmuls of a program, compared with float64 and with the results of another run."""

    def __init__(self, description):
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("program")
        parser.add_argument("--device", default="sim")
        parser.add_argument("--save")
        parser.add_argument("--same-as")
        self.options = parser.parse_args()
        mx.set_device(self.options.device)
        self.known = np.load(self.options.same_as) if self.options.same_as else {}
        self.results, self.wrong, self.elements = {}, 0, 0

    def compare(self, name, c, expected, most, *same):
        """Checks that `c` is within `most` of `expected`, and has the bits of each array of `same`."""
        off = np.abs(c - expected)
        bad = ~(off <= most)
        for other in [*same, *([self.known[name]] if name in self.known else [])]:
            bad |= other.view("u4") != c.view("u4")
        self.results[name] = c
        self.wrong += int(bad.sum())
        self.elements += c.size
        if bad.any():
            i = tuple(np.argwhere(bad)[0])
            print(f"{name}: {bad.sum()} wrong, first at {i}: {c[i]}, off by {off[i]}")

    def finish(self):
        """Saves the results and returns the exit status."""
        if self.options.save:
            np.savez(self.options.save, **self.results)
        print(f"{self.options.device}: {len(self.results)} matmuls, {self.elements} elements, {self.wrong} wrong")
        return self.wrong != 0


def main():
    found = Results(__doc__)
    rng = np.random.default_rng(7)
    with mx.Program(found.options.program) as program:
        for m, n, k in SHAPES:
            a, b = make(rng, (m, k)), make(rng, (n, k))
            bias = rng.standard_normal(n).astype(np.float32)
            # Every element must be written.
            untouched = np.full((m, n), np.nan, np.float32)
            for entry, arguments, extra in (("direct", [a, b, bias, untouched], bias),
                                            ("staged", [a, b, untouched], 0.0)):
                c, = program[entry](*arguments)
                wide, high = widen(a), widen(b)
                found.compare(f"{entry} {m}x{n}x{k}", c, wide @ high.T + extra, bound(wide, high, extra))
    return found.finish()


if __name__ == "__main__":
    sys.exit(main())
