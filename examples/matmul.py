#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what mx-compile made of matmul.mlir, from Python.

    mx-compile examples/matmul.mlir -o matmul
    MX_RUNTIME=build/gcc/lib/libmx_runtime.so PYTHONPATH=python python3 examples/matmul.py matmul

docs/Python.md explains the package.
"""

import argparse

import mx
import numpy as np


def to_bf16(x):
    """The bits of float32 numbers as bf16, rounded to nearest even."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", help="what mx-compile wrote")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--shape", default="96x160x256", help="MxNxK")
    args = parser.parse_args()
    m, n, k = map(int, args.shape.split("x"))
    rng = np.random.default_rng(0)
    x = to_bf16(rng.standard_normal((m, k)))
    w = to_bf16(rng.standard_normal((n, k)))

    mx.set_device(args.device)
    with mx.Program(args.directory) as program, mx.Stream() as stream:
        matmul = program["main"]
        print(matmul)

        # The long way: all memory is the caller's, and a launch waits for nothing.
        operands = [mx.array(x, stream), mx.array(w, stream)]
        results = matmul.make_results(*operands)
        workspace = matmul.make_workspace(*operands)
        matmul.launch(operands, results, workspace, stream)
        y = results[0].numpy(stream=stream)

        # The short way.
        assert np.array_equal(y, matmul(x, w)[0])
        device = mx.device_info()

    exact = from_bf16(x).astype(np.float64) @ from_bf16(w).astype(np.float64).T
    noise = from_bf16(y) - exact
    ratio = 10 * np.log10((exact**2).sum() / (noise**2).sum())
    print(f"{m} x {n} x {k} on {device.name}: {ratio:.1f} dB")


if __name__ == "__main__":
    main()
