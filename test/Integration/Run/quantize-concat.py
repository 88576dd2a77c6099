"""Values that are quantized side by side equal numpy in every byte.

RUN: %python %s mx-run %t cpu
RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy
TIER: slow

Two or three values of a prologue, of inputs that may be slices, along both axes, with
everything that goes with it: ragged rows, gathered rows, squares, the largest magnitude,
NVFP4 with its factor of the one tensor that they are. Random numbers are those of that
tensor. Widths that tiles do not divide go to the CPU path.
"""

import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(here, "..", "CPU"))
import mx_reference as ref
from cpu_path import BITS, FLOATS

mx_run, directory, target = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
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
        self.block, self.scale = (16, "f8E4M3FN") if self.nvfp4 else (32, "f8E8M0FNU")

    def __str__(self):
        return (f"{target} {self.kind} {self.count} x {self.rows}x{self.columns} of {self.dtype} to {self.element}"
                f"{' NVFP4' * self.nvfp4}, {self.layout}, axes {self.axes}{', amax' * self.amax}"
                f"{', dynamic' * self.dynamic}")

    def is_ragged(self):
        return self.kind == "ragged"


def destination(case, axis):
    width, groups = case.count * case.columns, len(case.ends)
    columns = ref.capacity(case.rows, groups) if case.is_ragged() else case.rows
    shape = (case.rows, width) if axis else (width, columns)
    mark, ragged = "", ""
    if case.is_ragged():
        kind = "rows" if axis else "reduction"
        mark = "" if axis else f", #mx.ragged<groups = {groups}, align = 128>"
        ragged = f", ragged = {kind}, groups = {groups}"
    return [f"tensor<{shape[0]}x{shape[1]}x{case.element}{mark}>",
            f"tensor<{shape[0]}x{shape[1] // case.block}x{case.scale}, #mx.scale_layout<{case.layout}{ragged}>>"]


def program(case):
    wide = f"tensor<{case.rows}x{2 * case.columns}x{case.dtype}>"
    part = f"tensor<{'?' if case.dynamic else case.rows}x{'?' if case.dynamic else case.columns}x{case.dtype}>"
    size = "[%rows, %columns]" if case.dynamic else f"[{case.rows}, {case.columns}]"
    types = sum((destination(case, axis) for axis in case.axes), []) + ["tensor<f32>"] * case.amax
    results = ", ".join(types)
    empty = [f"%e{i}" for i in range(len(types))]
    groups, index = f"tensor<{len(case.ends)}xi32>", f"tensor<{case.rows}xi32>"
    region = REGION.format(case.dtype, ", ".join(YIELDED[: case.count]), ", ".join([case.dtype] * case.count))
    return f"""
func.func @main(%wide: {wide}, %rows: index, %columns: index, %ends: {groups}, %index: {index}, %factor: f32)
    -> ({results}) {{
  %a_t = tensor.extract_slice %wide[0, 0] {size} [1, 1] : {wide} to {part}
  %b_t = tensor.extract_slice %wide[0, {case.columns}] {size} [1, 1] : {wide} to {part}
""" + "\n".join(f"  {e} = tensor.empty() : {t}" for e, t in zip(empty, types)) + f"""
  %q:{len(types)} = mx.quantize {"ragged = rows" if case.is_ragged() else ""} ins(%a_t, %b_t : {part}, {part})
      {"global_scale(%factor)" if case.nvfp4 else ""} {f"gather(%index : {index})" if case.kind == "gather" else ""}
      {f"offsets(%ends : {groups})" if case.is_ragged() else ""} outs({", ".join(empty)} : {results})
      axes = {case.axes} block_size = {case.block} {"square" if case.kind == "square" else ""}
      {"amax" if case.amax else ""} concat -> {results} {region}
  return {", ".join(f"%q#{i}" for i in range(len(types)))} : {results}
}}
"""


def execute(text, arguments, results, what, refusal=""):
    path = lambda what: os.path.join(directory, f"{target}-{what}")
    with open(path("program.mlir"), "w") as file:
        file.write(text)
    command = [mx_run, path("program.mlir")]
    command += ["--device=cpu"] if target == "cpu" else ["--device=sim", f"--chip={target}"]
    for i, array in enumerate(arguments):
        np.save(path(f"in{i}.npy"), array)
        command.append("--arg=" + path(f"in{i}.npy"))
    outs = [path(f"out{i}.npy") for i in range(results)]
    done = subprocess.run(command + [f"--result={out}" for out in outs], capture_output=True, text=True,
                          env={**os.environ, "MX_SIM_SM_COUNT": "2"})
    if refusal:
        if done.returncode == 0 or refusal not in done.stderr or done.stderr.count("expected ") != 1:
            sys.exit(f"{what}: expected to hear {refusal}, found status {done.returncode}\n{done.stderr}")
        return []
    if done.returncode or done.stderr:
        sys.exit(f"{what}: exit status {done.returncode}\n{done.stderr}")
    return [np.load(out) for out in outs]


def quantized(case):
    """The one matrix that is quantized, and the rows of it that count."""
    half = case.columns
    a, b = case.wide[:, :half].astype(np.float32), case.wide[:, half:].astype(np.float32)
    rounded = lambda x: x.astype(FLOATS[case.dtype]).astype(np.float32)
    with np.errstate(all="ignore"):
        x = np.concatenate([rounded(a * b), rounded(b - a), a][: case.count], axis=1)
    if case.kind == "gather":
        x = np.where(case.index[:, None] < 0, np.float32(0), x[np.maximum(case.index, 0)])
    return x


def quantize(case, x):
    return ref.quantize(np.ascontiguousarray(x), case.element, nvfp4_encode=FACTOR if case.nvfp4 else None,
                        square=case.kind == "square")


