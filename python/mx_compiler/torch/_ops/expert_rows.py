# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of tokens for experts that are divided among ranks, for experts of any kind: sent by
`dispatch`, and what they become added up by `collect`. Each is the gradient of the other."""

from typing import NamedTuple, Tuple

import torch
from torch import Tensor

from ..._ops import checks as check
from ..._ops.routed_rows import RoutedRows
from . import tensors
from .checks import check_one_device, check_tensor, refuse_second_order
from .expert_groups import find_group
from .routed_experts import (check_choice, check_group, check_ids, check_tokens, count_places,
                             narrow_ids)


class Dispatched(NamedTuple):
    """Rows of this rank's experts; P is the capacity.

    rows    bf16, [P, H], sorted by expert; zeros from `count` on
    probs   f32, [P]: the weight of each
    tokens  i32, [P]: s * group.tokens + t for token t of rank s; -1 from `count` on
    slots   i32, [P]: tokens * k + j for choice j, which `collect` takes; -1 from `count` on
    ends    i32, [experts of this rank]: the rows of expert g end at ends[g]
    count   i32, without dimensions: how many rows there are"""
    rows: Tensor
    probs: Tensor
    tokens: Tensor
    slots: Tensor
    ends: Tensor
    count: Tensor


def dispatch(x, ids, weights, experts, group, *, capacity=None):
    """Sends the tokens of each rank to the ranks that have experts of them.

    x        bf16, [T, H], T at most group.tokens, another one on each rank
    ids      integers, [T, k]: the experts of a token; others than 0 to experts - 1 are none
    weights  floating point, [T, k]
    experts  of all ranks, a multiple of their number
    group    an mx_compiler.torch.ep.Group
    capacity  rows that have room; None: the most that can come. More raise an
             mx_compiler.CapacityError, in this call, a later one, or group.check()

    Returns a Dispatched. Collective, as is its backward pass, which adds up the gradients
    of the rows of a token. Differentiable in x and weights. Raises a TypeError or
    ValueError that names the argument."""
    for name, given in (("x", x), ("ids", ids), ("weights", weights)):
        check_tensor(name, given)
    check_group(group, experts)
    check_ids(ids)
    if not weights.is_floating_point():
        raise TypeError(f"weights: expected floating point, found {weights.dtype}")
    if capacity is not None:
        check.size("capacity", capacity, 1)
    rows, probs, slots, ends, count = torch.ops.mx.ep_dispatch(
        x, narrow_ids(ids, experts), weights.to(torch.float32), group.key, experts,
        capacity or 0)
    tokens = torch.div(slots, ids.shape[1], rounding_mode="floor")
    return Dispatched(rows, probs, tokens, slots, ends, count)


def collect(z, slots, ids, experts, group):
    """Adds up what the experts of all ranks made of the rows of each token.

    z       bf16, [P, H]; those of rows that are none are not read
    slots   i32, [P], of `dispatch`
    ids     as `dispatch` had them
    experts, group  the same

    Returns y in bf16, [T, H]: each rank adds its rows of a token in their order, in f32,
    and rounds the sum to bf16; sums of ranks are added in their order. Weights are the
    caller's. Collective, as is its backward pass, which is `dispatch`. Differentiable in z.
    Raises a TypeError or ValueError that names the argument."""
    for name, given in (("z", z), ("slots", slots), ("ids", ids)):
        check_tensor(name, given)
    check_group(group, experts)
    check_ids(ids)
    return torch.ops.mx.ep_collect(z, slots, narrow_ids(ids, experts), group.key,
                                   experts).to(z.dtype)


def _find(group, x, experts, hidden, choices):
    ranks = find_group(group)
    check_tokens(ranks, x)
    return ranks.find_program(("rows", experts, hidden, choices), lambda made: RoutedRows(
        experts, hidden, choices, made, tokens=ranks.tokens))


def _check_rows(name, z, slots):
    """That there is a row for each slot."""
    shape = check.matrix(name, z, ("bf16",))[1]
    if slots.dim() != 1 or slots.dtype != torch.int32 or len(shape) != 2 or (
            shape[0] != slots.shape[0]):
        raise ValueError(f"slots: expected torch.int32 of shape ({shape[0]},), one for each row "
                         f"of {name}, found {slots.dtype} of shape {tuple(slots.shape)}")


@tensors.operator("ep_dispatch")
def _dispatch(x: Tensor, ids: Tensor, weights: Tensor, group: str, experts: int, capacity: int
              ) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Rows, their weights, slots, ends and count. A capacity of 0 is the most that can
    come."""
    check_choice(x, ids, weights)
    program = _find(group, x, experts, x.shape[1], ids.shape[1])
    return tuple(program.dispatch(*map(tensors.plain, (x, ids, weights)), count_places(
        find_group(group), ids.shape[1], capacity)))


