# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixture-of-experts layers on one device or with experts divided among ranks. Also sorts tokens by
expert, and exchanges rows between ranks."""

import contextlib
import functools
import os
import pathlib
import re
import sys
from typing import Any, NamedTuple

import numpy as np

from .._arrays.elements import as_numpy
from .._arrays.interop import find_library, place_of
from .._compile.compile import compile
from .._compile.files import read_bytes
from .._compile.templates import Template
from .._programs.rank_group import Group
from .._runtime.device import HOST, device_key, is_host, on_device
from .._runtime.errors import CapacityError
from .._runtime.internal import internal
from . import checks as check
from . import scale_tiles
from .chip_sizes import named_reductions
from .fp8 import check_chip
from .fp8_experts_text import with_blocks_of_128
from .fp8_text import BLOCK, rows_format, weight_format
from .specialize import find_entry

# Number of results of a forward pass with rank groups: y, RoutedSaved and the slots needed.
_FORWARD_RESULTS = 12
GROUP = "ep"  # name in programs
# Maximum number of choices per token, and of tokens on all ranks together (Spec.md).
_MOST_CHOICES, _MOST_TOKENS = 32, 2**31 - 1
# Limit of unchecked counts. A call that would exceed this limit waits for the counts.
MOST_COUNTS = 4096
# Recipe of RoutedMoELayer for FP8 tensor cores, and its format of activations and gradients.
FAST = "mxfp8_fast"
_FAST_ROWS = rows_format("f8E4M3FN", "e8m0")._replace(name=FAST)
_FAST_WEIGHTS = weight_format("f8E4M3FN", "e8m0")._replace(name=FAST)


# --- Arrays of a layer ----------------------------------------------------------------


class MoEWeights(NamedTuple):
    """Weights of a layer, quantized along the reduction dimension of each matmul. The forward pass
    reads `w1` and `w2`, and the backward pass reads their transposes."""
    w1: Any
    w1_scales: Any
    w1_transposed: Any
    w1_transposed_scales: Any
    w2: Any
    w2_scales: Any
    w2_transposed: Any
    w2_transposed_scales: Any

    @property
    @internal
    def of_forward(self):
        """Weights for the forward pass."""
        return *self[:2], *self[4:6]

    @property
    @internal
    def of_backward(self):
        """Weights for the backward pass."""
        return *self[2:4], *self[6:]


class MoESaved(NamedTuple):
    """Values saved by the forward pass for the backward pass."""
    gate_up: Any
    x_transposed: Any
    x_transposed_scales: Any
    h_transposed: Any
    h_transposed_scales: Any


class RoutedSaved(NamedTuple):
    """Values of this rank's rows, which the forward pass saves for the backward pass. P is the
    capacity, and `count` (i32, no dimensions) is the number of rows used.

    If row p belongs to choice j of token t of rank s, rows[p] is s * tokens + t, and slots[p] is
    rows[p] * choices + j. The rows of expert g end at ends[g] and are sorted by slot. `rows` and
    `slots` contain -1 from index `count` on."""
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


# --- Layers ---------------------------------------------------------------------------

_ROLES = "activations", "weights", "gradients"


def find_formats(*names):
    """Returns the Formats of activations, weights and gradients with these names, which are formats with
    blocks of 32 or all FAST."""
    if FAST not in names:
        return tuple(map(check.training_format, _ROLES, names))
    for role, name in zip(_ROLES, names):
        if name != FAST:
            raise ValueError(f"{role}: expected {FAST}, the format of the other operands, found {name}: use "
                             f"{FAST} for {', '.join(_ROLES)}, or for none of them")
    return _FAST_ROWS, _FAST_WEIGHTS, _FAST_ROWS


class _Layer:
    """Base class of the layers. A layer runs a program of examples/, adapted to the layer's sizes
    and formats."""

    def _begin(self, experts, hidden, intermediate, formats):
        self.formats = dict(zip(_ROLES, formats))
        weights, block = self.formats["weights"], self.formats["activations"].block
        for name, size, multiple in (("experts", experts, 1), ("hidden", hidden, block),
                                     ("intermediate", intermediate, block)):
            check.size(name, size, multiple)
        self.experts, self.hidden, self.intermediate = experts, hidden, intermediate
        whole = weights.layout == "linear" or all(
            scale_tiles.are_whole(size, size // block) for size in (hidden, intermediate))
        # Indices of partially written results of quantize_weights.
        self._padded_scales = frozenset(() if whole else (1, 3, 5, 7))

    def _compile(self, text, name, chip, cache, **types):
        """Compiles the program. `types` are element types of the results in _RESULTS."""
        for argument, element in types.items():
            if element not in ("f32", "bf16"):
                raise ValueError(f"{argument}: expected f32 or bf16, found {element!r}")
            text = re.sub(rf"(?m)^({_RESULTS[argument]} = .*)xf32>", rf"\1x{element}>", text)
        with named_reductions("hidden, intermediate",
                              (format.name for format in self.formats.values()),
                              f"{self.hidden} and {self.intermediate}", chip):
            self._program = compile(Template(text, name), chip=chip, cache=cache)

    def _elements(self):
        return [format.elements for format in self.formats.values()]

    def _quantize(self, w1, w2, stream):
        return MoEWeights(*self._program["quantize_weights"].call(
            (w1, w2), None, stream, self._padded_scales))

    def _describe(self, more=""):
        names = ", ".join(f"{name} {format.name}" for name, format in self.formats.items())
        return (f"<mx_compiler.{type(self).__name__} {self.experts} experts of {self.hidden} x "
                f"{self.intermediate}, {more}{names}>")


def _check_kind(name, x, kind, maker):
    if not isinstance(x, kind):
        raise TypeError(f"{name}: expected the mx_compiler.{kind.__name__} of {maker}, found "
                        f"{type(x).__name__}")


class MoELayer(_Layer):
    """SwiGLU experts for tokens sorted by expert:

        y[t] = sum over the rows p of token t:  W2[g] (silu(gate) * up * probs[p])
        gate, up = the halves of  W1[g] x[t],  where g is the expert of row p

    experts       G
    hidden        H, a multiple of 32
    intermediate  I, a multiple of 32
    activations, weights, gradients
                  formats with blocks of 32 (mx.FORMATS); gradients default to
                  activations
    weight_gradients  type of the gradients of w1 and w2: "f32", or "bf16", rounded once
    chip, cache   as for mx.compile

    There may be any number of tokens, T, and of rows, P. These arrays describe the routing. They are
    in device memory, and the host does not read them:

    tokens  i32, [P]: the token of row p. Rows are sorted by expert
    probs   f32, [P]: the weight of row p
    ends    i32, [G]: the rows of expert g end at ends[g]; rows past the last end
            belong to no expert

    `mx.route` computes these arrays on the host from a router's choices. The program is
    examples/moe_layer.mlir, with 9 launches in the forward pass and 12 in the backward pass. The
    rows of a token are added in order, so results are bitwise reproducible."""

    def __init__(self, experts: int, hidden: int, intermediate: int, *, activations: str = "mxfp8",
                 weights: str = "mxfp8", gradients: str | None = None,
                 weight_gradients: str = "f32", chip: str | None = None,
                 cache: bool | str | os.PathLike[str] = True) -> None:
        self._begin(experts, hidden, intermediate, map(
            check.training_format, _ROLES, (activations, weights, gradients or activations)))
        self._compile(template_text(experts, hidden, intermediate, *self._elements()),
                      "moe_layer", chip, cache, weight_gradients=weight_gradients)

    def quantize_weights(self, w1: Any, w2: Any, *, stream: Any = None) -> MoEWeights:
        """Quantizes w1, bf16, [G, 2 I, H] (gate, then up), and w2, bf16, [G, H, I]. Must be called
        again after each change of the weights. Returns MoEWeights."""
        return self._quantize(w1, w2, stream)

    def forward(self, x: Any, weights: MoEWeights, tokens: Any, probs: Any, ends: Any, *,
                stream: Any = None) -> tuple[Any, MoESaved]:
        """Returns y, f32, [T, H], and a MoESaved. x is bf16, [T, H]."""
        _check_kind("weights", weights, MoEWeights, "quantize_weights")
        y, *saved = self._program["forward"].call(
            (x, tokens, probs, ends, *weights.of_forward), None, stream)
        return y, MoESaved(*saved)

    def backward(self, dy: Any, weights: MoEWeights, saved: MoESaved, tokens: Any, probs: Any, ends: Any,
                 *, stream: Any = None) -> tuple[Any, Any, Any, Any]:
        """Returns the gradients of x (f32, [T, H]), w1 ([G, 2 I, H]), w2 ([G, H, I]) and probs
        (f32, [P]). `dy` is the gradient of y (bf16, [T, H]). The gradients of probs are
        undefined for rows that belong to no expert."""
        _check_kind("weights", weights, MoEWeights, "quantize_weights")
        _check_kind("saved", saved, MoESaved, "forward")
        return tuple(self._program["backward"](
            dy, tokens, probs, ends, *saved, *weights.of_backward, stream=stream))

    def __repr__(self):
        return self._describe()


def moe_layer(x: Any, w1: Any, w2: Any, tokens: Any, probs: Any, ends: Any, *, stream: Any = None,
              **formats: str) -> Any:
    """Quantizes the weights and runs the forward pass of a MoELayer. Returns y, f32, [T, H].

    x, w1 and w2 are bf16, and w1 determines the sizes. The other arguments are described in MoELayer."""
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


class RoutedMoELayer(_Layer):
    """SwiGLU experts divided among the ranks of a rank group. They process the tokens of all
    ranks:

        y[t] = sum over j:  weights[t, j] W2[e] (silu(gate) * up),  e = ids[t, j]
        gate, up = the halves of  W1[e] x[t]

    experts       number of experts on all ranks, a multiple of the number of ranks; rank
                  r owns experts / ranks experts, starting with r * experts / ranks
    hidden        H, a multiple of 32, or of 128 with mxfp8_fast
    intermediate  I, likewise
    choices       k, the number of experts per token
    group         a Group, or None for one rank
    tokens        maximum number of tokens per rank and call, equal on all ranks
    slots         maximum number of tokens of a rank for the experts of one rank, including its
                  own, equal on all ranks; default: tokens. With fewer slots, only the tokens
                  that a rank needs are sent to the rank. Excess tokens are dropped, with the
                  errors of `capacity`
    parts         maximum number of parts of the columns of y, equal on all ranks. A part is
                  sent while the next is computed; default: chosen from the sizes
    activations, weights, gradients
                  formats with blocks of 32 (mx.FORMATS); gradients default to
                  activations. Activations and gradients are sent in these formats. Or all
                  "mxfp8_fast": FP8 tensor cores of Hopper multiply MXFP8 elements with a
                  scale for 128 elements, or for 128 x 128 weights
    weight_gradients  as for MoELayer
    results       type of y and of the gradient of x: "f32", or "bf16", rounded once
    capacity      default capacity of a call, which is the number of rows that fit on this
                  rank; default: the largest number of rows that can arrive. The
                  capacity determines the memory, but matmuls process only the rows
                  that arrived. Excess rows are dropped. `check` then raises
                  CapacityError, and the next call raises it if the count is known
    chip, cache   as for mx.compile

    The constructor, `forward` and `backward` are collective. All ranks must create the layer with
    the same sizes. The host does not read the routing. Sums have a fixed order, so results are
    bitwise reproducible. The program is examples/moe_layer_ranks.mlir. A token is sent once to each
    rank that owns some of its experts, and each of these ranks returns a bf16 sum."""

    def __init__(self, experts: int, hidden: int, intermediate: int, choices: int,
                 group: Group | None = None, *, tokens: int, slots: int | None = None,
                 parts: int | None = None, activations: str = "mxfp8", weights: str = "mxfp8",
                 gradients: str | None = None, weight_gradients: str = "f32",
                 results: str = "f32", capacity: int | None = None, chip: str | None = None,
                 cache: bool | str | os.PathLike[str] = True) -> None:
        if group is not None and not isinstance(group, Group):
            raise TypeError(f"group: expected an mx_compiler.Group or None, found {group!r}")
        self._begin(experts, hidden, intermediate,
                    find_formats(activations, weights, gradients or activations))
        ranks = 1 if group is None else group.size
        for name, size in (("choices", choices), ("tokens", tokens),
                           ("slots", tokens if slots is None else slots),
                           ("parts", 1 if parts is None else parts)):
            check.size(name, size, 1)
        if experts % ranks:
            raise ValueError(f"experts: expected a multiple of {ranks}, the number of ranks, "
                             f"found {experts}")
        if choices > min(experts, _MOST_CHOICES):
            raise ValueError(f"choices: expected at most {min(experts, _MOST_CHOICES)} for "
                             f"{experts} experts, found {choices}")
        if ranks * tokens > _MOST_TOKENS:
            raise ValueError(f"tokens: expected at most {_MOST_TOKENS} on {ranks} ranks "
                             f"together, found {tokens} on each")
        self.choices, self.tokens, self.group = choices, tokens, group
        self.slots = read_slots(slots, tokens, ranks)
        self.ranks, self.rank = ranks, 0 if group is None else group.rank
        self.most = most_rows(ranks, self.slots or tokens, choices)
        self.capacity = self._read_capacity(self.most if capacity is None else capacity)
        self._counts = RowCounts(self.rank, group)
        self._needed = RowCounts(self.rank, group, is_of_slots=True)
        self._padded = frozenset(_FORWARD_RESULTS + i for i in self._padded_scales)
        is_fast = activations == FAST
        text = ranks_template_text(ranks, tokens, experts, hidden, intermediate, choices,
                                   *self._elements(), slots=self.slots, parts=parts,
                                   is_fast=is_fast)
        with on_device_of(group):
            if is_fast:
                check_chip("activations", chip)
            self._compile(text, "moe_layer_ranks", chip, cache, results=results,
                          weight_gradients=weight_gradients)
            if ranks > 1:
                self._program.bind(GROUP, group)

    @property
    def own_experts(self) -> int:
        """Number of experts of this rank."""
        return self.experts // self.ranks

    def quantize_weights(self, w1: Any, w2: Any, *, stream: Any = None) -> MoEWeights:
        """Quantizes the weights of this rank's E = experts / ranks experts: w1, bf16, [E, 2 I, H]
        (gate, then up), and w2, bf16, [E, H, I]. Returns MoEWeights. Not collective."""
        return self._quantize(w1, w2, stream)

    def forward(self, x: Any, ids: Any, weights: Any, quantized: MoEWeights, *,
                capacity: int | None = None, stream: Any = None) -> tuple[Any, RoutedSaved]:
        """Returns y, [T, H], and a RoutedSaved. x is bf16, [T, H], and T may be 0. ids, i32,
        [T, k], are the experts of each token; ids outside [0, experts) are ignored. weights are
        f32, [T, k], and `quantized` is the result of quantize_weights. If an earlier call exceeded
        its capacity, ends the rank group and raises CapacityError."""
        _check_kind("weights", quantized, MoEWeights, "quantize_weights")
        return self._forward("forward", x, ids, weights, capacity, quantized.of_forward, stream)[:2]

    def quantize_and_forward(self, x: Any, ids: Any, weights: Any, w1: Any, w2: Any, *,
                             capacity: int | None = None, stream: Any = None
                             ) -> tuple[Any, RoutedSaved, MoEWeights]:
        """Returns the results of `forward` and of `quantize_weights`. The weights are quantized
        while the tokens are sent."""
        y, saved, quantized = self._forward(
            "quantize_and_forward", x, ids, weights, capacity, (w1, w2), stream)
        return y, saved, MoEWeights(*quantized)

    def _forward(self, entry, x, ids, weights, capacity, experts, stream):
        capacity = self.capacity if capacity is None else self._read_capacity(capacity)
        self._check_choices(x, ids=ids, weights=weights)
        self._counts.look()
        self._needed.look()
        y, *found = self._program[entry].call(
            (x, ids, weights, capacity, *experts), None, stream, self._padded)
        saved = found[:_FORWARD_RESULTS - 2]
        if capacity < self.most:  # otherwise all rows fit
            self._counts.add(saved[3], capacity)
        if self.slots:
            self._needed.add(found[_FORWARD_RESULTS - 2], self.slots)
        return y, RoutedSaved(*saved), found[_FORWARD_RESULTS - 1:]

    def backward(self, dy: Any, ids: Any, quantized: MoEWeights, saved: RoutedSaved, *,
                 stream: Any = None) -> tuple[Any, Any, Any, Any]:
        """Returns the gradients of x ([T, H]), of this rank's w1 ([E, 2 I, H]) and w2 ([E, H, I]),
        and of the weights (f32, [T, k]). `dy` is the gradient of y (bf16, [T, H]). The gradients
        of w1 and w2 are sums over the tokens of all ranks."""
        _check_kind("weights", quantized, MoEWeights, "quantize_weights")
        _check_kind("saved", saved, RoutedSaved, "forward")
        self._check_choices(dy, ids=ids)
        return tuple(self._program["backward"](
            dy, ids, *saved[:3], *saved[4:], *quantized.of_backward, stream=stream))

    def check(self) -> None:
        """Waits for all calls. Raises CapacityError if a call exceeded its capacity. Not
        collective; other ranks are not notified."""
        self._counts.check()
        self._needed.check()

    def close(self) -> None:
        """Unloads the program, which shares ownership of the rank group."""
        self._program.close()

    def _check_choices(self, tokens, **arrays):
        """Checks that each of `arrays` contains `choices` values for each token. Objects without a
        shape are not checked here, because the call refuses them."""
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
        return self._describe(f"{self.ranks} ranks, ")


def read_slots(slots, tokens, ranks):
    """Returns the slots of a rank group with `tokens` tokens per rank, or None if each token has a slot
    on each rank, as on a single rank."""
    return None if slots is None or slots >= tokens or ranks == 1 else int(slots)


def most_rows(ranks, tokens, choices):
    """Returns the largest number of rows on one rank. All choices of all tokens may arrive at one
    rank, because a token may choose an expert twice."""
    return ranks * tokens * choices


def on_device_of(group):
    """Returns a context in which programs run on the rank group's device."""
    if group is not None and (group.device == HOST) != is_host():
        raise ValueError("group: expected a rank group on the current device, found a rank "
                         f"group on {group.device}")
    return contextlib.nullcontext() if group is None or is_host() else on_device(group.device)


