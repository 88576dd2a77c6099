# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training matmuls at the rate of FP8 tensor cores, with a stated bound on their sums. The weight is a
single matrix, a matrix for each expert, or two of these that share x.

    y  = q(x)   q(w)^T     blocks of 128 along K
    dx = q(dy)  q(w)       blocks of 128 along N
    dw = q(dy)^T q(x)      blocks of 128 along T, the rows of x

Blocks of 128 x 128 weights share a scale, so q(w) is the same in y and dx. The forward pass reads x
once, writes both of its operands, and saves the operand of dw."""

import functools
import math
from typing import Any, Sequence, overload

import torch
from torch import Tensor

from ..._ops import checks as check
from ..._ops import fp8, scale_tiles
from ..._ops.formats import find_format
from ..._ops.fp8_text import BLOCK, SCALES, rows_format, weight_format
from ..._ops.quantized import scales_shape
from . import eager, tensors
from .checks import (add_bias, as_rows, assume_expert_groups, check_flag, check_names,
                     check_one_device, check_tensor, check_tensors, like_rows, refuse_second_order)

ELEMENTS = ("mxfp8", "mxfp8_e5m2")
# Axes along which weights are quantized; the second for gradients of x.
_AXES = -1, -2


def fp8_mm(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, scales: str = "e8m0",
           gradients: str = "mxfp8", quantized: Sequence[Tensor] | None = None) -> Tensor:
    """Computes x weight^T + bias with FP8 tensor cores.

    x       f32, bf16 or f16, [..., K]
    weight  f32, bf16 or f16, [N, K]; K and N are multiples of 128
    bias    [N], or None
    scales  "e8m0": powers of two; "f32": the largest magnitude of the block divided by 448, as in
            DeepSeek-V3
    gradients  "mxfp8" or "mxfp8_e5m2": elements of the gradient of the result. Other operands
            are E4M3
    quantized  result of `fp8_quantize_weight` for this weight; default: the weight is quantized

    128 elements of a row of x share a scale, and blocks of 128 x 128 elements of weight. The tensor
    core adds 128 products in reduced precision, and these sums are added in f32 in the order of k
    (docs/reference/Spec.md, Folded operands), so a row of the result depends on no other row of x.
    Requires "sm_90a" or the reference path, with equal bits.

    Returns [..., N] in the dtype of x. Differentiable; gradients have the dtypes of their inputs.
    Raises TypeError or ValueError. Errors name the argument."""
    rows = as_rows(x)
    check_tensor("weight", weight)
    y, = _call(rows, (weight,), None, scales, gradients, None if quantized is None else (quantized,))
    return add_bias(like_rows(y, x), bias)


@overload
def fp8_grouped_mm(A: Tensor, B_t: Tensor, offs: Tensor, *, scales: str = ..., gradients: str = ...,
                   quantized: Sequence[Tensor] | None = ...) -> Tensor: ...
@overload
def fp8_grouped_mm(A: Tensor, B_t: tuple[Tensor, ...] | list[Tensor], offs: Tensor, *, scales: str = ...,
                   gradients: str = ..., quantized: Sequence[Any] | None = ...) -> tuple[Tensor, ...]: ...
def fp8_grouped_mm(A: Tensor, B_t: Any, offs: Tensor, *, scales: str = "e8m0", gradients: str = "mxfp8",
                   quantized: Sequence[Any] | None = None) -> Tensor | tuple[Tensor, ...]:
    """Multiplies the rows of each expert group g in A by B_t[g], like torch.nn.functional.grouped_mm,
    with FP8 tensor cores.

    A     f32, bf16 or f16, [T, K]: the rows of group g end at offs[g]. Groups may have any
          number of rows
    B_t   [G, K, N]: the transpose (-2, -1) of weights [G, N, K]; K and N are multiples of
          128. B_t may also be a pair with equal G and K, such as gate and up of an expert; the
          result is then a pair
    offs  i32 or i64, [G], in device memory
    quantized  as in `fp8_mm`; a pair for a pair

    Returns [T, N] in the dtype of A. Rows past the last group and their gradients are
    undefined. Other arguments, gradients and errors are as in `fp8_mm`."""
    is_pair = isinstance(B_t, (tuple, list))
    given = tuple(B_t) if is_pair else (B_t,)
    if len(given) not in (1, 2):
        raise ValueError(f"B_t: expected a tensor or a pair of tensors, found {len(given)}")
    check_tensors(A=A, offs=offs)
    for one in given:
        check_tensor("B_t", one)
        if one.dim() != 3:
            raise ValueError(f"B_t: expected [expert groups, K, N], found shape {tuple(one.shape)}")
    if given[0].dtype != given[-1].dtype:
        raise ValueError(f"B_t: expected a pair with equal dtypes, found {given[0].dtype} and {given[1].dtype}")
    if not is_pair and quantized is not None:
        quantized = (quantized,)
    found = _call(A, tuple([one.transpose(-2, -1) for one in given]), offs, scales, gradients, quantized)
    return found if is_pair else found[0]


def fp8_quantize_weight(weight: Tensor, *, scales: str = "e8m0",
                        both: bool = True) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Quantizes a weight, f32, bf16 or f16, [N, K] or [G, N, K], for `fp8_mm` and `fp8_grouped_mm`.

    scales  as in `fp8_mm`
    both    False: only for results, not for gradients of x

    Returns the elements and scales of the weight and of its transpose, as bytes or f32. Raises
    TypeError or ValueError. Errors name the argument."""
    check_tensor("weight", weight)
    _check_options(scales, "mxfp8")
    check_flag("both", both)
    return quantize_weight(weight, scales, bool(both))


