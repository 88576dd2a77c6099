"""Reductions of rows and fills agree with numpy in f64, on the simulator and on the CPU path.

RUN: %python %s mx-run %t sm_90a mx-compile mx-launch
RUN: %python %s mx-run %t sm_100a mx-compile mx-launch
REQUIRES: compiler, numpy

Covers sums, maxima and minima of regions that read matrices, slices, and one number for each row or column; no rows,
rows without columns, a single column, and partial tiles; and NaN. Sums have the same bits for all simulator seeds.
"""

import numpy as np
from harness import FLOATS, Harness

MAPS = """#matrix = affine_map<(r, c) -> (r, c)>
#row = affine_map<(r, c) -> (r)>
#column = affine_map<(r, c) -> (c)>
#one = affine_map<(r, c) -> ()>
"""
EPSILON = 2.0**-24


def widen(values):
    """Returns operations that convert block arguments to f32."""
    return "\n".join(
        f"    %{name}32 = arith.extf %{name} : {dtype} to f32" if dtype != "f32" else
        f"    %{name}32 = arith.addf %{name}, %none : f32" for name, dtype in values)


class Plain:
    """Sum, maximum or minimum of each row of a matrix, with an initial value."""

    def __init__(self, dtype, op="addf", named=False):
        self.dtype, self.op, self.named = dtype, op, named

    def __str__(self):
        return f"{self.op} of {self.dtype}" + (", linalg.reduce" if self.named else "")

    def text(self):
        matrix = f"tensor<?x?x{self.dtype}>"
        head = "linalg.reduce" if self.named else (
            'linalg.generic {indexing_maps = [#matrix, #row], iterator_types = ["parallel", "reduction"]}')
        arguments = f"(%x: {self.dtype}, %acc: f32)"
        tail = f" dimensions = [1] {arguments} {{" if self.named else f" {{\n  ^bb0{arguments}:"
        result = "" if self.named else " -> tensor<?xf32>"
        return f"""{MAPS}
func.func @main(%m: {matrix}, %first: tensor<?xf32>) -> tensor<?xf32> {{
  %none = arith.constant -0.0 : f32
  %r = {head} ins(%m : {matrix}) outs(%first : tensor<?xf32>){tail}
{widen([("x", self.dtype)])}
    %s = arith.{self.op} %x32, %acc : f32
    linalg.yield %s : f32
  }}{result}
  return %r : tensor<?xf32>
}}
"""

    def arguments(self, rng, rows, columns):
        x = rng.standard_normal((rows, columns)).astype(FLOATS[self.dtype])
        return [x, rng.standard_normal(rows).astype(np.float32)]

    def expect(self, x, first):
        """Returns the result and its error bound."""
        x = x.astype(np.float64)
        everything = np.concatenate([x, first[:, None].astype(np.float64)], axis=1)
        if self.op == "addf":
            return everything.sum(1), np.abs(everything).sum(1) * everything.shape[1] * EPSILON
        function = np.max if self.op == "maximumf" else np.min
        return function(everything, axis=1), 0 * first


class Some(Plain):
    """Like Plain, of the rows with a key of at least 0. The others contain NaN."""

    def text(self):
        none = dict(addf="-0.0", maximumf="0xFF800000", minimumf="0x7F800000")[self.op]
        return f"""{MAPS}
func.func @main(%m: tensor<?x?x{self.dtype}>, %first: tensor<?xf32>, %keys: tensor<?xi32>) -> tensor<?xf32> {{
  %none = arith.constant -0.0 : f32
  %neutral = arith.constant {none} : f32
  %zero = arith.constant 0 : i32
  %r = linalg.generic {{indexing_maps = [#matrix, #row, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%m, %keys : tensor<?x?x{self.dtype}>, tensor<?xi32>) outs(%first : tensor<?xf32>) {{
  ^bb0(%x: {self.dtype}, %key: i32, %acc: f32):
{widen([("x", self.dtype)])}
    %is = arith.cmpi sge, %key, %zero : i32
    %term = arith.select %is, %x32, %neutral : f32
    %s = arith.{self.op} %acc, %term : f32
    linalg.yield %s : f32
  }} -> tensor<?xf32>
  return %r : tensor<?xf32>
}}
"""

    def arguments(self, rng, rows, columns):
        keys = rng.integers(-2, 3, rows).astype(np.int32)
        x, first = super().arguments(rng, rows, columns)
        x[keys < 0] = np.nan
        return [x, first, keys]

    def expect(self, x, first, keys):
        none = dict(addf=0.0, maximumf=-np.inf, minimumf=np.inf)[self.op]
        return super().expect(np.where(keys[:, None] < 0, none, x.astype(np.float64)), first)


