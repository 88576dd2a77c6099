# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls of block-scaled matrices as PyTorch operators. Both operands are K-major, [..., rows, K].
mx_compiler.torch.scaled_mm computes the same matmuls with PyTorch's signature."""

from typing import Optional

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from ..._arrays.elements import OF_MLIR
from ..._ops import checks as check
from ..._ops import matmuls
from ..._ops.expanded import FOLD, expanded_matmul
from ..._ops.formats import find_format
from . import eager, tensors
from .checks import (add_bias, as_rows, assume_expert_groups, check_flag, check_names,
                     check_one_device, check_tensor, check_tensors, like_rows,
                     refuse_second_order)


# Number of rows, on average of all experts, from which matmuls with `fp8` multiply in FP8.
LEAST_FP8_ROWS = 1024
# Number of weights that the gradient of x dequantizes at least at once.
LEAST_PART = 2**25


def weight_only_mm(x: Tensor, elements: Tensor, scales: Tensor, format: str, bias: Tensor | None = None,
                   *, blocked: bool = True, global_scale: Tensor | None = None, packed: bool = False,
                   fp8: tuple[Tensor, Tensor] | None = None, batch_invariant: bool = False) -> Tensor:
    """Computes x w^T with unquantized activations x and quantized weights w.

    x         bf16, [..., K]
    elements, scales  elements and scales of w, [N, K], which is quantized along K to
              `format`
    bias      [N], or None
    blocked   True if scales are blocked, as in `quantize_mxfp8`
    global_scale  global scale of NVFP4
    packed    True if elements is a result of `pack_weights`; the order of sums may differ
    fp8       result of `normalize_scales(elements, scales)`, or None. With at least 1024 rows, x
              is then quantized to FP8 with a scale per 128 values, and the tensor core adds 128
              products at a time in reduced precision (docs/reference/Spec.md, Folded operands).
              Requires unpacked MXFP4 weights, blocked scales and a multiple of 128 as K, on
              "sm_90a" or the reference path
    batch_invariant  True: a row of the result has the same bits for any number of rows. With
              fp8, x is then quantized for any number of rows

    Returns [..., N] in bf16, accumulated in f32. Differentiable in x and bias. The gradient of x is
    computed with the weights in bf16. These are exact, except for NVFP4 with a global_scale that is
    not a power of two. In this case, the weights are rounded, while the forward pass multiplies the
    f32 sums by global_scale. Raises TypeError or ValueError. Errors name the argument."""
    rows = as_rows(x)
    check_tensor("elements", elements)
    check_tensor("scales", scales)
    _check_options(format, blocked, global_scale, packed, fp8, batch_invariant)
    y = _call(rows, elements, scales, format, blocked, global_scale, packed, *(fp8 or (None, None)),
              bool(batch_invariant))
    return add_bias(like_rows(y, x), bias)


def weight_only_grouped_mm(x: Tensor, elements: Tensor, scales: Tensor, offs: Tensor, format: str, *,
                           blocked: bool = True, global_scale: Tensor | None = None,
                           packed: bool = False, fp8: tuple[Tensor, Tensor] | None = None,
                           batch_invariant: bool = False) -> Tensor:
    """Multiplies the rows of each expert group g in x by the transpose of w[g].

    x         bf16, [T, K]: the rows of group g end at offs[g]
    elements, scales  elements and scales of w, [G, N, K], which is quantized along K to
              `format`
    offs      i32 or i64, [G], in device memory
    blocked, global_scale, packed, fp8, batch_invariant  as in weight_only_mm

    Returns [T, N] in bf16. Rows past the last group are undefined. Differentiable in x, like
    weight_only_mm. Raises TypeError or ValueError. Errors name the argument."""
    for name, given in (("x", x), ("elements", elements), ("scales", scales),
                        ("offs", offs)):
        check_tensor(name, given)
    _check_options(format, blocked, global_scale, packed, fp8, batch_invariant)
    return multiply_grouped(x, elements, scales, offs, format, blocked, global_scale, packed,
                            *(fp8 or (None, None)), bool(batch_invariant))


def _check_options(format, blocked, global_scale, packed, fp8, batch_invariant):
    check_tensors(global_scale=global_scale)
    check_names(format=format)
    if find_format(format).has_global_scale and global_scale is None:
        raise ValueError("global_scale: expected an array, because the format is nvfp4, found None")
    if fp8 is not None:
        if not isinstance(fp8, tuple) or len(fp8) != 2:
            raise TypeError("fp8: expected a result of mx_compiler.torch.normalize_scales or None, "
                            f"found {type(fp8).__name__}")
        check_tensors(fp8_scales=fp8[0], fp8_factors=fp8[1])
    check_flag("blocked", blocked)
    check_flag("packed", packed)
    check_flag("batch_invariant", batch_invariant)


