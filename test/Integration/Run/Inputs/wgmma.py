"""Operands of wgmma, and the comparison of its results with float64.

--save keeps the results, and --same-as requires the same bits. The simulator adds in the order of the tensor core, so
a GPU and the simulator agree."""

import argparse

import mx_compiler as mx
import numpy as np


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
