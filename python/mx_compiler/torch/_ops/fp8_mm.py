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

import torch

from ..._ops import checks as check
from ..._ops import fp8, scale_tiles
from ..._ops.formats import find_format
from ..._ops.fp8_text import BLOCK, SCALES, rows_format, weight_format
from ..._ops.quantized import scales_shape
from . import eager, tensors
from .checks import (add_bias, as_rows, assume_expert_groups, check_flag, check_names,
                     check_one_device, check_tensor, check_tensors, like_rows, refuse_second_order)

ELEMENTS = ("mxfp8", "mxfp8_e5m2")


def fp8_mm(x, weight, bias=None, *, scales="e8m0", gradients="mxfp8", quantized=None):
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
    y, = _call(rows, (weight,), None, scales, gradients, [quantized])
    return add_bias(like_rows(y, x), bias)


def fp8_grouped_mm(A, B_t, offs, *, scales="e8m0", gradients="mxfp8", quantized=None):
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
            raise ValueError("B_t: expected [expert groups, K, N], found shape "
                             f"{tuple(one.shape)}")
    found = _call(A, tuple(one.transpose(-2, -1) for one in given), offs, scales, gradients,
                  quantized if is_pair and quantized is not None else [quantized] * len(given))
    return found if is_pair else found[0]


def fp8_quantize_weight(weight, *, scales="e8m0", both=True):
    """Quantizes a weight, f32, bf16 or f16, [N, K] or [G, N, K], for `fp8_mm` and `fp8_grouped_mm`.

    scales  as in `fp8_mm`
    both    False: only for results, not for gradients of x

    Returns the elements and scales of the weight and of its transpose, as bytes or f32. Raises
    TypeError or ValueError. Errors name the argument."""
    check_tensor("weight", weight)
    check_names(scales=scales)
    check_flag("both", both)
    return quantize_weight(weight, scales, bool(both))


def _call(x, weights, offs, scales, gradients, quantized):
    """Returns a tuple with a result for each weight."""
    check_names(scales=scales, gradients=gradients)
    needs_dx = torch.is_grad_enabled() and x.requires_grad
    parts = [given or quantize_weight(weight.detach(), scales, needs_dx)
             for weight, given in zip(weights, quantized)]
    saves = torch.is_grad_enabled() and any(weight.requires_grad for weight in weights)
    more = (weights[1], *parts[1]) if len(weights) > 1 else (None,) * 5
    return multiply(x, offs, weights[0], *parts[0], *more, scales, gradients, saves)[:len(weights)]


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
    none = elements.new_empty(0)
    return multiply(x, offs, elements, elements, found, none, none, *(None,) * 5, scales, "mxfp8",
                    False)[0]


def _differentiate_stored(dy, elements, found, offs, scales):
    """Returns the gradient of x."""
    weight = dequantize_stored(elements, found.view(torch.uint8), scales, dy.dtype)
    if offs is None:
        return dy @ weight
    return torch.nn.functional.grouped_mm(dy.contiguous(), weight, offs=offs.to(torch.int32))


# --- Checks ---------------------------------------------------------------------------


def _check_weight(weight, scales, known=check.MATRICES):
    _, shape = check.matrix("weight", weight, known)
    check.one_of("scales", scales, tuple(SCALES))
    if len(shape) > 3:
        raise ValueError(f"weight: expected 2 or 3 dimensions, found shape {shape}")
    check.multiple("weight", "columns (K)", shape[-1], BLOCK)
    check.multiple("weight", "outputs (N)", shape[-2], BLOCK)


def _check_multiply(x, offs, weight, elements, weight_scales, more, more_elements, scales, gradients):
    check.one_of("gradients", gradients, ELEMENTS)
    columns = check.matrix("x", x, check.MATRICES)[1]
    rank = 2 if offs is None else 3
    for one in (weight, more):
        if one is None:
            continue
        _check_weight(one, scales, (*check.MATRICES, "ui8"))
        if one.dim() != rank or one.shape[-1] != columns[-1] or len(columns) != 2:
            raise ValueError(f"weight: expected {rank} dimensions and K = {columns[-1]}, the last "
                             f"dimension of x, found shape {tuple(one.shape)} and x of shape "
                             f"{columns}")
    if offs is not None and check.vector("offs", offs) != weight.shape[0]:
        raise ValueError(f"offs: expected {weight.shape[0]} ends, one for each matrix of the "
                         f"weight, found {offs.shape[0]}")
    for one, found in ((weight, elements), (more, more_elements)):
        if one is not None and found.shape != one.shape:
            raise ValueError(f"quantized: expected elements of shape {tuple(one.shape)}, found "
                             f"{tuple(found.shape)}")
    if more is not None and (more.dtype, more.shape[0]) != (weight.dtype, weight.shape[0]):
        raise ValueError("weight: expected a pair with equal dtypes and expert groups, found "
                         f"{weight.dtype} of shape {tuple(weight.shape)} and {more.dtype} of shape "
                         f"{tuple(more.shape)}")


