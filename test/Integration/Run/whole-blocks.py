# REQUIRES: numpy
# RUN: %python %s mx-test-run %t cpu
# RUN: %python %s mx-test-run %t sm_90a
# RUN: %python %s mx-test-run %t sm_100a
# RUN: %python %s mx-test-run %t sm_120a
"""Tests formats with one block per row or per matrix (test/lib/Formats). All results equal numpy's. The CPU path
quantizes, dequantizes and multiplies. Kernels dequantize, quantize rows, and multiply if the matmul supports two bf16
operands."""

import ml_dtypes
import numpy as np
from harness import BF16, Harness

test = Harness("mx_run", "folder", "chip", seed=5)
on_cpu = test.chip == "cpu"
E4M3 = ml_dtypes.float8_e4m3fn
MOST = np.float32(ml_dtypes.finfo(E4M3).max)
SCALES = {"row": "!mx_formats.row_scale", "matrix": "!mx_formats.matrix_scale"}


def make_input(*shape):
    rows = test.rng.integers(-9, 9, (*shape[:-1], 1))
    return (test.rng.standard_normal(shape) * np.exp2(rows)).astype(np.float32)


def quantize(x, kind):
    axes = -1 if kind == "row" else (-2, -1)
    with np.errstate(all="ignore"):
        scales = np.abs(x).max(axes, keepdims=True, initial=0) / MOST
        factors = np.where(scales == 0, 0, np.fmin(np.float32(1) / scales, np.finfo(np.float32).max))
        factors = np.where(np.isnan(scales), scales, factors).astype(np.float32)
        quotients = np.clip(x * factors, -MOST, MOST)
        quotients[np.isnan(quotients)] = np.float32(np.nan)  # the sign is dropped
        return quotients.astype(E4M3), scales.astype(np.float32)


def dequantize(elements, scales):
    with np.errstate(invalid="ignore"):
        return elements.astype(np.float64) * scales.astype(np.float64)


def bits(array):
    return array.view(f"u{array.itemsize}")


def multiply(a, b):
    """Multiplies in the order of the CPU path, or with operands rounded to bf16, as kernels do."""
    if not on_cpu:
        return (a.astype(BF16).astype(np.float64) @ b.astype(BF16).astype(np.float64).T).astype(np.float32)
    total = np.zeros((len(a), len(b)))
    for k in range(a.shape[1]):
        total += np.outer(a[:, k], b[:, k])
    return total.astype(np.float32)


def compare(name, found, expected):
    if on_cpu:
        test.expect(f"{test.chip} {name}", found, expected)
    else:
        test.expect_numbers(f"{test.chip} {name}", found, expected, limit=1e-5 * np.abs(expected).max())


def t(shape, element):
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def round_trip(kind, rows, columns, axis=1, special=False, dynamic=False):
    """Quantizes on the CPU path, and rows everywhere. Dequantizes everywhere."""
    x = make_input(rows, columns)
    if special:
        x[1, 5], x[2, 7], x[3] = np.inf, np.nan, 0
    elements, scales = quantize(x if axis else x.T, kind)
    shape = ["?", "?"] if dynamic else list(elements.shape)
    q = t(shape, "f8E4M3FN")
    s = t([1 if kind == "matrix" else shape[0], 1], SCALES[kind])
    d, i = t(shape, "f32"), t(["?", "?"] if dynamic else x.shape, "f32")
    size = "%m, %k" if dynamic else ""
    scale_size = "%m" if dynamic and kind == "row" else ""
    first, second = (0, 1) if axis else (1, 0)
    program = f"""
func.func @quantize(%x: {i}) -> ({q}, {s}) {{
  %c0 = arith.constant {first} : index
  %c1 = arith.constant {second} : index
  %m = tensor.dim %x, %c0 : {i}
  %k = tensor.dim %x, %c1 : {i}
  %e = tensor.empty({size}) : {q}
  %f = tensor.empty({scale_size}) : {s}
  %q, %s = mx.quantize ins(%x : {i}) outs(%e, %f : {q}, {s}) axes = [{axis}] -> {q}, {s}
  return %q, %s : {q}, {s}
}}
func.func @dequantize(%q: {q}, %s: {s}) -> {d} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %q, %c0 : {q}
  %k = tensor.dim %q, %c1 : {q}
  %e = tensor.empty({size}) : {d}
  %y = mx.dequantize ins(%q, %s : {q}, {s}) outs(%e : {d}) block_size = row -> {d}
  return %y : {d}
}}
"""
    name = f"{test.chip} {kind} {rows}x{columns} axis {axis}"
    if on_cpu or kind == "row":
        found = test.run(program, [x], 2, "--entry=quantize", chip=test.chip)
        test.expect(name + " elements", found[0], bits(elements))
        test.expect(name + " scales", found[1], bits(scales))
    y, = test.run(program, [bits(elements), bits(scales)], 1, "--entry=dequantize", chip=test.chip)
    test.expect(name + " numbers", y, dequantize(elements, scales).astype(np.float32), nan=True)


