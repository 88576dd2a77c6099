#!/usr/bin/env python3
"""Writes launch files in which every device sends words to every other device.

The kernels are in exchange.ptx. Each device contains a window [source][word] and,
for each source, a flag in a separate line; the receiver sends a flag back
after reading an epoch. `prepare DIR DEVICES EPOCHS SENDER RECEIVER [KEY=N]`
writes DIR/launch.json, `check DIR DEVICES EPOCHS` compares the received words.
"""

import json
import sys

import numpy as np

CTAS, THREADS, LINE = 3, 64, 128
WORDS = CTAS * THREADS


def source(rank, epoch):
    return np.random.default_rng(100 * rank + epoch).integers(0, 1 << 20, WORDS, dtype=np.uint32)


def pointers(buffer, devices, rank, stride):
    """Returns a table with the address of this rank's flag line or window row on each device."""
    return [{"offset": 8 * d, "buffer": buffer, "device": d, "buffer_offset": rank * stride}
            for d in range(devices)]


def device(rank, devices, epochs, sender, receiver, options):
    buffers = {
        "window": {"bytes": devices * WORDS * 4, "fill": "ff", "window": True},
        "flags": {"bytes": devices * LINE, "fill": "zero", "window": True},
        "acks": {"bytes": devices * LINE, "fill": "zero", "window": True},
        "rows": {"bytes": 8 * devices, "patch": pointers("window", devices, rank, WORDS * 4)},
        "signals": {"bytes": 8 * devices, "patch": pointers("flags", devices, rank, LINE)},
        "answers": {"bytes": 8 * devices, "patch": pointers("acks", devices, rank, LINE)},
        "counter": {"bytes": 4, "fill": "zero"},
    }
    launches, outputs = [], {}
    for e in range(1, epochs + 1):
        buffers[f"in{e}"] = {"file": f"in{rank}.{e}.npy"}
        buffers[f"out{e}"] = {"bytes": devices * WORDS * 4}
        outputs[f"out{e}"] = {"file": f"out{rank}.{e}.npy", "dtype": "u32"}
        launches.append({
            "kernel": sender, "grid": [CTAS], "block": [THREADS],
            "args": [{"buffer": "rows"}, {"buffer": "signals"}, {"buffer": f"in{e}"},
                     {"buffer": "counter"}, {"buffer": "acks"}, {"u32": devices}, {"u32": e}]})
        if rank != options.get("deaf"):
            launches.append({
                "kernel": receiver, "grid": [1], "block": [THREADS],
                "args": [{"buffer": "window"}, {"buffer": "flags"}, {"buffer": "answers"},
                         {"buffer": f"out{e}"}, {"u32": devices},
                         {"u32": e + options.get("off", 0)}]})
    if rank == options.get("silent"):
        launches = []
    return {"buffers": buffers, "launches": launches, "outputs": outputs}


def prepare(directory, devices, epochs, sender, receiver, *options):
    options = {key: int(n) for key, n in (o.split("=") for o in options)}
    devices, epochs = int(devices), int(epochs)
    for rank in range(devices):
        for e in range(1, epochs + 1):
            np.save(f"{directory}/in{rank}.{e}.npy", source(rank, e))
    file = {"sm_count": 4, "limits": {"instructions": 1e7},
            "devices": [device(rank, devices, epochs, sender, receiver, options)
                        for rank in range(devices)]}
    with open(f"{directory}/launch.json", "w", encoding="utf-8") as out:
        json.dump(file, out)


def check(directory, devices, epochs):
    for e in range(1, int(epochs) + 1):
        expected = np.concatenate([source(rank, e) for rank in range(int(devices))])
        for rank in range(int(devices)):
            np.testing.assert_array_equal(np.load(f"{directory}/out{rank}.{e}.npy"), expected)


if __name__ == "__main__":
    {"prepare": prepare, "check": check}[sys.argv[1]](*sys.argv[2:])
