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

from . import scale_tiles
from .formats import Format
from .mlir_text import Body, tensor
from .quantize_text import ExpertGroups, Matrix, Operand, add_quantize
from .quantized import elements_type, scales_type


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

    @property
    def batch(self):
        return (self.groups.count,) if self.groups else ()


def forward_text(layer, saves):
    """Returns @main(x, weight[, offsets]) with the result y. If `saves`, the function also returns
    the elements and scales of x, quantized along its rows, which backward_text accepts instead of
    x."""
    body = Body()
    x = _rows(body, "x", layer, layer.inputs)
    weight = _weight(layer)
    x_by_k, *saved = add_quantize(body, x, layer.activations, (-1, -2)[:1 + saves],
                                  layer.rounding, layer.groups)
    weight_by_k, = add_quantize(body, weight, layer.weights, (-1,), layer.rounding)
    y = _multiply_rows(body, layer, x_by_k, weight_by_k, layer.outputs, x.count)
    return _function(body, layer, [(x.value, x.type), (weight.value, weight.type)],
                     [y, *(pair for one in saved for pair in zip(*one))])


def backward_text(layer, needs_dx, needs_dw, is_saved):
    """Returns @main(dy[, weight][, x][, offsets]) with the results dx, dw or both. The argument
    `weight` exists if dx is computed, and `x` if dw is computed. If `is_saved`, the arguments are
    the saved elements and scales of x instead of x."""
    body = Body()
    dy = _rows(body, "dy", layer, layer.outputs)
    arguments, results = [(dy.value, dy.type)], []
    axes = (-1,) * needs_dx + (-2,) * needs_dw
    of_dy = dict(zip(axes, add_quantize(body, dy, layer.gradients, axes, layer.rounding,
                                        layer.groups)))
    if needs_dx:
        weight = _weight(layer)
        arguments.append((weight.value, weight.type))
        by_n, = add_quantize(body, weight, layer.weights, (-2,), layer.rounding)
        results.append(_multiply_rows(body, layer, of_dy[-1], by_n, layer.inputs, dy.count))
    if needs_dw:
        x, given = _x_by_rows(body, layer, is_saved, dy.count)
        arguments += given
        results.append(_multiply_reduction(body, layer, of_dy[-2], x))
    return _function(body, layer, arguments, results)


def _rows(body, name, layer, columns):
    """Returns the Matrix of argument x or dy. Both have the same element type."""
    matrix = Matrix(f"%{name}", (), layer.rows, columns, layer.x_type)
    if layer.rows is not None:
        return matrix
    return matrix._replace(count=body.dim(matrix.value, matrix.type, 0))


def _weight(layer):
    return Matrix("%weight", layer.batch, layer.outputs, layer.inputs, layer.weight_type)


def _x_by_rows(body, layer, is_saved, count):
    """Returns x quantized along its rows, and the arguments of the function for x."""
    if not is_saved:
        x = Matrix("%x", (), layer.rows, layer.inputs, layer.x_type, count)
        operand, = add_quantize(body, x, layer.activations, (-2,), layer.rounding, layer.groups)
        return operand, [(x.value, x.type)]
    rows, kind, groups = layer.rows, None, None
    if layer.groups:
        kind, groups = "reduction", layer.groups.count
        rows = None if rows is None else scale_tiles.capacity(rows, groups)
    dims = layer.inputs, rows
    types = (elements_type(dims, layer.activations, kind, groups),
             scales_type(dims, layer.activations, "sf_128x4", kind, groups))
    operand = Operand(("%elements", "%scales"), types)
    return operand, list(zip(*operand))


def _multiply_rows(body, layer, a, b, columns, count):
    """Adds the matmul a b^T over all rows. Returns its (value, type)."""
    result = tensor((layer.rows, columns), layer.x_type)
    out = body.empty(result, [] if count is None else [count])
    if not layer.groups:
        return _multiply(body, "mx.matmul", a, b, "", out, result)
    return _multiply(body, "mx.grouped_matmul ragged = rows", a, b, _ends(layer), out, result)


def _multiply_reduction(body, layer, a, b):
    """Adds a matmul a b^T for each expert group, which sums over the group's rows. Returns its
    (value, type)."""
    result = tensor((*layer.batch, layer.outputs, layer.inputs), layer.weight_type)
    out = body.empty(result)
    if not layer.groups:
        return _multiply(body, "mx.matmul", a, b, "", out, result)
    return _multiply(body, "mx.grouped_matmul ragged = reduction", a, b, _ends(layer), out,
                     result)


def _multiply(body, name, a, b, clauses, out, result):
    value = body.add(
        f"{name} ins({', '.join((*a.values, *b.values))} : {', '.join((*a.types, *b.types))}) "
        f"{clauses}outs({out} : {result}) block_size = 32 in_order -> {result}")
    return value, result


def _ends(layer):
    return f"offsets(%offsets : {layer.groups.type}) "


def _function(body, layer, arguments, results):
    """Returns the text of the function. `arguments` and `results` are (value, type) pairs."""
    if layer.groups:
        arguments = [*arguments, ("%offsets", layer.groups.type)]
    return body.function([(value.removeprefix("%"), type) for value, type in arguments],
                         [type for _, type in results], [value for value, _ in results])
