"""mx.dequantize and mx.relayout on the GPU equal numpy, ml_dtypes and the CPU
path in every bit.

RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

Every code with every scale, of every element type, to every result type, in both
layouts; NVFP4 with factors whose products fall on, beside and near the middle
of two results, or overflow, or are subnormal. Rows and columns that do not fill
tiles; garbage in the slack of layouts that are read. Groups of rows, small and
large, with ends that fill no tile.
"""

import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "Inputs"), os.path.join(here, "..", "CPU")]
import mx_reference as ref
import quantize_inputs as inputs
from cpu_path import BITS

mx_run, directory, *chips = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
RESULTS = ["bf16", "f16", "f32"]
LAYOUTS = ["linear", "sf_128x4"]
rng = np.random.default_rng(5)


class Program:
    """One function of many operations: arguments, and what they give."""

    def __init__(self):
        self.arguments, self.body, self.results = [], [], []

    def argument(self, type_, array):
        self.arguments.append((type_, array))
        return f"%a{len(self.arguments) - 1}"

    def result(self, name, type_, expected, text):
        """`text` is an operation up to its destination's type."""
        i = len(self.results)
        self.body += [f"%e{i} = tensor.empty() : {type_}",
                      f"%r{i} = {text.format(out=f'outs(%e{i} : {type_})')} "
                      f"-> {type_}"]
        self.results.append((name, type_, expected))

    def text(self):
        types = ", ".join(type_ for _, type_, _ in self.results)
        names = ", ".join(f"%r{i}" for i in range(len(self.results)))
        arguments = ", ".join(
            f"%a{i}: {type_}" for i, (type_, _) in enumerate(self.arguments))
        lines = "\n  ".join(self.body)
        return (f"func.func @main({arguments}) -> ({types}) {{\n  {lines}\n"
                f"  return {names} : {types}\n}}\n")

    def run(self, name, chip):
        """The number of arrays that differ."""
        path = lambda file: os.path.join(directory, f"{name}-{chip}-{file}")
        with open(path("program.mlir"), "w") as f:
            f.write(self.text())
        command = [mx_run, path("program.mlir"), "--device=sim", "--check=cpu",
                   f"--chip={chip}"]
        for i, (_, array) in enumerate(self.arguments):
            np.save(path(f"in{i}.npy"), array)
            command.append("--arg=" + path(f"in{i}.npy"))
        outs = [path(f"out{i}.npy") for i in range(len(self.results))]
        done = subprocess.run(command + [f"--result={o}" for o in outs],
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n"
                     f"{done.stdout[-4000:]}{done.stderr[-4000:]}")
        wrong = 0
        for out, (what, _, expected) in zip(outs, self.results):
            # Rows of no expert group are nobody's.
            if text := inputs.difference(np.load(out)[:len(expected)], expected):
                print(f"{chip} {what}: {text}")
                wrong += 1
        return wrong


