"""The layer of examples/moe_linalg.mlir, before and after mx-quantize-matmuls.

RUN: %python %s mx-run mx-opt %examples %t cpu
RUN: %python %s mx-run mx-opt %examples %t sim
REQUIRES: compiler, numpy

All its loops become grouped matmuls. Results agree with those of bf16 to the signal-to-noise ratio that docs/guide/MoE.md derives for the same
layer in mx operations, in results that have a scale of their own: Gaussian tokens and weights, gate and up of deviation 1.
"""

import os
import subprocess
import sys

import ml_dtypes
import numpy as np

mx_run, mx_opt, examples, directory, device = sys.argv[1:]
os.makedirs(directory, exist_ok=True)
path = lambda name: os.path.join(directory, name)
H, I, G = 384, 256, 8
RATIOS = {"y": 23.64, "dx": 23.41, "dw1": 23.41, "dw2": 23.64, "dprobs": 23.64}
TOLERANCE = 0.25


def execute(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr


# With 2 each for the weights.
LAUNCHES = {"forward": 6, "backward": 11}


def run(program, entry, arguments, results, device):
    options = [f"--device={device}", f"--entry={entry}", "--mx-explain"]
    for i, array in enumerate(arguments):
        np.save(path(f"in{i}.npy"), array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array)
        options.append(f"--arg={path(f'in{i}.npy')}")
    options += [f"--result={path(f'out{i}.npy')}" for i in range(results)]
    explained = execute(mx_run, program, *options)
    if device != "cpu" and f"memory of {entry}: {LAUNCHES[entry]} launches" not in explained:
        sys.exit(f"expected {LAUNCHES[entry]} launches of {entry}, found\n{explained}")
    return [np.load(path(f"out{i}.npy")) for i in range(results)]


plain, quantized = os.path.join(examples, "moe_linalg.mlir"), path("quantized.mlir")
execute(mx_opt, plain, "--mx-quantize-matmuls=recipe=mxfp8-e4m3", "--cse", "--canonicalize", "-o", quantized)
with open(quantized) as f:
    text = f.read()
counts = {word: text.count(word) for word in ["scf.for", "linalg.matmul", " mx.grouped_matmul", " gather("]}
if counts != {"scf.for": 0, "linalg.matmul": 0, " mx.grouped_matmul": 6, " gather(": 4}:
    sys.exit(f"expected all matmuls in groups, found {counts}")
execute(mx_opt, quantized, "--mx-fuse-prologues", "--mx-fuse-epilogues", "--canonicalize", "--cse", "-o",
        path("fused.mlir"))
with open(path("fused.mlir")) as f:
    text = f.read()
counts = {word: text.count(word) for word in [" = mx.", " = linalg.generic", "tensor.concat"]}
if counts != {" = mx.": 16, " = linalg.generic": 1, "tensor.concat": 0}:
    sys.exit(f"expected quantizations and matmuls and one reduction, found {counts}")

rng = np.random.default_rng(3)
normal = lambda deviation, *shape: (deviation * rng.standard_normal(shape)).astype(ml_dtypes.bfloat16)
tokens = 96
# Two experts for each token, which are not equally popular; the last expert group is empty, and two rows are nobody's.
popular = np.array([4, 1, 1, 2, 3, 1, 1, 0]) / 13
experts = np.stack([rng.choice(G, 2, replace=False, p=popular) for _ in range(tokens)])
order = np.argsort(experts.ravel(), kind="stable")
rows = np.append(order // 2, [0, 0]).astype(np.int32)
ends = np.cumsum(np.bincount(experts.ravel(), minlength=G)).astype(np.int32)
probs = rng.uniform(0.3, 1, len(rows)).astype(np.float32)
x, dy = normal(1, tokens, H), normal(1, tokens, H)
w1, w2 = normal(H**-0.5, G, 2 * I, H), normal(I**-0.5, G, H, I)

found = {}
for name, program, where in [("plain", plain, "cpu"), ("quantized", quantized, device)]:
    y, gu = run(program, "forward", [x, rows, probs, ends, w1, w2], 2, where)
    gradients = run(program, "backward", [dy, rows, probs, ends, x, gu.view(ml_dtypes.bfloat16), w1, w2], 4, where)
    found[name] = dict(zip(["y", "dx", "dw1", "dw2", "dprobs"], [y, *gradients]))
    found[name]["dprobs"] = found[name]["dprobs"][:ends[-1]]
failures = 0
for result, expected in RATIOS.items():
    exact = found["plain"][result].astype(np.float64)
    noise = found["quantized"][result] - exact
    ratio = 10 * np.log10((exact**2).sum() / (noise**2).sum())
    print(f"{result}: {ratio:.2f} dB, {expected} predicted")
    failures += not abs(ratio - expected) < TOLERANCE
sys.exit(failures)