# --- Programs: examples in other sizes and formats -------------------------------------

# Folders of the examples, in an installed package and in the source tree.
_PACKAGE = pathlib.Path(__file__).resolve().parent.parent
_FOLDERS = _PACKAGE / "templates", _PACKAGE.parent.parent / "examples"
_ELEMENT = "f8E4M3FN"  # element type of all formats in the examples
# Patterns of the type aliases of results with a choice of types.
_RESULTS = {"weight_gradients": r"!dw\d", "results": "!sums"}
# Patterns of the type aliases of weights and gradients. All other aliases are activations.
_ALIASES = {"weights": r"!w\d", "gradients": r"!([zg]|[tw]d)"}
# Patterns that find each size in an example; {} stands for the number. Several patterns may match a
# number, and the first of them applies.
_PLACES = {
    "hidden_blocks": "(?<=x){}(?=xf8E8M0FNU)",
    "intermediate_blocks": "(?<=x){}(?=xf8E8M0FNU)",
    "gate_up_blocks": "(?<=x){}(?=xf8E8M0FNU)",
    "window_pairs": "(?<=tensor<){}(?=xf32>)",
    "window": "(?<=tensor<){}(?=x)",
    "experts": "(?<=tensor<){}(?=x)|(?<=groups = ){}|(?<=G = ){}|(?<=%own = arith.constant ){}",
    "all_experts": "(?<=experts = ){}|{}(?= of them)",
    "ranks": "(?<=size = ){}|(?<=--ranks=){}|(?<=each of ){}",
    "tokens": "(?<=tokens = ){}|(?<=// ){}|(?<=s \\* ){}",
    "choices": "(?<=x){}(?=x[if]32>)|(?<=chooses ){}",
    "slack": "(?<=%slack = arith.constant ){}",
    "expected": "(?<=expected_rows = ){}|(?<=schedules for ){}",
    "hidden": "{}", "intermediate": "{}", "gate_up": "{}",
}