def _check_ends(offs, rows):
    """Checks the ends of expert groups in a host tensor. It can be read without waiting. Programs
    do not check them."""
    most = int(offs.max())
    if most > rows:
        raise ValueError(f"offs: expected ends of at most {rows}, the rows of x, found {most}")


@torch.library.custom_op("mx::matmul", mutates_args=())
def _matmul(a: Tensor, b: Tensor, scale_a: Optional[Tensor], scale_b: Optional[Tensor],
            format_a: Optional[str], format_b: Optional[str], dtype: torch.dtype,
            blocked_a: bool = True, blocked_b: bool = True,
            global_scale_a: Optional[Tensor] = None,
            global_scale_b: Optional[Tensor] = None, packed_b: bool = False) -> Tensor:
    left = _side("a", a, scale_a, format_a, blocked_a, global_scale_a)
    right = _side("b", b, scale_b, format_b, blocked_b, global_scale_b,
                  is_packed=packed_b)
    return matmuls.matmul(left, right, dtype)


@torch.library.custom_op("mx::grouped_matmul", mutates_args=())
def _grouped(a: Tensor, b: Tensor, scale_a: Optional[Tensor], scale_b: Optional[Tensor],
             offsets: Tensor, format_a: Optional[str], format_b: Optional[str],
             dtype: torch.dtype, mode: str = "rows", blocked_a: bool = True,
             blocked_b: bool = True, global_scale_a: Optional[Tensor] = None,
             global_scale_b: Optional[Tensor] = None, packed_b: bool = False) -> Tensor:
    groups = check.vector("offsets", offsets)
    kinds = matmuls.RAGGED.get(mode, (None, None))
    left = _side("a", a, scale_a, format_a, blocked_a, global_scale_a, kinds[0], groups)
    right = _side("b", b, scale_b, format_b, blocked_b, global_scale_b, kinds[1],
                  groups, packed_b)
    return matmuls.grouped_matmul(left, right, tensors.plain(offsets), dtype, mode=mode)


def _side(name, elements, scales, format, blocked, global_scale, ragged=None,
          groups=None, is_packed=False):
    if (scales is None) != (format is None):
        raise ValueError(f"scale_{name}: expected both scales and format_{name}, or "
                         "neither, found only one of them")
    if format is None and is_packed:
        raise ValueError(f"packed_{name}: expected False without a format_{name}, found True")
    if format is None:
        return tensors.plain(elements)
    return tensors.quantized(name, elements, scales, format, blocked, ragged,
                             groups if ragged else None, global_scale, is_packed)


def _check_k(a, b, names="ab"):
    if a[-1] != b[-1]:
        raise ValueError(f"{names[1]}: expected K = {a[-1]}, the last dimension of "
                         f"{names[0]}, found shape {tuple(b)}")


@_matmul.register_fake
def _(a, b, scale_a, scale_b, format_a, format_b, dtype, blocked_a=True, blocked_b=True,
      global_scale_a=None, global_scale_b=None, packed_b=False):
    check.element("dtype", dtype, check.MATRICES)
    check_one_device(a=a, b=b, scale_a=scale_a, scale_b=scale_b,
                     global_scale_a=global_scale_a, global_scale_b=global_scale_b)
    left = tensors.matrix_shape(a.shape, format_a)
    right = tensors.matrix_shape(b.shape, format_b, packed_b)
    _check_k(left, right)
    return a.new_empty((*left[:-1], right[-2]), dtype=dtype)


@_grouped.register_fake
def _(a, b, scale_a, scale_b, offsets, format_a, format_b, dtype, mode="rows",
      blocked_a=True, blocked_b=True, global_scale_a=None, global_scale_b=None,
      packed_b=False):
    check.element("dtype", dtype, check.MATRICES)
    check.one_of("mode", mode, matmuls.MODES)
    check_one_device(a=a, b=b, scale_a=scale_a, scale_b=scale_b, offsets=offsets,
                     global_scale_a=global_scale_a, global_scale_b=global_scale_b)
    left = tensors.matrix_shape(a.shape, format_a)
    right = tensors.matrix_shape(b.shape, format_b, packed_b)
    if mode == "reduction":
        dims = (offsets.shape[0], left[-2], right[-2])
    else:
        _check_k(left, right)
        dims = (*left[:-1], right[-2])
    return a.new_empty(dims, dtype=dtype)


# --- Weight-only matmuls. The gradient of x uses the dequantized weights ---------------


