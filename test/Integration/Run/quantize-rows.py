"""Quantizers along rows equal numpy, ml_dtypes and the CPU path in every bit.

TIER: slow
RUN: %python %s mx-run %t sm_90a sm_100a
REQUIRES: compiler, numpy

usage: quantize-rows.py MX_RUN DIRECTORY CHIP... [--all[=FIRST,END]]

Every element type, rounding and scale layout from every input type, in one
program for each input type: sm_100a converts to all of them by itself, sm_90a
only to 8 bits. The inputs have many numbers as the largest of a block, below the
largest and anywhere, in all positions of a block, all pairs of exponents of the
largest and another number, ties, infinities and NaN; rows and columns that do
not fill tiles.

With --all they have all 65536 numbers of bf16 in each of the 32 positions of a
block, as the largest and below it, and are compared with the CPU path alone.
That takes half an hour of one core; FIRST,END runs a part of the positions.
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

mx_run, directory, *rest = sys.argv[1:]
chips = [argument for argument in rest if not argument.startswith("--")]
everything = [argument for argument in rest if argument.startswith("--all")]
os.makedirs(directory, exist_ok=True)
COLUMNS = 416  # 13 blocks: three tiles of columns and a part
COUNT = {"bf16": 12288, "f16": 4096, "f32": 4096}  # numbers that are largest
ENCODES = [1.0, 448 * 6 / 11.0, 1e-30, 1e30, 3e-42, 3.4028235e38]
LAYOUT = {"linear": "", "sf_128x4": ", #mx.scale_layout<sf_128x4>"}


def make_input(rng, dtype):
    if dtype == "f32":
        codes = rng.integers(0, 2**32, COUNT[dtype], dtype=np.uint32)
    else:
        codes = rng.permutation(65536)[:COUNT[dtype]].astype(np.uint16)
    positions = np.arange(codes.size) % 32
    half = codes.size // 2
    numbers = [inputs.blocks_of(rng, codes[:half], dtype, positions[:half]),
               inputs.below_largest(rng, codes[half:], dtype, positions[half:]),
               inputs.exponent_pairs(rng, dtype), inputs.ties(dtype),
               inputs.special(dtype), codes.reshape(-1, 32)]
    return inputs.fill(np.concatenate(numbers), dtype, COLUMNS)


def make_all(rng, shift):
    """All bf16, each in one position as the largest, and below the largest."""
    codes = np.arange(65536).astype(np.uint16)
    positions = (codes + shift) % 32
    return inputs.fill(
        np.concatenate([inputs.blocks_of(rng, codes, "bf16", positions),
                        inputs.below_largest(rng, codes, "bf16", positions),
                        inputs.exponent_pairs(rng, "bf16")]), "bf16", COLUMNS)


def cases():
    """Element type, rounding, layout of scales, number of the encode factor."""
    for element in ref.ELEMENTS:
        for i, rounding in enumerate(["ceil", "floor", "even"]):
            layout = ["sf_128x4", "linear"][(i + len(element)) % 2]
            yield element, rounding, layout, None
    for element in ["f8E4M3FN", "f6E2M3FN", "i8"]:
        yield element, "fit", "linear", None
    for i in range(len(ENCODES)):
        yield "f4E2M1FN", "ceil", ["sf_128x4", "linear"][i % 2], i


def types(case, rows):
    element, _, layout, encode = case
    block, scale = (32, "f8E8M0FNU") if encode is None else (16, "f8E4M3FN")
    return (f"tensor<{rows}x{COLUMNS}x{element}>",
            f"tensor<{rows}x{COLUMNS // block}x{scale}{LAYOUT[layout]}>")


def program(dtype, rows):
    """All cases on one input."""
    x = f"tensor<{rows}x{COLUMNS}x{dtype}>"
    lines, results, names = [], [], []
    for i, case in enumerate(cases()):
        e, s = types(case, rows)
        encode = case[3]
        factor = "" if encode is None else f"global_scale(%g{encode}) "
        options = (f"scale_rounding = {case[1]}" if encode is None else
                   "block_size = 16")
        lines += [
            f"%e{i} = tensor.empty() : {e}", f"%s{i} = tensor.empty() : {s}",
            f"%q{i}:2 = mx.quantize ins(%x : {x}) {factor}"
            f"outs(%e{i}, %s{i} : {e}, {s}) {options} -> {e}, {s}"]
        names += [f"%q{i}#0", f"%q{i}#1"]
        results += [e, s]
    arguments = "".join(f", %g{i}: f32" for i in range(len(ENCODES)))
    return (f"func.func @main(%x: {x}{arguments}) -> ({', '.join(results)}) {{\n"
            + "\n".join(lines) +
            f"\nreturn {', '.join(names)} : {', '.join(results)}\n}}\n")


def run(dtype, bits, chip):
    path = lambda name: os.path.join(directory, f"{chip}-{dtype}-{name}")
    with open(path("program.mlir"), "w") as f:
        f.write(program(dtype, bits.shape[0]))
    np.save(path("x.npy"), bits if dtype == "bf16" else bits.view(FLOATS[dtype]))
    command = [mx_run, path("program.mlir"), "--device=sim", f"--chip={chip}",
               "--arg=" + path("x.npy")]
    if everything or chip == chips[0]:
        command.append("--check=cpu")
    for i, encode in enumerate(ENCODES):
        np.save(path(f"g{i}.npy"), np.float32(encode))
        command.append("--arg=" + path(f"g{i}.npy"))
    outs = [path(f"out{i}.npy") for i in range(2 * len(list(cases())))]
    done = subprocess.run(command + [f"--result={o}" for o in outs],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n"
                 f"{done.stdout}{done.stderr}")
    return [np.load(o) for o in outs]


def expect(x, case):
    element, rounding, layout, encode = case
    elements, scales = ref.quantize(
        x, element, rounding,
        nvfp4_encode=None if encode is None else ENCODES[encode])
    return (ref.pack(elements, element),
            ref.tile(scales) if layout == "sf_128x4" else scales)


rng = np.random.default_rng(11)
if everything:
    first, end = map(int, (everything[0][6:] or "0,32").split(","))
    for shift in range(first, end):
        bits = make_all(np.random.default_rng(shift), shift)
        for chip in chips:
            run("bf16", bits, chip)  # ends here where a bit differs
        print(f"{shift}: {bits.size} numbers right in {len(list(cases()))} "
              f"recipes on {' '.join(chips)}", flush=True)
    sys.exit()

compared = failures = 0
for dtype in COUNT:
    bits = make_input(rng, dtype)
    with np.errstate(all="ignore"):
        x = bits.view(FLOATS[dtype]).astype(np.float32)
    found = {chip: run(dtype, bits, chip) for chip in chips}
    for i, case in enumerate(cases()):
        for j, expected in enumerate(expect(x, case)):
            for chip in chips:
                compared += expected.size
                text = inputs.difference(found[chip][2 * i + j], expected)
                if text:
                    failures += 1
                    what = ["elements", "scales"][j]
                    print(f"{chip} {dtype} {' '.join(map(str, case))} {what}: "
                          f"{text}")
print(f"{compared} values compared, {failures} arrays differ")
sys.exit(failures != 0 or compared < 10000000 * len(chips))
