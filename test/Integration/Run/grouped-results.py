"""Every byte of a grouped matmul equals numpy's on the simulator and on the CPU path. Results are scattered, consist of
parts, or are quantized. Expert groups may be the first rows of separate matrices.

RUN: %python %s mx-run %t 30
REQUIRES: compiler, numpy

Operands are small, so sums are exact in any order and results are known to the last bit. Groups are drawn as in
grouped-sim.test, and padding is NaN.
"""

import os

import ml_dtypes
import mx_reference as ref
import numpy as np
from chips import IS_MMA_SYNC, adapt_schedule
from grouped_formats import random_sizes
from harness import Harness, exact_operand

KINDS = ["scatter", "quantized", "parts", "quantized parts", "masked",
         "masked quantized parts"]
ELEMENTS = ["f8E4M3FN", "f8E5M2", "f4E2M1FN", "f6E3M2FN", "f6E2M3FN"]
ROUNDINGS = ["ceil", "floor", "even"]
SCHEDULES = ["", "tile = [256, 256, 128], strategy = #mxgpu.tcgen05_block_scaled<ctas = 2, accumulators = 2, overlap = 64>",
             "tile = [128, 256, 128], strategy = #mxgpu.tcgen05_block_scaled<accumulators = 2, overlap = 64>",
             "tile = [256, 256, 256], strategy = #mxgpu.tcgen05_block_scaled<ctas = 2>, raster = group_m(2)"]

PROGRAM = """
!a = tensor<{t}x{k}xf8E4M3FN>
!as = tensor<{t}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4{ragged}>>
!b = tensor<{g}x{bn}x{k}xf8E4M3FN>
!bs = tensor<{g}x{bn}x{blocks}xf8E8M0FNU, #mx.scale_layout<sf_128x4>>
!o = tensor<{g}xi32>
func.func @main(%a: !a, %as: !as, %b: !b, %bs: !bs, %o: !o, %p: tensor<{m}xf32>,
                %bias: tensor<{n}xf32>, %to: tensor<{m}x{index}>{args}) -> ({types}) {{
  %y{many} = mx.grouped_matmul ragged = rows {masked}ins(%a, %as, %b, %bs : !a, !as, !b, !bs)
      offsets(%o : !o) {scatter}outs({outs} : {types})
      {attributes} {{{schedule}}} -> {types} epilogue {{
      ^bb0({sums}, %row: index, %col: index):
        %w = tensor.extract %p[%row] : tensor<{m}xf32>
        %c = tensor.extract %bias[%col] : tensor<{n}xf32>
        {region}
      }}
  return {results} : {types}
}}
"""
ONE = """%h = arith.mulf %x0, %w : f32
        %v = arith.addf %h, %c : f32"""
TWO = """%h0 = arith.mulf %x0, %x1 : f32
        %h = arith.mulf %h0, %w : f32
        %v = arith.addf %h, %c : f32"""


def share_rows(parts, warps):
    """Returns an mma.sync schedule that divides the columns of each matrix among warps."""
    strategy = f"#mxgpu.mma_sync_block_scaled<column_warps = {warps}>"
    return f"tile = [128, {128 * parts}, 128], strategy = {strategy}"


