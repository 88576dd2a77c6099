# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured and checked cases: a table that determines the IR, sizes and reference of every
case."""

import dataclasses

import numpy as np

BITS = {"f8E4M3FN": 8, "f8E5M2": 8, "f6E3M2FN": 8, "f6E2M3FN": 8,
        "f4E2M1FN": 4, "i8": 8}  # bits of an element in memory
BYTES = {"bf16": 2, "f16": 2, "f32": 4}
GROUP_TILE = 128  # alignment of groups in a ragged reduction


def ceil_div(value, by):
    return -(-value // by)


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    rows: int
    columns: int
    axes: tuple = (1,)
    element: str = "f8E4M3FN"
    nvfp4: bool = False
    layout: str = "sf_128x4"
    dtype: str = "bf16"
    groups: int = 0  # groups of rows, quantized along them
    swiglu: bool = False  # two inputs, gate and up
    square: bool = False  # a scale for 32 x 32 elements
    seed: bool = False  # stochastic rounding
    amax: bool = False  # also computes the largest magnitude
    fold: int | str = 0  # elements of a folded block, "row", or "1x128" or "128x128" with f32 scales
    widened: bool = False  # dequantizes to bf16
    schedule: str = ""  # body of #mxgpu.quantize_schedule<>
    limit: tuple = ()  # (required, aim): fractions of the ceiling
    slowdown: tuple = ()  # (limit, aim): multiples of a copy's time

    @property
    def block(self):
        if self.fold == "row":
            return self.columns
        if self.exact:
            return 128
        return self.fold or (16 if self.nvfp4 else 32)

    @property
    def exact(self):
        """Returns true if scales are f32."""
        return "x" in str(self.fold)

    @property
    def block_rows(self):
        return int(self.fold.split("x")[0]) if self.exact else 1

    @property
    def inputs(self):
        return 2 if self.swiglu else 1

    @property
    def capacity(self):
        """Returns the columns of a ragged reduction that suffice for groups of any size."""
        return ceil_div(self.rows + 127 * self.groups, GROUP_TILE) * GROUP_TILE

    def outputs(self):
        """Yields (axis, rows, columns) of the elements for each axis."""
        for axis in self.axes:
            if axis == 1:
                yield axis, self.rows, self.columns
            else:
                yield axis, self.columns, (self.capacity if self.groups
                                           else self.rows)

    @property
    def results(self):
        return 2 * len(self.axes) + self.amax

    def data_bytes(self, offsets=None):
        """Returns bytes (read, elements written, scales written), without slack after the last
        group."""
        read = self.rows * self.columns * BYTES[self.dtype] * self.inputs
        elements = scales = 0
        for axis, rows, columns in self.outputs():
            if self.groups:
                columns = group_starts(offsets)[-1]
            elements += rows * columns * BITS[self.element] // 8
            scales += rows * columns // self.block // self.block_rows * (4 if self.exact else 1)
        return read, elements, scales

    def types(self):
        """Returns the types of the input, and of elements and scales for each axis."""
        scale = "f32" if self.exact else "f8E4M3FN" if self.nvfp4 else "f8E8M0FNU"
        outs = []
        for _, rows, columns in self.outputs():
            lines, blocks, ragged, encoding = rows // self.block_rows, columns // self.block, "", ""
            if self.groups:
                ragged = f", ragged = reduction, groups = {self.groups}"
                encoding = (f", #mx.ragged<groups = {self.groups}, align = {GROUP_TILE}>")
            if self.exact:
                layout = ", #mx.scale_layout<mn_major>" * (self.block_rows == 1)
            elif self.layout == "sf_128x4" or self.groups:
                layout = f", #mx.scale_layout<{self.layout}{ragged}>"
            else:
                layout = ""
            outs.append(f"tensor<{rows}x{columns}x{self.element}{encoding}>")
            outs.append(f"tensor<{lines}x{blocks}x{scale}{layout}>")
        if self.amax:
            outs.append("tensor<f32>")
        return f"tensor<{self.rows}x{self.columns}x{self.dtype}>", outs

    def ir(self):
        x, outs = self.types()
        arguments, clauses, options = [f"%x: {x}"], [], []
        if self.swiglu:
            arguments = [f"%gate: {x}", f"%up: {x}"]
        if self.nvfp4:
            arguments.append("%encode: f32")
            clauses.append("global_scale(%encode)")
        if self.seed:
            arguments.append("%seed: i64")
            clauses.append("seed(%seed)")
        if self.square:
            options.append("square")
        if self.groups:
            offsets = f"tensor<{self.groups}xi32>"
            arguments.append(f"%offsets: {offsets}")
            clauses.append(f"offsets(%offsets : {offsets})")
        if self.fold:
            options.append(f"block_size = {str(self.fold).removeprefix('1x')}")
        if self.schedule:
            options.append("{mxgpu.quantize_schedule = "
                           f"#mxgpu.quantize_schedule<{self.schedule}>}}")
        before = SWIGLU.replace("!x", x) if self.swiglu else ""
        if self.amax:
            *outs, magnitude = outs
            before += (f"  %m0 = tensor.empty() : {magnitude}\n"
                       f"  %m = mx.amax ins(%x : {x}) outs(%m0 : {magnitude}) -> {magnitude}\n")
        empty = "".join(f"  %{i} = tensor.empty() : {t}\n"
                        for i, t in enumerate(outs))
        if self.widened:
            return (f"func.func @main({', '.join(arguments)}) -> {x} {{\n{before}{empty}"
                    f"  %q:2 = mx.quantize ins(%x : {x}) outs(%0, %1 : {', '.join(outs)}) "
                    f"axes = [1] -> {', '.join(outs)}\n  %2 = tensor.empty() : {x}\n"
                    f"  %y = mx.dequantize ins(%q#0, %q#1 : {', '.join(outs)}) outs(%2 : {x}) "
                    f"-> {x}\n  return %y : {x}\n}}\n")
        types = ", ".join(outs)
        names = ", ".join(f"%{i}" for i in range(len(outs)))
        results = ", ".join([f"%q#{i}" for i in range(len(outs))] + ["%m"] * self.amax)
        returned = ", ".join([types] + ["tensor<f32>"] * self.amax)
        ragged = "ragged = rows " if self.groups else ""
        name = "fused_quantize" if self.fold else "quantize"
        return (f"func.func @main({', '.join(arguments)}) -> ({returned}) {{\n"
                f"{before}{empty}  %q:{len(outs)} = mx.{name} {ragged}ins(%x : {x}) "
                f"{' '.join(clauses)}\n      outs({names} : {types})\n"
                f"      axes = {list(self.axes)} {' '.join(options)}\n"
                f"      -> {types}\n"
                f"  return {results} : {returned}\n}}\n")


# silu(gate) * up in f32, rounded once.
SWIGLU = """  %h0 = tensor.empty() : !x
  %x = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%gate, %up : !x, !x) outs(%h0 : !x) {
  ^bb0(%g: bf16, %u: bf16, %out: bf16):
    %one = arith.constant 1.0 : f32
    %gate32 = arith.extf %g : bf16 to f32
    %up32 = arith.extf %u : bf16 to f32
    %minus = arith.negf %gate32 : f32
    %exp = math.exp %minus : f32
    %sum = arith.addf %one, %exp : f32
    %silu = arith.divf %gate32, %sum : f32
    %product = arith.mulf %silu, %up32 : f32
    %h = arith.truncf %product : f32 to bf16
    linalg.yield %h : bf16
  } -> !x
