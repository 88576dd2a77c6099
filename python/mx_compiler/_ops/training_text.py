# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forward and backward programs of a linear layer, or of a linear layer for each expert group. Each
program quantizes the operands of its matmuls, so the compiler can write them in the form that the
matmul reads.

    y  = q(x)   q(w)^T     blocks along K
    dx = q(dy)  q(w)       blocks along N
    dw = q(dy)^T q(x)      blocks along T, the rows of x

Sums are in order, so results depend neither on the number of rows nor on the choice between programs
with static and with dynamic rows.
"""

from typing import NamedTuple, Optional

from .formats import Format
from .layer_text import (add_reduction_matmul, add_rows_matmul, function_text, pairs, rows_argument,
                         saved_argument, weight_batch)
from .mlir_text import Body
from .quantize_text import ExpertGroups, Matrix, add_quantize

_FORM = "block_size = 32 in_order"


class Layer(NamedTuple):
    """Sizes, MLIR types and formats, which determine the programs. `rows` is None if the number of
    rows is dynamic. With expert `groups`, weights are [groups, outputs, inputs]. Without groups, the
    number of rows of a backward pass, or of a forward pass that saves x, must be a multiple of the
    block size."""
    rows: Optional[int]
    outputs: int
    inputs: int
    x_type: str
    weight_type: str
    activations: Format
    weights: Format
    gradients: Format
    rounding: str
    groups: Optional[ExpertGroups] = None

    batch = property(weight_batch)


def forward_text(layer, saves):
    """Returns @main(x, weight[, offsets]) with the result y. If `saves`, the function also returns
    the elements and scales of x, quantized along its rows, which backward_text accepts instead of
    x."""
    body = Body()
    x = rows_argument(body, "x", layer, layer.inputs)
    weight = _weight(layer)
    x_by_k, *saved = add_quantize(body, x, layer.activations, (-1, -2)[:1 + saves],
                                  layer.rounding, layer.groups)
    weight_by_k, = add_quantize(body, weight, layer.weights, (-1,), layer.rounding)
    y = add_rows_matmul(body, layer, x_by_k, weight_by_k, layer.outputs, x.count, _FORM)
    return function_text(body, layer, [(x.value, x.type), (weight.value, weight.type)],
                         [y, *pairs(saved)])


def backward_text(layer, needs_dx, needs_dw, is_saved):
    """Returns @main(dy[, weight][, x][, offsets]) with the results dx, dw or both. The argument
    `weight` exists if dx is computed, and `x` if dw is computed. If `is_saved`, the arguments are
    the saved elements and scales of x instead of x."""
    body = Body()
    dy = rows_argument(body, "dy", layer, layer.outputs)
    arguments, results = [(dy.value, dy.type)], []
    axes = (-1,) * needs_dx + (-2,) * needs_dw
    of_dy = dict(zip(axes, add_quantize(body, dy, layer.gradients, axes, layer.rounding,
                                        layer.groups)))
    if needs_dx:
        weight = _weight(layer)
        arguments.append((weight.value, weight.type))
        by_n, = add_quantize(body, weight, layer.weights, (-2,), layer.rounding)
        results.append(add_rows_matmul(body, layer, of_dy[-1], by_n, layer.inputs, dy.count, _FORM))
    if needs_dw:
        x, given = _x_by_rows(body, layer, is_saved, dy.count)
        arguments += given
        results.append(add_reduction_matmul(body, layer, of_dy[-2], x, layer.outputs, _FORM))
    return function_text(body, layer, arguments, results)


def _weight(layer):
    return Matrix("%weight", layer.batch, layer.outputs, layer.inputs, layer.weight_type)


def _x_by_rows(body, layer, is_saved, count):
    """Returns x quantized along its rows, and the arguments of the function for x."""
    if not is_saved:
        x = Matrix("%x", (), layer.rows, layer.inputs, layer.x_type, count)
        operand, = add_quantize(body, x, layer.activations, (-2,), layer.rounding, layer.groups)
        return operand, [(x.value, x.type)]
    operand = saved_argument(layer, "%elements", "%scales")
    return operand, pairs([operand])
