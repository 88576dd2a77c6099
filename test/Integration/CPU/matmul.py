# REQUIRES: numpy
# RUN: %python %s mx-run %t
"""mx.matmul and mx.grouped_matmul on the CPU path equal numpy's float64 matmul after one rounding."""

import itertools

import mx_reference as ref
import numpy as np
from harness import BITS, Harness, group_ends, random_operand, to_array, widen

FLOAT_ELEMENTS = [name for name in ref.ELEMENTS if name != "i8"]


def rounded(values, dtype):
    return ref.round_to(values, dtype).astype(BITS[dtype])


def product(a, b):
    """Multiplies row by row, so that a NaN stays in its row and column."""
    with np.errstate(all="ignore"):
        return np.stack([(row * b).sum(-1) for row in a]) if len(a) else (
            np.zeros((0, len(b))))


def dense(runner, rng, a_type, b_type, out, m, n, k, layout="linear",
          nvfp4=False, alpha=None, accumulate=False, spoil=None, epilogue=""):
    scale = "f8E4M3FN" if nvfp4 else "f8E8M0FNU"
    encoding = ", #mx.scale_layout<sf_128x4>" if layout == "sf_128x4" else ""
    a, sa = random_operand(rng, (m, k), a_type, nvfp4)
    b, sb = random_operand(rng, (n, k), b_type, nvfp4)
    if spoil:
        spoil(a, sa, b, sb)
    old, _ = to_array(rng.standard_normal((m, n)), out)
    ta, tb = f"tensor<?x?x{a_type}>", f"tensor<?x?x{b_type}>"
    ts, tc = f"tensor<?x?x{scale}{encoding}>", f"tensor<?x?x{out}>"
    arrays = [ref.pack(a, a_type), sa, ref.pack(b, b_type), sb, old]
    if encoding:
        arrays[1], arrays[3] = ref.tile(sa), ref.tile(sb)
    found, = runner.run(
        f"""
        func.func @main(%a: {ta}, %sa: {ts}, %b: {tb}, %sb: {ts}, %c: {tc},
                        %alpha: f32) -> {tc} {{
          %y = mx.matmul ins(%a, %sa, %b, %sb : {ta}, {ts}, {tb}, {ts})
            {"alpha(%alpha)" if alpha else ""} outs(%c : {tc})
            {"block_size = 16" if nvfp4 else ""}
            {"accumulate" if accumulate else ""} -> {tc} {epilogue}
          return %y : {tc}
        }}""", arrays + [np.float32(alpha or 1)], 1)
    with np.errstate(all="ignore"):
        y = product(ref.real(a, sa, a_type, nvfp4),
                    ref.real(b, sb, b_type, nvfp4))
        if alpha:
            y = y * np.float64(np.float32(alpha))
        if accumulate:
            y = y + widen(old)
        if epilogue:
            y = (y.astype(np.float32) + np.arange(m, dtype=np.float32)[:, None] *
                 np.arange(n, dtype=np.float32)).astype(np.float64)
    runner.expect(f"{a_type} x {b_type} -> {out} {m}x{n}x{k} {layout}", found,
                  rounded(y, out))


EPILOGUE = """epilogue {
  ^bb0(%acc: f32, %row: index, %column: index):
    %i = arith.index_castui %row : index to i32
    %j = arith.index_castui %column : index to i32
    %x = arith.uitofp %i : i32 to f32
    %y = arith.uitofp %j : i32 to f32
    %xy = arith.mulf %x, %y : f32
    %sum = arith.addf %acc, %xy : f32
    %out = arith.truncf %sum : f32 to bf16
    mx.yield %out : bf16
  }"""


def spoil_e4m3(a, sa, b, sb):
    """Inserts NaN elements and scales, zeros, and the smallest and largest scales."""
    a[0, 0], sa[1, 0], b[2, 3], sb[3, 1] = 0x7F, 255, 0x7F, 255
    sa[2], sb[4], sa[3], sb[5] = 0, 0, 254, 254
    a[4], b[6] = 0, 0x80


def spoil_e5m2(a, sa, b, sb):
    """Inserts infinities: alone in a sum, canceling each other, and multiplied by 0."""
    a[0, 0], a[1, 1], a[2, :2] = 0x7C, 0xFC, [0x7C, 0xFC]
    b[0, 0], b[1], b[2, :2] = 0x7C, 0, 0x7C


def spoil_ties(a, sa, b, sb):
    """Creates sums that exceed the midpoint of two bf16 values (row 0) or f16 values (row 1) by 2^-30. An intermediate
    rounding to f32 would lose this difference."""
    a[:2], b[:] = 0, 0
    a[:2, ::32], b[:, ::32], sb[:] = 0x38, 0x38, 127
    sa[0], sa[1] = [127, 127 - 8, 127 - 30], [127, 127 - 11, 127 - 30]


