# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizers as PyTorch operators."""

from typing import Optional

import torch
from torch import Tensor

from ..._ops import checks as check
from ..._ops import quantize as quantization
from ..._ops.formats import find_format
from . import eager, tensors
from .checks import (assume_expert_groups, check_flag, check_names, check_one_device,
                     check_tensor, check_tensors)


def quantize_mxfp8(x: Tensor, axis: int | tuple[int, int] = -1, *, element: str = "e4m3",
                   scale_rounding: str = "ceil", blocked: bool = True,
                   offsets: Tensor | None = None) -> tuple[Tensor, ...]:
    """Quantizes to MXFP8, with 8-bit elements and an E8M0 scale for every 32 elements.

    x         f32, bf16 or f16, [batch..., rows, columns]
    axis      -1: blocks of 1x32; -2: blocks of 32x1, with a transposed result,
              [batch..., columns, rows]; (-1, -2): both results, from one read of x
    element   "e4m3" or "e5m2"
    scale_rounding  "ceil" (torchao's RCEIL), "floor" (OCP MX 1.0), "even" or "fit"
    blocked   True: scales in PyTorch's 32_4_4 swizzle, as a matrix with rows and columns
              padded to 128 and 4; False: plain scales, [..., rows, blocks]
    offsets   i32, [groups], in device memory: the rows of expert group g end at
              offsets[g]. With axis -1, the scales of a group start a new tile, in tile
              row offsets[g - 1] // 128 + g. With axis -2, the columns of a group start
              at a multiple of 128, and zeros follow them (docs/guide/Torch.md)

    Returns elements and scales (float8_e8m0fnu). For both axes, returns elements and scales of each
    axis. Not differentiable. Raises TypeError or ValueError. Errors name the argument."""
    formats = {"e4m3": "mxfp8", "e5m2": "mxfp8_e5m2"}
    check.one_of("element", element, tuple(formats))
    return quantize(x, formats[element], axis, scale_rounding, blocked, offsets)


def quantize_mxfp4(x: Tensor, axis: int | tuple[int, int] = -1, *, scale_rounding: str = "ceil",
                   blocked: bool = True, offsets: Tensor | None = None) -> tuple[Tensor, ...]:
    """Quantizes to MXFP4, with E2M1 elements, two per byte (float4_e2m1fn_x2), and an E8M0
    scale for every 32 elements. Arguments and results are as in `quantize_mxfp8`."""
    return quantize(x, "mxfp4", axis, scale_rounding, blocked, offsets)


def quantize_nvfp4(x: Tensor, axis: int | tuple[int, int] = -1, *, global_scale: Tensor | None = None,
                   blocked: bool = True, offsets: Tensor | None = None) -> tuple[Tensor, ...]:
    """Quantizes to NVFP4, with E2M1 elements, an E4M3 scale for every 16 elements, and a global
    scale.

    global_scale  f32 without dimensions, in device memory: factor of the dequantized
                  values; default: largest magnitude / 2688

    Returns elements, scales (float8_e4m3fn) and the global scale. For both axes, returns elements
    and scales of each axis, and then the global scale. The other arguments are as in
    `quantize_mxfp8`."""
    check_tensor("x", x)
    check_tensors(offsets=offsets, global_scale=global_scale)
    check_flag("blocked", blocked)
    given = x.detach(), "nvfp4", _axis(axis), "ceil", blocked, offsets
    if global_scale is None:
        return tuple(_call_nvfp4(*given))
    return (*_call(*given, global_scale), global_scale)


def quantize(x: Tensor, format: str, axis: int | tuple[int, int] = -1, scale_rounding: str = "ceil",
             blocked: bool = True, offsets: Tensor | None = None,
             global_scale: Tensor | None = None) -> tuple[Tensor, ...]:
    """Quantizes to any format of mx.FORMATS. Each 6-bit element is stored in a byte. Arguments and
    results are as in `quantize_mxfp8`, or as in `quantize_nvfp4` for NVFP4."""
    check_tensor("x", x)
    check_tensors(offsets=offsets, global_scale=global_scale)
    check_names(format=format, scale_rounding=scale_rounding)
    check_flag("blocked", blocked)
    return tuple(_call(x.detach(), format, _axis(axis), scale_rounding, blocked, offsets,
                       global_scale))


