"""Tests stochastic rounding of numbers that lose more than 32 bits, on all paths.

RUN: %python %s mx-run %t
REQUIRES: compiler, numpy

A 24-bit significand s that loses d > 32 bits is rounded up if (s >> (d - 32)) + w carries out of the 32 bits of the
random word w. Few words are large enough, so for each such word, the test draws a number for which the sum just carries
or just does not carry.
"""

import mx_reference as ref
import numpy as np
from harness import CHIPS, Blocks, Function, Harness
from philox import draw

test = Harness("mx_run", "folder", seed=5)
ROWS, COLUMNS, SEED = 128, 4096, 12345
# Exponent of the smallest positive number, largest number, and the codes of the negated smallest number and of -0.
ELEMENTS = {"f8E4M3FN": (-9, 448, 0x81, 0x80), "f8E5M2": (-16, 57344, 0x81, 0x80),
            "f4E2M1FN": (-1, 6, 0x9, 0x8), "i8": (-6, 127 / 64, 0xFF, 0)}

words = draw((ROWS, COLUMNS), SEED).astype(np.int64)
missing = 2**32 - words
lost = 24 - np.frexp(missing.astype(np.float64))[1]  # s >> lost is `missing`
carries = test.rng.integers(0, 2, words.shape)
negative = test.rng.integers(0, 2, words.shape)
significand = (missing << np.maximum(lost, 0)) - (1 - carries)
# A number that just fails to carry may be shorter by a bit, and would then lose a different number of bits.
used = (lost > 0) & (significand >= 2**23)
used[:, ::32] = False  # the largest of each block
print(f"{used.sum()} numbers that lose 33 to {32 + lost[used].max()} bits")
assert used.sum() > 500 and lost[used].max() >= 6

f = Function()
for i, (element, (unit, largest, *_)) in enumerate(ELEMENTS.items()):
    # d = lost + 32 bits below the unit.
    x = np.where(used, np.ldexp(significand.astype(np.float64), unit - 32 - lost), 0).astype(np.float32)
    x = np.where(negative == 1, -x, x)
    x[:, ::32] = largest
    f.argument(f"tensor<{ROWS}x{COLUMNS}xf32>", x, f"x{i}")
f.argument("i64", np.int64(SEED), "seed")
for i, element in enumerate(ELEMENTS):
    types = Blocks(element).types(ROWS, COLUMNS)
    f.call(f"mx.quantize ins(%x{i} : tensor<{ROWS}x{COLUMNS}xf32>) seed(%seed) OUTS", types)
for chip in ("cpu", *CHIPS):
    found = iter(test.run(f, chip=chip))
    for element, (_, _, code, zero) in ELEMENTS.items():
        expected = np.where(carries == 1, np.where(negative == 1, code, 1), np.where(negative == 1, zero, 0))
        test.expect(f"{chip} {element}", ref.unpack(next(found), element)[used], expected[used].astype(np.uint8))
        test.expect(f"{chip} {element} scales", next(found), np.full((ROWS, COLUMNS // 32), 127, np.uint8))
test.finish(least=277000)
