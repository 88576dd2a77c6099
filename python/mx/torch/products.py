# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of block-scaled matrices as operators of PyTorch. Both operands are
K-major here, [..., rows, K]; mx.torch.scaled_mm has PyTorch's own signature."""

from typing import Optional

import torch
from torch import Tensor

from .. import arguments as check
from .. import products
from ..elements import OF_MLIR
from ..formats import find_format
from . import tensors
from .arguments import (add_bias, as_rows, check_one_device, check_tensor,
                        check_tensors)

_RESULTS = ("bf16", "f16", "f32")


def weight_only_mm(x, elements, scales, format, bias=None, *, blocked=True,
                   global_scale=None):
    """x w^T of activations that are not quantized, with weights that are.

    x         bf16, [..., K]
    elements, scales  of w, [N, K], quantized along K to `format`
    bias      [N], or None
    global_scale  of NVFP4

    Returns [..., N] in bf16, summed in f32. Differentiable in x and bias."""
    rows = as_rows(x)
    check_tensor("elements", elements)
    check_tensor("scales", scales)
    check_tensors(global_scale=global_scale)
    y = torch.ops.mx.weight_only_mm(rows, elements, scales, format, blocked,
                                    global_scale)
    return add_bias(y.view(*x.shape[:-1], y.shape[-1]), bias)


def weight_only_grouped_mm(x, elements, scales, offs, format, *, blocked=True,
                           global_scale=None):
    """For each group g of rows of x, x w[g]^T.

    x         bf16, [T, K]: the rows of group g end at offs[g]
    elements, scales  of w, [G, N, K], quantized along K to `format`
    offs      i32, [G], on the device

    Returns [T, N] in bf16; rows behind the last group are not defined.
    Differentiable in x."""
    for name, given in (("x", x), ("elements", elements), ("scales", scales),
                        ("offs", offs)):
        check_tensor(name, given)
    check_tensors(global_scale=global_scale)
    return torch.ops.mx.weight_only_grouped_mm(x, elements, scales, offs, format,
                                               blocked, global_scale)


def _pad_few(x):
    """With rows of any contents, to the next number that has a kernel for few rows."""
    rows, columns = x.shape
    wanted = next((n for n in products.FEW_ROWS if n >= rows), rows)
    if wanted == rows:
        return x
    padded = x.new_empty((wanted, columns))
    padded[:rows] = x
    return padded


@torch.library.custom_op("mx::matmul", mutates_args=())
def _matmul(a: Tensor, b: Tensor, scale_a: Optional[Tensor], scale_b: Optional[Tensor],
            format_a: Optional[str], format_b: Optional[str], dtype: torch.dtype,
            blocked_a: bool = True, blocked_b: bool = True,
            global_scale_a: Optional[Tensor] = None,
            global_scale_b: Optional[Tensor] = None) -> Tensor:
    left = _side("a", a, scale_a, format_a, blocked_a, global_scale_a)
    right = _side("b", b, scale_b, format_b, blocked_b, global_scale_b)
    return products.matmul(left, right, dtype)


@torch.library.custom_op("mx::grouped_matmul", mutates_args=())
def _grouped(a: Tensor, b: Tensor, scale_a: Optional[Tensor], scale_b: Optional[Tensor],
             offsets: Tensor, format_a: Optional[str], format_b: Optional[str],
             dtype: torch.dtype, mode: str = "rows", blocked_a: bool = True,
             blocked_b: bool = True, global_scale_a: Optional[Tensor] = None,
             global_scale_b: Optional[Tensor] = None) -> Tensor:
    groups = check.vector("offsets", offsets)
    kinds = {"rows": ("rows", None), "masked": (None, None),
             "reduction": ("reduction", "reduction")}.get(mode, (None, None))
    left = _side("a", a, scale_a, format_a, blocked_a, global_scale_a, kinds[0], groups)
    right = _side("b", b, scale_b, format_b, blocked_b, global_scale_b, kinds[1],
                  groups)
    return products.grouped_matmul(left, right, tensors.plain(offsets), dtype, mode=mode)


def _side(name, elements, scales, format, blocked, global_scale, ragged=None,
          groups=None):
    if (scales is None) != (format is None):
        raise ValueError(f"scale_{name}: expected scales and their format_{name}, or "
                         "neither of both, found one alone")
    if format is None:
        return tensors.plain(elements)
    return tensors.quantized(name, elements, scales, format, blocked, ragged,
                             groups if ragged else None, global_scale)


def _shape(x, format):
    per_byte = 1 if format is None else find_format(format).per_byte
    return (*x.shape[:-1], x.shape[-1] * per_byte)


def _check_k(a, b, names="ab"):
    if a[-1] != b[-1]:
        raise ValueError(f"{names[1]}: expected K = {a[-1]}, the last dimension of "
                         f"{names[0]}, found shape {tuple(b)}")


