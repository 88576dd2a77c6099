# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layer of SwiGLU experts as a differentiable operator, and routing of its tokens."""

from typing import Tuple

import torch
from torch import Tensor

from ..._ops import checks as check
from ..._ops import experts as layers
from ..._ops.formats import find_format
from ..._ops.scale_tiles import capacity
from ..._ops.quantized import scales_shape
from ..._arrays.interop import place_of
from ..._runtime.device import device_key, on_device
from . import eager, tensors
from .checks import check_one_device, check_tensor, refuse_second_order


INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def moe_layer(x: Tensor, w1: Tensor, w2: Tensor, tokens: Tensor, probs: Tensor, ends: Tensor, *,
              activations: str = "mxfp8", weights: str = "mxfp8", gradients: str = "mxfp8") -> Tensor:
    """Computes SwiGLU experts for rows sorted by expert, with nine launches:

        y[t] = sum over the rows p of token t:  w2[g] (silu(gate) * up * probs[p])
        gate, up = the halves of  w1[g] x[t],  where g is the expert of row p

    x       bf16, [T, H]
    w1, w2  bf16 or f32, [G, 2 I, H] (gate, then up) and [G, H, I]; H and I are
            multiples of 32
    tokens  i32, [P]: the token of row p. `route` returns tokens, probs and ends
    probs   f32, [P]: the weight of row p
    ends    i32, [G]: the rows of expert g end at ends[g]; rows past the last end
            belong to no expert
    activations, weights, gradients  formats with blocks of 32

    Returns y in bf16, [T, H]. The rows of a token are added in order, so results are bitwise
    reproducible. Differentiable in x, w1, w2 and probs. Raises TypeError or ValueError, which names
    the argument."""
    for name, given in (("x", x), ("w1", w1), ("w2", w2), ("tokens", tokens),
                        ("probs", probs), ("ends", ends)):
        check_tensor(name, given)
    return torch.ops.mx.moe_layer(x, w1, w2, tokens, probs, ends, activations, weights,
                                  gradients)[0]


def route(chosen: Tensor, weights: Tensor, experts: int) -> tuple[Tensor, Tensor, Tensor]:
    """Sorts a router's choices by expert on the device. Never waits for the device.

    chosen   integers, [T, k]: the experts of each token; ids outside [0, experts) are
             ignored
    weights  floating point, [T, k]: the router's weight of each choice
    experts  G

    Returns tokens (i32, [P]), probs (f32, [P]) and ends (i32, [G]) for `moe_layer`, with P = T k.
    Rows without an expert are last. Differentiable in weights. Raises TypeError or ValueError, which
    names the argument."""
    check_tensor("chosen", chosen)
    check_tensor("weights", weights)
    check.size("experts", experts, 1)
    if chosen.dim() != 2 or chosen.dtype not in INTEGERS:
        raise ValueError("chosen: expected integers of [tokens, k], found "
                         f"{chosen.dtype} of shape {tuple(chosen.shape)}")
    if weights.shape != chosen.shape:
        raise ValueError(f"weights: expected the shape {tuple(chosen.shape)} of chosen, "
                         f"found {tuple(weights.shape)}")
    if not weights.is_floating_point():
        raise TypeError(f"weights: expected floating point, found {weights.dtype}")
    weights = weights.reshape(-1).to(torch.float32)
    if chosen.dtype != torch.int64:
        chosen = chosen.to(torch.int32)
    chosen = torch.where((chosen >= 0) & (chosen < experts), chosen, experts).to(torch.int32)
    if not chosen.shape[1]:
        return chosen.reshape(-1), weights, chosen.new_zeros(experts)
    # Choices without an expert are assigned to an additional expert.
    tokens, order, ends = group_rows(chosen, experts + 1)
    return tokens, weights[order], ends[:experts]


@tensors.operator("group_rows")
def _group_rows(ids: Tensor, experts: int) -> Tuple[Tensor, Tensor, Tensor]:
    """Returns the rows, slots and ends of mx.group_rows."""
    grouped = layers.group_rows(tensors.plain(ids), experts)
    return grouped.rows, grouped.slots, grouped.ends


