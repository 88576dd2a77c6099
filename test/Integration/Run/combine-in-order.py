"""mx.combine order = fixed adds the rows of a token in ascending order: every byte equals numpy's sums one row after
the other, on the CPU path and on every kind of chip, under several orders of threads, and from one run to the next.

RUN: %python %s mx-run %t
REQUIRES: compiler, numpy

A token has no rows, one, a few, more than a warp has lanes, or all there are. Lists also name rows that are negative or
do not exist. Tokens without rows hold -0, NaN and numbers, which stay as they are. Columns are many, few, odd, or none.
"""

import os
import subprocess
import sys

import ml_dtypes
import numpy as np
from work_folder import enter, write

mx_run, work = sys.argv[1:]
enter(work)
seed = int(os.environ.get("MX_COMBINE_SEED", 1))
random = np.random.default_rng(seed)
FLOATS = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}

PROGRAM = """
!z = tensor<{p}x{n}x{float}>
!rows = tensor<{p}x{index}>
!ends = tensor<{g}x{end}>
!y = tensor<{t}x{n}xf32>
func.func @main(%z: !z, %rows: !rows{ends}, %y: !y) -> !y {{
  %s = mx.combine ins(%z : !z) rows(%rows : !rows) {offsets}outs(%y : !y) order = fixed -> !y
  return %s : !y
}}
"""


class Case:
    """A list of tokens, one for each row."""

    def __init__(self, rows, tokens, columns, routing, **given):
        self.rows, self.tokens, self.columns, self.routing = rows, tokens, columns, routing
        self.float, self.index, self.end, self.groups, self.dynamic = "f32", "i32", "i32", 4, True
        self.__dict__.update(given)

    def __str__(self):
        return (f"{self.rows}x{self.columns} of {self.float} to {self.tokens} tokens, {self.routing}, {self.index}, "
                f"{self.groups} groups of {self.end}{', dynamic' * self.dynamic}")

    def source(self):
        size = (lambda n: "?") if self.dynamic else str
        return PROGRAM.format(p=size(self.rows), n=size(self.columns), t=size(self.tokens), g=size(self.groups),
                              float=self.float, index=self.index, end=self.end,
                              ends=", %ends: !ends" * (self.groups > 0),
                              offsets="offsets(%ends : !ends) " * (self.groups > 0))

    def list_rows(self):
        if self.routing == "uniform":
            return random.integers(0, max(self.tokens, 1), self.rows)
        if self.routing == "outside":
            return random.integers(-3, self.tokens + 3, self.rows)
        if self.routing == "all to one":
            return np.full(self.rows, self.tokens // 2)
        if self.routing == "descending":
            return np.arange(self.rows)[::-1] // 3
        if self.routing == "extremes":
            limits = np.iinfo(self.index.replace("i", "int"))
            return random.choice([limits.min, limits.max, 0, self.tokens - 1], self.rows)
        assert self.routing == "sorted by expert"
        top = [random.permutation(8)[:3] for _ in range(self.rows // 3 + 1)]
        pairs = sorted((expert, token) for token, experts in enumerate(top) for expert in experts)
        return np.array([token for _, token in pairs], np.int64)[:self.rows]

    def make(self):
        values = random.standard_normal((self.rows, self.columns)) * np.exp2(random.integers(-12, 12, (self.rows, 1)))
        z = values.astype(FLOATS[self.float])
        y = random.standard_normal((self.tokens, self.columns)).astype(np.float32)
        y[random.random(y.shape) < 0.3] = -0.0
        arrays = {"z": z, "rows": self.list_rows().astype(self.index.replace("i", "int"))}
        if self.groups:
            ends = np.sort(random.integers(0, self.rows + 1, self.groups))
            arrays["ends"] = ends.astype(self.end.replace("i", "int"))
        arrays["y"] = y
        return arrays


def sum_rows(z, rows, y, ends=None):
    y, end = y.copy(), len(rows) if ends is None else int(ends[-1])
    # NaN stays in tokens that no row is added to.
    quiet = np.setdiff1d(np.arange(len(y)), rows[:end])
    y[quiet[::2]] = np.nan
    begin = y.copy()
    for p in range(end):
        if 0 <= rows[p] < len(y):
            y[rows[p]] += z[p].astype(np.float32)
    return begin, y


CASES = [
    Case(300, 100, 384, "sorted by expert"),
    Case(300, 100, 1032, "sorted by expert", float="bf16", dynamic=False),
    Case(257, 33, 130, "outside", index="i64", end="i64", dynamic=False),
    Case(513, 700, 64, "uniform", float="f16", groups=0),
    Case(9000, 5000, 8, "uniform"),  # CTAs that give places to tokens
    Case(200, 3, 36, "all to one", groups=0, dynamic=False),
    Case(120, 50, 7, "descending", float="bf16", groups=0),
    Case(40, 17, 4, "extremes", index="i64", groups=1),
    Case(1, 1, 1, "uniform", groups=0),
    Case(0, 9, 64, "uniform", groups=2),
    Case(9, 0, 64, "outside"),
    Case(9, 5, 0, "uniform"),
]

wrong, runs = [], 0
for number, case in enumerate(CASES):
    path = write("case.mlir", case.source())
    arrays = case.make()
    arrays["y"], expected = sum_rows(**arrays)
    files = []
    for name, array in arrays.items():
        np.save(f"{name}.npy", array.view(np.uint16) if name == "z" and case.float == "bf16" else array)
        files += ["--arg", f"{name}.npy"]
    paths = [("cpu", ["--device=cpu"], "")]
    for chip in ("sm_90a", "sm_100a", "sm_120a"):
        paths += [(f"{chip}, seed {order}", ["--device=sim", f"--chip={chip}"], str(order)) for order in (1, 2)]
    for where, options, order in paths:
        if os.path.exists("found.npy"):
            os.remove("found.npy")
        runs += 1
        done = subprocess.run([mx_run, path, *options, *files, "--result", "found.npy"], capture_output=True, text=True,
                              env={**os.environ, "MX_SIM_SEED": order} if order else os.environ)
        if done.returncode or done.stderr:
            wrong.append(f"{case} on {where}: status {done.returncode}: {done.stdout}{done.stderr}")
            continue
        found = np.load("found.npy")
        if found.tobytes() != expected.tobytes():
            rows = np.flatnonzero((found.view(np.uint32) != expected.view(np.uint32)).any(axis=1))
            wrong.append(f"{case} on {where}: other bytes in {len(rows)} tokens, first {rows[:5]}")

for text in wrong:
    print(text)
print(f"seed {seed}: {runs} runs, {len(wrong)} wrong")
sys.exit(bool(wrong))
