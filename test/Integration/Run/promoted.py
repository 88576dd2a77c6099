# REQUIRES: numpy
# RUN: %python %s mx-run %t cpu
# RUN: %python %s mx-run %t sm_90a
"""Matmuls with `promote` have the bits of docs/reference/Spec.md, Folded operands, on the CPU path and on sm_90a. The
oracle adds multiples of a unit, which is exact in f64, and its results satisfy the bound of the page."""

import ml_dtypes
import mx_reference as ref
import numpy as np
from harness import Harness

test = Harness("mx_run", "folder", "chip", seed=9)
TYPES = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}
LEAST = {"f8E4M3FN": -6, "f8E5M2": -14}
STEP, BITS, PROMOTE = 32, 13, 128


def exponents(x, least):
    return np.maximum(np.frexp(x)[1] - 1, least)


def add_step(s, a, b, least_a, least_b):
    """Returns the tensor core's sum of s and the products of the rows of a and b."""
    products = a[:, None, :] * b[None, :, :]
    e = exponents(a, least_a)[:, None, :] + exponents(b, least_b)[None, :, :]
    terms = np.concatenate([products, s[..., None]], axis=-1)
    e = np.concatenate([e, exponents(s, -126)[..., None]], axis=-1)
    with np.errstate(invalid="ignore", over="ignore"):
        plain = terms.sum(-1)
        largest = np.where(terms == 0, -500, e).max(-1)
        unit = np.exp2(largest - BITS)
        total = np.trunc(np.where(np.isfinite(terms), terms, 0) / unit[..., None]).sum(-1) * unit
        # Keep 13 fraction bits of the result.
        own = np.exp2(exponents(total, -126) - BITS)
        return np.where(np.isfinite(plain), np.trunc(total / own) * own, plain)


def decode(scales):
    values = np.exp2(scales.astype(np.float64) - 127)
    return np.where(scales == 255, np.nan, values)


def multiply(a, sa, b, sb, block_a, least):
    """Adds partial sums in f32 in ascending order of k; scales of whole rows apply at the end."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    c = np.zeros((len(a), len(b)), np.float32)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for k in range(0, a.shape[1], PROMOTE):
            s = np.zeros(c.shape)
            for step in range(k, min(k + PROMOTE, a.shape[1]), STEP):
                s = add_step(s, a[:, step:step + STEP], b[:, step:step + STEP], *least)
            factor = decode(sa[:, k // block_a])[:, None] if block_a else 1.0
            c = (c.astype(np.float64) + s * factor).astype(np.float32)
        if not block_a:
            c = (c.astype(np.float64) * decode(sa)).astype(np.float32)
        return (c.astype(np.float64) * decode(sb).T).astype(np.float32)


def t(array, element):
    return f"tensor<{'x'.join(map(str, array.shape))}x{element}>"


def make(rows, k, element, block, spread, special):
    x = test.rng.standard_normal((rows, k)) * np.exp2(test.rng.integers(-spread, spread + 1, (rows, k)) + 2.0)
    greatest = float(ml_dtypes.finfo(TYPES[element]).max)
    x = np.clip(x, -greatest, greatest).astype(TYPES[element])
    if special:
        x[test.rng.random(x.shape) < 0.001] = np.nan
        x[0] = 0
    scales = test.rng.integers(110, 140, (rows, k // block if block else 1)).astype(np.uint8)
    if special:
        scales[-1, -1], scales[len(scales) // 2, 0] = 255, 0
    return x, scales


def matmul(m, n, k, a_type="f8E4M3FN", b_type="f8E4M3FN", block_a=128, out="f32", tile_of=None, spread=2, special=False,
           accumulate=False, alpha=False, linear=False):
    (a, sa), (b, sb) = make(m, k, a_type, block_a, spread, special), make(n, k, b_type, None, spread, special)
    arguments = [a.view(np.uint8), sa, b.view(np.uint8), sb]
    if not linear:
        arguments[1::2] = [ref.tile(sa), ref.tile(sb)]
    types = [t(x, element) for x, element in zip(arguments, [a_type, "f8E8M0FNU", b_type, "f8E8M0FNU"])]
    old = test.rng.standard_normal((m, n)).astype(np.float32)
    c = f"tensor<{m}x{n}x{out}>"
    schedule = f"{{mxgpu.schedule = #mxgpu.schedule<tile = {list(tile_of)}>}}" if tile_of else ""
    program = f"""
