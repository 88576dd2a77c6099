"""Runs examples/grouped_matmul.mlir with empty, short and long groups and
compares with numpy.

usage: grouped.py MX_RUN FILE.mlir DEVICE DIRECTORY
"""

import numpy as np
import reference
from harness import Harness

test = Harness("mx_run", "program", "device", "folder", seed=8)
k, n = 96, 40
for ends in [[100, 100, 250, 300], [0, 0, 0, 300], [300, 300], [1, 2, 130, 131, 300], [0, 7, 200]]:
    x = reference.make_input(test.rng, 300, k, "specials")
    w = reference.make_input(test.rng, len(ends) * n, k, "plain").reshape(-1, n, k)
    y, = test.run(test.program, [x, w, np.array(ends, np.int32)], 1, check=True)
    a = reference.operand(x)
    for group, (start, end) in enumerate(zip([0] + ends, ends)):
        b = reference.operand(w[group])
        reference.compare_matmul(test, f"{ends} group {group}", y[start:end], a[start:end], b, 2.0**-48)
test.finish(least=50000)
