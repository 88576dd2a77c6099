"""Quantizers to blocks of 128 elements with f32 scales, and to blocks of 128 x 128, equal numpy and the CPU path in
every bit.

RUN: %python %s mx-run %t cpu
RUN: %python %s mx-run %t sm_90a
RUN: %python %s mx-run %t sm_100a
RUN: %python %s mx-run %t sm_120a
REQUIRES: compiler, numpy

Inputs contain rows and groups of all magnitudes, zeros, subnormals, NaN, infinities and ties. Rows and columns do not
fill tiles, and rows of scales in layout mn_major end with padding.
"""

from harness import Harness
from long_blocks import check

E4, E5 = "f8E4M3FN", "f8E5M2"
# Shape, whether it is static, input type, destinations, and options.
ALONG_ROWS = [
    ((70, 640), True, "bf16", [(E4, 1, "mn_major", "exact", 128)], ""),
    ((150, 512), False, "bf16", [(E5, 1, "linear", "ceil", 128)], ""),
    ((149, 512), False, "bf16", [(E4, 1, "mn_major", "ceil", 128)], "amax"),
    ((33, 1152), True, "f16", [(E4, 1, "mn_major", "exact", 128)], "amax"),
    ((41, 384), False, "f32", [(E4, 1, "mn_major", "exact", 128)], ""),
    ((66, 512), True, "f32", [(E5, 1, "mn_major", "exact", 128)], "seed"),
    ((35, 512), True, "bf16", [(E4, 1, "mn_major", "exact", 128)], "prologue"),
    ((50, 512), False, "f32", [(E4, 1, "linear", "ceil", 128)], "prologue"),
    ((61, 512), True, "bf16", [(E4, 1, "mn_major", "exact", 128)], "concat"),
    ((300, 640), True, "bf16", [(E4, 1, "mn_major", "exact", 128)], "ragged"),
    ((202, 384), True, "f32", [(E4, 1, "linear", "exact", 128)], "ragged"),
]
BY_TILES = [
    ((256, 160), True, "bf16", [(E4, 0, "mn_major", "exact", 128)], ""),
    ((256, 224), False, "f32", [(E5, 0, "linear", "ceil", 128)], ""),
    ((384, 640), False, "bf16", [(E4, 1, "mn_major", "exact", 128), (E4, 0, "mn_major", "exact", 128)], "amax"),
    ((256, 384), True, "f16", [(E4, 1, "linear", "ceil", 128), (E4, 0, "mn_major", "ceil", 128)], "seed"),
    ((128, 512), True, "bf16", [(E4, 1, "mn_major", "exact", 128), (E5, 0, "mn_major", "exact", 128)], "prologue"),
    ((3, 70, 256), True, "bf16", [(E4, 1, "mn_major", "exact", 128)], ""),
    ((2, 256, 640), True, "bf16", [(E4, 1, "mn_major", "exact", 128), (E4, 0, "linear", "exact", 128)], ""),
    ((2, 128, 160), True, "bf16", [(E4, 0, "mn_major", "exact", 128)], ""),
    ((301, 640), True, "bf16", [(E4, 1, "mn_major", "exact", 128), (E4, 0, "mn_major", "exact", 128)], "ragged"),
    ((200, 384), True, "f32", [(E4, 0, "mn_major", "exact", 128)], "ragged"),
]
SQUARES = [
    ((200, 640), True, "bf16", [(E4, 1, "linear", "exact", "128x128")], ""),
    ((256, 384), False, "f32", [(E5, 1, "linear", "ceil", "128x128")], "amax"),
    ((130, 256), True, "f16", [(E4, 1, "linear", "ceil", "128x128")], "seed"),
    ((150, 512), True, "bf16", [(E4, 1, "linear", "exact", "128x128")], "prologue"),
    ((70, 256), True, "f32", [(E4, 1, "linear", "exact", "128x128")], "concat"),
    ((256, 160), True, "bf16", [(E4, 0, "linear", "exact", "128x128")], ""),
    ((384, 256), False, "bf16", [(E4, 1, "linear", "exact", "128x128"), (E4, 0, "linear", "exact", "128x128")],
     "amax"),
    ((256, 128), True, "f32", [(E5, 0, "linear", "ceil", "128x128")], ""),
    ((128, 512), True, "bf16", [(E4, 1, "linear", "exact", "128x128"), (E4, 0, "linear", "exact", "128x128")],
     "prologue"),
    ((3, 150, 256), True, "bf16", [(E4, 1, "linear", "exact", "128x128")], ""),
    ((2, 256, 640), True, "f16", [(E4, 1, "linear", "ceil", "128x128"), (E4, 0, "linear", "ceil", "128x128")], ""),
]
# Tiles that exceed the shared memory of sm_120a.
LARGE = [
    ((256, 384), True, "bf16", [(E4, 1, "mn_major", "exact", 128), (E4, 0, "mn_major", "exact", 128)], "concat"),
]

test = Harness("mx_run", "folder", "chip", seed=73)
for case in test.select(ALONG_ROWS + BY_TILES + LARGE + SQUARES):
    check(test, case, scale="f32", refused=case in LARGE)
    if case in SQUARES and case[3][0][3] == "ceil":
        check(test, case)
test.finish(least=500000)
