"""In every byte that the layout defines, quantizers of ragged rows equal numpy, ml_dtypes and the CPU path.

RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy
TIER: slow

The input is quantized along both axes, with one read or two. Results along rows keep the order of the rows and use
separate scale tiles for each group. Results along columns become a ragged reduction. Groups are of any size, many of
them are empty, and some cases contain more groups than a warp has lanes, or rows after the last group. Some runs repeat
a case with gathered rows and a prologue, with fewer expected rows, or with tiles loaded in parts, the last of them
possibly without a row of any group. If the ends are invalid, results are unspecified, but the simulator must report no
access outside of the tensors.
"""

import os

import mx_reference as ref
import numpy as np
import quantize_inputs as inputs
from harness import BITS, FLOATS, Blocks, Function, Harness

test = Harness("mx_run", "folder", "chip", seed=29)
COLUMNS = 160
SIZES = {
    "edges": [0, 1, 31, 32, 33, 127, 128, 129, 0, 64],
    "hot": [0, 0, 300, 0],
    "one": [257],
    "many": [0] * 33 + [5] + [0] * 34 + [130, 1] + [7] * 30,
    "none": [0, 0],
    "no rows": [0, 0, 0],
    "long": [300, 0, 390],
}
BEHIND = {"edges": 37, "none": 150}  # rows after the last expert group
# Groups, input type, offset type, axes, element type, scale layout, and NVFP4 factor.
CASES = [
    ("edges", "bf16", "i32", [1, 0], "f8E4M3FN", "sf_128x4", None),
    ("edges", "bf16", "i64", [0], "f8E5M2", "sf_128x4", None),
    ("edges", "f32", "i32", [1], "f8E4M3FN", "sf_128x4", None),
    ("edges", "f16", "i32", [0, 1], "f4E2M1FN", "linear", None),
    ("edges", "bf16", "i32", [1, 0], "f4E2M1FN", "sf_128x4", 37.5),
    ("edges", "f32", "i64", [1, 0], "f6E3M2FN", "linear", None),
    ("hot", "bf16", "i32", [1, 0], "f6E2M3FN", "sf_128x4", None),
    ("one", "f16", "i32", [1, 0], "i8", "sf_128x4", None),
    ("many", "bf16", "i32", [1, 0], "f8E4M3FN", "sf_128x4", None),
    ("many", "bf16", "i32", [0], "f4E2M1FN", "linear", 2.5),
    ("none", "bf16", "i32", [1, 0], "f8E4M3FN", "sf_128x4", None),
    ("no rows", "bf16", "i64", [0, 1], "f8E4M3FN", "linear", None),
    ("many", "f16", "i64", [1], "f4E2M1FN", "sf_128x4", 3.0),
    ("long", "bf16", "i32", [1, 0], "f8E4M3FN", "sf_128x4", None),
]
PRODUCED = [0, 3, 5, 9, 12, 13]  # indices of cases with gathered rows and a prologue
SEEDED = [7, 8]
PARTS = {0: 32, 2: 64, 3: 32, 4: 32, 7: 64}  # number of rows per part, keyed by case
# Cases with more tiles of rows than FEW_ROWS allows in the first launch.
BEYOND = [7, 13]
REQUESTED = [0, 1, 8]  # cases with `if_any`
FEW_ROWS = "{mxgpu.expected_rows = 1 : i64}"
SEED = 0x2718281828459045
REGION = """prologue {{
^bb0(%a: {0}, %row: index, %col: index):
  %one = arith.constant 1.0 : {0}
  %b = arith.addf %a, %a : {0}
  %c = arith.addf %b, %one : {0}
  mx.yield %c : {0}
}}"""


def destinations(case, ends):
    _, _, _, axes, element, layout, factor = case
    return [Blocks(element, axis, layout, encode=factor, groups=len(ends)) for axis in axes]


def in_parts(rows):
    return ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], "
            f"threads = {2 * rows}, vector = 32, stage_rows = {rows}, raster = columns>}}")


