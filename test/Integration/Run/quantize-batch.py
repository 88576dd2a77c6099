"""Quantizes batches of matrices, and compares every result byte with numpy and the CPU path.

TIER: slow
RUN: %python %s mx-run %t sm_90a
RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

Inputs are expert weights of shape G x N x K and batches of higher rank, quantized along one axis or both. Each matrix
starts a new element tile and a new scale tile, even if the rows of the previous matrix do not fill a tile.
"""

import numpy as np
from chips import adapt_quantize_schedule
from harness import FLOATS, Blocks, Function, Harness, stored

test = Harness("mx_run", "folder", "chip", seed=2026)
FACTOR = 2.5
SEED = 0x2718281828459045
LARGE = adapt_quantize_schedule(
    "{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 256], threads = 256, vector = 32, "
    "stage_rows = 64, stages = 2, ctas = 1, raster = group_m(2), atomic_counter = true>}", test.chip)

# Shape, input type, axes, element type, scale layout, whether sizes are dynamic, and options.
CASES = [
    ((3, 100, 64), "bf16", [1], "f8E4M3FN", "sf_128x4", False, ""),
    ((3, 160, 96), "bf16", [1, 0], "f8E4M3FN", "sf_128x4", True, ""),
    ((2, 96, 160), "f32", [0], "f4E2M1FN", "linear", False, ""),
    ((5, 33, 288), "f16", [1], "f8E5M2", "linear", True, ""),
    ((2, 288, 160), "bf16", [0, 1], "f6E3M2FN", "linear", False, ""),
    ((2, 3, 64, 256), "bf16", [1, 0], "i8", "sf_128x4", True, "amax"),
    ((4, 1, 32), "f32", [1], "f6E2M3FN", "sf_128x4", False, ""),
    ((2, 224, 192), "bf16", [1, 0], "f4E2M1FN", "sf_128x4", True, "nvfp4"),
    ((3, 160, 128), "bf16", [1, 0], "f8E4M3FN", "sf_128x4", False, "square"),
    ((3, 100, 96), "bf16", [1], "f8E4M3FN", "sf_128x4", True, "square"),
    ((2, 160, 64), "bf16", [1, 0], "f8E4M3FN", "linear", False, "seed"),
    ((3, 352, 288), "bf16", [1, 0], "f8E4M3FN", "sf_128x4", False, LARGE),
    ((3, 288, 352), "bf16", [1, 0], "f4E2M1FN", "linear", False, LARGE),
    ((1, 128, 128), "bf16", [1, 0], "f8E4M3FN", "sf_128x4", True, ""),
    ((3, 100, 64), "f32", [1], "f8E4M3FN", "sf_128x4", True, "negate"),
]


def destinations(case):
    shape, _, axes, element, layout, _, options = case
    return [Blocks(element, axis, layout, encode=FACTOR if options == "nvfp4" else None, square=options == "square",
                   batch="".join(f"{n}x" for n in shape[:-2])) for axis in axes]


def program(case, array):
    shape, dtype, axes, _, _, dynamic, options = case
    x = f"tensor<{'x'.join('?' if dynamic else str(n) for n in shape)}x{dtype}>"
    outs, f = destinations(case), Function()
    f.argument(x, array, "x"), f.argument("f32", np.float32(FACTOR), "g"), f.argument("i64", np.int64(SEED), "seed")
    if options == "negate":  # the quantizer's kernel does not fuse this operation
        f.lines.append(f"%in = arith.negf %x : {x}")
    f.call(f"mx.fused_quantize ins({'%in' if options == 'negate' else '%x'} : {x}) "
           f"{'global_scale(%g)' if options == 'nvfp4' else ''} {'seed(%seed)' if options == 'seed' else ''} OUTS "
           f"axes = {axes} block_size = {outs[0].block} "
           f"{options if options in ('square', 'amax') or options.startswith('{') else ''}",
           sum((out.types(*shape[-2:]) for out in outs), []) + ["tensor<f32>"] * (options == "amax"))
    return f


for case in test.select(CASES):
    shape, dtype, axes, *_, options = case
    x = test.rng.standard_normal(shape) * np.exp2(test.rng.integers(-8, 8, shape))
    x[test.rng.random(shape) < 0.001] = np.nan
    x = x.astype(FLOATS[dtype])
    found = test.run(program(case, x), chip=test.chip, check=True, sms=2)
    if options == "seed":
        continue  # already compared with the CPU path
    wide = (-x if options == "negate" else x).astype(np.float32).reshape(-1, *shape[-2:])
    for k, out in enumerate(destinations(case)):
        for j, what in enumerate(("elements", "scales")):
            want = np.stack([out.expected(matrix)[j][0] for matrix in wide])
            test.expect(f"axis {out.axis} {what}", stored(found[2 * k + j]).view(want.dtype).reshape(want.shape), want)
    if options == "amax" and np.isnan(wide).any() != np.isnan(found[-1]):
        test.fail("amax")
test.finish(least=500000)
