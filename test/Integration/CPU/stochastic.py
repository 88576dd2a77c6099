# REQUIRES: numpy
# RUN: %python %s mx-run %t
"""Tests stochastic rounding (mx.quantize with a seed): every bit equals a numpy model of Philox and the rounding, and
the rounded elements are unbiased."""

import mx_reference as ref
import numpy as np
from harness import Harness, group_ends, to_array
from philox import draw

SEED = 0x9E3779B97F4A7C15 - 2**64


# For each element type: exponent bias (i8 elements are in units of 2^-6) and largest code.
FORMATS = {"f8E4M3FN": (7, 0x7E), "f8E5M2": (15, 0x7B), "f6E3M2FN": (3, 0x1F),
           "f6E2M3FN": (1, 0x1F), "f4E2M1FN": (1, 0x7)}


def encode(y, element, words):
    """Rounds float32 numbers with random words and returns the codes. The 24-bit significand is split after the last
    kept bit. The remaining d bits are added to a random d-bit number, and the sum may carry into the kept part. If d
    exceeds 32, only the upper 32 bits of the remainder are used."""
    _, _, _, mantissa, nan = ref.ELEMENTS[element]
    finite = np.where(np.isfinite(y), y, 1).astype(np.float64)
    fraction, exponent = np.frexp(np.abs(finite))
    significand = (fraction * 2.0**24).astype(np.int64)
    exponent = exponent.astype(np.int64) - 1  # 2^exponent <= |y|
    if element == "i8":
        unit = np.full_like(exponent, -6)
        largest, signs = 127, 0
    else:
        bias, largest = FORMATS[element]
        unit = np.maximum(exponent, 1 - bias) - mantissa
        signs = 1 << (int(element[1]) - 1)
    d = unit - (exponent - 23)
    rest = np.minimum(d, 32)
    inside = rest > 0
    shifted = significand >> np.clip(d - 32, 0, 63)
    below = words.astype(np.int64) & ((np.int64(1) << np.maximum(rest, 0)) - 1)
    units = np.where(inside, (shifted + below) >> np.maximum(rest, 0), 2**20)
    if element == "i8":
        codes = units
    else:
        # 2^mantissa units are the smallest number of the next binade.
        codes = units + ((unit + mantissa - (1 - bias)) << mantissa)
    codes = np.where(np.isinf(y) | (codes > largest), largest, codes)
    codes = np.where(finite == 0, 0, codes)
    if element == "i8":
        codes = np.where(np.isnan(y), 0, np.where(np.signbit(y), -codes, codes))
        return codes.astype(np.int8).view(np.uint8)
    codes = codes | np.where(np.signbit(y), signs, 0)
    return np.where(np.isnan(y), nan, codes).astype(np.uint8)


def quantize(x, element, words, nvfp4_encode=None):
    """Quantizes like the reference, except for the rounding of elements."""
    original = ref.encode
    ref.encode = lambda y, e: encode(y, e, words.reshape(y.shape)) if (
        e == element) else original(y, e)
    try:
        return ref.quantize(x, element, nvfp4_encode=nvfp4_encode)
    finally:
        ref.encode = original


