"""Tests fake quantization along rows, columns or both axes, in square blocks and in batches. A kernel that fuses
mx.quantize and mx.dequantize must produce the same bits as the separate kernels and as the CPU path.

RUN: %python %s mx-run %t sm_90a formats
REQUIRES: compiler, numpy

This file covers the formats, on sm_90a; fake-quantize-rows.test and fake-quantize-tiles-*.test cover the rest.

Each case consists of three programs. The first program also returns elements and scales, which prevents fusion. The
second returns only values. The third returns the values of the last result, and the elements and scales of all other
results. Cases cover random bits, including NaN and infinities, and blocks of zeros; rows and columns that do not fill
tiles; every element type, scale rounding and value type; NVFP4 with both factors, stochastic rounding, gathers, row
groups, prologues, several values, and amax. Row groups that are quantized along columns form a ragged reduction. Only
matmuls read it, so the values are multiplied by rows with a single 1 per group, on sm_90a, where matmuls dequantize
first.
"""

import re

import numpy as np
from chips import adapt_quantize_schedule
from harness import Harness

test = Harness("mx_run", "folder", "chip", "which", seed=12)
rng, chip = test.rng, test.chip
MX = ["f8E4M3FN", "f8E5M2", "f6E3M2FN", "f6E2M3FN", "f4E2M1FN", "i8"]
DTYPES = {"bf16": np.uint16, "f16": np.uint16, "f32": np.uint32}
BYTES, NUMBERS, MIXED = "bytes", "numbers", "mixed"
KINDS = [BYTES, NUMBERS, MIXED]


