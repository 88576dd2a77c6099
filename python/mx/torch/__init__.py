# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mx for PyTorch: operators, modules, and PyTorch's own names. docs/Torch.md
describes it."""

from .groups import pad_token_groups, rearrange_scales, unpad_token_groups
from .install import install, uninstall
from .linear import mxfp8_grouped_mm, mxfp8_mm
from .moe import moe_layer, route
from .products import weight_only_grouped_mm, weight_only_mm
from .quantize import (dequantize, quantize, quantize_mxfp4, quantize_mxfp8,
                       quantize_nvfp4)
from .scaled import scaled_grouped_mm, scaled_mm

__all__ = ["dequantize", "install", "moe_layer", "mxfp8_grouped_mm", "mxfp8_mm",
           "pad_token_groups", "quantize", "quantize_mxfp4", "quantize_mxfp8",
           "quantize_nvfp4", "rearrange_scales", "route", "scaled_grouped_mm",
           "scaled_mm", "uninstall", "unpad_token_groups",
           "weight_only_grouped_mm", "weight_only_mm"]