@_dispatch.register_fake
def _(x, ids, weights, group, experts, capacity):
    check_choice(x, ids, weights)
    check_one_device(x=x, ids=ids, weights=weights)
    own = experts // find_group(group).size
    count = count_places(find_group(group), ids.shape[1], capacity)
    return (x.new_empty(count, x.shape[1]), x.new_empty(count, dtype=torch.float32),
            *(x.new_empty(shape, dtype=torch.int32) for shape in ((count,), (own,), ())))


@tensors.operator("ep_dispatch_backward")
def _dispatch_backward(drows: Tensor, dprobs: Tensor, slots: Tensor, ids: Tensor, group: str,
                       experts: int) -> Tuple[Tensor, Tensor]:
    """Gradients of x and weights, in f32."""
    _check_rows("drows", drows, slots)
    program = _find(group, ids, experts, drows.shape[1], ids.shape[1])
    return tuple(program.collect_with_weights(*map(
        tensors.plain, (drows, dprobs, slots, ids))))


@_dispatch_backward.register_fake
def _(drows, dprobs, slots, ids, group, experts):
    return (drows.new_empty(ids.shape[0], drows.shape[1], dtype=torch.float32),
            drows.new_empty(ids.shape, dtype=torch.float32))


@tensors.operator("ep_collect")
def _collect(z: Tensor, slots: Tensor, ids: Tensor, group: str, experts: int) -> Tensor:
    """y in f32."""
    _check_rows("z", z, slots)
    program = _find(group, ids, experts, z.shape[1], ids.shape[1])
    return program.collect(*map(tensors.plain, (z, slots, ids)))


@_collect.register_fake
def _(z, slots, ids, group, experts):
    _check_rows("z", z, slots)
    check_one_device(z=z, slots=slots, ids=ids)
    return z.new_empty(ids.shape[0], z.shape[1], dtype=torch.float32)


@tensors.operator("ep_collect_backward")
def _collect_backward(dy: Tensor, slots: Tensor, ids: Tensor, group: str, experts: int
                      ) -> Tensor:
    """The gradient of z: that of its token's sum for each row, in bf16."""
    program = _find(group, dy, experts, dy.shape[1], ids.shape[1])
    dy = tensors.plain(dy.to(torch.bfloat16))
    return program.dispatch_again(dy, tensors.plain(ids), tensors.plain(slots))


@_collect_backward.register_fake
def _(dy, slots, ids, group, experts):
    return dy.new_empty(slots.shape[0], dy.shape[1], dtype=torch.bfloat16)


def _keep_dispatch(ctx, inputs, output):
    _, ids, weights, ctx.group, ctx.experts, _ = inputs
    ctx.save_for_backward(output[2], ids)
    ctx.mark_non_differentiable(*output[2:])


def _back_from_dispatch(ctx, drows, dprobs, *_):
    slots, ids = ctx.saved_tensors
    dx, dweights = torch.ops.mx.ep_dispatch_backward(
        drows, dprobs, slots, ids, ctx.group, ctx.experts)
    return dx.to(torch.bfloat16), None, dweights, None, None, None


def _keep_collect(ctx, inputs, output):
    _, slots, ids, ctx.group, ctx.experts = inputs
    ctx.save_for_backward(slots, ids)


def _back_from_collect(ctx, dy):
    slots, ids = ctx.saved_tensors
    dz = torch.ops.mx.ep_collect_backward(dy, slots, ids, ctx.group, ctx.experts)
    return dz, None, None, None, None


_dispatch.register_autograd(_back_from_dispatch, setup_context=_keep_dispatch)
_collect.register_autograd(_back_from_collect, setup_context=_keep_collect)
refuse_second_order("ep_dispatch_backward", "ep_collect_backward")
