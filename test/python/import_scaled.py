# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what mx-import-scaled makes of a program. Numbers are compared with a model that shares no code with mx."""

import os
import subprocess
import sys

import numpy as np

# Bits, and the largest number.
ELEMENTS = {
    "f8E4M3FN": (8, 448.0),
    "f8E5M2": (8, 57344.0),
    "f6E3M2FN": (6, 28.0),
    "f6E2M3FN": (6, 7.5),
    "f4E2M1FN": (4, 6.0),
    "!tosa.mxint8": (8, 127 / 64)
}


def pack(codes, element):
    """Codes as mx-run takes them."""
    codes = np.ascontiguousarray(codes, dtype=np.uint8)
    if element == "f4E2M1FN":
        return codes[..., ::2] | codes[..., 1::2] << 4
    return codes.view(np.int8) if element == "!tosa.mxint8" else codes


def unpack(data, element):
    if element != "f4E2M1FN":
        return data.view(np.uint8)
    return np.stack([data & 15, data >> 4], axis=-1).reshape(*data.shape[:-1], -1)


def to_bf16(x):
    """f32 rounded to bf16, as f32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000).astype(np.uint32)
    return np.where(np.isnan(x), np.float32(np.nan), rounded.view(np.float32))


class Importer:

    def __init__(self, mx_run, mx_opt, directory):
        self.mx_run, self.mx_opt, self.directory = mx_run, mx_opt, directory
        self.compared = 0
        os.makedirs(directory, exist_ok=True)

    def path(self, name):
        return os.path.join(self.directory, name)

    def execute(self, *command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")

    def write(self, text):
        with open(self.path("in.mlir"), "w") as f:
            f.write(text)

    def run(self, program, arguments, results=1, device="cpu"):
        name, *options = device.split()
        options.append(f"--device={name}")
        for i, array in enumerate(arguments):
            np.save(self.path(f"in{i}.npy"), array)
            options.append(f"--arg={self.path(f'in{i}.npy')}")
        for i in range(results):
            options.append(f"--result={self.path(f'out{i}.npy')}")
        self.execute(self.mx_run, self.path(program), *options)
        found = [np.load(self.path(f"out{i}.npy")) for i in range(results)]
        return found[0] if results == 1 else found

    def run_imported(self, text, arguments, results=1, device="cpu", passes="", left=()):
        """Runs a program after the import, which must have left nothing of what it is to take."""
        self.write(text)
        pipeline = f"builtin.module({passes}mx-import-scaled,canonicalize,cse)"
        self.execute(self.mx_opt, self.path("in.mlir"), f"--pass-pipeline={pipeline}", "-o", self.path("imported.mlir"))
        with open(self.path("imported.mlir")) as f:
            module = f.read()
        for name in ["arith.scaling", "tosa.", "linalg.matmul", *left]:
            if name in module:
                sys.exit(f"{name} was not imported from\n{text}\n{module}")
        return self.run("imported.mlir", arguments, results, device)

    def same(self, name, found, expected):
        """Equal in every bit, but for the bits of NaN."""
        bits = np.uint32 if found.dtype == np.float32 else np.uint16
        nan = np.isnan(found) & np.isnan(expected)
        wrong = (found.view(bits) != expected.view(bits)) & ~nan
        self.compared += found.size
        if wrong.any():
            i = tuple(np.argwhere(wrong)[0])
            sys.exit(f"{name}: expected {expected[i]!r}, found {found[i]!r} at {i}, {wrong.sum()} of {wrong.size} differ")
