# REQUIRES: numpy
# RUN: %python %s mx-run %t
"""On the CPU path, every bit of the amax of mx.quantize equals numpy's, and `amax` does not change elements or
scales."""

import amax_cases
import mx_reference as ref
import numpy as np
from amax_cases import Case
from harness import Harness

CASES = [
    Case([1]),
    Case([0], layout="sf_128x4"),
    Case([1, 0], "i8"),
    Case([1, 0], square=True),
    Case([0, 1], "f8E5M2", seed=True),
    Case([1], "f4E2M1FN", nvfp4=True, layout="sf_128x4"),
    Case([1, 0], gather=True),
    Case([1, 0], produced=True),
    Case([1], gather=True, produced=True),
]
RAGGED = [Case([1, 0], ragged="rows", layout="sf_128x4"), Case([0], ragged="rows", gather=True, produced=True)]


def batch(test):
    """Checks the amax over a dynamic number of matrices."""
    x = test.rng.standard_normal((3, 8, 64)).astype(np.float32)
    x[2, 7, 63] = -100
    types = "tensor<?x?x64xf8E4M3FN>, tensor<?x?x2xf8E8M0FNU>, tensor<f32>"
    found = test.run(f"""
    func.func @main(%x: tensor<?x?x64xf32>) -> ({types}) {{
      %i = arith.constant 0 : index
      %j = arith.constant 1 : index
      %b = tensor.dim %x, %i : tensor<?x?x64xf32>
      %r = tensor.dim %x, %j : tensor<?x?x64xf32>
      %e = tensor.empty(%b, %r) : tensor<?x?x64xf8E4M3FN>
      %s = tensor.empty(%b, %r) : tensor<?x?x2xf8E8M0FNU>
      %m = tensor.empty() : tensor<f32>
      %q:3 = mx.fused_quantize ins(%x : tensor<?x?x64xf32>) outs(%e, %s, %m : {types}) amax -> {types}
      return %q#0, %q#1, %q#2 : {types}
    }}""", [x], 3)
    test.expect("batch", found[2], ref.largest(x))


def compare(test, cases, dtype, rows, gathered, datasets=("negative", "nan")):
    index = amax_cases.gathered_rows(test.rng, rows, gathered)
    for name, x in amax_cases.datasets(test.rng, dtype, rows):
        if name not in datasets:
            continue
        f, counts = amax_cases.program(cases, dtype, x, index)
        what = f"{dtype} {rows} {name}"
        for case, values, own in amax_cases.compare(test, what, cases, x, index, test.run(f), counts):
            if case.axes == [1] and case.element == "f8E4M3FN":
                elements, scales = ref.quantize(values[0], case.element)
                test.expect(f"{what}: {case}, elements", own[0], elements)
                test.expect(f"{what}: {case}, scales", own[1], scales)


test = Harness("mx_run", "folder", device="cpu", seed=7)
compare(test, CASES + RAGGED, "bf16", 224, 256)
compare(test, CASES, "f16", 32, 64, ("zeros", "subnormal", "infinity", "nan"))
compare(test, CASES, "f32", 96, 64)
compare(test, [Case([1]), Case([1], produced=True)], "f32", 0, 0)
# Reduction groups divide the columns. Here, a single group contains all columns.
amax_cases.ENDS = np.array([40, 40, 90, 131], np.int32)
compare(test, [Case([1, 0], ragged="reduction")], "bf16", 224, 64)
batch(test)
test.finish(least=150000)