def _sizes_of(experts, hidden, intermediate, ranks=0, tokens=0, choices=0, slots=None, block=32):
    """Returns the sizes of a program, keyed by name. Without `ranks`, the sizes that only programs for
    several ranks contain are 0."""
    own, window = experts // max(ranks, 1), ranks * (slots or tokens)
    return dict(experts=own, hidden=hidden, intermediate=intermediate,
                gate_up=2 * intermediate, hidden_blocks=hidden // block,
                intermediate_blocks=intermediate // block,
                gate_up_blocks=2 * intermediate // block, slack=127 * own + 127, ranks=ranks,
                tokens=tokens, all_experts=experts * bool(ranks), choices=choices, window=window,
                window_pairs=window * choices, expected=tokens * choices)


def _resize(name, example, sizes, formats):
    """Returns the text of an example. The sizes `example` are replaced by `sizes`, and the element
    types by `formats`, which maps a role to an element type."""
    folder = next((folder for folder in _FOLDERS if (folder / name).exists()), _FOLDERS[0])
    text = read_bytes(folder / name).decode()
    pattern = "|".join(
        f"(?P<{size}>" + rf"(?<!\d)({_PLACES[size]})(?!\d)".replace("{}", str(example[size])) + ")"
        for size in _PLACES if example[size])
    text = re.sub(pattern, lambda found: str(sizes[found.lastgroup]), text)

    def with_element(line):
        kinds = [kind for kind, alias in _ALIASES.items() if re.match(alias, line[1])]
        return line[1] + formats[kinds[0] if kinds else "activations"]

    return re.sub(rf"^(!\w+ = .*){_ELEMENT}", with_element, text, flags=re.MULTILINE)


