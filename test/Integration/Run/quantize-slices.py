"""Quantizers of slices, whose rows lie apart, equal numpy in every byte.

TIER: slow
RUN: %python %s mx-run %t sm_90a
RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

Columns of a wider matrix: gate and up of one matmul's result. Random sizes and
places, in all types, along both axes, also gathered, ragged, and as the inputs of
a prologue that reads numbers from a slice too. Rows at places that 16 bytes do
not divide are refused, by the compiler where the types say it, else by the
program.
"""

import os
import re
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(here, "..", "CPU"))
import mx_reference as ref
from cpu_path import BITS, FLOATS

mx_run, directory, chip = sys.argv[1:]
os.makedirs(directory, exist_ok=True)

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
        # Columns of ragged rows end where a copy of 16 bytes does.
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


def destination(case, axis):
    """Types of elements and scales."""
    if not case.is_ragged():
        rows, columns = (case.rows, case.columns) if axis else (case.columns, case.rows)
        return [f"tensor<{rows}x{columns}x{case.element}>", f"tensor<{rows}x{columns // 32}x{SCALE}>"]
    groups = len(case.ends)
    rows, columns = (case.rows, case.columns) if axis else (case.columns, ref.capacity(case.rows, groups))
    mark = "" if axis else f", #mx.ragged<groups = {groups}, align = 128>"
    kind = "rows" if axis else "reduction"
    return [f"tensor<{rows}x{columns}x{case.element}{mark}>",
            f"tensor<{rows}x{columns // 32}x{SCALE}, #mx.scale_layout<linear, ragged = {kind}, groups = {groups}>>"]


SCALE = "f8E8M0FNU"


def program(case):
    """Where the types do not say it, the width is the run's."""
    wide = f"tensor<{case.wide.shape[0]}x{'?' if case.dynamic else case.width}x{case.dtype}>"
    part = f"tensor<{case.rows}x{case.columns}x{case.dtype}>"
    types = sum((destination(case, axis) for axis in case.axes), [])
    results = ", ".join(types)
    empty = [f"%e{i}" for i in range(len(types))]
    top = "%top" if case.dynamic else case.top
    produced = case.kind.endswith("prologue")
    inputs = "%a_t, %b_t" if produced else "%a_t"
    groups = f"tensor<{len(case.ends)}xi32>"
    index = f"tensor<{case.rows}xi32>"
    return f"""
func.func @main(%wide: {wide}, %top: index, %ends: {groups}, %index: {index}) -> ({results}) {{
  %a_t = tensor.extract_slice %wide[{top}, {case.first}] [{case.rows}, {case.columns}] [1, 1] : {wide} to {part}
  %b_t = tensor.extract_slice %wide[{top}, {case.second}] [{case.rows}, {case.columns}] [1, 1] : {wide} to {part}
  %bias = tensor.extract_slice %wide[{BIAS_ROW}, {case.first}] [1, {case.columns}] [1, 1]
      : {wide} to tensor<{case.columns}x{case.dtype}>
""" + "\n".join(f"  {e} = tensor.empty() : {t}" for e, t in zip(empty, types)) + f"""
  %q:{len(types)} = mx.quantize {"ragged = rows" if case.is_ragged() else ""} ins({inputs}
      : {", ".join([part] * (1 + produced))}) {f"gather(%index : {index})" if case.kind == "gather" else ""}
      {f"offsets(%ends : {groups})" if case.is_ragged() else ""} outs({", ".join(empty)} : {results})
      axes = {case.axes} -> {results} {REGION.format(case.dtype, case.columns) if produced else ""}
  return {", ".join(f"%q#{i}" for i in range(len(types)))} : {results}
}}
"""


def execute(case):
    path = lambda what: os.path.join(directory, f"{chip}-{what}")
    with open(path("program.mlir"), "w") as file:
        file.write(program(case))
    wide = case.wide.view(BITS["bf16"]) if case.dtype == "bf16" else case.wide
    count = 2 * len(case.axes)
    command = [mx_run, path("program.mlir"), "--device=sim", f"--chip={chip}"]
    for name, array in [("wide", wide), ("top", np.int64(case.top)), ("ends", case.ends), ("index", case.index)]:
        np.save(path(f"{name}.npy"), array)
        command.append("--arg=" + path(f"{name}.npy"))
    outs = [path(f"out{i}.npy") for i in range(count)]
    done = subprocess.run(command + [f"--result={out}" for out in outs], capture_output=True, text=True,
                          env={**os.environ, "MX_SIM_SM_COUNT": "2"})
    return done, outs


