"""Fake quantization along rows: a kernel that fuses mx.quantize and mx.dequantize returns the bits of the two separate
kernels and of the CPU path.

RUN: %python %s mx-run %t sm_90a
RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy
TIER: slow

Covers every element type, scale rounding and value type; random bits, including NaN and infinities; rows and columns
that do not fill tiles; NVFP4 with both factors, stochastic rounding, a gather, row groups, prologues, and several
values. A program that also returns the elements is not fused, and is the reference.
"""

import numpy as np
from harness import Harness

test = Harness("mx_run", "folder", "chip", seed=11)
rng = test.rng
MX = ["f8E4M3FN", "f8E5M2", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN", "i8"]
DTYPES = {"bf16": np.uint16, "f16": np.uint16, "f32": np.uint32}


def numbers(type_, shape):
    """Draws the bits of numbers with many magnitudes, and some random bits."""
    if type_ == "f32":
        x = rng.normal(size=shape) * np.exp2(rng.integers(-30, 30, shape))
        bits = x.astype(np.float32).view(np.uint32)
    elif type_ == "f16":
        bits = (rng.normal(size=shape) * 8).astype(np.float16).view(np.uint16)
    else:
        x = rng.normal(size=shape) * np.exp2(rng.integers(-30, 30, shape))
        bits = (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    anything = rng.random(shape) < 0.01
    bits[anything] = rng.integers(0, 1 << 16, anything.sum()) << (16 if type_ == "f32" else 0)
    return bits.view({"f16": np.float16, "f32": np.float32}.get(type_, np.uint16))


def text(case, returns_elements):
    rows, columns, block = case["rows"], case["columns"], case.get("block", 32)
    x, element, out = case["x"], case["element"], case["out"]
    scale = "f8E8M0FNU" if block == 32 else "f8E4M3FN"
    wide = columns * (2 if "concat" in case else 1)
    layout = ", #mx.scale_layout<sf_128x4>" if case.get("tiled") else ""
    types = (f"!x = tensor<{case.get('source', rows)}x{columns}x{x}>\n!e = tensor<{rows}x{wide}x{element}>\n"
             f"!s = tensor<{rows}x{wide // block}x{scale}{layout}>\n!y = tensor<{rows}x{wide}x{out}>\n")
    arguments, ins, before, decode = "%x: !x", "%x : !x", "", ""
    if block == 16:
        arguments += ", %encode: f32, %decode: f32"
        before, decode = "global_scale(%encode) ", "global_scale(%decode) "
    if "seed" in case:
        arguments += ", %seed: i64"
        before += "seed(%seed) "
    if "source" in case:
        arguments += f", %rows: tensor<{rows}xi32>"
        before += f"gather(%rows : tensor<{rows}xi32>) "
    ragged, groups = "", ""
    if "groups" in case:
        arguments += f", %o: tensor<{case['groups']}xi32>"
        ragged, groups = "ragged = rows ", f"offsets(%o : tensor<{case['groups']}xi32>) "
        types = types.replace("sf_128x4>", f"sf_128x4, ragged = rows, groups = {case['groups']}>")
    after = f"block_size = {block} " + ("concat " if "concat" in case else "")
    after += f"scale_rounding = {case.get('rounding', 'ceil')}" if block == 32 else ""
    region = ""
    if "concat" in case or "prologue" in case:
        arguments += ", %z: !x"
        ins = "%x, %z : !x, !x"
        region = f"""prologue {{
    ^bb0(%a: {x}, %b: {x}, %row: index, %col: index):
      %p = arith.mulf %a, %b : {x}
      mx.yield {'%p, %b' if 'concat' in case else '%p'} : {x}{', ' + x if 'concat' in case else ''}
    }}"""
    more = ", !e, !s" if returns_elements else ""
    values = "%y, %q#0, %q#1" if returns_elements else "%y"
    return f"""{types}
func.func @main({arguments}) -> (!y{more}) {{
  %e = tensor.empty() : !e
  %s = tensor.empty() : !s
  %q:2 = mx.fused_quantize {ragged}ins({ins}) {before}{groups}outs(%e, %s : !e, !s) {after} -> !e, !s {region}
  %i = tensor.empty() : !y
  %y = mx.dequantize {ragged}ins(%q#0, %q#1 : !e, !s) {decode}{groups}outs(%i : !y) block_size = {block} -> !y
  return {values} : !y{more}
}}
"""


def cases():
    for i, element in enumerate(MX):
        for j, out in enumerate(DTYPES):
            yield dict(rows=300, columns=288, element=element, out=out, tiled=(i + j) % 2,
                       x=list(DTYPES)[(i + j) % 3], rounding=["ceil", "floor", "even"][(i + 2 * j) % 3])
    for out in ("bf16", "f32"):
        yield dict(rows=130, columns=48, element="f4E2M1FN", out=out, x="bf16", block=16, tiled=out == "f32")
    yield dict(rows=129, columns=160, element="f4E2M1FN", out="bf16", x="bf16", seed=True)
    yield dict(rows=77, source=50, columns=64, element="f8E4M3FN", out="bf16", x="bf16")
    yield dict(rows=300, columns=96, element="f8E4M3FN", out="bf16", x="bf16", groups=5, tiled=True)
    yield dict(rows=200, columns=64, element="f4E2M1FN", out="bf16", x="bf16", groups=3, tiled=True, source=90)
    yield dict(rows=131, columns=96, element="f8E4M3FN", out="bf16", x="bf16", prologue=True)
    yield dict(rows=131, columns=128, element="f8E5M2", out="bf16", x="bf16", concat=True)


for case in test.select(cases()):
    arrays = [numbers(case["x"], (case.get("source", case["rows"]), case["columns"]))]
    if case.get("block") == 16:
        arrays += [np.float32(1.7), np.float32(1 / 1.7)]
    if "seed" in case:
        arrays.append(np.int64(0x123456789))
    if "source" in case:
        arrays.append(rng.integers(-1, case["source"], case["rows"]).astype(np.int32))
    if "groups" in case:  # every row belongs to a group
        ends = np.sort(rng.integers(0, case["rows"], case["groups"]))
        ends[-1] = case["rows"]
        arrays.append(ends.astype(np.int32))
    if "prologue" in case or "concat" in case:
        arrays.append(numbers(case["x"], (case["rows"], case["columns"])))
    one, = test.run(text(case, False), arrays, 1, chip=test.chip, check=True)
    three, *_ = test.run(text(case, True), arrays, 3, chip=test.chip)
    test.expect("numbers", one, three)
if test.cases < 24 and not test.only:
    test.fail(f"expected 24 cases, found {test.cases}")
test.finish()