def _call(x, weights, offs, scales, gradients, quantized):
    """Returns a tuple with a result for each weight. `quantized` is None, or contains a result of
    `fp8_quantize_weight` or None for each weight."""
    _check_options(scales, gradients)
    records = torch.is_grad_enabled()
    needs_dx = records and x.requires_grad
    saves = records and any([weight.requires_grad for weight in weights])
    if quantized is not None:
        _check_quantized(weights[0], weights, quantized, scales, needs_dx)
    weight, more = weights if len(weights) > 1 else (*weights, None)
    return _linear(x, weight, more, offs, (quantized, scales, gradients, needs_dx, saves))


# --- Stored weights, for inference: elements and scales as bytes -----------------------


def stored_shapes(shape, scales):
    """Returns the shapes of the elements and of the scales of a weight, in bytes."""
    *batch, rows, blocks = scales_shape(shape, _formats(scales, "mxfp8")[1], "linear")
    return tuple(shape), (*batch, rows, blocks * (4 if scales == "f32" else 1))


def quantize_stored(weight, scales):
    """Returns the elements and scales of a weight, [..., N, K], as bytes."""
    elements, found, *_ = quantize_weight(weight.detach(), scales, False)
    return elements, found.view(torch.uint8)


def dequantize_stored(elements, bytes_, scales, dtype):
    """Returns the weight."""
    factors = bytes_.view(torch.float32 if scales == "f32" else torch.float8_e8m0fnu).float()
    factors = factors.repeat_interleave(BLOCK, -1).repeat_interleave(BLOCK, -2)
    values = elements.view(torch.float8_e4m3fn).float()
    return (values * factors[..., :values.shape[-2], :]).to(dtype)


def multiply_stored(x, elements, bytes_, offs, scales):
    """Multiplies the rows of x by a stored weight, as in `fp8_mm`, or with offs as in
    `fp8_grouped_mm`. Differentiable in x, by the dequantized weight in bf16."""
    found = bytes_.view(torch.float32) if scales == "f32" else bytes_
    return multiply(x, offs, elements, elements, found, *(None,) * 7, scales, "mxfp8", False, ())[0]


def _differentiate_stored(dy, elements, found, offs, scales):
    """Returns the gradient of x."""
    weight = dequantize_stored(elements, found.view(torch.uint8), scales, dy.dtype)
    if offs is None:
        return dy @ weight
    return torch.nn.functional.grouped_mm(dy.contiguous(), weight, offs=offs.to(torch.int32))


# --- Checks ---------------------------------------------------------------------------


@tensors.once
def _check_options(scales, gradients):
    check_names(scales=scales, gradients=gradients)
    check.one_of("scales", scales, tuple(SCALES))
    check.one_of("gradients", gradients, ELEMENTS)