def dequantize(elements: Tensor, scales: Tensor, format: str, dtype: torch.dtype = torch.bfloat16, *,
               blocked: bool = True, global_scale: Tensor | None = None,
               offsets: Tensor | None = None) -> Tensor:
    """Dequantizes elements and scales to a matrix and rounds once to `dtype`.

    offsets   offsets of the quantization, which must have axis -1
    global_scale  global scale of NVFP4

    Not differentiable. Raises TypeError or ValueError. Errors name the argument."""
    check_tensor("elements", elements)
    check_tensor("scales", scales)
    check_tensors(offsets=offsets, global_scale=global_scale)
    check_names(format=format)
    check_flag("blocked", blocked)
    return torch.ops.mx.dequantize(elements, scales, format, dtype, blocked,
                                   global_scale, offsets)


def _axis(axis):
    """Encodes the axis for operators as an integer. 0 means both axes."""
    axes = check.axes(axis)
    return 0 if len(axes) == 2 else axes[0]


_OF_OPERATOR = {-1: -1, -2: -2, 0: (-1, -2)}


@torch.library.custom_op("mx::quantize", mutates_args=())
def _quantize(x: Tensor, format: str, axis: int, scale_rounding: str, blocked: bool,
              offsets: Optional[Tensor] = None,
              global_scale: Optional[Tensor] = None) -> list[Tensor]:
    return _run(x, format, axis, scale_rounding, blocked, offsets, global_scale)[0]


@torch.library.custom_op("mx::quantize_nvfp4", mutates_args=())
def _quantize_nvfp4(x: Tensor, format: str, axis: int, scale_rounding: str,
                    blocked: bool, offsets: Optional[Tensor] = None) -> list[Tensor]:
    results, factor = _run(x, format, axis, scale_rounding, blocked, offsets, None)
    return [*results, factor]


_call, _call_nvfp4 = eager.operator(_quantize), eager.operator(_quantize_nvfp4)


def _run(x, format, axis, scale_rounding, blocked, offsets, global_scale):
    found = quantization.quantize(
        tensors.plain(x), format, axis=_OF_OPERATOR[axis],
        scale_rounding=scale_rounding, layout=tensors.layout_of(blocked),
        global_scale=tensors.plain(global_scale), offsets=tensors.plain(offsets))
    both = found if axis == 0 else (found,)
    return [part for q in both
            for part in (q.elements, tensors.from_tiles(q.scales, blocked))
            ], both[0].global_scale


@_quantize.register_fake
def _(x, format, axis, scale_rounding, blocked, offsets=None, global_scale=None):
    return _fake(x, format, axis, scale_rounding, blocked, offsets, global_scale)


@_quantize_nvfp4.register_fake
def _(x, format, axis, scale_rounding, blocked, offsets=None):
    return [*_fake(x, format, axis, scale_rounding, blocked, offsets),
            x.new_empty((), dtype=torch.float32)]


def _fake(x, format, axis, scale_rounding, blocked, offsets, global_scale=None):
    format = find_format(format)
    check.one_of("scale_rounding", scale_rounding, quantization.ROUNDINGS)
    shape = check.matrix("x", x, check.MATRICES)[1]
    check_one_device(x=x, offsets=offsets, global_scale=global_scale)
    assume_expert_groups(offsets)
    groups = check.vector("offsets", offsets)
    axes = check.axes(_OF_OPERATOR[axis])
    if -1 in axes:
        check.multiple("x", "columns", shape[-1], format.block)
    if -2 in axes and groups is None:
        check.multiple("x", "rows", shape[-2], format.block)
    ragged = {-1: "rows", -2: "reduction"} if groups is not None else {}
    results = []
    for one in axes:
        own = shape if one == -1 else tensors.transposed_shape(shape, groups)
        results += tensors.make_empty(x, own, format, blocked, ragged.get(one), groups)
    return results


@torch.library.custom_op("mx::dequantize", mutates_args=())
def _dequantize(elements: Tensor, scales: Tensor, format: str, dtype: torch.dtype,
                blocked: bool, global_scale: Optional[Tensor] = None,
                offsets: Optional[Tensor] = None) -> Tensor:
    groups = check.vector("offsets", offsets)
    q = tensors.quantized("elements", elements, scales, format, blocked,
                          None if groups is None else "rows", groups, global_scale)
    return quantization.dequantize(q, dtype, offsets=tensors.plain(offsets))


@_dequantize.register_fake
def _(elements, scales, format, dtype, blocked, global_scale=None, offsets=None):
    format = find_format(format)
    check.element("dtype", dtype, check.MATRICES)
    check_one_device(elements=elements, scales=scales, global_scale=global_scale,
                     offsets=offsets)
    *outer, last = elements.shape
    return elements.new_empty((*outer, last * format.per_byte), dtype=dtype)
