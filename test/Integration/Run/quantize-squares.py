"""Every byte of quantized square blocks, including partial blocks at the border, equals numpy's and the CPU path's.
Rows and columns of a square outside the input have no scale; their places in scale tiles are 0.

RUN: %python %s mx-run %t sm_90a
RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy
"""

import numpy as np
from harness import Blocks, Function, Harness, to_array

LENGTH = 160
ENCODE = 448 * 6 / 5.0
# Number of rows (axis 1) or columns (axis 0), whether this number is static, and the destination.
CASES = [(count, static, Blocks("f4E2M1FN" if name == "nvfp4" else name, axis, layout, square=True,
                                encode=ENCODE if name == "nvfp4" else None))
         for count, static, name, layout, axis in [
             (1, True, "f8E4M3FN", "sf_128x4", 1),
             (33, True, "f6E3M2FN", "linear", 1),
             (129, False, "f4E2M1FN", "sf_128x4", 1),
             (150, True, "nvfp4", "sf_128x4", 1),
             (160, False, "f8E5M2", "sf_128x4", 1),
             (8, True, "f8E4M3FN", "sf_128x4", 0),
             (40, True, "f6E3M2FN", "linear", 0),
             (136, False, "f4E2M1FN", "sf_128x4", 0),
             (152, True, "nvfp4", "sf_128x4", 0),
             (160, False, "f8E5M2", "sf_128x4", 0)]]

test = Harness("mx_run", "folder", "chip", seed=41)
f, numbers = Function(), []
f.argument("f32", np.float32(ENCODE), "g")
f.lines += ["%zero = arith.constant 0 : index", "%one = arith.constant 1 : index"]
for i, (count, static, out) in enumerate(CASES):
    array, wide = to_array(test.rng.standard_normal((count, LENGTH) if out.axis else (LENGTH, count)), "bf16")
    numbers.append(wide)
    lines = count if static else "?"
    shape = (lines, LENGTH) if out.axis else (LENGTH, lines)
    t = f"tensor<{shape[0]}x{shape[1]}xbf16>"
    x = f.argument(t, array)
    if not static:
        f.lines.append(f"%d{i} = tensor.dim {x}, {'%zero' if out.axis else '%one'} : {t}")
    f.call(f"mx.quantize ins({x} : {t}) {'global_scale(%g)' if out.encode else ''} OUTS axes = [{out.axis}] "
           "square", out.types(*shape), sizes=[] if static else [f"%d{i}"] * 2)
found = iter(test.run(f, chip=test.chip, check=True))
for (count, _, out), x in zip(CASES, numbers):
    out.compare(test, f"{count} lines, {out}", found, x)
test.finish(least=50000)
