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

import torch
from torch import Tensor

from ..._ops import checks as check
from ..._ops import scale_tiles, training
from ..._ops.formats import find_format
from ..._ops.quantize import ROUNDINGS
from . import eager, tensors
from .checks import (add_bias, as_rows, assume_expert_groups, check_flag, check_names,
                     check_one_device, check_tensor, like_rows, refuse_second_order)

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def mxfp8_mm(x, weight, bias=None, *, activations="mxfp8", weights="mxfp8",
             gradients="mxfp8", scale_rounding="ceil", wgrad_high_precision=False,
             save_quantized=False):
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
    formats = activations, weights, gradients, scale_rounding
    _check_options(*formats, wgrad_high_precision, save_quantized)
    if save_quantized and _needs_gradient(weight):
        y = linear_saving(rows, weight, *formats)[0]
    else:
        y = linear(rows, weight, *formats, wgrad_high_precision)
    return add_bias(like_rows(y, x), bias)


def mxfp8_grouped_mm(A, B_t, offs, *, activations="mxfp8", weights="mxfp8",
                     gradients="mxfp8", scale_rounding="ceil",
                     wgrad_high_precision=False, save_quantized=False):
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
            raise ValueError("B_t: expected [expert groups, K, N], found shape "
                             f"{tuple(one.shape)}")
    formats = activations, weights, gradients, scale_rounding
    _check_options(*formats, wgrad_high_precision, save_quantized)
    weight, *more = (one.transpose(-2, -1) for one in pair)
    if more:
        _check_pair(weight, *more)
        if weight.dtype != more[0].dtype:
            dtype = torch.promote_types(weight.dtype, more[0].dtype)
            weight, *more = weight.to(dtype), more[0].to(dtype)
    if save_quantized and any(map(_needs_gradient, (weight, *more))):
        return grouped_linear_saving(A, weight, offs, *(more or (None,)), *formats)[0]
    weight = _beside(weight, *(more or (None,)))
    return grouped_linear(A, weight, offs, *formats, wgrad_high_precision)


_right = set()


def _check_options(*options):
    """Raises TypeError or ValueError unless the options agree. Eager calls repeat them."""
    try:
        is_right = options in _right
    except TypeError:       # an option that is not hashable is wrong
        is_right = False
    if not is_right:
        _check_new_options(*options)
        _right.add(options)


def _check_new_options(activations, weights, gradients, scale_rounding, wgrad_high_precision,
                       save_quantized):
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


def _check(x, weight, rank, options):
    """Checks the arguments of operators and fake kernels. The number of rows of `x` is not
    restricted."""
    *formats, scale_rounding = options
    names = ("A", "B_t") if rank == 3 else ("x", "weight")
    found = [check.matrix(name, x, check.MATRICES)[1] for name, x in zip(names, (x, weight))]
    for name, shape, wanted in zip(names, found, (2, rank)):
        if len(shape) != wanted:
            raise ValueError(f"{name}: expected {wanted} dimensions, found shape {shape}")
    if found[0][-1] != found[1][-1]:
        raise ValueError(f"{names[1]}: expected K = {found[0][-1]}, the last dimension "
                         f"of {names[0]}, found K = {found[1][-1]}")
    for name, format in zip(("activations", "weights", "gradients"), formats):
        check.training_format(name, format)
    check.one_of("scale_rounding", scale_rounding, ROUNDINGS)
    check.multiple(names[0], "columns (K)", found[1][-1], 32)
    check.multiple(names[1], "outputs (N)", found[1][-2], 32)


def _check_grouped(x, weight, offs, options):
    _check(x, weight, 3, options)
    if check.vector("offs", offs) != weight.shape[0]:
        raise ValueError(f"offs: expected {weight.shape[0]} ends, one for each matrix of "
                         f"B_t, found {offs.shape[0]}")


_check_dense_once = tensors.once(_check)
_check_grouped_once = tensors.once(_check_grouped)


@functools.cache
def _formats(activations, weights, gradients, scale_rounding):
    return training.Formats(find_format(activations), find_format(weights),
                            find_format(gradients), scale_rounding)


