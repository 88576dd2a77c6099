"""Quantizers that use shared memory, with squares or seeds, return the bits of the CPU path. Without a seed, numpy
gives the same bits.

RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

test/Integration/CPU/stochastic.py compares the CPU path's random numbers with numpy's.
"""

import mx_reference as ref
import numpy as np
import quantize_inputs as inputs
from chips import adapt_quantize_schedule
from harness import FLOATS, Blocks, Function, Harness

SHAPE = (160, 288)  # whole and partial tiles along both axes
SEED = 0x3141592653589793
ENCODE = 448 * 6 / 11.0
LARGE = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 256], threads = 256, vector = 32, "
         "stage_rows = 32, stages = 2, ctas = 2>}")


def cases(dtype):
    """Yields tuples (destinations, seed, schedule)."""
    def case(axes, *options, seed=False, schedule=""):
        return [Blocks(options[0], axis, *options[1:]) for axis in axes], seed, schedule

    for i, element in enumerate(ref.ELEMENTS):
        yield case([[1], [0], [1, 0]][i % 3], element, ["sf_128x4", "linear"][i % 2], ["ceil", "floor", "even"][i % 3],
                   None, True)
    yield case([1, 0], "f4E2M1FN", "sf_128x4", "ceil", ENCODE, True)
    # The simulator computes random numbers slowly, so few cases use them.
    yield case([1, 0], "f8E4M3FN", "linear", "even", seed=True)
    if dtype == "bf16":
        yield case([0, 1], "f8E5M2", "sf_128x4", "ceil", None, True, seed=True)
        yield case([0], "i8", "linear", "floor", seed=True)
        yield case([0], "f4E2M1FN", "linear", "ceil", ENCODE, seed=True)
        yield case([1, 0], "f8E4M3FN", "sf_128x4", "ceil", None, True,
                   schedule=adapt_quantize_schedule(LARGE, test.chip))


def program(dtype, x):
    f, t = Function(), f"tensor<{SHAPE[0]}x{SHAPE[1]}x{dtype}>"
    f.argument(t, x, "x"), f.argument("f32", np.float32(ENCODE), "g"), f.argument("i64", np.int64(SEED), "seed")
    for outs, seed, schedule in cases(dtype):
        first = outs[0]
        f.call(f"mx.quantize ins(%x : {t}) {'global_scale(%g)' if first.encode else ''} {'seed(%seed)' * seed} OUTS "
               f"axes = {[out.axis for out in outs]} {'square' * first.square} "
               f"scale_rounding = {first.rounding} {schedule}", sum((out.types(*SHAPE) for out in outs), []))
    return f


test = Harness("mx_run", "folder", "chip", seed=29)
for dtype in ["bf16", "f16", "f32"]:
    parts = [inputs.special(dtype), inputs.ties(dtype), inputs.exponent_pairs(test.rng, dtype)]
    blocks = test.rng.permutation(np.concatenate([part.reshape(-1, 32) for part in parts]))
    array = np.resize(blocks, SHAPE).view(FLOATS[dtype])
    with np.errstate(all="ignore"):
        x = array.astype(np.float32)
    found = iter(test.run(program(dtype, array), chip=test.chip, check=True, sms=2))
    for outs, seed, schedule in cases(dtype):
        for out in outs:
            out.compare(test, f"{dtype} {out} {schedule}", found, x, skip=["elements"] * seed)
test.finish(least=600000)
