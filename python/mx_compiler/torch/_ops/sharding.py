# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sharding rules of linear-layer matmuls for DTensors, as used by PyTorch's tensor parallelism
(parallelize_module, Shard and Replicate).

    linear, fp8_multiply   x [T, K], weight [N, K] -> y [T, N]
    their gradients        dy, x, weight -> dx, dw

A sharding is accepted if the ranks together compute the same results as one rank. Rows of x may be sharded
in any way, and columns if every rank gets whole blocks of 32. A sum over a sharded dimension is
partial, and each rank rounds its sum to the dtype of the result, as in PyTorch. Tensors with other
shardings are gathered first.

Importing this module registers the rules."""

from math import prod

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

BLOCK = 32
_ALL, _ROWS, _COLUMNS, _SUM = Replicate(), Shard(0), Shard(1), Partial()


def _divides(spec, dimension, block=BLOCK):
    """Returns True if each rank gets whole blocks of the dimension, whichever dimensions of the mesh
    shard it."""
    return spec.shape[dimension] % (block * prod(spec.mesh.shape)) == 0


def _rules(results, operands, others, *divided):
    """Returns the acceptable placements of an operator with these numbers of results, operands and
    other arguments. Arguments that are not tensors have the placement None. Each of `divided` is
    (condition, placements of the results, placements of the operands)."""
    rest = [None] * others
    whole = [_ALL] * results, [_ALL] * operands + rest
    return [whole, *((out, given + rest) for is_right, out, given in divided if is_right)]


def _linear(x, weight, *options):
    return _rules(
        1, 2, len(options),
        (True, [_ROWS], [_ROWS, _ALL]),
        (_divides(weight, 0), [_COLUMNS], [_ALL, _ROWS]),
        (_divides(weight, 1), [_SUM], [_COLUMNS, _COLUMNS]))


def _gradients(needs_dx, needs_dw):
    """Returns a function that returns the placements of both gradients. An unneeded gradient
    is empty and therefore replicated."""
    return lambda dx, dw: [dx if needs_dx else _ALL, dw if needs_dw else _ALL]


def _linear_backward(dy, x, weight, needs_dx, needs_dw, *options):
    results = _gradients(needs_dx, needs_dw)
    # The operands of the weight gradient have blocks along their rows.
    rows = not needs_dw or _divides(dy, 0)
    return _rules(
        2, 3, 2 + len(options),
        (rows, results(_ROWS, _SUM), [_ROWS, _ROWS, _ALL]),
        (_divides(weight, 0), results(_SUM, _ROWS), [_COLUMNS, _ALL, _ROWS]),
        (_divides(weight, 1), results(_COLUMNS, _COLUMNS), [_ALL, _COLUMNS, _COLUMNS]))


# The saved form of x is transposed: its rows are columns of x. Its scales are in 128-row tiles.
_TILE = 128


def _linear_saving(x, weight, *options):
    return _rules(
        3, 2, len(options),
        (_divides(weight, 0), [_COLUMNS, _ALL, _ALL], [_ALL, _ROWS]),
        (_divides(weight, 1, _TILE), [_SUM, _ROWS, _ROWS], [_COLUMNS, _COLUMNS]))


def _linear_saving_backward(dy, elements, scales, weight, needs_dx, needs_dw, *options):
    results = _gradients(needs_dx, needs_dw)
    return _rules(
        2, 4, 2 + len(options),
        (_divides(weight, 0), results(_SUM, _ROWS), [_COLUMNS, _ALL, _ALL, _ROWS]),
        (_divides(weight, 1, _TILE), results(_COLUMNS, _COLUMNS),
         [_ALL, _ROWS, _ROWS, _COLUMNS]))


# --- FP8 tensor cores: blocks of 128 x 128 weights ------------------------------------


def _fp8_weight(weight, scales, both):
    turned = [_COLUMNS, _ROWS] if both else [_ALL, _ALL]
    return _rules(
        4, 1, 2,
        (_divides(weight, 0, _TILE), [_ROWS] * 2 + turned[:1] * 2, [_ROWS]),
        (_divides(weight, 1, _TILE), [_COLUMNS] * 2 + turned[1:] * 2, [_COLUMNS]))


def _of(placement, given):
    """Returns the placements of optional and empty tensors."""
    return [placement if one is not None and one.shape[0] else None if one is None else _ALL
            for one in given]


def _fp8(x, offs, weight, elements, weight_scales, et, st, *others):
    scales, _, saves, axes = others[-4:]
    given_turned, rest = (et, st), [None] * len(others)
    saved = [_ROWS if saves else _ALL] * 2

    def given(of_x, of_weight, of_turned):
        return [of_x, None, of_weight, *_of(of_weight, (elements, weight_scales)),
                *_of(of_turned, given_turned), *rest]

    def results(y, saved, turned):
        return [y, _ALL, *saved, *[turned if len(axes) > 1 else _ALL] * 2, _ALL, _ALL]
    found = [(results(_ALL, [_ALL] * 2, _ALL), given(_ALL, _ALL, _ALL))]
    if _divides(weight, 0, _TILE):
        found.append((results(_COLUMNS, [_ALL] * 2, _COLUMNS), given(_ALL, _ROWS, _COLUMNS)))
    # Saved f32 scales are a vector, which is not divided by columns of x.
    if _divides(weight, 1, _TILE) and (scales != "f32" or not saves):
        found.append((results(_SUM, saved, _ROWS), given(_COLUMNS, _COLUMNS, _ROWS)))
    return found


def _fp8_backward(dy, more_dy, offs, x_elements, x_scales, weight, et, st, *others):
    scales, _, needs_dx, needs_dw = others[-4:]
    results, rest = _gradients(needs_dx, needs_dw), [None] * len(others)

    def given(of_dy, of_x, of_weight, of_turned):
        return [of_dy, None, None, *[of_x if needs_dw else _ALL] * 2, of_weight, *_of(of_turned, (et, st)), *rest]
    found = [([_ALL] * 3, given(_ALL, _ALL, _ALL, _ALL))]
    if _divides(weight, 0, _TILE):
        found.append(([*results(_SUM, _ROWS), _ALL], given(_COLUMNS, _ALL, _ROWS, _COLUMNS)))
    if _divides(weight, 1, _TILE) and (scales != "f32" or not needs_dw):
        found.append(([*results(_COLUMNS, _COLUMNS), _ALL], given(_ALL, _ROWS, _COLUMNS, _ROWS)))
    return found


def _register(name, rule):
    overload = getattr(torch.ops.mx, name).default
    register_sharding(overload)(rule)
    # PyTorch caches its decision for an operator, keyed by the tensors and by the arguments at index
    # static_argnum and later (default: the first integer). Here, flags and formats also determine shapes.
    known = DTensor._op_dispatcher.sharding_propagator.op_to_schema_info
    kind = torch._C.OptionalType(torch._C.TensorType.get())
    tensors = [argument.name for argument in overload._schema.arguments
               if argument.type.isSubtypeOf(kind)]
    known[overload].static_argnum = len(tensors)


for _name, _rule in (("linear", _linear), ("linear_backward", _linear_backward),
                     ("linear_saving", _linear_saving),
                     ("linear_saving_backward", _linear_saving_backward),
                     ("fp8_quantize_weight", _fp8_weight), ("fp8_multiply", _fp8),
                     ("fp8_multiply_backward", _fp8_backward)):
    _register(_name, _rule)
