# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A layer of a mixture of experts, forward and backward."""

import functools
from typing import Any, NamedTuple

import numpy as np

from .._arrays.elements import as_numpy
from .._arrays.interop import place_of
from .._compile.compile import compile
from .._compile.templates import Template
from .._runtime.device import device_key, on_device
from . import checks as check
from . import moe_text, scale_tiles
from .chip_sizes import named_reductions
from .formats import find_format
from .specialize import find_entry

# Results of the forward pass that are not written wholly: x and h in groups along the
# rows, and their scales.
_PADDED = frozenset((2, 3, 4, 5))


class MoEWeights(NamedTuple):
    """The weights of a layer, quantized along the dimension that each matmul sums
    over: `w1` and `w2` for the forward pass, their transposes for the backward."""
    w1: Any
    w1_scales: Any
    w1_transposed: Any
    w1_transposed_scales: Any
    w2: Any
    w2_scales: Any
    w2_transposed: Any
    w2_transposed_scales: Any


class MoESaved(NamedTuple):
    """What the backward pass needs of the forward pass."""
    gate_up: Any
    x_transposed: Any
    x_transposed_scales: Any
    h_transposed: Any
    h_transposed_scales: Any


class MoELayer:
    """SwiGLU experts on tokens that are sorted by expert:

        y[t] = sum over the rows p of t of  W2[g] (silu(gate) * up * probs[p])
        gate, up = the halves of  W1[g] x[t],  g the expert of row p

    experts       G
    hidden        H, a multiple of 32
    intermediate  I, a multiple of 32
    activations, weights, gradients
                  formats with blocks of 32 (mx.FORMATS); gradients as activations
                  where they are not said
    chip, cache   as for mx.compile

    Any number T of tokens and P of rows. Everything that says which rows an expert
    has is in device memory, and nothing waits for it:

    tokens  i32, [P]: the token of row p. Rows are sorted by expert
    probs   f32, [P]: the weight of row p
    ends    i32, [G]: the rows of expert g end at ends[g]; those past the last
            belong to no expert

    `mx.route` makes them of a router's choice on the host. The program is that of
    examples/moe_layer.mlir: 9 launches forward and 12 backward. Rows of a token are
    added in their order, so each call gives the same bits."""

    def __init__(self, experts, hidden, intermediate, *, activations="mxfp8_e4m3",
                 weights="mxfp8_e4m3", gradients=None, chip=None, cache=True):
        formats = read_formats(activations, weights, gradients)
        check_sizes(experts, hidden, intermediate)
        self.experts, self.hidden = experts, hidden
        self.intermediate = intermediate
        self.formats = formats
        text = template_text(experts, hidden, intermediate,
                             *(format.elements for format in formats.values()))
        self._padded_scales = padded_scales(hidden, intermediate)
        with named_reductions("hidden, intermediate",
                              (format.name for format in formats.values()),
                              f"{hidden} and {intermediate}", chip):
            self._program = compile(Template(text, "moe_layer"), chip=chip, cache=cache)

    def quantize_weights(self, w1, w2, *, stream=None):
        """MoEWeights of w1, bf16, [G, 2 I, H] (gate, then up), and w2, bf16,
        [G, H, I]: once a step of training, or once."""
        return MoEWeights(*self._program["quantize_weights"].call(
            (w1, w2), None, stream, self._padded_scales))

    def forward(self, x, weights, tokens, probs, ends, *, stream=None):
        """y, f32, [T, H], and a MoESaved, of x, bf16, [T, H]."""
        weights = check_weights(weights)
        y, *saved = self._program["forward"].call(
            (x, tokens, probs, ends, weights.w1, weights.w1_scales, weights.w2,
             weights.w2_scales), None, stream, _PADDED)
        return y, MoESaved(*saved)

    def backward(self, dy, weights, saved, tokens, probs, ends, *, stream=None):
        """The gradients of x (f32, [T, H]), w1 (f32, [G, 2 I, H]), w2 (f32,
        [G, H, I]) and probs (f32, [P]), from that of y: dy, bf16, [T, H]. Those of
        probs of rows that belong to no expert are not defined."""
        weights = check_weights(weights)
        if not isinstance(saved, MoESaved):
            raise TypeError("saved: expected the mx_compiler.MoESaved of forward, found "
                            f"{type(saved).__name__}")
        return tuple(self._program["backward"](
            dy, tokens, probs, ends, *saved, weights.w1_transposed,
            weights.w1_transposed_scales, weights.w2_transposed,
            weights.w2_transposed_scales, stream=stream))

    def __repr__(self):
        names = ", ".join(f"{name} {format.name}"
                          for name, format in self.formats.items())
        return (f"<mx_compiler.MoELayer {self.experts} experts of {self.hidden} x "
                f"{self.intermediate}, {names}>")


def read_formats(activations, weights, gradients):
    """The formats of a layer by what they are for; gradients as activations where they
    are not said. Raises a ValueError."""
    formats = {}
    for name, given in (("activations", activations), ("weights", weights),
                        ("gradients", gradients or activations)):
        format = formats[name] = find_format(given, name)
        if format.block != 32 or not format.has_matmul:
            raise ValueError(f"{name}: expected a format with blocks of 32 that "
                             f"supports matmuls, found {format.name}")
    return formats


def check_sizes(experts, hidden, intermediate):
    for name, size, block in (("experts", experts, 1), ("hidden", hidden, 32),
                              ("intermediate", intermediate, 32)):
        check.size(name, size, block)


