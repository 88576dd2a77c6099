# REQUIRES: numpy
# RUN: %python %s mx-run %t
"""On the CPU path, every bit of mx.quantize with square blocks or gathered rows equals numpy's."""

import mx_reference as ref
import numpy as np
from harness import Blocks, Function, Harness, group_ends, to_array


def make_input(rng, rows, columns):
    x = rng.standard_normal((rows, columns)) * np.exp2(rng.integers(-9, 9, (rows, 1)))
    x[rng.integers(0, rows, 4), rng.integers(0, columns, 4)] = [np.inf, -np.inf, np.nan, 0.0]
    return x


def squares(test, rows, columns, dtype, element, rounding, layout="linear", axes=(1, 0), encode=None):
    array, x = to_array(make_input(test.rng, rows, columns), dtype)
    outs = [Blocks(element, axis, layout, rounding, encode, square=True) for axis in axes]
    f, t = Function(), f"tensor<{rows}x{columns}x{dtype}>"
    f.argument(t, array, "x")
    factor = "" if encode is None else f"global_scale({f.argument('f32', np.float32(encode))})"
    f.call(f"mx.fused_quantize ins(%x : {t}) {factor} OUTS axes = {list(axes)} block_size = {outs[0].block} square "
           f"scale_rounding = {rounding}", sum((out.types(rows, columns) for out in outs), []))
    found = test.run(f)
    arrays, name = iter(found), f"squares {rows}x{columns} {dtype}"
    for out in outs:
        out.compare(test, f"{name} {out}", arrays, x)
    # The results along both axes contain the same bits, transposed.
    if len(axes) == 2 and layout == "linear" and element.startswith("f8"):
        test.expect(f"{name} transposed", found[2], found[0].T)
        test.expect(f"{name} shared", np.repeat(found[3].T, 32, axis=0), np.repeat(found[1], 32, axis=1))


def gather(test, total, count, columns, dtype, element, index="i32", prologue=False, groups=0):
    array, x = to_array(make_input(test.rng, total, columns), dtype)
    numbers = test.rng.integers(-1, total, count).astype(index.replace("i", "int"))
    numbers[::7] = -1
    ends = group_ends(test.rng, count, groups) if groups else None
    outs = [Blocks(element, axis, "sf_128x4" if groups else "linear", groups=groups)
            for axis in ((1,) if groups else (1, 0))]
    f, t, n = Function(), f"tensor<{total}x{columns}x{dtype}>", f"tensor<{count}x{index}>"
    f.argument(t, array, "x"), f.argument(n, numbers, "n")
    if groups:
        f.argument(f"tensor<{groups}xi32>", ends, "o")
    f.call(f"mx.fused_quantize {'ragged = rows' if groups else ''} ins(%x : {t}) gather(%n : {n}) "
           f"{f'offsets(%o : tensor<{groups}xi32>)' if groups else ''} OUTS axes = {[out.axis for out in outs]}",
           sum((out.types(count, columns) for out in outs), []), "" if not prologue else f"""prologue {{
        ^bb0(%a: {dtype}, %row: index, %col: index):
          %one = arith.constant 1.0 : {dtype}
          %b = arith.addf %a, %one : {dtype}
          mx.yield %b : {dtype}
        }}""")
    if prologue:  # NaN stays NaN, but its bits are unspecified
        _, x = to_array(x + np.float32(1), dtype)
    found = iter(test.run(f))
    for out in outs:
        out.compare(test, f"gather {count} of {total} {dtype} {index} {prologue} {out}", found, ref.gather(x, numbers), ends)


def gather_no_row(test):
    """Checks that an out-of-bounds row index selects zeros."""
    text = """
    func.func @main(%x: tensor<8x32xf32>, %n: tensor<4xi32>) -> (tensor<4x32xf8E4M3FN>, tensor<4x1xf8E8M0FNU>) {
      %0 = tensor.empty() : tensor<4x32xf8E4M3FN>
      %1 = tensor.empty() : tensor<4x1xf8E8M0FNU>
      %q:2 = mx.fused_quantize ins(%x : tensor<8x32xf32>) gather(%n : tensor<4xi32>)
        outs(%0, %1 : tensor<4x32xf8E4M3FN>, tensor<4x1xf8E8M0FNU>) -> tensor<4x32xf8E4M3FN>, tensor<4x1xf8E8M0FNU>
      return %q#0, %q#1 : tensor<4x32xf8E4M3FN>, tensor<4x1xf8E8M0FNU>
    }"""
    run = lambda number: test.run(text, [np.ones((8, 32), np.float32), np.array([0, -1, number, 7], np.int32)], 2)
    right = run(-1)
    for wrong in (8, -2, 2**31 - 1, -2**31):
        for found, array in zip(run(wrong), right):
            test.expect(f"row {wrong}", found, array)


test = Harness("mx_run", "folder", device="cpu", seed=5)
squares(test, 96, 64, "bf16", "f8E4M3FN", "ceil")
squares(test, 160, 96, "f32", "f8E5M2", "floor")
squares(test, 160, 160, "f16", "f6E3M2FN", "even", "sf_128x4")
squares(test, 64, 64, "bf16", "f4E2M1FN", "ceil", "sf_128x4")
squares(test, 77, 96, "bf16", "i8", "ceil", axes=(1,))
squares(test, 96, 77, "bf16", "f8E4M3FN", "ceil", axes=(0,))
squares(test, 96, 64, "f32", "f4E2M1FN", "ceil", "sf_128x4", encode=448 * 6 / 11.0)
gather(test, 77, 96, 64, "bf16", "f8E4M3FN")
gather(test, 40, 160, 96, "f32", "f8E5M2", "i64")
gather(test, 77, 96, 64, "bf16", "f8E4M3FN", prologue=True)
gather(test, 300, 258, 64, "f32", "f8E4M3FN", groups=3)
gather_no_row(test)
test.finish(least=100000)