"""


def group_starts(offsets):
    """Returns the starts of groups in a ragged reduction, and the end of the last one."""
    sizes = np.diff([0, *offsets])
    return np.cumsum([0, *(-(-sizes // GROUP_TILE) * GROUP_TILE)])


def random_offsets(case, seed=5):
    """Returns the ends of groups of random size, including an empty group."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, case.rows + 1, case.groups - 1))
    if case.groups > 2:
        cuts[1] = cuts[0]
    return np.append(cuts, case.rows).astype(np.int32)


def speed_cases():
    """Yields large and small shapes with the required fraction of the ceiling."""
    shapes = [(131072, 7168), (131072, 2048), (16384, 16384), (16384, 7168),
              (8192, 8192)]
    for axes, name, limit in [((1,), "k", (0.98, 1.0)), ((0,), "m", (0.94, 0.98)),
                              ((1, 0), "both", (0.94, 0.98))]:
        for rows, columns in shapes:
            yield Case(f"{name}-{rows}x{columns}", rows, columns, axes,
                       limit=limit)
    for rows, columns in [(131072, 2048), (32768, 7168)]:
        yield Case(f"swiglu-{rows}x{columns}", rows, columns, (1, 0),
                   swiglu=True, limit=(0.92, 0.97))
    # Hidden size of gpt-oss, not a multiple of 128.
    for axes, name, limit in [((1,), "k", (0.98, 1.0)), ((0,), "m", (0.94, 0.98)),
                              ((1, 0), "both", (0.94, 0.98))]:
        yield Case(f"{name}-131072x2880", 131072, 2880, axes, limit=limit)
    yield Case("swiglu-131072x2880", 131072, 2880, (1, 0), swiglu=True,
               limit=(0.92, 0.97))
    big = (131072, 7168)
    yield Case("ragged-131072x7168", *big, (0,), groups=32, limit=(0.92, 0.97))
    yield Case("e2m1-131072x7168", *big, element="f4E2M1FN", limit=(0.92, 0.97))
    yield Case("nvfp4-131072x7168", *big, element="f4E2M1FN", nvfp4=True,
               limit=(0.92, 0.97))
    yield Case("amax-131072x7168", *big, amax=True, limit=(0.96, 0.99))
    for axes, name in [((1,), "k"), ((0,), "m"), ((1, 0), "both")]:
        yield Case(f"{name}-1024x7168", 1024, 7168, axes, slowdown=(1.2, 1.0))


