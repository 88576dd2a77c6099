"""Compiled mixture-of-experts layer on a device. The entries run on the arrays that moe_stages.py names. All memory
whose contents must not matter is poisoned.
"""

import mx_compiler as mx
import mx_reference as ref
import numpy as np

# Poison values by element size; other sizes get bytes of 0.
POISON = {
    "zeros": {1: 0, 2: 0, 4: 0},
    "NaN": {1: 0x7F, 2: 0x7FC0, 4: 0x7FC00000},  # E4M3, bf16, f32
    "infinity": {1: 0xFE, 2: 0x7F80, 4: 0x7F800000},  # the largest scale
    "ones": {1: 0xFF, 2: 0xFFFF, 4: 0xFFFFFFFF},  # NaN of scales, row -1
}


def poisoned(shape, dtype, poison):
    dtype = np.dtype(dtype)
    out = np.empty(shape, dtype)
    out.view(f"u{dtype.itemsize}")[...] = POISON[poison][dtype.itemsize]
    return out


def defined(name, v):
    """Returns the defined part of an array."""
    ends, last = v["ends"], int(v["ends"][-1])
    starts = ref.group_starts(ends)
    if name in ("x", "dy"):  # only tokens with rows
        rows = v["rows"][:last]
        return np.unique(rows[(rows >= 0) & (rows < len(v[name]))])
    if name in ("rows", "prob", "gu", "dh", "dprob", "z", "dxp", "dgu"):
        return slice(0, last)
    if name[1:2] != "q":  # weights and dense results are entirely defined
        return slice(None)
    return [slice(0, last),
            ref.defined_tiles(ends),
            (slice(None), slice(0, starts[-1])),
            (slice(None), slice(0, starts[-1] // 128))][int(name[2])]


def with_poison(name, v, poison):
    """Returns a copy of the array with poison in its slack."""
    array = v[name]
    out = poisoned(array.shape, array.dtype, poison)
    part = defined(name, v)
    out[part] = array[part]
    return out


class Layer:
    """Entries of a program, with their arguments and results by name."""

    def __init__(self, directory, entries):
        self.program = mx.Program(directory)
        self.entries = entries

    def call(self, name, v, poison):
        """Calls an entry on the arrays of `v` and adds its results to `v`. Before the call, slack and all output memory
        are poisoned."""
        entry = self.program[name]
        takes, gives = self.entries[name]
        arguments = [mx.array(with_poison(n, v, poison).view(value.storage))
                     for n, value in zip(takes, entry.arguments, strict=True)]
        results = [mx.array(poisoned(shape, value.storage, poison))
                   for value, shape in zip(entry.results,
                                           entry.result_shapes(*arguments))]
        workspace = mx.array(poisoned(entry.workspace_bytes(*arguments), "u1",
                                      poison))
        entry.launch(arguments, results, workspace)
        mx.synchronize()
        for n, result in zip(gives, results, strict=True):
            v[n] = result.numpy(dtype=result.element.storage)

    def run(self, v, poison):
        for name in self.entries:
            self.call(name, v, poison)



WEIGHTS = ["w1", "w1s", "w1t", "w1ts", "w2", "w2s", "w2t", "w2ts"]
SAVED = ["gu", "xq2", "xq3", "hq2", "hq3"]
ENTRIES = {
    "quantize_weights": (["w1b", "w2b"], WEIGHTS),
    "forward": (["x", "rows", "prob", "ends", "w1", "w1s", "w2", "w2s"],
                ["y", *SAVED]),
    "backward": (["dy", "rows", "prob", "ends", *SAVED, "w1t", "w1ts", "w2t",
                  "w2ts"], ["dx", "dw1", "dw2", "dprob"]),
}
# Results added by moe_observe.py.
OBSERVED = {
    "quantize_weights": [],
    "forward": ["xq0", "xq1", "hq0", "hq1", "z"],
    "backward": ["dq0", "dq1", "dq2", "dq3", "dh", "gq0", "gq1", "gq2", "gq3", "dxp"],
}


def open_layer(directory, observed):
    """Compiles examples/moe_layer.mlir, unchanged or with observed intermediate values."""
    return Layer(directory, {
        name: (takes, gives + OBSERVED[name] if observed else gives)
        for name, (takes, gives) in ENTRIES.items()})
