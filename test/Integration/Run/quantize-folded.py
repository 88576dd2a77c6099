"""Quantizers to blocks of 128, 256 and 512 elements and to rows equal numpy and the CPU path in every bit, with and
without spreads.

RUN: %python %s mx-run %t cpu
RUN: %python %s mx-run %t sm_90a
RUN: %python %s mx-run %t sm_100a
RUN: %python %s mx-run %t sm_120a
REQUIRES: compiler, numpy

Inputs contain rows and groups of all magnitudes, zeros, NaN, infinities and ties. Rows and columns do not fill tiles of elements
or of scales.
"""

from harness import Harness
from long_blocks import check

E4, E5 = "f8E4M3FN", "f8E5M2"
# Shape, whether it is static, input type, destinations, and options.
ALONG_ROWS = [
    ((70, 640), True, "bf16", [(E4, 1, "sf_128x4", "ceil", 128)], ""),
    ((150, 512), False, "bf16", [(E5, 1, "linear", "even", 128)], ""),
    ((33, 1152), True, "f16", [(E4, 1, "sf_128x4", "floor", 128)], "amax"),
    ((40, 384), False, "f32", [(E4, 1, "sf_128x4", "fit", 128)], ""),
    ((140, 768), False, "bf16", [(E4, 1, "sf_128x4", "ceil", 256)], ""),
    ((32, 2560), True, "bf16", [(E5, 1, "sf_128x4", "ceil", 512)], "amax"),
    ((9, 1024), True, "f32", [(E4, 1, "linear", "ceil", 512)], ""),
    ((64, 1280), True, "f32", [(E4, 1, "sf_128x4", "ceil", 256)], "seed"),
    ((32, 512), True, "bf16", [(E4, 1, "sf_128x4", "ceil", 128)], "prologue"),
    ((50, 512), False, "f32", [(E4, 1, "sf_128x4", "ceil", 128)], "prologue"),
    ((60, 512), True, "bf16", [(E4, 1, "sf_128x4", "ceil", 128)], "concat"),
    ((130, 1024), True, "bf16", [(E4, 1, "sf_128x4", "ceil", 512)], "prologue"),
]
WHOLE_ROWS = [
    ((70, 640), True, "bf16", [(E4, 1, "sf_128x4", "ceil", "row")], ""),
    ((140, 4640), False, "bf16", [(E5, 1, "linear", "even", "row")], "amax"),
    ((64, 96), True, "f32", [(E4, 1, "sf_128x4", "floor", "row")], "seed"),
    ((8, 4096), True, "f16", [(E4, 1, "linear", "fit", "row")], "prologue"),
    ((33, 1024), True, "f32", [(E4, 1, "sf_128x4", "ceil", "row")], "concat"),
    ((8, 8736), True, "bf16", [(E4, 1, "sf_128x4", "ceil", "row")], "amax"),
    ((3, 12320), True, "f32", [(E4, 1, "linear", "ceil", "row")], "seed"),
    ((4, 4128), True, "f16", [(E5, 1, "sf_128x4", "floor", "row")], "prologue"),
    ((2, 4096), True, "f32", [(E4, 1, "linear", "ceil", "row")], "concat"),
    ((2, 70016), True, "bf16", [(E4, 1, "linear", "ceil", "row")], "amax"),
    ((5, 32), False, "f32", [(E4, 1, "linear", "ceil", "row")], ""),
]
BY_TILES = [
    ((256, 160), True, "bf16", [(E4, 0, "sf_128x4", "ceil", 128)], ""),
    ((384, 640), False, "bf16", [(E4, 1, "sf_128x4", "ceil", 128), (E4, 0, "sf_128x4", "ceil", 128)], "amax"),
    ((256, 384), True, "f16", [(E4, 1, "linear", "floor", 128), (E4, 0, "sf_128x4", "floor", 128)], "seed"),
    ((128, 512), True, "bf16", [(E4, 1, "sf_128x4", "ceil", 128), (E5, 0, "sf_128x4", "ceil", 128)], "prologue"),
    ((3, 70, 256), True, "bf16", [(E4, 1, "sf_128x4", "ceil", 128)], ""),
    ((2, 256, 640), True, "bf16", [(E4, 1, "sf_128x4", "ceil", 128), (E4, 0, "sf_128x4", "ceil", 128)], ""),
    ((300, 640), True, "bf16", [(E4, 1, "sf_128x4", "ceil", 128), (E4, 0, "sf_128x4", "ceil", 128)], "ragged"),
    ((200, 384), True, "f32", [(E4, 1, "sf_128x4", "fit", 128)], "ragged"),
]
# Tiles that exceed the shared memory of sm_120a.
LARGE = [
    ((256, 384), True, "bf16", [(E4, 1, "sf_128x4", "ceil", 128), (E4, 0, "sf_128x4", "ceil", 128)], "concat"),
    ((640, 256), False, "f32", [(E5, 0, "linear", "even", 128), (E5, 1, "linear", "even", 128)], ""),
    ((512, 256), True, "bf16", [(E4, 0, "sf_128x4", "ceil", 256)], ""),
    ((2, 128, 512), True, "bf16", [(E4, 1, "linear", "ceil", 256)], ""),
    ((1024, 160), True, "bf16", [(E4, 0, "sf_128x4", "ceil", 512)], "amax"),
    ((512, 96), False, "f32", [(E5, 0, "linear", "even", 512)], "seed"),
    ((1536, 64), True, "bf16", [(E4, 0, "sf_128x4", "ceil", 512)], "prologue"),
    ((512, 128), True, "f32", [(E4, 0, "sf_128x4", "ceil", 256)], "prologue"),
    ((2, 512, 192), True, "f16", [(E4, 0, "sf_128x4", "ceil", 512)], ""),
]

test = Harness("mx_run", "folder", "chip", seed=72)
for number, case in enumerate(test.select(ALONG_ROWS + WHOLE_ROWS + BY_TILES + LARGE)):
    # sm_100a and sm_120a share the forms of each case.
    for spreads in {"sm_100a": [number % 2 > 0], "sm_120a": [number % 2 < 1]}.get(test.chip, [False, True]):
        check(test, case, spreads, refused=case in LARGE)
test.finish(least=2000000)
