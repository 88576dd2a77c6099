"""Quantizers of ragged rows equal numpy, ml_dtypes and the CPU path in every
byte that the layout defines.

RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy
TIER: slow

Along both axes, from one read or alone: rows stay where they are and have tiles
of scales for each group; columns become a ragged reduction. Groups of any size,
many of them empty, more than a warp has lanes; rows behind the last expert group. Some
of them a second time, of rows that are gathered and computed by a prologue, or
with tiles that are loaded in parts, the last of which may have no row of a group.
Ends that cannot be give no particular result, but nothing outside of the tensors
is read or written: the simulator would say so.
"""

import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "..", "CPU"), os.path.join(here, "Inputs")]
import mx_reference as ref
import quantize_inputs as inputs
from cpu_path import BITS, FLOATS

mx_run, directory, chip = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
COLUMNS = 160
SIZES = {
    "edges": [0, 1, 31, 32, 33, 127, 128, 129, 0, 64],
    "hot": [0, 0, 300, 0],
    "one": [257],
    "many": [0] * 33 + [5] + [0] * 34 + [130, 1] + [7] * 30,
    "none": [0, 0],
    "no rows": [0, 0, 0],
}
BEHIND = {"edges": 37, "none": 150}  # rows of no expert group
# Groups, input, type of the offsets, axes, element type, layout, NVFP4's factor
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
]
PRODUCED = [0, 3, 5, 9, 12]  # numbers of cases
SEEDED = [7, 8]
PARTS = {0: 32, 2: 64, 3: 32, 4: 32, 7: 64}  # rows of a part
SEED = 0x2718281828459045
REGION = """prologue {{
^bb0(%a: {0}, %row: index, %col: index):
  %one = arith.constant 1.0 : {0}
  %b = arith.addf %a, %a : {0}
  %c = arith.addf %b, %one : {0}
  mx.yield %c : {0}
}}"""


def types(case, axis, total, groups):
    _, _, _, _, element, layout, factor = case
    block, scale = (32, "f8E8M0FNU") if factor is None else (16, "f8E4M3FN")
    kind = "rows" if axis else "reduction"
    rows, columns = ((total, COLUMNS) if axis else
                     (COLUMNS, ref.capacity(total, groups)))
    mark = "" if axis else f", #mx.ragged<groups = {groups}, align = 128>"
    return [f"tensor<{rows}x{columns}x{element}{mark}>",
            f"tensor<{rows}x{columns // block}x{scale}, #mx.scale_layout<"
            f"{layout}, ragged = {kind}, groups = {groups}>>"]


def in_parts(rows):
    return ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], "
            f"threads = {2 * rows}, vector = 32, stage_rows = {rows}, raster = columns>}}")


def program(case, total, groups, produced, seeded, schedule):
    _, dtype, index, axes, _, _, factor = case
    x, o = f"tensor<{total}x{COLUMNS}x{dtype}>", f"tensor<{groups}x{index}>"
    outs = sum((types(case, axis, total, groups) for axis in axes), [])
    empty = [f"%e{k}" for k in range(len(outs))]
    lines = [f"{e} = tensor.empty() : {t}" for e, t in zip(empty, outs)]
    scale = "" if factor is None else "global_scale(%g) "
    block = 32 if factor is None else 16
    n = f"tensor<{total}xi32>"
    gather = f"gather(%n : {n}) " if produced else ""
    region = REGION.format(dtype) if produced else ""
    seed = "seed(%seed) " if seeded else ""
    results = ", ".join(outs)
    names = ", ".join(f"%q#{k}" for k in range(len(outs)))
    return (f"func.func @main(%x: {x}, %o: {o}, %g: f32, %n: {n}, "
            f"%seed: i64) -> ({results}) {{\n"
            + "\n".join(lines) +
            f"\n%q:{len(outs)} = mx.quantize ragged = rows ins(%x : {x}) "
            f"{scale}{seed}{gather}offsets(%o : {o}) outs({', '.join(empty)} : {results}) "
            f"axes = {axes} block_size = {block} {schedule} -> {results} {region}\n"
            f"return {names} : {results}\n}}\n")


def run(name, case, bits, ends, rows, seeded, device, schedule=""):
    """`rows` are those that are gathered for a prologue, or None."""
    path = lambda what: os.path.join(directory, f"{chip}-{name}-{what}")
    with open(path("program.mlir"), "w") as f:
        f.write(program(case, len(bits), len(ends), rows is not None, seeded, schedule))
    dtype, index, factor = case[1], case[2], case[6]
    np.save(path("x.npy"), bits if dtype == "bf16" else bits.view(FLOATS[dtype]))
    np.save(path("o.npy"), ends.astype({"i32": np.int32, "i64": np.int64}[index]))
    np.save(path("g.npy"), np.float32(factor or 1))
    np.save(path("n.npy"), np.zeros(len(bits), np.int32) if rows is None else rows)
    np.save(path("s.npy"), np.int64(SEED))
    outs = [path(f"out{i}-{device}.npy") for i in range(2 * len(case[3]))]
    command = [mx_run, path("program.mlir"), f"--device={device}",
               f"--chip={chip}"]
    command += ["--arg=" + path(f"{a}.npy") for a in "xogns"]
    done = subprocess.run(command + [f"--result={o}" for o in outs],
                          capture_output=True, text=True)
    if done.returncode or done.stderr:
        sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n"
                 f"{done.stdout}{done.stderr}")
    return [np.load(o) for o in outs]


