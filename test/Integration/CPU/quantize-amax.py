# REQUIRES: numpy
# RUN: %python %s mx-run %t
"""amax of mx.quantize on the CPU path equals numpy in every bit, and elements and scales are those without it."""

import amax_cases
import mx_reference as ref
import numpy as np
from amax_cases import COLUMNS, Case
from cpu_path import FLOATS, Runner

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


def batch(runner, rng):
    """Of all matrices, whose number is not known."""
    x = rng.standard_normal((3, 8, 64)).astype(np.float32)
    x[2, 7, 63] = -100
    types = "tensor<?x?x64xf8E4M3FN>, tensor<?x?x2xf8E8M0FNU>, tensor<f32>"
    found = runner.run(f"""
    func.func @main(%x: tensor<?x?x64xf32>) -> ({types}) {{
      %i = arith.constant 0 : index
      %j = arith.constant 1 : index
      %b = tensor.dim %x, %i : tensor<?x?x64xf32>
      %r = tensor.dim %x, %j : tensor<?x?x64xf32>
      %e = tensor.empty(%b, %r) : tensor<?x?x64xf8E4M3FN>
      %s = tensor.empty(%b, %r) : tensor<?x?x2xf8E8M0FNU>
      %m = tensor.empty() : tensor<f32>
      %q:3 = mx.quantize ins(%x : tensor<?x?x64xf32>) outs(%e, %s, %m : {types}) amax -> {types}
      return %q#0, %q#1, %q#2 : {types}
    }}""", [x], 3)
    runner.expect("batch", found[2].view(np.uint32), amax_cases.largest(x))


def compare(runner, rng, cases, dtype, rows, gathered, datasets=("negative", "nan")):
    counts, text = amax_cases.program(cases, dtype, rows, gathered)
    index = amax_cases.gathered_rows(rng, rows, gathered)
    for name, x in amax_cases.datasets(rng, dtype, rows):
        if name not in datasets:
            continue
        outs = iter(runner.run(text, amax_cases.arguments(x, dtype, index), sum(counts)))
        for case, count in zip(cases, counts):
            own = [next(outs) for _ in range(count)]
            values = case.values(x, index)
            for i, value in enumerate(values):
                runner.expect(f"{dtype} {rows} {name}: {case}, value {i}",
                              own[count - len(values) + i].view(np.uint32), amax_cases.largest(value))
            if case.axes == [1] and case.element == "f8E4M3FN":
                elements, scales = ref.quantize(values[0], case.element)
                runner.expect(f"{dtype} {rows} {name}: {case}, elements", own[0], elements)
                runner.expect(f"{dtype} {rows} {name}: {case}, scales", own[1], scales)


runner, rng = Runner(), np.random.default_rng(7)
compare(runner, rng, CASES + RAGGED, "bf16", 224, 256)
compare(runner, rng, CASES, "f16", 32, 64, ("zeros", "subnormal", "infinity", "nan"))
compare(runner, rng, CASES, "f32", 96, 64)
compare(runner, rng, [Case([1]), Case([1], produced=True)], "f32", 0, 0)
# The groups of a reduction are of columns, all of which are in one here.
amax_cases.ENDS = np.array([40, 40, 90, 131], np.int32)
compare(runner, rng, [Case([1, 0], ragged="reduction")], "bf16", 224, 64)
batch(runner, rng)
runner.finish(least=150000)
