"""What mx-run must compute, in numpy and ml_dtypes alone.

Written from the recipes (OCP MX v1.0, section 6.3; PTX ISA, cvt) and in
float64, so that no error of the project's own code can hide itself here.
"""

import ml_dtypes
import numpy as np
from chips import as_operand, count_roundings

BLOCK = 32


def to_bits(x):
    """bf16 as mx-run takes it."""
    return np.ascontiguousarray(x).astype(ml_dtypes.bfloat16).view(np.uint16)


def from_bits(bits):
    return bits.view(ml_dtypes.bfloat16).astype(np.float32)


def quantize(x):
    """E4M3 codes and E8M0 bytes of f32 values, recipe `ceil`."""
    rows, k = x.shape
    blocks = x.astype(np.float32).reshape(rows, k // BLOCK, BLOCK)
    magnitude = (blocks.view(np.uint32) & 0x7FFFFFFF).max(axis=-1)
    is_nan, is_inf = magnitude > 0x7F800000, magnitude == 0x7F800000
    largest = np.where(is_nan | is_inf, 0, magnitude).view(np.float32)
    # One rounding to f32, then up to a power of two.
    ratio = (largest * (np.float32(1) / np.float32(448))).astype(np.float64)
    mantissa, exponent = np.frexp(ratio)
    power = np.where(mantissa == 0.5, exponent - 1, exponent)
    scale = np.where(ratio == 0, 0, np.clip(power + 127, 0, 254))
    scale = np.where(is_inf, 254, np.where(is_nan, 255, scale)).astype(np.uint8)

    inverse = np.ldexp(1.0, 127 - scale.astype(np.int64))
    inverse[scale == 255] = np.nan
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = (blocks.astype(np.float64) * inverse[..., None]).astype(np.float32)
        codes = np.clip(scaled, -448, 448).astype(ml_dtypes.float8_e4m3fn)
    codes = codes.view(np.uint8).copy()
    codes[np.isnan(scaled)] = 0x7F
    return codes.reshape(rows, k), scale


def dequantize(codes, scale):
    """The exact values as float64."""
    rows, k = codes.shape
    values = codes.view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    powers = np.ldexp(1.0, scale.astype(np.int64) - 127)
    powers[scale == 255] = np.nan
    return (values.reshape(rows, -1, BLOCK) * powers[..., None]).reshape(rows, k)


def tile_scales(scale):
    """Scales in tiles of 128 x 4 as tcgen05 reads them; slack is 0."""
    rows, blocks = scale.shape
    tiled = np.zeros((-(-rows // 128), -(-blocks // 4), 32, 4, 4), np.uint8)
    for r in range(rows):
        for c in range(blocks):
            tiled[r // 128, c // 4, r % 32, r // 32 % 4, c % 4] = scale[r, c]
    return tiled


def compare_matmul(y, a, b, factor):
    """Compares y with a b^T; a and b are dequantized operands, `factor` is the
    relative error that each MMA step may add. Returns the number of elements
    beyond the bound and the largest quotient of deviation and bound."""
    a, b = as_operand(a), as_operand(b)
    with np.errstate(invalid="ignore", over="ignore"):
        exact = a @ b.T
        total = np.abs(a) @ np.abs(b).T
        y = y.astype(np.float64)
        # Where magnitudes overflow f32, infinities may meet on the way.
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
    """Random values as they occur, and as they must not go wrong."""
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