def padded_scales(hidden, intermediate):
    """Which results of quantize_weights are not written wholly."""
    whole = all(scale_tiles.are_whole(size, size // 32) for size in (hidden, intermediate))
    return frozenset(() if whole else (1, 3, 5, 7))


def check_weights(weights):
    if not isinstance(weights, MoEWeights):
        raise TypeError("weights: expected the mx_compiler.MoEWeights of quantize_weights, "
                        f"found {type(weights).__name__}")
    return weights


def template_text(experts, hidden, intermediate, activations="f8E4M3FN",
                  weights="f8E4M3FN", gradients="f8E4M3FN"):
    """The layer's program in MLIR, for types of elements."""
    return moe_text.resize("moe_layer.mlir", moe_text.sizes_of(8, 384, 256),
                           moe_text.sizes_of(experts, hidden, intermediate),
                           dict(activations=activations, weights=weights,
                                gradients=gradients))


def moe_layer(x, w1, w2, tokens, probs, ends, *, stream=None, **formats):
    """The layer in one call, for weights that are used once: y, f32, [T, H].

    x, w1, w2 in bf16, and the rest, as for MoELayer; the sizes are those of w1."""
    _, shape = check.matrix("w1", w1, ("bf16",))
    if len(shape) != 3 or shape[1] % 2:
        raise ValueError("w1: expected [experts, 2 * intermediate, hidden], found shape "
                         f"{shape}")
    layer = _find_layer(device_key(), shape[0], shape[2], shape[1] // 2,
                        **formats)
    weights = layer.quantize_weights(w1, w2, stream=stream)
    return layer.forward(x, weights, tokens, probs, ends, stream=stream)[0]


@functools.lru_cache(64)
def _find_layer(changes, *sizes, **formats):
    return MoELayer(*sizes, **formats)


class GroupedRows(NamedTuple):
    """Where `group_rows` puts pairs of a token and an expert: arrays of i32."""
    rows: Any
    slots: Any
    ends: Any
    count: Any


def group_rows(ids, experts, *, capacity=None, stream=None):
    """Sorts pairs of a token and an expert by expert, on the device.

    ids       i32 or i64, [T, k]: the experts of each token; others than 0 to
              experts - 1 are none
    experts   G
    capacity  the length of rows and slots; T * k where it is not said
    stream    as for an entry

    Returns GroupedRows: the token of row p in rows[p], and t * k + j, for choice j of
    token t, in slots[p]; the rows of expert g end at ends[g], and its own are in the
    order of slots. count, without dimensions, is the number of pairs that have an
    expert: both lists are -1 from there on, and where they are shorter, they keep the
    first pairs, which ends say. Nothing waits. `quantize` takes rows as gather and ends
    as offsets; MoELayer takes them as tokens and ends."""
    check.size("experts", experts, 1)
    element, shape = check.matrix("ids", ids, ("i32", "i64"))
    if len(shape) != 2 or shape[1] == 0:
        raise ValueError("ids: expected [tokens, k], k at least 1, found shape "
                         f"{shape}")
    if capacity is None:
        capacity = shape[0] * shape[1]
    elif capacity != 0:
        check.size("capacity", capacity, 1)
    with on_device(place_of([ids])):
        entry = find_entry(_group_text, element.mlir, shape[1], int(experts))
    return GroupedRows(*entry.call((ids, int(capacity)), None, stream))


def _group_text(integer, choices, experts):
    return f"""
!list = tensor<?xi32>
!ends = tensor<{experts}xi32>
!ids = tensor<?x{choices}x{integer}>
func.func @main(%ids: !ids, %capacity: index) -> (!list, !list, !ends, tensor<i32>) {{
  %r = tensor.empty(%capacity) : !list
  %s = tensor.empty(%capacity) : !list
  %e = tensor.empty() : !ends
  %c = tensor.empty() : tensor<i32>
  %g:4 = mx.group_rows ins(%ids : !ids) outs(%r, %s, %e, %c : !list, !list, !ends, tensor<i32>)
      -> !list, !list, !ends, tensor<i32>
  return %g#0, %g#1, %g#2, %g#3 : !list, !list, !ends, tensor<i32>
}}
"""


def route(chosen, weights, experts):
    """Rows sorted by expert, of what a router chose on the host.

    chosen   integers, [T, k]: the experts of each token; -1 for none
    weights  numbers, [T, k]: what the router gives each of them
    experts  G

    Returns tokens (i32, [P]), probs (f32, [P]) and ends (i32, [G]), arrays of NumPy,
    P = T * k. Rows of no expert come last."""
    check.size("experts", experts, 1)
    chosen, weights = as_numpy(chosen), as_numpy(weights)
    if chosen.ndim != 2 or chosen.dtype.kind not in "iu":
        raise ValueError("chosen: expected integers of [tokens, k], found "
                         f"{chosen.dtype} of shape {chosen.shape}")
    if weights.shape != chosen.shape:
        raise ValueError(f"weights: expected the shape {chosen.shape} of chosen, found "
                         f"{weights.shape}")
    if chosen.size and not -1 <= chosen.min() <= chosen.max() < experts:
        raise ValueError(f"chosen: expected experts from 0 to {experts - 1}, or -1, "
                         f"found {chosen.min()} to {chosen.max()}")
    flat = np.where(chosen < 0, experts, chosen.astype(np.int64)).reshape(-1)
    order = np.argsort(flat, kind="stable")
    ends = np.cumsum(np.bincount(flat, minlength=experts + 1)[:experts])
    return ((order // max(chosen.shape[1], 1)).astype(np.int32),
            weights.reshape(-1)[order].astype(np.float32), ends.astype(np.int32))
