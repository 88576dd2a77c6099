# REQUIRES: numpy
# RUN: %python %s mx-run %t
"""If mx-fuse-prologues converts a program to quantizers of quantized tensors, the bits of the results do not change.
Run/quantize-quantized.py compares such quantizers with numpy, also on the CPU path."""

import os
import subprocess

import numpy as np
from harness import Harness
from requantize import DECODE, Source, tensors


def fuse(runner, text, isBatch):
    """Returns the program after the pass, which must contain a single quantization. In a batch, the quantization reads
    the result of a separate multiplication."""
    opt = os.path.join(os.path.dirname(runner.mx_run), "mx-opt")
    done = subprocess.run([opt, "--mx-fuse-prologues", "--cse"], input=text, capture_output=True, text=True,
                          check=True).stdout
    assert ("mx.dequantize" in done and "linalg" in done) == isBatch and done.count("mx.fused_quantize") == 1, done
    return done


def check_fusion(runner, rng, name, layout, numbers, axes, rows=96, columns=64, batch=0, dynamic=False):
    """Checks dequantization, a multiplication by another tensor, and one quantization per axis, fused and unfused."""
    source = Source.make(rng, name, layout, rows * (batch or 1), columns)
    arrays = source.arrays()
    outer = f"{batch}x" if batch else ""
    if batch:
        arrays = [a.reshape(batch, rows, -1) for a in arrays]
    front = lambda t: t.replace("tensor<", f"tensor<{outer}")
    e, s = map(front, tensors(rows, columns, name, layout))
    if dynamic:
        e, s = (t.replace(f"tensor<{rows}x{columns}x", "tensor<?x?x").replace(f"tensor<{rows}x{columns // 32}x", "tensor<?x?x")
                for t in (e, s))
    t = f"tensor<{outer}{rows}x{columns}x{numbers}>"
    factor = "global_scale(%decode)" if name == "nvfp4" and numbers == "f32" else ""
    block = "block_size = 16" if name == "nvfp4" else ""
    lines, returned, results = [], [], []
    for axis in axes:
        types = list(map(front, tensors(*((rows, columns) if axis else (columns, rows)), "f8E4M3FN", "linear")))
        lines.append(f"""%e{axis} = tensor.empty() : {types[0]}
            %s{axis} = tensor.empty() : {types[1]}
            %q{axis}:2 = mx.quantize ins(%h : {t}) outs(%e{axis}, %s{axis} : {", ".join(types)}) axes = [{axis}]
              -> {", ".join(types)}""")
        returned += [f"%q{axis}#0", f"%q{axis}#1"]
        results += types
    text = f"""
    func.func @main(%e: {e}, %s: {s}, %y: {t}, %decode: f32) -> ({", ".join(results)}) {{
      %init = tensor.empty() : {t}
      %d = mx.dequantize ins(%e, %s : {e}, {s}) {factor} outs(%init : {t}) {block} -> {t}
      %h = linalg.mul ins(%d, %y : {t}, {t}) outs(%init : {t}) -> {t}
      {chr(10).join(lines)}
      return {", ".join(returned)} : {", ".join(results)}
    }}"""
    y = rng.standard_normal((batch or 1, rows, columns)).astype(np.float32)
    y = y if numbers == "f32" else (y.view(np.uint32) >> 16).astype(np.uint16)
    arguments = [*arrays, y if batch else y[0], DECODE]
    plain = runner.run(text, arguments, len(results))
    fused = runner.run(fuse(runner, text, bool(batch)), arguments, len(results))
    for i, (a, b) in enumerate(zip(fused, plain)):
        runner.expect(f"fused {name} {layout} {numbers} {axes} result {i}", a, b)


runner, rng = Harness("mx_run", "folder", device="cpu"), np.random.default_rng(7)
for name, layout, numbers in [("f8E4M3FN", "linear", "bf16"), ("f6E2M3FN", "sf_128x4", "f32"),
                              ("nvfp4", "linear", "f32"), ("nvfp4", "sf_128x4", "bf16"), ("i8", "linear", "f32")]:
    for axes in [[1], [0], [1, 0]]:
        check_fusion(runner, rng, name, layout, numbers, axes)
check_fusion(runner, rng, "f8E5M2", "linear", "bf16", [1, 0], batch=3)
check_fusion(runner, rng, "f8E5M2", "sf_128x4", "bf16", [0], dynamic=True)
runner.finish(least=170000)
