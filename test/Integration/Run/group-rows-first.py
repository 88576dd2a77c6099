"""Tests mx.group_rows with `first`: id `first + g` selects expert g. NumPy computes the expected pairs for ids of both
types, including negative ids and the limits of the types.

RUN: env MX_CUDA_DRIVER=none %python %s mx-run %t
REQUIRES: compiler, numpy
"""

import numpy as np
from harness import Harness

test = Harness("mx_run", "folder", seed=3)
random = test.rng
PROGRAM = """
func.func @main(%ids: tensor<?x2x{integer}>, %first: index, %r: tensor<40xi32>, %s: tensor<40xi32>, %e: tensor<3xi32>,
                %c: tensor<i32>) -> (tensor<40xi32>, tensor<40xi32>, tensor<3xi32>, tensor<i32>) {{
  %g:4 = mx.group_rows ins(%ids : tensor<?x2x{integer}>) first(%first)
      outs(%r, %s, %e, %c : tensor<40xi32>, tensor<40xi32>, tensor<3xi32>, tensor<i32>)
      -> tensor<40xi32>, tensor<40xi32>, tensor<3xi32>, tensor<i32>
  return %g#0, %g#1, %g#2, %g#3 : tensor<40xi32>, tensor<40xi32>, tensor<3xi32>, tensor<i32>
}}
"""
for integer in "i32", "i64":
    limits = np.iinfo(integer.replace("i", "int"))
    for first in 0, 4, -2, 2**31 - 2, -2**31:
        near = first + random.integers(-3, 6, (20, 2))
        ids = np.clip(near, limits.min, limits.max).astype(limits.dtype)
        ids[random.random(ids.shape) < 0.2] = random.choice([limits.min, limits.max, -1, 0])
        flat = [int(x) - first for x in ids.ravel()]
        pairs = sorted((e, p) for p, e in enumerate(flat) if 0 <= e < 3)
        slots = np.array([p for _, p in pairs] + [-1] * (40 - len(pairs)), np.int32)
        expected = [np.where(slots < 0, -1, slots // 2).astype(np.int32), slots,
                    np.searchsorted([e for e, _ in pairs], np.arange(3), "right").astype(np.int32),
                    np.array(len(pairs), np.int32)]
        arrays = [ids, np.int64(first), *(np.zeros_like(array) for array in expected)]
        for chip in "cpu", "sm_90a":
            found = test.run(PROGRAM.format(integer=integer), arrays, 4, "--quiet", chip=chip)
            for name, own, array in zip(("rows", "slots", "ends", "count"), found, expected):
                test.expect(f"{chip}, {integer}, first {first}: {name}", own, array)
test.finish(least=1600)
