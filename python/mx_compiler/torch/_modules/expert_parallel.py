# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expert parallelism over torch.distributed: rank groups, SwiGLU experts divided among
ranks, as an operator and as a module, and exchanges of rows."""

import collections
import datetime
import functools
import itertools
import weakref
from typing import Any, Callable, NamedTuple, ParamSpec, Tuple, TypeVar

import mx_compiler
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import _get_process_group_store
from torch.distributed.tensor import DTensor, Shard
from torch.types import Device

from ..._arrays.interop import place_of
from ..._ops import checks as check
from ..._ops.experts import (FAST, RoutedMoELayer, RoutedRows, RoutedSaved, find_formats, most_rows,
                             read_slots)
from ..._programs import rank_group
from ..._runtime.device import device_name, on_device
from ..._runtime.errors import Error
from ..._runtime.internal import internal
from .._ops import tensors
from .._ops.checks import check_one_device, check_tensors, refuse_second_order
from .._ops.experts import (INTEGERS, as_bytes, check_weights, differentiate, empty_gradients,
                             empty_quantized, from_bytes, gradient_type)
from .._ops.flops import counts
from .experts import MXGroupedExperts
from .parameters import check_last, result_dtype, to_bf16
from .recipes import RECIPES, Recipe, training_recipe


# --- Rank groups ----------------------------------------------------------------------

# Maps keys to open rank groups. Operators receive the key of a group as an argument.
_known = weakref.WeakValueDictionary()
_counts = collections.Counter()  # number of rank groups created, keyed by process group
_alone = itertools.count()


class Group:
    """Rank group of the ranks in a process group, among which experts are divided. All ranks create
    the group together and with the same `tokens`, `slots` and `parts`. Creation uses the store of the
    process group, but not its backend.

    process_group  a ProcessGroup, a one-dimensional DeviceMesh (`mesh["ep"]`), or None
                   for the default group, which is one rank without torch.distributed
    tokens         maximum number of tokens per rank in a call
    slots          maximum number of tokens of a rank in a call for the experts of one rank,
                   including its own; default: tokens. With fewer slots, only the tokens that
                   a rank needs are sent to the rank
    parts          maximum number of parts in which layers compute and return their results. A
                   part is sent while the next is computed; default: chosen from the sizes
    timeout        longest wait for other ranks, in seconds, before the rank group ends
    transport      "nccl" or "peer" on GPUs, "host" on other devices, or None for the
                   transport of the device
    name           name of the group in messages

    The device is the current CUDA device if the backend of the process group is NCCL. Otherwise it
    is the device of mx_compiler (MX_DEVICE). A process may have several rank groups. After a failure,
    all ranks can create a new rank group. Raises TypeError or ValueError for a wrong argument, and
    mx_compiler.Error if a rank is missing."""

    def __init__(self, process_group: Any = None, *, tokens: int, slots: int | None = None,
                 parts: int | None = None, timeout: float = 100.0,
                 transport: str | None = None, name: str = "ep") -> None:
        found = _find_process_group(process_group)
        if found is not None:
            _counts[found.group_name] += 1  # on ranks that refuse an argument too
        for argument, size in (("tokens", tokens), ("slots", tokens if slots is None else slots),
                               ("parts", 1 if parts is None else parts)):
            check.size(argument, size, 1)
        self._parts = parts
        if found is None:
            rank_group.check_options(name, timeout, transport or "auto")
            self._begin(f"alone/{next(_alone)}", None, 0, 1, device_name(), tokens)
            return
        key = f"{found.group_name}/{_counts[found.group_name]}"
        rank, size = dist.get_rank(found), dist.get_world_size(found)
        place = _place_of(found)
        store = dist.PrefixStore(f"mx_compiler/{key}", _get_process_group_store(found))
        with on_device(place):
            made = rank_group.Group(
                rank, size, _exchange_over(store, rank, size, timeout, name), name=name,
                timeout=timeout, transport=transport or "auto")
        self._begin(key, made, rank, size, place, tokens, slots,
                    dist.get_process_group_ranks(found))

    @classmethod
    def alone(cls, *, tokens: int) -> "Group":
        """Creates a rank group of only this rank. The group uses the current CUDA device
        if there is a GPU, else the device of mx_compiler. This rank owns all experts, and nothing is
        sent."""
        check.size("tokens", tokens, 1)
        group = cls.__new__(cls)
        group._parts = None
        place = _cuda_place() if torch.cuda.is_available() else device_name()
        group._begin(f"alone/{next(_alone)}", None, 0, 1, place, tokens)
        return group

    def _begin(self, key, made, rank, size, place, tokens, slots=None, ranks=()):
        self.slots = read_slots(slots, tokens, size)
        # Shapes depend on the sizes, and types on the version, so a graph that Inductor cached must
        # not fit others.
        self.key = f"{key}/{size}x{self.slots or tokens}/{mx_compiler.__version__}"
        self.rank, self.size, self.tokens = rank, size, int(tokens)
        self.device, self.ranks = place, tuple(ranks)  # rank numbers of torch.distributed
        self._group, self._layers, self._is_closed = made, {}, False
        _known[self.key] = self

    def describe(self) -> str:
        """Describes the rank group in one line."""
        made = self._group
        how = "alone" if made is None else (
            f"transport {made.transport}, {made.window_bytes} bytes of windows, time-out "
            f"{made.timeout:g} s")
        return (f"rank {self.rank} of {self.size} on {self.device}, at most {self.tokens} "
                f"tokens per rank, {f'{self.slots} slots, ' * bool(self.slots)}{how}")

    def status(self) -> rank_group.GroupFailure | None:
        """Returns None while the rank group works, and an mx_compiler.GroupFailure afterwards. Never
        waits."""
        return None if self._group is None else self._group.status()

    def check(self) -> None:
        """Waits for the layers of this rank. Raises mx_compiler.Error if the rank group failed,
        and mx_compiler.CapacityError if a layer received more rows than its capacity, or needed
        more slots. Not collective."""
        failure = self.status()
        if failure:
            raise Error(failure.text, failure.status, failure.name)
        for layer in self._layers.values():
            layer.check()

    def abort(self, why: str) -> None:
        """Ends the rank group on all ranks. Later calls raise an mx_compiler.Error with the text
        `why`."""
        if self._group is not None:
            self._group.abort(why)

    def close(self) -> None:
        """Releases this rank's handle when the rank's work on streams is complete. Not
        collective."""
        if self._is_closed:
            return
        self._is_closed = True
        _known.pop(self.key, None)
        for layer in self._layers.values():
            layer.close()
        self._layers.clear()
        if self._group is not None:
            self._group.close()

    @internal
    def find_layer(self, experts, hidden, intermediate, choices, formats, weight_gradients="f32"):
        """Returns the RoutedMoELayer for these sizes and formats. The first call with these sizes and
        formats is collective."""
        sizes = experts, hidden, intermediate, choices
        return self.find_program((*sizes, formats, weight_gradients), lambda made: RoutedMoELayer(
            *sizes, made, tokens=self.tokens, slots=self.slots, parts=self._parts,
            activations=formats[0], weights=formats[1], gradients=formats[2],
            weight_gradients=weight_gradients, results="bf16"))

    @internal
    def find_program(self, key, make):
        """Returns the program for `key`, which the first call creates with `make(group)`. `group` is
        None for a single rank."""
        found = self._layers.get(key)
        if found is None:
            with on_device(self.device):
                found = self._layers[key] = make(self._group)
        return found

    @internal
    def refuse(self, error):
        """Ends the rank group and raises `error`, an error of this rank."""
        self.abort(str(error))
        raise error

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self):
        return f"<mx_compiler.torch.ep.Group {self.key}: {self.describe()}>"


def _find_rank_group(key):
    """Returns the open rank group with this key. Raises ValueError if there is none."""
    found = _known.get(key)
    if found is None:
        raise ValueError("group: expected the key of an mx_compiler.torch.ep.Group that is "
                         f"open, found {key!r}")
    return found


def _find_process_group(given):
    """Returns the process group, or None if torch.distributed is not used."""
    if given is None:
        return dist.group.WORLD if dist.is_available() and dist.is_initialized() else None
    if isinstance(given, dist.DeviceMesh):
        if given.ndim != 1:
            raise ValueError("process_group: expected a DeviceMesh of one dimension, found "
                             f"{given.mesh_dim_names or given.ndim}: pass mesh[NAME]")
        return given.get_group()
    if not isinstance(given, dist.ProcessGroup):
        raise TypeError("process_group: expected a ProcessGroup, a DeviceMesh or None, found "
                        f"{type(given).__name__}")
    return given


def _place_of(process_group):
    """Returns the device of a process group. A process group may have several backends, one for each
    kind of device."""
    if torch.cuda.is_available():
        try:
            backend = process_group._get_backend(torch.device("cuda")).name()
        except RuntimeError:  # the process group has no backend for GPUs
            backend = ""
        if backend.lower() == "nccl":
            return _cuda_place()
    return device_name()


def _cuda_place():
    return f"cuda:{torch.cuda.current_device()}"


def _exchange_over(store, rank, size, timeout, name):
    """Returns a host all-gather over a store. No other rank group may use this store."""
    def exchange(mine):
        store.set(str(rank), mine)
        parts = []
        for other in range(size):
            try:
                store.wait([str(other)], datetime.timedelta(seconds=timeout))
            except RuntimeError as error:
                raise RuntimeError(
                    f"group {name}: rank {other} did not join the group (waited "
                    f"{timeout:g} s)") from error
            parts.append(store.get(str(other)))
        return parts
    return exchange


# --- Experts --------------------------------------------------------------------------

_P, _R = ParamSpec("_P"), TypeVar("_R")


def _ends_group(call: Callable[_P, _R]) -> Callable[_P, _R]:
    """Lets a collective call that refuses an argument end the rank group, because the other ranks
    wait. `call` takes the rank group, its key, or a module with the rank group."""
    @functools.wraps(call)
    def run(*args, **options):
        try:
            return call(*args, **options)
        except (TypeError, ValueError) as error:
            for given in (*args, *options.values()):
                group = _known.get(given) if isinstance(given, str) else given
                group = getattr(group, "group", group)
                if isinstance(group, Group) and not group._is_closed:
                    group.refuse(error)
            raise
    return run


@_ends_group
def routed_experts(x: Tensor, ids: Tensor, weights: Tensor, w1: Tensor, w2: Tensor, group: Group, *,
                   capacity: int | None = None, activations: str = "mxfp8",
                   weights_format: str = "mxfp8", gradients: str = "mxfp8") -> Tensor:
    """Computes SwiGLU experts, which are divided among the ranks of a rank group, for the tokens of
    all ranks:

        y[t] = sum over j of  weights[t, j] w2[e] (silu(gate) * up),  e = ids[t, j]
        gate, up = the halves of  w1[e] x[t]

    x        bf16, [T, H]; T is at most group.tokens, may differ between ranks, and may be
             0
    ids      integers, [T, k]: the experts of each token, on any ranks; ids outside
             [0, experts) are ignored
    weights  floating point, [T, k]
    w1, w2   bf16 or f32, weights of this rank's experts: [E, 2 I, H] (gate, then up) and
             [E, H, I]; H and I are multiples of 32, or of 128 with mxfp8_fast. Rank r has
             experts r E to r E + E - 1
    group    an mx_compiler.torch.ep.Group
    capacity  number of rows that fit on this rank; None: the largest number that can
             arrive. If more rows arrive, this call, a later call or group.check() raises
             mx_compiler.CapacityError
    activations, weights_format, gradients  formats with blocks of 32, or all "mxfp8_fast", as
             for mx_compiler.RoutedMoELayer

    Returns y in bf16, [T, H]. The call and its backward pass are collective. Sums have a fixed
    order, so results are bitwise reproducible. Differentiable in x, weights, w1 and w2; gradients of
    w1 and w2 are sums over the tokens of all ranks. Raises TypeError or ValueError. Errors name
    the argument."""
    check_tensors(x=x, ids=ids, weights=weights, w1=w1, w2=w2)
    _check_rank_group(group)
    _check_options(ids, weights, capacity)
    return torch.ops.mx.routed_experts(
        x, _narrow_ids(ids, w1.shape[0] * group.size), weights.to(torch.float32), w1, w2,
        group.key, capacity or 0, activations, weights_format, gradients)[0]


def _check_rank_group(group, experts=None, name="experts"):
    """Raises TypeError or ValueError unless `group` is a Group that divides the experts."""
    if not isinstance(group, Group):
        raise TypeError("group: expected an mx_compiler.torch.ep.Group, found "
                        f"{type(group).__name__}")
    if group._is_closed:
        raise ValueError("group: expected an open rank group, found a closed one: create another")
    if experts is None:
        return
    check.size(name, experts, 1)
    if experts % group.size:
        raise ValueError(f"{name}: expected a multiple of {group.size}, the number of ranks, "
                         f"found {experts}")


def _check_ids(ids):
    if ids.dtype not in INTEGERS:
        raise TypeError(f"ids: expected integers, found {ids.dtype}")


def _check_options(ids, weights, capacity):
    _check_ids(ids)
    if not weights.is_floating_point():
        raise TypeError(f"weights: expected floating point, found {weights.dtype}")
    if capacity is not None:
        check.size("capacity", capacity, 1)


def _narrow_ids(ids, experts):
    """Converts ids to i32. Ids outside [0, experts) stay outside this range."""
    if ids.dtype == torch.int32:
        return ids
    ids = ids.long()
    return torch.where((ids >= 0) & (ids < experts), ids, -1).to(torch.int32)


def _check_choice(x, ids, weights):
    hidden = check.matrix("x", x, ("bf16",))[1]
    if len(hidden) != 2:
        raise ValueError(f"x: expected [tokens, hidden], found shape {hidden}")
    if ids.dim() != 2 or ids.dtype != torch.int32 or ids.shape[0] != x.shape[0] or (
            not ids.shape[1]):
        raise ValueError(f"ids: expected integers of shape ({x.shape[0]}, k), found "
                         f"{ids.dtype} of shape {tuple(ids.shape)}")
    if weights.dtype != torch.float32 or weights.shape != ids.shape:
        raise ValueError(f"weights: expected shape {tuple(ids.shape)}, like ids, found "
                         f"{tuple(weights.shape)} of {weights.dtype}")
    return hidden[1]


def _check_tokens(group, x):
    """Raises ValueError if the number of tokens, the first dimension of `x`, exceeds the limit of the
    rank group, or if `x` is not on the group's device."""
    if x.shape[0] > group.tokens:
        raise ValueError(f"x: expected at most {group.tokens} tokens, the limit of the rank group, "
                         f"found {x.shape[0]} on rank {group.rank}")
    if (place := place_of([x])) != group.device:
        raise ValueError(f"x: expected a tensor for {group.device}, the device of the rank group, "
                         f"found a tensor for {place} on rank {group.rank}")


