"""amax of quantizers on the GPU equals numpy, and all other results equal the CPU path's, in every bit.

TIER: slow
RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

Covers quantizers along rows, along columns and both; ragged rows, gathered rows and two values of a prologue, with only
the counted elements raised; tiles in parts and several for a CTA; numbers of all kinds, with negative largest numbers.
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
# Rows after the groups are unspecified, and not compared with the CPU path.
RAGGED_CASES = [
    Case([1, 0], ragged="rows", layout="sf_128x4"),
    Case([0], ragged="rows"),
]
if not chip.startswith("sm_12"):  # two values of whole tiles, both ways, need more memory
    RAGGED_CASES.append(Case([0, 1], ragged="rows", gather=True, produced=True))
# Slow to simulate, so only for one input type.
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
        # Few CTAs at a time.
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
