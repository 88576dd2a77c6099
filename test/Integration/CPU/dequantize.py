# REQUIRES: numpy
# RUN: %python %s mx-run %t
"""Tests mx.dequantize of ragged reductions, and mx.relayout. Run/dequantize.py compares every element with every scale,
also on the CPU path."""

import mx_reference as ref
import numpy as np
from harness import Function, Harness, group_ends


def dequantize_ragged(test, total, groups):
    ends, n = group_ends(test.rng, total, groups), 12
    cap, starts = ref.capacity(total, groups), ref.group_starts(ends)
    elements = test.rng.integers(0, 0x7F, (n, cap)).astype(np.uint8)
    scales = test.rng.integers(100, 150, (n, cap // 32)).astype(np.uint8)
    te = f"tensor<{n}x{cap}xf8E4M3FN, #mx.ragged<groups = {groups}, align = 128>>"
    ts = f"tensor<{n}x{cap // 32}xf8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = reduction, groups = {groups}>>"
    f, to = Function(), f"tensor<{groups}xi32>"
    f.argument(te, elements, "q"), f.argument(ts, ref.tile(scales), "s"), f.argument(to, ends, "o")
    for padded, width in ("", total), ("padded", cap):
        f.call(f"mx.dequantize ragged = reduction {padded} ins(%q, %s : {te}, {ts}) offsets(%o : {to}) OUTS",
               [f"tensor<{n}x{width}xf32>"])
    found, padded = test.run(f)
    exact, begin = np.zeros((n, total)), 0
    whole, used = ref.real(elements, scales, "f8E4M3FN"), int(starts[-1])
    for start, end in zip(starts, ends):
        exact[:, begin:end] = whole[:, start:start + end - begin]
        begin = end
    test.expect(f"ragged {total}", found, ref.round_to(exact, "f32"))
    test.expect(f"padded {total}", padded, ref.round_to(whole, "f32"), np.s_[:, :used])


def relayout(test, rows, blocks, groups):
    """Checks that a relayout and its inverse restore the scales."""
    linear = test.rng.integers(0, 256, (rows, blocks)).astype(np.uint8)
    ends = group_ends(test.rng, rows, groups) if groups else np.array([rows], np.int32)
    ragged = f", ragged = rows, groups = {groups}" if groups else ""
    tl = f"tensor<{rows}x{blocks}xf8E8M0FNU>"
    tt = f"tensor<{rows}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4{ragged}>>"
    to = f"tensor<{len(ends)}xi32>"
    kind, offsets = ("ragged = rows", f"offsets(%o : {to})") if groups else ("", "")
    tiled = ref.tile_rows(linear, ends) if groups else ref.tile(linear)
    f = Function()
    f.argument(tl, linear, "s"), f.argument(tt, tiled, "t"), f.argument(to, ends, "o")
    f.call(f"mx.relayout {kind} ins(%s : {tl}) {offsets} OUTS", [tt])
    f.call(f"mx.relayout {kind} ins(%t : {tt}) {offsets} OUTS", [tl])
    there, back = test.run(f)
    test.expect(f"relayout {rows}x{blocks} {groups}", there, tiled)
    test.expect(f"relayout back {rows}x{blocks} {groups}", back, linear)


test = Harness("mx_run", "folder", device="cpu", seed=3)
for total, groups in [(300, 4), (5, 1), (0, 2)]:
    dequantize_ragged(test, total, groups)
for rows, blocks, groups in [(300, 7, 4), (0, 3, 0), (200, 2, 1)]:
    relayout(test, rows, blocks, groups)
test.finish(least=21000)
