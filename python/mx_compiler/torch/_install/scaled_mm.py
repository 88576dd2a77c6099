# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scaled_mm and scaled_grouped_mm with the signatures of torch.nn.functional."""

import math
from typing import Optional, Sequence

import torch
from torch import Tensor
from torch.nn.functional import ScalingType, SwizzleType

from ..._ops import scale_tiles
from .._ops.checks import check_tensor, check_tensors
from .._ops.token_groups import rearrange_scales
from . import expert_group_layouts as layouts
from . import scaled_formats as scaling

_LAYOUTS = {scaling.BLOCKED: "SWIZZLE_32_4_4", scaling.PLAIN: "NO_SWIZZLE"}
_CONTRACTIONS = ((), (-1, -2), (1, 0))


def scaled_mm(mat_a: Tensor, mat_b: Tensor, scale_a: Tensor | list[Tensor],
              scale_recipe_a: ScalingType | list[ScalingType], scale_b: Tensor | list[Tensor],
              scale_recipe_b: ScalingType | list[ScalingType],
              swizzle_a: SwizzleType | list[SwizzleType] | None = None,
              swizzle_b: SwizzleType | list[SwizzleType] | None = None,
              bias: Tensor | None = None, output_dtype: torch.dtype | None = torch.bfloat16,
              contraction_dim: Sequence[int] = (), use_fast_accum: bool = False) -> Tensor:
    """Computes the matmul of mat_a and mat_b with f32 accumulation, like
    torch.nn.functional.scaled_mm for block-scaled matrices, on every chip that mx supports.

    mat_a     [M, K] with dense rows: float8_e4m3fn, float8_e5m2, or float4_e2m1fn_x2
              with two elements per byte
    mat_b     [K, N] with dense columns, in one of the types of mat_a
    scale_a   scales of blocks along K: float8_e8m0fnu with BlockWise1x32, or
              float8_e4m3fn (for float4_e2m1fn_x2) with BlockWise1x16. With
              [BlockWise1x16, TensorWise], a list of the scales and the tensor's f32
              factor
    scale_b   scales of mat_b, whose columns correspond to the rows of mat_a
    swizzle_a, swizzle_b  SWIZZLE_32_4_4: ceil(rows / 128) * 128 times
              ceil(blocks / 4) * 4 scales in any shape; NO_SWIZZLE: [rows, blocks]
    bias      bf16 or f16, [N], or None; added in f32
    output_dtype  bf16, f16 or f32
    contraction_dim  must be (), (-1, -2) or (1, 0)
    use_fast_accum   ignored, because accumulators are f32

    Returns [M, N]. Not differentiable. Raises TypeError or ValueError. Errors name the argument."""
    return run(_asked(mat_a, mat_b, scale_a, scale_recipe_a, swizzle_a, scale_b,
                      scale_recipe_b, swizzle_b, dtype=output_dtype, bias=bias,
                      contraction=contraction_dim))


def scaled_grouped_mm(mat_a: Tensor, mat_b: Tensor, scale_a: Tensor | list[Tensor],
                      scale_recipe_a: ScalingType | list[ScalingType], scale_b: Tensor | list[Tensor],
                      scale_recipe_b: ScalingType | list[ScalingType],
                      swizzle_a: SwizzleType | list[SwizzleType] | None = None,
                      swizzle_b: SwizzleType | list[SwizzleType] | None = None,
                      bias: Tensor | None = None, offs: Tensor | None = None,
                      output_dtype: torch.dtype | None = torch.bfloat16,
                      contraction_dim: Sequence[int] = (), use_fast_accum: bool = False) -> Tensor:
    """Computes a matmul for each expert group, like torch.nn.functional.scaled_grouped_mm for
    block-scaled matrices. `offs`, i32, [G], contains the ends of the groups in device memory.

    mat_a [T, K], mat_b [G, K, N]   The rows of mat_a are divided into groups. Returns
              [T, N]; rows past the last group are undefined. Blocked scales of mat_a
              are the tiles of all groups, back to back, and each group starts a new
              tile. Blocked scales of mat_b are [G, tiles of a matrix]
    mat_a [M, T], mat_b [T, N]      T is divided into groups; their sizes are multiples
              of 32. Returns [G, M, N], a matrix for each group. Blocked scales are the
              tiles of all groups, back to back; the blocks of each group are padded to
              a multiple of 4

    Plain scales are [rows, blocks], or [G, N, blocks] for the matrices of mat_b. For NVFP4, there is
    one factor, or one for each group. The other arguments are described in `scaled_mm`. A bias is
    rejected, as in PyTorch."""
    return run(_asked(mat_a, mat_b, scale_a, scale_recipe_a, swizzle_a, scale_b,
                      scale_recipe_b, swizzle_b, dtype=output_dtype, bias=bias,
                      offs=offs, contraction=contraction_dim, grouped=True))


