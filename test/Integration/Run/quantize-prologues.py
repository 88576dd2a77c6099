"""Quantizers with prologues and gathered rows: the simulator and the CPU agree.

RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

Along rows, along columns and both. SwiGLU forward and backward with a weight for
each row, a bias for each column, regions that do not map 0 to 0 (padding stays
0), rows in the order of experts with padding; tiles that are not full, and more
of them than CTAs. mx-run itself compares every operation with the CPU path; what
IEEE 754 defines is compared with numpy too.
"""

import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import swiglu

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "..", "CPU")]
import mx_reference as ref
from chips import adapt_quantize_schedule

mx_run, directory, *chips = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
BF16 = ml_dtypes.bfloat16

GATES = ["gate", "up"]
WEIGHTS = "%weights[%row] : !weights"
FORWARD = swiglu.prologue(swiglu.FORWARD, "%y : bf16", WEIGHTS)
BACKWARD = swiglu.prologue(swiglu.BACKWARD, "%x, %du : bf16, f32", WEIGHTS)
BIAS = """
    %b = tensor.extract %bias[%col] : !bias
    %one = arith.constant 1.0 : bf16
    %s = arith.addf %gate, %b : bf16
    %t = arith.addf %s, %one : bf16
    mx.yield %t : bf16"""
WIDE = """
    %x = arith.extf %gate : bf16 to f32
    %y = arith.extf %up : bf16 to f32
    %s = arith.addf %x, %y : f32
    mx.yield %s : f32"""
# Columns of four values, each of which takes room for a whole tile.
FOUR = """
    %sum = arith.addf %gate, %up : bf16
    %difference = arith.subf %gate, %up : bf16
    mx.yield %gate, %up, %sum, %difference : bf16, bf16, bf16, bf16"""
# Tiles that are made in parts.
PARTS = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 128], threads = 128, vector = 32, "
         "stage_rows = 64, stages = 3, ctas = 1, raster = group_m(2), atomic_counter = true>}")

# Bulk copies bring what they are made of.
COPIED = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 128], threads = 128, vector = 32, "
          "stage_rows = 64, stages = 2, raster = group_m(2), atomic_counter = true, input_stages = 3>}")
COPIED_WHOLE = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 256, vector = 32, "
                "input_stages = 1>}")
COPIED_PARTS = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32, "
                "stage_rows = 32, stages = 1, raster = columns, atomic_counter = true, input_stages = 2>}")
PARTS, COPIED, COPIED_WHOLE, COPIED_PARTS = (
    adapt_quantize_schedule(schedule, chips[0]) for schedule in (PARTS, COPIED, COPIED_WHOLE, COPIED_PARTS))


