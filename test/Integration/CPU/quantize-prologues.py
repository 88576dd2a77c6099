# REQUIRES: numpy
# RUN: %python %s mx-run %t
"""Tests quantizers with prologues on the CPU path: SwiGLU forward and backward.

Each program runs twice: as written, with elementwise operations that store the quantizer's input, and after
mx-fuse-prologues. Both runs return the bits of a numpy model, which quantizes the stored tensors and follows IEEE 754.
"""

import os
import subprocess

import ml_dtypes
import numpy as np
import swiglu
from harness import Blocks, Harness, group_ends

BF16 = ml_dtypes.bfloat16
MAP = "affine_map<(d0, d1) -> (d0, d1)>"
ROWS = "affine_map<(d0, d1) -> (d0)>"

# Names of the inputs in argument order, bodies, and yielded values.
FORWARD = (["gate", "up"], swiglu.FORWARD, ["%y"])
BACKWARD = (["gate", "up", "dh"], swiglu.BACKWARD, ["%x", "%y"])
# Three roundings to bf16 that fusion must not remove.
HALVES = (["gate", "up"], """
    %s = arith.addf %gate, %up : bf16
    %t = arith.mulf %s, %up : bf16
    %u = arith.subf %t, %gate : bf16""", ["%u"])


def program(case, types, offsets):
    """Returns a program with the elementwise operation, and one quantization per axis of each of its results."""
    names, body, values = case
    t, e1, s1, e2, s2 = types["x"], *types["outs"]
    n = len(values)
    maps = ", ".join([MAP] * len(names) + [ROWS] + [MAP] * n)
    results = ", ".join([t] * n)
    arguments = ", ".join(f"%{name}: bf16" for name in [*names])
    lines = []
    returned = []
    ragged = "ragged = rows" if offsets else ""
    given = f"offsets(%o : tensor<{offsets}xi32>)" if offsets else ""
    for v in range(n):
        for axis, e, s in [(1, e1, s1), (0, e2, s2)]:
            lines.append(f"""
      %e{v}{axis} = tensor.empty() : {e}
      %s{v}{axis} = tensor.empty() : {s}
      %q{v}{axis}:2 = mx.quantize {ragged} ins(%h{f'#{v}' if n > 1 else ''} : {t}) {given}
        outs(%e{v}{axis}, %s{v}{axis} : {e}, {s}) axes = [{axis}] -> {e}, {s}""")
            returned += [f"%q{v}{axis}#0", f"%q{v}{axis}#1"]
    out_types = ", ".join([e1, s1, e2, s2] * n)
    fused = program_text = f"""
    func.func @main({", ".join(f"%{name}_t: {t}" for name in names)}, %p_t: tensor<{types["rows"]}xf32>
                    {f", %o: tensor<{offsets}xi32>" if offsets else ""}) -> ({out_types}STORED) {{
      %init = tensor.empty() : {t}
      %h{f":{n}" if n > 1 else ""} = linalg.generic {{indexing_maps = [{maps}],
          iterator_types = ["parallel", "parallel"]}}
        ins({", ".join(f"%{name}_t" for name in names)}, %p_t
            : {", ".join([t] * len(names))}, tensor<{types["rows"]}xf32>)
        outs({", ".join(["%init"] * n)} : {results}) {{
      ^bb0({arguments}, %p: f32, {", ".join(f"%init{i}: bf16" for i in range(n))}):{body}
        linalg.yield {", ".join(values)} : {", ".join(["bf16"] * n)}
      }} -> {f"({results})" if n > 1 else results}{"".join(lines)}
      return {", ".join(returned)}RETURNED : {out_types}STORED
    }}"""
    stored = ", ".join(f"%h#{v}" for v in range(n)) if n > 1 else "%h"
    plain = program_text.replace("STORED", f", {results}").replace("RETURNED", f", {stored}")
    return plain, fused.replace("STORED", "").replace("RETURNED", "")


