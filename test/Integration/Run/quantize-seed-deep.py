"""Stochastic rounding of numbers that lose more than 32 bits, on all paths.

RUN: %python %s mx-run %t
REQUIRES: compiler, numpy

A significand s of 24 bits that loses d > 32 bits rounds up if (s >> (d - 32)) + w
carries out of the 32 bits of the word w. Few words are large enough: numbers are
put where they are, that just carry or just do not.
"""

import os
import subprocess
import sys

import numpy as np
from philox import draw

mx_run, directory = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
ROWS, COLUMNS, SEED = 128, 4096, 12345
# Exponent of the smallest number, largest number, code of -2^exponent, bits.
ELEMENTS = {"f8E4M3FN": (-9, 448, 0x81, 8), "f8E5M2": (-16, 57344, 0x81, 8),
            "f4E2M1FN": (-1, 6, 0x9, 4), "i8": (-6, 127 / 64, 0xFF, 8)}

rng = np.random.default_rng(5)
words = draw((ROWS, COLUMNS), SEED).astype(np.int64)
missing = 2**32 - words
lost = 24 - np.frexp(missing.astype(np.float64))[1]  # s >> lost is `missing`
carries = rng.integers(0, 2, words.shape)
negative = rng.integers(0, 2, words.shape)
significand = (missing << np.maximum(lost, 0)) - (1 - carries)
# One less may have a bit less: then it loses another number of bits.
used = (lost > 0) & (significand >= 2**23)
used[:, ::32] = False  # the largest of each block
print(f"{used.sum()} numbers that lose 33 to {32 + lost[used].max()} bits")
assert used.sum() > 500 and lost[used].max() >= 6


def program():
    x = f"tensor<{ROWS}x{COLUMNS}xf32>"
    arguments, lines, results = [], [], []
    for i, element in enumerate(ELEMENTS):
        e, s = f"tensor<{ROWS}x{COLUMNS}x{element}>", f"tensor<{ROWS}x{COLUMNS // 32}xf8E8M0FNU>"
        arguments.append(f"%x{i}: {x}")
        lines.append(f"""%e{i} = tensor.empty() : {e}
  %s{i} = tensor.empty() : {s}
  %q{i}:2 = mx.quantize ins(%x{i} : {x}) seed(%seed) outs(%e{i}, %s{i} : {e}, {s}) -> {e}, {s}""")
        results += [e, s]
    names = ", ".join(f"%q{i}#{j}" for i in range(len(ELEMENTS)) for j in range(2))
    return (f"func.func @main({', '.join(arguments)}, %seed: i64) -> ({', '.join(results)}) {{\n  " +
            "\n  ".join(lines) + f"\n  return {names} : {', '.join(results)}\n}}\n")


path = lambda name: os.path.join(directory, name)
with open(path("program.mlir"), "w") as file:
    file.write(program())
arguments = []
for element, (unit, largest, _, _) in ELEMENTS.items():
    # d = lost + 32 bits below the unit.
    x = np.where(used, np.ldexp(significand.astype(np.float64), unit - 32 - lost), 0).astype(np.float32)
    x = np.where(negative == 1, -x, x)
    x[:, ::32] = largest
    np.save(path(f"x-{element}.npy"), x)
    arguments.append(path(f"x-{element}.npy"))
np.save(path("seed.npy"), np.int64(SEED))
arguments.append(path("seed.npy"))

failures = 0
for device, *chip in [("cpu",), ("sim", "--chip=sm_90a"), ("sim", "--chip=sm_100a"), ("sim", "--chip=sm_120a")]:
    command = [mx_run, path("program.mlir"), f"--device={device}", *chip, *(f"--arg={a}" for a in arguments)]
    command += [f"--result={path(f'out{i}.npy')}" for i in range(2 * len(ELEMENTS))]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stderr}")
    for i, (element, (_, _, code, bits)) in enumerate(ELEMENTS.items()):
        assert (np.load(path(f"out{2 * i + 1}.npy")) == 127).all(), element
        codes = np.load(path(f"out{2 * i}.npy")).view(np.uint8)
        if bits == 4:
            codes = np.stack([codes & 15, codes >> 4], axis=-1).reshape(ROWS, COLUMNS)
        sign = 0 if element == "i8" else 1 << (bits - 1)
        up = np.where(negative == 1, code, 1)
        expected = np.where(carries == 1, up, np.where(negative == 1, sign, 0))
        wrong = np.argwhere(used & (codes != expected))
        failures += len(wrong)
        for place in wrong[:3]:
            p = tuple(place)
            print(f"{device} {chip} {element} at {p}: expected {expected[p]:#x}, found {codes[p]:#x}; "
                  f"d = {32 + lost[p]}, significand {significand[p]:#x}, word {words[p]:#x}; {len(wrong)} differ")
sys.exit(failures != 0)
