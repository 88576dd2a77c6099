"""Quantizers along columns, and along both axes from one read, equal numpy,
ml_dtypes and the CPU path in every bit.

RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

Every element type from every input type, with all roundings and layouts of
scales among them, in one program for each input type. The inputs have many
numbers as the largest of a block and anywhere, ties, infinities and NaN; rows
and columns that do not fill tiles.
"""

import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "..", "CPU"), os.path.join(here, "Inputs")]
import mx_reference as ref
import quantize_inputs as inputs
from chips import adapt_quantize_schedule
from cpu_path import BITS, FLOATS

mx_run, directory, chip = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
LAYOUT = {"linear": "", "sf_128x4": ", #mx.scale_layout<sf_128x4>"}
COLUMNS = 416  # 13 blocks: three tiles of columns and a part


ENCODES = [448 * 6 / 11.0, 1e-30]
# Tiles that are loaded in parts, by CTAs of their own or by some that draw
# atomic_counter for them.
PARTS = ("{mxgpu.quantize_schedule = #mxgpu.quantize_schedule<tile = [256, %d], "
         "threads = 128, vector = 32, stage_rows = %d, stages = %d, ctas = 1, raster = "
         "%s>}")


def cases(dtype):
    """Axes, element type, rounding, layout, NVFP4's factor by its number,
    schedule: all of them from bf16, every other one from the rest."""
    step = 1 if dtype == "bf16" else 2
    return list(all_cases())[dtype == "f32"::step]


def all_cases():
    for i, element in enumerate(ref.ELEMENTS):
        for k, axes in enumerate([[0], [1, 0]]):
            rounding = ["ceil", "floor", "even"][(i + k) % 3]
            layout = ["sf_128x4", "linear"][(i // 2 + k) % 2]
            yield axes, element, rounding, layout, None, ""
    for k, axes in enumerate([[0], [1, 0], [0, 1]]):
        yield axes, "f4E2M1FN", "ceil", ["sf_128x4", "linear"][k % 2], k % 2, ""
    for axes, element, layout, encode, part in [
            ([1, 0], "f8E4M3FN", "sf_128x4", None, (256, 64, 2, "linear")),
            ([0], "f6E2M3FN", "sf_128x4", None, (128, 64, 4, "columns, atomic_counter = true")),
            ([0, 1], "f4E2M1FN", "linear", None, (256, 32, 3, "group_m(2), atomic_counter = true")),
            ([1, 0], "f4E2M1FN", "sf_128x4", 0, (128, 128, 2, "hilbert"))]:
        yield axes, element, "ceil", layout, encode, adapt_quantize_schedule(PARTS % part, chip)


def types(case, axis, shape):
    _, element, _, layout, encode, _ = case
    rows, columns = shape if axis else shape[::-1]
    block, scale = (32, "f8E8M0FNU") if encode is None else (16, "f8E4M3FN")
    return [f"tensor<{rows}x{columns}x{element}>",
            f"tensor<{rows}x{columns // block}x{scale}{LAYOUT[layout]}>"]


def program(dtype, shape):
    """All cases on one input."""
    x = f"tensor<{shape[0]}x{shape[1]}x{dtype}>"
    lines, results, names = [], [], []
    for i, case in enumerate(cases(dtype)):
        outs = sum((types(case, axis, shape) for axis in case[0]), [])
        empty = [f"%e{i}_{k}" for k in range(len(outs))]
        lines += [f"{e} = tensor.empty() : {t}" for e, t in zip(empty, outs)]
        encode = case[4]
        factor = "" if encode is None else f"global_scale(%g{encode}) "
        options = (f"scale_rounding = {case[2]}" if encode is None else
                   "block_size = 16")
        lines += [f"%q{i}:{len(outs)} = mx.quantize ins(%x : {x}) {factor}"
                  f"outs({', '.join(empty)} : {', '.join(outs)}) "
                  f"axes = {case[0]} {options} {case[5]} -> {', '.join(outs)}"]
        names += [f"%q{i}#{k}" for k in range(len(outs))]
        results += outs
    arguments = "".join(f", %g{i}: f32" for i in range(len(ENCODES)))
    return (f"func.func @main(%x: {x}{arguments}) -> ({', '.join(results)}) {{\n"
            + "\n".join(lines) +
            f"\nreturn {', '.join(names)} : {', '.join(results)}\n}}\n")


def run(dtype, bits):
    path = lambda name: os.path.join(directory, f"{chip}-{dtype}-{name}")
    with open(path("program.mlir"), "w") as f:
        f.write(program(dtype, bits.shape))
    np.save(path("x.npy"), bits if dtype == "bf16" else bits.view(FLOATS[dtype]))
    outs = [path(f"out{i}.npy")
            for i in range(sum(2 * len(case[0]) for case in cases(dtype)))]
    command = [mx_run, path("program.mlir"), "--device=sim", "--check=cpu",
               f"--chip={chip}", "--arg=" + path("x.npy")]
    for i, encode in enumerate(ENCODES):
        np.save(path(f"g{i}.npy"), np.float32(encode))
        command.append("--arg=" + path(f"g{i}.npy"))
    done = subprocess.run(command + [f"--result={o}" for o in outs],
                          capture_output=True, text=True,
                          env={**os.environ, "MX_SIM_SM_COUNT": "2"})
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n"
                 f"{done.stdout}{done.stderr}")
    return [np.load(o) for o in outs]


def make_input(rng, dtype):
    """Blocks along columns, in a matrix whose both sides have whole blocks."""
    codes = (rng.integers(0, 2**32, 512, dtype=np.uint32) if dtype == "f32" else
             rng.permutation(65536)[:512].astype(np.uint16))
    blocks = np.concatenate([inputs.blocks_of(rng, codes, dtype),
                             inputs.ties(dtype)[::4], inputs.special(dtype),
                             codes.reshape(-1, 32)])
    bits = inputs.fill(blocks, dtype, COLUMNS)
    rows = -(-len(bits) // 32) * 32
    padded = np.zeros((rows, COLUMNS), bits.dtype)
    padded[:len(bits)] = bits
    return np.ascontiguousarray(padded.T)


compared = failures = 0
rng = np.random.default_rng(23)
for dtype in ["bf16", "f16", "f32"]:
    bits = make_input(rng, dtype)
    with np.errstate(all="ignore"):
        x = bits.view(FLOATS[dtype]).astype(np.float32)
    outs = iter(run(dtype, bits))
    for axes, element, rounding, layout, encode, schedule in cases(dtype):
        for axis in axes:
            elements, scales = ref.quantize(
                np.ascontiguousarray(x if axis else x.T), element, rounding,
                nvfp4_encode=None if encode is None else ENCODES[encode])
            if layout == "sf_128x4":
                scales = ref.tile(scales)
            for what, expected in [("elements", ref.pack(elements, element)),
                                   ("scales", scales)]:
                found = next(outs)
                compared += expected.size
                unequal = inputs.difference(found, expected)
                if unequal:
                    failures += 1
                    print(f"{dtype} axis {axis} of {axes} {element} {rounding} "
                          f"{layout} {encode} {schedule}, {what}: {unequal}")
print(f"{chip}: {compared} bytes compared, {failures} failures")
sys.exit(failures != 0 or compared < 1300000)