def _check_fp8(weights, scales, format, blocked, packed, fp8_scales, fp8_factors):
    if format.name != "mxfp4":
        raise ValueError(f"format: expected mxfp4 with fp8, found {format.name}: only products of "
                         "MXFP4 elements and scales are exact in FP8")
    if packed or not blocked:
        raise ValueError(f"fp8: expected None with packed = {packed} and blocked = {blocked}: "
                         "pass unpacked elements and blocked scales")
    check.multiple("elements", "K with fp8", weights[-1], FOLD)
    for name, x, dtype, shape in (("scales", fp8_scales, scales.dtype, scales.shape),
                                  ("factors", fp8_factors, torch.float32, weights[-2:-1])):
        if x.dtype != dtype or x.shape != shape:
            raise ValueError(f"fp8: expected {name} of {dtype} and shape {tuple(shape)}, found "
                             f"{x.dtype} and shape {tuple(x.shape)}")


def _check_weight_only(x, elements, scales, format, blocked, global_scale, packed,
                       fp8_scales=None, fp8_factors=None, offs=None):
    check.matrix("x", x, ("bf16",))
    check.matrix("elements", elements, tuple(OF_MLIR))
    of = check.matmul_format("format", format)
    if global_scale is not None and not of.has_global_scale:
        raise ValueError("global_scale: expected None, unless the format is nvfp4, found an array")
    if packed:
        tensors.check_packed("elements", elements, of)
    weights = tensors.matrix_shape(elements.shape, of, packed)
    _check_k(x.shape, weights, ("x", "elements"))
    if offs is not None and (check.vector("offs", offs),) != tuple(weights[:-2]):
        raise ValueError("offs, elements: expected an end for each matrix, found "
                         f"{offs.shape[0]} and elements of shape {tuple(weights)}")
    _check_scales(scales, weights, of, blocked)
    if fp8_scales is not None:
        _check_fp8(torch.Size(weights), scales, of, blocked, packed, fp8_scales, fp8_factors)


_check_weight_only_once = tensors.once(_check_weight_only)


def _check_scales(scales, weights, format, blocked):
    known = tensors.scales_shapes(weights, format, blocked)
    if tuple(scales.shape) not in known:
        raise ValueError(f"scales: expected shape {known[0]}, of "
                         f"{'blocked' if blocked else 'plain'} scales of weights of "
                         f"shape {tuple(weights)}, found {tuple(scales.shape)}")
    dtype = tensors.dtype_of(format.scales)
    if scales.dtype not in (dtype, torch.uint8):
        raise TypeError(f"scales: expected {dtype} or their bits, torch.uint8, found "
                        f"{scales.dtype}")


def _address(x):
    return x if x is None else x.data_ptr()


# Operands of weights, keyed by their elements: modules pass the same tensors in each call.
_operands = WeakTensorKeyDictionary()


def operand(elements, scales, format, blocked, global_scale, packed):
    """Returns the operand of a weight. Without the global scale of NVFP4, the caller
    must apply it to the results."""
    about = (*map(_address, (elements, scales, global_scale)), elements.dtype, scales.dtype, elements.shape,
             scales.shape, elements.stride(), scales.stride(), format, blocked, packed)
    known = _operands.get(elements)
    if known is None or known[0] != about:
        found = _side("b", elements, scales, format, blocked, global_scale, is_packed=packed)
        # A copy would miss later changes.
        if about[:3] != tuple(map(_address, (found.elements, found.scales, found.global_scale))):
            return found
        known = _operands[elements] = about, found
    return known[1]


def _multiply(x, elements, scales, offs, format, blocked=True, global_scale=None,
              packed=False, fp8_scales=None, fp8_factors=None, batch_invariant=False):
    _check_weight_only_once(x, elements, scales, format, blocked, global_scale, packed, fp8_scales,
                            fp8_factors, offs)
    if not x.shape[0]:
        return _empty(x, elements, format, packed, -2)
    matrices = 1 if offs is None else offs.shape[0]
    if fp8_scales is not None and (batch_invariant or x.shape[0] >= LEAST_FP8_ROWS * matrices):
        if offs is not None and not offs.is_cuda:
            _check_ends(offs, x.shape[0])
        weights = tensors.quantized("elements", elements, fp8_scales, format, True)
        return expanded_matmul(tensors.plain(x), weights, tensors.plain(fp8_factors),
                               tensors.plain(offs))
    x = tensors.plain(x)
    weights = operand(elements, scales, format, blocked, global_scale, packed)
    if offs is None:
        return matmuls.matmul(x, weights, torch.bfloat16, in_order=batch_invariant)
    if not offs.is_cuda:
        _check_ends(offs, x.shape[0])
    return matmuls.grouped_matmul(x, weights, tensors.plain(offs), torch.bfloat16,
                                  in_order=batch_invariant)