func.func @main(%a: {types[0]}, %sa: {types[1]}, %b: {types[2]}, %sb: {types[3]}, %old: {c}) -> {c} {{
  %factor = arith.constant 0.3 : f32
  %c = mx.matmul ins(%a, %sa, %b, %sb : {", ".join(types)}) {"alpha(%factor)" if alpha else ""} outs(%old : {c})
    block_size = {block_a or "row"} b_block_size = row promote = {PROMOTE} {"accumulate" if accumulate else ""}
    {schedule} -> {c}
  return %c : {c}
}}
"""
    expected = multiply(a, sa, b, sb, block_a, (LEAST[a_type], LEAST[b_type]))
    if not special:
        check_bound(expected, a, sa, b, sb, block_a)
    with np.errstate(invalid="ignore"):
        if alpha:
            expected = expected * np.float32(0.3)
        if accumulate:
            expected = old + expected
    found, = test.run(program, [*arguments, old], 1, chip=test.chip)
    name = f"{test.chip} {m}x{n}x{k} {a_type} {b_type} {block_a} {tile_of} {'special' if special else ''}"
    test.expect(name, found, expected, nan=True)


def grouped(ends, n, k, block_a=128, tile_of=None, pairs=False):
    """Multiplies ragged rows. With `pairs`, multiplies the accumulators of two B matrices by one another."""
    rows, groups, count = ends[-1] + 5, len(ends), 2 if pairs else 1
    a, sa = make(rows, k, "f8E4M3FN", block_a, 2, False)
    b, sb = make(groups * n * count, k, "f8E4M3FN", None, 2, False)
    parts = [slice(start, end) for start, end in zip([0, *ends], ends)]
    expected = np.zeros((rows, n), np.float32)
    for group, part in enumerate(parts):
        of_group = [multiply(a[part], sa[part], b[x], sb[x], block_a, (-6, -6))
                    for x in np.split(np.arange(group * n * count, (group + 1) * n * count), count)]
        expected[part] = np.prod(of_group, axis=0, dtype=np.float32)
    b, sb = b.reshape(groups, n * count, k), sb.reshape(groups, n * count, 1)
    arguments = [a.view(np.uint8), ref.tile_rows(sa, ends, slack=255), b.view(np.uint8), ref.tile(sb)]
    types = [t(x, element) for x, element in zip(arguments, ["f8E4M3FN", "f8E8M0FNU"] * 2)]
    schedule = f"{{mxgpu.schedule = #mxgpu.schedule<tile = {list(tile_of)}>}}" if tile_of else ""
    epilogue = """epilogue {
  ^bb0(%x: f32, %z: f32, %row: index, %column: index):
    %product = arith.mulf %x, %z : f32
    mx.yield %product : f32
  }""" if pairs else ""
    found, = test.run(f"""
func.func @main(%a: {types[0]}, %sa: {types[1]}, %b: {types[2]}, %sb: {types[3]}, %ends: tensor<{groups}xi32>)
    -> tensor<{rows}x{n}xf32> {{
  %out = tensor.empty() : tensor<{rows}x{n}xf32>
  %c = mx.grouped_matmul ragged = rows ins(%a, %sa, %b, %sb : {", ".join(types)}) offsets(%ends : tensor<{groups}xi32>)
    outs(%out : tensor<{rows}x{n}xf32>)
    block_size = {block_a or "row"} b_block_size = row promote = {PROMOTE} {"num_b = 2" if pairs else ""}
    {schedule} -> tensor<{rows}x{n}xf32> {epilogue}
  return %c : tensor<{rows}x{n}xf32>
}}
""", [*arguments, np.array(ends, np.int32)], 1, chip=test.chip)
    name = f"{test.chip} groups {ends} of {n}x{k}, blocks of {block_a}, {tile_of}{' in pairs' if pairs else ''}"
    test.expect(name, found, expected, np.s_[:ends[-1]])


def check_bound(found, a, sa, b, sb, block_a):
    """Checks the bound of the page, with the sum of |a| * |b| in place of the largest term."""
    repeat = np.repeat(decode(sa), block_a or a.shape[1], 1)
    x, y = a.astype(np.float64) * repeat, b.astype(np.float64) * decode(sb)
    exact, total = x @ y.T, np.abs(x) @ np.abs(y).T
    error = np.abs(found - exact)
    assert (error <= (PROMOTE // STEP * 34 * 2.0**-BITS + a.shape[1] / PROMOTE * 2.0**-24) * total).all(), error.max()


matmul(40, 24, 128)
matmul(130, 72, 384, tile_of=(128, 64, 128))
matmul(200, 300, 256, tile_of=(128, 256, 128), spread=4)
matmul(250, 140, 640, tile_of=(192, 128, 128))
matmul(70, 130, 256, a_type="f8E5M2", spread=8)
matmul(70, 130, 256, a_type="f8E4M3FN", b_type="f8E5M2", spread=6)
matmul(64, 64, 512, block_a=256)
matmul(64, 64, 1024, block_a=512)
matmul(100, 60, 384, block_a=None)
matmul(96, 80, 256, special=True)
matmul(96, 80, 256, block_a=None, special=True)
matmul(64, 64, 256, alpha=True)
matmul(64, 64, 256, accumulate=True)
matmul(70, 40, 640, linear=True)
matmul(64, 64, 256, alpha=True, accumulate=True)
matmul(26, 28, 256, tile_of=(128, 64, 128), alpha=True, accumulate=True)
grouped([100, 100, 230, 330], 72, 256)
grouped([0, 7, 140, 140, 300], 140, 384, tile_of=(128, 128, 128))
grouped([129, 256, 300], 200, 256, block_a=None, tile_of=(128, 256, 128))
grouped([3, 131, 260], 64, 512, block_a=512)
grouped([50, 50, 190], 128, 256, pairs=True)
test.finish(least=330000)