def random_bits(dtype, shape):
    """Draws numbers with many magnitudes, some random bits, and blocks of zeros along both axes."""
    x = rng.normal(size=shape) * np.exp2(rng.integers(-30, 30, shape))
    if dtype == "f16":
        bits = (rng.normal(size=shape) * 8).astype(np.float16).view(np.uint16)
    else:
        bits = x.astype(np.float32).view(np.uint32)
        bits = bits if dtype == "f32" else (bits >> 16).astype(np.uint16)
    anything = rng.random(shape) < 0.003
    bits[anything] = rng.integers(0, 1 << 16, anything.sum()) << (16 if dtype == "f32" else 0)
    bits[..., : shape[-2] // 2, : 40] = 0
    return bits.view({"f16": np.float16, "f32": np.float32}.get(dtype, np.uint16))


class Case:
    def __init__(self, rows, columns, axes, x="bf16", element="f8E4M3FN", out="bf16", block=32, rounding="ceil",
                 tiled=True, batch=(), groups=0, source=0, prologue=False, values=1, concat=False, seed=False,
                 square=False, amax=False, dynamic=False, schedule="", ungrouped=0):
        self.__dict__.update(locals())

    def __str__(self):
        return str({k: v for k, v in self.__dict__.items() if k != "self"})

    def types(self, axis):
        """Returns the types of elements, scales and values."""
        rows, columns = (self.rows, self.columns) if axis else (self.columns, self.rows)
        if self.concat:
            rows, columns = (rows, 2 * columns) if axis else (2 * rows, columns)
        layout, mark = "sf_128x4" if self.tiled else "linear", ""
        if self.groups:
            kind = "rows" if axis else "reduction"
            layout += f", ragged = {kind}, groups = {self.groups}"
            if not axis:
                columns = -(-(self.rows + 127 * self.groups) // 128) * 128
                mark = f", #mx.ragged<groups = {self.groups}, align = 128>"
        scale = "f8E8M0FNU" if self.block == 32 else "f8E4M3FN"
        lead = "".join(f"{n}x" for n in self.batch)
        sizes = ["?x" if self.dynamic and n == self.rows else f"{n}x" for n in (rows, columns)]
        blocks = "?x" if self.dynamic and not axis else f"{columns // self.block}x"
        shape = lead + "".join(sizes)
        return (f"tensor<{shape}{self.element}{mark}>",
                f"tensor<{lead}{sizes[0]}{blocks}{scale}, #mx.scale_layout<{layout}>>", f"tensor<{shape}{self.out}>")

    def destinations(self):
        return self.axes * (1 if self.concat else self.values)

    def size(self, axis, what):
        """Returns the value of a dynamic dimension, or nothing if the dimension is static."""
        if not self.dynamic:
            return ""
        return "%r" if axis or what != 1 else "%b"

    def text(self, kind):
        values = 2 if self.concat else self.values
        rows = "?" if self.dynamic else self.source or self.rows
        x = f"tensor<{''.join(f'{n}x' for n in self.batch)}{rows}x{self.columns}x{self.x}>"
        arguments, before, decode = [f"%x: {x}"], "", ""
        if self.block == 16:
            arguments += ["%encode: f32", "%decode: f32"]
            before, decode = "global_scale(%encode) ", "global_scale(%decode) "
        if self.seed:
            arguments.append("%seed: i64")
            before += "seed(%seed) "
        if self.source:
            arguments.append(f"%rows: tensor<{self.rows}xi32>")
            before += f"gather(%rows : tensor<{self.rows}xi32>) "
        if self.groups:
            arguments.append(f"%o: tensor<{self.groups}xi32>")
        offsets = f"offsets(%o : tensor<{self.groups}xi32>) " if self.groups else ""
        ragged = "ragged = rows " if self.groups else ""
        ins, region = f"%x : {x}", ""
        if self.prologue or values > 1:
            arguments.append(f"%z: {x}")
            ins = f"%x, %z : {x}, {x}"
            yields = ["%p", "%b"][:values]
            region = (f"prologue {{\n^bb0(%a: {self.x}, %b: {self.x}, %row: index, %col: index):\n"
                      f"  %p = arith.mulf %a, %b : {self.x}\n"
                      f"  mx.yield {', '.join(yields)} : {', '.join([self.x] * values)}\n}}")
        lines = []
        if self.dynamic:
            lines += ["%c0 = arith.constant 0 : index", "%c32 = arith.constant 32 : index",
                      f"%r = tensor.dim %x, %c0 : {x}", "%b = arith.divui %r, %c32 : index"]
        outs, names = [], []
        for i, axis in enumerate(self.destinations()):
            for what, type_ in enumerate(self.types(axis)[:2]):
                names.append(f"%i{i}_{what}")
                outs.append(type_)
                lines.append(f"{names[-1]} = tensor.empty({self.size(axis, what)}) : {type_}")
        after = f"axes = {self.axes} block_size = {self.block} "
        after += "".join(f"{word} " for word in ("square", "amax", "concat") if getattr(self, word))
        after += f"scale_rounding = {self.rounding} " if self.block == 32 else ""
        all_types = list(outs)
        if self.amax:
            for _ in range(1 if self.concat else values):
                names.append(f"%m{len(names)}")
                all_types.append("tensor<f32>")
                lines.append(f"{names[-1]} = tensor.empty() : tensor<f32>")
        types = ", ".join(all_types)
        if self.schedule:
            schedule = adapt_quantize_schedule(self.schedule, chip)
            after += f"{{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<{schedule}>}} "
        lines.append(f"%q:{len(names)} = mx.fused_quantize {ragged}ins({ins}) {before}{offsets}"
                     f"outs({', '.join(names)} : {types}) {after}-> {types} {region}")
        results = [(f"%q#{2 * len(self.destinations()) + i}", "tensor<f32>")
                   for i in range(len(names) - len(outs))]
        count = len(self.destinations())
        for i, axis in enumerate(self.destinations()):
            e, s, y = self.types(axis)
            is_bytes = kind == BYTES or (kind == MIXED and i != count - 1)
            if self.groups and not axis:
                g = self.groups
                one, ones = (re.sub(r"tensor<\d+x", "tensor<64x", type_) for type_ in (e, s))
                if not any(line.startswith("%ones") for line in lines):
                    arguments += [f"%one: {one}", f"%ones: {ones}"]
                    lines.append("%ones_used = arith.constant 0 : index")
                y = f"tensor<{g}x{self.columns * (2 if self.concat else 1)}x64xf32>"
                lines += [f"%j{i} = tensor.empty() : {y}",
                          f"%y{i} = mx.grouped_matmul ragged = reduction ins(%q#{2 * i}, %q#{2 * i + 1}, %one, %ones : "
                          f"{e}, {s}, {one}, {ones}) {offsets}outs(%j{i} : {y}) "
                          f"{{mxgpu.schedule = #mxgpu.schedule<tile = [128, 64, 64], workspace = ab>}} -> {y}"]
            else:
                in_groups = (ragged, offsets) if self.groups else ("", "")
                lines += [f"%j{i} = tensor.empty({self.size(axis, 0)}) : {y}",
                          f"%y{i} = mx.dequantize {in_groups[0]}ins(%q#{2 * i}, %q#{2 * i + 1} : {e}, {s}) {decode}"
                          f"{in_groups[1]}outs(%j{i} : {y}) block_size = {self.block} -> {y}"]
            results.append((f"%y{i}", y))
            if is_bytes:
                results += [(f"%q#{2 * i}", e), (f"%q#{2 * i + 1}", s)]
        types = ", ".join(type_ for _, type_ in results)
        return (f"func.func @main({', '.join(arguments)}) -> ({types}) {{\n" + "\n".join(lines) +
                f"\nreturn {', '.join(name for name, _ in results)} : {types}\n}}\n",
                [i for i, (name, _) in enumerate(results) if not name.startswith("%q#") or
                 name[3:].isdigit() and int(name[3:]) >= 2 * count])

    def arrays(self):
        shape = (*self.batch, self.source or self.rows, self.columns)
        arrays = [random_bits(self.x, shape)]
        if self.block == 16:
            arrays += [np.float32(1.7), np.float32(1 / 1.7)]
        if self.seed:
            arrays.append(np.int64(0x123456789))
        if self.source:
            arrays.append(rng.integers(-1, self.source, self.rows).astype(np.int32))
        if self.groups:
            ends = np.sort(rng.integers(0, self.rows - self.ungrouped + 1, self.groups))
            ends[-1] = self.rows - self.ungrouped
            arrays.append(ends.astype(np.int32))
        if self.prologue or self.values > 1 or self.concat:
            arrays.append(random_bits(self.x, shape))
        if self.groups and 0 in self.axes:
            arrays += self.rows_of_one(arrays)
        return arrays

    def rows_of_one(self, arrays):
        """Returns elements and scales of 64 rows over the reduction. Row j is 1 at the j-th reduction element of each
        group, and at every 64th element after it."""
        capacity = -(-(self.rows + 127 * self.groups) // 128) * 128
        one = np.zeros((64, capacity), np.uint8)
        ends, begin, start = next(a for a in arrays if a.dtype == np.int32 and a.shape == (self.groups,)), 0, 0
        for end in ends:
            for row in range(end - begin):
                one[row % 64, start + row] = 0x38 if self.element != "i8" else 0x40
            start += -(-(end - begin) // 128) * 128
            begin = end
        tiles = (1, capacity // 128, 32, 4, 4)
        return [one, np.full(tiles if self.tiled else (64, capacity // 32), 127, np.uint8)]


def run(case, arrays, kind):
    """Returns the values of all results, and the names of the launches."""
    text, numbers = case.text(kind)
    results = text.splitlines()[-2].split(":")[0].count("%")
    done, outs = test.call(text, arrays, results, "--mx-explain", chip=chip,
                           check=kind == NUMBERS and not (case.groups and 0 in case.axes))
    return [np.load(outs[i]) for i in numbers], re.findall(r"^ +\d+ +main_(\w+)", done.stdout + done.stderr, re.M)


def formats():
    """Yields cases of every element type and every value type."""
    axes = [[0], [1, 0], [0, 1]]
    for i, element in enumerate(MX):
        for j, out in enumerate(DTYPES):
            yield Case(160, 288 if (i + j) % 2 else 136, [0] if (i + j) % 2 == 0 else axes[i % 3], list(DTYPES)[(i + 2 * j) % 3],
                       element, out, tiled=(i + j) % 3 > 0, rounding=["ceil", "floor", "even"][(i + 2 * j) % 3]) \
                if (i + j) % 2 else Case(288, 160, axes[(i + j) % 3], list(DTYPES)[(i + 2 * j) % 3], element, out,
                                         rounding=["ceil", "floor", "even"][(i + j) % 3])


def forms():
    """Yields cases of all options of the operation."""
    yield Case(96, 160, [1, 0], element="f4E2M1FN", block=16)
    yield Case(160, 96, [0], element="f4E2M1FN", block=16, out="f32", tiled=False)
    yield Case(128, 160, [0, 1], element="f4E2M1FN", seed=True)
    yield Case(96, 64, [1, 0], source=50)
    yield Case(160, 96, [1, 0], prologue=True, rounding="floor")
    yield Case(160, 128, [1, 0], values=2, concat=True, element="f8E5M2", prologue=True)
    yield Case(96, 160, [1, 0], values=2)
    yield Case(160, 96, [1, 0], square=True)
    yield Case(100, 96, [1], square=True)
    yield Case(96, 160, [1, 0], batch=(3,))
    yield Case(33, 96, [1], batch=(2,), element="f6E2M3FN")
    yield Case(160, 96, [1, 0], amax=True)
    yield Case(192, 160, [1, 0], dynamic=True)
    yield Case(352, 288, [1, 0], schedule="tile = [256, 256], threads = 256, vector = 32, stage_rows = 32, stages = 2, ctas = 1")
    yield Case(352, 288, [1, 0], prologue=True,
               schedule="tile = [256, 128], threads = 256, vector = 32, stage_rows = 128, stages = 2, atomic_counter = true")
    yield Case(300, 96, [1], groups=5, amax=True)
    if chip == "sm_90a":
        yield Case(300, 160, [1, 0], groups=5)
        yield Case(300, 96, [0], groups=4, rounding="floor", ungrouped=40)
        yield Case(260, 96, [1, 0], groups=3, source=90, ungrouped=7)
        yield Case(260, 128, [1, 0], groups=3, values=2, concat=True, prologue=True)


def rows():
    """Yields cases along rows."""
    for i, element in enumerate(MX):
        for j, out in enumerate(DTYPES):
            yield Case(300, 288, [1], list(DTYPES)[(i + j) % 3], element, out, tiled=(i + j) % 2,
                       rounding=["ceil", "floor", "even"][(i + 2 * j) % 3])
    for out in ("bf16", "f32"):
        yield Case(130, 48, [1], element="f4E2M1FN", out=out, block=16, tiled=out == "f32")
    yield Case(129, 160, [1], element="f4E2M1FN", seed=True, tiled=False)
    yield Case(77, 64, [1], source=50, tiled=False)
    yield Case(300, 96, [1], groups=5)
    yield Case(200, 64, [1], element="f4E2M1FN", groups=3, source=90)
    yield Case(131, 96, [1], prologue=True, tiled=False)
    yield Case(131, 128, [1], element="f8E5M2", values=2, concat=True, prologue=True, tiled=False)


cases = list({"formats": formats, "forms": forms, "rows": rows}[test.which]())
for case in test.select(cases):
    arrays = case.arrays()
    expected, _ = run(case, arrays, BYTES)
    # The third program of a case with a single result is the second.
    for kind in (NUMBERS, MIXED) if len(case.destinations()) > 1 else (NUMBERS,):
        found, launches = run(case, arrays, kind)
        for i, (own, array) in enumerate(zip(found, expected)):
            # Rows outside of all groups are unspecified.
            part = np.s_[:-case.ungrouped] if case.ungrouped and len(own) == case.rows else ()
            test.expect(f"{kind}, result {i}", own, array, part)
        if not any("quantize_dequantize" in name for name in launches):
            test.fail(f"{kind}: expected a fused kernel, found {launches}")
if len(cases) < 16:
    test.fail(f"expected 16 cases, found {len(cases)}")
test.finish()
