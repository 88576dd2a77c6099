"""Quantizers whose inputs are quantized already: simulator, CPU and numpy agree.

RUN: %python %s mx-run %t sm_100a
REQUIRES: compiler, numpy

All cases of requantize.py, along rows in registers and through shared memory;
tiles that are not full, and more of them than CTAs. mx-run itself compares every
operation with the CPU path.
"""

import os
import subprocess
import sys

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "Inputs"), os.path.join(here, "..", "CPU")]
import quantize_inputs as inputs
from requantize import Program

mx_run, directory, *chips = sys.argv[1:]
os.makedirs(directory, exist_ok=True)


def run(chip, program):
    """The number of arrays that differ, and of values compared."""
    path = lambda name: os.path.join(directory, f"{chip}-{name}")
    with open(path("program.mlir"), "w") as file:
        file.write(program.text())
    command = [mx_run, path("program.mlir"), "--device=sim", f"--chip={chip}", "--check=cpu"]
    for i, array in enumerate(program.arguments()):
        np.save(path(f"in{i}.npy"), array)
        command.append("--arg=" + path(f"in{i}.npy"))
    expected = list(program.expected())
    outs = [path(f"out{i}.npy") for i in range(len(expected))]
    # Few CTAs, which draw numbers for the other tiles.
    done = subprocess.run(command + [f"--result={o}" for o in outs], capture_output=True, text=True,
                          env={**os.environ, "MX_SIM_SM_COUNT": "1"})
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    wrong = 0
    for out, (name, array) in zip(outs, expected):
        if text := inputs.difference(np.load(out), array):
            print(f"{chip} {name}: {text}")
            wrong += 1
    return wrong, sum(array.size for _, array in expected)


failures = compared = 0
for chip in chips:
    wrong, values = run(chip, Program(5, 160, 96, 160).add_all())
    failures, compared = failures + wrong, compared + values
print(f"{compared} values compared, {failures} arrays differ")
sys.exit(failures != 0 or compared < 600000 * len(chips))
