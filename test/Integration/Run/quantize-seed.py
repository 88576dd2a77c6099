"""Kernels that round by a seed, and that find the largest magnitude, equal the
CPU path in every bit; test/Integration/CPU compares that with numpy. For f16 and f32,
quantize-seed-f16.test and quantize-seed-f32.test.

TIER: slow
RUN: %python %s mx-run %t bf16 sm_100a
REQUIRES: compiler, numpy
"""

import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "Inputs"), os.path.join(here, "..", "CPU")]
import mx_reference as ref
import quantize_inputs as inputs
from cpu_path import FLOATS

mx_run, directory, types, *chips = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
COLUMNS = 160
SEED = -0x61C8864680B583EB


def program(dtype, rows):
    x = f"tensor<{rows}x{COLUMNS}x{dtype}>"
    lines, names, results = [], [], []
    for i, (element, options, block, scale) in enumerate(
        [(element, "", 32, "f8E8M0FNU") for element in ref.ELEMENTS] +
        [("f4E2M1FN", "block_size = 16", 16, "f8E4M3FN")]):
        layout = ["", ", #mx.scale_layout<sf_128x4>"][i % 2]
        e = f"tensor<{rows}x{COLUMNS}x{element}>"
        s = f"tensor<{rows}x{COLUMNS // block}x{scale}{layout}>"
        factor = "global_scale(%g) " if block == 16 else ""
        lines += [
            f"%e{i} = tensor.empty() : {e}", f"%s{i} = tensor.empty() : {s}",
            f"%q{i}:2 = mx.quantize ins(%x : {x}) {factor}seed(%seed) "
            f"outs(%e{i}, %s{i} : {e}, {s}) {options} -> {e}, {s}"]
        names += [f"%q{i}#0", f"%q{i}#1"]
        results += [e, s]
    lines += ["%m = tensor.empty() : tensor<f32>",
              f"%a = mx.amax ins(%x : {x}) outs(%m : tensor<f32>) -> tensor<f32>"]
    names.append("%a")
    results.append("tensor<f32>")
    return len(names), (
        f"func.func @main(%x: {x}, %g: f32, %seed: i64) -> "
        f"({', '.join(results)}) {{\n" + "\n".join(lines) +
        f"\nreturn {', '.join(names)} : {', '.join(results)}\n}}\n")


def largest(x):
    """Of float32 numbers, NaN above all."""
    if np.isnan(x).any():
        return np.uint32(0x7FFFFFFF)
    return np.abs(x).max().view(np.uint32)


rng = np.random.default_rng(3)
for dtype in types.split(","):
    parts = [inputs.special(dtype), inputs.ties(dtype),
             inputs.exponent_pairs(rng, dtype)]
    whole = inputs.fill(np.concatenate(parts), dtype, COLUMNS)[:200]
    # Finite numbers alone, of which the last is the largest.
    finite = inputs.fill(inputs.ties(dtype), dtype, COLUMNS)[:131]
    finite.flat[-1] = {"f32": 0xFF123456, "bf16": 0xFF12, "f16": 0xFB12}[dtype]
    for name, bits in [("all", whole), ("finite", finite)]:
        path = lambda file: os.path.join(directory, f"{dtype}-{name}-{file}")
        count, text = program(dtype, bits.shape[0])
        with open(path("program.mlir"), "w") as f:
            f.write(text)
        np.save(path("x.npy"),
                bits if dtype == "bf16" else bits.view(FLOATS[dtype]))
        np.save(path("g.npy"), np.float32(37.5))
        np.save(path("seed.npy"), np.int64(SEED))
        for chip in chips:
            command = [mx_run, path("program.mlir"), "--device=sim",
                       f"--chip={chip}", "--check=cpu"]
            command += ["--arg=" + path(f) for f in ["x.npy", "g.npy",
                                                     "seed.npy"]]
            command += ["--result=" + path(f"out{i}.npy") for i in range(count)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{' '.join(command)}\nexit status "
                         f"{done.returncode}\n{done.stdout}{done.stderr}")
            found = np.load(path(f"out{count - 1}.npy")).view(np.uint32)
            with np.errstate(all="ignore"):
                x = bits.view(FLOATS[dtype]).astype(np.float32)
            assert found == largest(x), (dtype, name, chip, found, largest(x))
print("equal")
