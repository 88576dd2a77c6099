"""Quantizer inputs: bit patterns in rows of blocks."""

import numpy as np
from harness import BITS, FLOATS


def fill(numbers, dtype, columns):
    """Returns `numbers` as a matrix with `columns` columns, padded with zeros."""
    rows = -(-numbers.size // columns)
    full = np.zeros(rows * columns, BITS[dtype])
    full[:numbers.size] = numbers.ravel()
    return full.reshape(rows, columns)


def blocks_of(rng, largest, dtype, positions=None):
    """Returns blocks. The largest number in each block is a given bit pattern, at the given or a random position."""
    if positions is None:
        positions = rng.integers(0, 32, largest.size)
    sign = BITS[dtype](1 << (8 * largest.itemsize - 1))
    magnitude = (largest & ~sign).astype(np.float64)
    shape = (largest.size, 32)
    block = (rng.random(shape) * (magnitude[:, None] + 1)).astype(BITS[dtype])
    block |= np.where(rng.random(shape) < 0.5, sign, 0).astype(BITS[dtype])
    block[np.arange(largest.size), positions] = largest
    return block


def below_largest(rng, codes, dtype, positions):
    """Returns blocks. Each contains a given bit pattern, and a larger pattern at another position."""
    sign = BITS[dtype](1 << (8 * codes.itemsize - 1))
    magnitude = (codes & ~sign).astype(np.float64)
    larger = magnitude + rng.random(codes.size) * (sign - magnitude)
    other = (positions + rng.integers(1, 32, codes.size)) % 32
    block = blocks_of(rng, larger.astype(BITS[dtype]), dtype, other)
    block[np.arange(codes.size), positions] = codes
    return block


def exponent_pairs(rng, dtype):
    """Returns, for each exponent of a block's largest number, blocks with all smaller exponents."""
    bits = 8 * BITS[dtype]().itemsize
    fields = {"f32": 255, "bf16": 255, "f16": 31}[dtype]
    mantissa = {"f32": 23, "bf16": 7, "f16": 10}[dtype]
    out = []
    for largest in range(fields):
        others = np.resize(np.arange(largest + 1), -(-(largest + 1) // 31) * 31)
        blocks = np.full((others.size // 31, 32), largest)
        blocks[:, 1:] = others.reshape(-1, 31)
        codes = (blocks << mantissa) | rng.integers(0, 1 << mantissa,
                                                    blocks.shape)
        out.append(codes | rng.integers(0, 2, blocks.shape) << (bits - 1))
    return np.concatenate(out).astype(BITS[dtype])


def ties(dtype):
    """Returns numbers at and near the midpoint of two codes, in blocks with a larger number."""
    with np.errstate(all="ignore"):
        steps = np.concatenate([
            sign * np.arange(0, 64, 1 / 16) * scale
            for sign in (1, -1) for scale in (1, 2.0**-3, 2.0**-6, 7)])
        numbers = steps.astype(FLOATS[dtype]).view(BITS[dtype])
    around = np.concatenate([numbers, numbers + 1, numbers - 1])
    blocks = np.zeros((-(-around.size // 31), 32), BITS[dtype])
    blocks[:, 1:] = np.resize(around, (blocks.shape[0], 31))
    tops = np.array([6, 7, 7.5, 28, 30, 448, 480, 57344, 1.984375, 64, 1e3])
    with np.errstate(all="ignore"):
        tops = tops.astype(FLOATS[dtype]).view(BITS[dtype])
    blocks[:, 0] = np.resize(tops, blocks.shape[0])
    return blocks


def special(dtype):
    with np.errstate(all="ignore"):
        values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1, 1e-45,
                           6e-8, 2.0**-126, 2.0**-127, 3.4028235e38, 65504])
        codes = values.astype(FLOATS[dtype]).view(BITS[dtype])
    if dtype == "f32":  # the recipe differs from the integer formula
        codes = np.append(codes, np.array([0x04600001, 0x00C00001, 0x7F800001,
                                           0xFFC12345], BITS[dtype]))
    blocks = np.zeros((codes.size * 3, 32), BITS[dtype])
    for i, code in enumerate(codes):
        blocks[3 * i, i % 32] = code
        blocks[3 * i + 1, :] = code
        blocks[3 * i + 2, ::5] = code
        blocks[3 * i + 2, 1::5] = codes[6]
    return blocks
