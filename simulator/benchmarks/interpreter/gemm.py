#!/usr/bin/env python3
"""Measures the wall-clock time and the peak memory of the simulator on MXFP8 GEMMs. The GEMMs
use the hand-written kernel of simulator/test.

    gemm.py BUILD_DIR [--size M N K] [--repeat N]

Prints the median time of the repetitions, after comparing the result with a matmul in float64."""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNEL = ROOT / "test/mxfp8-gemm.ptx"
INPUTS = ROOT / "test/Inputs/mxfp8_gemm.py"


def run(command):
    """Runs a process; returns its seconds and peak memory in MiB."""
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(map(str, command))}: status {os.waitstatus_to_exitcode(status)}")
    return seconds, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--size", type=int, nargs=3, default=[2048, 2048, 2048])
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    m, n, k = arguments.size
    sim = pathlib.Path(arguments.build, "bin/mx-sim")
    if not sim.exists():
        sys.exit(f"{sim}: no such program; build the target mx-sim")
    with tempfile.TemporaryDirectory() as where:
        prepare = [sys.executable, INPUTS, "prepare", where, str(m), str(n), str(k)]
        subprocess.run(prepare, check=True)
        data = sum(f.stat().st_size for f in pathlib.Path(where).iterdir()) + m * n * 4
        print(f"{m}x{n}x{k}, {data / 2**20:.0f} MiB of data, {os.cpu_count()} cores")
        launch = pathlib.Path(where, "launch.json")
        subprocess.run([sim, KERNEL, launch], check=True)
        subprocess.run([sys.executable, INPUTS, "check", where], check=True)
        cases = [
            ("no checks", ["--checks=none"]),
            ("cheap checks", ["--checks=all,-race,-proxy-fence,-tcgen05-fence,-cta-exit,-phase-overrun"]),
            ("all checks", []),
            ("all checks, one thread", ["--jobs=1"]),
            ("all checks, seed 1", ["--seed=1"]),
            ("truncated sums", ["--checks=none", "--sums=truncated"]),
        ]
        for name, options in cases:
            runs = [run([sim, KERNEL, launch, *options]) for _ in range(arguments.repeat)]
            seconds = statistics.median(r[0] for r in runs)
            memory = max(r[1] for r in runs)
            print(f"{name:24} {seconds:7.3f} s {memory:6.0f} MiB")


if __name__ == "__main__":
    main()
