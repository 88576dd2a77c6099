# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear layers for training, with or without expert groups. A layer has a program for the forward
pass and a program for the backward pass (training_text). The caller checks the arguments of the latter. Rows are
not padded; if their number is not a multiple of the block size, the caller passes the rows as a
single expert group."""

from typing import NamedTuple

from .._arrays.interop import find_library
from . import checks as check
from . import scale_tiles
from .chip_sizes import named_reductions
from .formats import Format
from .quantize_text import ExpertGroups
from .scale_tiles import round_up
from .specialize import find_entry, find_plan, own_rows
from .training_text import Layer, backward_text, forward_text


class Formats(NamedTuple):
    """Formats of x, the weight and the gradient of y, and the rounding of their scales."""
    activations: Format
    weights: Format
    gradients: Format
    rounding: str

    def pad_rows(self, rows):
        """Returns the size of a reduction over `rows`, rounded up to whole blocks. With 4-bit
        elements, the size is rounded up to 128, the largest reduction step of any chip."""
        bits = self.activations.bits, self.weights.bits, self.gradients.bits
        return round_up(rows, 128 if 4 in bits else 32)


def check_forward(x, weight, offsets):
    """Raises TypeError or ValueError unless `forward` accepts the arguments. The number of rows of x is not
    restricted. Errors use the names of mx_compiler.torch."""
    names = ("x", "weight") if offsets is None else ("A", "B_t")
    found = [check.matrix(name, given, check.MATRICES)[1] for name, given in zip(names, (x, weight))]
    for name, shape, wanted in zip(names, found, (2, 2 if offsets is None else 3)):
        if len(shape) != wanted:
            raise ValueError(f"{name}: expected {wanted} dimensions, found shape {shape}")
    (_, columns), (*groups, outputs, inputs) = found
    if columns != inputs:
        raise ValueError(f"{names[1]}: expected K = {columns}, the last dimension of {names[0]}, "
                         f"found K = {inputs}")
    check.multiple(names[0], "columns (K)", inputs, 32)
    check.multiple(names[1], "outputs (N)", outputs, 32)
    if groups and check.vector("offs", offsets) != groups[0]:
        raise ValueError(f"offs: expected {groups[0]} ends, one for each matrix of B_t, found "
                         f"{offsets.shape[0]}")


def forward(x, weight, offsets, formats, saves):
    """Returns [y], or a list of y and the saved arrays. x is [T, K], and y is [T, N] and has the
    type of x. The weight is [N, K], or [G, N, K] if the rows are divided into expert groups that end
    at offsets (i32 or i64, [G]).

    saves   also return the elements and scales of x, quantized along its rows.
            `backward` accepts them instead of x. Without offsets, T must be a
            multiple of the block size"""
    arrays = [x, weight] if offsets is None else [x, weight, offsets]
    entry, signature = find_plan(_plan_forward, (formats, saves, offsets is None), arrays,
                                 (x, weight, offsets, formats, saves))
    padded = _saved_padded(x, offsets, formats) if saves else ()
    return entry.call(arrays, signature, None, padded)


def _saved_padded(x, offsets, formats):
    """Returns the indices of the saved results that the program writes partially. Unless they are
    cleared, their contents differ from call to call."""
    if offsets is not None:
        return (1, 2)
    rows, columns = x.shape
    block = formats.activations.block
    return () if scale_tiles.are_whole(columns, rows // block) else (2,)


def backward(dy, x, weight, offsets, formats, needs_dx, needs_dw):
    """Returns a list of the requested gradients of x and the weight. dy, [T, N], is the
    gradient of y and has the type of x.

    x       argument of `forward`, or the pair that `forward` saved
    T       must be a multiple of the block size unless there are offsets"""
    is_saved = type(x) is tuple
    arrays = [dy]
    about = formats, needs_dx, needs_dw, is_saved, offsets is None
    if needs_dx:
        arrays.append(weight)
    else:
        about += (find_library(type(weight)).sign(weight),)
    if needs_dw:
        arrays += x if is_saved else (x,)
    if offsets is not None:
        arrays.append(offsets)
    entry, signature = find_plan(_plan_backward, about, arrays,
                                 (dy, weight, offsets, formats, needs_dx, needs_dw, is_saved))
    return entry.call(arrays, signature, None)


def _plan_forward(x, weight, offsets, formats, saves):
    check_forward(x, weight, offsets)
    layer = _layer(x, weight, offsets, formats)
    with _named("x", layer.activations, layer, "columns"):
        return find_entry(forward_text, layer, saves)


def _plan_backward(dy, weight, offsets, formats, needs_dx, needs_dw, is_saved):
    layer = _layer(dy, weight, offsets, formats)
    with _named("gradient", layer.gradients, layer, "rows"):
        return find_entry(backward_text, layer, needs_dx, needs_dw, is_saved)


def _named(name, format, layer, dimension):
    shape = (*layer.batch, layer.outputs, layer.inputs)
    return named_reductions(f"{name}, weight", (format.name, layer.weights.name),
                            f"a weight of shape {shape}, which is summed over its {dimension}")


def _layer(rows, weight, offsets, formats):
    """Returns the Layer for the array `rows` (x or dy)."""
    element, shape = check.operand("x", rows)
    weight_element, (*_, outputs, inputs) = check.operand("weight", weight)
    groups = check.vector("offsets", offsets)
    if groups is not None:
        groups = ExpertGroups(groups, check.index_type("offsets", offsets))
    layer = Layer(None, outputs, inputs, element.mlir, weight_element.mlir, *formats, groups)
    return layer._replace(rows=own_rows(layer, shape[0]))