def _check(x, ids, weights, w1, w2):
    check_weights(_check_choice(x, ids, weights), w1, w2)


_check_once = tensors.once(_check)


@tensors.operator("routed_experts")
@_ends_group
def _routed(x: Tensor, ids: Tensor, weights: Tensor, w1: Tensor, w2: Tensor, group: str,
            capacity: int, activations: str, weights_format: str, gradients: str
            ) -> list[Tensor]:
    """Returns y, the values saved for the backward pass (RoutedSaved), and the quantized weights for
    the backward pass. A capacity of 0 means the largest number of rows that can arrive."""
    ranks = _find_rank_group(group)
    _check_once(x, ids, weights, w1, w2)
    _check_tokens(ranks, x)
    x, ids, weights, w1, w2 = map(tensors.plain, (x, ids, weights, w1, w2))
    layer = ranks.find_layer(w1.shape[0] * ranks.size, w1.shape[2], w1.shape[1] // 2,
                             ids.shape[1], (activations, weights_format, gradients),
                             gradient_type(w1.dtype, w2.dtype))
    y, saved, given = layer.quantize_and_forward(
        x, ids, weights, w1.to(torch.bfloat16), w2.to(torch.bfloat16), capacity=capacity or None)
    return [y, *saved[:6], *as_bytes(saved[6:], given)]


