# REQUIRES: torch
# RUN: env MX_DEVICE=cpu PYTHONPATH=%S/../Package/Inputs/other_mx:%mx_src/python:%mx_src/test/python %python_torch %s
"""Checks that the operators torch.ops.mx work if another package called mx is installed."""

import mx  # the stand-in of test/Package/Inputs/other_mx
import mx_compiler.torch as mxt
import torch

x = torch.arange(-32, 32, dtype=torch.bfloat16).reshape(1, 64)
elements, scales = mxt.quantize_mxfp8(x)
found = mxt.dequantize(elements, scales, "mxfp8")
assert (found - x).abs().max() <= 32 / 16, found
assert mx.matmul(1, 2) == ("the other package's matmul", 1, 2)
assert hasattr(torch.ops.mx, "quantize") and not hasattr(mx, "torch")
