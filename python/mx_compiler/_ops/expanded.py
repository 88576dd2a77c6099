# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls of MXFP4 weights by bf16 activations, which the program quantizes to FP8
(docs/reference/Spec.md, Expanded operands)."""

from . import checks as check
from .mlir_text import Body, tensor
from .quantized import elements_type, scales_type
from .specialize import find_entry, find_plan

# Activations that share a scale, and products added in reduced precision.
FOLD = 128


def expanded_matmul(x, weights, factors, offsets=None, *, stream=None):
    """Computes y[m, n] = factors[n] * sum over k of q(x)[m, k] * weights[n, k] in bf16.

    x         bf16, [M, K]
    weights   a Quantized of normalized MXFP4, [N, K], or [groups, N, K] with offsets
    factors   f32, [N]
    offsets   i32 or i64, [groups], the ends of the rows of expert groups, or None"""
    arrays = [x, weights.elements, weights.scales, factors]
    if offsets is not None:
        arrays.append(offsets)
    entry, signature = find_plan(_plan, (weights.about,), arrays, (weights, offsets))
    return entry.call(arrays, signature, stream)[0]


def _plan(weights, offsets):
    index = None if offsets is None else check.index_type("offsets", offsets)
    return find_entry(_text, weights.shape, weights.format, weights.layout, index)


def _text(shape, format, layout, index):
    *batch, n, k = shape
    groups = batch[0] if batch else None
    body = Body()
    ragged = f", ragged = rows, groups = {groups}" if groups else ""
    x, y = tensor((None, k), "bf16"), tensor((None, n), "bf16")
    q = (tensor((None, k), "f8E4M3FN"),
         tensor((None, k // FOLD), "f8E8M0FNU", f"#mx.scale_layout<sf_128x4{ragged}>"))
    w = elements_type(shape, format), scales_type(shape, format, layout)
    factors, ends = tensor((n,), "f32"), f"tensor<{groups}x{index}>"
    offsets = f"offsets(%offsets : {ends}) " if groups else ""
    rows = body.dim("%x", x, 0)
    outs = [body.empty(type, [rows]) for type in q]
    quantized = body.add(
        f"mx.fused_quantize {'ragged = rows ' * bool(groups)}ins(%x : {x}) {offsets}"
        f"outs({', '.join(outs)} : {', '.join(q)}) block_size = {FOLD} -> {', '.join(q)}", results=2)
    out = body.empty(y, [rows])
    operation = "mx.grouped_matmul ragged = rows" if groups else "mx.matmul"
    result = body.add(
        f"{operation} ins({', '.join(quantized)}, %b, %b_scales : {', '.join(q + w)}) {offsets}"
        f"outs({out} : {y}) block_size = {FOLD} b_block_size = {format.block} promote = {FOLD} "
        f"""-> {y} epilogue {{
  ^bb0(%sum: f32, %row: index, %column: index):
    %factor = tensor.extract %factors[%column] : {factors}
    %product = arith.mulf %sum, %factor : f32
    %short = arith.truncf %product : f32 to bf16
    mx.yield %short : bf16
  }}""")
    arguments = [("x", x), ("b", w[0]), ("b_scales", w[1]), ("factors", factors)]
    return body.function(arguments + [("offsets", ends)] * bool(groups), [y], [result])
