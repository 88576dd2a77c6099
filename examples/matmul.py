#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the program compiled from matmul.mlir.

    mx-compile examples/matmul.mlir -o matmul
    MX_RUNTIME=build/gcc/lib/libmx_runtime.so PYTHONPATH=python python3 examples/matmul.py matmul

docs/guide/Python.md describes the package.
"""

import argparse

import ml_dtypes
import mx_compiler as mx
import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", help="the directory that mx-compile wrote")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--shape", default="96x160x256", help="MxNxK")
    args = parser.parse_args()
    m, n, k = map(int, args.shape.split("x"))
    rng = np.random.default_rng(0)
    x = rng.standard_normal((m, k)).astype(ml_dtypes.bfloat16)
    w = rng.standard_normal((n, k)).astype(ml_dtypes.bfloat16)

    mx.set_device(args.device)
    with mx.Program(args.directory) as program, mx.Stream() as stream:
        matmul = program["main"]
        print(matmul)

        # With explicit steps, the caller owns all memory, and the launch does not wait.
        operands = [mx.array(x, stream), mx.array(w, stream)]
        results = matmul.make_results(*operands)
        workspace = matmul.make_workspace(*operands)
        matmul.launch(operands, results, workspace, stream)
        y = results[0].numpy(stream=stream)

        # A simple call allocates the memory and waits.
        assert np.array_equal(y, matmul(x, w)[0])
        device = mx.device_info()

    exact = x.astype(np.float64) @ w.astype(np.float64).T
    noise = y.astype(np.float64) - exact
    ratio = 10 * np.log10((exact**2).sum() / (noise**2).sum())
    print(f"{m} x {n} x {k} on {device.name}: {ratio:.1f} dB")


if __name__ == "__main__":
    main()
