"""With order = fixed, mx.combine adds the rows of a token in ascending order. Every byte equals numpy's sequential sums
on the CPU path and on every kind of chip, under several thread orders and in repeated runs.

RUN: %python %s mx-run %t
REQUIRES: compiler, numpy

A token receives zero, one or several rows, more rows than a warp has lanes, or all rows. Lists also contain negative
and nonexistent rows. Tokens without rows contain -0, NaN and numbers, all of which must be preserved. Column counts are
large, small, odd, or zero.
"""

import dataclasses

import numpy as np
from harness import FLOATS, Function, Harness, everywhere


@dataclasses.dataclass
class Case:
    """Rows and the list of their tokens."""
    rows: int
    tokens: int
    columns: int
    routing: str
    float: str = "f32"
    out: str = "f32"
    index: str = "i32"
    end: str = "i32"
    groups: int = 4
    dynamic: bool = True

    def program(self, arrays):
        size = (lambda n: "?") if self.dynamic else str
        types = {"z": f"tensor<{size(self.rows)}x{size(self.columns)}x{self.float}>",
                 "rows": f"tensor<{size(self.rows)}x{self.index}>", "ends": f"tensor<{size(self.groups)}x{self.end}>",
                 "y": f"tensor<{size(self.tokens)}x{size(self.columns)}x{self.out}>"}
        f = Function()
        for name, array in arrays.items():
            f.argument(types[name], array, name)
        offsets = f"offsets(%ends : {types['ends']})" if self.groups else ""
        f.lines.append(f"%s = mx.combine ins(%z : {types['z']}) rows(%rows : {types['rows']}) {offsets} "
                       f"outs(%y : {types['y']}) order = fixed -> {types['y']}")
        f.results.append(("%s", types["y"]))
        return f

    def list_rows(self, random):
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

    def make(self, random):
        values = random.standard_normal((self.rows, self.columns)) * np.exp2(random.integers(-12, 12, (self.rows, 1)))
        y = random.standard_normal((self.tokens, self.columns)).astype(np.float32)
        y[random.random(y.shape) < 0.3] = -0.0
        y = y.astype(FLOATS[self.out])
        arrays = {"z": values.astype(FLOATS[self.float]),
                  "rows": self.list_rows(random).astype(self.index.replace("i", "int"))}
        if self.groups:
            ends = np.sort(random.integers(0, self.rows + 1, self.groups))
            arrays["ends"] = ends.astype(self.end.replace("i", "int"))
        arrays["y"] = y
        return arrays


def sum_rows(z, rows, y, ends=None):
    y, end = y.copy(), len(rows) if ends is None else int(ends[-1])
    # A NaN in a token without rows must be preserved.
    quiet = np.setdiff1d(np.arange(len(y)), rows[:end])
    y[quiet[::2]] = np.nan
    begin, sums = y.copy(), y.astype(np.float32)
    for p in range(end):
        if 0 <= rows[p] < len(y):
            sums[rows[p]] += z[p].astype(np.float32)
            y[rows[p]] = sums[rows[p]].astype(y.dtype)
    return begin, y


CASES = [
    Case(300, 100, 384, "sorted by expert"),
    Case(300, 100, 1032, "sorted by expert", float="bf16", dynamic=False),
    Case(257, 33, 130, "outside", index="i64", end="i64", dynamic=False),
    Case(513, 700, 64, "uniform", float="f16", groups=0),
    Case(9000, 5000, 8, "uniform"),  # multiple CTAs assign places to tokens
    Case(200, 3, 36, "all to one", groups=0, dynamic=False),
    Case(120, 50, 7, "descending", float="bf16", groups=0),
    Case(300, 100, 516, "sorted by expert", float="bf16", out="bf16"),
    Case(90, 40, 33, "outside", out="f16", groups=0),
    Case(40, 17, 4, "extremes", index="i64", groups=1),
    Case(1, 1, 1, "uniform", groups=0),
    Case(0, 9, 64, "uniform", groups=2),
    Case(9, 0, 64, "outside"),
    Case(9, 5, 0, "uniform"),
]

test = Harness("mx_run", "folder", seed=1)
for case in test.select(CASES):
    arrays = case.make(np.random.default_rng([test.seed, CASES.index(case)]))
    arrays["y"], expected = sum_rows(**arrays)
    function = case.program(arrays)
    for where, options in everywhere():
        test.expect(where, test.run(function, quiet=True, **options)[0], expected)
test.finish(least=1000000)
