"""Tests matmuls with an mx_compiler.Quantized as A and a bf16 array as B, on sm_90a and on the reference path.

TIER: slow
RUN: rm -rf %t && mkdir %t
RUN: env MX_CACHE_DIR=%t MX_PTXAS=none %python -W error %s | FileCheck %s
CHECK: all is well
"""

import itertools
import os

import ml_dtypes
import numpy as np

rng = np.random.default_rng(3)
ends = np.array([0, 70, 71, 150], np.int32)
x = rng.standard_normal((150, 192)).astype(ml_dtypes.bfloat16)
w = rng.standard_normal((4, 80, 192)).astype(ml_dtypes.bfloat16)

for device, name in itertools.product(("cpu", "sim"), ("mxfp8", "mxfp6_e2m3", "nvfp4")):
    os.environ["MX_CHIP"] = "sm_90a"
    import mx_compiler as mx
    mx.set_device(device)
    exact = np.asarray(mx.dequantize(mx.quantize(x, name), "float32")).astype(np.float64)
    for found, wanted, bound in (
            (mx.matmul(mx.quantize(x, name), w[0], "float32"), exact @ w[0].astype(np.float64).T,
             np.abs(exact) @ np.abs(w[0].astype(np.float64)).T),
            (mx.grouped_matmul(mx.quantize(x, name, offsets=ends), w, ends, "float32"),
             np.concatenate([exact[begin:end] @ w[g].astype(np.float64).T for g, (begin, end) in
                             enumerate(zip((0, *ends), ends))]),
             np.concatenate([np.abs(exact[begin:end]) @ np.abs(w[g].astype(np.float64)).T
                             for g, (begin, end) in enumerate(zip((0, *ends), ends))]))):
        # The sum consists of 192 terms, and each addition is rounded to f32 (docs/reference/Spec.md).
        assert (np.abs(np.asarray(found) - wanted) <= 192 * 2.0 ** -23 * bound).all(), (device, name)
print("all is well")
