# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A layer of SwiGLU experts that are divided among ranks, as one differentiable
operator."""

import torch
from torch import Tensor

from ..._arrays.interop import place_of
from ..._ops import checks as check
from ..._ops.formats import find_format
from ..._ops.moe_layer import MoEWeights
from ..._ops.routed_moe_layer import RoutedSaved, most_rows
from . import tensors
from .checks import check_one_device, check_tensor, refuse_second_order
from .expert_groups import Group, find_group
from .flops import counts
from .moe_layer import INTEGERS, empty_quantized


def routed_experts(x, ids, weights, w1, w2, group, *, capacity=None,
                   activations="mxfp8_e4m3", weights_format="mxfp8_e4m3",
                   gradients="mxfp8_e4m3"):
    """SwiGLU experts that are divided among the ranks of a group, on the tokens of all:

        y[t] = sum over j of  weights[t, j] w2[e] (silu(gate) * up),  e = ids[t, j]
        gate, up = the halves of  w1[e] x[t]

    x        bf16, [T, H], T at most group.tokens, another one on each rank; may be 0
    ids      integers, [T, k]: the experts of a token, of all ranks; others than 0 to
             experts - 1 are none
    weights  floating point, [T, k]
    w1, w2   bf16 or f32, of this rank's experts: [E, 2 I, H] (gate, then up) and
             [E, H, I]; H and I are multiples of 32. Rank r has experts r E to r E + E - 1
    group    an mx_compiler.torch.ep.Group
    capacity  rows of this rank's experts that have room; None: the most that can come.
             More raise an mx_compiler.CapacityError, in this call, a later one, or
             group.check()
    activations, weights_format, gradients  formats with blocks of 32

    Returns y in bf16, [T, H]. Collective, as is its backward pass. Sums have a fixed order,
    so each call gives the same bits. Differentiable in x, weights, w1 and w2; gradients of
    w1 and w2 are sums over the tokens of all ranks. Raises a TypeError or ValueError that
    names the argument."""
    for name, given in (("x", x), ("ids", ids), ("weights", weights), ("w1", w1), ("w2", w2)):
        check_tensor(name, given)
    check_group(group)
    try:
        check_ids(ids)
        if not weights.is_floating_point():
            raise TypeError(f"weights: expected floating point, found {weights.dtype}")
        if capacity is not None:
            check.size("capacity", capacity, 1)
    except (TypeError, ValueError) as error:
        group.refuse(error)
    return torch.ops.mx.routed_experts(
        x, narrow_ids(ids, w1.shape[0] * group.size), weights.to(torch.float32), w1, w2,
        group.key, capacity or 0, activations, weights_format, gradients)[0]


def check_group(group, experts=None):
    """Raises a TypeError or ValueError if it is no group, or does not divide the experts."""
    if not isinstance(group, Group):
        raise TypeError("group: expected an mx_compiler.torch.ep.Group, found "
                        f"{type(group).__name__}")
    if experts is None:
        return
    check.size("experts", experts, 1)
    if experts % group.size:
        raise ValueError(f"experts: expected a multiple of {group.size}, the ranks of the "
                         f"group, found {experts}")


def check_ids(ids):
    if ids.dtype not in INTEGERS:
        raise TypeError(f"ids: expected integers, found {ids.dtype}")


def narrow_ids(ids, experts):
    """Ids as i32, where those that are none stay none."""
    if ids.dtype == torch.int32:
        return ids
    if ids.dtype != torch.int64:
        return ids.to(torch.int32)
    return torch.where((ids >= 0) & (ids < experts), ids, -1).to(torch.int32)


def check_choice(x, ids, weights):
    hidden = check.matrix("x", x, ("bf16",))[1]
    if len(hidden) != 2:
        raise ValueError(f"x: expected [tokens, hidden], found shape {hidden}")
    if ids.dim() != 2 or ids.dtype != torch.int32 or ids.shape[0] != x.shape[0] or (
            not ids.shape[1]):
        raise ValueError(f"ids: expected integers of shape ({x.shape[0]}, k), found "
                         f"{ids.dtype} of shape {tuple(ids.shape)}")
    if weights.dtype != torch.float32 or weights.shape != ids.shape:
        raise ValueError(f"weights: expected shape {tuple(ids.shape)}, as ids has, found "
                         f"{tuple(weights.shape)} of {weights.dtype}")
    return hidden[1]


def check_tokens(group, x):
    """That the group has room for the tokens, the first dimension of x, and is of their
    device; the other ranks are told, as they wait."""
    if x.shape[0] > group.tokens:
        group.refuse(ValueError(
            f"x: expected at most {group.tokens} tokens, for which the group was made, found "
            f"{x.shape[0]} on rank {group.rank}"))
    if (place := place_of([x])) != group.device:
        group.refuse(ValueError(f"x: expected a tensor for {group.device}, the device of the "
                                f"group, found one of {place} on rank {group.rank}"))


def _check(x, ids, weights, w1, w2):
    hidden = check_choice(x, ids, weights)
    first = check.matrix("w1", w1, ("f32", "bf16"))[1]
    second = check.matrix("w2", w2, ("f32", "bf16"))[1]
    if len(first) != 3 or first[1] % 2 or first[2] != hidden:
        raise ValueError(f"w1: expected [experts, 2 * intermediate, {hidden}], found shape "
                         f"{first}")
    wanted = (first[0], first[2], first[1] // 2)
    if second != wanted:
        raise ValueError(f"w2: expected shape {wanted}, as w1 has, found {second}")


_check_once = tensors.once(_check)


@tensors.operator("routed_experts")
def _routed(x: Tensor, ids: Tensor, weights: Tensor, w1: Tensor, w2: Tensor, group: str,
            capacity: int, activations: str, weights_format: str, gradients: str
            ) -> list[Tensor]:
    """y, what the backward pass needs of the forward pass (RoutedSaved), and the weights
    quantized for it. y is rounded here, where torch.compile cannot leave it out. A capacity
    of 0 is the most that can come."""
    ranks = find_group(group)
    try:
        _check_once(x, ids, weights, w1, w2)
    except (TypeError, ValueError) as error:
        ranks.refuse(error)  # the others wait
    check_tokens(ranks, x)
    x, ids, weights, w1, w2 = map(tensors.plain, (x, ids, weights, w1, w2))
    layer = ranks.find_layer(w1.shape[0] * ranks.size, w1.shape[2], w1.shape[1] // 2,
                             ids.shape[1], (activations, weights_format, gradients))
    given = layer.quantize_weights(w1.to(torch.bfloat16), w2.to(torch.bfloat16))
    y, saved = layer.forward(x, ids, weights, given, capacity=capacity or None)
    # Bytes, which no gradient is asked of.
    return [y.to(torch.bfloat16), *saved[:6], *(part.view(torch.uint8) for part in (
        *saved[6:], given.w1_transposed, given.w1_transposed_scales,
        given.w2_transposed, given.w2_transposed_scales))]


def count_places(group, choices, capacity):
    """Returns the number of rows with room, of which a capacity of 0 is the most."""
    most = most_rows(group.size, group.tokens, choices)
    return min(capacity, most) if capacity else most


@_routed.register_fake
def _(x, ids, weights, w1, w2, group, capacity, activations, weights_format, gradients):
    _check(x, ids, weights, w1, w2)
    check_one_device(x=x, ids=ids, weights=weights, w1=w1, w2=w2)
    experts, rows, _ = w1.shape
    count = count_places(find_group(group), ids.shape[1], capacity)
    return [x.new_empty(x.shape),
            *(x.new_empty(shape, dtype=torch.int32) for shape in (
                (count,), (count,), (experts,), ())),
            x.new_empty((count,), dtype=torch.float32),
            x.new_empty((count, rows), dtype=torch.bfloat16),
            *empty_quantized(w1, count, activations, weights_format)]


@tensors.operator("routed_experts_backward")
def _routed_backward(dy: Tensor, ids: Tensor, saved: list[Tensor], group: str,
                     activations: str, weights_format: str, gradients: str) -> list[Tensor]:
    """Gradients of x, w1, w2 and weights, in f32."""
    ranks = find_group(group)
    layer = ranks.find_layer(saved[2].shape[0] * ranks.size, dy.shape[1],
                             saved[5].shape[1] // 2, ids.shape[1],
                             (activations, weights_format, gradients))
    of = [find_format(name) for name in (
        activations, activations, weights_format, weights_format)]
    types = [mlir for format in of for mlir in (format.elements, format.scales)]
    typed = [*map(tensors.typed, saved[6:], types)]
    quantized = MoEWeights(None, None, *typed[4:6], None, None, *typed[6:])
    return list(layer.backward(tensors.plain(dy), tensors.plain(ids), quantized,
                               RoutedSaved(*saved[:6], *typed[:4])))


@_routed_backward.register_fake
def _(dy, ids, saved, group, activations, weights_format, gradients):
    experts, hidden, inner = saved[2].shape[0], dy.shape[1], saved[5].shape[1] // 2
    return [dy.new_empty(shape, dtype=torch.float32) for shape in (
        dy.shape, (experts, 2 * inner, hidden), (experts, hidden, inner), ids.shape)]


def _keep(ctx, inputs, output):
    ids, ctx.group = inputs[1], inputs[5]
    ctx.formats = inputs[7:]
    ctx.save_for_backward(ids, *output[1:])
    ctx.dtypes = [inputs[i].dtype for i in (0, 3, 4, 2)]
    ctx.mark_non_differentiable(*output[1:])


def _backward(ctx, gradients):
    ids, *saved = ctx.saved_tensors
    found = torch.ops.mx.routed_experts_backward(
        gradients[0].to(torch.bfloat16), ids, saved, ctx.group, *ctx.formats)
    dx, dw1, dw2, dweights = (g.to(dtype) for g, dtype in zip(found, ctx.dtypes))
    return dx, None, dweights, dw1, dw2, None, None, None, None, None


_routed.register_autograd(_backward, setup_context=_keep)
refuse_second_order("routed_experts_backward")


# Operations that torch.utils.flop_counter counts: as many rows as this rank's tokens have
# choices. How many come is on the device, and over all ranks it is the same number.


def _count_matmuls(rows, gate_up, hidden):
    return 2 * rows * gate_up * hidden + rows * gate_up * hidden


@counts(torch.ops.mx.routed_experts)
def _(x, ids, weights, w1, *_, out_shape=None):
    return _count_matmuls(ids[0] * ids[1], *w1[1:])


@counts(torch.ops.mx.routed_experts_backward)
def _(dy, ids, saved, *_, out_shape=None):
    return 2 * _count_matmuls(ids[0] * ids[1], saved[5][1], dy[1])