def _in_blocks(x, formats):
    """Pads the rows of x with zeros to whole blocks. The padding changes neither sums over rows nor
    scales."""
    missing = formats.pad_rows(x.shape[0]) - x.shape[0]
    return torch.nn.functional.pad(x, (0, 0, 0, missing)) if missing else x


# --- Forward --------------------------------------------------------------------------


def _forward(x, weight, offs, options, saves):
    _check_once(x, weight, offs, options)
    if not x.shape[0]:
        y = x.new_empty((0, weight.shape[-2]))
        return (y, *_saved_shapes(x, weight, offs, options)) if saves else y
    formats = _formats(*options)
    x, weight, offs = map(tensors.plain, (x, weight, offs))
    rows = x.shape[0]
    if saves and offs is None:
        x = _in_blocks(x, formats)
    y, *saved = training.forward(x, weight, offs, formats, saves)
    y = y if y.shape[0] == rows else y[:rows].clone()
    return (y, *(one.view(torch.uint8) for one in saved)) if saves else y


def _check_once(x, weight, offs, options):
    if offs is None:
        _check_dense_once(x, weight, 2, options)
    else:
        _check_grouped_once(x, weight, offs, options)


def _saved_shapes(x, weight, offs, options):
    """Returns uninitialized bytes for the saved elements and scales of x."""
    format = find_format(options[0])
    rows, columns = x.shape
    groups = None if offs is None else offs.shape[0]
    rows = (_formats(*options).pad_rows(rows) if groups is None
            else scale_tiles.capacity(rows, groups))
    scales = scale_tiles.tiles_shape(columns, rows // format.block)
    return (x.new_empty((columns, rows // format.per_byte), dtype=torch.uint8),
            x.new_empty(scales, dtype=torch.uint8))


def _fake(x, weight, offs, options, saves):
    if offs is None:
        _check(x, weight, 2, options)
        check_one_device(x=x, weight=weight)
    else:
        assume_expert_groups(offs)
        _check_grouped(x, weight, offs, options)
        check_one_device(A=x, B_t=weight, offs=offs)
    y = x.new_empty((x.shape[0], weight.shape[-2]))
    return (y, *_saved_shapes(x, weight, offs, options)) if saves else y


# --- Backward -------------------------------------------------------------------------


def _backward(dy, x, weight, offs, needs_dx, needs_dw, options, wgrad_high_precision=False):
    """Returns the gradients of x and the weight. `x` may be the saved pair."""
    if not dy.shape[0]:
        dx, dw = _gradients(dy, weight, needs_dx, needs_dw)
        return dx, dw.zero_()
    formats = _formats(*options)
    dy, offs = tensors.plain(dy), tensors.plain(offs)
    if needs_dx:
        weight = tensors.plain(weight)
    is_quantized = needs_dw and not wgrad_high_precision
    dx = dw = None
    if needs_dx or is_quantized:
        dx, dw = _multiply(dy, x, weight, offs, formats, needs_dx, is_quantized)
    if needs_dw and wgrad_high_precision:
        dw = _multiply_as_given(dy, tensors.plain(x), offs).to(weight.dtype)
    return dy.new_empty(0) if dx is None else dx, weight.new_empty(0) if dw is None else dw


def _multiply(dy, x, weight, offs, formats, needs_dx, needs_dw):
    """Computes the gradients of x and the weight with block-scaled matmuls. A gradient that is not
    needed is None."""
    rows = dy.shape[0]
    if type(x) is tuple:
        format = formats.activations
        x = tuple(tensors.typed(tensors.plain(one), mlir) for one, mlir in
                  zip(x, (format.elements, format.scales)))
    elif needs_dw:
        x = tensors.plain(x)
    if needs_dw and offs is None and formats.pad_rows(rows) != rows:
        dy = _in_blocks(dy, formats)
        x = x if type(x) is tuple else _in_blocks(x, formats)
    found = training.backward(dy, x, weight, offs, formats, needs_dx, needs_dw)
    dx = found[0] if needs_dx else None
    if needs_dx and dx.shape[0] != rows:
        dx = dx[:rows].clone()
    return dx, found[-1] if needs_dw else None


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
    """Defines the operator mx::NAME and its backward operator. Returns the function that calls
    them."""
    of_experts = ", Tensor offs" * is_grouped + ", Tensor? more" * (is_grouped and saves)
    options = _OPTIONS + ", bool wgrad_high_precision" * (not saves)
    count = 2 + is_grouped + (is_grouped and saves)  # number of tensors

    def split(weight, *rest):
        """Splits the arguments into weight, more, offs and the rest."""
        offs, *rest = rest if is_grouped else (None, *rest)
        more, *rest = rest if is_grouped and saves else (None, *rest)
        return weight, more, offs, rest

    def forward(compute):
        def run(x, *arguments):
            weight, more, offs, given = split(*arguments)
            return compute(x, _beside(weight, more), offs, tuple(given[:4]), saves)
        return run

    def backward(compute):
        def run(dy, *arguments):
            x, arguments = ((arguments[:2], arguments[2:]) if saves
                            else (arguments[0], arguments[1:]))
            weight, more, offs, (needs_dx, needs_dw, *given) = split(*arguments)
            found = compute(dy, x, weight, more, offs, needs_dx, needs_dw, given)
            return found if is_grouped and saves else found[:2]
        return run

    results = "Tensor, Tensor, Tensor" if is_grouped and saves else "Tensor, Tensor"
    of_backward = tensors.define(
        f"{name}_backward",
        f"(Tensor dy, {'Tensor elements, Tensor scales' if saves else 'Tensor x'}, Tensor weight"
        f"{of_experts}, bool needs_dx, bool needs_dw, {options}) -> ({results})",
        backward(_backward_of_pair), backward(_fake_backward))
    call_backward = eager.operator(of_backward)
    refuse_second_order(f"{name}_backward")

    def keep(ctx, inputs, output):
        x, weight, *of_experts = inputs[:count]
        needs_dx, needs_dw = ctx.needs_input_grad[:2]
        kept = output[1:] if saves else (x if needs_dw else _without_contents(x),)
        weight, *more = (one if one is None or needs_dx else _without_contents(one)
                         for one in (weight, *of_experts[1:]))
        ctx.save_for_backward(*kept, weight, *of_experts[:1], *more)
        # Otherwise backward would fill gradients of the saved bytes with zeros.
        ctx.set_materialize_grads(False)
        ctx.options = inputs[count:]

    def differentiate(ctx, dy, *_):
        needs = ctx.needs_input_grad
        needs_dw = needs[1] or is_grouped and saves and needs[3]
        found = dict(zip((0, 1, 3), call_backward(dy, *ctx.saved_tensors, needs[0], needs_dw,
                                                  *ctx.options)))
        return tuple(found.get(i) if need else None for i, need in enumerate(needs))

    of_forward = tensors.define(
        name, f"(Tensor x, Tensor weight{of_experts}, {options}) -> "
        f"{'(Tensor, Tensor, Tensor)' if saves else 'Tensor'}", forward(_forward), forward(_fake))
    return eager.operator(of_forward, differentiate, keep)


def _backward_of_pair(dy, x, weight, more, offs, needs_dx, needs_dw, options):
    """Returns the gradients of x, `weight` and `more`. The gradients of both weights are computed if
    `needs_dw`."""
    both = weight
    if more is not None and needs_dx:
        both = _beside(weight, more)
    elif more is not None:  # only type and shape are read
        groups, outputs, inputs = weight.shape
        both = _without_contents(weight, (groups, outputs + more.shape[1], inputs))
    dx, dw = _backward(dy, x, both, offs, needs_dx, needs_dw, options[:4], *options[4:])
    if more is None or not needs_dw:
        return dx, dw, weight.new_empty(0)
    return dx, *(part.clone(memory_format=torch.contiguous_format)
                 for part in dw.split((weight.shape[1], more.shape[1]), 1))


def _fake_backward(dy, x, weight, more, offs, needs_dx, needs_dw, options):
    dmore = weight.new_empty(more.shape if more is not None and needs_dw else 0)
    return *_gradients(dy, weight, needs_dx, needs_dw), dmore


linear = _define("linear", False, False)
grouped_linear = _define("grouped_linear", True, False)
linear_saving = _define("linear_saving", False, True)
grouped_linear_saving = _define("grouped_linear_saving", True, True)