def template_text(experts, hidden, intermediate, activations="f8E4M3FN",
                  weights="f8E4M3FN", gradients="f8E4M3FN"):
    """Returns the MLIR program of a MoELayer with these sizes and element types."""
    return _resize("moe_layer.mlir", _sizes_of(8, 384, 256),
                   _sizes_of(experts, hidden, intermediate),
                   dict(activations=activations, weights=weights, gradients=gradients))


def ranks_template_text(ranks, tokens, experts, hidden, intermediate, choices,
                        activations="f8E4M3FN", weights="f8E4M3FN", gradients="f8E4M3FN",
                        slots=None, parts=None, is_fast=False):
    """Returns the MLIR program of a RoutedMoELayer with these sizes and element types, and with the blocks
    of FAST if `is_fast`."""
    text = _resize("moe_layer_ranks.mlir", _sizes_of(8, 384, 256, 2, 64, 2),
                   _sizes_of(experts, hidden, intermediate, ranks, tokens, choices, slots,
                             BLOCK if is_fast else 32),
                   dict(activations=activations, weights=weights, gradients=gradients))
    text = with_blocks_of_128(text) if is_fast else text
    group = f"mx.group @{GROUP} size = {ranks} tokens = {tokens}"
    if parts is not None:
        text = text.replace(" wire = bf16 ids", f" wire = bf16 parts = {parts} ids")
    return text.replace(group, group + f" slots = {slots}" * bool(slots), 1)