def run(request):
    """Runs the matmul of a scaling.Request."""
    check(request)
    if not request.a.matrix.numel() or not request.b.matrix.numel():
        y = make_empty(request).zero_()
        return y if request.bias is None else y + request.bias.to(y.dtype)
    if not request.grouped:
        return _matmul(request)
    a, b = request.a, request.b
    return torch.ops.mx.scaled_grouped_matmul(
        a.matrix, b.matrix, a.scale, b.scale, request.offs, a.factor, b.factor, a.format,
        b.format, a.swizzle, b.swizzle, request.dtype)


def run_fake(request):
    """Runs the matmul of a scaling.Request on fake tensors."""
    check(request)
    return make_empty(request)


def make_empty(request):
    """Returns an uninitialized tensor for the result."""
    return request.a.matrix.new_empty(_result_shape(request), dtype=request.dtype)


def check(request):
    """Checks a scaling.Request. Raises TypeError or ValueError. Errors name the argument."""
    a, b = request.a, request.b
    if not request.grouped:
        for side in (a, b):
            if side.matrix.dim() != 2:
                raise ValueError(f"{side.name}: expected 2 dimensions, found shape "
                                 f"{tuple(side.matrix.shape)}")
    if request.contraction not in _CONTRACTIONS:
        raise ValueError("contraction_dim: expected (), (-1, -2) or (1, 0), found "
                         f"{request.contraction}")
    _check_places(request)
    _check_strides(a, a.matrix, "rows")
    _check_strides(b, b.matrix.transpose(-2, -1), "columns (use .transpose(-2, -1) of a "
                                                  "contiguous [.., N, K])")
    _check_reduction(request)
    _check_offs(request)
    _check_bias(request)
    for side in (a, b):
        if side.swizzle not in _LAYOUTS:
            raise ValueError(f"swizzle_{side.name[-1]}: expected SWIZZLE_32_4_4 or "
                             f"NO_SWIZZLE, found {side.swizzle}")
        if side.factor is not None:
            _check_factor(request, side)


def _asked(mat_a, mat_b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b,
           **others):
    check_tensor("mat_a", mat_a)
    check_tensor("mat_b", mat_b)
    for name, scales in (("scale_a", scale_a), ("scale_b", scale_b)):
        for scale in _list(scales):
            check_tensor(name, scale)
    check_tensors(bias=others["bias"], offs=others.get("offs"))

    if not isinstance(others["contraction"], (tuple, list)):
        raise TypeError("contraction_dim: expected (), (-1, -2) or (1, 0), found "
                        f"{others['contraction']!r}")

    def numbers(enums):
        found = (getattr(e, "value", e) for e in _list(enums))
        return tuple(e if isinstance(e, int) else None for e in found)
    found = scaling.request(mat_a, mat_b, _list(scale_a), numbers(recipe_a),
                            numbers(swizzle_a), _list(scale_b), numbers(recipe_b),
                            numbers(swizzle_b), **others)
    if found is not None:
        return found
    def about(matrix, scales, recipe):
        return (f"{matrix.dtype} {tuple(matrix.shape)} with {recipe} scales of "
                f"{[s.dtype for s in _list(scales)]}")
    raise ValueError(
        "scale_recipe_a, scale_recipe_b: expected BlockWise1x32 for float8_e4m3fn, "
        "float8_e5m2 or float4_e2m1fn_x2 with scales of float8_e8m0fnu on both sides, or "
        "BlockWise1x16 (with TensorWise factors on both sides or on none) for "
        "float4_e2m1fn_x2 with scales of float8_e4m3fn, to a result of bfloat16, "
        f"float16 or float32; found mat_a {about(mat_a, scale_a, recipe_a)}, mat_b "
        f"{about(mat_b, scale_b, recipe_b)}, output_dtype {others['dtype']}"
        + (", and for expert groups mat_a of 2 and mat_b of 2 or 3 dimensions"
           if others.get("grouped") else ""))


def _list(x):
    return [] if x is None else x if isinstance(x, (list, tuple)) else [x]


def _check_places(request):
    a, b = request.a, request.b
    named = ((b.name, b.matrix), (a.scale_name, a.scale), (b.scale_name, b.scale),
             (a.scale_name, a.factor), (b.scale_name, b.factor), ("bias", request.bias),
             ("offs", request.offs))
    for name, x in named:
        if x is not None and x.device != a.matrix.device:
            raise ValueError(f"{name}: expected a tensor on {a.matrix.device}, like mat_a, "
                             f"found {x.device}")


