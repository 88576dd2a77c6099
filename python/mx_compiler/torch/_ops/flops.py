# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operation counts for torch.utils.flop_counter. A matmul counts 2 M N K operations, as in torch.mm, and
a quantizer has none. The sizes of expert groups are in device memory, so each row is counted once,
including rows past the last group."""

from math import prod

import torch
from torch.utils.flop_counter import flop_registry, register_flop_formula

from ..._ops.formats import find_format
from .tensors import matrix_shape


def counts(packet, get_raw=False):
    """Registers a formula for an operator unless PyTorch has one. If `get_raw`, the formula receives
    tensors instead of shapes."""
    if packet in flop_registry:
        return lambda formula: formula
    return register_flop_formula(packet, get_raw)


def _elements(shape, format):
    """Returns the last extent in elements."""
    return shape[-1] * (1 if format is None else find_format(format).per_byte)


# --- Matmuls of training: x [T, K], weight [N, K] or [G, N, K] ------------------------


def _forward(x, weight, *_, out_shape=None):
    return 2 * x[0] * weight[-2] * weight[-1]


def _count_linear(name, weights, weights_of_backward):
    """Registers counts for an operator and its backward operator, with the indices of the weights in
    their arguments. A second weight is optional."""
    def sum_up(arguments, indices, factor):
        given = [arguments[index] for index in indices]
        return factor * sum(_forward(arguments[0], one) for one in given if one is not None)

    counts(getattr(torch.ops.mx, name))(lambda *arguments, out_shape=None: sum_up(
        arguments, weights, 1))
    counts(getattr(torch.ops.mx, f"{name}_backward"))(lambda *arguments, out_shape=None: sum_up(
        arguments, weights_of_backward, sum([x for x in arguments if isinstance(x, bool)][:2])))


for _name, *_weights in (("linear", [1], [2]), ("grouped_linear", [1], [2]), ("linear_saving", [1], [3]),
                         ("grouped_linear_saving", [1, 3], [3, 5]), ("fp8_multiply", [2, 7], [5, 8])):
    _count_linear(_name, *_weights)


@counts(torch.ops.mx.moe_layer)
def _(x, w1, w2, tokens, *_, out_shape=None):
    return _forward(tokens, w1) + _forward(tokens, w2)


@counts(torch.ops.mx.moe_layer_backward)
def _(dy, w1, tokens, *_, out_shape=None):
    # w2 has half as many elements as w1. There is a matmul for the gradient of each weight, and a
    # matmul for the gradient of its input.
    return 2 * (_forward(tokens, w1) + _forward(tokens, w1) // 2)


# --- Quantized operands -----------------------------------------------------------------


# The dimensions of packed weights differ from the matrix, so N is read from the result.


def _weight_only(x, *_, out_shape=None, **__):
    return 2 * x[0] * x[1] * out_shape[-1]


counts(torch.ops.mx.weight_only_mm)(_weight_only)
counts(torch.ops.mx.weight_only_grouped_mm)(_weight_only)


@counts(torch.ops.mx.weight_only_grouped_mm_backward)
def _(dy, *_, out_shape=None, **__):
    return 2 * dy[0] * dy[1] * out_shape[-1]


@counts(torch.ops.mx.weight_only_experts)
def _(x, ids, weights, gate_up, *rest, out_shape=None):
    # down has half as many elements as gate_up.
    rows = matrix_shape(gate_up, rest[5], rest[6])[-2]
    return 3 * ids[0] * ids[1] * x[1] * rows


@counts(torch.ops.mx.matmul)
def _(a, b, scale_a, scale_b, format_a, *_, out_shape=None, **__):
    return 2 * prod(out_shape) * _elements(a, format_a)


@counts(torch.ops.mx.grouped_matmul)
def _(a, b, scale_a, scale_b, offsets, format_a, format_b, dtype, mode="rows", *_,
      out_shape=None, **__):
    # Expert groups along K divide the elements of K among themselves. The padding of groups is
    # multiplied as well.
    results = out_shape[-2:] if mode == "reduction" else out_shape
    return 2 * prod(results) * _elements(a, format_a)


@counts(torch.ops.mx.scaled_grouped_matmul)
def _(a, b, scale_a, scale_b, offs, factor_a, factor_b, format_a, *_, out_shape=None):
    return 2 * a[0] * _elements(a, format_a) * b[-1]


# --- PyTorch's own operators, which GroupedExperts and install() use ------------------


def _of_aten(a, b, *_, out_val=None, **__):
    packed = 2 if a.dtype == torch.float4_e2m1fn_x2 else 1
    matrices = a.shape[0] if a.dim() == b.dim() == 3 else 1
    return 2 * matrices * a.shape[-2] * a.shape[-1] * packed * b.shape[-1]


for _name in ("_grouped_mm", "_scaled_grouped_mm", "_scaled_grouped_mm_v2",
              "_scaled_mm_v2"):
    counts(getattr(torch.ops.aten, _name), get_raw=True)(_of_aten)