# --- Rows of experts ------------------------------------------------------------------


class GroupedRows(NamedTuple):
    """Result of `group_rows`: i32 arrays that describe the sorted (token, expert) pairs."""
    rows: Any
    slots: Any
    ends: Any
    count: Any


def group_rows(ids: Any, experts: int, *, capacity: int | None = None,
               stream: Any = None) -> GroupedRows:
    """Sorts (token, expert) pairs by expert on the device.

    ids       i32 or i64, [T, k]: the experts of each token; ids outside
              [0, experts) are ignored
    experts   G
    capacity  length of rows and slots; default T * k
    stream    as for an entry

    Returns GroupedRows. rows[p] is the token of row p, and slots[p] is t * k + j for choice j of
    token t. The rows of expert g end at ends[g] and are sorted by slot. count (no dimensions) is the
    number of pairs with an expert. rows and slots contain -1 from index count on. If count exceeds
    the capacity, rows and slots contain only the first pairs, and ends are at most the capacity. Never
    waits for the device.
    Pass rows and ends to `quantize` as gather and offsets, or to MoELayer as tokens and ends."""
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
        entry = find_entry(_group_rows_text, element.mlir, shape[1], int(experts))
    return GroupedRows(*entry.call((ids, int(capacity)), None, stream))


def _group_rows_text(integer, choices, experts):
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


