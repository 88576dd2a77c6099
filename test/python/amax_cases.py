# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizations that compute amax on the CPU path and in kernels, and the expected amax, computed with numpy."""

import dataclasses

import mx_reference as ref
import numpy as np
from harness import BITS, FLOATS, Blocks, Function

ROWS, COLUMNS = 200, 160  # full and partial tiles along both axes
# Ends of expert groups. One group is empty, and the rows after the last end belong to no group.
ENDS = np.array([40, 40, 171, 190], np.int32)
PROLOGUE = """prologue {{
    ^bb0(%a: {0}, %row: index, %col: index):
      %one = arith.constant 1.0 : {0}
      %b = arith.addf %a, %one : {0}
      {1}
      %d = arith.addf %c, %c : f32
      mx.yield %b, %d : {0}, f32
    }}"""
SEED = 0x2718281828459045
# Options without a clause of their own.
BY_UNITS = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 256], threads = 256, vector = 32, "
            "stage_rows = 32, stages = 2, ctas = 2>}")


@dataclasses.dataclass
class Case:
    axes: list
    element: str = "f8E4M3FN"
    ragged: str = ""
    gather: bool = False
    produced: bool = False
    square: bool = False
    seed: bool = False
    nvfp4: bool = False
    layout: str = "linear"
    schedule: str = ""

    def destination(self, axis, rows):
        """Returns the types of elements and scales. Reduction groups divide columns, and row groups divide rows."""
        encode = 1.0 if self.nvfp4 else None
        blocks = Blocks(self.element, axis, self.layout, encode=encode, groups=len(ENDS) * bool(self.ragged))
        if self.ragged != "reduction":
            return blocks.types(rows, COLUMNS)
        blocks.axis = 1 - axis
        return blocks.types(COLUMNS, rows)

    def values(self, x, index):
        """Returns quantized values as f32, without rows outside of all groups."""
        with np.errstate(all="ignore"):
            values = [x]
            if self.produced:
                wide = x.astype(np.float32)
                values = [x + x.dtype.type(1), wide + wide]
            values = [v.astype(np.float32) for v in values]
        if self.gather:
            values = [ref.gather(v, index) for v in values]
        return [{"rows": v[:ENDS[-1]], "reduction": v[:, :ENDS[-1]]}.get(self.ragged, v) for v in values]

    def add(self, function, dtype, rows, gathered):
        """Appends the operation. Returns the number of its results."""
        count = 2 if self.produced else 1
        outs = sum((self.destination(a, gathered if self.gather else rows) for a in self.axes), []) * count
        outs += ["tensor<f32>"] * count
        widen = "%c = arith.extf %a : {0} to f32" if dtype != "f32" else "%c = arith.mulf %a, %one : f32"
        clauses = [
            f"ragged = {self.ragged}" if self.ragged else "", f"ins(%x : tensor<{rows}x{COLUMNS}x{dtype}>)",
            "global_scale(%g)" if self.nvfp4 else "", "seed(%seed)" if self.seed else "",
            f"gather(%n : tensor<{gathered}xi32>)" if self.gather else "",
            f"offsets(%o : tensor<{len(ENDS)}xi32>)" if self.ragged else "",
            f"OUTS axes = {self.axes} block_size = {16 if self.nvfp4 else 32}",
            "square" if self.square else "", f"amax {self.schedule}"]
        region = PROLOGUE.format(dtype, widen.format(dtype)) if self.produced else ""
        return len(function.call(f"mx.fused_quantize {' '.join(clauses)}", outs, region))


def program(cases, dtype, x, index):
    """Returns a function with all results of all cases, and the number of results of each case."""
    f = Function()
    for name, type_, array in [
            ("x", f"tensor<{len(x)}x{COLUMNS}x{dtype}>", x), ("n", f"tensor<{len(index)}xi32>", index),
            ("o", f"tensor<{len(ENDS)}xi32>", ENDS), ("g", "f32", np.float32(448 * 6 / 11.0)),
            ("seed", "i64", np.int64(SEED))]:
        f.argument(type_, array, name)
    return f, [case.add(f, dtype, len(x), len(index)) for case in cases]


def compare(test, what, cases, x, index, results, counts):
    """Compares each amax with numpy's amax. Yields each case with its values and its results."""
    results = iter(results)
    for case, count in zip(cases, counts):
        own, values = [next(results) for _ in range(count)], case.values(x, index)
        for i, value in enumerate(values):
            test.expect(f"{what}: {case}, value {i}", own[count - len(values) + i], ref.largest(value))
        yield case, values, own


def datasets(rng, dtype, rows):
    """Yields pairs (name, x). In some cases, the largest numbers in x do not contribute to the amax."""
    kind, bits = FLOATS[dtype], BITS[dtype]
    sign = bits(1 << (8 * np.dtype(bits).itemsize - 1))
    x = rng.standard_normal((rows, COLUMNS)).astype(kind)
    if rows > ENDS[-1]:
        x[ENDS[-1] - 1, -1] = -7.25  # last element inside an expert group
        x[ENDS[-1], 3] = -9.5
        x[1, ENDS[-1] % COLUMNS] = 8.5
    yield "negative", x
    if rows == 0:
        return
    yield "zeros", np.full((rows, COLUMNS), sign, bits).view(kind)
    subnormal = np.full((rows, COLUMNS), sign, bits)
    subnormal[rows // 2:, 5:7] |= bits(1)
    yield "subnormal", subnormal.view(kind)
    y = x.copy()
    y[rows // 3, 77] = -np.inf
    yield "infinity", y
    z = y.view(bits).copy()
    z[rows // 2, 31] = ~bits(0)  # negative, not canonical
    yield "nan", z.view(kind)


def gathered_rows(rng, rows, count):
    """Draws row indices, but not the row after the groups, because this row contains the largest numbers."""
    index = rng.integers(-1, min(rows, int(ENDS[-1])), count).astype(np.int32)
    index[::9] = -1
    return index
