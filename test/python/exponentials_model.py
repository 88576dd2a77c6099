"""Second, bit-exact implementation of the sequences in docs/reference/Math.md: exp and sigmoid of float32 arrays in
numpy."""

import numpy as np


def fma(a, b, c):
    """Returns a * b + c in f32. The f64 multiplication is exact and the sum is rounded to odd, so the second rounding
    to f32 is correct."""
    product = a.astype(np.float64) * b.astype(np.float64)
    c = np.broadcast_to(c, product.shape).astype(np.float64)
    total = product + c
    part = total - product
    error = (product - (total - part)) + (c - part)
    bits = total.view(np.int64)
    inexact = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    away = (error > 0) == (total > 0)
    odd = np.where(inexact, np.where(away, bits + 1, bits - 1), bits)
    return odd.view(np.float64).astype(np.float32)


def f32(value):
    return np.float32(float.fromhex(value))


LOG2E, LOG2E_LOW, ROUND = f32("0x1.715476p+0"), f32("0x1.4ae0cp-26"), np.float32(12582912)
FIVE = [f32(t) for t in ("0x1.62e42ap-1", "0x1.ebf9c8p-3", "0x1.c6b754p-5", "0x1.3cea6p-7", "0x1.5bb8dp-10")]
SIX = [f32(t) for t in ("0x1.62e43p-1", "0x1.ebfbdcp-3", "0x1.c6aefep-5", "0x1.3b2c7ep-7",
                        "0x1.5f3e52p-10", "0x1.41fbbep-13")]


def exp_parts(x, terms):
    """Returns k and 2^f of e^x."""
    rounded = fma(x, LOG2E, ROUND)
    k = rounded - ROUND
    f = fma(x, LOG2E_LOW, fma(x, LOG2E, -k))
    power = np.broadcast_to(terms[-1], x.shape)
    for term in reversed([np.float32(1)] + terms[:-1]):
        power = fma(power, f, term)
    return np.nan_to_num(k).astype(np.int64), power


def power_of_two(k):
    return np.ldexp(np.float32(1), k).astype(np.float32)


def exp(x):
    k, power = exp_parts(np.clip(x, np.float32(-104), np.float32(104)), SIX)
    return power * power_of_two(k // 2) * power_of_two(k - k // 2)


def sigmoid(x):
    k, power = exp_parts(-np.clip(x, np.float32(-87), np.float32(87)), FIVE)
    y = np.float32(1) / fma(power, power_of_two(k), np.float32(1))
    return y - f32("0x1.666d0ep-126")
