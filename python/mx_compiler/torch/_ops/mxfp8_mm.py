# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training matmuls with block-scaled operands, and with unquantized inputs and results. The weight is
a single matrix, or a matrix for each expert.

    y  = q(x)   q(w)^T     blocks along K
    dx = q(dy)  q(w)       blocks along N
    dw = q(dy)^T q(x)      blocks along T, the rows of x

Each operand is quantized along the reduction dimension of its matmul, from high-precision values.
So the forward pass saves w unquantized, and saves x unquantized or in the form that the matmul for dw
reads (save_quantized)."""

import functools
from typing import Sequence

import torch
from torch import Tensor

from ..._ops import checks as check
from ..._ops import scale_tiles, training
from ..._ops.quantize import ROUNDINGS
from . import eager, tensors
from .checks import (add_bias, as_rows, assume_expert_groups, check_flag, check_names,
                     check_one_device, check_tensor, like_rows, refuse_second_order)

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def mxfp8_mm(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, activations: str = "mxfp8",
             weights: str = "mxfp8", gradients: str = "mxfp8", scale_rounding: str = "ceil",
             wgrad_high_precision: bool = False, save_quantized: bool = False) -> Tensor:
    """Computes x weight^T + bias in MXFP8, or in other formats with blocks of 32.

    x       f32, bf16 or f16, [..., K]
    weight  f32, bf16 or f16, [N, K]; K and N are multiples of 32
    bias    [N], or None
    activations, weights, gradients  formats of x, weight and the gradient of the result
    scale_rounding  as in `quantize_mxfp8`
    wgrad_high_precision  True: compute the gradient of weight with a bf16 matmul, rounded to
            bf16 as in PyTorch
    save_quantized  True: save x, quantized along its rows, for the backward pass. With MXFP8,
            the saved form takes 33 bytes for 32 values. The operands of all matmuls stay
            bitwise equal. This saves memory if nothing else keeps x alive

    Returns [..., N] in the dtype of x, accumulated in f32. Differentiable; gradients have the dtypes
    of their inputs. Raises TypeError or ValueError. Errors name the argument."""
    rows = as_rows(x)
    check_tensor("weight", weight)
    options = activations, weights, gradients, scale_rounding, wgrad_high_precision
    _check_options(*options, save_quantized)
    if save_quantized and _needs_gradient(weight):
        y = _linear_saving(rows, weight, None, None, options[:4])
    else:
        y = _linear(rows, weight, None, None, options)
    return add_bias(like_rows(y, x), bias)


def mxfp8_grouped_mm(A: Tensor, B_t: Tensor | Sequence[Tensor], offs: Tensor, *,
                     activations: str = "mxfp8", weights: str = "mxfp8", gradients: str = "mxfp8",
                     scale_rounding: str = "ceil", wgrad_high_precision: bool = False,
                     save_quantized: bool = False) -> Tensor:
    """Multiplies the rows of each expert group g in A by B_t[g], like torch.nn.functional.grouped_mm,
    in MXFP8 or in other formats with blocks of 32.

    A     f32, bf16 or f16, [T, K]: the rows of group g end at offs[g]. Groups may have any
          number of rows
    B_t   [G, K, N]: the transpose (-2, -1) of weights [G, N, K]; K and N are multiples of
          32. B_t may also be a list of one such tensor, or of two with equal G and K, such
          as gate and up of an expert; their results are concatenated. With save_quantized,
          a concatenated weight is not saved
    offs  i32 or i64, [G], in device memory

    Returns [T, N] in the dtype of A. Rows past the last group and their gradients are
    undefined. Other arguments, gradients and errors are as in `mxfp8_mm`."""
    is_list = isinstance(B_t, (tuple, list)) and all(isinstance(one, Tensor) for one in B_t)
    pair = B_t if is_list else (B_t,)
    if len(pair) not in (1, 2):
        raise ValueError(f"B_t: expected a tensor or a pair of tensors, found {len(pair)}")
    for name, given in (("A", A), *(("B_t", one) for one in pair), ("offs", offs)):
        check_tensor(name, given)
    for one in pair:
        if one.dim() != 3:
            raise ValueError(f"B_t: expected [expert groups, K, N], found shape {tuple(one.shape)}")
    options = activations, weights, gradients, scale_rounding, wgrad_high_precision
    _check_options(*options, save_quantized)
    weight, *more = (one.transpose(-2, -1) for one in pair)
    if more:
        _check_pair(weight, *more)
        if weight.dtype != more[0].dtype:
            dtype = torch.promote_types(weight.dtype, more[0].dtype)
            weight, *more = weight.to(dtype), more[0].to(dtype)
    if save_quantized and any(map(_needs_gradient, (weight, *more))):
        return _grouped_linear_saving(A, weight, offs, *(more or (None,)), options[:4])
    weight = _beside(weight, *(more or (None,)))
    return _grouped_linear(A, weight, offs, None, options)


@tensors.once
def _check_options(activations, weights, gradients, scale_rounding, wgrad_high_precision, save_quantized):
    check_names(activations=activations, weights=weights, gradients=gradients,
                scale_rounding=scale_rounding)
    check_flag("wgrad_high_precision", wgrad_high_precision)
    check_flag("save_quantized", save_quantized)
    if wgrad_high_precision and save_quantized:
        raise ValueError("save_quantized: expected False with wgrad_high_precision, whose "
                         "matmul reads the unquantized x, found True")


def _needs_gradient(weight):
    return weight.requires_grad and torch.is_grad_enabled()


def _check_pair(weight, more):
    """Checks two weights, [G, N, K], for concatenated results."""
    groups, _, inputs = weight.shape
    for which, one in (("first", weight), ("second", more)):
        if one.dtype not in _DTYPES:
            raise TypeError(f"B_t, the {which}: expected f32, bf16 or f16, found {one.dtype}")
        check.multiple(f"B_t, the {which}", "outputs (N)", one.shape[1], 32)
    if (more.shape[0], more.shape[2]) != (groups, inputs):
        raise ValueError(f"B_t: expected a pair with the same G and K, found G = {groups}, K = {inputs} "
                         f"and G = {more.shape[0]}, K = {more.shape[2]}")
    check_one_device(**{"B_t": weight, "the second of B_t": more})


def _beside(weight, more):
    """Concatenates two weights along their outputs. Returns `weight` if `more` is None."""
    return weight if more is None else torch.cat((weight, more), 1)


@functools.cache
def _formats(activations, weights, gradients, scale_rounding, wgrad_high_precision=False):
    check.one_of("scale_rounding", scale_rounding, ROUNDINGS)
    return training.Formats(
        check.training_format("activations", activations), check.training_format("weights", weights),
        check.training_format("gradients", gradients), scale_rounding)


# --- Forward --------------------------------------------------------------------------


def _forward(x, weight, offs, more, options, saves):
    """Returns a tuple of y and, if `saves`, the bytes of the elements and scales of x."""
    formats, weight = _formats(*options), _beside(weight, more)
    if x.dim() != 2 or not x.shape[0]:
        training.check_forward(x, weight, offs)
        return _empty_forward(x, weight, offs, formats, saves)
    rows = x.shape[0]
    x, weight, offs = tensors.plain(x), tensors.plain(weight), tensors.plain(offs)
    if saves and offs is None:
        x = tensors.pad_rows(x, formats.pad_rows(rows))
    y, *saved = training.forward(x, weight, offs, formats, saves)
    return y if y.shape[0] == rows else y[:rows].clone(), *[one.view(torch.uint8) for one in saved]


def _empty_forward(x, weight, offs, formats, saves):
    """Returns uninitialized results of `_forward`."""
    y, format = x.new_empty((x.shape[0], weight.shape[-2])), formats.activations
    if not saves:
        return y,
    rows, columns = x.shape
    rows = formats.pad_rows(rows) if offs is None else scale_tiles.capacity(rows, offs.shape[0])
    scales = scale_tiles.tiles_shape(columns, rows // format.block)
    return (y, x.new_empty((columns, rows // format.per_byte), dtype=torch.uint8),
            x.new_empty(scales, dtype=torch.uint8))


def _fake_forward(x, weight, offs, more, options, saves):
    weight = _beside(weight, more)
    assume_expert_groups(offs)
    training.check_forward(x, weight, offs)
    check_one_device(**({"x": x, "weight": weight} if offs is None else {"A": x, "B_t": weight, "offs": offs}))
    return _empty_forward(x, weight, offs, _formats(*options), saves)


# --- Backward -------------------------------------------------------------------------


def _backward(dy, x, scales, weight, offs, more, needs_dx, needs_dw, options):
    """Returns the gradients of x, `weight` and `more`. An unneeded gradient is None. With `scales`, x is
    saved elements. The gradients of both weights are computed if `needs_dw`."""
    if more is None:
        return *_backward_of(dy, x, scales, weight, offs, needs_dx, needs_dw, options), None
    groups, outputs, inputs = weight.shape
    # Only type and shape are read unless `needs_dx`.
    both = _beside(weight, more) if needs_dx else _without_contents(
        weight, (groups, outputs + more.shape[1], inputs))
    dx, dw = _backward_of(dy, x, scales, both, offs, needs_dx, needs_dw, options)
    return dx, *(dw if dw is None else part.clone(memory_format=torch.contiguous_format)
                 for part in (dw.split((outputs, more.shape[1]), 1) if needs_dw else (None, None)))


def _backward_of(dy, x, scales, weight, offs, needs_dx, needs_dw, options):
    """Returns the gradients of x and the weight."""
    rows, formats = dy.shape[0], _formats(*options)
    if not rows:
        dx, dw = _gradients(dy, weight, needs_dx, needs_dw)
        return dx, dw.zero_()
    dy, offs, dx, dw = tensors.plain(dy), tensors.plain(offs), None, None
    if needs_dx:
        weight = tensors.plain(weight)
    if needs_dw:
        x = tensors.plain(x)
        if options[4:] == (True,):
            dw, needs_dw = _multiply_as_given(dy, x, offs).to(weight.dtype), False
        elif offs is None:
            padded = formats.pad_rows(rows)
            dy = tensors.pad_rows(dy, padded)
            x = tensors.pad_rows(x, padded) if scales is None else x
    if needs_dx or needs_dw:
        found = training.backward(dy, x if scales is None else (x, tensors.plain(scales)), weight, offs,
                                  formats, needs_dx, needs_dw)
        dx, dw = found[0] if needs_dx else None, found[-1] if needs_dw else dw
    return dx[:rows].clone() if needs_dx and dx.shape[0] != rows else dx, dw


def _multiply_as_given(dy, x, offs):
    """Computes the weight gradient with PyTorch's bf16 matmul."""
    dy, x = dy.to(torch.bfloat16).t(), x.to(torch.bfloat16)
    if offs is None:
        return dy @ x
    return torch.nn.functional.grouped_mm(dy, x, offs=offs.to(torch.int32))


