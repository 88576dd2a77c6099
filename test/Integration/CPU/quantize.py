# REQUIRES: numpy
# RUN: %python %s mx-run %t
"""mx.quantize on the CPU path equals numpy and ml_dtypes in every bit."""

import mx_reference as ref
import numpy as np
from cpu_path import Runner, group_ends, to_array

SCALES = {"linear": "?x?xf8E8M0FNU",
          "sf_128x4": "?x?xf8E8M0FNU, #mx.scale_layout<sf_128x4>"}


def adversarial(rng, rows, columns):
    """Rows of all magnitudes, random bits, and what rounding trips over."""
    x = rng.standard_normal((rows, columns)) * np.exp2(
        rng.integers(-145, 127, (rows, 1)))
    x = x.astype(np.float32)
    third = rows // 3
    bits = rng.integers(0, 2**32, (third, columns), dtype=np.uint64)
    x[:third] = bits.astype(np.uint32).view(np.float32)
    special = [
        0.0, -0.0, 1e-45, -1e-40, 2.0**-126, 2.0**-127, np.inf, -np.inf, np.nan,
        3.4028235e38, 448, 449, 464, 465, 57344, 61440, 28, 30, 7.5, 7.75, 6, 7,
        2.5, 5, 1.75, 1.875, 127 / 64, 2.0
    ]
    for i, value in enumerate(special):
        x[third + i % 32] = 0
        x[third + i % 32, :: 1 + i % 5] = value
    # The one f32 where ceil is not its formula in integers, and a neighbour.
    around = np.array([0x04600000, 0x04600001, 0x04600002], np.uint32)
    x[-3:] = 0
    x[-3:, 0] = around.view(np.float32)
    # Ties between neighbours of every element type.
    x[-4] = np.resize(np.arange(-16, 16, 0.03125), columns)
    return x


def both_axes(runner, rng, dtype, element, rounding, layout):
    rows, columns = 160, 96
    array, x = to_array(adversarial(rng, rows, columns), dtype)
    e, s, t = f"tensor<?x?x{element}>", f"tensor<{SCALES[layout]}>", dtype
    outs = runner.run(
        f"""
        func.func @main(%x: tensor<?x?x{t}>) -> ({e}, {s}, {e}, {s}) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c32 = arith.constant 32 : index
          %r = tensor.dim %x, %c0 : tensor<?x?x{t}>
          %c = tensor.dim %x, %c1 : tensor<?x?x{t}>
          %rb = arith.divui %r, %c32 : index
          %cb = arith.divui %c, %c32 : index
          %0 = tensor.empty(%r, %c) : {e}
          %1 = tensor.empty(%r, %cb) : {s}
          %2 = tensor.empty(%c, %r) : {e}
          %3 = tensor.empty(%c, %rb) : {s}
          %q:4 = mx.quantize ins(%x : tensor<?x?x{t}>)
            outs(%0, %1, %2, %3 : {e}, {s}, {e}, {s}) axes = [1, 0]
            scale_rounding = {rounding} -> {e}, {s}, {e}, {s}
          return %q#0, %q#1, %q#2, %q#3 : {e}, {s}, {e}, {s}
        }}""", [array], 4)
    for axis, y in enumerate([x, np.ascontiguousarray(x.T)]):
        elements, scales = ref.quantize(y, element, rounding)
        if layout == "sf_128x4":
            scales = ref.tile(scales)
        name = f"{dtype} {element} {rounding} {layout} axis {1 - axis} "
        runner.expect(name + "elements", outs[2 * axis],
                      ref.pack(elements, element))
        runner.expect(name + "scales", outs[2 * axis + 1], scales)


