"""What mx-import-scaled makes of TOSA's block-scaled operations, against numpy written from the specification.

RUN: %python %s mx-run mx-opt %t
REQUIRES: compiler, numpy

TOSA 1.1: the pseudocode of the operators, calc_block_scale, tosa_reference_check_scale. Maxima of blocks lie at all
borders of the rules for scales, at both ends of the range, and are zero, infinite and NaN; everything is in float64,
where it is exact.
"""

import sys

import numpy as np
from import_scaled import ELEMENTS, Importer, pack, to_bf16, unpack

importer = Importer(*sys.argv[1:])
rng = np.random.default_rng(2)
# Bits of the exponent and of the fraction, and the bias.
FORMATS = {
    "f8E4M3FN": (4, 3, 7),
    "f8E5M2": (5, 2, 15),
    "f6E3M2FN": (3, 2, 3),
    "f6E2M3FN": (2, 3, 1),
    "f4E2M1FN": (2, 1, 1)
}


def decode(element):
    """The numbers of all codes."""
    bits, largest = ELEMENTS[element]
    codes = np.arange(2**bits)
    if element == "!tosa.mxint8":
        return codes.astype(np.uint8).view(np.int8) / 64.0
    width, fraction, bias = FORMATS[element]
    magnitude = codes & 2**(bits - 1) - 1
    exponent, rest = magnitude >> fraction, magnitude & 2**fraction - 1
    normal = np.ldexp(1 + rest / 2.0**fraction, exponent - bias)
    values = np.where(exponent == 0, np.ldexp(rest / 2.0**fraction, 1 - bias), normal)
    values = np.where(values > largest, np.nan, values)
    if element == "f8E5M2":
        values[(magnitude == 0x7C)] = np.inf
    return np.where(codes >> bits - 1, -values, values)


def round_to(element, values):
    """Codes of the nearest numbers, even ones of two, all in range."""
    table = decode(element)
    order = [code for code in np.argsort(table, kind="stable") if np.isfinite(table[code])]
    if element != "!tosa.mxint8":
        order = [code for code in order if code != 2**(ELEMENTS[element][0] - 1)]  # -0
    numbers = table[order]
    above = np.clip(np.searchsorted(numbers, values), 1, len(order) - 1)
    below = above - 1
    to_below, to_above = values - numbers[below], numbers[above] - values
    codes = np.array(order)
    odd = codes[below] & 1
    up = (to_above < to_below) | ((to_above == to_below) & (odd == 1))
    found = np.where(up, codes[above], codes[below])
    negative_zero = (table[found] == 0) & np.signbit(values) & (element != "!tosa.mxint8")
    return np.where(negative_zero, 2**(ELEMENTS[element][0] - 1), found)


def block_scale(element, maxima):
    """calc_block_scale: exponents of two, NaN for blocks with NaN or infinity."""
    largest = ELEMENTS[element][1]
    fraction = {"!tosa.mxint8": 6}.get(element) or FORMATS[element][1]
    limit = largest + 0.5 * 2.0**(np.floor(np.log2(largest)) - fraction)
    with np.errstate(divide="ignore", invalid="ignore"):
        significand, exponent = np.frexp(maxima / limit)  # in [1/2, 1)
    ceiling, floor = np.where(significand == 0.5, exponent - 1, exponent), exponent - 1
    scale = ceiling if element == "f8E4M3FN" else floor + 1
    scale = np.where(maxima == 0, -127, np.clip(scale, -127, 127)).astype(np.float64)
    return np.where(np.isfinite(maxima), scale, np.nan)


def check_scale(element, test_scale, test_value, scale, value):
    """tosa_reference_check_scale: one unit of the scale, then one of the element, two of E4M3."""
    unit = 2.0**-6 if element == "!tosa.mxint8" else None
    ok = (test_scale <= 2 * scale) & (test_scale >= 0)
    reference = scale * value / test_scale
    largest = ELEMENTS[element][1]
    if unit is None:
        fraction = FORMATS[element][1]
        least = 2.0**(1 - FORMATS[element][2])
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
    """Blocks whose maxima are at, just below and just above all borders, times powers of two from end to end."""
    largest = ELEMENTS[element][1]
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
    # Ties of elements, and both zeros.
    x[::7, 5], x[::7, 6] = 0.0, -0.0
    x[1::3, 7:12] = x[1::3, place[1::3][0]][:, None] * np.array([0.5, 0.75, 0.625, 0.0625, 2.0**-10], np.float32)
    return to_bf16(x) if source == "bf16" else x


