# REQUIRES: numpy
# RUN: %python %s mx-run %t cpu
"""Quantizes blocks of 128 and of 128x128 elements with f32 scales, and changes the layout of scales. Results equal
numpy's, for random numbers and for zeros, subnormal scales, infinities and NaN."""

import ml_dtypes
import numpy as np
from harness import Harness

test = Harness("mx_run", "folder", "chip", seed=7)
ELEMENTS = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}


def make_input(rows, columns):
    x = test.rng.standard_normal((rows, columns)) * np.exp2(test.rng.integers(-30, 30, (rows, 1)))
    x[0] = 0
    x[1, :128] = 1e-42  # a subnormal scale, or 0
    x[2, 5], x[rows // 2, 7], x[-1, -3] = np.inf, np.nan, 3e38
    return x.astype(np.float32)


def quantize(x, rows, element, rounding):
    """Returns the elements, and a scale for each block of `rows` rows."""
    kind = ELEMENTS[element]
    most = np.float32(ml_dtypes.finfo(kind).max)
    height = -(-len(x) // rows)
    blocks = np.zeros((height * rows, x.shape[1]), np.float32)
    blocks[:len(x)] = x
    with np.errstate(all="ignore"):
        scales = np.abs(blocks.reshape(height, rows, -1, 128)).max((1, 3)) / most
        if rounding == "ceil":
            mantissa, exponent = np.frexp(scales.astype(np.float64))
            power = np.exp2(np.maximum(exponent - (mantissa == 0.5), -126)).astype(np.float32)
            scales = np.where((scales == 0) | ~np.isfinite(scales), scales, power)
        scales = np.where(np.isnan(scales), np.float32(np.nan), scales).astype(np.float32)
        factors = np.where(scales == 0, 0, np.fmin(np.float32(1) / scales, np.finfo(np.float32).max))
        factors[np.isnan(scales)] = np.nan
        quotients = np.clip(x * spread(factors.astype(np.float32), rows, len(x)), -most, most)
        quotients[np.isnan(quotients)] = np.float32(np.nan)  # the sign is dropped
        elements = quotients.astype(kind)
        elements.view(np.uint8)[np.isnan(quotients)] = 0x7F
        return elements, scales


def spread(scales, rows, height):
    return np.repeat(np.repeat(scales, rows, 0)[:height], 128, 1)


def by_columns(scales):
    """Returns the bytes of layout mn_major."""
    rows = -(-len(scales) // 4) * 4
    padded = np.zeros((rows, scales.shape[1]), np.float32)
    padded[:len(scales)] = scales
    return np.ascontiguousarray(padded.T).reshape(scales.shape[1], -1, 4)


def check(m, k, element, rounding, squares, layout):
    height = -(-m // 128) if squares else m
    encoding = f", #mx.scale_layout<{layout}>" if layout else ""
    q, linear = f"tensor<{m}x{k}x{element}>", f"tensor<{height}x{k // 128}xf32>"
    s, x = f"tensor<{height}x{k // 128}xf32{encoding}>", f"tensor<{m}x{k}xf32>"
    block = "128x128" if squares else "128"
    spelled = f"scale_rounding = {rounding}" if rounding else ""
    text = f"""
func.func @main(%x: {x}) -> ({q}, {s}, {x}, {linear}) {{
  %eq = tensor.empty() : {q}
  %es = tensor.empty() : {s}
  %ex = tensor.empty() : {x}
  %el = tensor.empty() : {linear}
  %0:2 = mx.quantize ins(%x : {x}) outs(%eq, %es : {q}, {s}) block_size = {block} {spelled} -> {q}, {s}
  %1 = mx.dequantize ins(%0#0, %0#1 : {q}, {s}) outs(%ex : {x}) block_size = {block} -> {x}
  %2 = mx.relayout ins(%0#1 : {s}) outs(%el : {linear}) -> {linear}
  return %0#0, %0#1, %1, %2 : {q}, {s}, {x}, {linear}
}}
"""
    values = make_input(m, k)
    elements, scales = quantize(values, 128 if squares else 1, element, rounding)
    with np.errstate(all="ignore"):
        numbers = (elements.astype(np.float64) * spread(scales.astype(np.float64), 128 if squares else 1, m))
        numbers = numbers.astype(np.float32)
    stored = by_columns(scales) if layout == "mn_major" else scales
    found = test.run(text, [values], 4, chip=test.chip)
    name = f"{m}x{k} {element} {rounding} {block} {layout}"
    for part, own, expected in zip(("elements", "scales", "values", "relayout"), found,
                                   (elements.view(np.uint8), stored, numbers, scales)):
        test.expect(f"{name} {part}", own.view(expected.dtype).reshape(expected.shape), expected,
                    nan=part == "values")


for element in ELEMENTS:
    for rounding in ("", "ceil"):
        check(133, 384, element, rounding, False, "mn_major")
        check(40, 256, element, rounding, False, "")
        check(300, 384, element, rounding, True, "")
test.finish(least=1000)
