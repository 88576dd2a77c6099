#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a template with the mx_compiler package and runs the program in the same process.

    PYTHONPATH=PREFIX/lib/python python3 examples/compile.py --device=sim

docs/guide/Python.md describes the package."""

import argparse

import ml_dtypes
import mx_compiler as mx
import numpy as np

# Compilation fixes the matrix sizes and the activation type; the number of rows may differ between
# calls.
TEXT = """
func.func @main(%x: tensor<?x${inner}x${dtype}>, %w: tensor<${outer}x${inner}x${dtype}>) -> tensor<?x${outer}xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x${inner}x${dtype}>
  %empty = tensor.empty(%m) : tensor<?x${outer}xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x${outer}xf32>) -> tensor<?x${outer}xf32>
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                      affine_map<(m, n, k) -> (n, k)>,
                                      affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %w : tensor<?x${inner}x${dtype}>, tensor<${outer}x${inner}x${dtype}>)
      outs(%zeros : tensor<?x${outer}xf32>) -> tensor<?x${outer}xf32>
  return %y : tensor<?x${outer}xf32>
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="sim")
    parser.add_argument("--inner", type=int, default=64)
    parser.add_argument("--outer", type=int, default=32)
    args = parser.parse_args()
    mx.set_device(args.device)
    x = (np.ones((4, args.inner)) * [[1], [2], [3], [4]]).astype(ml_dtypes.bfloat16)
    w = np.ones((args.outer, args.inner), ml_dtypes.bfloat16)
    template = mx.Template(TEXT)
    print(template)
    # The pipeline first quantizes the matmuls' operands to MXFP8.
    with mx.compile(template, inner=args.inner, outer=args.outer, dtype=x.dtype,
                    pipeline="builtin.module(mx-quantize-matmuls)") as program:
        y, = program["main"](x, w)
    expected = x.astype(np.float64) @ w.astype(np.float64).T
    print("right" if np.array_equal(y, expected) else y)
    try:
        mx.compile("func.func @f() { return 1 }")
    except mx.CompileError as error:
        print(error)


main()
