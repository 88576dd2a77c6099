# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of the small cases: all 16-bit values, and blocks with each value as the largest."""

import cases
import numpy as np


def bits_of(numbers, dtype):
    if dtype == "bf16":
        return (numbers.view(np.uint32) >> 16).astype(np.uint16)
    if dtype == "f16":
        with np.errstate(all="ignore"):
            return numbers.astype(np.float16)
    return numbers


def array(case, rng):
    """Returns the bits of a matrix: a quarter covers all bit patterns, a quarter consists of
    blocks with many magnitudes, and the rest is roughly normal, with zeros, infinities and NaN."""
    count = case.rows * case.columns
    x = rng.standard_normal(count).astype(np.float32)
    x *= np.exp2(np.repeat(rng.integers(-4, 5, -(-count // 32)), 32)[:count])
    quarter = count // 4 // 32 * 32
    scale = np.repeat(rng.integers(-140, 127, quarter // 32), 32)
    with np.errstate(all="ignore"):
        x[:quarter] *= np.exp2(scale.astype(np.float32))
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38], np.float32)
    where = rng.random(count) < 1 / 400
    x[where] = rng.choice(special, int(where.sum()))
    x[quarter:quarter + 64] = 0
    x = bits_of(x, case.dtype)
    if case.dtype != "f32":
        patterns = rng.permutation(1 << 16).astype(np.uint16)
        patterns = np.resize(patterns, count // 2 // 32 * 32).view(x.dtype)
        x[count - patterns.size:] = patterns
    return x.reshape(case.rows, case.columns)


def arguments(case, seed=11):
    """Returns the arguments of the entry in order, as NumPy arrays."""
    rng = np.random.default_rng(seed)
    arrays = [array(case, rng) for _ in range(case.inputs)]
    if case.nvfp4:
        arrays.append(np.array(cases.ENCODE))
    if case.seed:
        arrays.append(np.array(cases.SEED))
    if case.groups:
        arrays.append(cases.random_offsets(case))
    return arrays
