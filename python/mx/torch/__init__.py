# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mx for PyTorch: operators, modules, and PyTorch's own names. docs/Torch.md
describes it."""

from .products import weight_only_grouped_mm, weight_only_mm
from .quantize import (dequantize, quantize, quantize_mxfp4, quantize_mxfp8,
                       quantize_nvfp4)

__all__ = ["dequantize", "quantize", "quantize_mxfp4", "quantize_mxfp8",
           "quantize_nvfp4", "weight_only_grouped_mm", "weight_only_mm"]
