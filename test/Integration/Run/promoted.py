# REQUIRES: numpy
# RUN: %python %s mx-run %t cpu sm_90a
"""Matmuls with `promote` have the bits of docs/reference/Spec.md, Folded operands, on the CPU path and on sm_90a, for
chosen and for random cases. The oracle (Inputs/promoted_sums.py) checks that its results satisfy the bound of the page.

    promoted.py MX_RUN FOLDER CHIP... [--count=N] [--first=I]   # runs random cases I to I + N - 1 after the chosen ones
"""

import dataclasses
import re

import mx_reference as ref
import numpy as np
import promoted_sums as sums
from harness import BF16, FLOATS, Function, Harness, tensor
from matmul_case import Matmul

test = Harness("mx_run", "folder", "*chips", count=12, first=0)
PROMOTIONS = 128, 256, 512
BLOCKS = 128, 256, 512, None
TILES = [(128, 64), (128, 128), (128, 192), (128, 256)]
TALL_TILES = [(192, 64), (192, 128)]  # of a single matrix
EXPANDED = "f8E4M3FN", "f4E2M1FN"
PAIRS = [(256, 64), (256, 128), (256, 192), (256, 256)]
ELEMENTS = "f8E4M3FN", "f8E5M2"
QUANTIZED = "f8E4M3FN", "f8E5M2", "f6E2M3FN", "f4E2M1FN"
# Numbers of rows of expert groups.
GROUPS = [(100, 0, 130, 100), (0, 7, 133, 0, 160), (129, 127, 44), (3, 128, 129), (50, 0, 140), (1,), (256, 30)]


def tile(rows, columns):
    strategy = ", strategy = #mxgpu.wgmma_fp8<ctas = 2>" if (rows, columns) in PAIRS else ""
    return f"tile = [{rows}, {columns}, 128]{strategy}"


def expanded(rows, columns):
    """Returns a schedule that expands B first."""
    return tile(rows, columns) + ", workspace = b"


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


