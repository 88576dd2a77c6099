"""Runs the layer of examples/moe_linalg.mlir before and after mx-quantize-matmuls.

RUN: %python %s mx-run mx-opt %examples %t cpu
RUN: %python %s mx-run mx-opt %examples %t sim
REQUIRES: compiler, numpy

All loops become grouped matmuls. The signal-to-noise ratios against bf16 match those that docs/guide/MoE.md derives for
the same layer of mx operations; each result has its own tolerance. Tokens and weights are Gaussian, and the deviation
of gate and up is 1.
"""

import os

import numpy as np
from harness import BF16, Harness

test = Harness("mx_run", "mx_opt", "examples", "folder", "device", seed=3)
H, I, G = 384, 256, 8
RATIOS = {"y": 23.64, "dx": 23.41, "dw1": 23.41, "dw2": 23.64, "dprobs": 23.64}
TOLERANCE = 0.25

# Number of launches of each entry, including one quantizer for each of the two weights. Each
# weight needs two more kernels than on the other path.
LAUNCHES = {"forward": 6, "backward": 11}


def run(program, entry, arguments, results, device):
    done, outs = test.call(program, arguments, results, f"--entry={entry}", "--mx-explain", device=device)
    if device != "cpu":
        test.require(f"{LAUNCHES[entry]} launches of {entry}",
                     f"memory of {entry}: {LAUNCHES[entry]} launches" in done.stderr, done.stderr)
    return [np.load(out) for out in outs]


def count(what, text, **expected):
    """Checks that the text contains each word the given number of times."""
    found = {word: text.count(word) for word in expected}
    test.require(what, found == expected, found)


plain = os.path.join(test.examples, "moe_linalg.mlir")
quantized = test.rewrite(plain, "--mx-quantize-matmuls=recipe=mxfp8", "--cse", "--canonicalize")
count("all matmuls in groups", quantized, **{"scf.for": 0, "linalg.matmul": 0, " mx.grouped_matmul": 6, " gather(": 4})
count("quantizations and matmuls and one reduction",
      test.rewrite(quantized, "--mx-fuse-prologues", "--mx-fuse-epilogues", "--canonicalize", "--cse"),
      **{" = mx.": 16, " = linalg.generic": 1, "tensor.concat": 0})

rng = test.rng
normal = lambda deviation, *shape: (deviation * rng.standard_normal(shape)).astype(BF16)
tokens = 96
# Each token selects two experts of different popularity. The last expert group is empty, and two rows are outside
# of all groups.
popular = np.array([4, 1, 1, 2, 3, 1, 1, 0]) / 13
experts = np.stack([rng.choice(G, 2, replace=False, p=popular) for _ in range(tokens)])
order = np.argsort(experts.ravel(), kind="stable")
rows = np.append(order // 2, [0, 0]).astype(np.int32)
ends = np.cumsum(np.bincount(experts.ravel(), minlength=G)).astype(np.int32)
probs = rng.uniform(0.3, 1, len(rows)).astype(np.float32)
x, dy = normal(1, tokens, H), normal(1, tokens, H)
w1, w2 = normal(H**-0.5, G, 2 * I, H), normal(I**-0.5, G, H, I)

found = {}
for name, program, where in [("plain", plain, "cpu"), ("quantized", quantized, test.device)]:
    y, gu = run(program, "forward", [x, rows, probs, ends, w1, w2], 2, where)
    gradients = run(program, "backward", [dy, rows, probs, ends, x, gu, w1, w2], 4, where)
    found[name] = dict(zip(["y", "dx", "dw1", "dw2", "dprobs"], [y, *gradients]))
    found[name]["dprobs"] = found[name]["dprobs"][:ends[-1]]
for result, expected in RATIOS.items():
    exact = found["plain"][result].astype(np.float64)
    noise = found["quantized"][result] - exact
    ratio = 10 * np.log10((exact**2).sum() / (noise**2).sum())
    test.require(f"{result}: {expected} dB", abs(ratio - expected) < TOLERANCE, f"{ratio:.2f}")
test.finish(least=7 + (test.device != "cpu") * 2)
