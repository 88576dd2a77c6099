"""Every byte of quantized concatenated values equals numpy's.

RUN: %python %s mx-run %t cpu
RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy
TIER: slow

Covers two or three values of a prologue with slices among its inputs, along both axes, with all options: ragged rows,
gathered rows, squares, amax, and NVFP4 with the factor of the concatenated tensor. Stochastic rounding uses the random
numbers of the concatenated tensor. Widths that are not multiples of the tile width run on the CPU path.
"""

import mx_reference as ref
import numpy as np
from harness import FLOATS, Blocks, Function, Harness

test = Harness("mx_run", "folder", "target", seed=2026, count=24)
target = test.target
FACTOR = 37.5

REGION = """prologue {{
^bb0(%a: {0}, %b: {0}, %row: index, %col: index):
  %p = arith.mulf %a, %b : {0}
  %s = arith.subf %b, %a : {0}
  mx.yield {1} : {2}
}}"""
YIELDED = ["%p", "%s", "%a"]


class Case:
    def __init__(self, rng, **given):
        pick = lambda *values: values[rng.integers(len(values))]
        self.dtype = pick("bf16", "bf16", "f16", "f32")
        self.element = pick("f8E4M3FN", "f8E5M2", "f4E2M1FN", "i8")
        self.layout = pick("linear", "sf_128x4")
        self.nvfp4 = False
        self.axes = pick([1], [0], [1, 0])
        self.kind = pick("plain", "gather", "ragged", "ragged", "square")
        self.count = 2
        self.amax = bool(rng.integers(2))
        self.columns = int(pick(128, 256, 384) if target != "cpu" else pick(32, 96, 128, 160))
        self.rows = 32 * int(rng.integers(1, 10))
        self.dynamic = bool(rng.integers(2))
        self.__dict__.update(given)
        if self.nvfp4:
            self.element = "f4E2M1FN"
        sizes = rng.integers(0, 100, 4) * rng.integers(0, 2, 4)
        self.ends = np.minimum(np.cumsum(sizes), self.rows).astype(np.int32)
        self.index = rng.integers(-1, self.rows, self.rows).astype(np.int32)
        shape = (self.rows, 2 * self.columns)
        x = rng.standard_normal(shape) * np.exp2(rng.integers(-6, 6, shape))
        x[rng.random(shape) < 0.001] = np.nan
        self.wide = x.astype(FLOATS[self.dtype])

    def destinations(self):
        return [Blocks(self.element, axis, self.layout, encode=FACTOR if self.nvfp4 else None,
                       square=self.kind == "square", groups=len(self.ends) * self.is_ragged()) for axis in self.axes]

    def __str__(self):
        return (f"{target} {self.kind} {self.count} x {self.rows}x{self.columns} of {self.dtype} to {self.element}"
                f"{' NVFP4' * self.nvfp4}, {self.layout}, axes {self.axes}{', amax' * self.amax}"
                f"{', dynamic' * self.dynamic}")

    def is_ragged(self):
        return self.kind == "ragged"


def program(case):
    wide = f"tensor<{case.rows}x{2 * case.columns}x{case.dtype}>"
    part = f"tensor<{'?' if case.dynamic else case.rows}x{'?' if case.dynamic else case.columns}x{case.dtype}>"
    size = "[%rows, %columns]" if case.dynamic else f"[{case.rows}, {case.columns}]"
    groups, index, outs, f = f"tensor<{len(case.ends)}xi32>", f"tensor<{case.rows}xi32>", case.destinations(), Function()
    for name, type_, array in [("wide", wide, case.wide), ("rows", "index", np.int64(case.rows)),
                               ("columns", "index", np.int64(case.columns)), ("ends", groups, case.ends),
                               ("index", index, case.index), ("factor", "f32", np.float32(FACTOR))]:
        f.argument(type_, array, name)
    f.lines += [f"%{name}_t = tensor.extract_slice %wide[0, {first}] {size} [1, 1] : {wide} to {part}"
                for name, first in (("a", 0), ("b", case.columns))]
    types = sum((out.types(case.rows, case.count * case.columns) for out in outs), []) + ["tensor<f32>"] * case.amax
    f.call(f"mx.fused_quantize {'ragged = rows' if case.is_ragged() else ''} ins(%a_t, %b_t : {part}, {part}) "
           f"{'global_scale(%factor)' if case.nvfp4 else ''} {f'gather(%index : {index})' if case.kind == 'gather' else ''} "
           f"{f'offsets(%ends : {groups})' if case.is_ragged() else ''} OUTS axes = {case.axes} "
           f"block_size = {outs[0].block} {'square' if case.kind == 'square' else ''} {'amax' * case.amax} concat", types,
           REGION.format(case.dtype, ", ".join(YIELDED[: case.count]), ", ".join([case.dtype] * case.count)))
    return f