@tensors.once
def _check_quantized(_, weights, quantized, scales, needs_dx):
    """Checks the results of `fp8_quantize_weight`, or None, for these weights."""
    if not isinstance(quantized, (tuple, list)) or len(quantized) != len(weights):
        raise TypeError(f"quantized: expected a pair, like B_t, found {type(quantized).__name__}")
    for weight, given in zip(weights, quantized):
        if given is None:
            continue
        if weight.dtype not in _TYPES:
            fp8.check_weight(weight)  # raises an error
        kind, wanted = torch.float32 if scales == "f32" else torch.uint8, []
        for *batch, rows, columns in (weight.shape, weight.mT.shape)[:1 + needs_dx]:
            wanted += [(torch.uint8, (*batch, rows, columns)), (kind, (*batch, rows // BLOCK, columns // BLOCK))]
        parts = given if isinstance(given, (tuple, list)) else [given]
        found = [(part.dtype, tuple(part.shape)) if isinstance(part, torch.Tensor) else type(part).__name__
                 for part in parts]
        if len(found) != 4 or found[:len(wanted)] != wanted:
            raise ValueError(f"quantized: expected {wanted}, found {found}: pass "
                             f"fp8_quantize_weight(weight, scales={scales!r}, both={needs_dx})")


# --- Operators ------------------------------------------------------------------------


@functools.cache
def _formats(scales, gradients):
    """Returns the formats of rows, weights and gradients."""
    e4m3 = find_format("mxfp8").elements
    return (rows_format(e4m3, scales), weight_format(e4m3, scales),
            rows_format(find_format(gradients).elements, scales))


def _stored(pair, format):
    """Returns elements and scales, E8M0 scales as bytes, which torch.export can store. Scales of rows
    have a shape without dimensions of size 1 for small T, which would restrict traces."""
    elements, scales = pair
    scales = scales if format.scales == "f32" else scales.view(torch.uint8)
    if format.layout == "mn_major":
        scales = scales.view(-1)
    return elements.view(torch.uint8), tensors.from_tiles(scales, format.layout == "sf_128x4" and scales.dim() > 2)


def _empty(x, shape, format):
    """Returns uninitialized elements and scales."""
    scales = torch.float32 if format.scales == "f32" else torch.uint8
    dims = scales_shape(shape, format, format.layout)
    if format.layout == "mn_major":
        dims = math.prod(dims)
    elif format.layout == "sf_128x4":
        dims = scale_tiles.padded(shape[0], shape[1] // format.block)
    return x.new_empty(shape, dtype=torch.uint8), x.new_empty(dims, dtype=scales)


def _arrays(pair, format):
    """Returns arrays for programs, which accept bytes. Only results of programs have other elements."""
    if pair[0].dtype != torch.uint8:
        return pair
    elements, scales = map(tensors.plain, pair)
    if format.layout == "sf_128x4" and scales.dim() == 2:
        scales = scales.view(scale_tiles.tiles_shape(*scales.shape))
    elif format.layout == "mn_major" and scales.dim() == 1:
        scales = scales.view(scales_shape(elements.shape, format, format.layout))
    return elements, scales


def _nothing(x):
    return x.new_empty(0, dtype=torch.uint8), x.new_empty(0, dtype=torch.uint8)


def _quantize_weight(weight, scales, both):
    format = _formats(scales, "mxfp8")[1]
    found = fp8.quantize_weight(tensors.plain(weight), format, both)
    return (*_stored(found[:2], format), *(_stored(found[2:], format) if both else _nothing(weight)))


def _fake_quantize_weight(weight, scales, both):
    fp8.check_weight(weight, both=both)
    format = _formats(scales, "mxfp8")[1]
    transposed = _empty(weight, weight.mT.shape, format) if both else _nothing(weight)
    return (*_empty(weight, weight.shape, format), *transposed)


quantize_weight = eager.operator(tensors.define(
    "fp8_quantize_weight", "(Tensor weight, str scales, bool both) -> (Tensor, Tensor, Tensor, Tensor)",
    _quantize_weight, _fake_quantize_weight))


# Types of gradients of weights. Stored weights have none.
_TYPES = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.uint8: "bf16"}


def _forward(x, parts, offs, kind, formats, saves, axes=()):
    """Returns the results for weights of dtype `kind`, the elements and scales of x if `saves`, and those
    of each weight along the second of `axes`. `parts` contains for each weight its elements and scales,
    or with `axes` the weight."""
    if x.dim() != 2 or not x.shape[0]:
        weights = [one[0] for one in parts]
        fp8.check_forward(x, weights, offs)
        return _empty_forward(x, weights, offs, formats, saves, axes)
    rows, offs = x.shape[0], tensors.plain(offs)
    x = tensors.plain(x)
    if saves and offs is None:
        x = tensors.pad_rows(x, fp8.pad_rows(rows))
    found = fp8.forward(x, parts, offs, formats, _TYPES.get(kind), saves, axes)
    ys, others = found[:len(parts)], found[len(parts):]
    if ys[0].shape[0] != rows:
        ys = [y[:rows].clone() for y in ys]
    turned = others[2 * saves:]
    return ys, others[:2 * saves], [turned[i:i + 2] for i in range(0, len(turned), 2)]


def _empty_forward(x, weights, offs, formats, saves, axes=()):
    """Returns uninitialized results of `_forward`."""
    rows = fp8.pad_rows(x.shape[0]) if offs is None else scale_tiles.capacity(x.shape[0], offs.shape[0])
    saved = _empty(x, (x.shape[1], rows), formats[0]) if saves else ()
    turned = [_empty(x, one.mT.shape, formats[1]) for one in weights] if len(axes) > 1 else []
    return [x.new_empty((x.shape[0], one.shape[-2])) for one in weights], saved, turned


def _results(x, ys, saved, turned):
    """Returns the results of the operator."""
    parts = [saved or _nothing(x), *turned, *(_nothing(x) for _ in range(2 - len(turned)))]
    return *ys, *(x.new_empty(0) for _ in range(2 - len(ys))), *(one for part in parts for one in part)


def _multiply(x, offs, weight, elements, weight_scales, et, st, more, more_elements, more_scales,
              more_et, more_st, scales, gradients, saves, axes):
    formats = _formats(scales, gradients)
    if elements is None:
        parts = [(tensors.plain(one),) for one in (weight, more) if one is not None]
    else:
        parts = [_arrays(pair, formats[1]) for pair in
                 [(elements, weight_scales), (more_elements, more_scales)][:1 + (more is not None)]]
    ys, saved, turned = _forward(x, parts, offs, weight.dtype, formats, saves, tuple(axes))
    return _results(x, ys, saved and _stored(saved, formats[0]), [_stored(one, formats[1]) for one in turned])


def _fake_multiply(x, offs, weight, elements, weight_scales, et, st, more, more_elements, more_scales,
                   more_et, more_st, scales, gradients, saves, axes):
    assume_expert_groups(offs)
    weights = [weight, more] if elements is None else [elements, more_elements]
    if more is None:
        weights.pop()
    fp8.check_forward(x, weights, offs)
    check_one_device(x=x, weight=weight, elements=elements, offs=offs, more=more)
    return _results(x, *_empty_forward(x, weights, offs, _formats(scales, gradients), saves, axes))


def _backward(dy, more_dy, offs, x_elements, x_scales, weight, et, st, more, more_et, more_st, scales,
              gradients, needs_dx, needs_dw):
    """Returns the gradients of x, `weight` and `more`. An unneeded gradient is None."""
    rows, inputs = dy.shape[0], weight.shape[-1]
    if not rows:
        found = _fake_backward(dy, more_dy, offs, x_elements, x_scales, weight, et, st, more, more_et,
                               more_st, scales, gradients, needs_dx, needs_dw)
        return tuple(one.zero_() for one in found)
    if weight.dtype == torch.uint8:  # stored
        return _differentiate_stored(dy, et, st, offs, scales), None, None
    formats = _formats(scales, gradients)
    dys = [tensors.plain(one) for one in ((dy,) if more is None else (dy, more_dy))]
    offs = tensors.plain(offs)
    if offs is None and needs_dw:
        dys = [tensors.pad_rows(one, fp8.pad_rows(rows)) for one in dys]
    weights = x = None
    if needs_dx:
        weights = [_arrays(pair, formats[1]) for pair in [(et, st), (more_et, more_st)][:len(dys)]]
    if needs_dw:
        x = _arrays((x_elements, x_scales), formats[0])
    found = fp8.backward(dys, weights, x, offs, formats, inputs, _TYPES[weight.dtype])
    dx = found.pop(0) if needs_dx else None
    if needs_dx and dx.shape[0] != rows:
        dx = dx[:rows].clone()
    return dx, *found, *(None,) * (2 - len(found))


def _fake_backward(dy, more_dy, offs, x_elements, x_scales, weight, et, st, more, more_et, more_st,
                   scales, gradients, needs_dx, needs_dw):
    dx = dy.new_empty((dy.shape[0], weight.shape[-1]) if needs_dx else 0)
    return dx, *(weight.new_empty(one.shape if needs_dw and one is not None else 0)
                 for one in (weight, more))


_backward_definition = tensors.define(
    "fp8_multiply_backward",
    "(Tensor dy, Tensor? more_dy, Tensor? offs, Tensor? x_elements, Tensor? x_scales, Tensor weight, "
    "Tensor? et, Tensor? st, Tensor? more, Tensor? more_et, Tensor? more_st, str scales, "
    "str gradients, bool needs_dx, bool needs_dw) -> (Tensor, Tensor, Tensor)",
    tensors.without_none(_backward, 5), _fake_backward)
_call_backward = eager.direct("fp8_multiply_backward", _backward, None, _backward_definition._opoverload,
                              range(11), range(3))
refuse_second_order("fp8_multiply_backward")


def _keep(ctx, inputs, output):
    x, offs, weight, *stored, et, st, more, _, _, more_et, more_st = inputs[:12]
    if weight.dtype == torch.uint8:
        et, st = stored
    elif stored[0] is None:
        et, st, more_et, more_st = output[4:]
    # Otherwise backward would fill gradients of the saved bytes with zeros.
    ctx.set_materialize_grads(False)
    _save(ctx, (0, 2, 7), inputs[12:14], offs, output[2:4], weight, (et, st), more, (more_et, more_st))


def _save(ctx, places, options, offs, x, weight, turned, more, more_turned):
    """Saves tensors for `_differentiate`. `places` are the indices of x, `weight` and `more`."""
    none, needs_dx = (None, None), ctx.needs_input_grad[0]
    ctx.places, ctx.options = places, options
    ctx.save_for_backward(offs, *(x or none), weight, *(turned if needs_dx else none), more,
                          *(more_turned if needs_dx and more is not None else none))


def _differentiate(ctx, dy, more_dy=None, *_):
    needs, places = ctx.needs_input_grad, ctx.places
    offs, x_elements, x_scales, weight, et, st, more, *more_turned = ctx.saved_tensors
    if more is not None:
        dy, more_dy = (other.new_zeros((other.shape[0], own.shape[-2])) if one is None else one
                       for one, other, own in ((dy, more_dy, weight), (more_dy, dy, more)))
    found = _call_backward(dy, more_dy, offs, x_elements, x_scales, weight, et, st, more,
                           *more_turned, *ctx.options, needs[0], needs[places[1]] or needs[places[2]])
    gradients = [None] * len(needs)
    for place, gradient in zip(places, found):
        gradients[place] = gradient if needs[place] else None
    return tuple(gradients)


_definition = tensors.define(
    "fp8_multiply",
    "(Tensor x, Tensor? offs, Tensor weight, Tensor? elements, Tensor? weight_scales, Tensor? et, "
    "Tensor? st, Tensor? more, Tensor? more_elements, Tensor? more_scales, Tensor? more_et, "
    "Tensor? more_st, str scales, str gradients, bool saves, int[] axes) -> (Tensor, Tensor, Tensor, "
    "Tensor, Tensor, Tensor, Tensor, Tensor)",
    _multiply, _fake_multiply)
multiply = eager.operator(_definition, _differentiate, _keep)


# --- Quantization and matmul ------------------------------------------------------------
#
# An eager call does not convert quantized operands to the bytes of operators. Unless a weight is given
# quantized, one program quantizes x and all weights.


def _run(ctx, x, weight, more, offs, options):
    """Returns a tuple with a result for each weight. `ctx` is None if gradients are not recorded."""
    quantized, scales, gradients, needs_dx, saves = options
    formats, weights = _formats(scales, gradients), (weight,) if more is None else (weight, more)
    if quantized is None:
        parts, axes = [(tensors.plain(one),) for one in weights], _AXES[:1 + needs_dx]
    else:
        parts, axes = [fp8.quantize_weight(tensors.plain(one), formats[1], needs_dx) if given is None else
                       [*map(tensors.plain, given)] for one, given in zip(weights, quantized)], ()
    ys, saved, turned = _forward(x, [part[:2] for part in parts], offs, weight.dtype, formats, saves, axes)
    if ctx is not None:
        turned = turned or [part[2:4] for part in parts]
        _save(ctx, (0, 1, 2), (scales, gradients), offs, saved, weight, turned[0], more, turned[-1])
    return tuple(ys)


def _run_operators(x, weight, more, offs, options):
    """Returns the results of `_run` by operators."""
    quantized, scales, gradients, needs_dx, saves = options
    axes, parts = _AXES[:1 + needs_dx], [(None,) * 4] * 2
    if quantized is not None:
        axes, parts = (), [quantize_weight(one.detach(), scales, needs_dx) if given is None else given
                           for one, given in zip((weight, more), quantized)]
    others = (None,) * 5 if more is None else (more, *parts[1])
    return multiply(x, offs, weight, *parts[0], *others, scales, gradients, saves, axes)[:1 + (more is not None)]


_linear = eager.direct(
    "fp8_linear", functools.partial(_run, None), eager.function(_definition, _run, _differentiate),
    _run_operators, range(4), range(4))
