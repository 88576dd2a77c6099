# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rank groups. The ranks of a group run a program, each on its own device, and exchange rows."""

import contextlib
import ctypes
import numbers
import threading
from typing import Any, Callable, NamedTuple, Optional, Sequence

import numpy as np

from .._arrays.interop import find_library
from .._runtime import library
from .._runtime.closing import Closing
from .._runtime.device import HOST, is_host, number_of, on_device, short_name
from .._runtime.errors import Error
from .._runtime.internal import internal
from .._runtime.library import call
from .._runtime.streams import stream_handle

# The runtime does not have the device cpu. Rank groups on cpu use the simulator, which exchanges
# host memory directly and runs no kernel for this.
_UNDER_HOST = "sim"


class GroupInfo(NamedTuple):
    """Rank group of a compiled program: the number of ranks, the maximum number of tokens per rank, the
    size of the group memory for windows in bytes, and the rank of the bound group, or None."""

    name: str
    size: int
    tokens: int
    window_bytes: int
    rank: Optional[int]


class GroupFailure(NamedTuple):
    """Failure of a rank group, equal on all ranks. `status` is an mxStatus, and `name` is its name
    as in Error. `rank` is the rank at fault, or None if unknown. `entry` and `step` identify a
    collective in a program. For collectives outside of programs, they are "" and None."""

    name: str
    rank: Optional[int]
    entry: str
    step: Optional[int]
    text: str
    status: int


class SharedRankGroup:
    """Rank group of the runtime. A Group shares it with the programs on cpu that are bound to it.
    The group is destroyed when its last user closes it. For programs on other devices, the runtime
    counts references."""

    def __init__(self, handle, rank, device):
        self.handle, self.rank = handle, rank
        self._device = device
        self._lock = threading.Lock()
        self._users = 1

    def share(self):
        """Adds a user."""
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
        """Runs an all-gather on segments of `count` bytes at an address."""
        with _in_runtime(self._device):
            call("mxGroupAllGather", self.handle, address, count, stream)

    def exchange_at(self, source, target, count, stream=0):
        """Runs an all-to-all on segments of `count` bytes at two addresses."""
        with _in_runtime(self._device):
            call("mxGroupAllToAll", self.handle, source, target, count, stream)


def check_options(name, timeout, transport):
    """Raises TypeError or ValueError for an option of a wrong type, or a wrong timeout."""
    for option, value, wanted, what in (
            ("name", name, str, "a string"), ("transport", transport, str, "a string"),
            ("timeout", timeout, numbers.Real, "seconds")):
        if not isinstance(value, wanted):
            raise TypeError(f"{option}: expected {what}, found {type(value).__name__}")
    if not 0 < timeout < 1e6:
        raise ValueError("timeout: expected more than 0 and less than a million seconds, found "
                         f"{timeout!r}")