_check_weight_once = tensors.once(_check_weight)


# --- Operators ------------------------------------------------------------------------


def _formats(scales, gradients):
    check.one_of("scales", scales, tuple(SCALES))
    check.one_of("gradients", gradients, ELEMENTS)
    return _formats_of(scales, gradients)


@functools.cache
def _formats_of(scales, gradients):
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
    return elements.view(torch.uint8), tensors.from_tiles(scales, format.layout == "sf_128x4")


def _empty(x, shape, format):
    """Returns uninitialized elements and scales."""
    scales = torch.float32 if format.scales == "f32" else torch.uint8
    dims = scales_shape(shape, format, format.layout)
    if format.layout == "mn_major":
        dims = math.prod(dims)
    elif format.layout == "sf_128x4":
        dims = scale_tiles.padded(shape[0], shape[1] // format.block)
    return x.new_empty(shape, dtype=torch.uint8), x.new_empty(dims, dtype=scales)


def _typed(pair, format):
    """Reverses _stored."""
    elements, scales = map(tensors.plain, pair)
    if format.layout == "sf_128x4":
        scales = scales.view(scale_tiles.tiles_shape(*scales.shape))
    elif format.layout == "mn_major":
        scales = scales.view(scales_shape(elements.shape, format, format.layout))
    return tensors.typed(elements, format.elements), tensors.typed(scales, format.scales)


def _quantize_weight(weight, scales, both):
    _check_weight_once(weight, scales)
    format = _formats(scales, "mxfp8")[1]
    found = fp8.quantize_weight(tensors.plain(weight), format, both)
    return (*_stored(found[:2], format), *(_stored(found[2:], format) if both else _nothing(weight)))


def _nothing(x):
    return x.new_empty(0, dtype=torch.uint8), x.new_empty(0, dtype=torch.uint8)


def _fake_quantize_weight(weight, scales, both):
    _check_weight(weight, scales)
    format = _formats(scales, "mxfp8")[1]
    *batch, outputs, inputs = weight.shape
    transposed = _empty(weight, (*batch, inputs, outputs), format) if both else _nothing(weight)
    return (*_empty(weight, weight.shape, format), *transposed)


quantize_weight = eager.operator(tensors.define(
    "fp8_quantize_weight", "(Tensor weight, str scales, bool both) -> (Tensor, Tensor, Tensor, Tensor)",
    _quantize_weight, _fake_quantize_weight))


# Types of gradients of weights. Stored weights have none.
_TYPES = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16", torch.uint8: "bf16"}


def _saved_rows(rows, offs):
    return fp8.pad_rows(rows) if offs is None else scale_tiles.capacity(rows, offs.shape[0])


def _in_blocks(x):
    """Pads the rows of x with zeros to whole blocks, which changes no sum and no scale."""
    missing = fp8.pad_rows(x.shape[0]) - x.shape[0]
    return torch.nn.functional.pad(x, (0, 0, 0, missing)) if missing else x


def _outputs(x, weight, more):
    return [x.new_empty((x.shape[0], one.shape[-2])) for one in (weight, more) if one is not None]


def _multiply(x, offs, weight, elements, weight_scales, et, st, more, more_elements, more_scales,
              more_et, more_st, scales, gradients, saves):
    check_all = functools.partial(_check_multiply, x, offs, weight, elements, weight_scales, more,
                                  more_elements, scales, gradients)
    if x.dim() != 2 or not x.shape[0]:
        check_all()
    rows, inputs = x.shape
    second = x.new_empty(0)
    formats = _formats(scales, gradients)
    if not rows:
        y, *others = _outputs(x, weight, more)
        return (y, *(others or (second,)), *(_empty(x, (inputs, _saved_rows(0, offs)), formats[0])
                                              if saves else _nothing(x)))
    x, offs = tensors.plain(x), tensors.plain(offs)
    if saves and offs is None:
        x = _in_blocks(x)
    pairs = [(elements, weight_scales), (more_elements, more_scales)][:1 + (more is not None)]
    found = fp8.forward(x, [_typed(pair, formats[1]) for pair in pairs], offs, formats,
                        _TYPES.get(weight.dtype), saves,
                        (weight.shape, None if more is None else (more.shape, more.dtype)), check_all)
    ys = [y if y.shape[0] == rows else y[:rows].clone() for y in found[:len(pairs)]]
    return (ys[0], ys[1] if more is not None else second,
            *(_stored(found[len(pairs):], formats[0]) if saves else _nothing(x)))


def _fake_multiply(x, offs, weight, elements, weight_scales, et, st, more, more_elements, more_scales,
                   more_et, more_st, scales, gradients, saves):
    assume_expert_groups(offs)
    _check_multiply(x, offs, weight, elements, weight_scales, more, more_elements, scales, gradients)
    check_one_device(x=x, weight=weight, elements=elements, offs=offs, more=more)
    y, *others = _outputs(x, weight, more)
    saved = _nothing(x)
    if saves:
        saved = _empty(x, (x.shape[1], _saved_rows(x.shape[0], offs)), _formats(scales, gradients)[0])
    return (y, *(others or (x.new_empty(0),)), *saved)


def _backward(dy, more_dy, offs, x_elements, x_scales, weight, et, st, more, more_et, more_st, scales,
              gradients, needs_dx, needs_dw):
    """Returns the gradients of x, `weight` and `more`. An unneeded gradient is empty."""
    rows, inputs = dy.shape[0], weight.shape[-1]
    if not rows:
        found = _fake_backward(dy, more_dy, offs, x_elements, x_scales, weight, et, st, more, more_et,
                               more_st, scales, gradients, needs_dx, needs_dw)
        return tuple(one.zero_() for one in found)
    if weight.dtype == torch.uint8:  # stored
        none = weight.new_empty(0)
        return _differentiate_stored(dy, et, st, offs, scales), none, none.clone()
    formats = _formats(scales, gradients)
    dys = [tensors.plain(one) for one in ((dy,) if more is None else (dy, more_dy))]
    offs = tensors.plain(offs)
    if offs is None and needs_dw:
        dys = [*map(_in_blocks, dys)]
    weights = x = None
    if needs_dx:
        pairs = [(et, st), (more_et, more_st)][:len(dys)]
        weights = [_typed(pair, formats[1]) for pair in pairs]
    if needs_dw:
        x = _typed((x_elements, x_scales), formats[0])
    found = fp8.backward(dys, weights, x, offs, formats, inputs, _TYPES[weight.dtype])
    dx = found.pop(0) if needs_dx else dy.new_empty(0)
    if needs_dx and dx.shape[0] != rows:
        dx = dx[:rows].clone()
    return dx, *found, *(weight.new_empty(0) for _ in range(2 - len(found)))


def _fake_backward(dy, more_dy, offs, x_elements, x_scales, weight, et, st, more, more_et, more_st,
                   scales, gradients, needs_dx, needs_dw):
    dx = dy.new_empty((dy.shape[0], weight.shape[-1]) if needs_dx else 0)
    return dx, *(weight.new_empty(one.shape if needs_dw and one is not None else 0)
                 for one in (weight, more))


_of_backward = tensors.define(
    "fp8_multiply_backward",
    "(Tensor dy, Tensor? more_dy, Tensor? offs, Tensor x_elements, Tensor x_scales, Tensor weight, "
    "Tensor et, Tensor st, Tensor? more, Tensor? more_et, Tensor? more_st, str scales, "
    "str gradients, bool needs_dx, bool needs_dw) -> (Tensor, Tensor, Tensor)",
    _backward, _fake_backward)
_call_backward = eager.operator(_of_backward)
refuse_second_order("fp8_multiply_backward")


def _keep(ctx, inputs, output):
    x, offs, weight, *stored, et, st, more, _, _, more_et, more_st = inputs[:12]
    ctx.options = inputs[12:14]
    if weight.dtype == torch.uint8:
        et, st = stored
    elif not ctx.needs_input_grad[0]:
        et, st = _nothing(weight)
        more_et, more_st = (None, None) if more is None else (et, st)
    # Otherwise backward would fill gradients of the saved bytes with zeros.
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(offs, *output[2:], weight, et, st, more, more_et, more_st)


def _differentiate(ctx, dy, more_dy, *_):
    needs_dx, needs_dw = ctx.needs_input_grad[0], ctx.needs_input_grad[2] or ctx.needs_input_grad[7]
    offs, x_elements, x_scales, weight, et, st, more, *more_turned = ctx.saved_tensors
    if more is not None:
        dy, more_dy = (other.new_zeros((other.shape[0], own.shape[-2])) if one is None else one
                       for one, other, own in ((dy, more_dy, weight), (more_dy, dy, more)))
    found = _call_backward(dy, more_dy, offs, x_elements, x_scales, weight, et, st, more,
                           *more_turned, *ctx.options, needs_dx, needs_dw)
    of = dict(zip((0, 2, 7), found))
    return tuple(of.get(i) if need else None for i, need in enumerate(ctx.needs_input_grad))


multiply = eager.operator(tensors.define(
    "fp8_multiply",
    "(Tensor x, Tensor? offs, Tensor weight, Tensor elements, Tensor weight_scales, Tensor et, "
    "Tensor st, Tensor? more, Tensor? more_elements, Tensor? more_scales, Tensor? more_et, "
    "Tensor? more_st, str scales, str gradients, bool saves) -> (Tensor, Tensor, Tensor, Tensor)",
    _multiply, _fake_multiply), _differentiate, _keep)