class Gradient:
    """Gradient of each row's probability in an expert layer: the sum of dh * silu(gate) * up, starting from 0. Gate and
    up are slices of one matrix, after `shift` other columns. Terms are also multiplied by a factor for the row, a
    factor for the column, and a common factor."""

    def __init__(self, dtype, other, shift):
        self.dtype, self.other, self.shift = dtype, other, shift

    def __str__(self):
        return f"gradient of {self.dtype} and {self.other}, {self.shift} columns before"

    def text(self):
        whole, matrix = f"tensor<?x?x{self.dtype}>", f"tensor<?x?x{self.other}>"
        part = f"tensor<?x?x{self.dtype}>"
        return f"""{MAPS}
func.func @main(%gu: {whole}, %dh: {matrix}, %weight: tensor<?xf32>, %prob: tensor<?xbf16>, %scale: f32) -> tensor<?xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %shift = arith.constant {self.shift} : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %none = arith.constant -0.0 : f32
  %rows = tensor.dim %dh, %c0 : {matrix}
  %columns = tensor.dim %dh, %c1 : {matrix}
  %second = arith.addi %columns, %shift : index
  %gate = tensor.extract_slice %gu[2, %shift] [%rows, %columns] [1, 1] : {whole} to {part}
  %up = tensor.extract_slice %gu[1, %second] [%rows, %columns] [1, 1] : {whole} to {part}
  %empty = tensor.empty(%rows) : tensor<?xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {{indexing_maps = [#matrix, #matrix, #matrix, #column, #row, #one, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%dh, %gate, %up, %weight, %prob, %scale : {matrix}, {part}, {part}, tensor<?xf32>, tensor<?xbf16>, f32)
      outs(%init : tensor<?xf32>) {{
  ^bb0(%d: {self.other}, %g: {self.dtype}, %u: {self.dtype}, %w: f32, %p: bf16, %f: f32, %acc: f32):
{widen([("d", self.other), ("g", self.dtype), ("u", self.dtype), ("p", "bf16")])}
    %minus = arith.negf %g32 : f32
    %exp = math.exp %minus : f32
    %below = arith.addf %exp, %one : f32
    %silu = arith.divf %g32, %below : f32
    %a = arith.mulf %silu, %u32 : f32
    %b = arith.mulf %a, %d32 : f32
    %c = arith.mulf %b, %w : f32
    %e = arith.mulf %c, %p32 : f32
    %h = arith.mulf %e, %f : f32
    %s = arith.addf %acc, %h : f32
    linalg.yield %s : f32
  }} -> tensor<?xf32>
  return %r : tensor<?xf32>
}}
"""

    def arguments(self, rng, rows, columns):
        normal = lambda dtype, *shape: rng.standard_normal(shape).astype(FLOATS[dtype])
        return [
            normal(self.dtype, rows + 2, self.shift + 2 * columns + 1),
            normal(self.other, rows, columns),
            normal("f32", columns),
            normal("bf16", rows),
            np.float32(1.5)
        ]

    def expect(self, whole, d, weight, prob, scale):
        whole, d, weight, prob = (x.astype(np.float64) for x in (whole, d, weight, prob))
        rows, columns = d.shape
        gate = whole[2:2 + rows, self.shift:self.shift + columns]
        up = whole[1:1 + rows, self.shift + columns:self.shift + 2 * columns]
        with np.errstate(over="ignore"):
            terms = d * gate / (1 + np.exp(-gate)) * up * weight * prob[:, None] * scale
        return terms.sum(1), np.abs(terms).sum(1) * (columns + 16) * EPSILON


test = Harness("mx_run", "folder", "chip", "mx_compile", "mx_launch")


def check(case, rng, rows, columns, spoil=False, by_plan=False):
    """Compares numpy with the CPU path, and with the simulator in two orders or with a launch plan."""
    arguments = case.arguments(rng, rows, columns)
    if spoil: # inserts a NaN into one row of the first or the sliced matrix
        arguments[0][rows // 2 + 2 if isinstance(case, Gradient) else rows // 2, columns // 2 + getattr(case, "shift", 0)] = np.nan
    name = f"{case}, {rows} x {columns}"
    expected, limit = case.expect(*arguments)
    if spoil and np.isnan(expected).sum() != 1:
        test.fail(f"{name}: expected one row to be NaN")
    run = lambda **more: test.run(case.text(), arguments, 1, **more)[0]
    results = {"sim": run(chip=test.chip, sms=1), "cpu": run(device="cpu")}
    again = (test.launch(case.text(), arguments, 1, test.chip)[0] if by_plan else run(chip=test.chip, seed=7))
    test.expect(f"{name} by another {'way' if by_plan else 'order'}", again, results["sim"])
    for device, found in results.items():
        test.expect_numbers(f"{name} on {device}", found, expected, limit)


rng = np.random.default_rng(len(test.chip))
number = lambda low, high: int(rng.integers(low, high))
for dtype in FLOATS:
    for op in ["addf", "maximumf", "minimumf"]:
        check(Plain(dtype, op), rng, number(1, 30), number(1, 700))
        check(Plain(dtype, op), rng, number(1, 30), 64 * number(1, 10), spoil=True)
    check(Some(dtype, ["addf", "maximumf", "minimumf"][number(0, 3)]), rng, number(1, 30), number(1, 700))
check(Plain("f32", named=True), rng, 9, 100)
for rows, columns in [(0, 64), (5, 0), (1, 1), (7, 8), (8, 255), (9, 256), (65, 257)]:
    check(Plain("bf16"), rng, rows, columns)
for dtype, other, shift in [("bf16", "bf16", 0), ("bf16", "f32", 8), ("f16", "bf16", 3), ("f32", "f32", 4)]:
    check(Gradient(dtype, other, shift), rng, number(1, 20), number(1, 400))
    check(Gradient(dtype, other, shift), rng, number(2, 20), 64 * number(1, 6), spoil=True)
check(Gradient("bf16", "bf16", 0), rng, 0, 64)
check(Gradient("bf16", "f16", 8), rng, 11, 96, by_plan=True)
check(Gradient("bf16", "f16", 1), rng, 3, 57, by_plan=True)
test.finish(least=400)
