"""Compares matmuls with numpy, for every way to distribute tiles among CTAs.

RUN: %python %s %examples/matmul_schedule.mlir mx-run %t
REQUIRES: compiler, numpy

The simulated GPU has few SMs, so that CTAs process several units. With some seeds, cluster launch control prematurely
reports that no work is left. The remaining CTAs are then launched, and no tile may be missing or computed twice.
"""

import itertools
import re
import sys

import numpy as np
import reference
from chips import adapt_schedule
from harness import Harness

test = Harness("example", "mx_run", "folder", seed=7)
rng = test.rng
with open(test.example) as file:
    EXAMPLE = file.read()

TILE = "tile = [128, 128, 128], stages = 3, "
# The epilogue must be applied once, to the whole sum; it sets elements above the diagonal to 0.
EPILOGUE = """ epilogue {
^bb0(%sum: f32, %row: index, %column: index):
  %zero = arith.constant 0.0 : f32
  %keep = arith.cmpi ule, %column, %row : index
  %kept = arith.select %keep, %sum, %zero : f32
  %rounded = arith.truncf %kept : f32 to bf16
  mx.yield %rounded : bf16
}"""


def make_program(schedule, with_epilogue):
    """Returns the example with another schedule, and optionally with a factor of 0.5 and the epilogue."""
    changes = [(r"#mxgpu\.schedule<(?:[^<>]|<[^<>]*>)*>", f"#mxgpu.schedule<{adapt_schedule(TILE + schedule)}>")]
    if with_epilogue:
        changes += [
            (r"%init = ", "%half = arith.constant 0.5 : f32\n  %init = "),
            (r"outs\(%init ", "alpha(%half) outs(%init "),
            (r"(#mxgpu\.schedule<.*>} -> !matrix)", rf"\1{EPILOGUE}"),
        ]
    program = EXAMPLE
    for pattern, replacement in changes:
        program, found = re.subn(pattern, replacement, program)
        if found != 1:
            sys.exit(f"{test.example}: expected 1 match of {pattern}, found {found}")
    return program


# Sizes with 1, 1 x 7, 5 x 3 and 4 x 4 tiles.
SHAPES = [(100, 90, 96), (128, 800, 32), (600, 300, 160), (512, 512, 256)]
LOOPS = ["static", "clc"]
RASTERS = ["linear", "group_m(3)", "hilbert"]
ACCUMULATORS = [1, 2]

inputs = []
for index, (m, n, k) in enumerate(SHAPES):
    x, w = reference.make_input(rng, m, k, "plain"), reference.make_input(rng, n, k, "plain")
    inputs.append((x, w, reference.operand(x), reference.operand(w)))

# Every tile loop with every order, several seeds, and split reductions. The first two shapes need fewer steps than
# there are splits, so some splits are empty.
runs = [(loop, raster, 1, index % 4) for index, (loop, raster) in enumerate(itertools.product(LOOPS, RASTERS))]
runs += [("clc", "linear", 1, 2 + index % 2) for index in range(6)]
runs += [(LOOPS[index % 2], RASTERS[index % 3], 2 + index % 3, index) for index in range(4)]
for run, (loop, raster, parts, shape) in enumerate(runs):
    seed = run % 6
    schedule = (f"strategy = #mxgpu.tcgen05_block_scaled<accumulators = {ACCUMULATORS[run % 2]}, "
                f"tile_loop = {loop}>, split_k = {parts}, raster = {raster}")
    x, w, a, b = inputs[shape]
    test.case = f"{SHAPES[shape]} {schedule}, seed {seed}"
    y, = test.run(make_program(schedule, parts > 1), [x, w], 1, check=True, sms=1 + run % 3, seed=seed,
                  env={"MX_SIM_CHECKS": "all"})
    # The tolerance includes the simulator's rounding to f32 at each step.
    if parts > 1:
        a = a / 2
        dropped = np.arange(y.shape[1])[None, :] > np.arange(y.shape[0])[:, None]
        if y[dropped].any():
            test.fail("expected zeros above the diagonal")
        y = np.where(dropped, reference.to_bits(a @ b.T), y)
    reference.compare_matmul(test, "result", y, a, b, 2.0**-23)
test.finish(least=100000)