def run_groups(runner, ragged, types, arrays, accumulate):
    """Returns the result of mx.grouped_matmul. `types` contains the types of the arrays."""
    ta, tsa, tb, tsb, to, tc = types
    return runner.run(
        f"""
        func.func @main(%a: {ta}, %sa: {tsa}, %b: {tb}, %sb: {tsb}, %o: {to},
                        %c: {tc}) -> {tc} {{
          %y = mx.grouped_matmul ragged = {ragged}
            ins(%a, %sa, %b, %sb : {ta}, {tsa}, {tb}, {tsb})
            offsets(%o : {to}) outs(%c : {tc})
            {"accumulate" if accumulate else ""} -> {tc}
          return %y : {tc}
        }}""", arrays, 1)[0]


def grouped_rows(runner, rng, a_type, b_type, out, total, n, k, groups, layout,
                 accumulate):
    ends = group_ends(rng, total, groups)
    a, sa = random_operand(rng, (total, k), a_type)
    b, sb = random_operand(rng, (groups, n, k), b_type)
    old, _ = to_array(rng.standard_normal((total, n)), out)
    tiled = layout == "sf_128x4"
    ta, tb = f"tensor<?x?x{a_type}>", f"tensor<?x?x?x{b_type}>"
    encoding = "f8E8M0FNU, #mx.scale_layout<sf_128x4"
    tsa = f"tensor<?x?x{encoding}, ragged = rows, groups = {groups}>>"
    tsb = f"tensor<?x?x?x{encoding}>>"
    if not tiled:
        tsa, tsb = "tensor<?x?xf8E8M0FNU>", "tensor<?x?x?xf8E8M0FNU>"
    tc, to = f"tensor<?x?x{out}>", f"tensor<{groups}xi32>"
    found = run_groups(runner, "rows", (ta, tsa, tb, tsb, to, tc), [
        ref.pack(a, a_type), ref.tile_rows(sa, ends) if tiled else sa, ref.pack(b, b_type),
        ref.tile(sb) if tiled else sb, ends, old], accumulate)
    y, begin = np.zeros((total, n)), 0
    for g, end in enumerate(ends):
        y[begin:end] = product(ref.real(a, sa, a_type)[begin:end],
                               ref.real(b[g], sb[g], b_type))
        begin = end
    if accumulate:
        y = y + widen(old)
    runner.expect(f"rows {a_type} x {b_type} -> {out} {total}x{n}x{k} in "
                  f"{groups} {layout}", found, rounded(y, out))


def grouped_reduction(runner, rng, a_type, b_type, out, m, n, total, groups,
                      layout, accumulate):
    ends = group_ends(rng, total, groups)
    cap, starts = ref.capacity(total, groups), ref.group_starts(ends)
    a, sa = random_operand(rng, (m, cap), a_type)
    b, sb = random_operand(rng, (n, cap), b_type)
    # Rows outside of all groups do not affect the result.
    begin = 0
    for start, following, end in zip(starts, [*starts[1:-1], cap], ends):
        for codes in a, b:
            codes[:, start + end - begin:following] = 0x7F
        begin = end
    old, _ = to_array(rng.standard_normal((groups, m, n)), out)
    old[:, 0] = 0x80000000 if out == "f32" else -0.0 if out == "f16" else 0x8000
    tiled = layout == "sf_128x4"
    ta, tb = (f"tensor<{r}x{cap}x{t}, #mx.ragged<groups = {groups}, "
              "align = 128>>" for r, t in [(m, a_type), (n, b_type)])
    encoding = "f8E8M0FNU" + (", #mx.scale_layout<sf_128x4, ragged = reduction, "
                              f"groups = {groups}>" if tiled else "")
    tsa, tsb = (f"tensor<{r}x{cap // 32}x{encoding}>" for r in (m, n))
    tc, to = f"tensor<{groups}x{m}x{n}x{out}>", f"tensor<{groups}xi32>"
    found = run_groups(runner, "reduction", (ta, tsa, tb, tsb, to, tc), [
        ref.pack(a, a_type), ref.tile(sa) if tiled else sa, ref.pack(b, b_type),
        ref.tile(sb) if tiled else sb, ends, old], accumulate)
    y, begin = np.zeros((groups, m, n)), 0
    expected = np.zeros((groups, m, n), BITS[out])
    for g, (start, end) in enumerate(zip(starts, ends)):
        within = slice(start, start + end - begin)
        y[g] = product(ref.real(a, sa, a_type)[:, within],
                       ref.real(b, sb, b_type)[:, within])
        if accumulate:
            y[g] += widen(old[g])
        expected[g] = rounded(y[g], out)
        if accumulate and begin == end:  # unchanged, even -0
            expected[g] = old[g].view(BITS[out])
        begin = end
    runner.expect(f"reduction {a_type} x {b_type} -> {out} {m}x{n}x{total} in "
                  f"{groups} {layout}", found, expected)


