"""Matmuls by every way to share out the tiles, compared with numpy.

RUN: %python %s %examples/matmul_schedule.mlir mx-run %t
REQUIRES: compiler, numpy

Few multiprocessors, so that CTAs go through several units. Under seeds cluster
launch control now and then says that there is nothing left when there is: what
is left is then launched, and no tile may be missing or done twice.
"""

import itertools
import os
import re
import subprocess
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs"))
import reference
from chips import adapt_schedule

example, mx_run, directory = sys.argv[1:]
os.makedirs(directory, exist_ok=True)

with open(example) as file:
    EXAMPLE = file.read()

TILE = "tile = [128, 128, 128], stages = 3, "
# What is done once with the whole sum: half of it, below the diagonal.
EPILOGUE = """ epilogue {
^bb0(%sum: f32, %row: index, %column: index):
  %zero = arith.constant 0.0 : f32
  %keep = arith.cmpi ule, %column, %row : index
  %kept = arith.select %keep, %sum, %zero : f32
  %rounded = arith.truncf %kept : f32 to bf16
  mx.yield %rounded : bf16
}"""


def make_program(schedule, with_epilogue):
    """The example with another schedule and, if asked for, half of the sum and the epilogue."""
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
            sys.exit(f"{example}: expected 1 match of {pattern}, found {found}")
    return program


# Tiles: 1, 1 x 7, 5 x 3 and 4 x 4.
SHAPES = [(100, 90, 96), (128, 800, 32), (600, 300, 160), (512, 512, 256)]
LOOPS = ["static", "clc"]
RASTERS = ["linear", "group_m(3)", "hilbert"]
ACCUMULATORS = [1, 2]

rng = np.random.default_rng(7)
inputs = []
for index, (m, n, k) in enumerate(SHAPES):
    x, w = reference.make_input(rng, m, k, "plain"), reference.make_input(rng, n, k, "plain")
    np.save(f"{directory}/x{index}.npy", x)
    np.save(f"{directory}/w{index}.npy", w)
    a = reference.dequantize(*reference.quantize(reference.from_bits(x)))
    b = reference.dequantize(*reference.quantize(reference.from_bits(w)))
    inputs.append((a, b))

failures = 0
# Every loop with every order; then seeds, and parts of the reduction: more than
# there are steps in the first two shapes, so that some have nothing to do.
runs = [(loop, raster, 1, index % 4) for index, (loop, raster) in enumerate(itertools.product(LOOPS, RASTERS))]
runs += [("clc", "linear", 1, 2 + index % 2) for index in range(6)]
runs += [(LOOPS[index % 2], RASTERS[index % 3], 2 + index % 3, index) for index in range(4)]
for run, (loop, raster, parts, shape) in enumerate(runs):
    seed = run % 6
    schedule = (f"strategy = #mxgpu.tcgen05_block_scaled<accumulators = {ACCUMULATORS[run % 2]}, "
                f"tile_loop = {loop}>, split_k = {parts}, raster = {raster}")
    with open(f"{directory}/program.mlir", "w") as file:
        file.write(make_program(schedule, with_epilogue=parts > 1))
    result = f"{directory}/y.npy"
    if os.path.exists(result):
        os.remove(result)
    command = [mx_run, f"{directory}/program.mlir", "--device=sim", "--check=cpu", "--result", result]
    command += ["--arg", f"{directory}/x{shape}.npy", "--arg", f"{directory}/w{shape}.npy"]
    environment = dict(os.environ, MX_SIM_SM_COUNT=str(1 + run % 3), MX_SIM_SEED=str(seed), MX_SIM_CHECKS="all")
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    what = f"{SHAPES[shape]} {schedule}, seed {seed}"
    if done.returncode:
        print(f"{what}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        failures += 1
        continue
    y = reference.from_bits(np.load(result))
    # The simulator rounds to f32 at each step.
    a, b = inputs[shape]
    if parts > 1:
        a = a / 2
        dropped = np.arange(y.shape[1])[None, :] > np.arange(y.shape[0])[:, None]
        failures += np.count_nonzero(y[dropped]) != 0
        y = np.where(dropped, reference.from_bits(reference.to_bits(a @ b.T)), y)
    wrong, ratio = reference.compare_matmul(y, a, b, 2.0**-23)
    print(f"{what}: {wrong} wrong, largest deviation {ratio:.3f} of the bound")
    failures += int(wrong != 0)
print(f"{len(runs)} runs, {failures} failures")
sys.exit(1 if failures else 0)
