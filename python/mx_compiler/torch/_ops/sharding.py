# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How DTensors go through the matmuls of linear layers: what PyTorch's tensor parallelism
(parallelize_module, Shard and Replicate) asks of an operator.

    linear           x [T, K], weight [N, K] -> y [T, N]
    linear_backward  dy, x, weight -> dx, dw

A tensor may be divided where each rank then computes what one rank would: any rows of x, and
those columns that whole blocks of 32 end with, on every rank. Sums over a dimension that is
divided are partial: each rank's is rounded to the dtype of the result, as PyTorch's are. What
cannot be divided is gathered first.

Importing this module registers the rules."""

from math import prod

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

BLOCK = 32
_ALL, _ROWS, _COLUMNS, _SUM = Replicate(), Shard(0), Shard(1), Partial()


def _divides(spec, dimension, block=BLOCK):
    """Whether each rank of the mesh has whole blocks of the dimension, however it is
    divided."""
    return spec.shape[dimension] % (block * prod(spec.mesh.shape)) == 0


def _rules(results, operands, others, *divided):
    """Acceptable placements, for numbers of results, operands and arguments that are no
    tensors, whose placement is None. Each of `divided` is a condition, results and
    operands."""
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
    """Placements of both; what is not needed is empty."""
    return lambda dx, dw: [dx if needs_dx else _ALL, dw if needs_dw else _ALL]


def _linear_backward(dy, x, weight, needs_dx, needs_dw, *options):
    results = _gradients(needs_dx, needs_dw)
    # Blocks of the weight's gradient are of rows.
    rows = not needs_dw or _divides(dy, 0)
    return _rules(
        2, 3, 2 + len(options),
        (rows, results(_ROWS, _SUM), [_ROWS, _ROWS, _ALL]),
        (_divides(weight, 0), results(_SUM, _ROWS), [_COLUMNS, _ALL, _ROWS]),
        (_divides(weight, 1), results(_COLUMNS, _COLUMNS), [_ALL, _COLUMNS, _COLUMNS]))


# What is saved of x has columns of x as rows, and scales in tiles of 128 of them.
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
    # PyTorch keeps what it found for an operator, by its tensors, and by other arguments from
    # the first integer on: here flags and formats decide of shapes too.
    known = DTensor._op_dispatcher.sharding_propagator.op_to_schema_info
    tensors = [argument.name for argument in overload._schema.arguments
               if argument.type.isSubtypeOf(torch._C.TensorType.get())]
    known[overload].static_argnum = len(tensors)


for _name, _rule in (("linear", _linear), ("linear_backward", _linear_backward),
                     ("linear_saving", _linear_saving),
                     ("linear_saving_backward", _linear_saving_backward)):
    _register(_name, _rule)
