# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of a linear layer for the FP8 tensor cores of Hopper: blocks of 128 elements of x and dy,
blocks of 128 x 128 weights, and 128 products at a time in reduced precision (docs/reference/Spec.md,
Folded operands). A second weight shares x; its result and gradients are separate.

    y  = q(x)   q(w)^T     blocks along K
    dx = q(dy)  q(w)       blocks along N, summed over both weights
    dw = q(dy)^T q(x)      blocks along T, the rows of x
"""

from typing import NamedTuple, Optional

from .formats import Format
from .layer_text import (add_reduction_matmul, add_rows_matmul, function_text, pairs, rows_argument,
                         saved_argument, weight_batch)
from .mlir_text import Body
from .quantize_text import ExpertGroups, Matrix, Operand, add_quantize
from .quantized import elements_type, scales_type

BLOCK = 128
# Types of scales by name. Scales of type f32 divide the largest magnitude exactly.
SCALES = {"e8m0": "f8E8M0FNU", "f32": "f32"}
ROWS_FORM = f"block_size = {BLOCK} b_block_size = {BLOCK}x{BLOCK} promote = {BLOCK}"
REDUCTION_FORM = f"block_size = {BLOCK} b_block_size = {BLOCK} promote = {BLOCK}"


def rows_format(element, scales):
    """Returns the Format of x, or of dy: 128 elements of a row share a scale."""
    return Format(f"fp8_{scales}", element, SCALES[scales], BLOCK, 8)


def weight_format(element, scales):
    """Returns the Format of weights: 128 rows and 128 columns share a scale."""
    return rows_format(element, scales)._replace(rows=BLOCK, has_matmul=False)


class Layer(NamedTuple):
    """Sizes, MLIR types and formats, which determine the programs. `rows` is None if the number of
    rows is dynamic. `outputs` lists the outputs of each weight. With expert `groups`, weights are
    [groups, outputs, inputs]. Without groups, the rows of a backward pass, or of a forward pass that
    saves x, are a multiple of 128."""
    rows: Optional[int]
    outputs: tuple
    inputs: int
    x_type: str
    weight_type: str
    activations: Format
    weights: Format
    gradients: Format
    groups: Optional[ExpertGroups] = None

    batch = property(weight_batch)


def weight_text(batch, outputs, inputs, weight_type, format, axes):
    """Returns @main(weight) with the elements and scales of the weight along each of `axes`."""
    body = Body()
    weight = Matrix("%weight", batch, outputs, inputs, weight_type)
    found = add_quantize(body, weight, format, axes, _rounding(format))
    values, types = zip(*pairs(found))
    return body.function([("weight", weight.type)], types, values)


def forward_text(layer, saves, axes=()):
    """Returns @main(x, elements, scales of each weight[, offsets]) with a result for each weight. If
    `saves`, the function also returns the elements and scales of x, quantized along its rows.

    With `axes`, (-1,) or (-1, -2), the arguments are weights. The function quantizes each along `axes`
    and, for -2, also returns its elements and scales."""
    body = Body()
    x = rows_argument(body, "x", layer, layer.inputs)
    by_k, *saved = add_quantize(body, x, layer.activations, (-1, -2)[:1 + saves],
                                _rounding(layer.activations), layer.groups)
    arguments, weights = [(x.value, x.type)], []
    for index, outputs in enumerate(layer.outputs):
        if axes:
            given = Matrix(f"%w{index}", layer.batch, outputs, layer.inputs, layer.weight_type)
            arguments.append((given.value, given.type))
            weight, *turned = add_quantize(body, given, layer.weights, axes, _rounding(layer.weights))
            saved += turned
        else:
            weight = _weight(layer, index, (outputs, layer.inputs))
            arguments += zip(*weight)
        weights.append(weight)
    results = [add_rows_matmul(body, layer, by_k, weight, outputs, x.count, ROWS_FORM)
               for weight, outputs in zip(weights, layer.outputs)]
    return function_text(body, layer, arguments, [*results, *pairs(saved)])


def backward_text(layer, needs_dx, needs_dw):
    """Returns @main(dy of each weight[, elements, scales of each transposed weight][, elements, scales
    of x][, offsets]) with the result dx, a result dw for each weight, or all of them."""
    body = Body()
    axes = (-1,) * needs_dx + (-2,) * needs_dw
    arguments, operands = [], []
    for index, outputs in enumerate(layer.outputs):
        dy = rows_argument(body, f"dy{index}", layer, outputs)
        arguments.append((dy.value, dy.type))
        operands.append(dict(zip(axes, add_quantize(
            body, dy, layer.gradients, axes, _rounding(layer.gradients), layer.groups))))
    results = []
    if needs_dx:
        sum_, last = None, len(layer.outputs) - 1
        for index, outputs in enumerate(layer.outputs):
            weight = _weight(layer, index, (layer.inputs, outputs))
            arguments += zip(*weight)
            sum_ = add_rows_matmul(body, layer, operands[index][-1], weight, layer.inputs, dy.count,
                                   ROWS_FORM, "f32" if index < last else None,
                                   _epilogue(layer, *sum_) if sum_ else "")
        results.append(sum_)
    if needs_dw:
        x = saved_argument(layer, "%x", "%x_scales")
        arguments += zip(*x)
        results += [add_reduction_matmul(body, layer, operand[-2], x, outputs, REDUCTION_FORM)
                    for operand, outputs in zip(operands, layer.outputs)]
    return function_text(body, layer, arguments, results)


def _rounding(format):
    """Returns the rounding of scales, or None for quotients."""
    return None if format.scales == "f32" else "ceil"


def _weight(layer, index, dims):
    dims = (*layer.batch, *dims)
    return Operand((f"%w{index}", f"%w{index}_scales"), (
        elements_type(dims, layer.weights), scales_type(dims, layer.weights, layer.weights.layout)))


def _epilogue(layer, value, type):
    """Returns the epilogue of a matmul that adds `value` to the result. Partial sums are f32."""
    total, rounding = "%total", ""
    if layer.x_type != "f32":
        total, rounding = "%rounded", f"%rounded = arith.truncf %total : f32 to {layer.x_type}"
    return f""" epilogue {{
  ^bb0(%sum: f32, %row: index, %column: index):
    %earlier = tensor.extract {value}[%row, %column] : {type}
    %total = arith.addf %sum, %earlier : f32
    {rounding}
    mx.yield {total} : {layer.x_type}
  }}"""
