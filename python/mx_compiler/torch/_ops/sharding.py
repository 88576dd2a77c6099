# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sharding rules of linear-layer matmuls for DTensors, as used by PyTorch's tensor parallelism
(parallelize_module, Shard and Replicate).

    linear           x [T, K], weight [N, K] -> y [T, N]
    linear_backward  dy, x, weight -> dx, dw

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


def _register(name, rule):
    overload = getattr(torch.ops.mx, name).default
    register_sharding(overload)(rule)
    # PyTorch caches its decision for an operator, keyed by the tensors and by the arguments at index
    # static_argnum and later (default: the first integer). Here, flags and formats also determine shapes.
    known = DTensor._op_dispatcher.sharding_propagator.op_to_schema_info
    tensors = [argument.name for argument in overload._schema.arguments
               if argument.type.isSubtypeOf(torch._C.TensorType.get())]
    known[overload].static_argnum = len(tensors)


for _name, _rule in (("linear", _linear), ("linear_backward", _linear_backward),
                     ("linear_saving", _linear_saving),
                     ("linear_saving_backward", _linear_saving_backward)):
    _register(_name, _rule)
