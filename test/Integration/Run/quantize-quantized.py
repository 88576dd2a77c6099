"""Quantizers whose inputs are quantized already: simulator, CPU and numpy agree.

RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

All cases of requantize.py, along rows in registers and through shared memory;
tiles that are not full, and more of them than CTAs. mx-run itself compares every
operation with the CPU path.
"""

from harness import Harness
from requantize import Program

test = Harness("mx_run", "folder", "*chips")
for chip in test.chips:
    program = Program(5, 160, 96, 160).add_all()
    expected = list(program.expected())
    # Few CTAs, which draw numbers for the other tiles.
    found = test.run(program.text(), program.arguments(), len(expected), chip=chip, check=True, sms=1)
    for (name, array), own in zip(expected, found):
        test.expect(f"{chip} {name}", own, array)
test.finish(least=600000 * len(test.chips))