F32 = ("1x128", "128x128")
FOLDS = {"k": (128, 256, 512, "row", *F32), "m": (128, 256, 512, *F32), "both": (128, *F32),
         "swiglu": (128, "1x128"), "swiglu_k": (128, "1x128"), "swiglu_m": (128, "1x128")}
AXES = {"k": (1,), "m": (0,), "both": (1, 0)}


def folded_cases(seed):
    """Yields folding quantizers of random shapes, and the cases that they are compared with."""
    rng = np.random.default_rng(seed)
    for kind, folds in FOLDS.items():
        swiglu, axes = kind.startswith("swiglu"), AXES[kind.removeprefix("swiglu_").replace("swiglu", "both")]
        for _ in range(2):
            rows, columns = 256 * int(rng.integers(8, 81)), 512 * int(rng.integers(4, 33))
            plain = Case(f"{kind}-{rows}x{columns}", rows, columns, axes, swiglu=swiglu)
            yield plain
            for fold in folds:
                if isinstance(fold, str) or (columns if 1 in axes else rows) % fold == 0:
                    yield dataclasses.replace(plain, name=f"{plain.name}-{fold}", fold=fold)
            if kind == "k":
                yield dataclasses.replace(plain, name=f"{plain.name}-widened", widened=True)


def check_cases():
    """Yields small cases that together use every kernel: each element type, layout and input
    type along each axis, whole tiles and tails."""
    for axes, name in [((1,), "k"), ((0,), "m"), ((1, 0), "both")]:
        for layout in ["sf_128x4", "linear"]:
            for element in BITS:
                yield Case(f"{name}-{element}-{layout}", 256, 512, axes, element,
                           layout=layout)
            yield Case(f"{name}-nvfp4-{layout}", 256, 512, axes, "f4E2M1FN",
                       nvfp4=True, layout=layout)
        for dtype in ["f16", "f32"]:
            yield Case(f"{name}-{dtype}", 256, 512, axes, dtype=dtype)
            yield Case(f"{name}-e2m1-{dtype}", 256, 512, axes, "f4E2M1FN",
                       dtype=dtype)
        yield Case(f"{name}-tails", 160, 416, axes)
        yield Case(f"{name}-e2m1-tails", 352, 96, axes, "f4E2M1FN")
        yield Case(f"{name}-square", 160, 416, axes, square=True)
        yield Case(f"{name}-amax", 160, 416, axes, amax=True)
        yield Case(f"{name}-seed", 160, 416, axes, seed=True)
        yield Case(f"{name}-e2m1-seed", 352, 96, axes, "f4E2M1FN", seed=True)
    yield Case("ragged", 700, 256, (0,), groups=9)
    yield Case("ragged-one", 256, 512, (0,), groups=1)
    yield Case("ragged-seed", 700, 256, (0,), groups=9, seed=True)
    yield Case("swiglu-k", 256, 512, swiglu=True)
    yield Case("swiglu-both", 256, 512, (1, 0), swiglu=True)
    # Schedules used only for large tensors: tiles in several stages, and CTAs that get tiles from
# an atomic counter, with more tiles than a GPU has SMs.
    yield Case("both-units", 544, 480, (1, 0), schedule="tile = [256, 256], "
               "threads = 256, vector = 32, stage_rows = 32, stages = 2, ctas = 2")
    yield Case("swiglu-units", 544, 480, (1, 0), swiglu=True,
               schedule="tile = [256, 256], threads = 256, vector = 32, "
               "stage_rows = 64, stages = 2, atomic_counter = true")
    yield Case("swiglu-narrow", 544, 480, (1, 0), swiglu=True,
               schedule="tile = [256, 128], threads = 256, vector = 32, "
               "stage_rows = 128, stages = 2, atomic_counter = true")
    yield Case("swiglu-atomic-counter", 1632, 1440, (1, 0), swiglu=True)


def exhaustive_cases():
    """Yields the cases of exhaustive.py, every element type along each axis, with all bf16 values
    in all positions of a block and all pairs of exponents."""
    rows, columns = 1 << 16, 33 * 32
    for axes, name, shape in [((1,), "k", (rows, columns)),
                              ((0,), "m", (columns, rows)),
                              ((1, 0), "both", (rows, columns))]:
        for element in BITS:
            yield Case(f"all-{name}-{element}", *shape, axes, element)
        yield Case(f"all-{name}-nvfp4", *shape, axes, "f4E2M1FN", nvfp4=True)


ENCODE = np.float32(448 * 6 / 11.0)  # global scale of NVFP4 for values up to 11
SEED = np.int64(0x0123456789ABCDEF)


def find(only, cases):
    """Returns the cases with a prefix in the comma-separated list `only`, or all cases."""
    names = tuple(filter(None, only.split(",")))
    return [c for c in cases if not names or c.name.startswith(names)]
