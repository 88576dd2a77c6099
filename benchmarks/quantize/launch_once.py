#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches the kernels of timed cases a few times each, for a profiler:

    ncu --clock-control none -k regex:quantize python3 launch_once.py BUNDLE NAME...

Needs NumPy, no PyTorch, so that nothing else runs on the GPU."""

import os
import sys

import cases
import numpy as np
from mx_program import Entry, Runtime

LAUNCHES = 2


def main(bundle, names):
    runtime = Runtime(os.path.join(bundle, "libmx_runtime.so"), "cuda")
    rng = np.random.default_rng(2)
    block = rng.standard_normal(1 << 20).astype(np.float32).view(np.uint32) >> 16
    timed = list(cases.speed_cases())
    if any("@" in name for name in names):
        import tune
        timed += tune.variants()
    for case in cases.find(names, timed):
        shape = (case.rows, case.columns)
        x = np.resize(block.astype(np.uint16), shape)
        arguments = [(runtime.upload(x), shape) for _ in range(case.inputs)]
        if case.nvfp4:
            arguments.append(np.array(cases.ENCODE))
        if case.groups:
            offsets = cases.random_offsets(case)
            arguments.append((runtime.upload(offsets), offsets.shape))
        entry = Entry(runtime, os.path.join(bundle, "programs", case.name))
        results = [runtime.alloc(int(np.prod(s)) * np.dtype(d).itemsize)
                   for s, d in entry.result_shapes(arguments)]
        size = entry.workspace_bytes(arguments)
        workspace = runtime.alloc(size)
        for _ in range(LAUNCHES):
            entry.launch(arguments, results, workspace, size)
        runtime.synchronize()
        for memory in results + [workspace] + [a[0] for a in arguments
                                               if isinstance(a, tuple)]:
            runtime.free(memory)
        print(case.name)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
