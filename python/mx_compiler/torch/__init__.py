# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mx for PyTorch: operators, modules, and replacements of PyTorch's own functions.
docs/guide/Torch.md describes the package."""

from . import requirements

requirements.check()

from ._install.install import install, uninstall
from ._checkpoints.load import load
from ._install.scaled_mm import scaled_grouped_mm, scaled_mm
from ._modules.convert import convert_, register_experts
from ._modules.experts import (GroupedExperts, MXGroupedExperts, MXWeightOnlyExperts,
                               MXWeightOnlyGptOssExperts)
from ._modules.fold_report import fold_report
from ._modules.linear import MXLinear
from ._modules.recipes import RECIPES, Recipe
from ._modules.weights_once import quantize_weights_once
from ._modules.weight_only import MXWeightOnlyLinear
from ._ops.experts import moe_layer, route
from ._ops.fp8_mm import fp8_grouped_mm, fp8_mm, fp8_quantize_weight
from ._ops.mxfp8_mm import mxfp8_grouped_mm, mxfp8_mm
from ._ops.normalize_scales import normalize_scales
from ._ops.pack_weights import pack_weights, unpack_weights
from ._ops.quantize import (dequantize, quantize, quantize_mxfp4, quantize_mxfp8,
                            quantize_nvfp4)
from ._ops.token_groups import pad_token_groups, rearrange_scales, unpad_token_groups
from ._ops.weight_only_mm import weight_only_grouped_mm, weight_only_mm
from ._ops import flops as _flops  # registers FLOP counts of the operators above
from ._install import at_exit as _at_exit

_at_exit.register()

__all__ = ["convert_", "dequantize", "fold_report", "fp8_grouped_mm", "fp8_mm",
           "fp8_quantize_weight", "GroupedExperts", "install", "load", "moe_layer",
           "mxfp8_grouped_mm", "mxfp8_mm", "MXGroupedExperts", "MXLinear",
           "MXWeightOnlyExperts", "MXWeightOnlyGptOssExperts", "MXWeightOnlyLinear",
           "normalize_scales", "pack_weights", "pad_token_groups", "quantize", "quantize_mxfp4",
           "quantize_mxfp8", "quantize_nvfp4", "quantize_weights_once", "rearrange_scales", "Recipe",
           "RECIPES", "register_experts", "route", "scaled_grouped_mm", "scaled_mm", "uninstall", "unpack_weights",
           "unpad_token_groups", "weight_only_grouped_mm", "weight_only_mm"]


def __dir__():
    return sorted([*__all__, "__doc__"])