def _count_places(group, choices, capacity):
    """Returns the capacity in rows. A capacity of 0 means the largest number that can
    arrive."""
    most = most_rows(group.size, group.slots or group.tokens, choices)
    return min(capacity, most) if capacity else most


@_routed.register_fake
def _(x, ids, weights, w1, w2, group, capacity, activations, weights_format, gradients):
    _check(x, ids, weights, w1, w2)
    check_one_device(x=x, ids=ids, weights=weights, w1=w1, w2=w2)
    experts, rows, _ = w1.shape
    count = _count_places(_find_rank_group(group), ids.shape[1], capacity)
    return [x.new_empty(x.shape),
            *(x.new_empty(shape, dtype=torch.int32) for shape in (
                (count,), (count,), (experts,), ())),
            x.new_empty((count,), dtype=torch.float32),
            x.new_empty((count, rows), dtype=torch.bfloat16),
            *empty_quantized(w1, count, *find_formats(activations, weights_format, gradients)[:2])]


@tensors.operator("routed_experts_backward")
@_ends_group
def _routed_backward(dy: Tensor, ids: Tensor, saved: list[Tensor], group: str,
                     activations: str, weights_format: str, gradients: str,
                     weight_gradients: str = "f32") -> list[Tensor]:
    """Returns the gradients of x (bf16), w1, w2 and weights (f32)."""
    ranks = _find_rank_group(group)
    layer = ranks.find_layer(saved[2].shape[0] * ranks.size, dy.shape[1],
                             saved[5].shape[1] // 2, ids.shape[1],
                             (activations, weights_format, gradients), weight_gradients)
    rows, quantized = from_bytes(
        saved[6:], *find_formats(activations, weights_format, gradients)[:2])
    return list(layer.backward(tensors.plain(dy), tensors.plain(ids), quantized,
                               RoutedSaved(*saved[:6], *rows)))


