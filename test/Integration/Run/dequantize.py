"""Every bit of mx.dequantize and mx.relayout on the GPU equals numpy's, ml_dtypes' and the CPU path's.

RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

Covers all combinations of codes, scales, element types, result types and scale layouts; NVFP4 with factors whose
results overflow, are subnormal, or are at or near the midpoint of two numbers; rows and columns that do not fill tiles;
garbage in the padding of input layouts; and small and large row groups that end inside tiles.
"""

import mx_reference as ref
import numpy as np
from harness import BITS, Function, Harness

test = Harness("mx_run", "folder", "*chips", seed=5)
rng = test.rng
RESULTS = ["bf16", "f16", "f32"]
LAYOUTS = ["linear", "sf_128x4"]


class Program(Function):
    """Function with many operations, and the expected arrays."""

    def __init__(self):
        super().__init__()
        self.expected = []

    def result(self, name, type_, expected, text):
        self.expected.append((name, expected))
        self.call(text, [type_])

    def run(self, name, chip):
        for found, (what, expected) in zip(test.run(self, chip=chip, check=True), self.expected):
            # Rows outside of all groups are undefined.
            test.expect(f"{chip} {name} {what}", found[:len(expected)], expected)


def scale_argument(program, scales, type_, layout):
    """Adds scales as an argument, and returns their type."""
    shape = "x".join(map(str, scales.shape))
    if layout == "linear":
        t = f"tensor<{shape}x{type_}>"
        return program.argument(t, scales), t
    t = f"tensor<{shape}x{type_}, #mx.scale_layout<sf_128x4>>"
    return program.argument(t, ref.tile(scales, slack=0xA5)), t


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
                f"mx.dequantize ins({q}, {s} : {te}, {ts}) OUTS")
        with np.errstate(invalid="ignore"):
            saturated = ref.encode(np.clip(exact, -1e9, 1e9), "f8E4M3FN")
        program.result(f"{element} {layout} f8E4M3FN", f"tensor<{rows}x{columns}xf8E4M3FN>", saturated,
                       f"mx.dequantize ins({q}, {s} : {te}, {ts}) OUTS")


def decode_factors():
    """Yields difficult factors with their result type: 1 + 2^-8 is the midpoint of two bf16 values, and 1 + 2^-11 is
    the midpoint of two f16 values."""
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
                f"mx.dequantize ins({q}, {s} : {te}, {ts}) {factor}OUTS "
                "block_size = 16")


def add_relayout(program, shape, type_):
    """Adds the relayout of a matrix, or of a batch with separate tiles for each matrix."""
    scales = rng.integers(0, 256, shape).astype(np.uint8)
    linear, tl = scale_argument(program, scales, type_, "linear")
    tiles, tt = scale_argument(program, scales, type_, "sf_128x4")
    name = f"relayout {shape} {type_}"
    program.result(f"{name} to tiles", tt, ref.tile(scales),
                   f"mx.relayout ins({linear} : {tl}) OUTS")
    program.result(f"{name} from tiles", tl, scales,
                   f"mx.relayout ins({tiles} : {tt}) OUTS")


def add_groups(program, sizes, columns, spare=0):
    """Adds row groups: groups smaller than a tile, and rows outside of all groups."""
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
                       f"offsets({offsets} : {to}) OUTS")


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

for chip in test.chips:
    for name, program in programs.items():
        program.run(name, chip)
test.finish(least=3500000 * len(test.chips))
