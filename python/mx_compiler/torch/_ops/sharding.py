# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sharding rules of linear-layer matmuls for DTensors, as used by PyTorch's tensor parallelism
(parallelize_module, Shard and Replicate).

    linear           x [T, K], weight [N, K] -> y [T, N]
    linear_backward  dy, x, weight -> dx, dw

A tensor may be sharded if the ranks together compute the same as one rank: any rows of x, and
columns in whole blocks of 32 on every rank. Sums over a sharded dimension are partial: each
rank's sum is rounded to the dtype of the result, as in PyTorch. Other shardings are gathered
first.

Importing this module registers the rules."""

from math import prod

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

BLOCK = 32
_ALL, _ROWS, _COLUMNS, _SUM = Replicate(), Shard(0), Shard(1), Partial()


def _divides(spec, dimension, block=BLOCK):
    """Returns True if every sharding over the mesh leaves whole blocks of the dimension on each
    rank."""
    return spec.shape[dimension] % (block * prod(spec.mesh.shape)) == 0


def _rules(results, operands, others, *divided):
    """Returns the acceptable placements for the given numbers of results, operands and
    non-tensor arguments, which have placement None. Each of `divided` is (condition, results,
    operands)."""
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
    """Returns the placements of both gradients; unneeded gradients are empty."""
    return lambda dx, dw: [dx if needs_dx else _ALL, dw if needs_dw else _ALL]


def _linear_backward(dy, x, weight, needs_dx, needs_dw, *options):
    results = _gradients(needs_dx, needs_dw)
    # Blocks of the weight gradient's operands are along rows.
    rows = not needs_dw or _divides(dy, 0)
    return _rules(
        2, 3, 2 + len(options),
        (rows, results(_ROWS, _SUM), [_ROWS, _ROWS, _ALL]),
        (_divides(weight, 0), results(_SUM, _ROWS), [_COLUMNS, _ALL, _ROWS]),
        (_divides(weight, 1), results(_COLUMNS, _COLUMNS), [_ALL, _COLUMNS, _COLUMNS]))


# The saved form of x has x's columns as rows, with scales in tiles of 128.
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


def _register(name, rule):
    overload = getattr(torch.ops.mx, name).default
    register_sharding(overload)(rule)
    # PyTorch caches the decision for an operator by its tensors and by other arguments from the
    # first integer on; here flags and formats also determine shapes.
    known = DTensor._op_dispatcher.sharding_propagator.op_to_schema_info
    tensors = [argument.name for argument in overload._schema.arguments
               if argument.type.isSubtypeOf(torch._C.TensorType.get())]
    known[overload].static_argnum = len(tensors)


for _name, _rule in (("linear", _linear), ("linear_backward", _linear_backward),
                     ("linear_saving", _linear_saving),
                     ("linear_saving_backward", _linear_saving_backward)):
    _register(_name, _rule)