def destination(rows, columns, element, layout="", scale="f8E8M0FNU", block=32, axis=1):
    encoding = f", #mx.scale_layout<{layout}>" if layout else ""
    if axis == 0:
        rows, columns = columns, rows
    return [f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}x{columns // block}x{scale}{encoding}>"]


def cases(rows, columns, gathered):
    """Inputs, other operands, types of results, options, region."""
    yield GATES, "", destination(rows, columns, "f8E4M3FN", "sf_128x4"), "", FORWARD
    yield GATES, "", destination(rows, columns, "f4E2M1FN"), "scale_rounding = floor", FORWARD
    yield (GATES, "global_scale(%scale)",
           destination(rows, columns, "f4E2M1FN", "sf_128x4", "f8E4M3FN", 16), "block_size = 16", FORWARD)
    yield (GATES + ["dh"], "", destination(rows, columns, "f8E5M2", "sf_128x4") +
           destination(rows, columns, "f6E2M3FN"), "", BACKWARD)
    yield ["gate"], "", destination(rows, columns, "f8E4M3FN", "sf_128x4"), "", BIAS
    yield ["gate"], "gather(%index : !index)", destination(gathered, columns, "f8E4M3FN", "sf_128x4"), "", BIAS
    yield ["gate"], "gather(%index : !index)", destination(gathered, columns, "f8E4M3FN"), "", ""


def destinations(axes, *arguments):
    return sum((destination(*arguments, axis=axis) for axis in axes), [])


def tile_cases(rows, columns, gathered):
    """The same through shared memory."""
    gather = "gather(%index : !index)"
    size, taken, nvfp4 = (rows, columns), (gathered, columns), ("f4E2M1FN", "sf_128x4", "f8E4M3FN", 16)
    yield GATES, "", destinations([1, 0], *size, "f8E4M3FN", "sf_128x4"), "axes = [1, 0]", FORWARD
    yield GATES, "", destinations([0], *size, "f4E2M1FN"), "axes = [0] scale_rounding = even", FORWARD
    yield GATES, "global_scale(%scale)", destinations([0, 1], *size, *nvfp4), "axes = [0, 1] block_size = 16", FORWARD
    yield (GATES + ["dh"], "", destinations([1, 0], *size, "f8E5M2", "sf_128x4") +
           destinations([1, 0], *size, "f6E2M3FN"), "axes = [1, 0]", BACKWARD)
    yield GATES, "", destinations([1, 0], *size, "f8E4M3FN", "sf_128x4"), f"axes = [1, 0] {PARTS}", WIDE
    yield ["gate"], "", destinations([1, 0], *size, "f8E4M3FN", "sf_128x4"), "axes = [1, 0]", BIAS
    yield GATES, "", destinations([1, 0], *size, "f8E4M3FN", "sf_128x4"), f"axes = [1, 0] {COPIED}", WIDE
    yield ["gate"], "", destinations([1, 0], *size, "f8E4M3FN", "sf_128x4"), f"axes = [1, 0] {COPIED_WHOLE}", BIAS
    yield (GATES + ["dh"], "", destinations([1, 0], *size, "f8E5M2", "sf_128x4") +
           destinations([1, 0], *size, "f6E2M3FN"), f"axes = [1, 0] {COPIED_PARTS}", BACKWARD)
    yield GATES, "", 4 * destinations([0], *size, "f8E4M3FN", "sf_128x4"), "axes = [0]", FOUR
    yield ["gate"], gather, destinations([1, 0], *taken, "f8E4M3FN", "sf_128x4"), "axes = [1, 0]", BIAS
    yield ["gate"], gather, destinations([0], *taken, "f8E4M3FN", "sf_128x4"), "axes = [0]", ""


def program(cases, rows, columns, gathered):
    t = f"tensor<{rows}x{columns}xbf16>"
    lines, names, results = [], [], []
    for i, (inputs, operands, types, options, region) in enumerate(cases(rows, columns, gathered)):
        empties = [f"%e{i}_{j}" for j in range(len(types))]
        lines += [f"{e} = tensor.empty() : {t_}" for e, t_ in zip(empties, types)]
        if region:
            arguments = ", ".join(f"%{name}: bf16" for name in inputs)
            region = f"prologue {{\n^bb0({arguments}, %row: index, %col: index):{region}\n}}"
        lines.append(f"""%q{i}:{len(types)} = mx.quantize ins({", ".join(f"%{name}_t" for name in inputs)}
            : {", ".join([t] * len(inputs))}) {operands} outs({", ".join(empties)} : {", ".join(types)})
            {options} -> {", ".join(types)} {region}""")
        names += [f"%q{i}#{j}" for j in range(len(types))]
        results += types
    return f"""
!weights = tensor<{rows}xf32>
!bias = tensor<{columns}xbf16>
!index = tensor<{gathered}xi32>
func.func @main(%gate_t: {t}, %up_t: {t}, %dh_t: {t}, %weights: !weights, %bias: !bias,
                %index: !index, %scale: f32) -> ({", ".join(results)}) {{
""" + "\n".join(lines) + f"\nreturn {', '.join(names)} : {', '.join(results)}\n}}\n", len(results)


def make_tensor(rng, rows, columns):
    x = (rng.standard_normal((rows, columns)) * np.exp2(rng.integers(-6, 4, (rows, 1)))).astype(BF16)
    x[:8] = rng.integers(0, 1 << 16, (8, columns)).astype(np.uint16).view(BF16)
    x[8, ::7], x[9, ::5] = np.inf, -0.0
    return x


def run(chip, cases, rows, columns, gathered):
    rng = np.random.default_rng([rows, columns])
    text, count = program(cases, rows, columns, gathered)
    gate, up, dh = (make_tensor(rng, rows, columns) for _ in range(3))
    bias = rng.standard_normal(columns).astype(BF16)
    index = rng.integers(-1, rows, gathered).astype(np.int32)
    index[::9] = -1
    arrays = [gate.view(np.uint16), up.view(np.uint16), dh.view(np.uint16),
              rng.uniform(0, 1, rows).astype(np.float32), bias.view(np.uint16), index, np.float32(3.5)]
    path = lambda name: os.path.join(directory, f"{chip}-{name}")
    with open(path("program.mlir"), "w") as file:
        file.write(text)
    command = [mx_run, path("program.mlir"), "--device=sim", f"--chip={chip}", "--check=cpu"]
    for i, array in enumerate(arrays):
        np.save(path(f"in{i}.npy"), array)
        command.append("--arg=" + path(f"in{i}.npy"))
    command += ["--result=" + path(f"out{i}.npy") for i in range(count)]
    # Few CTAs, which draw numbers for the other tiles.
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MX_SIM_SM_COUNT": "1"})
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
    # Each of the operations was compared, and in every bit.
    assert "no bound" not in done.stdout + done.stderr, done.stdout + done.stderr
    outs = [np.load(path(f"out{i}.npy")) for i in range(count)]
    with np.errstate(all="ignore"):
        biased = ((gate + bias[None]).astype(BF16) + BF16(1)).astype(np.float32)
        taken = np.where(index[:, None] < 0, np.float32(0), biased[np.maximum(index, 0)])
        plain = np.where(index[:, None] < 0, np.float32(0), gate.astype(np.float32)[np.maximum(index, 0)])
        wide = gate.astype(np.float32) + up.astype(np.float32)
    failures, first = 0, 0
    for inputs, operands, types, options, region in cases(rows, columns, gathered):
        x = (taken if region else plain) if operands.startswith("gather") else {BIAS: biased, WIDE: wide}.get(region)
        axes = [1] if "axes" not in options else [int(c) for c in options.split("[")[1].split("]")[0].split(",")]
        for k, axis in enumerate(axes if x is not None else []):
            elements, scales = ref.quantize(x if axis else np.ascontiguousarray(x.T), "f8E4M3FN")
            if "sf_128x4" in types[2 * k + 1]:
                scales = ref.tile(scales)
            for j, (what, expected) in enumerate([("elements", elements), ("scales", scales)]):
                found = outs[first + 2 * k + j]
                wrong = found.shape != expected.shape or np.count_nonzero(found != expected)
                if wrong:
                    failures += 1
                    print(f"{chip} {rows}x{columns} {operands} {options} axis {axis} {what}: {int(wrong)} of "
                          f"{expected.size} differ")
        first += len(types)
    assert first == count
    return failures


failures = sum(run(chip, *size) for chip in chips for size in [
    (cases, 200, 160, 137), (cases, 128, 256, 384), (tile_cases, 160, 288, 352), (tile_cases, 256, 128, 128)])
print(f"{failures} arrays differ")
sys.exit(failures != 0)