def _gradients(dy, weight, needs_dx, needs_dw):
    """Returns uninitialized gradients, dense like the results of programs. A gradient that is not
    needed has no elements."""
    return (dy.new_empty((dy.shape[0], weight.shape[-1]) if needs_dx else 0),
            weight.new_empty(weight.shape if needs_dw else 0))


# --- Operators ------------------------------------------------------------------------
#
#   linear                x, weight, options, wgrad_high_precision -> y
#   grouped_linear        x, weight, offs, options, wgrad_high_precision -> y
#   linear_saving         x, weight, options -> y, elements, scales
#   grouped_linear_saving  x, weight, offs, more, options -> y, elements, scales
#
# Elements and scales are the bytes of x, quantized along its rows. The backward passes of the last
# two operators read them instead of x. `more` is an optional second weight. Its outputs follow
# the outputs of `weight`. Backward passes return the gradients of x, `weight` and, if present,
# `more`. An unneeded gradient is empty.

_OPTIONS = "str activations, str weights, str gradients, str scale_rounding"


def _without_contents(x, shape=None):
    """Returns a tensor with the type, shape and device of x, but without its memory. The tensor
    replaces x if no matmul reads x, so x may be freed or changed."""
    return x.new_empty(()).expand(x.shape if shape is None else shape)


