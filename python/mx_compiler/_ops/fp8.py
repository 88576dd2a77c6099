# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear layers for FP8 tensor cores, with or without expert groups: a program that quantizes a weight,
one for the forward pass and one for the backward pass (fp8_text). The caller checks the arguments."""

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


def quantize_weight(weight, format, both):
    """Returns the elements and scales of a weight, [N, K] or [G, N, K]. With `both`, elements and
    scales of the transposed weight follow, with equal values."""
    entry, signature = find_plan(_plan_weight, (format, both), [weight], (weight, format, both))
    return entry.call([weight], signature, None)


def forward(x, weights, offsets, formats, weight_type, saves, about, check_all):
    """Returns a list of a result, [T, N], for each weight. x is [T, K].

    weights  for each weight, its elements and scales
    about, check_all  `check_all` is called if a call with such arrays and `about` is new
    saves    also return the elements and scales of x, quantized along its rows. Without
             offsets, T must be a multiple of 128. Padding is not written"""
    arrays = [x, *(part for pair in weights for part in pair)]
    arrays += [offsets] * (offsets is not None)
    about = about, formats, weight_type, saves, len(weights), offsets is None
    entry, signature = find_plan(_plan_forward, about, arrays,
                                 (x, weights, offsets, formats, weight_type, saves, check_all))
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


def _check_chip():
    """Raises ValueError unless the chip of programs multiplies such operands."""
    if not is_host() and default_chip() != CHIP:
        raise ValueError(f"scales: expected a chip with FP8 sums in reduced precision, {CHIP}, or the "
                         f"reference path, found {default_chip()} on {device_name()}: use a recipe "
                         f"of blocks of 32, or set MX_CHIP={CHIP} for the simulator or "
                         "MX_DEVICE=cpu for the reference path")


def _plan_weight(weight, format, both):
    _check_chip()
    element, (*batch, outputs, inputs) = check.operand("weight", weight)
    return find_entry(weight_text, tuple(batch), outputs, inputs, element.mlir, format,
                      (-1, -2)[:1 + both])


def _plan_forward(x, weights, offsets, formats, weight_type, saves, check_all):
    check_all()
    outputs = tuple(check.operand("weight", pair[0])[1][-2] for pair in weights)
    layer = _layer(x, outputs, check.operand("x", x)[1][-1], weight_type, offsets, formats)
    return find_entry(forward_text, layer, saves)


def _plan_backward(dys, offsets, formats, inputs, weight_type, needs):
    outputs = tuple(check.operand("dy", dy)[1][-1] for dy in dys)
    layer = _layer(dys[0], outputs, inputs, weight_type, offsets, formats)
    return find_entry(backward_text, layer, *needs)


def _layer(rows, outputs, inputs, weight_type, offsets, formats):
    _check_chip()
    element, (count, _) = check.operand("x", rows)
    groups = check.vector("offsets", offsets)
    if groups is not None:
        groups = ExpertGroups(groups, check.index_type("offsets", offsets))
    layer = Layer(None, outputs, inputs, element.mlir, weight_type, *formats, groups)
    # Sums have the same order in all programs.
    return layer._replace(rows=own_rows(layer, count))
