# REQUIRES: numpy
# RUN: %python %s mx-run %t
"""Scales of squares, and gathered rows: the CPU path equals numpy in every bit."""

import mx_reference as ref
import numpy as np
from cpu_path import Runner, group_ends, to_array


def make_input(rng, rows, columns):
    x = rng.standard_normal((rows, columns)) * np.exp2(rng.integers(-9, 9, (rows, 1)))
    x[rng.integers(0, rows, 4), rng.integers(0, columns, 4)] = [np.inf, -np.inf, np.nan, 0.0]
    return x


def get_types(rows, columns, element, layout, axes, block, scale):
    encoding = f", #mx.scale_layout<{layout}>" if layout else ""
    types = []
    for axis in axes:
        r, c = (rows, columns) if axis == 1 else (columns, rows)
        types += [f"tensor<{r}x{c}x{element}>", f"tensor<{r}x{c // block}x{scale}{encoding}>"]
    return types


def squares(runner, rng, rows, columns, dtype, element, rounding, layout="", axes=(1, 0), encode=None):
    block, scale = (32, "f8E8M0FNU") if encode is None else (16, "f8E4M3FN")
    array, x = to_array(make_input(rng, rows, columns), dtype)
    types = get_types(rows, columns, element, layout, axes, block, scale)
    outs = ", ".join(f"%{i}" for i in range(len(types)))
    empties = "".join(f"\n      %{i} = tensor.empty() : {t}" for i, t in enumerate(types))
    t = f"tensor<{rows}x{columns}x{dtype}>"
    found = runner.run(f"""
    func.func @main(%x: {t}{"" if encode is None else ", %g: f32"}) -> ({", ".join(types)}) {{{empties}
      %q:{len(types)} = mx.quantize ins(%x : {t}) {"" if encode is None else "global_scale(%g)"}
        outs({outs} : {", ".join(types)}) axes = [{", ".join(map(str, axes))}] block_size = {block} square
        scale_rounding = {rounding} -> {", ".join(types)}
      return {", ".join(f"%q#{i}" for i in range(len(types)))} : {", ".join(types)}
    }}""", [array] + ([] if encode is None else [np.float32(encode)]), len(types))
    name = f"squares {rows}x{columns} {dtype} {element} {rounding} {layout}"
    for i, axis in enumerate(axes):
        y = x if axis == 1 else np.ascontiguousarray(x.T)
        elements, scales = ref.quantize(y, element, rounding, encode, square=True)
        if layout:
            scales = ref.tile(scales)
        runner.expect(f"{name} elements {axis}", found[2 * i], ref.pack(elements, element))
        runner.expect(f"{name} scales {axis}", found[2 * i + 1], scales)
    # What makes them squares: both orientations have the same bits.
    if len(axes) == 2 and not layout and element.startswith("f8"):
        runner.expect(f"{name} transposed", found[2], np.ascontiguousarray(found[0].T))
        runner.expect(f"{name} shared", np.repeat(found[3].T, block, axis=0),
                      np.repeat(found[1], block, axis=1))


