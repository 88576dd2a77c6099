# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rank groups: ranks that run one program on a device each, and send each other rows."""

import contextlib
import ctypes
import threading
from typing import NamedTuple

import numpy as np

from .._arrays.interop import find_library
from .._runtime import library
from .._runtime.closing import Closing
from .._runtime.device import HOST, is_host, number_of, on_device, short_name
from .._runtime.errors import Error
from .._runtime.internal import internal
from .._runtime.library import call
from .._runtime.streams import stream_handle

# The runtime does not know cpu: a rank group there is one of its simulator, which exchanges
# memory of the host as it is, and runs nothing.
_UNDER_HOST = "sim"


class GroupInfo(NamedTuple):
    """A rank group that a program was compiled for: its ranks, how many tokens each has at most,
    the bytes of the group's memory for windows, and the rank that the program is bound to,
    None before."""

    name: str
    size: int
    tokens: int
    window_bytes: int
    rank: int


class GroupFailure(NamedTuple):
    """Why a rank group has ended, the same on all ranks. `status` is an mxStatus, and `name` that
    in words, as of an Error; `rank` is the one at fault, None where none is known; `entry`
    and `step` say which collective of a program it was, "" and None outside of one."""

    name: str
    rank: int
    entry: str
    step: int
    text: str
    status: int


class SharedRankGroup:
    """A rank group of the runtime, for a Group and the programs of cpu that are bound to it: the
    last one that closes it destroys it. For programs of devices the runtime counts."""

    def __init__(self, handle, rank, device):
        self.handle, self.rank = handle, rank
        self._device = device
        self._lock = threading.Lock()
        self._users = 1

    def share(self):
        """For one more user."""
        with self._lock:
            self._users += 1
        return self

    def close(self):
        with self._lock:
            self._users -= 1
            if self._users:
                return
        call("mxGroupDestroy", self.handle)

    def gather_at(self, address, count, stream=0):
        """all_gather of parts of `count` bytes at an address."""
        with _in_runtime(self._device):
            call("mxGroupAllGather", self.handle, address, count, stream)

    def exchange_at(self, source, target, count, stream=0):
        """all_to_all of parts of `count` bytes at addresses."""
        with _in_runtime(self._device):
            call("mxGroupAllToAll", self.handle, source, target, count, stream)