@_group_rows.register_fake
def _(ids, experts):
    pairs = ids.shape[0] * ids.shape[1]
    return tuple(ids.new_empty(size, dtype=torch.int32) for size in (pairs, pairs, experts))


group_rows = eager.operator(_group_rows)


_layers = {}


def empty_gradients(dy, shape, last, weight_gradients):
    """Returns empty gradients of x, w1, w2 and `last`. `shape` is the shape of w1."""
    experts, rows, hidden = shape
    dtype = torch.bfloat16 if weight_gradients == "bf16" else torch.float32
    return [dy.new_empty(dy.shape, dtype=torch.float32), dy.new_empty(shape, dtype=dtype),
            dy.new_empty((experts, hidden, rows // 2), dtype=dtype),
            last.new_empty(last.shape, dtype=torch.float32)]


def gradient_type(*dtypes):
    """Returns the type of the gradients of weights of these dtypes in the program."""
    return "bf16" if {*dtypes} == {torch.bfloat16} else "f32"


def _find(w1, weight_gradients, *formats):
    key = (device_key(), w1.device, w1.shape, weight_gradients, formats)
    found = _layers.get(key)
    if found is None:
        experts, rows, hidden = w1.shape
        with on_device(place_of([w1])):
            found = _layers[key] = layers.MoELayer(
                experts, hidden, rows // 2, activations=formats[0], weights=formats[1],
                gradients=formats[2], weight_gradients=weight_gradients)
    return found


def check_weights(hidden, w1, w2):
    first = check.matrix("w1", w1, ("f32", "bf16"))[1]
    second = check.matrix("w2", w2, ("f32", "bf16"))[1]
    if len(first) != 3 or first[1] % 2 or first[2] != hidden:
        raise ValueError(f"w1: expected [experts, 2 * intermediate, {hidden}], found shape {first}")
    wanted = (first[0], first[2], first[1] // 2)
    if second != wanted:
        raise ValueError(f"w2: expected shape {wanted}, which matches w1, found {second}")


def _check(x, w1, w2, tokens, probs, ends):
    check_weights(check.matrix("x", x, ("bf16",))[1][-1], w1, w2)
    if tokens.dim() != 1:
        raise ValueError(f"tokens: expected 1 dimension, found shape {tuple(tokens.shape)}")
    for name, x, dtype, rows in (("tokens", tokens, torch.int32, None),
                                 ("probs", probs, torch.float32, tokens.shape[0]),
                                 ("ends", ends, torch.int32, w1.shape[0])):
        if x.dtype != dtype or x.dim() != 1 or rows not in (None, x.shape[0]):
            raise ValueError(f"{name}: expected {dtype} of shape "
                             f"{('rows',) if rows is None else (rows,)}, found "
                             f"{x.dtype} of shape {tuple(x.shape)}")


_check_once = tensors.once(_check)


def differentiate(definition, kept, options, places):
    """Registers NAME_backward as the gradient of the experts' operator NAME, which returns y and the
    saved values. `kept`, `options` and `places` are indices of inputs. The backward operator takes
    the gradient of y, the tensors `kept`, the saved values, the inputs `options` and the type of the
    gradients of w1 and w2, and returns the gradients of the inputs `places`: x, w1, w2 and others."""
    name = definition._opoverload._opname

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*(inputs[i] for i in kept), *output[1:])
        ctx.options, ctx.count = [inputs[i] for i in options], len(inputs)
        ctx.dtypes = [inputs[i].dtype for i in places]
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)  # else PyTorch clears memory as large as the saved values

    def backward(ctx, gradients):
        if gradients[0] is None:
            return (None,) * ctx.count
        kept_tensors = ctx.saved_tensors  # read once, because checkpoints allow a single access
        given, saved = kept_tensors[:len(kept)], [*kept_tensors[len(kept):]]
        found = getattr(torch.ops.mx, f"{name}_backward")(
            gradients[0].to(torch.bfloat16), *given, saved, *ctx.options,
            gradient_type(*ctx.dtypes[1:3]))
        of = {i: g.to(dtype) for i, g, dtype in zip(places, found, ctx.dtypes)}
        return tuple(map(of.get, range(ctx.count)))

    definition.register_autograd(backward, setup_context=keep)
    refuse_second_order(f"{name}_backward")


@tensors.operator("moe_layer")
def _moe(x: Tensor, w1: Tensor, w2: Tensor, tokens: Tensor, probs: Tensor, ends: Tensor,
         activations: str, weights: str, gradients: str) -> list[Tensor]:
    """Returns y, the values saved for the backward pass, and the quantized weights for the backward
    pass. y is rounded here, so torch.compile cannot drop the rounding."""
    _check_once(x, w1, w2, tokens, probs, ends)
    x, w1, w2, tokens, probs, ends = map(
        tensors.plain, (x, w1, w2, tokens, probs, ends))
    layer = _find(w1, gradient_type(w1.dtype, w2.dtype), activations, weights, gradients)
    given = layer.quantize_weights(w1.to(torch.bfloat16), w2.to(torch.bfloat16))
    y, saved = layer.forward(x, given, tokens, probs, ends)
    return [y.to(torch.bfloat16), saved.gate_up, *as_bytes(saved[1:], given)]


@_moe.register_fake
def _(x, w1, w2, tokens, probs, ends, activations, weights, gradients):
    _check(x, w1, w2, tokens, probs, ends)
    check_one_device(x=x, w1=w1, w2=w2, tokens=tokens, probs=probs, ends=ends)
    count = tokens.shape[0]
    return [x.new_empty(x.shape), x.new_empty((count, w1.shape[1]), dtype=torch.bfloat16),
            *empty_quantized(w1, count, activations, weights)]


def as_bytes(saved, weights):
    """Returns the saved rows and the MoEWeights for the backward pass as bytes, which are not
    differentiable."""
    return [part.view(torch.uint8) for part in (*saved, *weights.of_backward)]


def from_bytes(saved, activations, weights):
    """Reverses as_bytes, with Formats or their names. Returns the quantized rows and the MoEWeights."""
    of = [find_format(name) for name in (activations, activations, weights, weights)]
    types = [mlir for format in of for mlir in (format.elements, format.scales)]
    parts = [*map(tensors.typed, saved, types)]
    return parts[:4], layers.MoEWeights(None, None, *parts[4:6], None, None, *parts[6:])


def empty_quantized(w1, count, activations, weights):
    """Returns uninitialized bytes for the elements and scales saved for `count` rows: x and
    h, quantized along rows, and both transposed weights."""
    experts, rows, hidden = w1.shape
    inner, columns = rows // 2, capacity(count, experts)
    parts = []
    for shape, name in (((hidden, columns), activations), ((inner, columns), activations),
                        ((experts, hidden, rows), weights), ((experts, inner, hidden), weights)):
        format = find_format(name)
        elements = (*shape[:-1], shape[-1] // format.per_byte)
        parts += [w1.new_empty(elements, dtype=torch.uint8), w1.new_empty(
            scales_shape(shape, format, format.layout), dtype=torch.uint8)]
    return parts


@tensors.operator("moe_layer_backward")
def _moe_backward(dy: Tensor, w1: Tensor, tokens: Tensor, probs: Tensor, ends: Tensor,
                  saved: list[Tensor], activations: str, weights: str, gradients: str,
                  weight_gradients: str = "f32") -> list[Tensor]:
    """Returns the gradients of x (f32), w1, w2 and probs (f32)."""
    layer = _find(w1, weight_gradients, activations, weights, gradients)
    rows_of, quantized = from_bytes(saved[1:], activations, weights)
    dx, dw1, dw2, dprobs = layer.backward(
        tensors.plain(dy), quantized, layers.MoESaved(saved[0], *rows_of),
        *map(tensors.plain, (tokens, probs, ends)))
    rows = torch.arange(dprobs.shape[0], device=dprobs.device)
    return [dx, dw1, dw2, torch.where(rows < ends[-1], dprobs, 0.0)]


@_moe_backward.register_fake
def _(dy, w1, tokens, probs, ends, saved, activations, weights, gradients, weight_gradients="f32"):
    return empty_gradients(dy, w1.shape, probs, weight_gradients)


differentiate(_moe, kept=(1, 3, 4, 5), options=(6, 7, 8), places=(0, 1, 2, 4))
