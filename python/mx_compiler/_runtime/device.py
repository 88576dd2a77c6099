# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Current device of the thread, and options of the simulator.

Each array belongs to a device, and calls run on the device of their arrays. New objects are created
on the current device."""

import contextlib
import dataclasses
import itertools
import os
import platform
import threading
from typing import Any

from . import library
from .library import call
from .notices import say_simulated

HOST = "cpu"  # unknown to the runtime
AUTO = "auto"


class Choice:
    """Choice of a device. `key` is unique for each call of set_device."""
    _count = itertools.count()

    def __init__(self, asked=None, name=None):
        self.key = next(self._count) if name is None else name
        self._asked = asked  # None until the caller chooses a device; MX_DEVICE then applies
        self._name = name  # device, or None until the choice is resolved

    @property
    def asked(self):
        return self._asked or os.environ.get("MX_DEVICE") or AUTO

    @property
    def is_host(self):
        return (self._asked or os.environ.get("MX_DEVICE")) == HOST

    @property
    def name(self):
        if self.is_host:
            return HOST
        if self._name is None:
            self._name = short_name(_read_info().device.decode())
            if self.asked == AUTO and is_simulator(self._name):
                say_simulated()
        return self._name


class Threads(threading.local):
    own = None  # choice of set_device, except in the thread that called it first
    over = None  # device substituted by on_device


_threads, _lock = Threads(), threading.Lock()
_process, _first = Choice(), None  # choice of the thread that called set_device first; that thread


def _current():
    return _threads.over or _threads.own or _process


def set_device(name: str = "auto", target: str | None = None) -> None:
    """Selects the device of this thread: `sim`, `sim:N`, `cuda`, `cuda:N`, `cpu` or `auto`.
    A thread that does not call set_device uses the device of the thread that called it first.
    `auto` is resolved by the first loaded program, or immediately if `target` ("sm_100a") is given,
    and never selects `cpu`, the reference path.

    Existing arrays stay on their device, and calls with these arrays run there. Raises TypeError or
    ValueError for an invalid name, and Error for an unavailable device."""
    global _process, _first
    if not isinstance(name, str):
        raise TypeError(f"name: expected auto, sim, sim:N, cpu, cuda or cuda:N, found {name!r}")
    choice = Choice(name)
    with _lock:  # the runtime must record the same thread as the first
        if name == HOST:  # the runtime does not have this device
            call("mxSetDevice", b"auto")
        elif target is None:
            call("mxSetDevice", name.encode())
        else:
            call("mxSetDeviceForTarget", name.encode(), target.encode())
        _first = _first or threading.current_thread()
        if _first is threading.current_thread():
            _process, _threads.own = choice, None
        else:
            _threads.own = choice
    _threads.over = None


_devices = {}  # keyed by name


@contextlib.contextmanager
def override_device(name):
    """Makes `name` the current device of this thread in a `with` block."""
    before = _threads.over
    choice = _devices.get(name)
    if choice is None:
        choice = _devices[name] = Choice(name, name)
    call("mxSetThreadDevice", name.encode())
    _threads.over = choice
    try:
        yield
    finally:
        if _threads.over is choice:
            call("mxSetThreadDevice", before and before.name.encode())
            _threads.over = before


_NOTHING = contextlib.nullcontext()


def on_device(name):
    """Returns a context in which `name` is the current device of this thread."""
    return _NOTHING if name == device_name() else override_device(name)


def is_host():
    """Returns True if the current device is "cpu"."""
    return _current().is_host


def is_simulator(name):
    return name.partition(":")[0] == "sim"


def require_device(what, instead):
    """Raises ValueError on "cpu", which has no memory or streams of its own. `what` names the
    object, and `instead` the remedy."""
    if is_host():
        raise ValueError(f"{what}: expected the device sim or a GPU, found cpu: {instead}")


def device_key():
    """Returns a key that changes with each choice of a device. Caches that depend on the device use
    this key."""
    return _current().key


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    """Properties of a device. `kind` is "cuda", "sim" or "cpu". Memory sizes are in bytes."""
    kind: str
    name: str
    multiprocessors: int
    capability: tuple[int, int]  # (0, 0) for cpu
    shared_memory_per_block: int
    global_memory: int


def device_info() -> DeviceInfo:
    """Returns the DeviceInfo of the current device."""
    if is_host():
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return DeviceInfo(HOST, platform.processor() or platform.machine(),
                          os.cpu_count() or 1, (0, 0), 0, memory)
    info = _read_info()
    return DeviceInfo(info.kind.decode(), info.name.decode(),
                      info.multiprocessors,
                      (info.capability_major, info.capability_minor),
                      info.shared_memory_per_block, info.global_memory)


def _read_info():
    info = library.INTERFACE.mxDeviceInfo()
    call("mxGetDeviceInfo", info)
    return info


def short_name(name):
    """Shortens "sim:0" to "sim"."""
    return "sim" if name == "sim:0" else name


def device_of(pointer):
    """Returns the device of an address, or the current device for an address outside of devices."""
    info = library.INTERFACE.mxDeviceInfo()
    if library.library().mxGetMemoryDevice(pointer, info):
        library.library().mxClearError()
        return device_name()
    return short_name(info.device.decode())


def number_of(name):
    """Returns N for "cuda:N", and -1 for other devices."""
    return int(name[5:]) if name.startswith("cuda:") else -1


def device_name() -> str:
    """Returns the name of the current device: "sim", "sim:1", "cuda:0", "cpu", ..."""
    return _current().name


def set_simulator_option(option: str, value: Any) -> None:
    """Sets an option of the simulator, such as "seed", "checks" or "sm-count" (mxSetSimulatorOption).
    Raises Error for an unknown option or an invalid value."""
    call("mxSetSimulatorOption", option.encode(), str(value).encode())


def simulator_counters() -> dict[str, int]:
    """Returns the simulator's counters, summed over all launches of the process, as a dict."""
    counters = library.INTERFACE.mxSimulatorCounters()
    call("mxGetSimulatorCounters", counters)
    return {name: getattr(counters, name) for name, _ in counters._fields_[1:]}


def synchronize() -> None:
    """Waits for all work on the current device."""
    if not is_host():
        call("mxSynchronize")