@_routed_backward.register_fake
def _(dy, ids, saved, group, activations, weights_format, gradients, weight_gradients="f32"):
    shape = saved[2].shape[0], saved[5].shape[1], dy.shape[1]
    return [dy.new_empty(dy.shape), *empty_gradients(dy, shape, ids, weight_gradients)[1:]]


# `options` are the indices of the rank group and of the formats.
differentiate(_routed, kept=(1,), options=(5, 7, 8, 9), places=(0, 3, 4, 2))

# Counts operations for torch.utils.flop_counter as if each choice of this rank's tokens were a row of
# this rank. The actual number of rows is in device memory; the total over all ranks is the same.


def _count_matmuls(rows, gate_up, hidden):
    return 2 * rows * gate_up * hidden + rows * gate_up * hidden


@counts(torch.ops.mx.routed_experts)
def _(x, ids, weights, w1, *_, out_shape=None):
    return _count_matmuls(ids[0] * ids[1], *w1[1:])


@counts(torch.ops.mx.routed_experts_backward)
def _(dy, ids, saved, *_, out_shape=None):
    return 2 * _count_matmuls(ids[0] * ids[1], saved[5][1], dy[1])


# --- Exchanges ------------------------------------------------------------------------


class Dispatched(NamedTuple):
    """Rows of this rank's experts. P is the capacity.

    rows    bf16, [P, H], sorted by expert; zeros from index `count` on
    probs   f32, [P]: the weight of each row
    tokens  i32, [P]: s * group.tokens + t for token t of rank s, or with slots,
            s * group.slots + t for the t-th token that rank s sent to this rank; -1 from
            index `count` on
    slots   i32, [P], which `collect` takes: tokens * k + j for choice j; -1 from index
            `count` on
    ends    i32, [experts of this rank]: the rows of expert g end at ends[g]
    count   i32, without dimensions: number of rows"""
    rows: Tensor
    probs: Tensor
    tokens: Tensor
    slots: Tensor
    ends: Tensor
    count: Tensor