def numbers(rng, rows, columns):
    x = rng.standard_normal((rows, columns)) * np.exp2(
        rng.integers(-140, 127, (rows, 1)))
    x = x.astype(np.float32)
    bits = rng.integers(0, 2**32, (rows // 2, columns), dtype=np.uint64)
    x[:rows // 2] = bits.astype(np.uint32).view(np.float32)
    x[-2] = np.resize([1, -1, 0.0, -0.0, 2.0**-20, -2.0**-28, 2.0**-33], columns)
    x[-1] = np.resize([np.inf, 3, -np.inf, 2.0**-126], columns)
    return x


def both_axes(runner, rng, dtype, element):
    batch, rows, columns = 2, 64, 96
    array, x = to_array(numbers(rng, batch * rows, columns), dtype)
    array, x = (a.reshape(batch, rows, columns) for a in (array, x))
    e, s, t = f"tensor<2x?x?x{element}>", "tensor<2x?x?xf8E8M0FNU>", dtype
    outs = runner.run(
        f"""
        func.func @main(%x: tensor<2x{rows}x{columns}x{t}>, %seed: i64)
            -> ({e}, {s}, {e}, {s}) {{
          %r = arith.constant {rows} : index
          %c = arith.constant {columns} : index
          %rb = arith.constant {rows // 32} : index
          %cb = arith.constant {columns // 32} : index
          %0 = tensor.empty(%r, %c) : {e}
          %1 = tensor.empty(%r, %cb) : {s}
          %2 = tensor.empty(%c, %r) : {e}
          %3 = tensor.empty(%c, %rb) : {s}
          %q:4 = mx.quantize ins(%x : tensor<2x{rows}x{columns}x{t}>) seed(%seed)
            outs(%0, %1, %2, %3 : {e}, {s}, {e}, {s}) axes = [1, 0]
            -> {e}, {s}, {e}, {s}
          return %q#0, %q#1, %q#2, %q#3 : {e}, {s}, {e}, {s}
        }}""", [array, np.int64(SEED)], 4)
    words = draw(x.shape, SEED)
    turned = [np.ascontiguousarray(a.swapaxes(1, 2)) for a in (x, words)]
    for axis, (y, w) in enumerate([(x, words), turned]):
        elements, scales = quantize(y, element, w)
        name = f"{dtype} {element} axis {1 - axis} "
        runner.expect(name + "elements", outs[2 * axis],
                      ref.pack(elements, element))
        runner.expect(name + "scales", outs[2 * axis + 1], scales)


def nvfp4(runner, rng):
    rows, columns, enc = 64, 80, 37.5
    x = numbers(rng, rows, columns)
    e, s = f"tensor<{rows}x{columns}xf4E2M1FN>", f"tensor<{rows}x5xf8E4M3FN>"
    outs = runner.run(
        f"""
        func.func @main(%x: tensor<{rows}x{columns}xf32>, %g: f32, %seed: i64)
            -> ({e}, {s}) {{
          %0 = tensor.empty() : {e}
          %1 = tensor.empty() : {s}
          %q:2 = mx.quantize ins(%x : tensor<{rows}x{columns}xf32>)
            global_scale(%g) seed(%seed) outs(%0, %1 : {e}, {s})
            -> {e}, {s}
          return %q#0, %q#1 : {e}, {s}
        }}""", [x, np.float32(enc), np.int64(7)], 2)
    elements, scales = quantize(x, "f4E2M1FN", draw(x.shape, 7), enc)
    runner.expect("nvfp4 elements", outs[0], ref.pack(elements, "f4E2M1FN"))
    runner.expect("nvfp4 scales", outs[1], scales)


def ragged(runner, rng):
    """Checks that the random words depend on an element's position in the input, for both kinds of groups."""
    total, columns, groups, element = 200, 32, 4, "f8E4M3FN"
    ends = group_ends(rng, total, groups)
    cap, starts = ref.capacity(total, groups), ref.group_starts(ends)
    x = rng.standard_normal((total, columns)).astype(np.float32)
    words = draw(x.shape, 1)
    scale = "f8E8M0FNU, #mx.scale_layout<sf_128x4, ragged ="
    types = ", ".join([
        f"tensor<{total}x{columns}x{element}>",
        f"tensor<{total}x1x{scale} rows, groups = {groups}>>",
        f"tensor<{columns}x{cap}x{element}>",
        f"tensor<{columns}x{cap // 32}x{scale} reduction, groups = {groups}>>"])
    outs = runner.run(
        f"""
        func.func @main(%x: tensor<{total}x{columns}xf32>,
                        %o: tensor<{groups}xi32>, %seed: i64) -> ({types}) {{
          %0 = tensor.empty() : tensor<{total}x{columns}x{element}>
          %1 = tensor.empty() : tensor<{total}x1x{scale} rows, groups = {groups}>>
          %2 = tensor.empty() : tensor<{columns}x{cap}x{element}>
          %3 = tensor.empty() : tensor<{columns}x{cap // 32}x{scale} reduction, groups = {groups}>>
          %q:4 = mx.quantize ragged = rows ins(%x : tensor<{total}x{columns}xf32>)
            seed(%seed) offsets(%o : tensor<{groups}xi32>)
            outs(%0, %1, %2, %3 : {types}) axes = [1, 0] -> {types}
          return %q#0, %q#1, %q#2, %q#3 : {types}
        }}""", [x, ends, np.int64(1)], 4)
    rows, _ = quantize(x, element, words)
    turned = np.zeros((columns, cap), np.uint8)
    begin = 0
    for start, end in zip(starts, ends):
        length = -(-(end - begin) // 32) * 32
        y, w = np.zeros((columns, length), np.float32), np.zeros(
            (columns, length), np.uint64)
        y[:, :end - begin] = x[begin:end].T
        w[:, :end - begin] = words[begin:end].T
        if length:
            turned[:, start:start + end - begin] = quantize(
                y, element, w)[0][:, :end - begin]
        begin = end
    runner.expect("ragged rows", outs[0], rows)
    runner.expect("ragged reduction", outs[2], turned)


def unbiased(runner):
    """Rounds 2^16 copies of a number between two adjacent values, for every kind of pair. The mean of the rounded
    elements must be within 5 standard deviations of the number."""
    rows, columns = 2048, 1024
    e, s = f"tensor<{rows}x{columns}xf8E4M3FN>", f"tensor<{rows}x32xf8E8M0FNU>"
    values = np.array([1.03, 0.99, 300.1, 0.0143, 0.0021, 0.0001, 1e-5, -17.2],
                      np.float32)
    x = np.repeat(values, rows * columns // 32 // 8 * 31).reshape(-1, 31)
    # Each block contains 448 once, so that its scale is 1.
    x = np.concatenate([x, np.full((len(x), 1), 448, np.float32)], axis=1)
    outs = runner.run(
        f"""
        func.func @main(%x: tensor<{rows}x{columns}xf32>, %seed: i64) -> ({e}, {s}) {{
          %0 = tensor.empty() : {e}
          %1 = tensor.empty() : {s}
          %q:2 = mx.quantize ins(%x : tensor<{rows}x{columns}xf32>) seed(%seed)
            outs(%0, %1 : {e}, {s}) -> {e}, {s}
          return %q#0, %q#1 : {e}, {s}
        }}""", [x.reshape(rows, columns), np.int64(123)], 2)
    assert (outs[1] == 127).all()
    found = ref.decode(outs[0], "f8E4M3FN").reshape(-1, 32)[:, :31]
    for value, drawn in zip(values.astype(np.float64),
                            found.reshape(len(values), -1)):
        neighbours = np.unique(drawn)
        assert len(neighbours) == 2 and (
            neighbours[0] < value < neighbours[1]), (value, neighbours)
        low, high = neighbours
        p = (value - low) / (high - low)
        deviation = (high - low) * np.sqrt(p * (1 - p) / drawn.size)
        error = drawn.mean() - value
        if abs(error) > 5 * deviation:
            runner.failures += 1
            print(f"{value}: the mean is off by {error / deviation:.1f} "
                  "standard deviations")
        runner.compared += drawn.size


runner, rng = Harness("mx_run", "folder", device="cpu"), np.random.default_rng(11)
for element in ref.ELEMENTS:
    both_axes(runner, rng, "f32", element)
both_axes(runner, rng, "bf16", "f8E4M3FN")
both_axes(runner, rng, "f16", "f4E2M1FN")
nvfp4(runner, rng)
ragged(runner, rng)
unbiased(runner)
runner.finish(least=2000000)
