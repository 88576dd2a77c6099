# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides whether the arguments of a scaled matmul of PyTorch are block-scaled, and in which
formats. Only types and recipes are read, so unsupported calls cost little; scaled_mm.py checks the
other properties."""

import dataclasses
from typing import NamedTuple, Optional

import torch
from torch import Tensor
from torch.nn.functional import ScalingType, SwizzleType

from ..._ops.formats import find_format

_MX = (ScalingType.BlockWise1x32.value,)
_NV = (ScalingType.BlockWise1x16.value,)
_NV_WITH_FACTOR = (*_NV, ScalingType.TensorWise.value)

# Formats, keyed by recipe, element type and scale type.
_FORMATS = {
    (_MX, torch.float8_e4m3fn, torch.float8_e8m0fnu): "mxfp8",
    (_MX, torch.float8_e5m2, torch.float8_e8m0fnu): "mxfp8_e5m2",
    (_MX, torch.float4_e2m1fn_x2, torch.float8_e8m0fnu): "mxfp4",
    (_NV, torch.float4_e2m1fn_x2, torch.float8_e4m3fn): "nvfp4",
    (_NV_WITH_FACTOR, torch.float4_e2m1fn_x2, torch.float8_e4m3fn): "nvfp4",
}
# Older operators have no recipe arguments. Their scale type implies the recipe.
_RECIPES_WITHOUT = {torch.float8_e8m0fnu: _MX, torch.float8_e4m3fn: _NV}

RESULTS = (torch.bfloat16, torch.float16, torch.float32)
BLOCKED = SwizzleType.SWIZZLE_32_4_4.value
PLAIN = SwizzleType.NO_SWIZZLE.value


@dataclasses.dataclass(frozen=True)
class Operand:
    """Operand of a matmul as passed by the caller. This is a dataclass, because torch.compile does
    not support properties of tuples before PyTorch 2.11."""
    name: str                   # name of the argument: mat_a, mat_b
    matrix: Tensor              # mat_a, [.., M, K], or mat_b, [.., K, N]
    scale: Tensor
    factor: Optional[Tensor]    # NVFP4 only
    format: str
    swizzle: int

    @property
    def block(self):
        return find_format(self.format).block

    @property
    def per_byte(self):
        return find_format(self.format).per_byte

    @property
    def scale_name(self):
        return "scale_" + self.name[-1]


class Request(NamedTuple):
    """Arguments of a supported PyTorch call."""
    a: Operand
    b: Operand
    offs: Optional[Tensor]      # grouped matmul only
    bias: Optional[Tensor]
    dtype: torch.dtype
    contraction: tuple
    grouped: bool


def request(mat_a, mat_b, scales_a, recipe_a, swizzle_a, scales_b, recipe_b, swizzle_b,
            *, dtype, bias=None, offs=None, contraction=(), grouped=False):
    """Returns a Request, or None if mx does not support these types and recipes."""
    a = _operand("mat_a", mat_a, scales_a, recipe_a, swizzle_a)
    b = _operand("mat_b", mat_b, scales_b, recipe_b, swizzle_b)
    if a is None or b is None or a.block != b.block or dtype not in RESULTS:
        return None
    if (a.factor is None) != (b.factor is None):
        return None
    if grouped and (mat_a.dim(), mat_b.dim()) not in ((2, 3), (2, 2)):
        return None
    return Request(a, b, offs, bias, dtype, tuple(contraction), grouped)


def request_without_recipes(mat_a, mat_b, scale_a, scale_b, **others):
    """Returns a Request for the arguments of an operator without recipes, or None."""
    recipes = [_RECIPES_WITHOUT.get(s.dtype) for s in (scale_a, scale_b)]
    if None in recipes:
        return None
    return request(mat_a, mat_b, [scale_a], recipes[0], (BLOCKED,), [scale_b],
                   recipes[1], (BLOCKED,), **others)


def _operand(name, matrix, scales, recipe, swizzle):
    recipe = tuple(recipe)
    if len(scales) != len(recipe) or not scales:
        return None
    format = _FORMATS.get((recipe, matrix.dtype, scales[0].dtype))
    if format is None:
        return None
    layout = swizzle[0] if len(swizzle) else PLAIN
    return Operand(name, matrix, scales[0], scales[1] if len(scales) > 1 else None,
                   format, layout)
