"""Compares TOSA's block-scaled operations after mx-import-scaled with a numpy model of the TOSA specification.

RUN: %python %s mx-run mx-opt %t
REQUIRES: compiler, numpy

The model follows TOSA 1.1: the pseudocode of the operators, calc_block_scale and tosa_reference_check_scale. The
largest magnitudes of blocks include all boundaries of the scale rules, both ends of the range, zero, infinity and NaN.
The model computes in float64, which is exact for these inputs.
"""

import mx_reference as ref
import numpy as np
from harness import FLOATS, Harness
from imported import ELEMENTS, all_codes, run_imported

test = Harness("mx_run", "mx_opt", "folder", seed=2)
rng = test.rng
BIASES = {"f8E4M3FN": 7, "f8E5M2": 15, "f6E3M2FN": 3, "f6E2M3FN": 1, "f4E2M1FN": 1}


def decode(element, codes=None):
    """Returns the numbers of the given codes, or of all codes."""
    return ref.decode(all_codes(element) if codes is None else codes, ELEMENTS[element])


def block_scale(element, maxima):
    """Models calc_block_scale. Scales are powers of two, or NaN for blocks with NaN or infinity."""
    _, largest, _, fraction, _ = ref.ELEMENTS[ELEMENTS[element]]
    limit = largest + 0.5 * 2.0**(np.floor(np.log2(largest)) - fraction)
    with np.errstate(divide="ignore", invalid="ignore"):
        significand, exponent = np.frexp(maxima / limit)  # in [1/2, 1)
    ceiling, floor = np.where(significand == 0.5, exponent - 1, exponent), exponent - 1
    scale = ceiling if element == "f8E4M3FN" else floor + 1
    scale = np.where(maxima == 0, -127, np.clip(scale, -127, 127)).astype(np.float64)
    return np.where(np.isfinite(maxima), scale, np.nan)


def check_scale(element, test_scale, test_value, scale, value):
    """Models tosa_reference_check_scale. A scale may be up to twice as large, and an element may differ by one unit (by
    two units for E4M3)."""
    ok = (test_scale <= 2 * scale) & (test_scale >= 0)
    reference = scale * value / test_scale
    _, largest, _, fraction, _ = ref.ELEMENTS[ELEMENTS[element]]
    unit = 2.0**-6
    if element in BIASES:
        least = 2.0**(1 - BIASES[element])
        with np.errstate(divide="ignore"):
            exponent = np.floor(np.log2(np.where(test_value == 0, least, np.abs(test_value))))
        unit = np.maximum(2.0**exponent, least) * 2.0**-fraction
    bound = unit * (2 if element == "f8E4M3FN" else 1)
    near = np.abs(np.abs(reference) - np.abs(test_value)) <= bound
    beyond = (np.abs(test_value) + bound > largest) & (np.abs(reference) >= np.abs(test_value) - bound)
    return ok & (near | beyond)


def quantize(element, source, rows):
    return f"""
func.func @main(%x: tensor<{rows}x32x{source}>) -> (tensor<{rows}x32x{element}>, tensor<{rows}x1xf8E8M0FNU>) {{
  %q, %s = tosa.cast_to_block_scaled %x {{block_size = BLOCK_SIZE_32}} : (tensor<{rows}x32x{source}>) -> (tensor<{rows}x32x{element}>, tensor<{rows}x1xf8E8M0FNU>)
  return %q, %s : tensor<{rows}x32x{element}>, tensor<{rows}x1xf8E8M0FNU>
}}"""


def blocks(element, source):
    """Creates blocks with largest magnitudes at, just below and just above all boundaries, multiplied by powers of
    two over the whole range."""
    largest = ref.ELEMENTS[ELEMENTS[element]][1]
    borders = np.unique([largest, largest * 1.0625, 464.0, 1.0, 1.5, 1.75, 1.875, 1.9375, 255 / 128, 127 / 64, 2 - 2.0**-7])
    borders = borders.astype(np.float32)
    borders = np.concatenate([np.nextafter(borders, np.float32(0)), borders, np.nextafter(borders, np.float32(np.inf))])
    exponents = np.array([-149, -140, -127, -126, -125, -120, -60, -1, 0, 1, 60, 110, 119])
    maxima = np.ldexp(borders[:, None].astype(np.float64), exponents).ravel()
    maxima = np.concatenate([maxima, rng.lognormal(0, 20, 400), [0.0, 0.0, 3.4028235e38, 2.0**127, 2.0**-149, np.inf, np.nan]])
    with np.errstate(over="ignore"):
        maxima = maxima.astype(np.float32)
        x = (rng.uniform(-1, 1, (len(maxima), 32)) * maxima[:, None].astype(np.float64)).astype(np.float32)
    place = rng.integers(0, 32, len(maxima))
    x[np.arange(len(maxima)), place] = np.where(rng.integers(0, 2, len(maxima)), maxima, -maxima)
    # Insert ties between two elements, and both zeros.
    x[::7, 5], x[::7, 6] = 0.0, -0.0
    x[1::3, 7:12] = x[1::3, place[1::3][0]][:, None] * np.array([0.5, 0.75, 0.625, 0.0625, 2.0**-10], np.float32)
    return x.astype(FLOATS[source])