def _check_strides(side, k_major, what):
    if k_major.shape[-1] > 1 and k_major.stride(-1) != 1:
        raise ValueError(f"{side.name}: expected dense {what}, found strides "
                         f"{tuple(side.matrix.stride())}")


def _check_reduction(request):
    a, b = request.a, request.b
    left, right = a.matrix.shape[-1] * a.per_byte, b.matrix.shape[-2] * b.per_byte
    if left != right:
        raise ValueError(f"mat_b: expected K = {left}, the last dimension of mat_a"
                         f"{' in elements' if a.per_byte * b.per_byte > 1 else ''}, found {right}")
    multiple = 32 if _is_reduction(request) else a.block
    if left % multiple:
        raise ValueError(f"mat_a: expected K to be a multiple of {multiple}, found {left}")


def _check_offs(request):
    offs = request.offs
    if not request.grouped:
        return
    if offs is None:
        raise ValueError("offs: expected the ends of expert groups, i32, found None")
    if offs.dtype != torch.int32:
        raise TypeError(f"offs: expected int32, found {offs.dtype}")
    if offs.dim() != 1 or not offs.shape[0]:
        raise ValueError("offs: expected 1 dimension and at least one expert group, found "
                         f"shape {tuple(offs.shape)}")
    b = request.b.matrix
    if b.dim() == 3 and b.shape[0] != offs.shape[0]:
        raise ValueError(f"mat_b: expected a matrix for each of {offs.shape[0]} expert "
                         f"groups of offs, found {b.shape[0]}")


def _check_bias(request):
    bias = request.bias
    if bias is None:
        return
    if request.grouped:
        raise ValueError("bias: expected None for expert groups, found a tensor: add it to "
                         "the result")
    wanted = (request.b.matrix.shape[-1],)
    if tuple(bias.shape) != wanted:
        raise ValueError(f"bias: expected shape {wanted}, the columns of mat_b, found "
                         f"{tuple(bias.shape)}")
    if bias.dtype not in scaling.RESULTS:
        raise TypeError(f"bias: expected bfloat16, float16 or float32, found {bias.dtype}")


def _check_factor(request, side):
    counts = (1, request.offs.shape[0]) if request.grouped else (1,)
    if side.factor.dtype != torch.float32 or side.factor.numel() not in counts:
        raise ValueError(
            f"{side.scale_name}: expected a TensorWise factor of float32 with "
            f"{' or '.join(map(str, dict.fromkeys(counts)))} element(s), found "
            f"{side.factor.dtype} with {side.factor.numel()}")


def _is_reduction(request):
    return request.grouped and request.b.matrix.dim() == 2


def _result_shape(request):
    shape = (request.a.matrix.shape[-2], request.b.matrix.shape[-1])
    return (request.offs.shape[0], *shape) if _is_reduction(request) else shape


def _k_major(request):
    """Returns the dense elements [.., rows, K] of both operands."""
    return (request.a.matrix.contiguous(),
            request.b.matrix.transpose(-2, -1).contiguous())


def _matmul(request):
    a, b = _k_major(request)
    factors = [f if f is None else f.reshape(())
               for f in (request.a.factor, request.b.factor)]
    sums = torch.float32 if request.bias is not None else request.dtype
    y = torch.ops.mx.matmul(
        a, b, _scales(request.a, a.shape), _scales(request.b, b.shape),
        request.a.format, request.b.format, sums, _is_blocked(request.a),
        _is_blocked(request.b), *factors)
    return y if request.bias is None else (y + request.bias).to(request.dtype)


# The matmul is a single operator, so torch.compile does not trace the layout conversions.
@torch.library.custom_op("mx::scaled_grouped_matmul", mutates_args=())
def _scaled_grouped_matmul(
        mat_a: Tensor, mat_b: Tensor, scale_a: Tensor, scale_b: Tensor, offs: Tensor,
        factor_a: Optional[Tensor], factor_b: Optional[Tensor], format_a: str,
        format_b: str, swizzle_a: int, swizzle_b: int, dtype: torch.dtype) -> Tensor:
    return _grouped(_request_of_groups(mat_a, mat_b, scale_a, scale_b, offs, factor_a,
                                       factor_b, format_a, format_b, swizzle_a,
                                       swizzle_b, dtype))


@_scaled_grouped_matmul.register_fake
def _(*operands):
    return make_empty(_request_of_groups(*operands))