def fuse(runner, text, inputs):
    """Returns the program after the pass, which must contain exactly one quantization of `inputs` tensors, and no other
    operation on tensors."""
    opt = os.path.join(os.path.dirname(runner.mx_run), "mx-opt")
    done = subprocess.run([opt, "--mx-fuse-prologues"], input=text,
                          capture_output=True, text=True, check=True)
    assert "linalg" not in done.stdout, done.stdout
    assert done.stdout.count("mx.fused_quantize") == 1, done.stdout
    ins = done.stdout.split("mx.fused_quantize")[1].split("ins(")[1].split(":")[0]
    assert ins.count("%") == inputs, done.stdout
    return done.stdout


def make_inputs(rng, names, rows, columns):
    arrays = []
    for i, _ in enumerate(names):
        x = rng.standard_normal((rows, columns)) * np.exp2(rng.integers(-6, 4, (rows, 1)))
        x = x.astype(BF16)
        if rows > 8:
            # All exponents, infinities, NaN and zeros of both signs.
            bits = rng.integers(0, 1 << 16, (4, columns)).astype(np.uint16)
            x[2 * i:2 * i + 4] = bits.view(BF16)
            x[-2, i::7], x[-1, i::5] = np.inf, -0.0
        arrays.append(x)
    return arrays, rng.uniform(0, 1, rows).astype(np.float32)


def check(runner, rng, name, case, rows, columns, element, layout="", groups=0):
    names, _, values = case
    ends = group_ends(rng, rows, groups) if groups else None
    blocks = [Blocks(element, axis, "sf_128x4" if groups else layout or "linear", groups=groups) for axis in (1, 0)]
    outs = sum((block.types(rows, columns) for block in blocks), [])
    types = {"x": f"tensor<{rows}x{columns}xbf16>", "rows": rows, "outs": outs}
    plain, bare = program(case, types, groups)
    arrays, p = make_inputs(rng, names, rows, columns)
    arguments = [*(a.view(np.uint16) for a in arrays), p, *([ends] if groups else [])]
    count = 4 * len(values)
    found = runner.run(plain, arguments, count + len(values))
    fused = runner.run(fuse(runner, bare, len(names)), arguments, count)
    for i in range(count):
        runner.expect(f"{name} fused result {i}", fused[i], found[i])
    for v in range(len(values)):
        x = found[count + v].view(BF16).astype(np.float32)
        own = iter(fused[4 * v:4 * v + 4])
        for block in blocks:
            for what, (array, _) in zip(("elements", "scales"), block.expected(x, ends)):
                runner.expect(f"{name} value {v} {block} {what}", next(own), array)
    return [found[count + v] for v in range(len(values))], arrays


runner, rng = Harness("mx_run", "folder", device="cpu"), np.random.default_rng(11)
check(runner, rng, "forward", FORWARD, 96, 64, "f8E4M3FN")
check(runner, rng, "forward tiled", FORWARD, 160, 96, "f8E5M2", "sf_128x4")
check(runner, rng, "forward f4", FORWARD, 64, 64, "f4E2M1FN", "sf_128x4")
check(runner, rng, "forward ragged", FORWARD, 300, 64, "f8E4M3FN", groups=4)
check(runner, rng, "backward", BACKWARD, 96, 64, "f8E4M3FN")
check(runner, rng, "backward tiled", BACKWARD, 160, 96, "f6E2M3FN", "sf_128x4")
check(runner, rng, "backward ragged", BACKWARD, 258, 64, "f8E5M2", groups=3)
(stored,), (gate, up) = check(runner, rng, "halves", HALVES, 96, 64, "f8E4M3FN")
with np.errstate(all="ignore"):
    y = (gate + up) * up - gate
    assert y.dtype == BF16
    bits = np.where(np.isnan(y.astype(np.float32)), 0x7FFF, y.view(np.uint16))
canonical = np.where(np.isnan(stored.view(BF16).astype(np.float32)), 0x7FFF, stored)
runner.expect("halves", canonical.astype(np.uint16), bits.astype(np.uint16))
runner.finish(least=300000)
