"""mx.pack_weights equals numpy in every byte, on the CPU and on the simulator.

RUN: %python %s mx-run %t sm_90a sm_100a sm_120a
REQUIRES: compiler, numpy

Every format; rows and columns that do not fill tiles, none of them, one of them,
and batches; static and dynamic shapes; destinations full of garbage.
"""

import os
import subprocess
import sys

import numpy as np

import mx_reference as ref
from packed_weights import pack_tiles

mx_run, directory, *chips = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
FORMATS = ["f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN"]
SHAPES = [(0, 64), (64, 0), (64, 64), (128, 192), (1, 8), (65, 72), (63, 64), (200, 264),
          (3, 70, 136), (2, 2, 64, 64), (2, 3, 5, 40), (4, 128, 8)]
# Those that the CPU takes beyond these: a thread of a GPU reads 4 bytes.
ODD = [(65, 66), (1, 2), (2, 7, 130)]
ODD_OF_BYTES = [(7, 3), (64, 65)]
rng = np.random.default_rng(64)


def program(shapes, element, is_dynamic):
    arguments, body, results = [], [], []
    for i, shape in enumerate(shapes):
        sizes = ["?" if is_dynamic else str(size) for size in shape]
        w = f"tensor<{'x'.join(sizes)}x{element}>"
        p = w[:-1] + ", #mx.weight_layout<fragment_64x64>>"
        arguments += [f"%w{i}: {w}", f"%o{i}: {p}"]
        body.append(f"%p{i} = mx.pack_weights ins(%w{i} : {w}) outs(%o{i} : {p}) -> {p}")
        results.append(p)
    names = ", ".join(f"%p{i}" for i in range(len(shapes)))
    types = ", ".join(results)
    body = "\n  ".join(body)
    return (f"func.func @main({', '.join(arguments)}) -> ({types}) {{\n  {body}\n"
            f"  return {names} : {types}\n}}\n")


def run(shapes, element, is_dynamic, device):
    """Bytes compared, and arrays that differ."""
    path = f"{directory}/case.mlir"
    with open(path, "w") as file:
        file.write(program(shapes, element, is_dynamic))
    command, expected = [mx_run, path, *device], []
    for i, shape in enumerate(shapes):
        codes = rng.integers(0, 2 ** int(element[1]), shape).astype(np.uint8)
        expected.append(ref.pack(pack_tiles(codes), element))
        garbage = np.full_like(expected[-1], 0xA5)
        for name, array in (("w", ref.pack(codes, element)), ("o", garbage)):
            np.save(f"{directory}/{name}{i}.npy", array)
            command += ["--arg", f"{directory}/{name}{i}.npy"]
    for i in range(len(shapes)):
        command += ["--result", f"{directory}/p{i}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n"
                 f"{done.stdout[-4000:]}{done.stderr[-4000:]}")
    wrong = 0
    for i, (shape, e) in enumerate(zip(shapes, expected)):
        found = np.load(f"{directory}/p{i}.npy")
        if found.shape != e.shape or (found != e).any():
            print(f"{device} {element} {shape}: {found.shape} and {e.shape}, "
                  f"{(found != e).sum() if found.shape == e.shape else '?'} bytes differ")
            wrong += 1
    return sum(e.size for e in expected), wrong


compared = failures = 0
for number, element in enumerate(FORMATS):
    odd = ODD + (ODD_OF_BYTES if element != "f4E2M1FN" else [])
    devices = [(["--device=cpu"], odd)]
    devices += [(["--device=sim", f"--chip={chip}"], []) for chip in chips]
    # On each device some formats have static shapes.
    for i, (device, more) in enumerate(devices):
        size, wrong = run(SHAPES + more, element, (number + i) % 2 == 0, device)
        compared, failures = compared + size, failures + wrong
print(f"{compared} bytes compared, {failures} arrays differ")
sys.exit(failures != 0 or compared < 3000000)