def expected(case):
    """Elements, scales, and which places of them are defined."""
    x = quantized(case)
    tile = ref.tile if case.layout == "sf_128x4" else lambda scales: scales
    for axis in case.axes:
        if not case.is_ragged():
            elements, scales = quantize(case, x if axis else x.T)
            yield elements, tile(scales), np.s_[:], np.s_[:]
        elif axis:
            elements, scales = quantize(case, x)
            end = case.ends[-1]
            if case.layout == "linear":
                yield elements, scales, np.s_[:end], np.s_[:end]
                continue
            begins = [0, *case.ends[:-1]]
            tiles = [np.arange(b // 128 + g, b // 128 + g + -(-(e - b) // 128))
                     for g, (b, e) in enumerate(zip(begins, case.ends))]
            yield elements, ref.tile_rows(scales, case.ends), np.s_[:end], np.concatenate(tiles).astype(int)
        else:
            starts = ref.group_starts(case.ends)
            width = ref.capacity(case.rows, len(case.ends))
            elements = np.zeros((x.shape[1], width), np.uint8)
            scales = np.zeros((x.shape[1], width // case.block), np.uint8)
            for start, begin, end in zip(starts, [0, *case.ends], case.ends):
                q, s = quantize(case, x[begin:end].T)
                elements[:, start : start + q.shape[1]] = q
                scales[:, start // case.block : start // case.block + s.shape[1]] = s
            # A tile of scales has 128 columns of 32, or 64 of 16.
            end = starts[-1] // (4 * case.block) if case.layout == "sf_128x4" else starts[-1] // case.block
            yield elements, tile(scales), np.s_[:, : starts[-1]], np.s_[:, :end]


def run(case, refusal=""):
    wide = case.wide.view(BITS["bf16"]) if case.dtype == "bf16" else case.wide
    arguments = [wide, np.int64(case.rows), np.int64(case.columns), case.ends, case.index, np.float32(FACTOR)]
    return execute(program(case), arguments, 2 * len(case.axes) + case.amax, case, refusal)


def check(case):
    found = run(case)
    wrong = []
    for k, (elements, scales, defined, defined_scales) in enumerate(expected(case)):
        per_byte = 2 if case.element == "f4E2M1FN" else 1
        if isinstance(defined, tuple):
            defined = defined[0], slice(defined[1].stop // per_byte)
        for what, want, out, places in [("elements", ref.pack(elements, case.element), found[2 * k], defined),
                                        ("scales", scales, found[2 * k + 1], defined_scales)]:
            out = out.view(want.dtype)
            if out.shape != want.shape or np.any(out[places] != want[places]):
                wrong.append(f"axis {case.axes[k]} {what}")
    if case.amax:
        x = quantized(case)[: case.ends[-1] if case.is_ragged() else None]
        bits = int((x.view(np.uint32) & 0x7FFFFFFF).max(initial=0))
        if int(found[-1].view(np.uint32)) != (0x7FFFFFFF if bits > 0x7F800000 else bits):
            wrong.append("amax")
    if wrong:
        print(f"{case}: {', '.join(wrong)} differ")
    return len(wrong)


SEEDED = """
!wide = tensor<160x256xbf16>
!half = tensor<160x128xbf16>
!e = tensor<{0}x{1}xf8E4M3FN>
!s = tensor<{0}x{2}xf8E8M0FNU>
func.func @main(%wide: !wide, %seed: i64) -> (!e, !s, !e, !s) {{
  %e = tensor.empty() : !e
  %s = tensor.empty() : !s
  %one:2 = mx.quantize ins(%wide : !wide) seed(%seed) outs(%e, %s : !e, !s) axes = [{3}] -> !e, !s
  %a_t = tensor.extract_slice %wide[0, 0] [160, 128] [1, 1] : !wide to !half
  %b_t = tensor.extract_slice %wide[0, 128] [160, 128] [1, 1] : !wide to !half
  %two:2 = mx.quantize ins(%a_t, %b_t : !half, !half) seed(%seed) outs(%e, %s : !e, !s) axes = [{3}] concat -> !e, !s
      prologue {{
      ^bb0(%a: bf16, %b: bf16, %row: index, %col: index):
        mx.yield %a, %b : bf16, bf16
      }}
  return %one#0, %one#1, %two#0, %two#1 : !e, !s, !e, !s
}}
"""


def check_seed(rng, axis):
    """The same bits as of one tensor."""
    bits = rng.standard_normal((160, 256)).astype(FLOATS["bf16"]).view(np.uint16)
    text = SEEDED.format(*((160, 256, 8) if axis else (256, 160, 5)), axis)
    found = execute(text, [bits, np.int64(0x2718281828459045)], 4, f"seed, axis {axis}")
    same = np.array_equal(found[0], found[2]) and np.array_equal(found[1], found[3])
    if not same:
        print(f"{target} seed, axis {axis}: other bits than those of one tensor")
    return not same


rng = np.random.default_rng(2026)
cases = [Case(rng) for _ in range(24)]
cases += [Case(rng, nvfp4=True, kind=kind, axes=axes, dtype="bf16") for kind, axes in
          [("plain", [1, 0]), ("ragged", [1, 0]), ("gather", [1])]]
cases += [Case(rng, count=3, dtype="bf16", element="f8E4M3FN", kind=kind, axes=[1, 0]) for kind in ("plain", "ragged")]
failures = sum(check(case) for case in cases) + sum(check_seed(rng, axis) for axis in (1, 0))
if target != "cpu":
    run(Case(rng, kind="plain", columns=96, dynamic=True),
        "expected dimension 1 of input with concat to be a multiple of 128, found 96; the nearest are 0 and 128")
print(f"{failures} arrays of {len(cases)} cases differ")
sys.exit(failures != 0)
