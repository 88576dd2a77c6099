"""Quantizers along columns, and along both axes with a single read, equal numpy, ml_dtypes and the CPU path in every
bit.

RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

Covers every element type from every input type, with all roundings and scale layouts, in one program for each input
type. The inputs contain ties, infinities, NaN, and many numbers that are the largest in one block but not in another.
Rows and columns do not fill tiles.
"""

import mx_reference as ref
import numpy as np
import quantize_inputs as inputs
from chips import adapt_quantize_schedule
from harness import FLOATS, Blocks, Function, Harness

COLUMNS = 416  # 13 blocks: three tiles of columns and a partial tile
ENCODES = [448 * 6 / 11.0, 1e-30]
# Schedules for tiles loaded in parts. A CTA quantizes one tile, or takes tiles from atomic_counter.
PARTS = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, %d], "
         "threads = 128, vector = 32, stage_rows = %d, stages = %d, ctas = 1, raster = "
         "%s>}")


def cases(dtype):
    """Returns destinations and schedules: all for bf16, and every second one for other types."""
    step = 1 if dtype == "bf16" else 2
    return list(all_cases())[dtype == "f32"::step]


def all_cases():
    for i, element in enumerate(ref.ELEMENTS):
        for k, axes in enumerate([[0], [1, 0]]):
            layout, rounding = ["sf_128x4", "linear"][(i // 2 + k) % 2], ["ceil", "floor", "even"][(i + k) % 3]
            yield [Blocks(element, axis, layout, rounding) for axis in axes], ""
    for k, axes in enumerate([[0], [1, 0], [0, 1]]):
        layout = ["sf_128x4", "linear"][k % 2]
        yield [Blocks("f4E2M1FN", axis, layout, encode=ENCODES[k % 2]) for axis in axes], ""
    for axes, element, layout, encode, part in [
            ([1, 0], "f8E4M3FN", "sf_128x4", None, (256, 64, 2, "linear")),
            ([0], "f6E2M3FN", "sf_128x4", None, (128, 64, 4, "columns, atomic_counter = true")),
            ([0, 1], "f4E2M1FN", "linear", None, (256, 32, 3, "group_m(2), atomic_counter = true")),
            ([1, 0], "f4E2M1FN", "sf_128x4", ENCODES[0], (128, 128, 2, "hilbert"))]:
        yield ([Blocks(element, axis, layout, encode=encode) for axis in axes],
               adapt_quantize_schedule(PARTS % part, test.chip))


def program(dtype, x):
    """Returns a function with all cases of one input."""
    f, t = Function(), f"tensor<{x.shape[0]}x{x.shape[1]}x{dtype}>"
    f.argument(t, x, "x")
    factors = {encode: f.argument("f32", np.float32(encode)) for encode in ENCODES}
    for outs, schedule in cases(dtype):
        first = outs[0]
        factor = f"global_scale({factors[first.encode]})" if first.encode else ""
        options = "" if first.encode else f"scale_rounding = {first.rounding}"
        f.call(f"mx.quantize ins(%x : {t}) {factor} OUTS axes = {[out.axis for out in outs]} {options} {schedule}",
               sum((out.types(*x.shape) for out in outs), []))
    return f


def make_input(rng, dtype):
    """Creates blocks along columns, in a matrix without partial blocks."""
    codes = (rng.integers(0, 2**32, 512, dtype=np.uint32) if dtype == "f32" else
             rng.permutation(65536)[:512].astype(np.uint16))
    blocks = np.concatenate([inputs.blocks_of(rng, codes, dtype), inputs.ties(dtype)[::4], inputs.special(dtype),
                             codes.reshape(-1, 32)])
    bits = inputs.fill(blocks, dtype, COLUMNS)
    padded = np.zeros((-(-len(bits) // 32) * 32, COLUMNS), bits.dtype)
    padded[:len(bits)] = bits
    return np.ascontiguousarray(padded.T).view(FLOATS[dtype])


test = Harness("mx_run", "folder", "chip", seed=23)
for dtype in FLOATS:
    array = make_input(test.rng, dtype)
    with np.errstate(all="ignore"):
        x = array.astype(np.float32)
    found = iter(test.run(program(dtype, array), chip=test.chip, check=True, sms=2))
    for outs, schedule in cases(dtype):
        for out in outs:
            out.compare(test, f"{dtype} {out} {schedule}", found, x)
test.finish(least=1300000)
