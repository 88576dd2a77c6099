"""bf16 inputs of matmuls, their E4M3 operands, computed with numpy, and error bounds of results."""

import mx_reference as ref
import numpy as np
from chips import as_operand, count_roundings
from harness import BF16

ELEMENT, BLOCK = "f8E4M3FN", 32


def to_bits(x):
    """Converts to bf16 bits, the input form of mx-run."""
    return np.ascontiguousarray(x).astype(BF16).view(np.uint16)


def from_bits(bits):
    return bits.view(BF16).astype(np.float32)


def operand(bits):
    """Returns the bf16 values after quantization, in float64."""
    return ref.real(*ref.quantize(from_bits(bits), ELEMENT), ELEMENT)


def compare_matmul(test, name, bits, a, b, factor):
    """Compares bf16 results with `a` * `b`^T. `a` and `b` are dequantized operands, and `factor` is the relative error
    of each MMA step."""
    y = from_bits(bits)
    test.compared += y.size
    wrong, ratio = count_beyond(y, a, b, factor)
    print(f"{test.case} {name}: {wrong} wrong, largest deviation {ratio:.3f} of the bound")
    if wrong:
        test.fail(f"{name}: {wrong} wrong")


def count_beyond(y, a, b, factor):
    """Returns the number of elements beyond the bound, and the largest ratio of deviation to bound."""
    a, b = as_operand(a), as_operand(b)
    with np.errstate(invalid="ignore", over="ignore"):
        exact = a @ b.T
        total = np.abs(a) @ np.abs(b).T
        y = y.astype(np.float64)
        # If magnitudes overflow f32, infinities may meet in intermediate sums.
        bounded = total < 2.0**127
        nan = np.isnan(exact)
        wrong = int((nan & ~np.isnan(y)).sum())
        wrong += int((~nan & bounded & ~np.isfinite(y)).sum())
        use = bounded & ~nan & np.isfinite(y)
        if not use.any():
            return wrong, 0.0
        e, t, v = exact[use], total[use], y[use]
        steps = count_roundings(a.shape[1])
        exponent = np.maximum(np.frexp(np.maximum(np.abs(v), np.abs(e)))[1] - 1, -126)
        bound = steps * factor * t + np.ldexp(0.5, exponent - 7) * (1 + 1e-9)
        ratio = np.abs(v - e) / bound
        return wrong + int((ratio > 1).sum()), float(ratio.max())


def make_input(rng, rows, k, profile):
    """Returns random values of ordinary size, and edge cases."""
    x = rng.standard_normal((rows, k))
    if profile == "outliers":
        x *= np.exp2(rng.integers(-12, 12, (rows, 1)))
        x[:, rng.integers(0, k, max(1, k // 64))] *= 100
    elif profile == "wide":
        x *= np.exp2(rng.integers(-70, 50, (rows, k // BLOCK)).repeat(BLOCK, axis=1))
    elif profile == "specials":
        blocks = x.reshape(-1, BLOCK)
        kinds = rng.integers(0, 24, len(blocks))
        blocks[kinds == 0] = 0
        blocks[kinds == 1] = -0.0
        # Subnormal in bf16, down to a single bit.
        blocks[kinds == 2] *= 2.0**-128
        blocks[kinds == 3, :] = 2.0**-133
        pick = rng.integers(0, BLOCK, len(blocks))
        few = rng.integers(0, 8, len(blocks)) == 0
        for kind, value in ((4, np.inf), (5, -np.inf), (6, np.nan)):
            where = np.flatnonzero((kinds == kind) & few)
            blocks[where, pick[where]] = value
        x = blocks.reshape(rows, k)
    return to_bits(x)
