"""Runs examples/grouped_matmul.mlir with empty, short and long groups and
compares with numpy.

usage: grouped.py MX_RUN FILE.mlir DEVICE DIRECTORY
"""

import os
import subprocess
import sys

import numpy as np
import reference

mx_run, program, device, directory = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
paths = [os.path.join(directory, f"{name}.npy") for name in ("x", "w", "o", "y")]
rng = np.random.default_rng(8)
k, n, failures = 96, 40, 0
cases = [[100, 100, 250, 300], [0, 0, 0, 300], [300, 300], [1, 2, 130, 131, 300], [0, 7, 200]]
for ends in cases:
    x = reference.make_input(rng, 300, k, "specials")
    w = reference.make_input(rng, len(ends) * n, k, "plain").reshape(-1, n, k)
    for path, array in zip(paths, (x, w, np.array(ends, np.int32))):
        np.save(path, array)
    command = [mx_run, program, f"--device={device}", "--check=cpu"]
    command += [text for path in paths[:3] for text in ("--arg", path)]
    subprocess.run(command + ["--result", paths[3]], check=True)
    y = reference.from_bits(np.load(paths[3]))
    a = reference.dequantize(*reference.quantize(reference.from_bits(x)))
    for group, (start, end) in enumerate(zip([0] + ends, ends)):
        b = reference.dequantize(*reference.quantize(reference.from_bits(w[group])))
        wrong, ratio = reference.compare_matmul(y[start:end], a[start:end], b, 2.0**-48)
        print(f"{ends} group {group}: {wrong} wrong, {ratio:.3f} of the bound")
        failures += wrong != 0
sys.exit(failures != 0)
