"""Runs a recorded case and compares its results. Used by record.py and replay.py.

A case is a directory with arrays and case.json: the compiled program, the entry, the
arguments, and the bits of the results. Results and workspace contain a pattern before a
run, so unwritten elements are compared too."""

import json
import pathlib

import mx_compiler as mx
import numpy as np

PATTERN = 0xA5
NANS = {"bf16": (0x7F80, 0x7FFF), "f16": (0x7C00, 0x7FFF), "f32": (0x7F800000, 0x7FFFFFFF)}
# Relative error bounds for approximate functions of the chip: two units in the last place, or
# for f32 the documented errors of ex2.approx and tanh.approx.
APPROXIMATE = {"bf16": 2.0**-6, "f16": 2.0**-9, "f32": 2.0**-9}


def element_of(value):
    """Returns the element type of a mx.Value."""
    kind = value.type.partition("<")[2].partition(",")[0] or value.type
    return kind.rstrip(">").rpartition("x")[2]


def fill(array):
    return array.copy_from(np.full(array.nbytes, PATTERN, "u1").view(array.dtype)
                           .reshape(array.shape))


def run(entry, arguments):
    """Calls an entry with arrays and numbers, and returns its results as arrays of bits."""
    given = []
    for argument, value in zip(arguments, entry.arguments, strict=True):
        if value.is_number:
            given.append(value.storage.type(argument))
        else:
            given.append(mx.array(np.asarray(argument, order="C").view(value.storage)))
    results = [fill(result) for result in entry.make_results(*given)]
    entry.launch(given, results, fill(entry.make_workspace(*given)))
    mx.synchronize()
    return [result.numpy(dtype=result.element.storage) for result in results]


def widen(bits, element):
    """Converts bits of floats to f64."""
    if element == "bf16":
        bits = (bits.astype("u4") << 16).view("f4")
    return bits.view({"f16": "f2"}.get(element, "f4")).astype(np.float64)


def count_wrong(found, expected, element, is_approximate=False):
    """Returns the number of elements that differ. All NaNs are equal."""
    if found.shape != expected.shape or found.dtype.itemsize != expected.dtype.itemsize:
        return max(expected.size, 1)
    found, expected = (np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")
                       for x in (found, expected))
    wrong = found != expected
    if element in NANS:
        infinity, mask = NANS[element]
        wrong &= ~(((found & mask) > infinity) & ((expected & mask) > infinity))
    if is_approximate and element in APPROXIMATE:
        x, y = (widen(bits, element) for bits in (found, expected))
        with np.errstate(invalid="ignore"):
            wrong &= ~(np.abs(x - y) <= APPROXIMATE[element] * np.abs(y) + 2.0**-20)
    return int(wrong.sum())


class Case:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.info = json.loads((self.directory / "case.json").read_text())
        self.program = self.info["program"]

    @property
    def name(self):
        return self.directory.name

    def load(self, kind):
        return [np.load(self.directory / x) if isinstance(x, str) else x
                for x in self.info[kind]]

    @staticmethod
    def write(directory, program, entry, arguments, results, is_approximate):
        info = dict(program=program, entry=entry, approximate=is_approximate)
        for kind, values in ("arguments", arguments), ("results", results):
            info[kind] = []
            for i, value in enumerate(values):
                if isinstance(value, np.ndarray):
                    np.save(directory / f"{kind}{i}.npy", value)
                    value = f"{kind}{i}.npy"
                info[kind].append(value)
        (directory / "case.json").write_text(json.dumps(info))