def _fake_multiply(x, elements, scales, offs, format, blocked=True, global_scale=None,
                   packed=False, fp8_scales=None, fp8_factors=None, batch_invariant=False):
    assume_expert_groups(offs)
    check_one_device(x=x, elements=elements, scales=scales, offs=offs,
                     global_scale=global_scale, fp8_scales=fp8_scales, fp8_factors=fp8_factors)
    _check_weight_only(x, elements, scales, format, blocked, global_scale, packed, fp8_scales,
                       fp8_factors, offs)
    return _empty(x, elements, format, packed, -2)


def _empty(x, elements, format, packed, dimension):
    """Returns an uninitialized result. The number of its columns is the extent `dimension` of the
    weights."""
    return x.new_empty((x.shape[0],
                        tensors.matrix_shape(elements.shape, format, packed)[dimension]))


def _without_offs(function):
    return lambda x, elements, scales, *rest: function(x, elements, scales, None, *rest)


def _dequantize(elements, scales, format, dtype, blocked, global_scale, packed):
    if packed:
        elements = torch.ops.mx.unpack_weights(elements, format)
    if global_scale is None and find_format(format).has_global_scale:
        global_scale = torch.ones((), dtype=torch.float32, device=elements.device)
    return torch.ops.mx.dequantize(elements, scales, format, dtype, blocked, global_scale)


@tensors.operator("weight_only_grouped_mm_backward")
def _weight_only_grouped_dx(dy: Tensor, elements: Tensor, scales: Tensor, offs: Tensor,
                            format: str, blocked: bool,
                            global_scale: Optional[Tensor],
                            packed: bool = False) -> Tensor:
    """Computes the gradient of x. This is an operator, so traces do not depend on whether there
    are rows. Weights are dequantized in parts, because a layer in bf16 may take more memory than all
    other tensors of a step. A part is larger than four times dy and dx, so copies of rows take less
    time than the dequantization."""
    count = dy.shape[0]
    if not count:               # grouped_mm does not support matrices without rows
        return _empty(dy, elements, format, packed, -1)
    experts, n, k = tensors.matrix_shape(elements.shape, format, packed)
    step = max(LEAST_PART, 4 * count * (n + k)) // (n * k) + 1
    # grouped_mm requires rows with a multiple of 16 bytes.
    more = -n % 8
    dy = torch.nn.functional.pad(dy, (0, more)) if more else dy.contiguous()
    offs = offs.to(torch.int32)

    def multiply(dy, ends, part):
        weight = _dequantize(elements[part], scales[part], format, dy.dtype, blocked, global_scale, packed)
        weight = torch.nn.functional.pad(weight, (0, 0, 0, more)) if more else weight
        return torch.nn.functional.grouped_mm(dy, weight, offs=ends)

    if step >= experts:
        return multiply(dy, offs, slice(None))
    rows = torch.arange(count, device=dy.device)
    dx = dy.new_empty(count + 1, k)     # the last row receives rows of other parts
    for first in range(0, experts, step):
        part = slice(first, first + step)
        places = rows + (offs[first - 1] if first else 0)
        y = multiply(dy[places.clamp(max=count - 1)], offs[part] - places[0].int(), part)
        dx[torch.where(places < offs[part][-1], places, count)] = y
    return dx[:-1]


@_weight_only_grouped_dx.register_fake
def _(dy, elements, scales, offs, format, blocked, global_scale, packed=False):
    return _empty(dy, elements, format, packed, -1)


def _keep_weights(ctx, inputs, output):
    *weights, ctx.format, ctx.blocked, factor, ctx.packed = inputs[1:-3]
    ctx.save_for_backward(*weights, factor)


def _differentiate(ctx, dy):
    *weights, factor = ctx.saved_tensors
    about = ctx.format, ctx.blocked, factor, ctx.packed
    if len(weights) == 2:
        dx = dy @ _dequantize(*weights, ctx.format, dy.dtype, *about[1:])
    else:
        dx = torch.ops.mx.weight_only_grouped_mm_backward(dy, *weights, *about)
    return dx, *[None] * (len(weights) + 7)


def _define(name, offs, change):
    definition = tensors.define(
        name, f"(Tensor x, Tensor elements, Tensor scales, {offs}str format, bool blocked=True, "
        "Tensor? global_scale=None, bool packed=False, Tensor? fp8_scales=None, "
        "Tensor? fp8_factors=None, bool batch_invariant=False) -> Tensor",
        change(_multiply), change(_fake_multiply))
    return eager.operator(definition, _differentiate, _keep_weights)


refuse_second_order("weight_only_grouped_mm_backward")
_call = _define("weight_only_mm", "", _without_offs)
# A global_scale of None, for NVFP4, leaves the global scales to the caller.
multiply_grouped = _define("weight_only_grouped_mm", "Tensor offs, ", lambda function: function)
