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
from .mlir_text import Body, tensor
from .quantize_text import ExpertGroups, Matrix, Operand, add_quantize
from .quantized import elements_type, scales_type
from .scale_tiles import capacity

BLOCK = 128
# Types of scales by name. Scales of type f32 divide the largest magnitude exactly.
SCALES = {"e8m0": "f8E8M0FNU", "f32": "f32"}


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

    @property
    def batch(self):
        return (self.groups.count,) if self.groups else ()


def weight_text(batch, outputs, inputs, weight_type, format, axes):
    """Returns @main(weight) with the elements and scales of the weight along each of `axes`."""
    body = Body()
    weight = Matrix("%weight", batch, outputs, inputs, weight_type)
    found = add_quantize(body, weight, format, axes, _rounding(format))
    values, types = zip(*_parts(found))
    return body.function([("weight", weight.type)], types, values)


def forward_text(layer, saves):
    """Returns @main(x, elements, scales of each weight[, offsets]) with a result for each weight. If
    `saves`, the function also returns the elements and scales of x, quantized along its rows."""
    body = Body()
    x = _rows(body, "x", layer, layer.inputs)
    by_k, *saved = add_quantize(body, x, layer.activations, (-1, -2)[:1 + saves],
                                _rounding(layer.activations), layer.groups)
    arguments, results = [(x.value, x.type)], []
    for index, outputs in enumerate(layer.outputs):
        weight = _weight(layer, index, (outputs, layer.inputs))
        arguments += zip(*weight)
        results.append(_multiply_rows(body, layer, by_k, weight, outputs, x.count))
    return _function(body, layer, arguments, [*results, *_parts(saved)])


def backward_text(layer, needs_dx, needs_dw):
    """Returns @main(dy of each weight[, elements, scales of each transposed weight][, elements, scales
    of x][, offsets]) with the result dx, a result dw for each weight, or all of them."""
    body = Body()
    axes = (-1,) * needs_dx + (-2,) * needs_dw
    arguments, operands = [], []
    for index, outputs in enumerate(layer.outputs):
        dy = _rows(body, f"dy{index}", layer, outputs)
        arguments.append((dy.value, dy.type))
        operands.append(dict(zip(axes, add_quantize(
            body, dy, layer.gradients, axes, _rounding(layer.gradients), layer.groups))))
    results = []
    if needs_dx:
        sum_ = None
        for index, outputs in enumerate(layer.outputs):
            weight = _weight(layer, index, (layer.inputs, outputs))
            arguments += zip(*weight)
            sum_ = _multiply_rows(body, layer, operands[index][-1], weight, layer.inputs,
                                  dy.count, sum_, index + 1 < len(layer.outputs))
        results.append(sum_)
    if needs_dw:
        x = _x_by_rows(layer)
        arguments += zip(*x)
        results += [_multiply_reduction(body, layer, operand[-2], x, outputs)
                    for operand, outputs in zip(operands, layer.outputs)]
    return _function(body, layer, arguments, results)


def _rounding(format):
    """Returns the rounding of scales, or None for quotients."""
    return None if format.scales == "f32" else "ceil"


def _parts(operands):
    """Returns the (value, type) of the elements and the scales of all operands."""
    return [pair for one in operands for pair in zip(*one)]


def _rows(body, name, layer, columns):
    matrix = Matrix(f"%{name}", (), layer.rows, columns, layer.x_type)
    if layer.rows is not None:
        return matrix
    return matrix._replace(count=body.dim(matrix.value, matrix.type, 0))


def _weight(layer, index, dims):
    dims = (*layer.batch, *dims)
    return Operand((f"%w{index}", f"%w{index}_scales"), (
        elements_type(dims, layer.weights), scales_type(dims, layer.weights, layer.weights.layout)))


def _x_by_rows(layer):
    kind, groups, rows = None, None, layer.rows
    if layer.groups:
        kind, groups = "reduction", layer.groups.count
        rows = None if rows is None else capacity(rows, groups)
    dims = layer.inputs, rows
    return Operand(("%x", "%x_scales"), (
        elements_type(dims, layer.activations, kind, groups),
        scales_type(dims, layer.activations, layer.activations.layout, kind, groups)))


def _multiply_rows(body, layer, a, b, columns, count, earlier=None, is_partial=False):
    """Adds a matmul a b^T over all rows, plus `earlier`. Returns its (value, type). A partial sum is
    f32."""
    result = tensor((layer.rows, columns), "f32" if is_partial else layer.x_type)
    out = body.empty(result, [] if count is None else [count])
    name, ends = "mx.matmul", ""
    if layer.groups:
        name, ends = "mx.grouped_matmul ragged = rows", _ends(layer)
    epilogue = ""
    if earlier:
        value, type = earlier
        total, rounding = "%total", ""
        if layer.x_type != "f32":
            total, rounding = "%rounded", f"%rounded = arith.truncf %total : f32 to {layer.x_type}"
        epilogue = f""" epilogue {{
  ^bb0(%sum: f32, %row: index, %column: index):
    %earlier = tensor.extract {value}[%row, %column] : {type}
    %total = arith.addf %sum, %earlier : f32
    {rounding}
    mx.yield {total} : {layer.x_type}
  }}"""
    return _multiply(body, name, a, b, ends, out, result, "128x128", epilogue)


def _multiply_reduction(body, layer, a, b, outputs):
    """Adds a matmul a b^T over the rows, for each expert group. Returns its (value, type)."""
    result = tensor((*layer.batch, outputs, layer.inputs), layer.weight_type)
    out = body.empty(result)
    name, ends = "mx.matmul", ""
    if layer.groups:
        name, ends = "mx.grouped_matmul ragged = reduction", _ends(layer)
    return _multiply(body, name, a, b, ends, out, result, "128")


def _multiply(body, name, a, b, ends, out, result, block, epilogue=""):
    value = body.add(
        f"{name} ins({', '.join((*a.values, *b.values))} : {', '.join((*a.types, *b.types))}) "
        f"{ends}outs({out} : {result}) block_size = {BLOCK} b_block_size = {block} "
        f"promote = {BLOCK} -> {result}{epilogue}")
    return value, result


def _ends(layer):
    return f"offsets(%offsets : {layer.groups.type}) "


def _function(body, layer, arguments, results):
    """Returns the text of the function. `arguments` and `results` are (value, type) pairs."""
    if layer.groups:
        arguments = [*arguments, ("%offsets", layer.groups.type)]
    return body.function([(value.removeprefix("%"), type) for value, type in arguments],
                         [type for _, type in results], [value for value, _ in results])