def route(chosen: Any, weights: Any, experts: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sorts the choices of a router by expert on the host.

    chosen   integers, [T, k]: the experts of each token; -1 for none
    weights  numbers, [T, k]: the router's weight of each choice
    experts  G

    Returns tokens (i32, [P]), probs (f32, [P]) and ends (i32, [G]) as NumPy arrays, with P = T * k.
    Rows without an expert are last. Raises TypeError or ValueError."""
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


class RowCounts:
    """Checks the row counts of a layer's calls on rank `rank` of `group` (None: a single rank). Each
    call checks the earlier counts that can be read without waiting. If a count exceeds its capacity,
    the call ends the group, because other ranks would wait. `check` checks the remaining counts."""

    def __init__(self, rank, group, is_of_slots=False):
        self._rank, self._group, self._is_of_slots = rank, group, is_of_slots
        self._waiting = []  # (count on the host once `is_there`, capacity, is_there)
        self._worst = {}  # largest count for each device and capacity, also updated by CUDA graphs

    def add(self, count, capacity):
        """Adds a count, an i32 array without dimensions of any library. Raises CapacityError if the
        count is in host memory and exceeds the capacity."""
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(count, torch.Tensor) and count.is_cuda:
            self._add_on_gpu(torch, count, capacity)
        elif find_library(type(count)).operand(count).device == HOST:
            self._compare(int(np.asarray(count)), capacity, self._group)
        else:
            if len(self._waiting) >= MOST_COUNTS:
                self.check()
            self._waiting.append((count.numpy if hasattr(count, "numpy") else count.get,
                                  capacity, None))

    def _add_on_gpu(self, torch, count, capacity):
        key = count.device, capacity
        is_captured = torch.cuda.is_current_stream_capturing()
        if key not in self._worst:
            if is_captured:
                raise RuntimeError("expected a call with this capacity before the capture of a "
                                   "CUDA graph, found none: call the layer once before the capture")
            self._worst[key] = torch.zeros_like(count)
        torch.maximum(self._worst[key], count, out=self._worst[key])
        if not is_captured:
            host = torch.empty((), dtype=count.dtype, pin_memory=True)
            host.copy_(count, non_blocking=True)
            event = torch.cuda.Event()
            event.record()
            self._waiting.append((host.item, capacity, event.query))

    def look(self):
        """Checks all counts that are available without waiting."""
        while self._waiting and self._waiting[0][2] and self._waiting[0][2]():
            read, capacity, _ = self._waiting.pop(0)
            self._compare(int(read()), capacity, self._group)

    def check(self):
        """Waits for all counts and checks them. Counts are cleared even after an error."""
        waiting, self._waiting = self._waiting, []
        worst = [(int(count), key[1]) for key, count in self._worst.items()]
        for count in self._worst.values():
            count.zero_()
        for count, capacity in worst + [(int(read()), capacity) for read, capacity, is_there
                                        in waiting if is_there is None]:
            self._compare(count, capacity)

    def _compare(self, count, capacity, group=None):
        if count > capacity:
            error = CapacityError(self._rank, count, capacity, self._is_of_slots)
            if group is not None:
                group.abort(str(error))
            raise error


class RoutedRows:
    """Exchanges rows of `hidden` values between the ranks of `group` (None: a single rank).
    `experts` is the number of experts on all ranks, `choices` the number of experts per token, and
    `tokens` the maximum number of tokens per rank, and `slots` as for RoutedMoELayer. The constructor,
    `dispatch` and `collect` functions are collective.

    P is the capacity. slots[p] is (s * tokens + t) * choices + j if row p belongs to choice j of
    token t of rank s, or of the t-th token that rank s sent to this rank, with `slots` instead of
    tokens; it is -1 if row p is unused. Rows are sorted by expert. The rows of this rank's
    expert g end at ends[g]."""

    def __init__(self, experts, hidden, choices, group, *, tokens, slots=None):
        ranks, rank = (1, 0) if group is None else (group.size, group.rank)
        self.group, self.slots = group, read_slots(slots, tokens, ranks)
        self.most = most_rows(ranks, self.slots or tokens, choices)
        self._counts = RowCounts(rank, group)
        self._needed = RowCounts(rank, group, is_of_slots=True)
        with on_device_of(group):
            self._program = compile(
                _exchange_text(ranks, tokens, experts, hidden, choices, self.slots))
            if ranks > 1:
                self._program.bind(GROUP, group)

    def dispatch(self, x, ids, weights, capacity):
        """Sends x (bf16, [T, H]) and weights (f32, [T, k]) to the ranks of the experts ids (i32, [T,
        k]). Returns this rank's rows (bf16, [P, H]), their weights (f32, [P]), slots (i32, [P]),
        ends (i32), and the number of rows (i32, no dimensions). Unused rows are zeros."""
        self._counts.look()
        self._needed.look()
        *found, needed = self._program["dispatch"].call((x, ids, weights, capacity), None, None)
        if capacity < self.most:  # otherwise every row fits
            self._counts.add(found[4], capacity)
        if self.slots:
            self._needed.add(needed, self.slots)
        return found

    def dispatch_again(self, x, ids, slots):
        """Sends x again, and returns its rows in the slot order of an earlier dispatch."""
        return self._program["dispatch_again"](x, ids, slots)[0]

    def collect(self, z, slots, ids):
        """Returns y (bf16, [T, H]), the sum of each token's rows in z (bf16, [P, H]). Each rank
        rounds its part of a sum to bf16."""
        return self._program["collect"](z, slots, ids)[0]

    def collect_with_weights(self, z, probs, slots, ids):
        """Returns y like `collect`. Also returns an array (f32, [T, k]) that contains the value in
        probs (f32, [P]) for the row of each choice."""
        return self._program["collect_with_weights"](z, probs, slots, ids)

    def check(self):
        self._counts.check()
        self._needed.check()

    def close(self):
        self._program.close()


def _exchange_text(ranks, tokens, experts, hidden, choices, slots):
    window, own = ranks * (slots or tokens), experts // ranks
    collect = f"""
  %c0 = arith.constant 0 : index
  %t = tensor.dim %ids, %c0 : !ids
  %y0 = tensor.empty(%t) : !x
  %y = mx.collect @ep experts = {experts} wire = bf16 ids(%ids : !ids)
      ins(%z : !x) slots(%slots : !list) outs(%y0 : !x) -> !x"""
    return f"""
mx.group @ep size = {ranks} tokens = {tokens}{f" slots = {slots}" * bool(slots)}
!x = tensor<?x{hidden}xbf16>
!ids = tensor<?x{choices}xi32>
!pairs = tensor<?x{choices}xf32>
!list = tensor<?xi32>
!probs = tensor<?xf32>
!ends = tensor<{own}xi32>
!count = tensor<i32>
!wi = tensor<{window}x{choices}xi32>
!wx = tensor<{window}x{hidden}xbf16>
!wp = tensor<{window}x{choices}xf32>
#row = affine_map<(p, i) -> (p)>
#id = affine_map<(p, i) -> (p, i)>
#list = affine_map<(p) -> (p)>

func.func private @gather(%w: !wx, %slots: !list) -> !x {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %none = arith.constant 0.0 : bf16
  %k = arith.constant {choices} : i32
  %p = tensor.dim %slots, %c0 : !list
  %e = tensor.empty(%p) : !x
  %r = linalg.generic {{indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}}
      ins(%slots : !list) outs(%e : !x) {{
  ^bb0(%slot: i32, %out: bf16):
    %i = linalg.index 1 : index
    %is = arith.cmpi sge, %slot, %zero : i32
    %safe = arith.select %is, %slot, %zero : i32
    %row = arith.divsi %safe, %k : i32
    %at = arith.index_cast %row : i32 to index
    %v = tensor.extract %w[%at, %i] : !wx
    %z = arith.select %is, %v, %none : bf16
    linalg.yield %z : bf16
  }} -> !x
  return %r : !x
}}

