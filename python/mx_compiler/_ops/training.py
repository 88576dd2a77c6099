# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear layers that train, and those of expert groups: a program for the forward pass
and one for the backward pass (training_text). The caller checks the arguments, and pads
nothing: rows that are no whole number of blocks are one expert group."""

from typing import NamedTuple

from .._arrays.interop import find_library
from .._runtime.device import HOST, device_key, device_name
from . import checks as check
from . import scale_tiles
from .chip_sizes import named_reductions
from .formats import Format
from .quantize_text import ExpertGroups
from .scale_tiles import round_up
from .specialize import find_entry, find_plan
from .training_text import Layer, backward_text, forward_text

# Numbers of rows of a layer that have programs of their own: the first ones. Where sizes
# are known the compiler chooses what quantizers write, bf16 for a matmul of bf16. A
# training has one number of rows, or a few.
MOST_ROWS = 8
_rows_of = {}


class Formats(NamedTuple):
    """Of x, of the weight, and of the gradient of y; and how scales are rounded."""
    activations: Format
    weights: Format
    gradients: Format
    rounding: str

    def pad_rows(self, rows):
        """How many rows are summed over in place of `rows`: a whole number of blocks, with
        elements of 4 bits as the chip with the largest step takes them."""
        return round_up(rows, 128 if any(format.bits == 4 for format in self[:3]) else 32)


def forward(x, weight, offsets, formats, saves):
    """y, [T, N], of x, [T, K], and a weight, [N, K], or of expert groups of rows that end at
    offsets, i32 or i64, [G], and weights, [G, N, K]. y has the type of x.

    saves   elements and scales of x along its rows follow, which `backward` takes in its
            place; without offsets T is a whole number of blocks then

    Returns a list."""
    arrays = [x, weight] if offsets is None else [x, weight, offsets]
    entry, signature = find_plan(_plan_forward, (formats, saves, offsets is None), arrays,
                                 (x, weight, offsets, formats, saves))
    padded = _saved_padded(x, offsets, formats) if saves else ()
    return entry.call(arrays, signature, None, padded)


def _saved_padded(x, offsets, formats):
    """The saved results that a program does not write wholly, so that they would differ
    from call to call."""
    if offsets is not None:
        return (1, 2)
    rows, columns = x.shape
    block = formats.activations.block
    return () if scale_tiles.are_whole(columns, rows // block) else (2,)


def backward(dy, x, weight, offsets, formats, needs_dx, needs_dw):
    """The gradients of x and of the weight, those that are needed, from that of y, dy,
    [T, N], which has the type of x.

    x       as `forward` had it, or the pair that it saved
    T       a whole number of blocks without offsets

    Returns a list."""
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
                            f"a weight of shape {shape}, of which {dimension} are summed over")


def _layer(rows, weight, offsets, formats):
    """`rows` are x or dy."""
    element, shape = check.operand("x", rows)
    weight_element, (*_, outputs, inputs) = check.operand("weight", weight)
    groups = check.vector("offsets", offsets)
    if groups is not None:
        groups = ExpertGroups(groups, check.index_type("offsets", offsets))
    layer = Layer(None, outputs, inputs, element.mlir, weight_element.mlir, *formats, groups)
    return layer._replace(rows=_own_rows(layer, shape[0]))


def _own_rows(layer, rows):
    """The number if the layer has programs for it, else None: for any number. It stays so,
    as the order of sums may differ. The reference path gains nothing by it."""
    if device_name() == HOST:
        return None
    known = _rows_of.setdefault((device_key(), layer), set())
    if rows not in known and len(known) < MOST_ROWS:
        known.add(rows)
    return rows if rows in known else None