def numbers(runner, rng, out, m, n, k):
    """Checks bf16 operands without scales: one matmul, two row groups, and two zero-padded reduction groups."""
    (a, x), (b, y) = (to_array(rng.integers(-64, 65, s) / 8, "bf16")
                      for s in [(m, k), (n, k)])
    (v, z) = to_array(rng.integers(-64, 65, (2, n, k)) / 8, "bf16")
    first = m // 3
    ends = np.array([first, m], np.int32)
    (c, s), (d, t) = (to_array(rng.integers(-64, 65, (r, 256)) / 8, "bf16")
                      for r in (m, n))
    parts = np.array([100, 100 + 60], np.int32)
    for x16, x32 in [(c, s), (d, t)]:
        for array in x16, x32:
            array[:, 100:128], array[:, 128 + 60:] = 0, 0
    ta, tb, tv = "tensor<?x?xbf16>", "tensor<?x?xbf16>", "tensor<?x?x?xbf16>"
    tc, tg, tp = f"tensor<?x?x{out}>", f"tensor<2x?x?x{out}>", "tensor<?x256xbf16>"
    empty, _ = to_array(np.zeros((m, n)), out)
    groups, _ = to_array(np.zeros((2, m, n)), out)
    found = runner.run(
        f"""
        func.func @main(%a: {ta}, %b: {tb}, %v: {tv}, %o: tensor<2xi32>,
                        %c: {tp}, %d: {tp}, %p: tensor<2xi32>, %e: {tc},
                        %g: {tg}) -> ({tc}, {tc}, {tg}) {{
          %x = mx.matmul ins(%a, %b : {ta}, {tb}) outs(%e : {tc}) -> {tc}
          %y = mx.grouped_matmul ragged = rows ins(%a, %v : {ta}, {tv})
            offsets(%o : tensor<2xi32>) outs(%e : {tc}) -> {tc}
          %z = mx.grouped_matmul ragged = reduction ins(%c, %d : {tp}, {tp})
            offsets(%p : tensor<2xi32>) outs(%g : {tg}) -> {tg}
          return %x, %y, %z : {tc}, {tc}, {tg}
        }}""", [a, b, v, ends, c, d, parts, empty, groups], 3)
    rows = np.vstack([product(x[:first], z[0]), product(x[first:], z[1])])
    sums = np.stack([product(s[:, :128], t[:, :128]),
                     product(s[:, 128:], t[:, 128:])])
    for name, array, expected in zip(["dense", "rows", "reduction"], found,
                                     [product(x, y), rows, sums]):
        runner.expect(f"bf16 x bf16 -> {out} {m}x{n}x{k} {name}", array,
                      rounded(expected, out))


runner, rng = Harness("mx_run", "folder", device="cpu"), np.random.default_rng(11)
for a_type, b_type in itertools.product(FLOAT_ELEMENTS, FLOAT_ELEMENTS):
    dense(runner, rng, a_type, b_type, "f32", 37, 19, 96)
for out, accumulate, alpha in itertools.product(["f32", "bf16", "f16"],
                                                [False, True], [None, 0.37]):
    dense(runner, rng, "f8E4M3FN", "f8E5M2", out, 66, 9, 64, alpha=alpha,
          accumulate=accumulate)
E4M3 = ("f8E4M3FN", "f8E4M3FN")
for m, n, k in itertools.product([1, 31, 129], [1, 127], [32, 288]):
    dense(runner, rng, *E4M3, "bf16", m, n, k, "sf_128x4")
for m, n, k in [(0, 5, 32), (5, 0, 32), (3, 4, 0), (0, 0, 0)]:
    dense(runner, rng, *E4M3, "f32", m, n, k)
dense(runner, rng, *E4M3, "bf16", 3, 4, 0, accumulate=True)
dense(runner, rng, *E4M3, "bf16", 30, 17, 64, epilogue=EPILOGUE)
for out in ["f32", "bf16", "f16"]:
    dense(runner, rng, *E4M3, out, 20, 20, 64, spoil=spoil_e4m3)
    dense(runner, rng, "f8E5M2", "f8E5M2", out, 20, 20, 64, spoil=spoil_e5m2)
    dense(runner, rng, *E4M3, out, 4, 9, 96, spoil=spoil_ties)
dense(runner, rng, "f4E2M1FN", "f4E2M1FN", "bf16", 130, 40, 96, "sf_128x4",
      nvfp4=True, alpha=0.3)
for layout, accumulate in itertools.product(["linear", "sf_128x4"],
                                            [False, True]):
    for total, groups in [(300, 4), (5, 3), (0, 2)]:
        grouped_rows(runner, rng, "f8E4M3FN", "f8E5M2", "f32", total, 24, 64,
                     groups, layout, accumulate)
        grouped_reduction(runner, rng, "f8E4M3FN", "f8E5M2", "bf16", 13, 24,
                          total, groups, layout, accumulate)
grouped_rows(runner, rng, "f4E2M1FN", "f6E2M3FN", "f16", 140, 9, 32, 2,
             "sf_128x4", False)
for out in ["f32", "bf16", "f16"]:
    numbers(runner, rng, out, 37, 19, 90)
runner.finish(least=80000)
