# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantizes weights into existing memory."""

from .mlir_text import Body
from .quantize_text import Matrix, add_quantize
from .quantized import elements_type
from .specialize import find_entry, find_plan
from . import checks as check


def quantize_into(weight, format, rounding, elements, scales, is_packed, make_workspace):
    """Quantizes a weight, [..., N, K], and overwrites its elements and scales, device arrays.

    rounding   of scales, or None for f32 scales
    is_packed  elements are in the order of `pack_weights`
    make_workspace  function of a number of bytes that returns a device array"""
    about = format, rounding, is_packed
    entry, _ = find_plan(_plan, about, [weight], (weight, *about))
    count = entry.workspace_bytes(weight)
    entry.launch([weight], [elements, scales], make_workspace(count) if count else None)


def _plan(weight, format, rounding, is_packed):
    element, shape = check.matrix("weight", weight, check.MATRICES)
    return find_entry(_text, shape, element.mlir, format, rounding, is_packed)


def _text(shape, element, format, rounding, is_packed):
    *batch, rows, columns = shape
    body = Body()
    x = Matrix("%x", tuple(batch), rows, columns, element)
    operand, = add_quantize(body, x, format, (-1,), rounding)
    values, types = list(operand.values), list(operand.types)
    if is_packed:
        packed = elements_type(shape, format, is_packed=True)
        values[0] = body.add(f"mx.pack_operand ins({values[0]} : {types[0]}) "
                             f"outs({body.empty(packed)} : {packed}) -> {packed}")
        types[0] = packed
    return body.function([("x", x.type)], types, values)