def compare_quantized(element, source):
    x = blocks(element, source)
    wide = x.astype(np.float64)
    given = (x.view(np.uint32) >> 16).astype(np.uint16) if source == "bf16" else x
    data, bytes_ = importer.run_imported(quantize(element, source, len(x)), [given], results=2)
    codes = unpack(data, element)
    maxima = np.abs(wide).max(axis=1)
    expected = block_scale(element, maxima)
    found = bytes_[:, 0].astype(np.float64) - 127
    finite = np.isfinite(expected)
    if not (bytes_[np.isnan(maxima), 0] == 255).all():
        sys.exit(f"{element}: a block with NaN has no NaN as scale")
    differs = finite & (found != expected)
    allowed = np.zeros(len(x), bool)
    if element == "!tosa.mxint8":
        allowed = (maxima < 2.0**-126) & (maxima >= 2.0**-126 - 2.0**-133) & (found == expected + 1)
    wrong = differs & ~allowed
    if wrong.any():
        i = np.flatnonzero(wrong)[0]
        sys.exit(f"{element} of {source}: maximum {maxima[i]!r}, expected the scale 2^{expected[i]}, found 2^{found[i]}; {wrong.sum()} differ")
    scale = np.ldexp(1.0, found[finite].astype(int))[:, None]
    exact = wide[finite] / scale
    wanted = round_to(element, exact)
    wrong = codes[finite] != wanted
    if element == "!tosa.mxint8":
        # The least number of mx is -127/64, where 2^127 is the largest scale.
        wrong &= ~((wanted == 128) & (codes[finite] == 129) & (scale == 2.0**127))
    if wrong.any():
        i = tuple(np.argwhere(wrong)[0])
        sys.exit(f"{element} of {source}: {exact[i]!r} is {codes[finite][i]}, and not {wanted[i]}; {wrong.sum()} differ")
    reference = np.ldexp(1.0, expected[finite].astype(int))[:, None]
    values = decode(element)[codes[finite]]
    fine = check_scale(element, scale, values, reference, wide[finite] / reference)
    if not fine.all():
        i = tuple(np.argwhere(~fine)[0])
        sys.exit(f"{element} of {source}: the specification does not allow {values[i]} * {scale[i[0]]} for {wide[finite][i]}")
    importer.compared += codes.size


def compare_dequantized(element):
    """All codes with all scales, to f32 and bf16."""
    count = 2**ELEMENTS[element][0]
    width = max(count, 32)
    codes = np.broadcast_to(np.arange(width) % count, (256, width))
    bytes_ = np.repeat(np.arange(256, dtype=np.uint8)[:, None], width // 32, 1)
    scales = np.where(np.arange(256) == 255, np.nan, np.ldexp(1.0, np.arange(256) - 127))
    with np.errstate(over="ignore", invalid="ignore"):
        expected = (decode(element)[codes] * scales[:, None]).astype(np.float32)
    for result in ["f32", "bf16"]:
        text = f"""
func.func @main(%q: tensor<256x{width}x{element}>, %s: tensor<256x{width // 32}xf8E8M0FNU>) -> tensor<256x{width}x{result}> {{
  %x = tosa.cast_from_block_scaled %q, %s {{block_size = BLOCK_SIZE_32}} : (tensor<256x{width}x{element}>, tensor<256x{width // 32}xf8E8M0FNU>) -> tensor<256x{width}x{result}>
  return %x : tensor<256x{width}x{result}>
}}"""
        found = importer.run_imported(text, [pack(codes, element), bytes_])
        if result == "bf16":
            found = (found.astype(np.uint32) << 16).view(np.float32)
        importer.same(f"{element} to {result}", found, expected if result == "f32" else to_bf16(expected))


def compare_matmuls(element, n, d):
    """n matrices of 8 x 96 times d, transposed: 16 x 96."""
    table = decode(element)
    legal = np.flatnonzero(np.isfinite(table))

    def operand(*shape):
        codes = rng.choice(legal, shape).astype(np.uint8)
        bytes_ = rng.integers(119, 136, (*shape[:-1], 3)).astype(np.uint8)
        return codes, bytes_, table[codes] * np.ldexp(1.0, np.repeat(bytes_, 32, -1).astype(int) - 127)

    ca, sa, a = operand(n, 8, 96)
    cb, sb, b = operand(d, 16, 96)
    types = [f"tensor<{n}x8x96x{element}>", f"tensor<{n}x8x3xf8E8M0FNU>", f"tensor<{d}x16x96x{element}>", f"tensor<{d}x16x3xf8E8M0FNU>"]
    text = f"""
func.func @main({", ".join(f"%{i}: {type}" for i, type in zip("abcd", types))}) -> tensor<{n}x8x16xf32> {{
  %y = tosa.matmul_t_block_scaled %a, %b, %c, %d {{block_size = BLOCK_SIZE_32}} : ({", ".join(types)}) -> tensor<{n}x8x16xf32>
  return %y : tensor<{n}x8x16xf32>
}}"""
    devices = ["cpu"]
    if (n == 1 or d == 1) and element != "!tosa.mxint8" and element != "f4E2M1FN":
        devices.append("sim --chip=sm_100a")
    for device in devices:
        found = importer.run_imported(text, [pack(ca, element), sa, pack(cb, element), sb], device=device)
        exact = np.einsum("nhk,nwk->nhw", a, np.broadcast_to(b, (n, *b.shape[1:])))
        sums = np.einsum("nhk,nwk->nhw", np.abs(a), np.abs(np.broadcast_to(b, (n, *b.shape[1:]))))
        # The specification allows far more: 2 * 64 * 2^10 units (Dot product accuracy requirements).
        wrong = ~(np.abs(found - exact) <= 8 * 2.0**-23 * sums)
        importer.compared += found.size
        if wrong.any():
            sys.exit(f"matmuls of {element}, {n} x {d}, on {device}: {wrong.sum()} of {wrong.size} are off")


for element in ELEMENTS:
    for source in ["f32", "bf16"]:
        compare_quantized(element, source)
    compare_dequantized(element)
    for n, d in [(1, 1), (3, 3), (3, 1)]:
        compare_matmuls(element, n, d)
print(f"{importer.compared} numbers compared")
sys.exit(importer.compared < 500000)