func.func @dispatch(%x: !x, %ids: !ids, %weights: !pairs, %capacity: index)
    -> (!x, !probs, !list, !ends, !count, !count) {{
  %c0 = arith.constant 0 : index
  %own = arith.constant {own} : index
  %zero = arith.constant 0 : i32
  %none = arith.constant 0.0 : f32
  %p = arith.addi %capacity, %c0 : index
  %wi0 = mx.window @ep : !wi
  %wx0 = mx.window @ep : !wx
  %wp0 = mx.window @ep : !wp
  %m0 = tensor.empty() : !count
  %w:4 = mx.dispatch @ep experts = {experts} ids(%ids : !ids) ins(%x, %weights : !x, !pairs)
      outs(%wi0, %wx0, %wp0, %m0 : !wi, !wx, !wp, !count) -> !wi, !wx, !wp, !count
  %rank = mx.rank @ep
  %first = arith.muli %rank, %own : index
  %r0 = tensor.empty(%p) : !list
  %s0 = tensor.empty(%p) : !list
  %e0 = tensor.empty() : !ends
  %n0 = tensor.empty() : !count
  %g:4 = mx.group_rows ins(%w#0 : !wi) first(%first)
      outs(%r0, %s0, %e0, %n0 : !list, !list, !ends, !count) -> !list, !list, !ends, !count
  %list = tensor.collapse_shape %w#2 [[0, 1]] : !wp into tensor<{window * choices}xf32>
  %p0 = tensor.empty(%p) : !probs
  %probs = linalg.generic {{indexing_maps = [#list, #list], iterator_types = ["parallel"]}}
      ins(%g#1 : !list) outs(%p0 : !probs) {{
  ^bb0(%slot: i32, %out: f32):
    %is = arith.cmpi sge, %slot, %zero : i32
    %safe = arith.select %is, %slot, %zero : i32
    %at = arith.index_cast %safe : i32 to index
    %v = tensor.extract %list[%at] : tensor<{window * choices}xf32>
    %prob = arith.select %is, %v, %none : f32
    linalg.yield %prob : f32
  }} -> !probs
  %rows = func.call @gather(%w#1, %g#1) : (!wx, !list) -> !x
  return %rows, %probs, %g#1, %g#2, %g#3, %w#3 : !x, !probs, !list, !ends, !count, !count
}}

func.func @dispatch_again(%x: !x, %ids: !ids, %slots: !list) -> !x {{
  %wi0 = mx.window @ep : !wi
  %wx0 = mx.window @ep : !wx
  %w:2 = mx.dispatch @ep experts = {experts} ids(%ids : !ids)
      ins(%x : !x) outs(%wi0, %wx0 : !wi, !wx) -> !wi, !wx
  %rows = func.call @gather(%w#1, %slots) : (!wx, !list) -> !x
  return %rows : !x
}}

func.func @collect(%z: !x, %slots: !list, %ids: !ids) -> !x {{{collect}
  return %y : !x
}}

func.func @collect_with_weights(%z: !x, %probs: !probs, %slots: !list, %ids: !ids)
    -> (!x, !pairs) {{{collect}
  %w0 = tensor.empty(%t) : !pairs
  %w = mx.collect_pairs @ep experts = {experts} ids(%ids : !ids)
      ins(%probs : !probs) slots(%slots : !list) outs(%w0 : !pairs) -> !pairs
  return %y, %w : !x, !pairs
}}
"""
