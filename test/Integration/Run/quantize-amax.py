"""amax of quantizers on the GPU equals numpy, and all other results those of the CPU path, in every bit.

TIER: slow
RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

Along rows, along columns and both; ragged rows, gathered rows and two values of a prologue, of which only what counts
is raised; tiles in parts and several for a CTA; numbers of all kinds, the largest ones negative.
"""

import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "..", "CPU")]
import amax_cases
from amax_cases import BY_UNITS, Case
from chips import adapt_quantize_schedule
from cpu_path import FLOATS

mx_run, directory, chip = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
ROW_CASES = [
    Case([1], layout="sf_128x4"),
    Case([1], "f4E2M1FN", nvfp4=True),
    Case([1], gather=True),
    Case([1], produced=True),
]
TILE_CASES = [
    Case([0], layout="sf_128x4"),
    Case([1, 0], "f4E2M1FN"),
    Case([0, 1], "f6E2M3FN", produced=True),
    Case([1], square=True),
    Case([1, 0], gather=True),
]
# What is behind the groups is unspecified, and not compared with the CPU path.
RAGGED_CASES = [
    Case([1, 0], ragged="rows", layout="sf_128x4"),
    Case([0], ragged="rows"),
]
if not chip.startswith("sm_12"):  # two values of whole tiles, both ways, need more memory
    RAGGED_CASES.append(Case([0, 1], ragged="rows", gather=True, produced=True))
# Dearer to simulate, and of one type of input.
BF16_CASES = [
    Case([1], seed=True),
    Case([1], gather=True, produced=True),
    Case([1, 0], schedule=adapt_quantize_schedule(BY_UNITS, chip)),
]


def run(name, cases, dtype, rows, gathered, datasets):
    """Returns how many were compared, and how many differ."""
    rng = np.random.default_rng([rows, len(name)])
    path = lambda what: os.path.join(directory, f"{chip}-{dtype}-{name}-{what}")
    counts, text = amax_cases.program(cases, dtype, rows, gathered)
    with open(path("program.mlir"), "w") as f:
        f.write(text)
    index = amax_cases.gathered_rows(rng, rows, gathered)
    compared = failures = 0
    for kind, x in amax_cases.datasets(rng, dtype, rows):
        if kind not in datasets:
            continue
        command = [mx_run, path("program.mlir"), "--device=sim", f"--chip={chip}"]
        if not any(case.ragged for case in cases):
            command.append("--check=cpu")
        for i, array in enumerate(amax_cases.arguments(x, dtype, index)):
            np.save(path(f"in{i}.npy"), array)
            command.append("--arg=" + path(f"in{i}.npy"))
        command += ["--result=" + path(f"out{i}.npy") for i in range(sum(counts))]
        # Few CTAs at a time.
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MX_SIM_SM_COUNT": "1"})
        if done.returncode:
            sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
        end = 0
        for case, count in zip(cases, counts):
            end += count
            values = case.values(x, index)
            for i, value in enumerate(values):
                found = np.load(path(f"out{end - len(values) + i}.npy")).view(np.uint32)
                expected = amax_cases.largest(value)
                compared += 1
                if found != expected:
                    failures += 1
                    print(f"{chip} {dtype} {name} {kind}: {case}, value {i}: expected {expected:#x}, found {found:#x}")
    return np.array([compared, failures])


ALL = ["negative", "zeros", "subnormal", "infinity", "nan"]
results = np.zeros(2, int)
results += run("rows", ROW_CASES, "bf16", 200, 137, ALL)
results += run("tiles", TILE_CASES, "bf16", 224, 256, ALL[:3])
results += run("ragged", RAGGED_CASES, "bf16", 224, 256, ALL)
results += run("ragged", RAGGED_CASES[1:2], "f32", 224, 256, ALL[:1])
results += run("options", BF16_CASES, "bf16", 288, 160, ALL[:1])
results += run("rows", ROW_CASES, "f16", 200, 137, ["subnormal", "nan"])
results += run("tiles", TILE_CASES, "f16", 224, 256, ["nan"])
results += run("rows", ROW_CASES, "f32", 200, 137, ["zeros", "nan"])
results += run("tiles", TILE_CASES, "f32", 224, 96, ["negative"])
results += run("none", ROW_CASES[:1], "f32", 0, 0, ALL)
compared, failures = map(int, results)
print(f"{chip}: {compared} amax compared, {failures} differ")
sys.exit(failures != 0 or compared < 90)