def _define(name, is_grouped, saves):
    """Defines the operator mx::NAME and its backward operator. Returns a function of x, weight, offs, more
    and options that returns y. The operators take only the first `count` of weight, offs and more, and
    each option as an argument."""
    count = 1 + is_grouped + (is_grouped and saves)
    experts = ", Tensor offs" * is_grouped + ", Tensor? more" * (count == 3)
    options = _OPTIONS + ", bool wgrad_high_precision" * (not saves)

    def of_forward(compute):
        def kernel(x, *arguments):
            found = compute(x, *(*arguments[:count], None, None)[:3], arguments[count:], saves)
            return found if saves else found[0]
        return kernel

    def of_backward(compute):
        def kernel(dy, x, *arguments):
            scales, arguments = (arguments[0], arguments[1:]) if saves else (None, arguments)
            needs, options = arguments[count:count + 2], arguments[count + 2:]
            found = compute(dy, x, scales, *(*arguments[:count], None, None)[:3], *needs, options)
            return found[:2 + (count == 3)]
        return kernel

    backward = tensors.define(
        f"{name}_backward",
        f"(Tensor dy, {'Tensor elements, Tensor scales' if saves else 'Tensor x'}, Tensor weight"
        f"{experts}, bool needs_dx, bool needs_dw, {options}) -> (Tensor, Tensor{', Tensor' * (count == 3)})",
        tensors.without_none(of_backward(_backward), 2 + saves), of_backward(_fake_backward))
    refuse_second_order(f"{name}_backward")

    def backward_operator(dy, x, scales, weight, offs, more, needs_dx, needs_dw, options):
        of_x = (x, scales) if saves else (x,)
        return backward._opoverload(dy, *of_x, *(weight, offs, more)[:count], needs_dx, needs_dw, *options)

    def differentiate(compute):
        def run(ctx, dy, *_):
            needs = ctx.needs_input_grad
            dx, dw, *dmore = compute(dy, *ctx.saved_tensors, needs[0], any(needs[1::2]), ctx.options)
            found = (dx, dw, None, *dmore, *(None,) * 6)
            return tuple([gradient if need else None for gradient, need in zip(found, needs)])
        return run

    def keep(ctx, inputs, output):
        _save(ctx, inputs[0], *(*inputs[1:1 + count], None, None)[:3], inputs[1 + count:],
              output[1:] if saves else ())
        # Otherwise backward would fill gradients of the saved bytes with zeros.
        ctx.set_materialize_grads(False)

    definition = tensors.define(
        name, f"(Tensor x, Tensor weight{experts}, {options}) -> "
        f"{'(Tensor, Tensor, Tensor)' if saves else 'Tensor'}", of_forward(_forward), of_forward(_fake_forward))
    definition.register_autograd(differentiate(backward_operator), setup_context=keep)

    def forward(ctx, x, weight, offs, more, options):
        y, *saved = _forward(x, weight, offs, more, options, saves)
        if ctx is not None:
            _save(ctx, x, weight, offs, more, options, saved)
        return y

    def forward_operator(x, weight, offs, more, options):
        found = definition._opoverload(x, *(weight, offs, more)[:count], *options)
        return found[0] if saves else found

    call_backward = eager.direct(f"{name}_backward", _backward, None, backward_operator, range(6), (0,))
    return eager.direct(name, functools.partial(forward, None), eager.function(
        definition, forward, differentiate(call_backward)), forward_operator, range(4), range(4))


def _save(ctx, x, weight, offs, more, options, saved):
    """Saves the tensors of `_backward`. `saved` contains the elements and scales of x, or nothing."""
    needs = ctx.needs_input_grad
    if not needs[0]:
        weight, more = (one if one is None else _without_contents(one) for one in (weight, more))
    if not saved:
        saved = x if needs[1] else _without_contents(x), None
    ctx.save_for_backward(*saved, weight, offs, more)
    ctx.options = options


def _fake_backward(dy, x, scales, weight, offs, more, needs_dx, needs_dw, options):
    dmore = weight.new_empty(more.shape if more is not None and needs_dw else 0)
    return *_gradients(dy, weight, needs_dx, needs_dw), dmore


_linear = _define("linear", False, False)
_grouped_linear = _define("grouped_linear", True, False)
_linear_saving = _define("linear_saving", False, True)
_grouped_linear_saving = _define("grouped_linear_saving", True, True)
