# REQUIRES: numpy
# RUN: %python %s mx-run %t
"""Every bit of mx.amax on the CPU path equals numpy's, including NaN."""

import mx_reference as ref
import numpy as np
from harness import BITS, FLOATS, Function, Harness


def amax(test, bits, dtype, dynamic):
    sizes = "x".join("?" if dynamic else str(size) for size in bits.shape)
    f = Function()
    x = f.argument(f"tensor<{sizes}x{dtype}>", bits.view(FLOATS[dtype]))
    f.call(f"mx.amax ins({x} : tensor<{sizes}x{dtype}>) OUTS", ["tensor<f32>"])
    with np.errstate(all="ignore"):
        expected = ref.largest(bits.view(FLOATS[dtype]).astype(np.float32))
    test.expect(f"{dtype} {bits.shape}", test.run(f)[0], expected)


test = Harness("mx_run", "folder", device="cpu", seed=5)
for dtype, bits_type in BITS.items():
    width = np.dtype(bits_type).itemsize * 8
    infinity = {"f32": 0x7F800000, "bf16": 0x7F80, "f16": 0x7C00}[dtype]
    for shape in [(1,), (7,), (3, 5), (2, 3, 40), (0, 5), (129, 33)]:
        for dynamic in (False, True):
            bits = test.rng.integers(0, 2**width, shape).astype(bits_type)
            amax(test, bits, dtype, dynamic)
            sign = bits_type(1 << (width - 1))
            finite = (bits & (sign - bits_type(1))) % bits_type(infinity)
            amax(test, finite | (bits & sign), dtype, dynamic)
        finite.flat[:1] = infinity
        amax(test, finite, dtype, False)
test.finish(least=90)