def expected(case):
    """Pairs of elements and scales with how much of them is defined, along the axis that the expert groups divide."""
    a, b = (case.slice(column).astype(np.float32) for column in (case.first, case.second))
    bias = case.wide[BIAS_ROW, case.first : case.first + case.columns].astype(np.float32)
    rounded = lambda x: x.astype(FLOATS[case.dtype]).astype(np.float32)
    with np.errstate(all="ignore"):
        x = rounded(rounded(a * b) + bias) if case.kind.endswith("prologue") else a
    if case.kind == "gather":
        x = np.where(case.index[:, None] < 0, np.float32(0), x[np.maximum(case.index, 0)])
    for axis in case.axes:
        if axis:
            yield *ref.quantize(x, case.element), np.s_[: case.ends[-1]] if case.is_ragged() else np.s_[:]
        elif not case.is_ragged():
            yield *ref.quantize(np.ascontiguousarray(x.T), case.element), np.s_[:]
        else:
            yield *concatenate_groups(case, x), None


def concatenate_groups(case, x):
    """A reduction: whole tiles of columns for each group, 0 where it has none."""
    starts = ref.group_starts(case.ends)
    elements = np.zeros((case.columns, starts[-1]), np.uint8)
    scales = np.zeros((case.columns, starts[-1] // 32), np.uint8)
    for start, begin, end in zip(starts, [0, *case.ends], case.ends):
        q, s = ref.quantize(np.ascontiguousarray(x[begin:end].T), case.element)
        elements[:, start : start + q.shape[1]] = q
        scales[:, start // 32 : start // 32 + s.shape[1]] = s
    return elements, scales


def check(case):
    done, outs = execute(case)
    if done.returncode or done.stderr:
        sys.exit(f"{case}: exit status {done.returncode}\n{done.stderr}")
    wrong = 0
    for k, (elements, scales, defined) in enumerate(expected(case)):
        for what, want, out in [("elements", ref.pack(elements, case.element), outs[2 * k]),
                                ("scales", scales, outs[2 * k + 1])]:
            found = np.load(out).view(want.dtype)
            # Expert groups of a reduction are followed by slack.
            found, want = (found[:, : want.shape[1]], want) if defined is None else (found[defined], want[defined])
            differ = found.shape != want.shape or np.count_nonzero(found != want)
            if differ:
                print(f"{case}: axis {case.axes[k]}, {int(differ)} of {want.size} {what} differ")
                wrong += 1
    return wrong


def check_whole(case):
    """What reads slices is compared like anything else."""
    execute(case)
    path = lambda what: os.path.join(directory, f"{chip}-{what}")
    command = [mx_run, path("program.mlir"), "--device=sim", f"--chip={chip}", "--check=cpu"]
    command += ["--arg=" + path(f"{name}.npy") for name in ("wide", "top", "ends", "index")]
    command += ["--result=" + path(f"out{i}.npy") for i in range(2 * len(case.axes))]
    done = subprocess.run(command, capture_output=True, text=True)
    compared = re.search(r"mx\.quantize at .*, result 0: \d+ elements, 0 bytes unequal", done.stdout)
    if done.returncode or not compared or "not compared" in done.stdout:
        sys.exit(f"{case}: --check=cpu, exit status {done.returncode}\n{done.stdout}{done.stderr}")


def refuse(case, message):
    done, _ = execute(case)
    if done.returncode == 0 or not re.search(message, done.stderr) or done.stderr.count("expected ") != 1:
        sys.exit(f"{case}: expected to hear {message}, found status {done.returncode}\n{done.stderr}")


def misplaced(dynamic, axes, width=0, first=0):
    rng = np.random.default_rng(5)
    case = Case(rng)
    case.kind, case.dtype, case.element = "plain", "bf16", "f8E4M3FN"
    case.dynamic, case.axes, case.columns, case.first, case.second = dynamic, axes, 128, first, 0
    case.width = 256 + width
    case.wide = make_wide(rng, case)
    return case


rng = np.random.default_rng(2026)
failures = sum(check(Case(rng)) for _ in range(40))
for axes in [1], [1, 0]:
    refuse(misplaced(False, axes, width=4), r"rows of an input at a stride of a multiple of 8 elements, .*found 260")
    refuse(misplaced(True, axes, width=4),
           r"stride of rows of an input to be a multiple of 8, found 260; the nearest are 256 and 264")
    refuse(misplaced(True, axes, first=4), r"address of an input to be a multiple of 16, found \d+; the nearest are")
check_whole(misplaced(True, [1, 0]))
print(f"{failures} arrays differ")
sys.exit(failures != 0)