def matmul(kind, m, n, k, batch=()):
    (a, sa), (b, sb) = quantize(make_input(*batch, m, k), kind), quantize(make_input(*batch, n, k), kind)
    types = [t(a.shape, "f8E4M3FN"), t(sa.shape, SCALES[kind]), t(b.shape, "f8E4M3FN"), t(sb.shape, SCALES[kind])]
    d = t([*batch, m, n], "f32")
    program = f"""
func.func @main(%a: {types[0]}, %sa: {types[1]}, %b: {types[2]}, %sb: {types[3]}) -> {d} {{
  %e = tensor.empty() : {d}
  %y = mx.matmul ins(%a, %sa, %b, %sb : {", ".join(types)}) outs(%e : {d}) block_size = row -> {d}
  return %y : {d}
}}
"""
    y, = test.run(program, [bits(x) for x in (a, sa, b, sb)], 1, chip=test.chip)
    a, b = (x.reshape(-1, *x.shape[-2:]) for x in (dequantize(a, sa), dequantize(b, sb)))
    expected = np.stack([multiply(*pair) for pair in zip(a, b)]).reshape(*batch, m, n)
    compare(f"{kind} {batch}{m}x{n}x{k}", y, expected)


def grouped(ends, n, k, masked):
    """Multiplies expert groups. Each row must keep its scale, wherever its expert group starts."""
    groups, rows = len(ends), 40 if masked else ends[-1]
    a, sa = quantize(make_input(*[groups] * masked, rows, k), "row")
    b, sb = quantize(make_input(groups, n, k), "row")
    types = [t(a.shape, "f8E4M3FN"), t(sa.shape, SCALES["row"]), t(b.shape, "f8E4M3FN"), t(sb.shape, SCALES["row"])]
    o, d = t([groups], "i32"), t([*a.shape[:-1], n], "f32")
    program = f"""
func.func @main(%a: {types[0]}, %sa: {types[1]}, %b: {types[2]}, %sb: {types[3]}, %o: {o}, %e: {d}) -> {d} {{
  %y = mx.grouped_matmul ragged = rows {"masked" * masked} ins(%a, %sa, %b, %sb : {", ".join(types)}) offsets(%o : {o})
      outs(%e : {d}) block_size = row -> {d}
  return %y : {d}
}}
"""
    expected = np.zeros((*a.shape[:-1], n), np.float32)
    a_numbers, b_numbers = dequantize(a, sa), dequantize(b, sb)
    for g, (begin, end) in enumerate(zip([0, *ends], ends)):
        if masked:
            expected[g, :end] = multiply(a_numbers[g, :end], b_numbers[g])
        else:
            expected[begin:end] = multiply(a_numbers[begin:end], b_numbers[g])
    y, = test.run(program, [*(bits(x) for x in (a, sa, b, sb)), np.array(ends, np.int32), expected * 0], 1,
                  chip=test.chip)
    compare(f"grouped {'masked' if masked else 'rows'} {ends}", y, expected)


round_trip("row", 70, 320, special=True)
round_trip("matrix", 70, 320)
round_trip("row", 40, 96, dynamic=True)
round_trip("matrix", 33, 64, dynamic=True)
if on_cpu:
    round_trip("row", 9, 77, axis=0)
    round_trip("row", 5, 1)
    round_trip("row", 5, 0)
    round_trip("matrix", 0, 64, dynamic=True)
if test.chip in ("cpu", "sm_90a"):
    matmul("row", 130, 136, 384)
    matmul("matrix", 64, 72, 96)
    matmul("row", 40, 24, 64, batch=(2,))
    matmul("matrix", 40, 24, 64, batch=(2,))
    grouped([3, 3, 90, 130], 72, 96, masked=False)
    grouped([3, 0, 40, 17], 72, 96, masked=True)
test.finish(least=20000)
