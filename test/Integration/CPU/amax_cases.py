# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizations with amax, and what it is by numpy: for the CPU path here, and
the kernels in ../Run."""

import numpy as np
from cpu_path import BITS, FLOATS
from mx_reference import capacity

ROWS, COLUMNS = 200, 160  # tiles and parts of tiles both ways
# Ends of groups, one of them empty; the rows behind them belong to none.
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
# Options that are no clauses of their own.
BY_UNITS = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 256], threads = 256, vector = 32, "
            "stage_rows = 32, stages = 2, ctas = 2>}")


class Case:
    def __init__(self, axes, element="f8E4M3FN", ragged="", gather=False, produced=False, square=False, seed=False,
                 nvfp4=False, layout="linear", schedule=""):
        self.axes, self.element, self.ragged, self.gather = axes, element, ragged, gather
        self.produced, self.square, self.seed, self.nvfp4 = produced, square, seed, nvfp4
        self.layout, self.schedule = layout, schedule

    def __str__(self):
        return ", ".join(f"{name} = {value}" for name, value in vars(self).items() if value)

    def destination(self, axis, rows):
        """Types of elements and scales."""
        block, scale = (16, "f8E4M3FN") if self.nvfp4 else (32, "f8E8M0FNU")
        shape = [rows, COLUMNS] if axis else [COLUMNS, rows]
        kind, mark = "", ""
        if self.ragged:
            isReduction = (self.ragged == "reduction") == (axis == 1)
            kind = f", ragged = {'reduction' if isReduction else 'rows'}, groups = {len(ENDS)}"
            if isReduction:
                shape[1] = capacity(shape[1], len(ENDS))
                mark = f", #mx.ragged<groups = {len(ENDS)}, align = 128>"
        return [f"tensor<{shape[0]}x{shape[1]}x{self.element}{mark}>",
                f"tensor<{shape[0]}x{shape[1] // block}x{scale}, #mx.scale_layout<{self.layout}{kind}>>"]

    def values(self, x, index):
        """What is quantized, of which what counts, as f32."""
        with np.errstate(all="ignore"):
            values = [x]
            if self.produced:
                wide = x.astype(np.float32)
                values = [x + x.dtype.type(1), wide + wide]
            values = [v.astype(np.float32) for v in values]
        if self.gather:
            values = [np.where(index[:, None] < 0, np.float32(0), v[np.maximum(index, 0)]) for v in values]
        if self.ragged == "rows":
            values = [v[:ENDS[-1]] for v in values]
        if self.ragged == "reduction":
            values = [v[:, :ENDS[-1]] for v in values]
        return values

    def lines(self, i, dtype, rows, gathered):
        """Of the program, and the types of results."""
        x = f"tensor<{rows}x{COLUMNS}x{dtype}>"
        count = 2 if self.produced else 1
        outs = sum((self.destination(a, gathered if self.gather else rows) for a in self.axes), []) * count
        outs += ["tensor<f32>"] * count
        empty = [f"%e{i}_{k}" for k in range(len(outs))]
        widen = "%c = arith.extf %a : {0} to f32" if dtype != "f32" else "%c = arith.mulf %a, %one : f32"
        clauses = [
            f"ins(%x : {x})",
            "global_scale(%g)" if self.nvfp4 else "",
            "seed(%seed)" if self.seed else "",
            f"gather(%n : tensor<{gathered}xi32>)" if self.gather else "",
            f"offsets(%o : tensor<{len(ENDS)}xi32>)" if self.ragged else "",
            f"outs({', '.join(empty)} : {', '.join(outs)})",
            f"axes = {self.axes} block_size = {16 if self.nvfp4 else 32}",
            "square" if self.square else "", f"amax {self.schedule} -> {', '.join(outs)}",
            PROLOGUE.format(dtype, widen.format(dtype)) if self.produced else ""]
        ragged = f"ragged = {self.ragged} " if self.ragged else ""
        return ([f"{e} = tensor.empty() : {t}" for e, t in zip(empty, outs)]
                + [f"%q{i}:{len(outs)} = mx.quantize {ragged}{' '.join(clauses)}"], outs)


def program(cases, dtype, rows, gathered):
    """IR that returns all results of all cases, and their number in each."""
    lines, names, results, counts = [], [], [], []
    for i, case in enumerate(cases):
        own, outs = case.lines(i, dtype, rows, gathered)
        lines += own
        names += [f"%q{i}#{k}" for k in range(len(outs))]
        results += outs
        counts.append(len(outs))
    body = "\n  ".join(lines)
    return counts, f"""func.func @main(%x: tensor<{rows}x{COLUMNS}x{dtype}>, %n: tensor<{gathered}xi32>,
    %o: tensor<{len(ENDS)}xi32>, %g: f32, %seed: i64) -> ({", ".join(results)}) {{
  {body}
  return {", ".join(names)} : {", ".join(results)}
}}
"""


def largest(x):
    """The bits of the largest magnitude."""
    magnitudes = np.where(np.isnan(x), np.uint32(0x7FFFFFFF), np.abs(x).view(np.uint32))
    return magnitudes.max(initial=0).astype(np.uint32).reshape(())


def datasets(rng, dtype, rows):
    """(name, x), whose numbers that only some cases count are the largest."""
    kind, bits = FLOATS[dtype], BITS[dtype]
    sign = bits(1 << (8 * np.dtype(bits).itemsize - 1))
    x = rng.standard_normal((rows, COLUMNS)).astype(kind)
    if rows > ENDS[-1]:
        x[ENDS[-1] - 1, -1] = -7.25  # the last that groups count
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
    """Not the row behind the groups, whose numbers are the largest."""
    index = rng.integers(-1, min(rows, int(ENDS[-1])), count).astype(np.int32)
    index[::9] = -1
    return index


def arguments(x, dtype, index):
    array = x.view(np.uint16) if dtype == "bf16" else x
    return [np.ascontiguousarray(array), index, ENDS, np.float32(448 * 6 / 11.0), np.int64(SEED)]
