"""Writes the batches of examples/c/moe_layer.c, and checks its results.

usage: batches.py make DIRECTORY
       batches.py check DIRECTORY PROGRAM [DEVICE]
"""

import os
import sys

import moe
import moe_device
import moe_noise
import mx_compiler as mx
import numpy as np

GROUPS, HIDDEN, INNER = 8, 384, 256
# Tokens, rows, and rows per expert.
BATCHES = [(160, 320, [0, 130, 1, 0, 33, 64, 31, 60]),
           (40, 77, [0, 0, 0, 40, 0, 37, 0, 0])]
INPUTS = {"x": "x", "dy": "dy", "rows": "tokens", "prob": "probs", "ends": "ends"}
RESULTS = {"y": "y", "dx": "dx", "dw1": "dw1", "dw2": "dw2", "dprob": "dprobs"}


def make_batch(index):
    """Returns the same batch in every process."""
    tokens, count, sizes = BATCHES[index]
    rng = np.random.default_rng(index)
    rows = np.full(count, -1, np.int32)
    prob = np.full(count, np.nan, np.float32)
    ends = np.cumsum(sizes)
    for part in moe.groups_of(ends):
        size = part.stop - part.start
        # Choose the tokens with the fewest rows, so no token gets more than two rows.
        used = np.bincount(rows[rows >= 0], minlength=tokens)
        rows[part] = np.lexsort((rng.random(tokens), used))[:size]
        prob[part] = rng.uniform(0.1, 1, size)

    def normal(*shape):
        return rng.standard_normal(shape).astype(moe.BF16)

    return {"x": normal(tokens, HIDDEN), "dy": normal(tokens, HIDDEN),
            "rows": rows, "prob": prob, "ends": ends.astype(np.int32)}


def make_weights():
    rng = np.random.default_rng(99)

    def normal(*shape):
        x = rng.standard_normal(shape) / np.sqrt(shape[-1])
        return x.astype(moe.BF16)

    return {"w1b": normal(GROUPS, 2 * INNER, HIDDEN),
            "w2b": normal(GROUPS, HIDDEN, INNER)}


def make(directory):
    def save(name, array):
        path = os.path.join(directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        array.tofile(path)

    for name, array in make_weights().items():
        save(f"{name[:2]}.bin", array)
    for index in range(len(BATCHES)):
        batch = make_batch(index)
        for name, file in INPUTS.items():
            save(f"{index}/{file}.bin", batch[name])


def check(directory, program, device="sim"):
    mx.set_device(device)
    if device == "sim":
        mx.set_simulator_option("sm-count", 3)
    layer = moe_device.open_layer(program, observed=False)
    power = {}
    for index in range(len(BATCHES)):
        v = {**make_batch(index), **make_weights()}
        layer.run(v, "ones")
        for name, file in RESULTS.items():
            path = os.path.join(directory, f"{index}/{file}.bin")
            found = np.fromfile(path, v[name].dtype).reshape(v[name].shape)
            part = moe_device.defined(name, v)
            assert found[part].tobytes() == v[name][part].tobytes(), path
        moe_noise.add_power(power, v)
    moe_noise.expect_ratios(power)


{"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
