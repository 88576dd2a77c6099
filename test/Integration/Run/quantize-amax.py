"""On the GPU, every bit of a quantizer's amax equals numpy's, and every bit of all other results equals the CPU path's.

TIER: slow
RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

Covers quantizers along rows, along columns and both; ragged rows, gathered rows and two values of a prologue, with
large numbers only in counted elements; tiles loaded in parts, and several tiles for a CTA; and numbers of all kinds,
including inputs without positive numbers.
"""

import amax_cases
import numpy as np
from amax_cases import BY_UNITS, Case
from chips import adapt_quantize_schedule
from harness import Harness

test = Harness("mx_run", "folder", "chip")
chip = test.chip
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
# Rows after the last group are unspecified, so they are not compared with the CPU path.
RAGGED_CASES = [
    Case([1, 0], ragged="rows", layout="sf_128x4"),
    Case([0], ragged="rows"),
]
if not chip.startswith("sm_12"):  # whole tiles of two values along both axes need more memory
    RAGGED_CASES.append(Case([0, 1], ragged="rows", gather=True, produced=True))
# These cases are slow to simulate, so they run for one input type only.
BF16_CASES = [
    Case([1], seed=True),
    Case([1], gather=True, produced=True),
    Case([1, 0], schedule=adapt_quantize_schedule(BY_UNITS, chip)),
]


def run(name, cases, dtype, rows, gathered, datasets):
    rng = np.random.default_rng([rows, len(name)])
    index = amax_cases.gathered_rows(rng, rows, gathered)
    for kind, x in amax_cases.datasets(rng, dtype, rows):
        if kind not in datasets:
            continue
        f, counts = amax_cases.program(cases, dtype, x, index)
        # A single SM executes few CTAs at a time.
        found = test.run(f, chip=chip, check=not any(case.ragged for case in cases), sms=1)
        list(amax_cases.compare(test, f"{dtype} {name} {kind}", cases, x, index, found, counts))


ALL = ["negative", "zeros", "subnormal", "infinity", "nan"]
run("rows", ROW_CASES, "bf16", 200, 137, ALL)
run("tiles", TILE_CASES, "bf16", 224, 256, ALL[:3])
run("ragged", RAGGED_CASES, "bf16", 224, 256, ALL)
run("ragged", RAGGED_CASES[1:2], "f32", 224, 256, ALL[:1])
run("options", BF16_CASES, "bf16", 288, 160, ALL[:1])
run("rows", ROW_CASES, "f16", 200, 137, ["subnormal", "nan"])
run("tiles", TILE_CASES, "f16", 224, 256, ["nan"])
run("rows", ROW_CASES, "f32", 200, 137, ["zeros", "nan"])
run("tiles", TILE_CASES, "f32", 224, 96, ["negative"])
run("none", ROW_CASES[:1], "f32", 0, 0, ALL)
test.finish(least=90)