class Group(Closing):
    """One rank of a rank group, on the device in use. All ranks make it at once; they are
    processes, or threads with a device each.

    rank       of this process, 0 to size - 1
    size       the number of ranks
    exchange   an all-gather of the host, which is called once: it takes the bytes of this
               rank and returns those of all ranks, in order. May be left out where size
               is 1. `Group.connect` needs none
    name       stands in messages
    timeout    seconds that a rank waits for the others before the rank group ends
    transport  "nccl" on GPUs, "host" on the simulator and on cpu; "auto" is that

    Once a rank has ended, stalled for the time-out or called `abort`, each collective of
    each rank raises an Error that names it."""

    def __init__(self, rank, size, exchange=None, *, name="ep", timeout=100.0,
                 transport="auto"):
        raised = []

        def gather(_, mine, count, place):
            try:
                found = b"".join(_check_parts(exchange(ctypes.string_at(mine, count)),
                                              size, count))
                ctypes.memmove(place, found, len(found))
            except BaseException as error:  # does not pass through C
                raised.append(error)
                return 1
            return 0

        make = library.INTERFACE.mxExchange
        given = make(gather) if exchange is not None else make()
        try:
            self._make("mxGroupCreate", rank, size, name, timeout, transport, given)
        except Error as error:
            if raised:
                raise raised[0] from error
            raise

    @classmethod
    def connect(cls, address, rank, size, *, name="ep", timeout=100.0, transport="auto"):
        """The rank group whose rank 0 listens at "host:port", to which the others connect. All
        ranks are of one user on one machine, or have the same MX_GROUP_SECRET."""
        group = cls.__new__(cls)
        group._make("mxGroupConnect", rank, size, name, timeout, transport,
                    library.INTERFACE.mxExchange(), address.encode())
        return group

    def _make(self, function, rank, size, name, timeout, transport, exchange, *address):
        self._shared = None
        on_host = is_host()
        if on_host and transport == "nccl":
            raise ValueError('transport: expected "host" or "auto" on cpu, found "nccl", '
                             "which is of GPUs")
        if not 0 < timeout < 1e6:
            raise ValueError(f"timeout: expected up to a million seconds, found {timeout!r}")
        handle = ctypes.c_void_p()
        config = library.INTERFACE.mxGroupConfig(
            name.encode(), rank, size, max(1, int(timeout * 1e9)), exchange, None,
            transport.encode())
        with _in_runtime(HOST) if on_host else contextlib.nullcontext():
            call(function, handle, config, *address)
        info = library.INTERFACE.mxGroupInfo()
        call("mxGroupGetInfo", handle, info)
        self.name, self.rank, self.size = name, rank, size
        self.device = HOST if on_host else short_name(info.device.decode())
        self._shared = SharedRankGroup(handle, rank, self.device)
        self.transport = info.transport.decode()
        self.timeout = timeout

    def _info(self):
        info = library.INTERFACE.mxGroupInfo()
        call("mxGroupGetInfo", self.handle, info)
        return info

    @property
    @internal
    def shared(self):
        if self._shared is None:
            raise ValueError("the rank group was closed")
        return self._shared

    @property
    @internal
    def handle(self):
        return self.shared.handle

    @property
    def window_bytes(self):
        """Bytes of memory for windows of programs, which `Program.bind` reserves."""
        return self._info().window_bytes

    def status(self):
        """None while the rank group works, then a GroupFailure. Never waits."""
        report = library.INTERFACE.mxGroupReport()
        call("mxGroupGetStatus", self.handle, report)
        if not report.status:
            return None
        return GroupFailure(
            library.status(report.status)[1],
            report.rank if report.rank >= 0 else None, report.entry.decode(),
            report.step if report.step >= 0 else None, report.text.decode(errors="replace"),
            report.status)

    def abort(self, why):
        """Ends the rank group on all ranks, whose collectives raise an Error with the text."""
        call("mxGroupAbort", self.handle, why.encode())

    def all_gather(self, array, *, stream=None):
        """Part r of the array becomes that of rank r, in place: the first dimension is
        divided into as many parts as there are ranks. Returns the array.

        array   of the rank group's device: a DeviceArray, a tensor of PyTorch, an array of CuPy;
                of NumPy on cpu
        stream  as for an entry"""
        address, stream = self._read("array", array, stream)
        self.shared.gather_at(address, array.nbytes // self.size, stream)
        return array

    def all_to_all(self, array, out, *, stream=None):
        """Part d of `array` goes to part `rank` of `out` on rank d. Returns `out`, which has
        the shape and the type of `array` and other memory."""
        source, handle = self._read("array", array, stream)
        target, _ = self._read("out", out, stream)
        if (array.shape, array.dtype) != (out.shape, out.dtype):
            raise ValueError(f"out: expected shape {tuple(array.shape)} of {array.dtype}, as "
                             f"array has, found {tuple(out.shape)} of {out.dtype}")
        self.shared.exchange_at(source, target, array.nbytes // self.size, handle)
        return out

    def _read(self, what, x, stream):
        """The address of an array, and the stream."""
        if self.device == HOST:
            return self._read_host(what, x, stream)
        source = find_library(type(x))
        operand = source.operand(x) if source is not None else None
        if operand is None or operand.device != self.device or operand.wrong:
            found = (type(x).__name__ if operand is None
                     else operand.wrong or f"memory of {operand.device}")
            raise (TypeError if operand is None else ValueError)(
                f"{what}: expected a dense array of {self.device}, the device of the rank "
                f"group, "
                f"found {found}")
        if not operand.shape or operand.shape[0] % self.size:
            raise ValueError(f"{what}: expected a first dimension that {self.size} ranks "
                             f"divide, found shape {tuple(operand.shape)}")
        return source.pointer(x), (source.current_stream(number_of(self.device))
                                   if stream is None else stream_handle(stream))

    def _read_host(self, what, x, stream):
        if stream_handle(stream):
            raise ValueError(f"stream: expected none on cpu, where calls wait, found {stream!r}")
        if not isinstance(x, np.ndarray):
            raise TypeError(f"{what}: expected an array of NumPy, as the rank group is on cpu, "
                            f"found {type(x).__name__}")
        if not (x.flags.c_contiguous and x.flags.writeable):
            raise ValueError(f"{what}: expected a dense array that can be written, found "
                             "another one")
        if not x.shape or x.shape[0] % self.size:
            raise ValueError(f"{what}: expected a first dimension that {self.size} ranks "
                             f"divide, found shape {x.shape}")
        return x.ctypes.data, 0

    def close(self):
        """Ends this rank's part. A program that is bound to the rank group has a share in it, on
        cpu as on devices: it can be called until it is closed or bound to another one."""
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.close()


def _in_runtime(device):
    """A context in which the runtime uses the device of a rank group."""
    return on_device(_UNDER_HOST if device == HOST else device)


def _check_parts(parts, size, count):
    parts = [bytes(part) for part in parts]
    if [len(part) for part in parts] != [count] * size:
        raise ValueError(f"exchange: expected {count} bytes of each of {size} ranks, found "
                         f"lengths {[len(part) for part in parts]}")
    return parts
