"""Quantizers of several matrices equal numpy and the CPU path in every byte.

TIER: slow
RUN: %python %s mx-run %t sm_90a
RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

The weights of experts: G x N x K and batches of higher rank, along one axis or both.
Each matrix begins with tiles of its own, of elements and of scales, also where the
rows of the one before fill none.
"""

import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(here, "..", "CPU"))
import mx_reference as ref
from chips import adapt_quantize_schedule
from cpu_path import BITS, FLOATS

mx_run, directory, chip = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
FACTOR = 2.5
SEED = 0x2718281828459045
LARGE = adapt_quantize_schedule(
    "{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, 256], threads = 256, vector = 32, "
    "stage_rows = 64, stages = 2, ctas = 1, raster = group_m(2), atomic_counter = true>}", chip)

# Shape, input, axes, elements, layout, dynamic, options.
CASES = [
    ((3, 100, 64), "bf16", [1], "f8E4M3FN", "sf_128x4", False, ""),
    ((3, 160, 96), "bf16", [1, 0], "f8E4M3FN", "sf_128x4", True, ""),
    ((2, 96, 160), "f32", [0], "f4E2M1FN", "linear", False, ""),
    ((5, 33, 288), "f16", [1], "f8E5M2", "linear", True, ""),
    ((2, 288, 160), "bf16", [0, 1], "f6E3M2FN", "linear", False, ""),
    ((2, 3, 64, 256), "bf16", [1, 0], "i8", "sf_128x4", True, "amax"),
    ((4, 1, 32), "f32", [1], "f6E2M3FN", "sf_128x4", False, ""),
    ((2, 224, 192), "bf16", [1, 0], "f4E2M1FN", "sf_128x4", True, "nvfp4"),
    ((3, 160, 128), "bf16", [1, 0], "f8E4M3FN", "sf_128x4", False, "square"),
    ((3, 100, 96), "bf16", [1], "f8E4M3FN", "sf_128x4", True, "square"),
    ((2, 160, 64), "bf16", [1, 0], "f8E4M3FN", "linear", False, "seed"),
    ((3, 352, 288), "bf16", [1, 0], "f8E4M3FN", "sf_128x4", False, LARGE),
    ((3, 288, 352), "bf16", [1, 0], "f4E2M1FN", "linear", False, LARGE),
    ((1, 128, 128), "bf16", [1, 0], "f8E4M3FN", "sf_128x4", True, ""),
    ((3, 100, 64), "f32", [1], "f8E4M3FN", "sf_128x4", True, "negate"),
]


def program(case):
    shape, dtype, axes, element, layout, dynamic, options = case
    block, scale = (16, "f8E4M3FN") if options == "nvfp4" else (32, "f8E8M0FNU")
    text = lambda sizes: "x".join(map(str, sizes))
    x = f"tensor<{'x'.join('?' * len(shape)) if dynamic else text(shape)}x{dtype}>"
    types = []
    for axis in axes:
        rows, columns = shape[-2:] if axis else shape[:-3:-1]
        types += [f"tensor<{text([*shape[:-2], rows, columns])}x{element}>",
                  f"tensor<{text([*shape[:-2], rows, columns // block])}x{scale}, #mx.scale_layout<{layout}>>"]
    types += ["tensor<f32>"] * (options == "amax")
    empty = [f"%e{i}" for i in range(len(types))]
    results = ", ".join(types)
    return (f"func.func @main(%x: {x}, %g: f32, %seed: i64) -> ({results}) {{\n"
            + "\n".join(f"%e{i} = tensor.empty() : {t}" for i, t in enumerate(types))
            # What is computed before is no part of the kernel.
            + ("\n%in = arith.negf %x : " + x if options == "negate" else "")
            + f"\n%q:{len(types)} = mx.quantize ins({'%in' if options == 'negate' else '%x'} : {x}) {'global_scale(%g)' if options == 'nvfp4' else ''}"
            f" {'seed(%seed)' if options == 'seed' else ''} outs({', '.join(empty)} : {results}) axes = {axes}"
            f" block_size = {block} {options if options in ('square', 'amax') else ''}"
            f" {options if options.startswith('{') else ''} -> {results}\n"
            f"return {', '.join(f'%q#{i}' for i in range(len(types)))} : {results}\n}}\n")


def run(case, rng):
    shape, dtype, axes, element, layout, _, options = case
    x = rng.standard_normal(shape) * np.exp2(rng.integers(-8, 8, shape))
    x[rng.random(shape) < 0.001] = np.nan
    x = x.astype(FLOATS[dtype])
    path = lambda what: os.path.join(directory, f"{chip}-{what}")
    with open(path("program.mlir"), "w") as file:
        file.write(program(case))
    np.save(path("x.npy"), x.view(BITS["bf16"]) if dtype == "bf16" else x)
    np.save(path("g.npy"), np.float32(FACTOR))
    np.save(path("s.npy"), np.int64(SEED))
    outs = [path(f"out{i}.npy") for i in range(2 * len(axes) + (options == "amax"))]
    done = subprocess.run(
        [mx_run, path("program.mlir"), "--device=sim", f"--chip={chip}", "--check=cpu"]
        + [f"--arg={path(a)}.npy" for a in "xgs"] + [f"--result={out}" for out in outs],
        capture_output=True, text=True, env={**os.environ, "MX_SIM_SM_COUNT": "2"})
    if done.returncode:
        sys.exit(f"{case}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    if options == "seed":
        return 0  # compared with the CPU path
    wide = (-x if options == "negate" else x).astype(np.float32).reshape(-1, *shape[-2:])
    wrong = []
    for k, axis in enumerate(axes):
        parts = [ref.quantize(np.ascontiguousarray(matrix if axis else matrix.T), element,
                              nvfp4_encode=FACTOR if options == "nvfp4" else None, square=options == "square")
                 for matrix in wide]
        tile = ref.tile if layout == "sf_128x4" else lambda scales: scales
        for what, want, out in [("elements", [ref.pack(e, element) for e, _ in parts], outs[2 * k]),
                                ("scales", [tile(s) for _, s in parts], outs[2 * k + 1])]:
            want, found = np.stack(want), np.load(out)
            if not np.array_equal(found.view(want.dtype).reshape(want.shape), want):
                wrong.append(f"axis {axis} {what}")
    if options == "amax" and np.isnan(wide).any() != np.isnan(np.load(outs[-1])):
        wrong.append("amax")
    if wrong:
        print(f"{chip} {case}: {', '.join(wrong)} differ")
    return len(wrong)


rng = np.random.default_rng(2026)
failures = sum(run(case, rng) for case in CASES)
print(f"{failures} arrays of {len(CASES)} cases differ")
sys.exit(failures != 0)
