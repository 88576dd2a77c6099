"""Quantizers through shared memory with squares and with seeds equal the CPU path in every bit, and without a seed numpy.

RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

test/Integration/CPU/stochastic.py compares the CPU path's random numbers with numpy's.
"""

import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "Inputs"), os.path.join(here, "..", "CPU")]
import mx_reference as ref
import quantize_inputs as inputs
from chips import adapt_quantize_schedule
from cpu_path import FLOATS

mx_run, directory, chip = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
SHAPE = (160, 288)  # tiles and parts of tiles both ways
SEED = 0x3141592653589793
ENCODE = 448 * 6 / 11.0
LARGE = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 256], threads = 256, vector = 32, "
         "stage_rows = 32, stages = 2, ctas = 2>}")


def cases(dtype):
    """(axes, element, rounding, layout, factor of the tensor, square, seed, schedule)"""
    for i, element in enumerate(ref.ELEMENTS):
        rounding = ["ceil", "floor", "even"][i % 3]
        layout = ["sf_128x4", "linear"][i % 2]
        yield [[1], [0], [1, 0]][i % 3], element, rounding, layout, None, True, False, ""
    yield [1, 0], "f4E2M1FN", "ceil", "sf_128x4", ENCODE, True, False, ""
    # Random numbers take the simulator long.
    yield [1, 0], "f8E4M3FN", "even", "linear", None, False, True, ""
    if dtype == "bf16":
        yield [0, 1], "f8E5M2", "ceil", "sf_128x4", None, True, True, ""
        yield [0], "i8", "floor", "linear", None, False, True, ""
        yield [0], "f4E2M1FN", "ceil", "linear", ENCODE, False, True, ""
        yield [1, 0], "f8E4M3FN", "ceil", "sf_128x4", None, True, False, adapt_quantize_schedule(LARGE, chip)


def types(case, axis):
    _, element, _, layout, encode, *_ = case
    rows, columns = SHAPE if axis else SHAPE[::-1]
    block, scale = (32, "f8E8M0FNU") if encode is None else (16, "f8E4M3FN")
    encoding = ", #mx.scale_layout<sf_128x4>" if layout == "sf_128x4" else ""
    return [f"tensor<{rows}x{columns}x{element}>", f"tensor<{rows}x{columns // block}x{scale}{encoding}>"]


def program(dtype):
    x = f"tensor<{SHAPE[0]}x{SHAPE[1]}x{dtype}>"
    lines, names, results = [], [], []
    for i, case in enumerate(cases(dtype)):
        axes, _, rounding, _, encode, square, seed, schedule = case
        outs = sum((types(case, axis) for axis in axes), [])
        lines += [f"%e{i}_{k} = tensor.empty() : {t}" for k, t in enumerate(outs)]
        operands = ", ".join(f"%e{i}_{k}" for k in range(len(outs)))
        options = ("block_size = 16 " if encode else "") + ("square " if square else "")
        lines.append(f"%q{i}:{len(outs)} = mx.quantize ins(%x : {x}) {'global_scale(%g) ' if encode else ''}"
                     f"{'seed(%seed) ' if seed else ''}outs({operands} : {', '.join(outs)}) axes = {axes} {options}"
                     f"scale_rounding = {rounding} {schedule} -> {', '.join(outs)}")
        names += [f"%q{i}#{k}" for k in range(len(outs))]
        results += outs
    body = "\n".join(lines)
    return len(names), (f"func.func @main(%x: {x}, %g: f32, %seed: i64) -> ({', '.join(results)}) {{\n{body}\n"
                        f"return {', '.join(names)} : {', '.join(results)}\n}}\n")


def run(dtype, bits):
    path = lambda name: os.path.join(directory, f"{chip}-{dtype}-{name}")
    count, text = program(dtype)
    with open(path("program.mlir"), "w") as f:
        f.write(text)
    np.save(path("x.npy"), bits if dtype == "bf16" else bits.view(FLOATS[dtype]))
    np.save(path("g.npy"), np.float32(ENCODE))
    np.save(path("seed.npy"), np.int64(SEED))
    command = [mx_run, path("program.mlir"), "--device=sim", "--check=cpu", f"--chip={chip}"]
    command += ["--arg=" + path(f"{name}.npy") for name in ["x", "g", "seed"]]
    outs = [path(f"out{i}.npy") for i in range(count)]
    done = subprocess.run(command + [f"--result={o}" for o in outs], capture_output=True, text=True,
                          env={**os.environ, "MX_SIM_SM_COUNT": "2"})
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
    return [np.load(o) for o in outs]


compared = failures = 0
rng = np.random.default_rng(29)
for dtype in ["bf16", "f16", "f32"]:
    parts = [inputs.special(dtype), inputs.ties(dtype), inputs.exponent_pairs(rng, dtype)]
    blocks = rng.permutation(np.concatenate([part.reshape(-1, 32) for part in parts]))
    bits = np.resize(blocks, SHAPE)
    assert bits.shape == SHAPE
    with np.errstate(all="ignore"):
        x = bits.view(FLOATS[dtype]).astype(np.float32)
    outs = iter(run(dtype, bits))
    for case in cases(dtype):
        axes, element, rounding, layout, encode, square, seed, _ = case
        for axis in axes:
            elements, scales = ref.quantize(np.ascontiguousarray(x if axis else x.T), element, rounding, encode,
                                            square=square)
            scales = ref.tile(scales) if layout == "sf_128x4" else scales
            for what, expected in [("elements", ref.pack(elements, element)), ("scales", scales)]:
                found = next(outs)
                if seed and what == "elements":
                    continue
                compared += expected.size
                unequal = inputs.difference(found, expected)
                if unequal:
                    failures += 1
                    print(f"{dtype} axis {axis} of {case}, {what}: {unequal}")
print(f"{chip}: {compared} bytes compared with numpy, {failures} failures")
sys.exit(failures != 0 or compared < 600000)