@_matmul.register_fake
def _(a, b, scale_a, scale_b, format_a, format_b, dtype, blocked_a=True, blocked_b=True,
      global_scale_a=None, global_scale_b=None):
    check.element("dtype", dtype, _RESULTS)
    check_one_device(a=a, b=b, scale_a=scale_a, scale_b=scale_b,
                     global_scale_a=global_scale_a, global_scale_b=global_scale_b)
    left, right = _shape(a, format_a), _shape(b, format_b)
    _check_k(left, right)
    return a.new_empty((*left[:-1], right[-2]), dtype=dtype)


@_grouped.register_fake
def _(a, b, scale_a, scale_b, offsets, format_a, format_b, dtype, mode="rows",
      blocked_a=True, blocked_b=True, global_scale_a=None, global_scale_b=None):
    check.element("dtype", dtype, _RESULTS)
    check.one_of("mode", mode, products.MODES)
    check_one_device(a=a, b=b, scale_a=scale_a, scale_b=scale_b, offsets=offsets,
                     global_scale_a=global_scale_a, global_scale_b=global_scale_b)
    left, right = _shape(a, format_a), _shape(b, format_b)
    if mode == "reduction":
        dims = (offsets.shape[0], left[-2], right[-2])
    else:
        _check_k(left, right)
        dims = (*left[:-1], right[-2])
    return a.new_empty(dims, dtype=dtype)


# --- Weights alone are quantized: the gradient of x is of the weights as they are read.


def _weight_only_shape(x, elements, format, global_scale):
    """Of the result."""
    check.matrix("x", x, ("bf16",))
    check.matrix("elements", elements, tuple(OF_MLIR))
    check.both_or_none("global_scale", global_scale,
                       find_format(format).has_global_scale or None,
                       "the format is nvfp4")
    weights = _shape(elements, format)
    _check_k(x.shape, weights, ("x", "elements"))
    return x.shape[0], weights[-2]


@torch.library.custom_op("mx::weight_only_mm", mutates_args=())
def _weight_only(x: Tensor, elements: Tensor, scales: Tensor, format: str,
                 blocked: bool = True, global_scale: Optional[Tensor] = None) -> Tensor:
    rows, columns = _weight_only_shape(x, elements, format, global_scale)
    if not rows:
        return x.new_empty((0, columns))
    return _matmul._init_fn(_pad_few(x), elements, None, scales, None, format,
                            torch.bfloat16, blocked_b=blocked,
                            global_scale_b=global_scale)[:rows]


@_weight_only.register_fake
def _(x, elements, scales, format, blocked=True, global_scale=None):
    check_one_device(x=x, elements=elements, scales=scales, global_scale=global_scale)
    return x.new_empty(_weight_only_shape(x, elements, format, global_scale))


@torch.library.custom_op("mx::weight_only_grouped_mm", mutates_args=())
def _weight_only_grouped(x: Tensor, elements: Tensor, scales: Tensor, offs: Tensor,
                         format: str, blocked: bool = True,
                         global_scale: Optional[Tensor] = None) -> Tensor:
    rows, columns = _weight_only_shape(x, elements, format, global_scale)
    if not rows:
        return x.new_empty((0, columns))
    return _grouped._init_fn(_pad_few(x), elements, None, scales, offs, None, format,
                             torch.bfloat16, blocked_b=blocked,
                             global_scale_b=global_scale)[:rows]


@_weight_only_grouped.register_fake
def _(x, elements, scales, offs, format, blocked=True, global_scale=None):
    check_one_device(x=x, elements=elements, scales=scales, offs=offs,
                     global_scale=global_scale)
    return x.new_empty(_weight_only_shape(x, elements, format, global_scale))


def _keep_weights(ctx, inputs, output):
    _, elements, scales, *rest = inputs
    ctx.save_for_backward(elements, scales, *(
        x for x in rest if isinstance(x, Tensor)))
    ctx.others = [None if isinstance(x, Tensor) else x for x in rest]
    ctx.has_factor = isinstance(rest[-1], Tensor)


def _weight_only_backward(ctx, dy):
    elements, scales, *factor = ctx.saved_tensors
    format, blocked, _ = ctx.others
    weight = torch.ops.mx.dequantize(elements, scales, format, dy.dtype, blocked,
                                     *factor)
    return dy @ weight, None, None, None, None, None


def _weight_only_grouped_backward(ctx, dy):
    elements, scales, offs, *factor = ctx.saved_tensors
    _, format, blocked, _ = ctx.others
    if not dy.shape[0]:         # which grouped_mm cannot be traced with
        return dy.new_empty(0, _shape(elements, format)[-1]), *(None,) * 6
    weight = torch.ops.mx.dequantize(elements, scales, format, dy.dtype, blocked,
                                     *factor)
    dx = torch.nn.functional.grouped_mm(dy.contiguous(), weight,
                                        offs=offs.to(torch.int32))
    return dx, None, None, None, None, None, None


torch.library.register_autograd("mx::weight_only_mm", _weight_only_backward,
                                setup_context=_keep_weights)
torch.library.register_autograd("mx::weight_only_grouped_mm",
                                _weight_only_grouped_backward,
                                setup_context=_keep_weights)