class Group(Closing):
    """One rank's handle of a rank group, on the current device. All ranks create the group together.
    A rank is a process, or a thread with its own device.

    rank       rank of this process or thread, 0 to size - 1
    size       number of ranks
    exchange   all-gather on the host, called once. The function receives the
               bytes of this rank and returns a list of the bytes of all ranks in rank
               order. Optional if size is 1. `Group.connect` needs no such function
    name       name of the group in messages
    timeout    longest wait for other ranks, in seconds, before the rank group ends
    transport  "nccl" or "peer" on GPUs, "host" on the simulator and on cpu, or "auto" for
               the transport of the device (docs/guide/Ranks.md)

    Once a rank exits, stalls beyond the time-out or calls `abort`, every collective on every
    rank raises an Error that names this rank."""

    def __init__(self, rank: int, size: int, exchange: Callable[[bytes], Sequence[bytes]] | None = None,
                 *, name: str = "ep", timeout: float = 100.0, transport: str = "auto") -> None:
        raised = []

        def gather(_, mine, count, place):
            try:
                found = b"".join(_check_parts(exchange(ctypes.string_at(mine, count)),
                                              size, count))
                ctypes.memmove(place, found, len(found))
            except BaseException as error:  # exceptions must not pass through C
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
    def connect(cls, address: str, rank: int, size: int, *, name: str = "ep", timeout: float = 100.0,
                transport: str = "auto") -> "Group":
        """Creates a rank group over TCP. Rank 0 listens on `address` ("host:port"), and the other
        ranks connect to it. All ranks must run as the same user on the same machine, or have the same
        MX_GROUP_SECRET."""
        group = cls.__new__(cls)
        group._make("mxGroupConnect", rank, size, name, timeout, transport,
                    library.INTERFACE.mxExchange(), address.encode())
        return group

    def _make(self, function, rank, size, name, timeout, transport, exchange, *address):
        self._shared = None
        on_host = is_host()
        if on_host and transport in ("nccl", "peer"):
            raise ValueError(f'transport: expected "host" or "auto" on cpu, found "{transport}", '
                             "which requires GPUs")
        check_options(name, timeout, transport)
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
        self.timeout = timeout

    def _info(self):
        info = library.INTERFACE.mxGroupInfo()
        call("mxGroupGetInfo", self.handle, info)
        return info

    @property
    @internal
    def shared(self):
        if self._shared is None:
            raise ValueError("the rank group was closed: create another")
        return self._shared

    @property
    @internal
    def handle(self):
        return self.shared.handle

    @property
    def transport(self) -> str:
        """Transport in use: "peer" once windows of peers are mapped."""
        return self._info().transport.decode()

    @property
    def window_bytes(self) -> int:
        """Size of the memory reserved by `Program.bind` for windows, in bytes."""
        return self._info().window_bytes

    def status(self) -> GroupFailure | None:
        """Returns None while the rank group works, and a GroupFailure afterwards. Never waits."""
        report = library.INTERFACE.mxGroupReport()
        call("mxGroupGetStatus", self.handle, report)
        if not report.status:
            return None
        return GroupFailure(
            library.status(report.status)[1],
            report.rank if report.rank >= 0 else None, report.entry.decode(),
            report.step if report.step >= 0 else None, report.text.decode(errors="replace"),
            report.status)

    def abort(self, why: str) -> None:
        """Ends the rank group on all ranks. Later collectives raise an Error with the text `why`."""
        call("mxGroupAbort", self.handle, str(why).encode())

    def all_gather(self, array: Any, *, stream: Any = None) -> Any:
        """Gathers in place. The first dimension of the array is divided into a segment for each
        rank, and segment r receives segment r of rank r. Returns the array.

        array   a DeviceArray, PyTorch tensor or CuPy array on the rank group's device;
                on cpu, a NumPy array
        stream  as for an entry"""
        address, stream = self._read("array", array, stream)
        self.shared.gather_at(address, array.nbytes // self.size, stream)
        return array

    def all_to_all(self, array: Any, out: Any, *, stream: Any = None) -> Any:
        """Copies segment d of `array` to segment `rank` of `out` on rank d. `out` has the shape
        and type of `array` and must not overlap it. Returns `out`."""
        source, handle = self._read("array", array, stream)
        target, _ = self._read("out", out, stream)
        if (array.shape, array.dtype) != (out.shape, out.dtype):
            raise ValueError(f"out: expected shape {tuple(array.shape)} of {array.dtype}, like "
                             f"'array', found {tuple(out.shape)} of {out.dtype}")
        self.shared.exchange_at(source, target, array.nbytes // self.size, handle)
        return out

    def _read(self, what, x, stream):
        """Checks an array. Returns its address, and the number of the stream."""
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
            raise ValueError(f"{what}: expected a first dimension that is a multiple of {self.size}, "
                             f"the number of ranks, found shape {tuple(operand.shape)}")
        return source.pointer(x), (source.current_stream(number_of(self.device))
                                   if stream is None else stream_handle(stream))

    def _read_host(self, what, x, stream):
        if stream_handle(stream):
            raise ValueError(f"stream: expected none on cpu, where calls wait, found {stream!r}")
        if not isinstance(x, np.ndarray):
            raise TypeError(f"{what}: expected an array of NumPy, as the rank group is on cpu, "
                            f"found {type(x).__name__}")
        if not (x.flags.c_contiguous and x.flags.writeable):
            raise ValueError(f"{what}: expected a dense writable array, found an array that is "
                             "not dense or not writable")
        if not x.shape or x.shape[0] % self.size:
            raise ValueError(f"{what}: expected a first dimension that is a multiple of {self.size}, "
                             f"the number of ranks, found shape {x.shape}")
        return x.ctypes.data, 0

    def close(self) -> None:
        """Releases this rank's handle. Programs bound to the rank group share its ownership
        and can be called until they are closed or bound to another group."""
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.close()


def _in_runtime(device):
    """Returns a context in which the runtime uses the device of a rank group."""
    return on_device(_UNDER_HOST if device == HOST else device)


def _check_parts(parts, size, count):
    parts = [bytes(part) for part in parts]
    if [len(part) for part in parts] != [count] * size:
        raise ValueError(f"exchange: expected {count} bytes from each of {size} ranks, found "
                         f"lengths {[len(part) for part in parts]}")
    return parts
