"""Quantizers of quantized inputs return the same results on the simulator, on the CPU and in numpy.

RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

Runs all cases of requantize.py, along rows in registers and through shared memory, with partial tiles, and with more
tiles than CTAs. mx-run compares every operation with the CPU path.
"""

from harness import Harness
from requantize import Program

test = Harness("mx_run", "folder", "*chips")
for chip in test.chips:
    program = Program(5, 160, 96, 160).add_all()
    expected = list(program.expected())
    # A single SM executes few CTAs; these draw the remaining tile numbers.
    found = test.run(program.text(), program.arguments(), len(expected), chip=chip, check=True, sms=1)
    for (name, array), own in zip(expected, found):
        test.expect(f"{chip} {name}", own, array)
test.finish(least=600000 * len(test.chips))