def gather(runner, rng, total, count, columns, dtype, element, index="i32", prologue=False, groups=0):
    array, x = to_array(make_input(rng, total, columns), dtype)
    numbers = rng.integers(-1, total, count).astype(np.int32 if index == "i32" else np.int64)
    numbers[::7] = -1
    types = get_types(count, columns, element, "", (1, 0), 32, "f8E8M0FNU")
    ends = group_ends(rng, count, groups) if groups else None
    if groups:
        scale = f"f8E8M0FNU, #mx.scale_layout<sf_128x4, ragged = rows, groups = {groups}>"
        types = [types[0], f"tensor<{count}x{columns // 32}x{scale}>"]
    t, n = f"tensor<{total}x{columns}x{dtype}>", f"tensor<{count}x{index}>"
    region = "" if not prologue else f"""
        prologue {{
        ^bb0(%a: {dtype}, %row: index, %col: index):
          %one = arith.constant 1.0 : {dtype}
          %b = arith.addf %a, %one : {dtype}
          mx.yield %b : {dtype}
        }}"""
    empties = "".join(f"\n      %{i} = tensor.empty() : {e}" for i, e in enumerate(types))
    found = runner.run(f"""
    func.func @main(%x: {t}, %n: {n}{f", %o: tensor<{groups}xi32>" if groups else ""})
        -> ({", ".join(types)}) {{{empties}
      %q:{len(types)} = mx.quantize {"ragged = rows" if groups else ""} ins(%x : {t}) gather(%n : {n})
        {f"offsets(%o : tensor<{groups}xi32>)" if groups else ""}
        outs({", ".join(f"%{i}" for i in range(len(types)))} : {", ".join(types)})
        {"axes = [1, 0]" if not groups else ""} -> {", ".join(types)}{region}
      return {", ".join(f"%q#{i}" for i in range(len(types)))} : {", ".join(types)}
    }}""", [array, numbers] + ([ends] if groups else []), len(types))
    if prologue:
        # NaN keeps its place, whatever its bits.
        _, x = to_array(x + np.float32(1), dtype)
    y = np.where(numbers[:, None] < 0, np.float32(0), x[np.maximum(numbers, 0)])
    elements, scales = ref.quantize(y, element)
    name = f"gather {count} of {total} {dtype} {index} {prologue} {groups}"
    runner.expect(f"{name} elements", found[0], ref.pack(elements, element))
    runner.expect(f"{name} scales", found[1], ref.tile_rows(scales, ends) if groups else scales)
    if not groups:
        elements, scales = ref.quantize(np.ascontiguousarray(y.T), element)
        runner.expect(f"{name} columns", found[2], ref.pack(elements, element))
        runner.expect(f"{name} column scales", found[3], scales)


def gather_no_row(runner):
    """An index of no row gives zeros."""
    text = """
    func.func @main(%x: tensor<8x32xf32>, %n: tensor<4xi32>) -> (tensor<4x32xf8E4M3FN>, tensor<4x1xf8E8M0FNU>) {
      %0 = tensor.empty() : tensor<4x32xf8E4M3FN>
      %1 = tensor.empty() : tensor<4x1xf8E8M0FNU>
      %q:2 = mx.quantize ins(%x : tensor<8x32xf32>) gather(%n : tensor<4xi32>)
        outs(%0, %1 : tensor<4x32xf8E4M3FN>, tensor<4x1xf8E8M0FNU>) -> tensor<4x32xf8E4M3FN>, tensor<4x1xf8E8M0FNU>
      return %q#0, %q#1 : tensor<4x32xf8E4M3FN>, tensor<4x1xf8E8M0FNU>
    }"""
    x = np.ones((8, 32), np.float32)
    right = runner.run(text, [x, np.array([0, -1, -1, 7], np.int32)], 2)
    for wrong in (8, -2, 2**31 - 1, -2**31):
        found = runner.run(text, [x, np.array([0, -1, wrong, 7], np.int32)], 2)
        assert all(np.array_equal(a, b) for a, b in zip(found, right)), wrong


runner, rng = Runner(), np.random.default_rng(5)
squares(runner, rng, 96, 64, "bf16", "f8E4M3FN", "ceil")
squares(runner, rng, 160, 96, "f32", "f8E5M2", "floor")
squares(runner, rng, 160, 160, "f16", "f6E3M2FN", "even", "sf_128x4")
squares(runner, rng, 64, 64, "bf16", "f4E2M1FN", "ceil", "sf_128x4")
squares(runner, rng, 77, 96, "bf16", "i8", "ceil", axes=(1,))
squares(runner, rng, 96, 77, "bf16", "f8E4M3FN", "ceil", axes=(0,))
squares(runner, rng, 96, 64, "f32", "f4E2M1FN", "ceil", "sf_128x4", encode=448 * 6 / 11.0)
gather(runner, rng, 77, 96, 64, "bf16", "f8E4M3FN")
gather(runner, rng, 40, 160, 96, "f32", "f8E5M2", "i64")
gather(runner, rng, 77, 96, 64, "bf16", "f8E4M3FN", prologue=True)
gather(runner, rng, 300, 258, 64, "f32", "f8E4M3FN", groups=3)
gather_no_row(runner)
runner.finish(least=100000)
