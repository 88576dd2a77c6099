"""Squares along rows or columns that end within one equal numpy and the CPU path in every byte: lines of a square that
the input does not have get no scale, which is 0 in tiles.

RUN: %python %s mx-run %t sm_90a
RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy
"""

import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "..", "CPU")]
import mx_reference as ref
from cpu_path import to_array

mx_run, directory, chip = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
LENGTH = 160
ENCODE = np.float32(448 * 6 / 5.0)
# Lines, whether their number is known when compiling, what is quantized, layout, axis: 1 for lines that are rows, 0
# for columns
CASES = [
    (1, True, "f8E4M3FN", "sf_128x4", 1),
    (33, True, "f6E3M2FN", "linear", 1),
    (129, False, "f4E2M1FN", "sf_128x4", 1),
    (150, True, "nvfp4", "sf_128x4", 1),
    (160, False, "f8E5M2", "sf_128x4", 1),
    (8, True, "f8E4M3FN", "sf_128x4", 0),
    (40, True, "f6E3M2FN", "linear", 0),
    (136, False, "f4E2M1FN", "sf_128x4", 0),
    (152, True, "nvfp4", "sf_128x4", 0),
    (160, False, "f8E5M2", "sf_128x4", 0),
]


def types(case):
    count, static, name, layout, axis = case
    element, scale, block = ("f4E2M1FN", "f8E4M3FN", 16) if name == "nvfp4" else (name, "f8E8M0FNU", 32)
    lines = count if static else "?"
    x = f"tensor<{lines}x{LENGTH}xbf16>" if axis else f"tensor<{LENGTH}x{lines}xbf16>"
    outs = [f"tensor<{lines}x{LENGTH}x{element}>",
            f"tensor<{lines}x{LENGTH // block}x{scale}, #mx.scale_layout<{layout}>>"]
    return x, outs, block


def program():
    arguments, lines, names, results = [], [], [], []
    for i, case in enumerate(CASES):
        x, outs, block = types(case)
        arguments.append(f"%x{i}: {x}")
        size = ""
        if not case[1]:
            size = f"%d{i}"
            dimension = "%zero" if case[4] else "%one"
            lines.append(f"%d{i} = tensor.dim %x{i}, {dimension} : {x}")
        lines += [f"%e{i}_{k} = tensor.empty({size}) : {t}" for k, t in enumerate(outs)]
        factor = "global_scale(%g) " if case[2] == "nvfp4" else ""
        lines.append(f"%q{i}:2 = mx.quantize ins(%x{i} : {x}) {factor}outs(%e{i}_0, %e{i}_1 : {', '.join(outs)}) "
                     f"axes = [{case[4]}] block_size = {block} square -> {', '.join(outs)}")
        names += [f"%q{i}#0", f"%q{i}#1"]
        results += outs
    body = "\n".join(["%zero = arith.constant 0 : index", "%one = arith.constant 1 : index", *lines])
    return (f"func.func @main({', '.join(arguments)}, %g: f32) -> ({', '.join(results)}) {{\n{body}\n"
            f"return {', '.join(names)} : {', '.join(results)}\n}}\n")


rng = np.random.default_rng(41)
path = lambda name: os.path.join(directory, f"{chip}-{name}")
with open(path("program.mlir"), "w") as f:
    f.write(program())
command = [mx_run, path("program.mlir"), "--device=sim", "--check=cpu", f"--chip={chip}"]
inputs = [to_array(rng.standard_normal((count, LENGTH) if axis else (LENGTH, count)), "bf16")
          for count, *_, axis in CASES]
for i, array in enumerate([*(array for array, _ in inputs), ENCODE]):
    np.save(path(f"in{i}.npy"), array)
    command.append("--arg=" + path(f"in{i}.npy"))
outs = [path(f"out{i}.npy") for i in range(2 * len(CASES))]
done = subprocess.run(command + [f"--result={o}" for o in outs], capture_output=True, text=True)
if done.returncode:
    sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")

compared = failures = 0
found = iter(outs)
for case, (_, x) in zip(CASES, inputs):
    _, _, name, layout, axis = case
    nvfp4 = name == "nvfp4"
    element = "f4E2M1FN" if nvfp4 else name
    elements, scales = ref.quantize(x if axis else np.ascontiguousarray(x.T), element, nvfp4_encode=ENCODE if nvfp4 else None, square=True)
    scales = ref.tile(scales) if layout == "sf_128x4" else scales
    for what, expected in [("elements", ref.pack(elements, element)), ("scales", scales)]:
        array = np.load(next(found)).view(np.uint8)
        compared += expected.size
        if not np.array_equal(array, expected):
            failures += 1
            print(f"{what} of {case} differ from numpy's")
print(f"{chip}: {compared} bytes compared with numpy, {failures} failures")
sys.exit(failures != 0 or compared < 50000)
