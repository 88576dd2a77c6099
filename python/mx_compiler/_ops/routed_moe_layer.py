# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A layer of a mixture of experts whose experts are divided among ranks."""

import contextlib
from typing import Any, NamedTuple

from .._compile.compile import compile
from .._compile.templates import Template
from .._programs.group import Group
from .._runtime.device import HOST, is_host, on_device
from . import checks as check
from . import moe_layer, moe_text
from .chip_sizes import named_reductions
from .row_counts import RowCounts

# Results of the forward pass that are not written wholly: x and h in groups along the
# rows, and their scales.
_PADDED = frozenset((7, 8, 9, 10))
GROUP = "ep"  # as the program calls it
# Choices of a token, and tokens of all ranks together, as Spec.md has them.
_MOST_CHOICES, _MOST_TOKENS = 32, 2**31 - 1


class RoutedSaved(NamedTuple):
    """What the backward pass needs of the forward pass, of the rows of this rank: P is
    the capacity, and `count`, i32 without dimensions, says how many there were.

    The token of row p is token t of rank s, if rows[p] is s * tokens + t, and slots[p] is
    rows[p] * choices + j for its choice j; the rows of expert g end at ends[g], and its
    own are in the order of slots. Both lists are -1 from `count` on."""
    rows: Any
    slots: Any
    ends: Any
    count: Any
    probs: Any
    gate_up: Any
    x_transposed: Any
    x_transposed_scales: Any
    h_transposed: Any
    h_transposed_scales: Any


