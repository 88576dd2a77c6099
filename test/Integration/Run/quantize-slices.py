"""Every byte of quantized slices (with gaps between rows) equals numpy's.

TIER: slow
RUN: %python %s mx-run %t sm_90a
RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

The inputs are columns of a wider matrix, such as gate and up in one matmul's result. Sizes and places are random, in
all types and along both axes. Slices are also gathered, ragged, or inputs of a prologue that reads further numbers from
a slice. Rows not aligned to 16 bytes are refused: by the compiler if the types determine the alignment, otherwise by
the program.
"""

import re

import mx_reference as ref
import numpy as np
from harness import FLOATS, Blocks, Function, Harness

test = Harness("mx_run", "folder", "chip", seed=2026, count=40)
chip = test.chip
REGION = """prologue {{
^bb0(%a: {0}, %b: {0}, %row: index, %col: index):
  %p = arith.mulf %a, %b : {0}
  %c = tensor.extract %bias[%col] : tensor<{1}x{0}>
  %s = arith.addf %p, %c : {0}
  mx.yield %s : {0}
}}"""
BIAS_ROW = 3


class Case:
    def __init__(self, rng):
        pick = lambda *values: values[rng.integers(len(values))]
        self.dtype = pick("bf16", "f16", "f32")
        self.element = pick("f8E4M3FN", "f8E5M2", "f4E2M1FN", "i8")
        self.kind = pick("plain", "gather", "ragged", "prologue", "ragged prologue")
        # Slices of ragged rows must end at a multiple of 16 bytes.
        self.columns = int(pick(32, 96, 128, 160, 256, 288))
        self.rows = 32 * int(rng.integers(1, 10))
        step = 16 // (4 if self.dtype == "f32" else 2)
        self.first = step * int(rng.integers(0, 20))
        self.second = step * int(rng.integers(0, 20))
        last = max(self.first, self.second) + self.columns
        self.width = -(-last // step) * step + step * int(rng.integers(0, 5))
        self.axes = pick([1], [0], [1, 0])
        self.dynamic = bool(rng.integers(2))
        self.top = int(rng.integers(0, 3))
        sizes = rng.integers(0, 100, 4) * rng.integers(0, 2, 4)
        self.ends = np.minimum(np.cumsum(sizes), self.rows).astype(np.int32)
        self.index = rng.integers(-1, self.rows, self.rows).astype(np.int32)
        self.wide = make_wide(rng, self)

    def __str__(self):
        return (f"{chip} {self.kind} {self.rows}x{self.columns} of {self.dtype} at [{self.top}, {self.first}] of "
                f"{self.width} columns to {self.element}, axes {self.axes}{', dynamic' * self.dynamic}")

    def is_ragged(self):
        return self.kind.startswith("ragged")

    def slice(self, column):
        return self.wide[self.top : self.top + self.rows, column : column + self.columns]


def make_wide(rng, case):
    shape = (case.rows + BIAS_ROW, case.width)
    x = rng.standard_normal(shape) * np.exp2(rng.integers(-8, 8, shape))
    x[rng.random(shape) < 0.001] = np.nan
    return x.astype(FLOATS[case.dtype])


def destinations(case):
    return [Blocks(case.element, axis, groups=len(case.ends) * case.is_ragged()) for axis in case.axes]


def program(case):
    """Returns a program with a static or a dynamic width."""
    wide = f"tensor<{case.wide.shape[0]}x{'?' if case.dynamic else case.width}x{case.dtype}>"
    part = f"tensor<{case.rows}x{case.columns}x{case.dtype}>"
    groups, index, top = f"tensor<{len(case.ends)}xi32>", f"tensor<{case.rows}xi32>", "%top" if case.dynamic else case.top
    produced, f = case.kind.endswith("prologue"), Function()
    f.argument(wide, case.wide, "wide"), f.argument("index", np.int64(case.top), "top")
    f.argument(groups, case.ends, "ends"), f.argument(index, case.index, "index")
    f.lines += [f"%{name}_t = tensor.extract_slice %wide[{top}, {first}] [{case.rows}, {case.columns}] [1, 1] : "
                f"{wide} to {part}" for name, first in (("a", case.first), ("b", case.second))]
    f.lines.append(f"%bias = tensor.extract_slice %wide[{BIAS_ROW}, {case.first}] [1, {case.columns}] [1, 1] : "
                   f"{wide} to tensor<{case.columns}x{case.dtype}>")
    f.call(f"mx.fused_quantize {'ragged = rows' if case.is_ragged() else ''} ins({'%a_t, %b_t' if produced else '%a_t'} : "
           f"{', '.join([part] * (1 + produced))}) {f'gather(%index : {index})' if case.kind == 'gather' else ''} "
           f"{f'offsets(%ends : {groups})' if case.is_ragged() else ''} OUTS axes = {case.axes}",
           sum((out.types(case.rows, case.columns) for out in destinations(case)), []),
           REGION.format(case.dtype, case.columns) if produced else "")
    return f


def quantized(case):
    a, b = (case.slice(column).astype(np.float32) for column in (case.first, case.second))
    bias = case.wide[BIAS_ROW, case.first : case.first + case.columns].astype(np.float32)
    rounded = lambda x: x.astype(FLOATS[case.dtype]).astype(np.float32)
    with np.errstate(all="ignore"):
        x = rounded(rounded(a * b) + bias) if case.kind.endswith("prologue") else a
    return ref.gather(x, case.index) if case.kind == "gather" else x


def call(case, *options, **more):
    f = program(case)
    return test.call(f.text(), f.arrays, len(f.results), *options, chip=chip, **more)[0]


def refuse(case, message):
    done = call(case, status=None)
    if done.returncode == 0 or not re.search(message, done.stderr) or done.stderr.count("expected ") != 1:
        test.fail(f"{case}: expected the message {message}, found status {done.returncode}\n{done.stderr}")


def misplaced(dynamic, axes, width=0, first=0):
    rng = np.random.default_rng(5)
    case = Case(rng)
    case.kind, case.dtype, case.element = "plain", "bf16", "f8E4M3FN"
    case.dynamic, case.axes, case.columns, case.first, case.second = dynamic, axes, 128, first, 0
    case.width = 256 + width
    case.wide = make_wide(rng, case)
    return case


for case in test.select(Case(test.rng) for _ in range(test.count)):
    found = iter(test.run(program(case), chip=chip, sms=2, quiet=True))
    for out in destinations(case):
        out.compare(test, f"axis {out.axis}", found, quantized(case), case.ends if case.is_ragged() else None)
for axes in [1], [1, 0]:
    refuse(misplaced(False, axes, width=4), r"the row stride of an input to be a multiple of 8 elements .*found 260")
    refuse(misplaced(True, axes, width=4),
           r"row stride of an input to be a multiple of 8, found 260; the nearest are 256 and 264")
    refuse(misplaced(True, axes, first=4), r"address of an input to be a multiple of 16, found \d+; the nearest are")
# --check=cpu compares operations on slices like any other operations.
printed = call(misplaced(True, [1, 0]), check=True).stdout
if not re.search(r"mx\.fused_quantize at .*, result 0: \d+ elements, 0 bytes unequal", printed) or "not compared" in printed:
    test.fail(f"--check=cpu: {printed}")
test.finish(least=500000)
