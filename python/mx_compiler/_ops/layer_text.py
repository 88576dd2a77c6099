# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of the programs of linear layers (training_text, fp8_text). Each module defines its own
Layer. The argument `form` of a matmul contains its clauses for block sizes and the order of sums."""

from .mlir_text import tensor
from .quantize_text import Matrix, Operand
from .quantized import elements_type, scales_type
from .scale_tiles import capacity


def weight_batch(layer):
    """Returns the batch dimensions of weights: the number of expert groups, if any."""
    return (layer.groups.count,) if layer.groups else ()


def rows_argument(body, name, layer, columns):
    """Returns the Matrix of argument x or dy. Both have the same element type."""
    matrix = Matrix(f"%{name}", (), layer.rows, columns, layer.x_type)
    if layer.rows is not None:
        return matrix
    return matrix._replace(count=body.dim(matrix.value, matrix.type, 0))


def saved_argument(layer, *values):
    """Returns the Operand of x, quantized along its rows. `values` are the arguments for its
    elements and scales."""
    kind, groups, rows = None, None, layer.rows
    if layer.groups:
        kind, groups = "reduction", layer.groups.count
        rows = None if rows is None else capacity(rows, groups)
    dims, format = (layer.inputs, rows), layer.activations
    return Operand(values, (elements_type(dims, format, kind, groups),
                            scales_type(dims, format, format.layout, kind, groups)))


def pairs(operands):
    """Returns the (value, type) of the elements and the scales of all operands."""
    return [pair for operand in operands for pair in zip(*operand)]


def add_rows_matmul(body, layer, a, b, columns, count, form, element=None, epilogue=""):
    """Adds a matmul a b^T over all rows. Returns its (value, type). The default element type of the
    result is that of x."""
    result = tensor((layer.rows, columns), element or layer.x_type)
    out = body.empty(result, [] if count is None else [count])
    return _add_matmul(body, layer, "rows", a, b, out, result, form, epilogue)


def add_reduction_matmul(body, layer, a, b, outputs, form):
    """Adds a matmul a b^T for each expert group, which sums over the group's rows. Returns its
    (value, type)."""
    result = tensor((*layer.batch, outputs, layer.inputs), layer.weight_type)
    return _add_matmul(body, layer, "reduction", a, b, body.empty(result), result, form)


def _add_matmul(body, layer, ragged, a, b, out, result, form, epilogue=""):
    name, offsets = "mx.matmul", ""
    if layer.groups:
        name = f"mx.grouped_matmul ragged = {ragged}"
        offsets = f"offsets(%offsets : {layer.groups.type}) "
    value = body.add(
        f"{name} ins({', '.join((*a.values, *b.values))} : {', '.join((*a.types, *b.types))}) "
        f"{offsets}outs({out} : {result}) {form} -> {result}{epilogue}")
    return value, result


def function_text(body, layer, arguments, results):
    """Returns the text of the function. `arguments` and `results` are (value, type) pairs."""
    if layer.groups:
        arguments = [*arguments, ("%offsets", layer.groups.type)]
    return body.function([(value.removeprefix("%"), type) for value, type in arguments],
                         [type for _, type in results], [value for value, _ in results])