@dataclasses.dataclass
class Case(Matmul):
    elements: tuple = (ELEMENTS[0], ELEMENTS[0])
    blocks: tuple = (128, None)
    promote: int = 128
    data: str = "codes"
    linear: bool = False
    exact: bool = False  # f32 scales
    squares: bool = False  # blocks of 128 rows of b

    def draw_operands(self, rows, all_n):
        if self.kind == "reduction":
            self.a, self.b = self.draw_segments()
        else:
            self.a, self.b = self.draw(((rows, self.k), (all_n, self.k)))
            if self.squares:
                self.b = sums.in_squares(self.b, self.n * self.count)

    def draw(self, shapes):
        operands = sums.draw_pair(self.rng, shapes, self.elements, self.blocks, self.data)
        return [sums.with_f32_scales(self.rng, one, self.data) for one in operands] if self.exact else operands

    def draw_segments(self):
        """Draws the segment of each expert group, padded with zeros to blocks. Operands are random behind the last."""
        block, = {*self.blocks}
        padded = [-(-size // block) * block for size in self.k]
        capacity = -(-(sum(self.k) + (block - 1) * len(self.k)) // block) * block
        # Segments without elements have zeros at their end.
        padded.append(capacity - sum(padded))
        drawn = [self.draw(((self.m, size), (self.n, size))) for size in padded if size]
        found = []
        for operands in zip(*drawn):
            codes, scales = (np.concatenate([getattr(one, name) for one in operands], axis=1) for name in ("codes", "scales"))
            for start, size, end in zip(np.cumsum([0, *padded]), self.k, np.cumsum(padded)):
                codes[:, start + size:end] = 0
            found.append(sums.Operand(codes, scales, operands[0].element, block))
        self.segments = [np.s_[start:start + size] for start, size in zip(np.cumsum([0, *padded]), padded)]
        return found

    def operands(self, group, part, matrix):
        if self.kind == "reduction":
            return [operand.columns(self.segments[group]) for operand in (self.a, self.b)]
        first = (group * self.count + matrix) * self.n
        return self.a.rows(part), self.b.rows(np.s_[first:first + self.n])

    def multiply(self, group, part, matrix):
        a, b = self.operands(group, part, matrix)
        found = sums.multiply(a, b, self.promote)
        if self.data not in sums.UNBOUNDED:
            exact, bound = sums.exact(a, b, self.promote)
            test.require("bound", (np.abs(found - exact) <= bound).all())
        return found

    def expected(self):
        """Returns the results and the defined part of each."""
        values = np.zeros((len(self.weights), self.n), np.float32)
        for group, part in enumerate(self.parts):
            values[part] = self.finish([self.multiply(group, part, matrix) for matrix in range(self.count)], part)
        rows = np.concatenate([np.arange(len(values))[part] for part in self.parts])
        with np.errstate(all="ignore"):
            if self.result in ref.ELEMENTS:
                defined = np.zeros_like(values)
                defined[rows] = values[rows]
                elements, scales = ref.quantize(defined, self.result)
                tiles = ref.tile_rows(scales, self.ends) if self.kind == "rows" else self.stack_tiles(scales)
                return [(ref.pack(elements, self.result), rows), (tiles, self.find_tiles(scales))]
            if self.result == "scatter":
                result = self.old.copy()
                rows = rows[(self.to[rows] >= 0) & (self.to[rows] < len(result))]
                result[self.to[rows]] += values[rows]
                return [(result, ())]
            return [(values.astype(FLOATS[self.out]), rows)]

    def find_tiles(self, scales):
        if self.kind == "rows":
            return ref.defined_tiles(self.ends)
        has = np.zeros_like(scales)
        for part in self.parts:
            has[part] = 1
        return np.stack([ref.tile(own) for own in np.split(has, len(self.sizes))]) == 1

    def program(self):
        scales = [self.store_scales(self.a.scales, self.in_a, self.kind == "rows"),
                  self.store_scales(self.b.scales, self.in_b, squares=self.squares)]
        arrays = [self.shape(self.a.codes, self.in_a), scales[0], self.shape(self.b.codes, self.in_b), scales[1]]
        element_a, element_b = self.elements
        scale = "f32" if self.exact else "f8E8M0FNU"
        types = [tensor(array.shape, own) for array, own in zip(arrays, [element_a, scale, element_b, scale])]
        arrays[2] = ref.pack(arrays[2], element_b)
        of_b = "128x128" if self.squares else self.blocks[1] or "row"
        form = f"block_size = {self.blocks[0] or 'row'} b_block_size = {of_b} promote = {self.promote}"
        f = Function()
        return self.build(f, [f.argument(*pair) for pair in zip(types, arrays)], types, form)

    def store_scales(self, scales, matrices, ragged=False, squares=False):
        """Returns scales in the layout of kernels, with extreme scales as padding."""
        if squares:
            scales = scales.reshape(matrices or 1, -1, scales.shape[1])[:, ::128]
            return np.ascontiguousarray(scales if matrices else scales[0])
        if self.linear:
            return self.shape(scales, matrices)
        if self.exact:
            blocks = np.swapaxes(self.shape(scales, matrices), -1, -2)
            rows = blocks.shape[-1]
            padding = [(0, 0)] * (blocks.ndim - 1) + [(0, -rows % 4)]
            return np.pad(blocks, padding, constant_values=np.nan).reshape(*blocks.shape[:-1], -1, 4)
        if ragged:
            return ref.tile_rows(scales, self.ends, slack=255)
        return ref.tile(self.shape(scales, matrices), slack=255)

    def chips(self):
        """Returns the chips that support the form."""
        is_for_all = self.kind == "reduction" or self.k % 128 == 0 and (self.blocks[0] or not self.blocks[1])
        is_for_all &= not self.pairs or self.promote == 128
        return [chip for chip in test.chips if chip == "cpu" or is_for_all]

    def check(self):
        self.make()
        function, expected = self.program(), self.expected()
        for chip in self.chips():
            found = test.run(function, chip=chip, seed=self.seed % 3, sms=self.seed % 4 + 2)
            for i, (own, (array, part)) in enumerate(zip(found, expected)):
                own = own.reshape(array.shape) if i == 0 else own
                test.expect(f"result {i} on {chip}", own, array, part, nan=array.dtype.kind == "f" or array.dtype == BF16)


CHOSEN = [
    Case(40, 24, 128),
    Case(130, 72, 384, schedule=tile(128, 64)),
    Case(200, 300, 1152, schedule=tile(128, 256)),
    Case(250, 140, 1280, schedule=tile(192, 128)),
    Case(130, 200, 384, schedule=tile(128, 192)),
    Case(300, 300, 256, schedule=tile(256, 256)),
    Case(100, 60, 768, blocks=(256, None), promote=256),
    Case(200, 200, 1536, blocks=(512, None), promote=512, schedule=tile(256, 192)),
    Case(250, 140, 896, blocks=(None, None), promote=512, schedule=tile(192, 128), data="special"),
    Case(200, 300, 1408, blocks=(128, 128), schedule=tile(128, 256)),
    Case(130, 200, 640, blocks=(128, 128), schedule=tile(128, 192), data="special"),
    Case(250, 140, 512, blocks=(128, 256), schedule=tile(192, 128)),
    Case(300, 300, 1024, blocks=(512, 128), schedule=tile(256, 256), data="wild"),
    Case(66, 72, 1024, "batched", blocks=(256, 512), promote=256, schedule=tile(128, 128)),
    Case(250, 140, 1536, blocks=(512, 512), promote=512, schedule=tile(192, 128), data="special"),
    Case(200, 200, 2560, blocks=(512, 512), promote=512, schedule=tile(256, 192)),
    Case(70, 130, 256, elements=("f8E5M2", "f8E4M3FN")),
    Case(70, 130, 256, elements=("f8E4M3FN", "f8E5M2")),
    Case(64, 64, 512, blocks=(256, None)),
    Case(64, 64, 1024, blocks=(512, None)),
    Case(100, 60, 384, blocks=(None, None)),
    Case(96, 80, 256, data="special"),
    Case(96, 80, 256, blocks=(None, None), data="special"),
    Case(96, 80, 256, blocks=(None, None), data="wild"),
    Case(96, 80, 256, elements=("f8E5M2", "f8E5M2"), data="special"),
    Case(96, 80, 256, data="tiny"),
    Case(96, 80, 256, elements=("f8E5M2", "f8E5M2"), data="tiny"),
    Case(96, 80, 256, elements=("f8E5M2", "f8E4M3FN"), data="tiny b"),
    Case(96, 80, 256, elements=("f8E4M3FN", "f8E5M2"), data="tiny a"),
    Case(70, 40, 80, blocks=(None, None)),
    Case(70, 40, 640, blocks=(None, None)),
    Case(70, 40, 640, linear=True),
    Case(70, 40, 512, blocks=(128, 256), linear=True),
    Case(64, 64, 256, alpha=True, accumulate=True),
    Case(26, 28, 256, schedule=tile(128, 64), alpha=True, accumulate=True),
    Case((100, 0, 130, 100), 72, 256, "rows"),
    Case((0, 7, 133, 0, 160), 140, 1152, "rows", schedule=tile(128, 128)),
    Case((129, 127, 44), 200, 256, "rows", blocks=(None, None), schedule=tile(128, 256)),
    Case((3, 128, 129), 64, 512, "rows", blocks=(512, None)),
    Case((0, 7, 140, 0, 360), 200, 1024, "rows", blocks=(512, None), promote=512, schedule=tile(256, 128)),
    Case((0, 7, 133, 0, 160), 140, 384, "rows", blocks=(128, 128), schedule=tile(128, 128), result="scatter"),
    Case((50, 0, 140), 128, 256, "rows", blocks=(128, 128), pairs=True),
    Case((50, 0, 140), 128, 256, "rows", pairs=True),
    Case((50, 0, 140), 128, 256, "rows", pairs=True, epilogue=True, result="f8E4M3FN"),
    Case((50, 0, 140), 40, 256, "rows", result="scatter"),
    Case((1, 130), 256, 256, "masked", epilogue=True),
    Case(140, 200, (100, 0, 1200, 1), "reduction", blocks=(128, 128)),
    Case(130, 72, (0, 300, 128, 0), "reduction", blocks=(128, 128), accumulate=True, schedule=tile(128, 128)),
    Case(200, 300, (129, 127, 40), "reduction", blocks=(128, 128), schedule=tile(256, 256), data="special"),
    Case(40, 24, 128, elements=EXPANDED, blocks=(128, 32)),
    Case(130, 300, 384, elements=EXPANDED, blocks=(128, 32), schedule=expanded(128, 256), data="wild"),
    Case(200, 200, 512, elements=EXPANDED, blocks=(256, 32), schedule=expanded(128, 128), data="special"),
    Case(300, 200, 384, elements=EXPANDED, blocks=(128, 32), schedule=expanded(256, 128)),
    Case(130, 72, 1024, elements=EXPANDED, blocks=(512, 32), promote=512, schedule=expanded(128, 128), data="tiny"),
    Case(96, 80, 256, elements=("f8E5M2", "f4E2M1FN"), blocks=(128, 32), data="gap"),
    Case(70, 40, 256, elements=EXPANDED, blocks=(128, 32), linear=True, alpha=True, accumulate=True),
    Case((0, 7, 133, 0, 160), 140, 384, "rows", elements=EXPANDED, blocks=(128, 32), schedule=expanded(128, 256)),
    Case((50, 0, 140), 128, 256, "rows", elements=EXPANDED, blocks=(128, 32), pairs=True, epilogue=True, result="f8E4M3FN"),
    Case((1, 130), 256, 256, "masked", elements=EXPANDED, blocks=(128, 32), epilogue=True),
    Case(70, 40, 256, "batched", elements=EXPANDED, blocks=(128, 32), schedule=expanded(128, 64) + ", epilogue = tma_store"),
    Case(70, 40, 256, "batched", schedule=tile(128, 64) + ", epilogue = tma_store"),
]

BLOCKS_OF_BOTH = {"blocks": (128, 128), "exact": True}
SQUARES = {**BLOCKS_OF_BOTH, "squares": True}
CHOSEN += [
    Case(130, 200, 384, schedule=tile(128, 64) + ", epilogue = tma_store", **SQUARES),
    Case((50, 0, 141), 40, 256, "rows", result="scatter", **SQUARES),
    Case(250, 300, 1152, schedule=tile(192, 128), data="special", **SQUARES),
    Case(40, 72, 8448, schedule=tile(128, 64), **SQUARES),
    Case(130, 500, 384, schedule=tile(128, 192), data="special", **SQUARES),
    Case(130, 300, 384, schedule=tile(256, 160) + ", epilogue = tma_store", data="special", **SQUARES),
    Case(300, 300, 1280, schedule=tile(256, 256), data="wild", **SQUARES),
    Case(200, 130, 256, schedule=tile(128, 256), elements=("f8E5M2", "f8E4M3FN"), alpha=True, accumulate=True, **SQUARES),
    Case(130, 200, 384, blocks=(128, 128), squares=True, data="special"),
    Case(130, 200, 512, blocks=(256, 128), squares=True, schedule=tile(256, 192)),
    Case((0, 7, 133, 0, 161), 140, 384, "rows", schedule=tile(128, 128), data="special", **SQUARES),
    Case((50, 0, 141), 128, 256, "rows", pairs=True, **SQUARES),
    Case((50, 0, 141), 128, 256, "rows", pairs=True, blocks=(128, 128), squares=True),
    Case((1, 130), 256, 256, "masked", epilogue=True, data="special", **SQUARES),
    Case(71, 140, 256, "batched", **SQUARES),
    Case(130, 200, 384, schedule=tile(128, 192), data="special", **BLOCKS_OF_BOTH),
    Case(130, 200, 384, schedule=tile(128, 96), **BLOCKS_OF_BOTH),
    Case(250, 300, 1152, schedule=tile(256, 256), data="wild", **BLOCKS_OF_BOTH),
    Case((1, 131), 256, 256, "masked", pairs=True, **BLOCKS_OF_BOTH),
    Case(141, 200, (100, 0, 256, 1), "reduction", data="special", **BLOCKS_OF_BOTH),
    Case(130, 72, (0, 300, 128, 0), "reduction", accumulate=True, schedule=tile(128, 128), **BLOCKS_OF_BOTH),
]


def draw_schedule(rng, case):
    tiles = TILES + PAIRS + TALL_TILES * (case.kind == "dense")
    fields = [tile(*pick(rng, [shape for shape in tiles if shape[1] < 256 or case.promote == 128])),
              "raster = " + pick(rng, ["linear", "group_m(2)", "hilbert"]), pick(rng, ["stages = 2", "pdl", None])]
    if case.result == "plain":
        aligned = case.n * np.dtype(FLOATS[case.out]).itemsize % 16 == 0
        fields.append("epilogue = " + pick(rng, ["direct", "tma_store"][:1 + aligned]))
    if case.elements[1] == EXPANDED[1]:
        fields.append("workspace = b")
    return ", ".join(filter(None, fields))


def draw_case(index):
    rng = np.random.default_rng([9, index])
    kind = pick(rng, ["dense", "rows", "batched", "masked", "reduction"])
    promote = pick(rng, PROMOTIONS)
    longer = lambda blocks: pick(rng, [block for block in blocks if block is None or block >= promote])
    of_a = longer(BLOCKS)
    blocks = of_a, longer(BLOCKS)
    multiple = max(block or pick(rng, (16, 128)) for block in blocks)
    k = multiple * int(rng.integers(1, 1 + max(1, 1536 // multiple)))
    case = Case(int(pick(rng, [1, 31, 128, 129, rng.integers(1, 300)])),
                int(pick(rng, [1, 24, 128, 200, rng.integers(1, 300)])), k, kind,
                elements=(pick(rng, ELEMENTS), pick(rng, ELEMENTS)), blocks=blocks, promote=promote,
                data=sums.DATA[index % len(sums.DATA)], out=pick(rng, list(FLOATS)),
                alpha=rng.random() < 0.3, epilogue=rng.random() < 0.4, seed=index)
    if of_a and kind != "reduction" and rng.random() < 0.25:
        case = dataclasses.replace(case, elements=(case.elements[0], EXPANDED[1]), blocks=(of_a, 32))
    if kind == "reduction":
        case = dataclasses.replace(case, k=pick(rng, GROUPS), blocks=(128, 128), promote=128)
    if kind in ("rows", "masked"):
        case.m = pick(rng, GROUPS)
        case.result = pick(rng, ["plain", pick(rng, QUANTIZED), "scatter"][:3 if kind == "rows" else 2])
        case.pairs = case.result != "scatter" and rng.random() < 0.4
    if case.result == "scatter":
        case.out = "f32"
    if case.pairs or case.result in QUANTIZED:
        case.n = int(pick(rng, (128, 256)))
    case.accumulate = case.result == "plain" and not case.pairs and rng.random() < 0.3
    case.linear = kind == "dense" and rng.random() < 0.2
    if not case.pairs and case.result not in QUANTIZED and rng.random() < 0.8:
        case.schedule = draw_schedule(rng, case)
    return case


def draw_blocks(index):
    """Draws a case with blocks of both operands, of f32 scales or of 128 rows of b."""
    rng = np.random.default_rng([10, index])
    case = draw_case(index)
    while case.elements[1] == EXPANDED[1] or case.kind != "reduction" and case.promote != 128:
        index += 1000
        case = draw_case(index)
    squares = case.kind != "reduction" and rng.random() < 0.7
    k = case.k if case.kind == "reduction" else 128 * int(rng.integers(1, 13))
    schedule = case.schedule
    if rng.random() < 0.4:
        schedule = re.sub(r"(\[(?:128|256)), \d+", rf"\1, {pick(rng, (96, 160))}", schedule)
    return dataclasses.replace(case, k=k, blocks=(128, 128), squares=squares, schedule=schedule,
                               exact=not squares or rng.random() < 0.7, linear=False)


drawn = range(test.first, test.first + test.count)
for case in test.select([*CHOSEN, *map(draw_case, drawn), *map(draw_blocks, drawn)]):
    case.check()
test.finish(least=100000)