def run(case, array, ends, rows=None, seeded=False, schedule="", device="sim", words=None):
    """Runs a case. If `rows` is given, a prologue gathers these rows. If `words` is given, these are the operand of
    `if_any`."""
    _, dtype, index, axes, _, _, factor = case
    total, outs, f = len(array), destinations(case, ends), Function()
    x, o, n = f"tensor<{total}x{COLUMNS}x{dtype}>", f"tensor<{len(ends)}x{index}>", f"tensor<{total}xi32>"
    for name, type_, value in [
            ("x", x, array), ("o", o, ends.astype(index.replace("i", "int"))), ("g", "f32", np.float32(factor or 1)),
            ("n", n, np.zeros(total, np.int32) if rows is None else rows), ("seed", "i64", np.int64(SEED)),
            ("w", "tensor<3xi32>", np.zeros(3, np.int32) if words is None else words)]:
        f.argument(type_, value, name)
    f.call(f"mx.fused_quantize ragged = rows ins(%x : {x}) {'global_scale(%g)' if factor else ''} {'seed(%seed)' * seeded} "
           f"{'' if rows is None else f'gather(%n : {n})'} offsets(%o : {o}) "
           f"{'' if words is None else 'if_any(%w : tensor<3xi32>)'} OUTS axes = {axes} "
           f"block_size = {outs[0].block} {schedule}", sum((out.types(total, COLUMNS) for out in outs), []),
           "" if rows is None else REGION.format(dtype))
    return test.run(f, device=device, chip=test.chip, quiet=True)


def compare(name, case, array, x, ends, rows=None, seeded=False, schedule="", words=None):
    """Compares results. Stochastically rounded elements are compared with the CPU path
    (tested in test/Integration/CPU/stochastic.py)."""
    sim = run(case, array, ends, rows, seeded, schedule, words=words)
    cpu = run(case, array, ends, rows, seeded, device="cpu")
    parts = sum((out.expected(x, ends) for out in destinations(case, ends)), ())
    for i, (expected, part) in enumerate(parts):
        for device, found in [("sim", sim[i]), ("cpu", cpu[i])]:
            test.expect(f"{name}: {case}, result {i} on {device}", found, cpu[i] if seeded and i % 2 == 0 else expected,
                        part)


def compare_beyond(name, *case):
    """Compares a case with fewer expected rows. A multiprocessor quantizes all other rows."""
    os.environ["MX_SIM_SM_COUNT"] = "1"
    compare(f"{name} beyond the expected rows", *case, schedule=FEW_ROWS)
    del os.environ["MX_SIM_SM_COUNT"]


BAD_ENDS = ([200, 100, 150, 300], [-5, 40, 7, 130], [5000, 10, 290, 2**31 - 1],
            [3, 1, 299, 300])


def run_with_bad_ends(number, schedule="", seed=31):
    case, total = CASES[number], 300
    bits = np.random.default_rng(seed).integers(0, 2**8, (total, COLUMNS)).astype(BITS[case[1]])
    for ends in BAD_ENDS:
        for rows in (None, np.arange(total, dtype=np.int32)):
            run(case, bits.view(FLOATS[case[1]]), np.array(ends), rows, schedule=schedule)


rng = test.rng
for number, case in enumerate(CASES):
    sizes, dtype = case[0], case[1]
    ends = np.cumsum(SIZES[sizes])
    total = int(ends[-1]) + BEHIND.get(sizes, 0)
    codes = rng.integers(0, 2**(8 * BITS[dtype]().itemsize), total * COLUMNS // 32, dtype=BITS[dtype])
    blocks = inputs.blocks_of(rng, codes, dtype)
    blocks[::7] = inputs.special(dtype)[rng.integers(0, 39, len(blocks[::7]))]
    bits = np.ascontiguousarray(blocks.reshape(COLUMNS, total).T if number % 2 else blocks.reshape(total, COLUMNS))
    schedule = in_parts(PARTS[number]) if number in PARTS else ""
    with np.errstate(all="ignore"):
        given = bits.view(FLOATS[dtype])
        x = given.astype(np.float32)
        compare(number, case, given, x, ends)
        if number in SEEDED:
            compare(f"{number} seeded", case, given, x, ends, seeded=True)
        if schedule:
            compare(f"{number} in parts", case, given, x, ends, schedule=schedule)
        if number in BEYOND:
            compare_beyond(number, case, given, x, ends)
        if number in REQUESTED:
            compare(f"{number} if any", case, given, x, ends, words=np.int32([0, 0, 1 << number]))
            run(case, given, ends, words=np.zeros(3, np.int32))  # not needed
        if number not in PRODUCED:
            continue
        rows = rng.integers(-1, total, total).astype(np.int32)
        taken = ref.gather((given + given + given.dtype.type(1)).astype(np.float32), rows)
        compare(f"{number} produced", case, given, taken, ends, rows)
        if schedule:
            compare(f"{number} produced in parts", case, given, taken, ends, rows, schedule=schedule)
        if number in BEYOND:
            compare_beyond(f"{number} produced", case, given, taken, ends, rows)
os.environ["MX_SIM_CHECKS"] = "none"  # overlapping groups cause races
for number in [0, 1, 3]:
    run_with_bad_ends(number)
run_with_bad_ends(0, FEW_ROWS)
test.finish(least=1000000)
