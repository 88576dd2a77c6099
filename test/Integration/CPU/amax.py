# REQUIRES: numpy
# RUN: %python %s mx-run %t
"""mx.amax on the CPU path equals numpy in every bit, NaN included."""

import numpy as np
from cpu_path import BITS, FLOATS, Runner


def amax(runner, bits, dtype, dynamic):
    shape = bits.shape
    sizes = "x".join("?" if dynamic else str(size) for size in shape)
    out = runner.run(
        f"""
        func.func @main(%x: tensor<{sizes}x{dtype}>) -> tensor<f32> {{
          %init = tensor.empty() : tensor<f32>
          %m = mx.amax ins(%x : tensor<{sizes}x{dtype}>) outs(%init : tensor<f32>)
            -> tensor<f32>
          return %m : tensor<f32>
        }}""", [bits.view(np.float16) if dtype == "f16" else
                bits.view(np.float32) if dtype == "f32" else bits], 1)[0]
    with np.errstate(all="ignore"):
        wide = np.abs(bits.view(FLOATS[dtype]).astype(np.float32))
    magnitudes = np.where(np.isnan(wide), np.uint32(0x7FFFFFFF),
                          wide.view(np.uint32))
    expected = magnitudes.max(initial=0).reshape(()).astype(np.uint32)
    runner.expect(f"{dtype} {shape}", out.view(np.uint32).reshape(()), expected)


runner, rng = Runner(), np.random.default_rng(5)
for dtype, bits_type in BITS.items():
    width = np.dtype(bits_type).itemsize * 8
    infinity = {"f32": 0x7F800000, "bf16": 0x7F80, "f16": 0x7C00}[dtype]
    for shape in [(1,), (7,), (3, 5), (2, 3, 40), (0, 5), (129, 33)]:
        for dynamic in (False, True):
            bits = rng.integers(0, 2**width, shape).astype(bits_type)
            amax(runner, bits, dtype, dynamic)
            sign = bits_type(1 << (width - 1))
            finite = (bits & (sign - bits_type(1))) % bits_type(infinity)
            amax(runner, finite | (bits & sign), dtype, dynamic)
        finite.flat[:1] = infinity
        amax(runner, finite, dtype, False)
runner.finish(least=90)