@_ends_group
def dispatch(x: Tensor, ids: Tensor, weights: Tensor, experts: int, group: Group, *,
             capacity: int | None = None) -> Dispatched:
    """Sends the tokens of each rank to the ranks that own their experts.

    x        bf16, [T, H]; T is at most group.tokens and may differ between ranks
    ids      integers, [T, k]: the experts of a token; ids outside [0, experts) are ignored
    weights  floating point, [T, k]
    experts  number of experts on all ranks, a multiple of the number of ranks
    group    an mx_compiler.torch.ep.Group
    capacity  number of rows that fit; None: the largest number that can arrive. If more
             rows arrive, this call, a later call or group.check() raises
             mx_compiler.CapacityError

    Returns a Dispatched. The call and its backward pass, which sums the gradients of a token's rows,
    are collective. Differentiable in x and weights. Raises TypeError or ValueError. Errors name
    the argument."""
    check_tensors(x=x, ids=ids, weights=weights)
    _check_rank_group(group, experts)
    _check_options(ids, weights, capacity)
    rows, probs, slots, ends, count = torch.ops.mx.ep_dispatch(
        x, _narrow_ids(ids, experts), weights.to(torch.float32), group.key, experts,
        capacity or 0)
    tokens = torch.div(slots, ids.shape[1], rounding_mode="floor")
    return Dispatched(rows, probs, tokens, slots, ends, count)


@_ends_group
def collect(z: Tensor, slots: Tensor, ids: Tensor, experts: int, group: Group) -> Tensor:
    """Sums the results of all ranks' experts for each token.

    z       bf16, [P, H]; unused rows are not read
    slots   i32, [P], from `dispatch`
    ids, experts, group  as for `dispatch`

    Returns y in bf16, [T, H]. Each rank adds its rows of a token in order, in f32, and rounds the
    sum to bf16. The sums of the ranks are added in rank order. The caller must apply the weights.
    The call and its backward pass, which is a dispatch, are collective. Differentiable in z.
    Raises TypeError or ValueError. Errors name the argument."""
    check_tensors(z=z, slots=slots, ids=ids)
    _check_rank_group(group, experts)
    _check_ids(ids)
    return torch.ops.mx.ep_collect(z, slots, _narrow_ids(ids, experts), group.key, experts)


