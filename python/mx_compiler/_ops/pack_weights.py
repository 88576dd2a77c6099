# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packs weights in the fragment order of matmul threads, and unpacks them."""

from typing import Any

from .._arrays.elements import OF_MLIR
from .._arrays.interop import find_library
from . import checks as check
from . import weight_tiles
from .mlir_text import Body, tensor
from .quantized import Quantized, elements_type
from .specialize import find_entry, find_plan


def pack_weights(q: Quantized, *, stream: Any = None) -> Quantized:
    """Packs the elements of weights in the fragment order of matmul threads
    (docs/reference/Formats.md). Weights are packed once for all matmuls that read them.

    q         a Quantized without expert groups, [batch..., N, K], in a format that
              supports matmuls

    Returns a Quantized that `matmul` and `grouped_matmul` accept as `b` if `a` is bf16. The results
    of these matmuls are bitwise equal to the results with `q`. The packed elements are [batch...,
    ceil(N / 64), ceil(K / 64), 128, 32] bytes (for 4-bit elements, the last extent is 16), with
    zeros beyond N and K. The scales are shared with `q`. Raises TypeError or ValueError. The error
    names the argument."""
    return _rearrange(q, False, stream)


def unpack_weights(q: Quantized, *, stream: Any = None) -> Quantized:
    """Reverses `pack_weights`. Returns a Quantized with the original bytes."""
    return _rearrange(q, True, stream)


def rearrange(elements, shape, format, is_packed, stream=None):
    """Packs the elements of weights of `shape`, or unpacks them if `is_packed`."""
    about = tuple(shape), format, is_packed
    entry, _ = find_plan(_find, about, [elements], about)
    if not is_packed:
        return entry(elements, stream=stream)[0]
    view = find_library(type(elements)).view
    plain, = entry(view(elements, OF_MLIR["i8"]), stream=stream)
    return view(plain, OF_MLIR[format.elements])


def _rearrange(q, is_packed, stream):
    if not isinstance(q, Quantized):
        raise TypeError(f"q: expected an mx_compiler.Quantized, found {type(q).__name__}")
    if q.packed != is_packed:
        wanted = "packed weights" if is_packed else "weights that are not packed"
        raise ValueError(f"q: expected {wanted}, found {q!r}")
    check.quantized("q", q)
    if not q.format.has_matmul:
        raise ValueError(f"q: expected a format that supports matmuls, found {q.format.name}")
    if q.groups:
        raise ValueError(f"q: expected weights without expert groups, found {q.groups} "
                         f"expert groups of {q.ragged}")
    elements = rearrange(q.elements, q.shape, q.format, is_packed, stream)
    return q._replace(elements=elements, packed=not is_packed)


def _find(shape, format, is_packed):
    if is_packed:
        return find_entry(_unpack_text, shape, format.per_byte)
    return find_entry(_pack_text, shape, format)


def _pack_text(shape, format):
    body = Body()
    plain = elements_type(shape, format)
    packed = elements_type(shape, format, is_packed=True)
    out = body.empty(packed)
    value = body.add(f"mx.pack_operand ins(%elements : {plain}) outs({out} : {packed}) -> {packed}")
    return body.function([("elements", plain)], [packed], [value])


def _unpack_text(shape, per_byte):
    """Returns a program to unpack bytes. The program permutes the tile dimensions to matrix
    order and removes the padding."""
    *batch, rows, columns = shape
    tiles = weight_tiles.packed_shape((rows, columns), per_byte)
    split = weight_tiles.split_tiles(*weight_tiles.padded(rows, columns), per_byte)
    turned = tuple(split[dim] for dim in weight_tiles.FROM_TILES)
    whole = tuple(extent // (per_byte if i else 1) for i, extent in
                  enumerate(weight_tiles.padded(rows, columns)))
    outer = len(batch)
    body = Body()
    types = [tensor((*batch, *dims), "i8") for dims in (tiles, split, turned, whole)]
    value = body.add(
        f"tensor.expand_shape %elements {_reassociation(outer, 1, 1, *weight_tiles.OF_THREAD)} "
        f"output_shape {[*batch, *split]} : {types[0]} into {types[1]}")
    order = [*range(outer), *(outer + dim for dim in weight_tiles.FROM_TILES)]
    value = body.add(f"linalg.transpose ins({value} : {types[1]}) outs({body.empty(types[2])} "
                     f": {types[2]}) permutation = {order}")
    value = body.add(
        f"tensor.collapse_shape {value} {_reassociation(outer, *weight_tiles.OF_MATRIX)} "
        f": {types[2]} into {types[3]}")
    result = (*batch, rows, columns // per_byte)
    if result[outer:] != whole:
        zeros, ones = [0] * len(result), [1] * len(result)
        value = body.add(f"tensor.extract_slice {value}{zeros} {list(result)} {ones} : "
                         f"{types[3]} to {tensor(result, 'i8')}")
    return body.function([("elements", types[0])], [tensor(result, "i8")], [value])


def _reassociation(outer, *counts):
    """Returns the reassociation of tensor.expand_shape or collapse_shape. Its first `outer` lists
    contain one dimension each, and the next lists contain `counts` dimensions."""
    numbers = iter(range(outer + sum(counts)))
    return [[next(numbers) for _ in range(count)] for count in (*[1] * outer, *counts)]