def reduction(case, x, ends, groups):
    """Transposed elements and scales, and how many columns are defined."""
    _, _, _, _, element, _, factor = case
    block, cap = (32 if factor is None else 16), ref.capacity(len(x), groups)
    elements = np.zeros((COLUMNS, cap), np.uint8)
    scales = np.zeros((COLUMNS, cap // block), np.uint8)
    begin, starts = 0, ref.group_starts(ends)
    for start, end in zip(starts, ends):
        q, s = ref.quantize(np.ascontiguousarray(x[begin:end].T), element,
                            nvfp4_encode=factor)
        elements[:, start:start + q.shape[1]] = q
        scales[:, start // block:start // block + s.shape[1]] = s
        begin = end
    return elements, scales, starts[-1]


def defined_tiles(ends, total):
    """The tiles of rows that groups have."""
    begins = np.concatenate([[0], ends[:-1]])
    return np.concatenate([
        np.arange(b // 128 + g, b // 128 + g + -(-(e - b) // 128), dtype=int)
        for g, (b, e) in enumerate(zip(begins, ends))])


def expected(case, x, ends):
    """Each array, and which part of it is defined."""
    _, _, _, axes, element, layout, factor = case
    block = 32 if factor is None else 16
    for axis in axes:
        if axis:
            elements, scales = ref.quantize(x, element, nvfp4_encode=factor)
            last = slice(0, ends[-1])
            yield ref.pack(elements, element), last
            if layout == "linear":
                yield scales, last
            else:
                yield ref.tile_rows(scales, ends), defined_tiles(ends, len(x))
            continue
        elements, scales, end = reduction(case, x, ends, len(ends))
        packed = 2 if element == "f4E2M1FN" else 1
        yield ref.pack(elements, element), (slice(None), slice(0, end // packed))
        if layout == "linear":
            yield scales, (slice(None), slice(0, end // block))
        else:
            yield ref.tile(scales), (slice(None), slice(0, end // block // 4))


def compare(name, case, bits, x, ends, rows=None, seeded=False, schedule=""):
    """Counts compared bytes and arrays that differ. Random elements are those
    of the CPU path (test/Integration/CPU/stochastic.py)."""
    compared = failures = 0
    sim = run(name, case, bits, ends, rows, seeded, "sim", schedule)
    cpu = run(name, case, bits, ends, rows, seeded, "cpu")
    for i, (array, part) in enumerate(expected(case, x, ends)):
        if seeded and i % 2 == 0:
            array = cpu[i]
        for device, found in [("sim", sim[i]), ("cpu", cpu[i])]:
            compared += array[part].size
            unequal = inputs.difference(found[part], array[part])
            if unequal:
                failures += 1
                print(f"{name}: {case}, result {i} on {device}: {unequal}")
    return np.array([compared, failures])


BAD_ENDS = ([200, 100, 150, 300], [-5, 40, 7, 130], [5000, 10, 290, 2**31 - 1],
            [3, 1, 299, 300])


def run_with_bad_ends(number, seed=31):
    case, total = CASES[number], 300
    bits = np.random.default_rng(seed).integers(
        0, 2**8, (total, COLUMNS)).astype(BITS[case[1]])
    rows = np.arange(total, dtype=np.int32)
    for i, ends in enumerate(BAD_ENDS):
        for produced in (None, rows):
            run(f"bad-{number}-{i}", case, bits, np.array(ends), produced,
                False, "sim")


results = np.zeros(2, int)
rng = np.random.default_rng(29)
for number, case in enumerate(CASES):
    sizes, dtype = case[0], case[1]
    ends = np.cumsum(SIZES[sizes])
    total = int(ends[-1]) + BEHIND.get(sizes, 0)
    codes = rng.integers(0, 2**(8 * BITS[dtype]().itemsize), total * COLUMNS // 32,
                         dtype=BITS[dtype])
    blocks = inputs.blocks_of(rng, codes, dtype)
    blocks[::7] = inputs.special(dtype)[rng.integers(0, 39, len(blocks[::7]))]
    bits = np.ascontiguousarray(
        blocks.reshape(COLUMNS, total).T if number % 2 else
        blocks.reshape(total, COLUMNS))
    with np.errstate(all="ignore"):
        given = bits.view(FLOATS[dtype])
        x = given.astype(np.float32)
        results += compare(str(number), case, bits, x, ends)
        if number in SEEDED:
            results += compare(f"{number}-seeded", case, bits, x, ends,
                               seeded=True)
        schedule = in_parts(PARTS[number]) if number in PARTS else ""
        if schedule:
            results += compare(f"{number}-parts", case, bits, x, ends, schedule=schedule)
        if number not in PRODUCED:
            continue
        rows = rng.integers(-1, total, total).astype(np.int32)
        made = (given + given + given.dtype.type(1)).astype(np.float32)
        taken = np.where(rows[:, None] < 0, np.float32(0), made[np.maximum(rows, 0)])
        results += compare(f"{number}-produced", case, bits, taken, ends, rows)
        if schedule:
            results += compare(f"{number}-produced-parts", case, bits, taken, ends, rows, schedule=schedule)
os.environ["MX_SIM_CHECKS"] = "none"  # groups that overlap race, of course
for number in [0, 1, 3]:
    run_with_bad_ends(number)
compared, failures = map(int, results)
print(f"{chip}: {compared} bytes compared, {failures} failures")
sys.exit(failures != 0 or compared < 1000000)
