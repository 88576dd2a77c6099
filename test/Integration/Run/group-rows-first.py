"""mx.group_rows with `first`: expert g is the one that ids call first + g. NumPy says which pairs that are, for ids of both
types, also negative ones and those at the ends of their types.

RUN: env MX_CUDA_DRIVER=none %python %s mx-run %t
REQUIRES: compiler, numpy
"""

import subprocess
import sys

import numpy as np
from work_folder import enter, write

mx_run, work = sys.argv[1:]
enter(work)
random = np.random.default_rng(3)
PROGRAM = """
func.func @main(%ids: tensor<?x2x{integer}>, %first: index, %r: tensor<40xi32>, %s: tensor<40xi32>, %e: tensor<3xi32>,
                %c: tensor<i32>) -> (tensor<40xi32>, tensor<40xi32>, tensor<3xi32>, tensor<i32>) {{
  %g:4 = mx.group_rows ins(%ids : tensor<?x2x{integer}>) first(%first)
      outs(%r, %s, %e, %c : tensor<40xi32>, tensor<40xi32>, tensor<3xi32>, tensor<i32>)
      -> tensor<40xi32>, tensor<40xi32>, tensor<3xi32>, tensor<i32>
  return %g#0, %g#1, %g#2, %g#3 : tensor<40xi32>, tensor<40xi32>, tensor<3xi32>, tensor<i32>
}}
"""
failures = 0
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
        path = write("case.mlir", PROGRAM.format(integer=integer))
        for i, array in enumerate([ids, np.int64(first), *(np.zeros_like(array) for array in expected)]):
            np.save(f"a{i}.npy", array)
        for device in ["--device=cpu"], ["--device=sim", "--chip=sm_90a"]:
            subprocess.run([mx_run, path, *device, "--quiet", *(f"--arg=a{i}.npy" for i in range(6)),
                            *(f"--result=r{i}.npy" for i in range(4))], check=True)
            same = all(np.array_equal(np.load(f"r{i}.npy"), array) for i, array in enumerate(expected))
            failures += not same
            print(f"{device[0]}, {integer}, first {first}: {len(pairs)} pairs, {'equal' if same else 'different'}")
sys.exit(failures != 0)