def _find(group, x, experts, hidden, choices):
    ranks = _find_rank_group(group)
    _check_tokens(ranks, x)
    return ranks.find_program(("rows", experts, hidden, choices), lambda made: RoutedRows(
        experts, hidden, choices, made, tokens=ranks.tokens, slots=ranks.slots))


def _check_rows(name, z, slots):
    """Checks that `z` contains a row for each slot."""
    shape = check.matrix(name, z, ("bf16",))[1]
    if slots.dim() != 1 or slots.dtype != torch.int32 or len(shape) != 2 or (
            shape[0] != slots.shape[0]):
        raise ValueError(f"slots: expected torch.int32 of shape ({shape[0]},), one for each row "
                         f"of {name}, found {slots.dtype} of shape {tuple(slots.shape)}")


@tensors.operator("ep_dispatch")
@_ends_group
def _dispatch(x: Tensor, ids: Tensor, weights: Tensor, group: str, experts: int, capacity: int
              ) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Returns rows, their weights, slots, ends and count. A capacity of 0 means the largest
    number of rows that can arrive."""
    _check_choice(x, ids, weights)
    program = _find(group, x, experts, x.shape[1], ids.shape[1])
    return tuple(program.dispatch(*map(tensors.plain, (x, ids, weights)), _count_places(
        _find_rank_group(group), ids.shape[1], capacity)))


@_dispatch.register_fake
def _(x, ids, weights, group, experts, capacity):
    _check_choice(x, ids, weights)
    check_one_device(x=x, ids=ids, weights=weights)
    own = experts // _find_rank_group(group).size
    count = _count_places(_find_rank_group(group), ids.shape[1], capacity)
    return (x.new_empty(count, x.shape[1]), x.new_empty(count, dtype=torch.float32),
            *(x.new_empty(shape, dtype=torch.int32) for shape in ((count,), (own,), ())))


@tensors.operator("ep_dispatch_backward")
@_ends_group
def _dispatch_backward(drows: Tensor, dprobs: Tensor, slots: Tensor, ids: Tensor, group: str,
                       experts: int) -> Tuple[Tensor, Tensor]:
    """Returns the gradients of x, in bf16, and weights, in f32."""
    _check_rows("drows", drows, slots)
    program = _find(group, ids, experts, drows.shape[1], ids.shape[1])
    return tuple(program.collect_with_weights(*map(tensors.plain, (drows, dprobs, slots, ids))))


@_dispatch_backward.register_fake
def _(drows, dprobs, slots, ids, group, experts):
    return (drows.new_empty(ids.shape[0], drows.shape[1]),
            drows.new_empty(ids.shape, dtype=torch.float32))


@tensors.operator("ep_collect")
@_ends_group
def _collect(z: Tensor, slots: Tensor, ids: Tensor, group: str, experts: int) -> Tensor:
    """Returns y in bf16."""
    _check_rows("z", z, slots)
    program = _find(group, ids, experts, z.shape[1], ids.shape[1])
    return program.collect(*map(tensors.plain, (z, slots, ids)))


@_collect.register_fake
def _(z, slots, ids, group, experts):
    _check_rows("z", z, slots)
    check_one_device(z=z, slots=slots, ids=ids)
    return z.new_empty(ids.shape[0], z.shape[1])


@tensors.operator("ep_collect_backward")
@_ends_group
def _collect_backward(dy: Tensor, slots: Tensor, ids: Tensor, group: str, experts: int
                      ) -> Tensor:
    """Returns the gradient of z in bf16. The gradient of a row is the gradient of its token's
    sum."""
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
    dx, dweights = torch.ops.mx.ep_dispatch_backward(
        drows, dprobs, *ctx.saved_tensors, ctx.group, ctx.experts)
    return dx, None, dweights, None, None, None


def _keep_collect(ctx, inputs, output):
    _, slots, ids, ctx.group, ctx.experts = inputs
    ctx.save_for_backward(slots, ids)


def _back_from_collect(ctx, dy):
    dz = torch.ops.mx.ep_collect_backward(dy, *ctx.saved_tensors, ctx.group, ctx.experts)
    return dz, None, None, None, None


_dispatch.register_autograd(_back_from_dispatch, setup_context=_keep_dispatch)
_collect.register_autograd(_back_from_collect, setup_context=_keep_collect)
refuse_second_order("ep_dispatch_backward", "ep_collect_backward")


# --- Module ---------------------------------------------------------------------------

_NAMES = "w1", "w2", "w3"


class MXRoutedExperts(MXGroupedExperts):
    """Experts divided among the ranks of a rank group. The module takes a router's choices
    for this rank's tokens. It computes the same as MXGroupedExperts, but exchanges rows between all
    ranks.

    dim, hidden_dim  multiples of 32, or of 128 with mxfp8_fast
    num_experts  number of experts on all ranks, a multiple of the number of ranks; rank r
              owns num_experts / ranks experts, starting with r * num_experts / ranks
    group     an mx_compiler.torch.ep.Group
    recipe    an mx_compiler.torch.Recipe for training, or its name; all three matmuls
              must be quantized, with the scale rounding "ceil". Of the recipes with
              fp8_scales, only "mxfp8_fast"
    capacity  number of rows that fit on this rank; None: the largest number that can
              arrive
    mesh      a one-dimensional DeviceMesh of the rank group's ranks. The parameters are
              then DTensors with Shard(0) over the mesh; without a mesh, they are this
              rank's part
    device, dtype  device and dtype of the parameters

    The parameters are w1 and w3, [experts, hidden_dim, dim], and w2, [experts, dim, hidden_dim], as
    in torchtitan. With `mesh`, distributed checkpoints can be loaded on any number of ranks, and
    FSDP2 can shard the parameters over other mesh dimensions. Gradients are sums over the tokens of
    all ranks, while data parallelism expects averages. If each rank uses the mean loss of its own
    tokens, the caller must divide them by the number of ranks (docs/guide/Ranks.md).

    forward(x, ids, weights): x is [..., dim]. ids (integers) and weights (floating point) are
    [tokens, k] or [..., k]. Ids outside [0, num_experts) are ignored. The result has the shape
    and dtype of x, or autocast's dtype. The forward and the backward pass are collective.

    Raises TypeError or ValueError, which names the argument, mx_compiler.CapacityError if more rows
    arrived than fit, and mx_compiler.Error if the rank group fails."""
    is_divided = True  # `convert_` reads this attribute and does not import this module

    def __init__(self, dim: int, hidden_dim: int, num_experts: int, group: Group,
                 recipe: str | Recipe = "mxfp8", *, capacity: int | None = None,
                 mesh: dist.DeviceMesh | None = None, device: Device = None,
                 dtype: torch.dtype | None = None) -> None:
        _check_rank_group(group, num_experts, "num_experts")
        recipe = _routed_recipe(recipe)
        super().__init__(dim, hidden_dim, num_experts // group.size, recipe, device, dtype)
        self._set(group, capacity)
        if mesh is not None:
            self._distribute(mesh)

    @classmethod
    def from_experts(cls, module: torch.nn.Module, group: Group, recipe: str | Recipe = "mxfp8", *,
                     capacity: int | None = None) -> "MXRoutedExperts":
        """Creates the module from a module with parameters w1, w2 and w3. The parameters contain this rank's
        experts, or are DTensors of all experts with Shard(0) over the ranks of the rank group. The
        modules share parameters and hooks, and have the same mode."""
        _check_rank_group(group)
        new = super().from_experts(module, _routed_recipe(recipe))
        new._set(group, capacity)
        for name in _NAMES:
            new._local(name)  # raises ValueError if the parameter is divided differently
        return new

    def with_recipe(self, recipe: str | Recipe) -> "MXRoutedExperts":
        """Returns a module with another recipe and with the same parameters, hooks and mode."""
        if type(self) is not MXRoutedExperts:
            raise ValueError("expected MXRoutedExperts itself, found a derived class, such as "
                             "those of fully_shard: convert the model before")
        return self.from_experts(self, self.group, recipe, capacity=self.capacity)

    def to_plain(self) -> torch.nn.Module:
        """Returns the experts of this rank as a module of their original class, or as
        GroupedExperts. The module takes sorted rows."""
        new = super().to_plain()
        for name in ("group", "capacity"):
            new.__dict__.pop(name, None)
        return new

    def _set(self, group, capacity):
        check.size("capacity", 1 if capacity is None else capacity, 1)
        self.group, self.capacity = group, capacity

    def _distribute(self, mesh):
        if mesh.ndim != 1 or mesh.size() != self.group.size or (
                mesh.get_local_rank() != self.group.rank):
            raise ValueError(f"mesh: expected one dimension of {self.group.size} ranks in the "
                             f"order of the rank group, found {mesh}")
        for name in _NAMES:
            local = getattr(self, name)
            self.register_parameter(name, torch.nn.Parameter(DTensor.from_local(
                local.detach(), mesh, [Shard(0)], run_check=False), local.requires_grad))

    def __setattr__(self, name, value):
        """Sets an attribute. FSDP2 replaces parameters with DTensors, and assumes that all ranks of
        its mesh have the same parameters, so such a mesh is checked."""
        if name in _NAMES and isinstance(value, DTensor) and not isinstance(
                self._parameters.get(name), DTensor) and "group" in self.__dict__:
            mixed = set(value.device_mesh.mesh.flatten().tolist()) & set(self.group.ranks)
            if len(mixed) > 1:
                raise ValueError(f"{name}: expected a mesh of ranks that have the same experts, "
                                 f"found ranks {sorted(mixed)} with different experts: create "
                                 "the module with mesh=, and shard it over another dimension")
        super().__setattr__(name, value)

    @property
    def num_experts(self) -> int:
        """Number of experts on all ranks."""
        count = self.w1.shape[0]
        return count if isinstance(self.w1, DTensor) else count * self.group.size

    def _local(self, name):
        """Returns this rank's part of a parameter."""
        weight = getattr(self, name)
        if not isinstance(weight, DTensor):
            return weight
        divided = [mesh_dim for mesh_dim, placement in enumerate(weight.placements)
                   if not placement.is_replicate()]
        mesh = weight.device_mesh
        if len(divided) > 1 or any(not weight.placements[d].is_shard(0) for d in divided) or (
                (mesh.size(divided[0]) if divided else 1) != self.group.size):
            raise ValueError(f"{name}: expected a DTensor with Shard(0) over the "
                             f"{self.group.size} ranks of the rank group, found placements "
                             f"{weight.placements} over {mesh}")
        local = weight.to_local()
        if local.shape[0] * self.group.size != weight.shape[0]:
            raise ValueError(f"{name}: expected a number of experts that is a multiple of "
                             f"{self.group.size}, the number of ranks, found {weight.shape[0]}")
        return local

    @_ends_group
    def forward(self, x: Tensor, ids: Tensor, weights: Tensor) -> Tensor:
        rows = to_bf16("x", x)
        w1, w2, w3 = (self._local(name) for name in _NAMES)
        check_last("x", x, w1.shape[-1], "dim of the experts")
        for name, given in (("ids", ids), ("weights", weights)):
            if not isinstance(given, torch.Tensor):
                raise TypeError(f"{name}: expected a tensor, found {type(given).__name__}")
            if given.dim() < 1:
                raise ValueError(f"{name}: expected [tokens, k], found shape "
                                 f"{tuple(given.shape)}")
        formats = [FAST if self.recipe.fp8_scales else getattr(self.recipe, operand)
                   for operand in ("activations", "weights", "gradients")]
        y = routed_experts(
            rows.reshape(-1, x.shape[-1]), ids.reshape(-1, ids.shape[-1]),
            weights.reshape(-1, weights.shape[-1]), torch.cat((w1, w3), 1), w2, self.group,
            capacity=self.capacity, activations=formats[0], weights_format=formats[1],
            gradients=formats[2])
        return y.to(result_dtype(x)).view(x.shape)

    def extra_repr(self) -> str:
        _, hidden, dim = self.w1.shape
        return (f"dim={dim}, hidden_dim={hidden}, num_experts={self.num_experts}, "
                f"recipe={self.recipe}, rank {self.group.rank} of {self.group.size}")


def _routed_recipe(recipe):
    found = training_recipe(recipe, "MXRoutedExperts", "MXWeightOnlyExperts")
    if found.batch_invariant or (found.fp8_scales and found != RECIPES[FAST]):
        raise ValueError(f"recipe: expected {FAST} or no fp8_scales, and no batch_invariant, with "
                         f"experts on several ranks, found {found}: use MXGroupedExperts")
    if found.scale_rounding != "ceil" or found.wgrad_high_precision:
        raise ValueError("recipe: expected scale_rounding \"ceil\" and quantized gradients of "
                         f"weights for MXRoutedExperts, found {found}")
    return found