def _request_of_groups(mat_a, mat_b, scale_a, scale_b, offs, factor_a, factor_b, format_a,
                       format_b, swizzle_a, swizzle_b, dtype):
    return scaling.Request(
        scaling.Operand("mat_a", mat_a, scale_a, factor_a, format_a, swizzle_a),
        scaling.Operand("mat_b", mat_b, scale_b, factor_b, format_b, swizzle_b),
        offs, None, dtype, (), True)


def _grouped(request):
    a, b = _k_major(request)
    per_group = any(f is not None and f.numel() > 1
                    for f in (request.a.factor, request.b.factor))
    factors = [None if f is None or per_group else f.reshape(())
               for f in (request.a.factor, request.b.factor)]
    prepare, mode = ((_reduction, "reduction") if _is_reduction(request) else
                     (_rows, "rows"))
    a, b, scale_a, scale_b = prepare(request, a, b)
    y = torch.ops.mx.grouped_matmul(
        a, b, scale_a, scale_b, request.offs, request.a.format, request.b.format,
        torch.float32 if per_group else request.dtype, mode, True, True, *factors)
    if not per_group:
        return y
    factor = request.a.factor.flatten() * request.b.factor.flatten()
    return (y * _by_row(request, factor)).to(request.dtype)


def _by_row(request, factor):
    """Returns `factor`, with an element for each expert group, in a shape that broadcasts to
    the result."""
    if _is_reduction(request):
        return factor[:, None, None]
    rows = torch.arange(request.a.matrix.shape[0], device=factor.device)
    group = torch.searchsorted(request.offs.long(), rows, right=True)
    return factor[group.clamp(max=factor.shape[0] - 1)][:, None]


def _rows(request, a, b):
    total, blocks = a.shape[0], a.shape[1] * request.a.per_byte // request.a.block
    if _is_blocked(request.a):
        _check_count(request.a, math.prod(scale_tiles.padded(total, blocks)),
                     "or more, as padding of expert groups needs")
        scale_a = layouts.scales_of_rows(_dense(request.a), request.offs, total,
                                               blocks)
    else:
        scale_a = rearrange_scales(_scales(request.a, a.shape), request.offs, "rows")
    scale_b = _scales(request.b, b.shape)
    if not _is_blocked(request.b):
        scale_b = rearrange_scales(scale_b)
    return a, b, scale_a, scale_b


def _reduction(request, a, b):
    sides = []
    for side, elements in ((request.a, a), (request.b, b)):
        rows, total = elements.shape[0], elements.shape[1] * side.per_byte
        if not _is_blocked(side):
            raise ValueError(f"swizzle_{side.name[-1]}: expected SWIZZLE_32_4_4 for "
                             "expert groups along K, found NO_SWIZZLE")
        _check_count(side, math.prod(scale_tiles.padded(rows, total // side.block)),
                     "or more, as padding of expert groups needs")
        sides.append((
            layouts.columns_of_reduction(elements, request.offs, total,
                                               side.per_byte),
            layouts.scales_of_reduction(_dense(side), request.offs, rows, total,
                                              side.block)))
    (a, scale_a), (b, scale_b) = sides
    return a, b, scale_a, scale_b


def _is_blocked(side):
    return side.swizzle == scaling.BLOCKED


def _dense(side):
    if not side.scale.is_contiguous():
        raise ValueError(f"{side.scale_name}: expected dense blocked scales, found "
                         f"strides {tuple(side.scale.stride())}")
    return side.scale


def _check_count(side, least, more=""):
    if side.scale.numel() < least or (not more and side.scale.numel() != least):
        raise ValueError(
            f"{side.scale_name}: expected {least} scales {more or 'in all'} "
            f"(SWIZZLE_32_4_4 of {side.name} of shape {tuple(side.matrix.shape)}), found "
            f"{side.scale.numel()} of shape {tuple(side.scale.shape)}")


def _scales(side, shape):
    """Returns the scales of a matrix or batch without expert groups, in the layout that the
    operators of mx accept."""
    *batch, rows, columns = shape
    blocks = columns * side.per_byte // side.block
    if not _is_blocked(side):
        if tuple(side.scale.shape) != (*batch, rows, blocks):
            raise ValueError(f"{side.scale_name}: expected shape {(*batch, rows, blocks)} "
                             f"of plain scales (NO_SWIZZLE), found {tuple(side.scale.shape)}")
        return side.scale
    padded = (*batch, *scale_tiles.padded(rows, blocks))
    _check_count(side, math.prod(padded))
    return _dense(side).view(padded)
