"""Quantizers with prologues and gathered rows return the same results on the simulator and on the CPU.

RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

Covers quantizers along rows, along columns and both; SwiGLU forward and backward, with a weight for each row and a bias
for each column; regions that do not map 0 to 0 (padding must stay 0); rows in the order of experts, with padding; and
partial tiles, and more tiles than CTAs. mx-run compares every operation with the CPU path. Results that IEEE 754
defines are also compared with numpy.
"""

import mx_reference as ref
import numpy as np
import swiglu
from chips import adapt_quantize_schedule
from harness import BF16, Blocks, Function, Harness

test = Harness("mx_run", "folder", "*chips")
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
# A region with four results, each as wide as a whole tile.
FOUR = """
    %sum = arith.addf %gate, %up : bf16
    %difference = arith.subf %gate, %up : bf16
    mx.yield %gate, %up, %sum, %difference : bf16, bf16, bf16, bf16"""
# A schedule for tiles computed in parts.
PARTS = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 128], threads = 128, vector = 32, "
         "stage_rows = 64, stages = 3, ctas = 1, raster = group_m(2), atomic_counter = true>}")

# Schedules with bulk copies of the inputs.
COPIED = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 128], threads = 128, vector = 32, "
          "stage_rows = 64, stages = 2, raster = group_m(2), atomic_counter = true, input_stages = 3>}")
COPIED_WHOLE = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 256, vector = 32, "
                "input_stages = 1>}")
COPIED_PARTS = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [128, 128], threads = 128, vector = 32, "
                "stage_rows = 32, stages = 1, raster = columns, atomic_counter = true, input_stages = 2>}")
PARTS, COPIED, COPIED_WHOLE, COPIED_PARTS = (
    adapt_quantize_schedule(schedule, test.chips[0]) for schedule in (PARTS, COPIED, COPIED_WHOLE, COPIED_PARTS))


def destination(rows, columns, element, layout="linear", encode=None, axis=1):
    return Blocks(element, axis, layout, encode=encode).types(rows, columns)


def cases(rows, columns, gathered):
    """Yields inputs, other operands, result types, options and region of quantizers along rows."""
    yield GATES, "", destination(rows, columns, "f8E4M3FN", "sf_128x4"), "", FORWARD
    yield GATES, "", destination(rows, columns, "f4E2M1FN"), "scale_rounding = floor", FORWARD
    yield (GATES, "global_scale(%scale)", destination(rows, columns, "f4E2M1FN", "sf_128x4", 3.5), "block_size = 16",
           FORWARD)
    yield (GATES + ["dh"], "", destination(rows, columns, "f8E5M2", "sf_128x4") +
           destination(rows, columns, "f6E2M3FN"), "", BACKWARD)
    yield ["gate"], "", destination(rows, columns, "f8E4M3FN", "sf_128x4"), "", BIAS
    yield ["gate"], "gather(%index : !index)", destination(gathered, columns, "f8E4M3FN", "sf_128x4"), "", BIAS
    yield ["gate"], "gather(%index : !index)", destination(gathered, columns, "f8E4M3FN"), "", ""


def destinations(axes, *arguments):
    return sum((destination(*arguments, axis=axis) for axis in axes), [])


def tile_cases(rows, columns, gathered):
    """Yields the same for quantizers through shared memory."""
    gather = "gather(%index : !index)"
    size, taken, nvfp4 = (rows, columns), (gathered, columns), ("f4E2M1FN", "sf_128x4", 3.5)
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


def program(cases, arrays):
    (rows, columns), gathered = arrays["gate_t"].shape, len(arrays["index"])
    t, f = f"tensor<{rows}x{columns}xbf16>", Function()
    types = {"weights": f"tensor<{rows}xf32>", "bias": f"tensor<{columns}xbf16>", "index": f"tensor<{gathered}xi32>"}
    f.types += [f"!{name} = {type_}" for name, type_ in types.items()]
    for name, array in arrays.items():
        f.argument(t if name.endswith("_t") else f"!{name}" if name in types else "f32", array, name)
    for inputs, operands, outs, options, region in cases(rows, columns, gathered):
        arguments = ", ".join(f"%{name}: bf16" for name in inputs)
        f.call(f"mx.fused_quantize ins({', '.join(f'%{name}_t' for name in inputs)} : {', '.join([t] * len(inputs))}) "
               f"{operands} OUTS {options}", outs,
               f"prologue {{\n^bb0({arguments}, %row: index, %col: index):{region}\n}}" if region else "")
    return f


def make_tensor(rng, rows, columns):
    x = (rng.standard_normal((rows, columns)) * np.exp2(rng.integers(-6, 4, (rows, 1)))).astype(BF16)
    x[:8] = rng.integers(0, 1 << 16, (8, columns)).astype(np.uint16).view(BF16)
    x[8, ::7], x[9, ::5] = np.inf, -0.0
    return x


def run(chip, cases, rows, columns, gathered):
    rng = np.random.default_rng([rows, columns])
    gate, up, dh = (make_tensor(rng, rows, columns) for _ in range(3))
    bias = rng.standard_normal(columns).astype(BF16)
    index = rng.integers(-1, rows, gathered).astype(np.int32)
    index[::9] = -1
    f = program(cases, {"gate_t": gate, "up_t": up, "dh_t": dh, "weights": rng.uniform(0, 1, rows).astype(np.float32),
                        "bias": bias, "index": index, "scale": np.float32(3.5)})
    # A single SM executes few CTAs; these draw the remaining tile numbers.
    done, outs = test.call(f.text(), f.arrays, len(f.results), chip=chip, check=True, sms=1)
    # mx-run must have compared every operation in every bit.
    assert "no bound" not in done.stdout + done.stderr, done.stdout + done.stderr
    with np.errstate(all="ignore"):
        biased = ((gate + bias[None]).astype(BF16) + BF16(1)).astype(np.float32)
        wide = gate.astype(np.float32) + up.astype(np.float32)
    taken, plain = ref.gather(biased, index), ref.gather(gate.astype(np.float32), index)
    found = iter([np.load(out) for out in outs])
    for _, operands, types, options, region in cases(rows, columns, gathered):
        own = iter([next(found) for _ in types])
        x = (taken if region else plain) if operands.startswith("gather") else {BIAS: biased, WIDE: wide}.get(region)
        axes = [1] if "axes" not in options else [int(c) for c in options.split("[")[1].split("]")[0].split(",")]
        for k, axis in enumerate(axes if x is not None else []):
            out = Blocks("f8E4M3FN", axis, "sf_128x4" if "sf_128x4" in types[2 * k + 1] else "linear")
            out.compare(test, f"{chip} {rows}x{columns} {operands} {options} axis {axis}", own, x)


for chip in test.chips:
    for size in [(cases, 200, 160, 137), (cases, 128, 256, 384), (tile_cases, 160, 288, 352), (tile_cases, 256, 128, 128)]:
        run(chip, *size)
test.finish(least=1000000 * len(test.chips))
