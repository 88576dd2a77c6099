# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of training: bf16 in and out, block-scaled within, forward and backward,
for one matrix of weights and for one an expert.

    y  = q(x)   q(w)^T     blocks along K
    dx = q(dy)  q(w)       blocks along N
    dw = q(dy)^T q(x)      blocks along T, the rows of x

Each is quantized anew along the dimension that its product sums over, from the values
in high precision: the backward pass keeps x and w as they are."""

from typing import Tuple

import torch
from torch import Tensor

from ..._ops import checks as check
from ..._ops import products
from ..._ops import scale_tiles
from ..._ops.formats import find_format
from ..._ops.quantize import ROUNDINGS
from ..._ops.quantize import quantize_for_product as quantize
from ..._ops.quantized import Quantized
from . import tensors
from .checks import (add_bias, as_rows, assume_groups, check_flag, check_names,
                     check_one_device, check_tensor, refuse_second_order)

_MATRICES = ("f32", "bf16", "f16")


def mxfp8_mm(x, weight, bias=None, *, activations="mxfp8_e4m3", weights="mxfp8_e4m3",
             gradients="mxfp8_e4m3", scale_rounding="ceil", wgrad_high_precision=False):
    """x weight^T + bias in MXFP8, or in other formats with blocks of 32.

    x       f32, bf16 or f16, [..., K]
    weight  f32, bf16 or f16, [N, K]; K and N are multiples of 32
    bias    [N], or None
    activations, weights, gradients  formats of x, weight and the gradient of the result
    scale_rounding  as in `quantize_mxfp8`
    wgrad_high_precision  the gradient of weight is a product of bf16, not quantized, and
            rounded to bf16 as PyTorch's are

    Returns [..., N] in the dtype of x, summed in f32. Differentiable; the gradients
    have the dtypes of what they are of. Raises a TypeError or ValueError that names the
    argument."""
    rows = as_rows(x)
    check_tensor("weight", weight)
    _check_options(activations, weights, gradients, scale_rounding, wgrad_high_precision)
    y = torch.ops.mx.linear(rows, weight, activations, weights, gradients,
                            scale_rounding, wgrad_high_precision)
    return add_bias(y.view(*x.shape[:-1], y.shape[-1]), bias)


def mxfp8_grouped_mm(A, B_t, offs, *, activations="mxfp8_e4m3", weights="mxfp8_e4m3",
                     gradients="mxfp8_e4m3", scale_rounding="ceil",
                     wgrad_high_precision=False):
    """For each group g of rows of A, A B_t[g], as torch.nn.functional.grouped_mm, in
    MXFP8 or in other formats with blocks of 32.

    A     f32, bf16 or f16, [T, K]: the rows of group g end at offs[g]. A group may have
          any number of rows
    B_t   [G, K, N]: the transpose (-2, -1) of weights [G, N, K]; K and N are multiples
          of 32
    offs  i32 or i64, [G], on the device

    Returns [T, N] in the dtype of A. Rows past the last group are not defined, nor are
    their gradients. The other arguments, gradients and errors are as in `mxfp8_mm`."""
    for name, given in (("A", A), ("B_t", B_t), ("offs", offs)):
        check_tensor(name, given)
    if B_t.dim() != 3:
        raise ValueError("B_t: expected [groups, K, N], found shape "
                         f"{tuple(B_t.shape)}")
    _check_options(activations, weights, gradients, scale_rounding, wgrad_high_precision)
    return torch.ops.mx.grouped_linear(A, B_t.transpose(-2, -1), offs, activations,
                                       weights, gradients, scale_rounding,
                                       wgrad_high_precision)


def _check_options(activations, weights, gradients, scale_rounding, wgrad_high_precision):
    check_names(activations=activations, weights=weights, gradients=gradients,
                scale_rounding=scale_rounding)
    check_flag("wgrad_high_precision", wgrad_high_precision)


def _check(x, weight, rank, formats, scale_rounding):
    """The same for operators and fake kernels; `x` is of any rows."""
    names = ("A", "B_t") if rank == 3 else ("x", "weight")
    found = [check.matrix(name, x, _MATRICES)[1] for name, x in zip(names, (x, weight))]
    for name, shape, wanted in zip(names, found, (2, rank)):
        if len(shape) != wanted:
            raise ValueError(f"{name}: expected {wanted} dimensions, found shape {shape}")
    if found[0][-1] != found[1][-1]:
        raise ValueError(f"{names[1]}: expected K = {found[0][-1]}, the last dimension "
                         f"of {names[0]}, found K = {found[1][-1]}")
    for name, format in zip(("activations", "weights", "gradients"), formats):
        if find_format(format, name).block != 32 or not find_format(format).has_product:
            raise ValueError(f"{name}: expected a format with blocks of 32 that has "
                             f"products, found {format}")
    check.one_of("scale_rounding", scale_rounding, ROUNDINGS)
    check.multiple(names[0], "columns (K)", found[1][-1], 32)
    check.multiple(names[1], "outputs (N)", found[1][-2], 32)


def _check_grouped(x, weight, offs, formats, scale_rounding):
    _check(x, weight, 3, formats, scale_rounding)
    if check.vector("offsets", offs) != weight.shape[0]:
        raise ValueError(f"offs: expected {weight.shape[0]} ends, one for each matrix of "
                         f"B_t, found {offs.shape[0]}")


_check_once = tensors.once(_check)
_check_grouped_once = tensors.once(_check_grouped)


def _of_one_group(q):
    """Rows of one group as a matrix without groups: the group begins at tile 0."""
    rows = q.shape[0]
    return Quantized(q.elements, q.scales[:scale_tiles.row_tiles(rows)], q.shape, q.format)


# Tiles of results that keep all multiprocessors of a large GPU busy, and rows that a
# part of a sum has at least.
_MANY_TILES, _MANY_ROWS, _MOST_PARTS = 256, 1024, 8


def _parts(rows, outputs, inputs):
    """Into how many parts the sum over rows is cut, for results of few tiles."""
    tiles, parts = -(-outputs // 128) * -(-inputs // 64), 1
    while (parts < _MOST_PARTS and 2 * parts * tiles <= _MANY_TILES
           and 2 * parts * _MANY_ROWS <= rows):
        parts *= 2
    return parts


def _weight_gradient(dy, x, one, rows, dtype):
    """dy^T x of one group of rows. With few tiles it is the sum of products of parts of
    the rows, which are groups to them: a part begins at a multiple of 128 rows, where the
    bytes of both quantizations are the same."""
    parts = _parts(rows, dy.shape[0], x.shape[0])
    if parts == 1:
        return products.grouped_matmul(dy, x, one, dtype, mode="reduction")[0]
    align = scale_tiles.REDUCTION_ALIGN
    step = -(-rows // (parts * align)) * align
    ends = torch.arange(step, parts * step + 1, step, dtype=torch.int32,
                        device=one.device).clamp_(max=rows)
    dy, x = (q._replace(groups=parts) for q in (dy, x))
    return products.grouped_matmul(dy, x, ends, "f32", mode="reduction").sum(0).to(dtype)


@torch.library.custom_op("mx::linear", mutates_args=())
def _linear(x: Tensor, weight: Tensor, activations: str, weights: str, gradients: str,
            scale_rounding: str, wgrad_high_precision: bool) -> Tensor:
    _check_once(x, weight, 2, (activations, weights, gradients), scale_rounding)
    if not x.shape[0]:
        return x.new_empty((0, weight.shape[0]))
    x, weight = tensors.plain(x), tensors.plain(weight)
    return products.matmul(
        quantize(x, activations, -1, scale_rounding),
        quantize(weight, weights, -1, scale_rounding), x.dtype)


@torch.library.custom_op("mx::linear_backward", mutates_args=())
def _linear_backward(dy: Tensor, x: Tensor, weight: Tensor, needs_dx: bool,
                     needs_dw: bool, activations: str, weights: str, gradients: str,
                     scale_rounding: str, wgrad_high_precision: bool
                     ) -> Tuple[Tensor, Tensor]:
    """What is not needed is empty."""
    dy, x, weight = map(tensors.plain, (dy, x, weight))
    dx, dw = _outputs(x, weight, needs_dx, needs_dw)
    if not x.shape[0]:
        return dx, dw.zero_()
    one = torch.full((1,), x.shape[0], dtype=torch.int32, device=x.device)
    by_rows, by_columns = _quantize_gradient(
        dy, gradients, scale_rounding, one, needs_dx,
        needs_dw and not wgrad_high_precision)
    if needs_dx:
        weight_t = quantize(weight, weights, -2, scale_rounding)
        dx = products.matmul(_of_one_group(by_rows), weight_t, x.dtype)
    if by_columns:
        x_t = quantize(x, activations, -2, scale_rounding, one)
        dw = _weight_gradient(by_columns, x_t, one, x.shape[0], weight.dtype)
    elif needs_dw:
        dw = (dy.to(torch.bfloat16).t() @ x.to(torch.bfloat16)).to(weight.dtype)
    return dx, dw


@torch.library.custom_op("mx::grouped_linear", mutates_args=())
def _grouped(x: Tensor, weight: Tensor, offs: Tensor, activations: str, weights: str,
             gradients: str, scale_rounding: str, wgrad_high_precision: bool) -> Tensor:
    _check_grouped_once(x, weight, offs, (activations, weights, gradients),
                        scale_rounding)
    if not x.shape[0]:
        return x.new_empty((0, weight.shape[1]))
    x, weight, offs = map(tensors.plain, (x, weight, offs))
    return products.grouped_matmul(
        quantize(x, activations, -1, scale_rounding, offs),
        quantize(weight, weights, -1, scale_rounding), offs, x.dtype)


@torch.library.custom_op("mx::grouped_linear_backward", mutates_args=())
def _grouped_backward(dy: Tensor, x: Tensor, weight: Tensor, offs: Tensor,
                      needs_dx: bool, needs_dw: bool, activations: str, weights: str,
                      gradients: str, scale_rounding: str, wgrad_high_precision: bool
                      ) -> Tuple[Tensor, Tensor]:
    """What is not needed is empty."""
    dy, x, weight, offs = map(tensors.plain, (dy, x, weight, offs))
    dx, dw = _outputs(x, weight, needs_dx, needs_dw)
    if not x.shape[0]:
        return dx, dw.zero_()
    by_rows, by_columns = _quantize_gradient(
        dy, gradients, scale_rounding, offs, needs_dx,
        needs_dw and not wgrad_high_precision)
    if needs_dx:
        weight_t = quantize(weight, weights, -2, scale_rounding)
        dx = products.grouped_matmul(by_rows, weight_t, offs, x.dtype)
    if by_columns:
        x_t = quantize(x, activations, -2, scale_rounding, offs)
        dw = products.grouped_matmul(by_columns, x_t, offs, weight.dtype,
                                     mode="reduction")
    elif needs_dw:
        dw = torch.nn.functional.grouped_mm(
            dy.to(torch.bfloat16).t(), x.to(torch.bfloat16),
            offs=offs.to(torch.int32)).to(weight.dtype)
    return dx, dw


def _quantize_gradient(dy, format, rounding, offsets, by_rows, by_columns):
    """dy for each product that is asked for, from one read; else None."""
    axes = (-1,) * by_rows + (-2,) * by_columns
    if not axes:
        return None, None
    found = quantize(dy, format, axes, rounding, offsets)
    if len(axes) == 2:
        return found
    return (found, None) if by_rows else (None, found)


def _outputs(x, weight, needs_dx, needs_dw):
    """Gradients without contents; what a program returns is dense."""
    return (x.new_empty(x.shape if needs_dx else 0),
            weight.new_empty(weight.shape if needs_dw else 0))


@_linear.register_fake
def _(x, weight, activations, weights, gradients, scale_rounding, wgrad_high_precision):
    _check(x, weight, 2, (activations, weights, gradients), scale_rounding)
    check_one_device(x=x, weight=weight)
    return x.new_empty((x.shape[0], weight.shape[0]))


@_grouped.register_fake
def _(x, weight, offs, activations, weights, gradients, scale_rounding,
      wgrad_high_precision):
    assume_groups(offs)
    _check_grouped(x, weight, offs, (activations, weights, gradients), scale_rounding)
    check_one_device(A=x, B_t=weight, offs=offs)
    return x.new_empty((x.shape[0], weight.shape[1]))


@_linear_backward.register_fake
def _(dy, x, weight, needs_dx, needs_dw, *_):
    return _outputs(x, weight, needs_dx, needs_dw)


@_grouped_backward.register_fake
def _(dy, x, weight, offs, needs_dx, needs_dw, *_):
    return _outputs(x, weight, needs_dx, needs_dw)


def _keep(count):
    """Keeps the first inputs, which are tensors, and the options after them."""
    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:count])
        ctx.options = inputs[count:]
    return setup


def _backward(operator, count):
    def backward(ctx, dy):
        needs = ctx.needs_input_grad
        gradients = operator(dy, *ctx.saved_tensors, *needs[:2], *ctx.options)
        return (*(g if need else None for g, need in zip(gradients, needs)),
                *(None for _ in range(len(needs) - 2)))
    return backward


_linear.register_autograd(_backward(torch.ops.mx.linear_backward, 2),
                          setup_context=_keep(2))
_grouped.register_autograd(_backward(torch.ops.mx.grouped_linear_backward, 3),
                           setup_context=_keep(3))
refuse_second_order("linear_backward", "grouped_linear_backward")