def run(program, *arrays, **more):
    where = dict(device="cpu") if target == "cpu" else dict(chip=target)
    return test.run(program, *arrays, sms=2, quiet=True, **where, **more)


def quantized(case):
    """Returns the concatenated matrix, and its counted rows."""
    half = case.columns
    a, b = case.wide[:, :half].astype(np.float32), case.wide[:, half:].astype(np.float32)
    rounded = lambda x: x.astype(FLOATS[case.dtype]).astype(np.float32)
    with np.errstate(all="ignore"):
        x = np.concatenate([rounded(a * b), rounded(b - a), a][: case.count], axis=1)
    return ref.gather(x, case.index) if case.kind == "gather" else x


def check(case):
    found, x = run(program(case)), quantized(case)
    arrays = iter(found)
    for out in case.destinations():
        out.compare(test, f"axis {out.axis}", arrays, x, case.ends if case.is_ragged() else None)
    if case.amax:
        test.expect("amax", found[-1], ref.largest(x[: case.ends[-1] if case.is_ragged() else None]))


SEEDED = """
!wide = tensor<160x256xbf16>
!half = tensor<160x128xbf16>
!e = tensor<{0}x{1}xf8E4M3FN>
!s = tensor<{0}x{2}xf8E8M0FNU>
func.func @main(%wide: !wide, %seed: i64) -> (!e, !s, !e, !s) {{
  %e = tensor.empty() : !e
  %s = tensor.empty() : !s
  %one:2 = mx.fused_quantize ins(%wide : !wide) seed(%seed) outs(%e, %s : !e, !s) axes = [{3}] -> !e, !s
  %a_t = tensor.extract_slice %wide[0, 0] [160, 128] [1, 1] : !wide to !half
  %b_t = tensor.extract_slice %wide[0, 128] [160, 128] [1, 1] : !wide to !half
  %two:2 = mx.fused_quantize ins(%a_t, %b_t : !half, !half) seed(%seed) outs(%e, %s : !e, !s) axes = [{3}] concat -> !e, !s
      prologue {{
      ^bb0(%a: bf16, %b: bf16, %row: index, %col: index):
        mx.yield %a, %b : bf16, bf16
      }}
  return %one#0, %one#1, %two#0, %two#1 : !e, !s, !e, !s
}}
"""


def check_seed(axis):
    """Checks that stochastic rounding returns the same bits as for a single tensor."""
    bits = test.rng.standard_normal((160, 256)).astype(FLOATS["bf16"])
    text = SEEDED.format(*((160, 256, 8) if axis else (256, 160, 5)), axis)
    found = run(text, [bits, np.int64(0x2718281828459045)], 4)
    test.expect(f"seed, axis {axis}, elements", found[2], found[0])
    test.expect(f"seed, axis {axis}, scales", found[3], found[1])


rng = test.rng
cases = [Case(rng) for _ in range(test.count)]
cases += [Case(rng, nvfp4=True, kind=kind, axes=axes, dtype="bf16") for kind, axes in
          [("plain", [1, 0]), ("ragged", [1, 0]), ("gather", [1])]]
cases += [Case(rng, count=3, dtype="bf16", element="f8E4M3FN", kind=kind, axes=[1, 0]) for kind in ("plain", "ragged")]
for case in test.select(cases):
    check(case)
for axis in (1, 0):
    check_seed(axis)
if target != "cpu":
    f = program(Case(rng, kind="plain", columns=96, dynamic=True))
    message = test.refuse("expected dimension 1 of input with concat to be a multiple of 128, found 96; "
                          "the nearest are 0 and 128", f.text(), f.arrays, len(f.results), chip=target, sms=2)
    if message.count("expected ") != 1:
        test.fail(f"expected one message, found {message}")
test.finish(least=500000)
