# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The device in use, which belongs to the thread, and options of the simulator.

Arrays have their own device, and calls follow them; the device in use is for what is
made anew."""

import contextlib
import ctypes
import dataclasses
import itertools
import os
import platform
import threading

from . import library
from .library import call
from .notices import say_simulated

HOST = "cpu"  # which the runtime does not know
AUTO = "auto"


class Choice:
    """What a thread chose. Its key is that of no other choice."""
    _count = itertools.count()

    def __init__(self, asked=None, name=None):
        self.key = next(self._count) if name is None else name
        self._asked = asked  # None, until the caller chooses: what MX_DEVICE says
        self._name = name  # once it is known

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
    own = None  # of set_device, but for the thread that chose first
    over = None  # of on_device


_threads, _lock = Threads(), threading.Lock()
_process, _first = Choice(), None  # the choice of the thread that chose first


def _current():
    return _threads.over or _threads.own or _process


def set_device(name="auto", target=None):
    """Chooses the device of this thread, and of the threads that choose none if no
    other thread has chosen before: `sim`, `sim:N`, `cuda`, `cuda:N`, `cpu` or `auto`.
    `auto` is decided by the first program that is loaded, or at once by `target`
    ("sm_100a") where that is given; it is never `cpu`, the reference path in this
    process.

    Arrays that exist have their device: calls go there, whatever is in use."""
    global _process, _first
    if not isinstance(name, str):
        raise TypeError("name: expected auto, sim, sim:N, cpu, cuda or cuda:N, found "
                        f"{name!r}")
    choice = Choice(name)
    with _lock:  # who is first here is the first of the runtime
        if name == HOST:  # which it does not know
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


_devices = {}  # by name


@contextlib.contextmanager
def _put_over(name):
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
    """A context in which that device is in use, in this thread alone."""
    return _NOTHING if name == device_name() else _put_over(name)


def is_host():
    """Whether the device in use is "cpu"."""
    return _current().is_host


def is_simulator(name):
    return name.partition(":")[0] == "sim"


def require_device(what, instead):
    """Raises a ValueError on "cpu", which has neither memory nor streams of its
    own: of `what`, and what to do."""
    if is_host():
        raise ValueError(f"{what}: expected the device sim or a GPU, found cpu: "
                         f"{instead}")


def device_key():
    """Another one after each choice of a device: what was found out for the device
    before may not hold for this one."""
    return _current().key


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    """A device: `kind` is "cuda", "sim" or "cpu"; `capability` is (0, 0) for the host;
    memory is in bytes."""
    kind: str
    name: str
    multiprocessors: int
    capability: tuple  # (0, 0) of cpu
    shared_memory_per_block: int
    global_memory: int


def device_info():
    """The DeviceInfo of the device in use."""
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
    """Of a device as set_device takes it."""
    return "sim" if name == "sim:0" else name


def device_of(pointer):
    """The name of the device of an address; of what no device has, that in use."""
    info = library.INTERFACE.mxDeviceInfo()
    if library.library().mxGetMemoryDevice(pointer, info):
        library.library().mxClearError()
        return device_name()
    return short_name(info.device.decode())


def number_of(name):
    """The N of "cuda:N"; -1 of others."""
    return int(name[5:]) if name.startswith("cuda:") else -1


def device_name():
    """As set_device takes it: "sim", "sim:1", "cuda:0", "cpu"."""
    return _current().name


def set_simulator_option(option, value):
    """The options of mxSetSimulatorOption: "seed", "checks", "sm-count", ..."""
    call("mxSetSimulatorOption", option.encode(), str(value).encode())


def simulator_counters():
    """What the simulator counted in all launches of the process."""
    counters = library.INTERFACE.mxSimulatorCounters()
    call("mxGetSimulatorCounters", counters)
    return {name: getattr(counters, name) for name, _ in counters._fields_[1:]}


def synchronize():
    """Waits for everything on the device in use."""
    if not is_host():
        call("mxSynchronize")
