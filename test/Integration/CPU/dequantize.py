# REQUIRES: numpy
# RUN: %python %s mx-run %t
"""mx.dequantize of every element with every scale, and mx.relayout."""

import mx_reference as ref
import numpy as np
from cpu_path import BITS, Runner, group_ends


def dequantize(runner, element, out, layout):
    width = 8 if element == "i8" else int(element[1])
    # Row r has scale r, and all codes.
    elements = np.tile(np.arange(256, dtype=np.uint8) & (2**width - 1), (256, 1))
    scales = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 8, 1)
    encoding = ", #mx.scale_layout<sf_128x4>" if layout == "sf_128x4" else ""
    te, to = f"tensor<?x?x{element}>", f"tensor<256x256x{out}>"
    ts = f"tensor<?x?xf8E8M0FNU{encoding}>"
    found, = runner.run(
        f"""
        func.func @main(%q: {te}, %s: {ts}) -> {to} {{
          %0 = tensor.empty() : {to}
          %x = mx.dequantize ins(%q, %s : {te}, {ts}) outs(%0 : {to}) -> {to}
          return %x : {to}
        }}""",
        [ref.pack(elements, element),
         ref.tile(scales) if encoding else scales], 1)
    expected = ref.round_to(ref.real(elements, scales, element), out)
    runner.expect(f"{element} {out} {layout}", found, expected.astype(BITS[out]))


def dequantize_nvfp4(runner, decode, out):
    elements = np.tile(np.arange(16, dtype=np.uint8), (256, 1))
    scales = np.arange(256, dtype=np.uint8)[:, None].copy()
    te, ts = "tensor<256x16xf4E2M1FN>", "tensor<256x1xf8E4M3FN>"
    to = f"tensor<256x16x{out}>"
    found, = runner.run(
        f"""
        func.func @main(%q: {te}, %s: {ts}, %g: f32) -> {to} {{
          %0 = tensor.empty() : {to}
          %x = mx.dequantize ins(%q, %s : {te}, {ts}) global_scale(%g)
            outs(%0 : {to}) block_size = 16 -> {to}
          return %x : {to}
        }}""", [ref.pack(elements, "f4E2M1FN"), scales, np.float32(decode)], 1)
    exact = ref.real(elements, scales, "f4E2M1FN", nvfp4=True)
    exact = exact * np.float64(np.float32(decode))
    runner.expect(f"nvfp4 {decode} {out}", found,
                  ref.round_to(exact, out).astype(BITS[out]))


def dequantize_ragged(runner, rng, total, groups):
    ends, n = group_ends(rng, total, groups), 12
    cap, starts = ref.capacity(total, groups), ref.group_starts(ends)
    elements = rng.integers(0, 0x7F, (n, cap)).astype(np.uint8)
    scales = rng.integers(100, 150, (n, cap // 32)).astype(np.uint8)
    ragged = f"ragged = reduction, groups = {groups}"
    te = (f"tensor<{n}x{cap}xf8E4M3FN, "
          f"#mx.ragged<groups = {groups}, align = 128>>")
    ts = (f"tensor<{n}x{cap // 32}xf8E8M0FNU, "
          f"#mx.scale_layout<sf_128x4, {ragged}>>")
    to, tp = f"tensor<{n}x{total}xf32>", f"tensor<{n}x{cap}xf32>"
    found, padded = runner.run(
        f"""
        func.func @main(%q: {te}, %s: {ts}, %o: tensor<{groups}xi32>) -> ({to}, {tp}) {{
          %0 = tensor.empty() : {to}
          %1 = tensor.empty() : {tp}
          %x = mx.dequantize ragged = reduction ins(%q, %s : {te}, {ts})
            offsets(%o : tensor<{groups}xi32>) outs(%0 : {to}) -> {to}
          %y = mx.dequantize ragged = reduction padded ins(%q, %s : {te}, {ts})
            offsets(%o : tensor<{groups}xi32>) outs(%1 : {tp}) -> {tp}
          return %x, %y : {to}, {tp}
        }}""", [elements, ref.tile(scales), ends], 2)
    exact, begin = np.zeros((n, total)), 0
    whole, used = ref.real(elements, scales, "f8E4M3FN"), int(starts[-1])
    for start, end in zip(starts, ends):
        exact[:, begin:end] = whole[:, start:start + end - begin]
        begin = end
    runner.expect(f"ragged {total}", found, ref.round_to(exact, "f32"))
    runner.expect(f"padded {total}", padded[:, :used], ref.round_to(whole[:, :used], "f32"))


def relayout(runner, rng, rows, blocks, groups):
    """There and back."""
    linear = rng.integers(0, 256, (rows, blocks)).astype(np.uint8)
    ends = group_ends(rng, rows, groups) if groups else np.array([rows], np.int32)
    ragged = f", ragged = rows, groups = {groups}" if groups else ""
    tl = f"tensor<{rows}x{blocks}xf8E8M0FNU>"
    tt = (f"tensor<{rows}x{blocks}xf8E8M0FNU, "
          f"#mx.scale_layout<sf_128x4{ragged}>>")
    to = f"tensor<{len(ends)}xi32>"
    kind, offsets = ("ragged = rows", f"offsets(%o : {to})") if groups else (
        "", "")
    tiled = ref.tile_rows(linear, ends) if groups else ref.tile(linear)
    there, back = runner.run(
        f"""
        func.func @main(%s: {tl}, %t: {tt}, %o: {to}) -> ({tt}, {tl}) {{
          %0 = tensor.empty() : {tt}
          %1 = tensor.empty() : {tl}
          %x = mx.relayout {kind} ins(%s : {tl}) {offsets} outs(%0 : {tt}) -> {tt}
          %y = mx.relayout {kind} ins(%t : {tt}) {offsets} outs(%1 : {tl}) -> {tl}
          return %x, %y : {tt}, {tl}
        }}""", [linear, tiled, ends], 2)
    runner.expect(f"relayout {rows}x{blocks} {groups}", there, tiled)
    runner.expect(f"relayout back {rows}x{blocks} {groups}", back, linear)


runner, rng = Runner(), np.random.default_rng(3)
for element in ref.ELEMENTS:
    for out in ["f32", "bf16", "f16"]:
        dequantize(runner, element, out, "linear")
dequantize(runner, "f8E4M3FN", "bf16", "sf_128x4")
for out in ["f32", "bf16", "f16"]:
    dequantize_nvfp4(runner, 1 / 3.7, out)
for total, groups in [(300, 4), (5, 1), (0, 2)]:
    dequantize_ragged(runner, rng, total, groups)
for rows, blocks, groups in [(128, 4, 0), (1, 1, 0), (300, 7, 0), (300, 7, 4),
                             (0, 3, 0), (200, 2, 1)]:
    relayout(runner, rng, rows, blocks, groups)
runner.finish(least=1200000)