def scale_argument(program, scales, type_, layout):
    """Scales as an argument, and their type."""
    *batch, rows, blocks = scales.shape
    shape = "x".join(map(str, scales.shape))
    if layout == "linear":
        t = f"tensor<{shape}x{type_}>"
        return program.argument(t, scales), t
    slack = np.full((*batch, -(-rows // 128) * 128, -(-blocks // 4) * 4), 0xA5, np.uint8)
    slack[..., :rows, :blocks] = scales
    t = f"tensor<{shape}x{type_}, #mx.scale_layout<sf_128x4>>"
    return program.argument(t, ref.tile(slack)), t


def add_dequantize(program, element):
    rows, columns = 300, 288
    width = 8 if element == "i8" else int(element[1])
    codes = np.arange(columns, dtype=np.int64) & (2**width - 1)
    elements = np.tile(codes.astype(np.uint8), (rows, 1))
    scales = np.repeat((np.arange(rows) % 256).astype(np.uint8)[:, None],
                       columns // 32, 1)
    te = f"tensor<{rows}x{columns}x{element}>"
    q = program.argument(te, ref.pack(elements, element))
    exact = ref.real(elements, scales, element)
    for layout in LAYOUTS:
        s, ts = scale_argument(program, scales, "f8E8M0FNU", layout)
        for out in RESULTS:
            program.result(
                f"{element} {layout} {out}", f"tensor<{rows}x{columns}x{out}>",
                ref.round_to(exact, out).astype(BITS[out]),
                f"mx.dequantize ins({q}, {s} : {te}, {ts}) {{out}}")


def decode_factors():
    """Factors, and the results for which they are hard: 1 + 2^-8 is the middle
    of two bf16, 1 + 2^-11 of two f16."""
    yield from [(None, RESULTS), (1.0, RESULTS)]
    for middle, out in [(8, "bf16"), (9, "bf16"), (11, "f16"), (12, "f16")]:
        for ulps in (-1, 0, 1):
            yield 1 + 2.0**-middle + ulps * 2.0**-23, [out]
    for significand in rng.integers(2**23, 2**24, 3):
        yield significand * 2.0**-23, RESULTS
    for extreme in [-3e35, 1e-30, 3e-42, 1e-38, np.inf, np.nan]:
        yield extreme, ["bf16", "f32"]
    for extreme in [0.0, -40.0, 3e-9]:
        yield extreme, ["f16"]


def add_nvfp4(program):
    rows, columns = 256, 48
    elements = np.tile(np.arange(columns, dtype=np.uint8) % 16, (rows, 1))
    scales = np.repeat(np.arange(rows, dtype=np.uint8)[:, None], columns // 16,
                       1)
    te = f"tensor<{rows}x{columns}xf4E2M1FN>"
    q = program.argument(te, ref.pack(elements, "f4E2M1FN"))
    exact = ref.real(elements, scales, "f4E2M1FN", nvfp4=True)
    sides = [scale_argument(program, scales, "f8E4M3FN", l) for l in LAYOUTS]
    for i, (decode, outs) in enumerate(decode_factors()):
        factor, product = "", exact
        if decode is not None:
            g = program.argument("f32", np.float32(decode))
            factor = f"global_scale({g}) "
            with np.errstate(all="ignore"):
                product = exact * np.float64(np.float32(decode))
        s, ts = sides[i % 2]
        for out in outs:
            program.result(
                f"nvfp4 {decode} {out}", f"tensor<{rows}x{columns}x{out}>",
                ref.round_to(product, out).astype(BITS[out]),
                f"mx.dequantize ins({q}, {s} : {te}, {ts}) {factor}{{out}} "
                "block_size = 16")


def add_relayout(program, shape, type_):
    """Of a matrix, or of a batch, of which each matrix has tiles of its own."""
    scales = rng.integers(0, 256, shape).astype(np.uint8)
    linear, tl = scale_argument(program, scales, type_, "linear")
    tiles, tt = scale_argument(program, scales, type_, "sf_128x4")
    name = f"relayout {shape} {type_}"
    program.result(f"{name} to tiles", tt, ref.tile(scales),
                   f"mx.relayout ins({linear} : {tl}) {{out}}")
    program.result(f"{name} from tiles", tl, scales,
                   f"mx.relayout ins({tiles} : {tt}) {{out}}")


def add_groups(program, sizes, columns, spare=0):
    """Rows of groups, of which small ones have wide tiles, and some of none."""
    ends = np.cumsum(sizes).astype(np.int32)
    used = int(ends[-1])
    rows = used + spare
    elements = rng.integers(0, 256, (rows, columns)).astype(np.uint8)
    scales = rng.integers(0, 256, (rows, columns // 32)).astype(np.uint8)
    te = f"tensor<{rows}x{columns}xf8E4M3FN>"
    ts = (f"tensor<{rows}x{columns // 32}xf8E8M0FNU, #mx.scale_layout<sf_128x4, "
          f"ragged = rows, groups = {len(sizes)}>>")
    to = f"tensor<{len(sizes)}xi32>"
    tiles = np.full((rows // 128 + len(sizes), -(-columns // 128), 32, 4, 4), 0xA5, np.uint8)
    made = ref.tile_rows(scales[:used], ends)
    tiles[:len(made)] = made
    q, s = program.argument(te, elements), program.argument(ts, tiles)
    offsets = program.argument(to, ends)
    exact = ref.real(elements, scales, "f8E4M3FN")
    for out in RESULTS:
        program.result(f"groups {sizes} {columns} {out}", f"tensor<{rows}x{columns}x{out}>",
                       ref.round_to(exact[:used], out).astype(BITS[out]),
                       f"mx.dequantize ragged = rows ins({q}, {s} : {te}, {ts}) "
                       f"offsets({offsets} : {to}) {{out}}")


programs = {}
programs["groups"] = Program()
for sizes, columns in [([3, 0, 45, 31, 64, 1], 1120), ([128, 7, 33], 96), ([200, 150, 300], 544)]:
    add_groups(programs["groups"], sizes, columns)
add_groups(programs["groups"], [20, 16], 1120, spare=140)
for element in ref.ELEMENTS:
    programs[element] = Program()
    add_dequantize(programs[element], element)
programs["nvfp4"] = Program()
add_nvfp4(programs["nvfp4"])
programs["relayout"] = Program()
for shape in [(300, 9), (128, 4), (1, 1), (257, 40), (33, 130),
              (3, 130, 9), (4, 128, 8), (1, 200, 4), (2, 3, 33, 40), (5, 1, 1)]:
    for type_ in ["f8E8M0FNU", "f8E4M3FN"]:
        add_relayout(programs["relayout"], shape, type_)

failures = sum(program.run(name, chip) for name, program in programs.items()
               for chip in chips)
compared = len(chips) * sum(expected.size for program in programs.values()
                            for _, _, expected in program.results)
print(f"{compared} values compared, {failures} arrays differ")
sys.exit(failures != 0 or compared < 3500000 * len(chips))