def nvfp4(runner, rng, encode, layout):
    rows, columns = 130, 80
    array, x = to_array(adversarial(rng, rows, columns), "f32")
    x[:40] = rng.standard_normal((40, columns)) * 3
    array[:40] = x[:40]
    e = f"tensor<{rows}x{columns}xf4E2M1FN>"
    shape = SCALES[layout].replace("?x?xf8E8M0FNU",
                                   f"{rows}x{columns // 16}xf8E4M3FN")
    s = f"tensor<{shape}>"
    outs = runner.run(
        f"""
        func.func @main(%x: tensor<{rows}x{columns}xf32>, %g: f32) -> ({e}, {s}) {{
          %0 = tensor.empty() : {e}
          %1 = tensor.empty() : {s}
          %q:2 = mx.quantize ins(%x : tensor<{rows}x{columns}xf32>)
            global_scale(%g) outs(%0, %1 : {e}, {s}) block_size = 16 -> {e}, {s}
          return %q#0, %q#1 : {e}, {s}
        }}""", [array, np.float32(encode)], 2)
    elements, scales = ref.quantize(x, "f4E2M1FN", nvfp4_encode=encode)
    if layout == "sf_128x4":
        scales = ref.tile(scales)
    runner.expect(f"nvfp4 {encode} {layout} elements", outs[0],
                  ref.pack(elements, "f4E2M1FN"))
    runner.expect(f"nvfp4 {encode} {layout} scales", outs[1], scales)


def ragged(runner, rng, element, total, groups):
    columns = 64
    ends = group_ends(rng, total, groups)
    cap, starts = ref.capacity(total, groups), ref.group_starts(ends)
    x = (rng.standard_normal((total, columns)) *
         np.exp2(rng.integers(-9, 9, (total, 1)))).astype(np.float32)
    scale = "f8E8M0FNU, #mx.scale_layout<sf_128x4, ragged ="
    e1 = f"tensor<{total}x{columns}x{element}>"
    s1 = f"tensor<{total}x2x{scale} rows, groups = {groups}>>"
    e2 = (f"tensor<{columns}x{cap}x{element}, "
          f"#mx.ragged<groups = {groups}, align = 128>>")
    s2 = f"tensor<{columns}x{cap // 32}x{scale} reduction, groups = {groups}>>"
    types = f"{e1}, {s1}, {e2}, {s2}"
    outs = runner.run(
        f"""
        func.func @main(%x: tensor<{total}x{columns}xf32>,
                        %o: tensor<{groups}xi32>) -> ({types}) {{
          %0 = tensor.empty() : {e1}
          %1 = tensor.empty() : {s1}
          %2 = tensor.empty() : {e2}
          %3 = tensor.empty() : {s2}
          %q:4 = mx.quantize ragged = rows ins(%x : tensor<{total}x{columns}xf32>)
            offsets(%o : tensor<{groups}xi32>)
            outs(%0, %1, %2, %3 : {types}) axes = [1, 0] -> {types}
          return %q#0, %q#1, %q#2, %q#3 : {types}
        }}""", [x, ends], 4)
    rows, row_scales = ref.quantize(x, element)
    elements = np.zeros((columns, cap), np.uint8)
    scales = np.zeros((columns, cap // 32), np.uint8)
    begin = 0
    for start, end in zip(starts, ends):
        q, s = ref.quantize(np.ascontiguousarray(x[begin:end].T), element)
        elements[:, start:start + q.shape[1]] = q
        scales[:, start // 32:start // 32 + s.shape[1]] = s
        begin = end
    name = f"ragged {element} {total} in {groups} "
    runner.expect(name + "rows", outs[0], ref.pack(rows, element))
    runner.expect(name + "row scales", outs[1], ref.tile_rows(row_scales, ends))
    runner.expect(name + "reduction", outs[2], ref.pack(elements, element))
    runner.expect(name + "reduction scales", outs[3], ref.tile(scales))


runner, rng = Runner(), np.random.default_rng(7)
for element in ref.ELEMENTS:
    for rounding in ["ceil", "floor", "even", "fit"]:
        both_axes(runner, rng, "f32", element, rounding, "linear")
both_axes(runner, rng, "bf16", "f8E4M3FN", "ceil", "sf_128x4")
both_axes(runner, rng, "f16", "f8E5M2", "ceil", "sf_128x4")
both_axes(runner, rng, "bf16", "f4E2M1FN", "even", "sf_128x4")
for encode in [1.0, 448 * 6 / 11.0, 1e-30, 1e30, 3e-42]:
    nvfp4(runner, rng, encode, "linear")
nvfp4(runner, rng, 37.5, "sf_128x4")
for element, total, groups in [("f8E4M3FN", 300, 4), ("f4E2M1FN", 258, 3),
                               ("i8", 7, 1), ("f8E5M2", 0, 2)]:
    ragged(runner, rng, element, total, groups)
runner.finish(least=700000)
