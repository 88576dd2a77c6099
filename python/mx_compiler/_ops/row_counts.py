# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of rows that the device has counted, and that may be more than had room."""

import sys

import numpy as np

from .._arrays.interop import find_library
from .._runtime.device import HOST
from .._runtime.errors import CapacityError

# Counts that nothing has looked at; then a call waits for them.
MOST = 4096


class RowCounts:
    """Of the calls of a layer on rank `rank` of `group`, or of None. Those that the host can
    read without waiting are compared with the capacity by the next call, which ends the
    group where it finds too many, as the other ranks wait; the others by `check`."""

    def __init__(self, rank, group):
        self._rank, self._group = rank, group
        self._waiting = []  # (count on the host once `is_there`, capacity, is_there)
        self._worst = {}  # of calls on GPUs, graphs too: by capacity, the largest count

    def add(self, count, capacity):
        """An array of i32 without dimensions, of any library. Raises a CapacityError
        if it is known already."""
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(count, torch.Tensor) and count.is_cuda:
            self._add_on_gpu(torch, count, capacity)
        elif find_library(type(count)).operand(count).device == HOST:
            self._compare(int(np.asarray(count)), capacity, self._group)
        else:
            if len(self._waiting) >= MOST:
                self.check()
            self._waiting.append((count.numpy if hasattr(count, "numpy") else count.get,
                                  capacity, None))

    def _add_on_gpu(self, torch, count, capacity):
        key = count.device, capacity
        is_captured = torch.cuda.is_current_stream_capturing()
        if key not in self._worst:
            if is_captured:
                raise RuntimeError("expected a call with this capacity before a CUDA graph "
                                   "captures one, found none: call the layer once before")
            self._worst[key] = torch.zeros_like(count)
        torch.maximum(self._worst[key], count, out=self._worst[key])
        if not is_captured:
            host = torch.empty((), dtype=count.dtype, pin_memory=True)
            host.copy_(count, non_blocking=True)
            event = torch.cuda.Event()
            event.record()
            self._waiting.append((host.item, capacity, event.query))

    def look(self):
        """Compares what is there without waiting."""
        while self._waiting and self._waiting[0][2] and self._waiting[0][2]():
            read, capacity, _ = self._waiting.pop(0)
            self._compare(int(read()), capacity, self._group)

    def check(self):
        """Compares all counts of calls before, and waits for them. After an error they
        are forgotten."""
        waiting, self._waiting = self._waiting, []
        worst = [(int(count), key[1]) for key, count in self._worst.items()]
        for count in self._worst.values():
            count.zero_()
        for count, capacity in worst + [(int(read()), capacity) for read, capacity, is_there
                                        in waiting if is_there is None]:
            self._compare(count, capacity)

    def _compare(self, count, capacity, group=None):
        if count > capacity:
            error = CapacityError(self._rank, count, capacity)
            if group is not None:
                group.abort(str(error))
            raise error
