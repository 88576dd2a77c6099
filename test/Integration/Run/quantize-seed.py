"""Kernels with stochastic rounding, with and without amax, equal the CPU path in every bit; test/Integration/CPU
compares the CPU path with numpy. quantize-seed-f16.test and quantize-seed-f32.test cover f16 and f32.

TIER: slow
RUN: %python %s mx-run %t bf16 sm_100a
REQUIRES: compiler, numpy
"""

import mx_reference as ref
import numpy as np
import quantize_inputs as inputs
from harness import FLOATS, Blocks, Function, Harness

COLUMNS = 160
SEED = -0x61C8864680B583EB


def program(dtype, x):
    f, rows, t = Function(), len(x), f"tensor<{len(x)}x{COLUMNS}x{dtype}>"
    f.argument(t, x, "x"), f.argument("f32", np.float32(37.5), "g"), f.argument("i64", np.int64(SEED), "seed")
    for i, (element, encode) in enumerate([*((element, None) for element in ref.ELEMENTS), ("f4E2M1FN", 37.5)]):
        out = Blocks(element, 1, ["linear", "sf_128x4"][i % 2], encode=encode)
        f.call(f"mx.quantize ins(%x : {t}) {'global_scale(%g)' if encode else ''} seed(%seed) OUTS",
               out.types(rows, COLUMNS))
    f.call(f"mx.amax ins(%x : {t}) OUTS", ["tensor<f32>"])
    return f


test = Harness("mx_run", "folder", "types", "*chips", seed=3)
for dtype in test.types.split(","):
    parts = [inputs.special(dtype), inputs.ties(dtype), inputs.exponent_pairs(test.rng, dtype)]
    whole = inputs.fill(np.concatenate(parts), dtype, COLUMNS)[:200]
    # All numbers are finite, and the last one is the largest.
    finite = inputs.fill(inputs.ties(dtype), dtype, COLUMNS)[:131]
    finite.flat[-1] = {"f32": 0xFF123456, "bf16": 0xFF12, "f16": 0xFB12}[dtype]
    for name, bits in [("all", whole), ("finite", finite)]:
        x = bits.view(FLOATS[dtype])
        for chip in test.chips:
            *_, found = test.run(program(dtype, x), chip=chip, check=True)
            with np.errstate(all="ignore"):
                test.expect(f"{dtype} {name} on {chip}", found, ref.largest(x.astype(np.float32)))
test.finish()
