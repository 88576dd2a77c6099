# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's arguments of scaled matmuls as matmuls of mx: which of them are
block-scaled, and in which formats. This looks at types and recipes alone, so that a
call which is not ours costs little; scaled.py looks at the rest."""

import dataclasses
from typing import NamedTuple, Optional

import torch
from torch import Tensor
from torch.nn.functional import ScalingType, SwizzleType

from ..._ops.formats import find_format

_MX = (ScalingType.BlockWise1x32.value,)
_NV = (ScalingType.BlockWise1x16.value,)
_NV_WITH_FACTOR = (*_NV, ScalingType.TensorWise.value)

# Recipe, type of elements, type of scales.
_FORMATS = {
    (_MX, torch.float8_e4m3fn, torch.float8_e8m0fnu): "mxfp8_e4m3",
    (_MX, torch.float8_e5m2, torch.float8_e8m0fnu): "mxfp8_e5m2",
    (_MX, torch.float4_e2m1fn_x2, torch.float8_e8m0fnu): "mxfp4",
    (_NV, torch.float4_e2m1fn_x2, torch.float8_e4m3fn): "nvfp4",
    (_NV_WITH_FACTOR, torch.float4_e2m1fn_x2, torch.float8_e4m3fn): "nvfp4",
}
# The older operators have no recipes: the type of the scales says it.
_RECIPES_WITHOUT = {torch.float8_e8m0fnu: _MX, torch.float8_e4m3fn: _NV}

RESULTS = (torch.bfloat16, torch.float16, torch.float32)
BLOCKED = SwizzleType.SWIZZLE_32_4_4.value
PLAIN = SwizzleType.NO_SWIZZLE.value


@dataclasses.dataclass(frozen=True)
class Operand:
    """One side of a matmul, as its caller gave it. A dataclass, as torch.compile knows no
    properties of tuples before PyTorch 2.11."""
    name: str                   # of the argument: mat_a, mat_b
    matrix: Tensor              # mat_a, or mat_b as it is given, [.., K, N]
    scale: Tensor
    factor: Optional[Tensor]    # of NVFP4
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
    """A matmul that PyTorch was asked for."""
    a: Operand
    b: Operand
    offs: Optional[Tensor]      # of a grouped matmul
    bias: Optional[Tensor]
    dtype: torch.dtype
    contraction: tuple
    grouped: bool


def request(mat_a, mat_b, scales_a, recipe_a, swizzle_a, scales_b, recipe_b, swizzle_b,
            *, dtype, bias=None, offs=None, contraction=(), grouped=False):
    """A Request, or None if these types and recipes are not block-scaled."""
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
    """The same for operators that have no recipes."""
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