class RoutedMoELayer:
    """SwiGLU experts, divided among the ranks of a group, on the tokens of all of them:

        y[t] = sum over j of  weights[t, j] W2[e] (silu(gate) * up),  e = ids[t, j]
        gate, up = the halves of  W1[e] x[t]

    experts       of all ranks, a multiple of their number: rank r has those from
                  r * experts / ranks on
    hidden        H, a multiple of 32
    intermediate  I, a multiple of 32
    choices       k, the experts of a token
    group         a Group, or None for one rank
    tokens        the most tokens that a rank has in a call, the same on all ranks
    activations, weights, gradients
                  formats with blocks of 32 (mx.FORMATS); gradients as activations
                  where they are not said. Activations and gradients travel in them
    capacity      rows of this rank that have room, where a call says no other: without
                  it the most that can come. Matmuls take the rows that came, memory is
                  that of the capacity. If more come, the layer leaves them out, and this
                  is an error: of `check`, and of the next call if it is known by then
    chip, cache   as for mx.compile

    Collective, as `forward` and `backward` are: all ranks make the layer with the same
    sizes. Nothing that says where rows go passes through the host. Sums have a fixed
    order, so each call gives the same bits. The program is that of
    examples/moe_layer_ranks.mlir; a token travels once to a rank that has experts of it,
    and a sum in bf16 comes back."""

    def __init__(self, experts, hidden, intermediate, choices, group=None, *, tokens,
                 activations="mxfp8_e4m3", weights="mxfp8_e4m3", gradients=None,
                 capacity=None, chip=None, cache=True):
        if group is not None and not isinstance(group, Group):
            raise TypeError(f"group: expected an mx_compiler.Group or None, found {group!r}")
        self.formats = moe_layer.read_formats(activations, weights, gradients)
        moe_layer.check_sizes(experts, hidden, intermediate)
        ranks = 1 if group is None else group.size
        for name, size in (("choices", choices), ("tokens", tokens)):
            check.size(name, size, 1)
        if experts % ranks:
            raise ValueError(f"experts: expected a multiple of {ranks}, the ranks of the "
                             f"group, found {experts}")
        if choices > min(experts, _MOST_CHOICES):
            raise ValueError(f"choices: expected at most {min(experts, _MOST_CHOICES)}, of "
                             f"{experts} experts, found {choices}")
        if ranks * tokens > _MOST_TOKENS:
            raise ValueError(f"tokens: expected at most {_MOST_TOKENS} of {ranks} ranks "
                             f"together, found {tokens} of each")
        self.experts, self.hidden, self.intermediate = experts, hidden, intermediate
        self.choices, self.tokens, self.group = choices, tokens, group
        self.ranks, self.rank = ranks, 0 if group is None else group.rank
        self.most = most_rows(ranks, tokens, choices)
        self.capacity = self._read_capacity(self.most if capacity is None else capacity)
        self._counts = RowCounts(self.rank, group)
        self._padded_scales = moe_layer.padded_scales(hidden, intermediate)
        text = template_text(ranks, tokens, experts, hidden, intermediate, choices,
                             *(format.elements for format in self.formats.values()))
        with on_device_of(group):
            with named_reductions("hidden, intermediate",
                                  (format.name for format in self.formats.values()),
                                  f"{hidden} and {intermediate}", chip):
                self._program = compile(Template(text, "moe_layer_ranks"), chip=chip,
                                        cache=cache)
            if ranks > 1:
                self._program.bind(GROUP, group)

    @property
    def own_experts(self):
        """How many experts this rank has."""
        return self.experts // self.ranks

    def quantize_weights(self, w1, w2, *, stream=None):
        """MoEWeights of this rank's experts: w1, bf16, [E, 2 I, H] (gate, then up), and
        w2, bf16, [E, H, I], E = experts / ranks. Not collective."""
        return moe_layer.MoEWeights(*self._program["quantize_weights"].call(
            (w1, w2), None, stream, self._padded_scales))

    def forward(self, x, ids, weights, quantized, *, capacity=None, stream=None):
        """y, f32, [T, H], and a RoutedSaved, of x, bf16, [T, H], the experts of its
        tokens, ids, i32, [T, k], of which others than 0 to experts - 1 are none, their
        weights, f32, [T, k], and the MoEWeights of quantize_weights. T may be 0. Raises a
        CapacityError if an earlier call had more rows than room; that ends the group."""
        quantized = moe_layer.check_weights(quantized)
        capacity = self.capacity if capacity is None else self._read_capacity(capacity)
        self._check_choices(x, ids=ids, weights=weights)
        self._counts.look()
        y, rows, slots, ends, count, *rest = self._program["forward"].call(
            (x, ids, weights, capacity, quantized.w1, quantized.w1_scales, quantized.w2,
             quantized.w2_scales), None, stream, _PADDED)
        if capacity < self.most:  # else no row lacks room
            self._counts.add(count, capacity)
        return y, RoutedSaved(rows, slots, ends, count, *rest)

    def backward(self, dy, ids, quantized, saved, *, stream=None):
        """The gradients of x (f32, [T, H]), of this rank's w1 (f32, [E, 2 I, H]) and w2
        (f32, [E, H, I]), which are sums over the tokens of all ranks, and of the weights
        of choices (f32, [T, k]), from that of y: dy, bf16, [T, H]."""
        quantized = moe_layer.check_weights(quantized)
        if not isinstance(saved, RoutedSaved):
            raise TypeError("saved: expected the mx_compiler.RoutedSaved of forward, found "
                            f"{type(saved).__name__}")
        self._check_choices(dy, ids=ids)
        return tuple(self._program["backward"](
            dy, ids, saved.rows, saved.slots, saved.ends, *saved[4:],
            quantized.w1_transposed, quantized.w1_transposed_scales,
            quantized.w2_transposed, quantized.w2_transposed_scales, stream=stream))

    def check(self):
        """Waits for all calls, and raises a CapacityError if one of them had more rows
        than room. Not collective: the other ranks know nothing of it."""
        self._counts.check()

    def close(self):
        """Unloads the program, which has a share in the group."""
        self._program.close()

    def _check_choices(self, tokens, **arrays):
        """That there is a choice for each; the call refuses what has no shape."""
        count = getattr(tokens, "shape", (None,))[0]
        for name, array in arrays.items():
            found = getattr(array, "shape", None)
            if count is not None and found is not None and (
                    tuple(found) != (count, self.choices)):
                raise ValueError(f"{name}: expected shape {(count, self.choices)}, the choices "
                                 f"of each token, found {tuple(found)}")

    def _read_capacity(self, capacity):
        check.size("capacity", capacity, 1)
        return min(int(capacity), self.most)

    def __repr__(self):
        names = ", ".join(f"{name} {format.name}" for name, format in self.formats.items())
        return (f"<mx_compiler.RoutedMoELayer {self.experts} experts of {self.hidden} x "
                f"{self.intermediate}, {self.ranks} ranks, {names}>")


def most_rows(ranks, tokens, choices):
    """Returns the most rows of one rank: all choices of all tokens, as a token may name
    an expert twice."""
    return ranks * tokens * choices


def on_device_of(group):
    """A context in which programs are those of the group's device."""
    if group is None:
        return contextlib.nullcontext()
    if (group.device == HOST) != is_host():
        raise ValueError(f"group: expected one that was made on the device in use, found one "
                         f"on {group.device}")
    return contextlib.nullcontext() if is_host() else on_device(group.device)


def template_text(ranks, tokens, experts, hidden, intermediate, choices,
                  activations="f8E4M3FN", weights="f8E4M3FN", gradients="f8E4M3FN"):
    """The layer's program in MLIR, for types of elements."""
    return moe_text.resize("moe_layer_ranks.mlir", _sizes_of(2, 64, 8, 384, 256, 2),
                           _sizes_of(ranks, tokens, experts, hidden, intermediate, choices),
                           dict(activations=activations, weights=weights,
                                gradients=gradients))


def _sizes_of(ranks, tokens, experts, hidden, intermediate, choices):
    window = ranks * tokens
    return dict(moe_text.sizes_of(experts // ranks, hidden, intermediate), ranks=ranks,
                tokens=tokens, all_experts=experts, choices=choices, window=window,
                window_pairs=window * choices)
