# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear layers for FP8 tensor cores, with or without expert groups: a program that quantizes a weight,
one for the forward pass and one for the backward pass (fp8_text). The first two check
new arguments, and the caller checks the arguments of the backward pass."""

from .._runtime.device import device_name, is_host
from .._compile.compile import default_chip
from . import checks as check
from .fp8_text import BLOCK, Layer, backward_text, forward_text, weight_text
from .quantize_text import ExpertGroups
from .scale_tiles import round_up
from .specialize import find_entry, find_plan, own_rows

CHIP = "sm_90a"


def pad_rows(rows):
    """Returns the size of a reduction over `rows`, rounded up to whole blocks."""
    return round_up(rows, BLOCK)


def check_weight(weight, known=check.MATRICES, both=True):
    """Returns the shape of a weight. Raises TypeError or ValueError unless `quantize_weight` accepts it.
    Only gradients are sums over outputs, so any number of outputs may be stored."""
    element, shape = check.matrix("weight", weight, known)
    if len(shape) > 3:
        raise ValueError(f"weight: expected 2 or 3 dimensions, found shape {shape}")
    check.multiple("weight", "columns (K)", shape[-1], BLOCK)
    if both and element.mlir in check.MATRICES:
        check.multiple("weight", "outputs (N)", shape[-2], BLOCK)
    return shape


def check_forward(x, weights, offsets):
    """Raises TypeError or ValueError unless `forward` accepts x and `weights`, weights or their elements."""
    _, columns = check.matrix("x", x, check.MATRICES)
    shapes = [check_weight(weight, (*check.MATRICES, "f8E4M3FN", "ui8")) for weight in weights]
    rank = 2 if offsets is None else 3
    for shape in shapes:
        if len(shape) != rank or shape[-1] != columns[-1] or len(columns) != 2:
            raise ValueError(f"weight: expected {rank} dimensions and K = {columns[-1]}, the last "
                             f"dimension of x, found shape {shape} and x of shape {columns}")
    groups = check.vector("offs", offsets)
    if groups is not None and {shape[0] for shape in shapes} != {groups}:
        raise ValueError(f"offs: expected {shapes[0][0]} ends, one for each matrix of the weight, "
                         f"found {groups} and weights of shape {', '.join(map(str, shapes))}")


def quantize_weight(weight, format, both):
    """Returns the elements and scales of a weight, [N, K] or [G, N, K]. With `both`, elements and
    scales of the transposed weight follow, with equal values. Raises TypeError or ValueError."""
    entry, signature = find_plan(_plan_weight, (format, both), [weight], (weight, format, both))
    return entry.call([weight], signature, None)


def forward(x, weights, offsets, formats, weight_type, saves, axes=()):
    """Returns a list of a result, [T, N], for each weight. x is [T, K]. Raises TypeError or ValueError.

    weights  for each weight, its elements and scales, or with `axes` the weight alone
    saves    also return the elements and scales of x, quantized along its rows. Without
             offsets, T must be a multiple of 128. Padding is not written
    axes     (-1,): the program quantizes the weights; (-1, -2): and also returns the elements and scales
             of each transposed weight"""
    arrays = [x, *(part for parts in weights for part in parts)]
    arrays += [offsets] * (offsets is not None)
    about = formats, weight_type, saves, len(weights), offsets is None, axes
    entry, signature = find_plan(_plan_forward, about, arrays,
                                 (x, weights, offsets, formats, weight_type, saves, axes))
    return entry.call(arrays, signature, None)


def backward(dys, weights, x, offsets, formats, inputs, weight_type):
    """Returns a list of the gradients of x, if `weights` is not None, and of each weight, if x is not
    None.

    dys      for each weight, the gradient of its result, [T, N]
    weights  for each weight, the elements and scales of the transposed weight
    x        elements and scales that `forward` saved
    inputs   K"""
    arrays = [*dys, *(part for pair in weights or () for part in pair), *(x or ())]
    arrays += [offsets] * (offsets is not None)
    needs = weights is not None, x is not None
    about = formats, needs, len(dys), inputs, weight_type, offsets is None
    entry, signature = find_plan(_plan_backward, about, arrays,
                                 (dys, offsets, formats, inputs, weight_type, needs))
    return entry.call(arrays, signature, None)


def check_chip(name="scales", chip=None):
    """Raises ValueError unless the chip of programs multiplies such operands."""
    chip = chip or default_chip()
    if not is_host() and chip != CHIP:
        raise ValueError(f"{name}: expected a chip with FP8 sums in reduced precision, {CHIP}, or the "
                         f"reference path, found {chip} on {device_name()}: use a recipe "
                         f"of blocks of 32, or set MX_CHIP={CHIP} for the simulator or "
                         "MX_DEVICE=cpu for the reference path")


def _plan_weight(weight, format, both):
    check_weight(weight, both=both)
    check_chip()
    element, (*batch, outputs, inputs) = check.operand("weight", weight)
    return find_entry(weight_text, tuple(batch), outputs, inputs, element.mlir, format,
                      (-1, -2)[:1 + both])


def _plan_forward(x, weights, offsets, formats, weight_type, saves, axes):
    check_forward(x, [parts[0] for parts in weights], offsets)
    outputs = tuple(check.operand("weight", pair[0])[1][-2] for pair in weights)
    layer = _layer(x, outputs, check.operand("x", x)[1][-1], weight_type, offsets, formats)
    return find_entry(forward_text, layer, saves, axes)


def _plan_backward(dys, offsets, formats, inputs, weight_type, needs):
    outputs = tuple(check.operand("dy", dy)[1][-1] for dy in dys)
    layer = _layer(dys[0], outputs, inputs, weight_type, offsets, formats)
    return find_entry(backward_text, layer, *needs)


def _layer(rows, outputs, inputs, weight_type, offsets, formats):
    check_chip()
    element, (count, _) = check.operand("x", rows)
    groups = check.vector("offsets", offsets)
    if groups is not None:
        groups = ExpertGroups(groups, check.index_type("offsets", offsets))
    layer = Layer(None, outputs, inputs, element.mlir, weight_type, *formats, groups)
    # Sums have the same order in all programs.
    return layer._replace(rows=own_rows(layer, count))
