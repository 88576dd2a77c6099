# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reference implementation of the functions in NumPy, as docs/reference/Spec.md defines them. The
results of quantizers are bitwise exact, and sums are in float64."""

import math

import ml_dtypes
import numpy as np

BF16 = ml_dtypes.bfloat16

# Dtypes of ml_dtypes, keyed by element type.
TYPES = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
         "f6E3M2FN": ml_dtypes.float6_e3m2fn, "f6E2M3FN": ml_dtypes.float6_e2m3fn,
         "f4E2M1FN": ml_dtypes.float4_e2m1fn}
BITS = {"f8E4M3FN": 8, "f8E5M2": 8, "f6E3M2FN": 6, "f6E2M3FN": 6, "f4E2M1FN": 4}


def code_values(elements):
    if elements == "i8":  # MXINT8: 6 fraction bits; -128 is unused
        return np.arange(256, dtype=np.uint8).view(np.int8) / 64.0
    codes = np.arange(2 ** BITS[elements], dtype=np.uint8)
    return codes.view(TYPES[elements]).astype(np.float64)


def largest(elements):
    values = code_values(elements)
    return values[np.isfinite(values)].max()


def raw_codes(q):
    """Returns the codes of a Quantized, with one code in each byte."""
    raw = np.asarray(q.elements).view(np.uint8)
    if q.format.bits == 4:
        raw = np.stack([raw & 15, raw >> 4], axis=-1).reshape(*raw.shape[:-1], -1)
    return raw


def codes(q):
    """Returns the element values, [rows, columns], as float64."""
    return code_values(q.format.elements)[raw_codes(q)]


def scales(q, starts=None):
    """Returns a scale for each block, row by row. With expert groups of rows, `starts` is the result
    of group_starts."""
    raw = np.asarray(q.scales)
    if q.format.has_global_scale:
        raw = raw.view(np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    else:
        raw = raw.view(np.uint8).astype(np.float64)
        raw = np.where(raw == 255, np.nan, np.exp2(raw - 127))
    if q.layout == "linear":
        return raw
    *batch, rows, columns = codes(q).shape
    r, c = np.arange(rows)[:, None], np.arange(columns // q.format.block)[None, :]
    tile, within = (r // 128, r % 128) if starts is None else starts
    return raw[..., tile, c // 4, within % 32, within // 32 % 4, c % 4]


def values(q, starts=None):
    block = np.repeat(scales(q, starts), q.format.block, axis=-1)
    factor = 1.0 if q.global_scale is None else float(np.asarray(q.global_scale))
    return codes(q) * block * factor


def group_starts(ends, rows):
    """Returns, for each row, the row of tiles that contains its scales, and its position in the tile
    (docs/reference/Spec.md)."""
    group = np.searchsorted(ends, np.arange(rows), side="right")
    begins = np.concatenate([[0], ends])[group]
    row = np.arange(rows) - begins
    return (begins // 128 + group + row // 128)[:, None], (row % 128)[:, None]


def encode(x, elements):
    """Encodes f32 values with the nearest code. Ties are rounded to even, and values saturate."""
    if elements == "i8":
        return np.clip(np.rint(x * 64), -127, 127).astype(np.int8).view(np.uint8)
    most = largest(elements)
    return np.clip(x, -most, most).astype(TYPES[elements]).view(np.uint8)


def quantized(x, format, decode=None):
    """Returns the element codes and the scale values of finite rows. `decode` is the global scale of
    an NVFP4 tensor and must be a power of two."""
    x = x.astype(np.float32).reshape(len(x), -1, format.block)
    most = np.abs(x).max(axis=-1)
    if format.has_global_scale:
        encoded = np.float32(1) / np.float32(decode)
        scale = encode(most * (np.float32(1) / np.float32(6)) * encoded, "f8E4M3FN").view(
            ml_dtypes.float8_e4m3fn).astype(np.float32)
        with np.errstate(divide="ignore"):
            factor = np.where(scale > 0, encoded / scale, np.float32(0))
        unit = scale.astype(np.float64)
    else:
        ratio = most * (np.float32(1) / np.float32(largest(format.elements)))
        mantissa, exponent = np.frexp(ratio.astype(np.float64))
        exponent = np.where(ratio > 0, exponent - (mantissa == 0.5), -127)
        unit = np.exp2(np.clip(exponent, -127, 127).astype(np.float64))
        factor = 1 / unit
    y = (x * factor[..., None]).astype(np.float32)
    return encode(y, format.elements).reshape(len(x), -1), unit


def layer(x, dy, w1, w2, tokens, probs, ends):
    """Returns y and the gradients of x, w1, w2 and probs of an MoE layer in float64."""
    x, dy, w1, w2 = (v.astype(np.float64) for v in (x, dy, w1, w2))
    y, dx = np.zeros_like(x), np.zeros_like(x)
    dw1, dw2, dprobs = np.zeros_like(w1), np.zeros_like(w2), np.zeros(len(probs))
    for g, (begin, end) in enumerate(zip([0, *ends[:-1]], ends)):
        rows = slice(begin, end)
        token, prob = tokens[rows], probs[rows, None].astype(np.float64)
        gate, up = np.split(x[token] @ w1[g].T, 2, axis=1)
        sigma = 1 / (1 + np.exp(-gate))
        silu = gate * sigma
        np.add.at(y, token, (silu * up * prob) @ w2[g].T)
        dw2[g] = dy[token].T @ (silu * up * prob)
        dh = dy[token] @ w2[g]
        dprobs[rows] = (dh * silu * up).sum(axis=1)
        dgu = np.concatenate([dh * prob * up * sigma * (1 + gate * (1 - sigma)),
                              dh * prob * silu], axis=1)
        dw1[g] = dgu.T @ x[token]
        np.add.at(dx, token, dgu @ w1[g])
    return y, dx, dw1, dw2, dprobs


# --- Comparisons ----------------------------------------------------------------------


def by_bits(**pairs):
    """Compares the bits of pairs of (found, expected) arrays."""
    wrong = {name: int((a != b).sum()) for name, (a, b) in pairs.items()}
    compared = sum(b.size for _, b in pairs.values())
    return {"by": "bits", "compared": compared, "different": sum(wrong.values())}


def by_bound(found, expected, bound):
    """Compares deviations with an error bound. `of_bound` in the result is the largest ratio of a
    deviation to its bound."""
    found = np.asarray(found).astype(np.float64)
    deviation = np.abs(found - expected)
    # NaN is treated as the largest deviation.
    parts = np.where(deviation == 0, 0, deviation / np.maximum(bound, 1e-300))
    worst = np.unravel_index(np.argmax(np.where(np.isnan(parts), np.inf, parts)),
                             parts.shape)
    return {"by": "bound", "compared": int(expected.size),
            "max_deviation": finite(deviation[worst]), "bound": finite(bound[worst]),
            "of_bound": finite(parts[worst])}


def by_ratio(found, expected, least):
    """Computes the signal-to-noise ratio of each array in dB. `found` and `expected` map names to
    arrays, and `least` is the smallest accepted ratio."""
    ratios = {}
    for name, exact in expected.items():
        noise = ((np.asarray(found[name]).astype(np.float64) - exact) ** 2).sum()
        ratios[name] = finite(10 * np.log10((exact ** 2).sum() / noise))
    return {"by": "ratio", "compared": sum(e.size for e in expected.values()),
            "least_db": least, "found_db": ratios}


def finite(x):
    """Returns x as a float for JSON, or None if x is not finite."""
    return float(x) if np.isfinite(x) else None


def is_right(comparison):
    """Returns True if a comparison succeeded."""
    if comparison["by"] == "bits":
        return comparison["different"] == 0
    if comparison["by"] == "bound":
        return comparison["of_bound"] is not None and comparison["of_bound"] <= 1
    return all(ratio is not None and ratio >= comparison["least_db"]
               for ratio in comparison["found_db"].values())


def matmul_bound(terms, count, expected, dtype="bf16"):
    """Returns the error bound of an f32 sum of `count` terms with one final rounding to `dtype`
    (docs/guide/Run.md, Checking). A tensor core adds 16 terms in a step and may truncate in each
    step. `terms` is the sum of the terms' magnitudes."""
    rounding = {"bf16": 2.0 ** -8, "f16": 2.0 ** -11, "f32": 2.0 ** -24}[dtype]
    return ((5.25 * math.ceil(count / 16) + 4) * 2.0 ** -23 * terms +
            np.abs(expected) * rounding * 1.01 + 2.0 ** -24 * (dtype == "f16"))


def swiglu(gate_up, q, probs=1.0, starts=None):
    """Returns the expected values of swiglu_quantize and their error bound, which covers the
    quantization of a rounded value."""
    gate, up = np.split(gate_up.astype(np.float64), 2, axis=1)
    expected = gate / (1 + np.exp(-gate)) * up * np.reshape(probs, (-1, 1))
    block = np.repeat(scales(q, starts), q.format.block, axis=-1)
    return expected, np.maximum(np.abs(expected) / 8, block * 2.0 ** -9) * 0.6