class Case:
    def __init__(self, index):
        rng = np.random.default_rng(500 + index)
        self.kind = KINDS[index % len(KINDS)]
        self.element = ELEMENTS[index // len(KINDS) % 5]
        self.rounding = ROUNDINGS[index // len(KINDS) % 3]
        self.masked = "masked" in self.kind
        self.half = bool(index // 8 % 2) and self.kind != "scatter"
        self.schedule = adapt_schedule(SCHEDULES[index // 3 % 4])
        self.sizes, behind = random_sizes(rng, index)
        if self.masked:
            self.m = int(rng.choice([1, 40, 128, 150, 300]))
            counts, self.sizes = self.sizes, np.full(len(self.sizes), self.m)
            behind = 0
        self.parts = 2 if "parts" in self.kind else 1
        self.quantized = "quantized" in self.kind
        if test.more:  # an explicit schedule requires a tile, with 128 columns for each part
            columns = 128 * self.parts
            self.schedule = (self.schedule or f"tile = [128, {columns}, 64]") + f", {test.more}"
        if IS_MMA_SYNC and index // 6 % 2 and (self.quantized or self.parts == 2):
            self.schedule = share_rows(self.parts, 4 if self.quantized else [2, 4][index // 12 % 2])
        free = not self.quantized and self.parts == 1
        self.t = int(self.sizes.sum()) + behind
        self.n = int(rng.choice([8, 200, 256, 300] if free else [128, 256, 384]))
        self.k = int(rng.choice([32, 160, 256]))
        self.index = ["i32", "i64"][index % 2]
        groups = len(self.sizes)
        self.ends = np.cumsum(self.sizes)
        codes, scales, self.a = exact_operand(rng, self.t, self.k)
        codes[self.ends[-1]:] = 0x7F
        self.numbers = self.ends
        if self.masked:  # each group has separate scale tiles
            self.numbers = counts
            for group, count in enumerate(counts):
                codes[group * self.m + count:(group + 1) * self.m] = 0x7F
            tiles = np.stack([ref.tile(s, slack=255) for s in np.split(scales, groups)])
            codes = codes.reshape(groups, self.m, self.k)
        else:
            self.m = self.t
            tiles = ref.tile_rows(scales, self.ends, slack=255)
        b = [exact_operand(rng, self.parts * self.n, self.k)
             for _ in range(groups)]
        self.b = [numbers for _, _, numbers in b]
        b_tiles = np.stack([ref.tile(s, slack=255) for _, s, _ in b])
        self.p = rng.choice([0.5, 1, -2, 0.75], self.m).astype(np.float32)
        self.bias = rng.integers(-8, 9, self.n).astype(np.float32)
        self.tokens = max(self.t // 2, 1)
        self.to = rng.integers(-1, self.tokens + 1, self.m)
        self.init = rng.integers(-9, 9, (self.tokens, self.n)).astype(np.float32)
        self.arrays = [codes, tiles, np.stack([c for c, _, _ in b]), b_tiles,
                       self.numbers.astype(np.int32), self.p, self.bias,
                       self.to.astype({"i32": np.int32, "i64": np.int64}[self.index])]
        if self.kind == "scatter":
            self.arrays.append(self.init)

    def program(self):
        n, groups = self.n, len(self.sizes)
        t = f"{groups}x{self.m}" if self.masked else self.t
        ragged = "" if self.masked else f", ragged = rows, groups = {groups}"
        value = "bf16" if self.half else "f32"
        if self.quantized:
            types = [f"tensor<{t}x{n}x{self.element}>",
                     f"tensor<{t}x{n // 32}xf8E8M0FNU, "
                     f"#mx.scale_layout<sf_128x4{ragged}>>"]
        else:
            types = [f"tensor<{self.tokens if self.kind == 'scatter' else t}"
                     f"x{n}x{value}>"]
        region = TWO if self.parts == 2 else ONE
        region += ("\n%v16 = arith.truncf %v : f32 to bf16\nmx.yield %v16 : bf16"
                   if self.half else "\nmx.yield %v : f32")
        empty = [f"%e{i} = tensor.empty() : {type}" for i, type in enumerate(types)]
        scattered = self.kind == "scatter"
        text = PROGRAM.format(
            t=t, m=self.m, ragged=ragged,
            masked="masked " if self.masked else "", n=n, bn=self.parts * n, k=self.k, g=groups, blocks=self.k // 32,
            index=self.index, types=", ".join(types),
            args=f", %e0: {types[0]}" if scattered else "",
            many=f":{len(types)}" if len(types) > 1 else "",
            scatter=f"scatter(%to : tensor<{t}x{self.index}>) " if scattered else "",
            outs=", ".join(f"%e{i}" for i in range(len(types))),
            attributes=(f"num_b = {self.parts} " if self.parts > 1 else "") +
            (f"scale_rounding = {self.rounding}"
             if self.quantized and self.rounding != "ceil" else ""),
            schedule=f"mxgpu.schedule = #mxgpu.schedule<{self.schedule}>"
            if self.schedule else "",
            sums=", ".join(f"%x{i}: f32" for i in range(self.parts)),
            region=region,
            results=", ".join(f"%y#{i}" for i in range(len(types)))
            if len(types) > 1 else "%y")
        if not scattered:
            text = text.replace("  %y", "  " + "\n  ".join(empty) + "\n  %y", 1)
        return text

    def expected(self):
        """Returns the expected results, and the index of the defined elements of each."""
        values = np.zeros((self.t, self.n), np.float32)
        begin = 0
        for g, end in enumerate(self.ends):
            sums = (self.a[begin:end] @ self.b[g].T).astype(np.float32)
            p = self.p[:, None] if self.masked else self.p[begin:end, None]
            made = (sums[:, :self.n] * sums[:, self.n:] if self.parts == 2
                    else sums)
            values[begin:end] = made * p + self.bias
            begin = end
        if self.half:
            values = values.astype(ml_dtypes.bfloat16)
        if self.masked:
            return self.expected_masked(values)
        last = slice(0, self.ends[-1])
        if self.kind == "scatter":
            out = self.init.copy()
            for row, to in enumerate(self.to[last]):
                if 0 <= to < self.tokens:
                    out[to] += values[row]
            return [(out, slice(None))]
        if not self.quantized:
            return [(values.view(np.uint16) if self.half else values, last)]
        elements, scales = ref.quantize(values.astype(np.float32), self.element,
                                        self.rounding)
        return [(ref.pack(elements, self.element), last),
                (ref.tile_rows(scales, self.ends), ref.defined_tiles(self.ends))]

    def expected_masked(self, values):
        """Returns the results of masked groups. Only the rows of expert groups and their scales are defined."""
        groups = len(self.sizes)
        has = np.arange(self.m) < self.numbers[:, None]
        values = values.reshape(groups, self.m, self.n)
        if not self.quantized:
            return [(values.view(np.uint16) if self.half else values, has)]
        values = np.where(has[..., None], values.astype(np.float32), 0)
        elements, scales = zip(*(ref.quantize(v, self.element, self.rounding)
                                 for v in values))
        defined = np.stack([
            ref.tile((np.arange(self.m) < count)[:, None].repeat(4, 1).astype(np.uint8))
            for count in self.numbers]) == 1
        defined = defined.repeat(-(-self.n // 128), axis=2)
        return [(ref.pack(np.stack(elements), self.element), has),
                (np.stack([ref.tile(s) for s in scales]), defined)]

    def __str__(self):
        return (f"{self.kind}, {[int(s) for s in self.numbers]} of {self.t} rows,"
                f" {self.n} columns, K {self.k}, {self.element}, "
                f"{'bf16' if self.half else 'f32'}, <{self.schedule}>")


test = Harness("mx_run", "folder", "count", "?first", "?more")
first = int(test.first or 0)
for index in range(first, first + int(test.count)):
    case = Case(index)
    test.case = f"{index}: {case}"
    for device in ["sim", "cpu"] if index % 3 == 0 else ["sim"]:
        found = test.run(case.program(), case.arrays, 1 + case.quantized, device=device, quiet=True,
                         seed=index // len(KINDS) % 2, sms=os.environ.get("MX_SIM_SM_COUNT", "3"))
        for i, (array, part) in enumerate(case.expected()):
            own, array = found[i][part], array[part]
            if array.dtype.kind == "f":  # both zeros are right
                own, array = own + 0, array + 0
            test.expect(f"result {i} on {device}", own, array)
test.case = ""
test.finish()
