#!/usr/bin/env python3
"""Times what a user of mx-run waits for, on one core.

usage: mx_run.py BUILD_DIR [REPEATS]

Prints the smallest of REPEATS (5) wall-clock times of
 - compiling examples/matmul.mlir to PTX, the whole process;
 - the main job at 256 x 256 x 256 on the CPU reference path;
 - the main job at 512 x 768 x 1024 on the simulator;
and, of the runs, how mx-run itself divides the time.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "matmul.mlir"
build = pathlib.Path(sys.argv[1]).resolve() / "bin"
repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 5
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def best(*commands):
    """The smallest time of a pipe of commands, and the stderr of that run."""
    results = []
    for _ in range(repeats):
        start, data, text = time.perf_counter(), b"", ""
        for command in commands:
            done = subprocess.run(command, input=data, capture_output=True)
            if done.returncode != 0:
                sys.exit(done.stderr.decode())
            data, text = done.stdout, done.stderr.decode()
        results.append((time.perf_counter() - start, text))
    return min(results)


def report(what, seconds, text=""):
    parts = [f"{name} {t} s" for name, t in re.findall(r"time: (\w+) ([\d.]+) s", text)]
    print(f"{what:48}{seconds:8.3f} s" + (f"  ({', '.join(parts)})" if parts else ""))


with tempfile.TemporaryDirectory() as directory:

    def arrays(m, n, k):
        """bf16 values between 2^-3 and 2^4, as their bits."""
        rng, paths = np.random.default_rng(0), []
        for name, rows in (("x", m), ("w", n)):
            codes = rng.integers(124 << 7, 131 << 7, (rows, k)).astype(np.uint16)
            codes |= rng.integers(0, 2, (rows, k)).astype(np.uint16) << 15
            paths += ["--arg", f"{directory}/{name}.npy"]
            np.save(paths[-1], codes)
        return paths

    seconds, _ = best(
        [build / "mx-opt", "--mx-to-nvvm=chip=sm_100a", EXAMPLE],
        [build / "mx-translate", "--mx-to-ptx"],
    )
    report("to PTX, mx-opt | mx-translate", seconds)
    for device, (m, n, k) in (("cpu", (256, 256, 256)), ("sim", (512, 768, 1024))):
        command = [build / "mx-run", EXAMPLE, f"--device={device}", "--time"]
        command += arrays(m, n, k) + ["--result", f"{directory}/y.npy"]
        report(f"mx-run --device={device}, {m} x {n} x {k}", *best(command))
