# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups of ranks that divide experts among them, made over process groups of PyTorch."""

import collections
import datetime
import itertools
import weakref

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _get_process_group_store

from ..._ops import checks as check
from ..._ops.routed_moe_layer import RoutedMoELayer
from ..._programs import group as groups
from ..._runtime.device import device_name, on_device
from ..._runtime.errors import Error

# Groups by the names that operators are given, as long as they live.
_known = weakref.WeakValueDictionary()
_counts = collections.Counter()  # of groups that were made, by process group
_alone = itertools.count()


class Group:
    """The ranks of a process group as a group that experts are divided among. All ranks
    make it at once, with the same `tokens`; it is made over the store of the process
    group, and sends nothing by its backend.

    process_group  a ProcessGroup, a DeviceMesh of one dimension (`mesh["ep"]`), or None
                   for the default group; without torch.distributed that is one rank
    tokens         the most tokens that a rank has in a call
    timeout        seconds that a rank waits for the others before the group ends
    transport      "nccl" on GPUs, "host" elsewhere; None is that
    name           stands in messages

    The device is the current one of CUDA where the process group's backend is NCCL, else
    that of mx_compiler (MX_DEVICE). A process may have several groups. After a failure all
    ranks can make a new one. Raises a TypeError or ValueError, and an mx_compiler.Error
    where a rank does not come."""

    def __init__(self, process_group=None, *, tokens, timeout=100.0, transport=None,
                 name="ep"):
        check.size("tokens", tokens, 1)
        found = _find_process_group(process_group)
        if found is None:
            self._begin(f"alone/{next(_alone)}", None, 0, 1, device_name(), tokens)
            return
        _counts[found.group_name] += 1
        key = f"{found.group_name}/{_counts[found.group_name]}"
        rank, size = dist.get_rank(found), dist.get_world_size(found)
        place = _place_of(found)
        store = dist.PrefixStore(f"mx_compiler/{key}", _get_process_group_store(found))
        with on_device(place):
            made = groups.Group(
                rank, size, _exchange_over(store, rank, size, timeout, name), name=name,
                timeout=timeout, transport=transport or "auto")
        self._begin(key, made, rank, size, place, tokens, dist.get_process_group_ranks(found))

    @classmethod
    def alone(cls, *, tokens):
        """The group of this rank by itself, on the device of mx_compiler, or the current one
        of CUDA where there is one: all experts are its own, and nothing is sent."""
        check.size("tokens", tokens, 1)
        group = cls.__new__(cls)
        place = _cuda_place() if torch.cuda.is_available() else device_name()
        group._begin(f"alone/{next(_alone)}", None, 0, 1, place, tokens)
        return group

    def _begin(self, key, made, rank, size, place, tokens, ranks=()):
        self.key, self.rank, self.size, self.tokens = key, rank, size, int(tokens)
        self.device, self.ranks = place, tuple(ranks)  # those of torch.distributed
        self._group, self._layers, self._is_closed = made, {}, False
        _known[key] = self

    def describe(self):
        """What the group is, in a line."""
        made = self._group
        how = "alone" if made is None else (
            f"transport {made.transport}, {made.window_bytes} bytes of windows, time-out "
            f"{made.timeout:g} s")
        return (f"rank {self.rank} of {self.size} on {self.device}, at most {self.tokens} "
                f"tokens a rank, {how}")

    def status(self):
        """None while the group works, then an mx_compiler.GroupFailure. Never waits."""
        return None if self._group is None else self._group.status()

    def check(self):
        """Waits for the layers of this rank, and raises what is wrong: an mx_compiler.Error
        if the group has failed, an mx_compiler.CapacityError if more rows came to a layer
        than its capacity. Not collective."""
        failure = self.status()
        if failure:
            raise Error(failure.text, failure.status, failure.name)
        for layer in self._layers.values():
            layer.check()

    def abort(self, why):
        """Ends the group on all ranks, whose calls raise an mx_compiler.Error with the
        text."""
        if self._group is not None:
            self._group.abort(why)

    def close(self):
        """Ends this rank's part. Not collective; what this rank has put on streams ends
        before."""
        if self._is_closed:
            return
        self._is_closed = True
        _known.pop(self.key, None)
        for layer in self._layers.values():
            layer.close()
        self._layers.clear()
        if self._group is not None:
            self._group.close()

    def find_layer(self, experts, hidden, intermediate, choices, formats):
        """The RoutedMoELayer of these sizes. The first call is collective."""
        key = experts, hidden, intermediate, choices, formats
        found = self._layers.get(key)
        if found is None:
            with on_device(self.device):
                found = self._layers[key] = RoutedMoELayer(
                    experts, hidden, intermediate, choices, self._group, tokens=self.tokens,
                    activations=formats[0], weights=formats[1], gradients=formats[2])
        return found

    def find_program(self, key, make):
        """A program for the group, or None where it is alone: `make(group)`, once."""
        found = self._layers.get(key)
        if found is None:
            with on_device(self.device):
                found = self._layers[key] = make(self._group)
        return found

    def refuse(self, error):
        """Raises what is wrong with a call of this rank alone; the others are told."""
        self.abort(str(error))
        raise error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<mx_compiler.torch.ep.Group {self.key}: {self.describe()}>"


def find_group(key):
    """The group that an operator was given by name. Raises a ValueError."""
    found = _known.get(key)
    if found is None:
        raise ValueError("group: expected the key of an mx_compiler.torch.ep.Group that is "
                         f"open, found {key!r}")
    return found


def _find_process_group(given):
    """None for one rank without torch.distributed."""
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
    """A group may have a backend for each kind of device."""
    if torch.cuda.is_available():
        try:
            backend = process_group._get_backend(torch.device("cuda")).name()
        except RuntimeError:  # it has none for GPUs
            backend = ""
        if backend.lower() == "nccl":
            return _cuda_place()
    return device_name()


def _cuda_place():
    return f"cuda:{torch.cuda.current_device()}"


def _exchange_over(store, rank, size, timeout, name):
    """The all-gather of the host, over a store that no other group uses."""
    def exchange(mine):
        store.set(str(rank), mine)
        parts = []
        for other in range(size):
            try:
                store.wait([str(other)], datetime.timedelta(seconds=timeout))
            except RuntimeError as error:
                raise RuntimeError(
                    f"group {name}: rank {other} did not come to make the group (waited "
                    f"{timeout:g} s)") from error
            parts.append(store.get(str(other)))
        return parts
    return exchange
