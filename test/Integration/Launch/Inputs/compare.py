"""Runs a program by mx-run and, compiled, by mx-launch; the results of both
must have the same bytes.

usage: compare.py DIRECTORY FILE.mlir RESULTS ARG [ARG ...]

ARG: dtype:shape, as "u2:96x256"; bits are random. Of u2 they are bf16 numbers
without NaN and infinities, of u1 any byte below 0x78.
"""

import filecmp
import os
import subprocess
import sys

import numpy as np

directory, program, count, *arguments = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
rng = np.random.default_rng(11)


def at(name):
    return os.path.join(directory, name)


def make(spec):
    dtype, _, shape = spec.partition(":")
    shape = tuple(int(n) for n in shape.split("x")) if shape else ()
    if dtype == "u2":
        values = rng.standard_normal(shape).astype(np.float32).view(np.uint32)
        return (values >> 16).astype(np.uint16)
    if dtype == "u1":
        return rng.integers(0, 0x78, shape, dtype=np.uint8)
    return rng.standard_normal(shape).astype("<" + dtype)


options = ["--device=sim"]
for i, spec in enumerate(arguments):
    np.save(at(f"{i}.npy"), make(spec))
    options += ["--arg", at(f"{i}.npy")]


def results(tool):
    paths = [at(f"{tool}-{i}.npy") for i in range(int(count))]
    return [word for path in paths for word in ("--result", path)], paths


words, by_run = results("run")
subprocess.run(["mx-run", program, *options, *words], check=True)
subprocess.run(["mx-compile", program, "-o", at("out"), "--ptxas=none"], check=True)
words, by_launch = results("launch")
subprocess.run(["mx-launch", at("out"), *options, *words], check=True)
for run, launch in zip(by_run, by_launch):
    if not filecmp.cmp(run, launch, shallow=False):
        sys.exit(f"{launch} differs from {run}")
    if not np.load(run).any() and np.load(run).size:
        sys.exit(f"{run}: expected results other than zeros")
print(f"{count} results are equal")