def compare_quantized(element, source):
    x = blocks(element, source)
    wide = x.astype(np.float64)
    data, bytes_ = run_imported(test, quantize(element, source, len(x)), [x], results=2)
    codes = ref.unpack(data, element)
    maxima = np.abs(wide).max(axis=1)
    expected = block_scale(element, maxima)
    found = bytes_[:, 0].astype(np.float64) - 127
    finite = np.isfinite(expected)
    test.require(f"{element}: scales of blocks with NaN are NaN", (bytes_[np.isnan(maxima), 0] == 255).all())
    differs = finite & (found != expected)
    if element == "!tosa.mxint8":
        differs &= (maxima >= 2.0**-126) | (maxima < 2.0**-126 - 2.0**-133) | (found != expected + 1)
    test.require(f"{element} of {source}: scales", not differs.any(), [*zip(maxima[differs], found[differs])][:1])
    scale = np.ldexp(1.0, found[finite].astype(int))[:, None]
    test.expect(f"{element} of {source}: elements", codes[finite], ref.encode(wide[finite] / scale, ELEMENTS[element]))
    reference = np.ldexp(1.0, expected[finite].astype(int))[:, None]
    fine = check_scale(element, scale, decode(element, codes[finite]), reference, wide[finite] / reference)
    test.require(f"{element} of {source}: allowed differences", fine.all(), np.argwhere(~fine)[:1])


def compare_dequantized(element):
    """Casts all codes with all scales to f32 and bf16."""
    width = max(len(all_codes(element)), 32)
    codes = np.resize(all_codes(element), (256, width))
    bytes_ = np.repeat(np.arange(256, dtype=np.uint8)[:, None], width // 32, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = ref.real(codes, bytes_, ELEMENTS[element]).astype(np.float32)
    for result in ["f32", "bf16"]:
        text = f"""
func.func @main(%q: tensor<256x{width}x{element}>, %s: tensor<256x{width // 32}xf8E8M0FNU>) -> tensor<256x{width}x{result}> {{
  %x = tosa.cast_from_block_scaled %q, %s {{block_size = BLOCK_SIZE_32}} : (tensor<256x{width}x{element}>, tensor<256x{width // 32}xf8E8M0FNU>) -> tensor<256x{width}x{result}>
  return %x : tensor<256x{width}x{result}>
}}"""
        found = run_imported(test, text, [ref.pack(codes, ELEMENTS[element]), bytes_])
        with np.errstate(over="ignore"):
            test.expect(f"{element} to {result}", found, expected.astype(FLOATS[result]), nan=True)


def compare_matmuls(element, n, d):
    """Multiplies n matrices of 8 x 96 by d transposed matrices of 16 x 96."""
    legal = np.flatnonzero(np.isfinite(decode(element)))

    def operand(*shape):
        codes = rng.choice(legal, shape).astype(np.uint8)
        bytes_ = rng.integers(119, 136, (*shape[:-1], 3)).astype(np.uint8)
        return codes, bytes_, ref.real(codes, bytes_, ELEMENTS[element])

    ca, sa, a = operand(n, 8, 96)
    cb, sb, b = operand(d, 16, 96)
    types = [f"tensor<{n}x8x96x{element}>", f"tensor<{n}x8x3xf8E8M0FNU>", f"tensor<{d}x16x96x{element}>", f"tensor<{d}x16x3xf8E8M0FNU>"]
    text = f"""
func.func @main({", ".join(f"%{i}: {type}" for i, type in zip("abcd", types))}) -> tensor<{n}x8x16xf32> {{
  %y = tosa.matmul_t_block_scaled %a, %b, %c, %d {{block_size = BLOCK_SIZE_32}} : ({", ".join(types)}) -> tensor<{n}x8x16xf32>
  return %y : tensor<{n}x8x16xf32>
}}"""
    b = np.broadcast_to(b, (n, *b.shape[1:]))
    exact, sums = np.einsum("nhk,nwk->nhw", a, b), np.einsum("nhk,nwk->nhw", np.abs(a), np.abs(b))
    on_chip = (n == 1 or d == 1) and element not in ("!tosa.mxint8", "f4E2M1FN")
    for chip in ["cpu"] + ["sm_100a"] * on_chip:
        arguments = [ref.pack(ca, ELEMENTS[element]), sa, ref.pack(cb, ELEMENTS[element]), sb]
        # The specification allows a much larger error: 2 * 64 * 2^10 units (Dot product accuracy requirements).
        test.expect_numbers(f"matmuls of {element}, {n} x {d}, on {chip}", run_imported(test, text, arguments, chip=chip),
                            exact, 8 * 2.0**-23 * sums)


for element in ELEMENTS:
    for source in ["f32", "bf16"]:
        compare_quantized(element, source)
    compare_dequantized(element)
    for n, d in [(1, 1), (3, 3), (3, 1)]:
        compare_matmuls(element, n, d)
test.finish(least=500000)
