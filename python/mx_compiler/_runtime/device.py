# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The device of the process, and options of the simulator."""

import ctypes
import dataclasses
import os
import platform

from . import library
from .library import call


def set_device(name="auto", target=None):
    """`sim`, `cuda`, `cuda:N`, `cpu` or `auto`. `auto` is decided by the first
    program that is loaded, or at once by `target` ("sm_100a") where that is given;
    it is never `cpu`, the reference path in this process."""
    global _changes, _is_host
    if not isinstance(name, str):
        raise TypeError("name: expected auto, sim, cpu, cuda or cuda:N, found "
                        f"{name!r}")
    if name != HOST:
        if target is None:
            call("mxSetDevice", name.encode())
        else:
            call("mxSetDeviceForTarget", name.encode(), target.encode())
    _is_host = name == HOST
    _changes += 1


HOST = "cpu"  # which the runtime does not know
_changes = 0
_is_host = None  # until the caller chooses: what MX_DEVICE says


def is_host():
    """Whether the device is "cpu"."""
    if _is_host is None:
        return os.environ.get("MX_DEVICE") == HOST
    return _is_host


def require_device(what, instead):
    """Raises a ValueError on "cpu", which has neither memory nor streams of its
    own: of `what`, and what to do."""
    if is_host():
        raise ValueError(f"{what}: expected the device sim or a GPU, found cpu: "
                         f"{instead}")


def device_changes():
    """How often the device was chosen: what was loaded before is on another."""
    return _changes


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    kind: str
    name: str
    multiprocessors: int
    capability: tuple  # (0, 0) of cpu
    shared_memory_per_block: int
    global_memory: int


def device_info():
    if is_host():
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return DeviceInfo(HOST, platform.processor() or platform.machine(),
                          os.cpu_count() or 1, (0, 0), 0, memory)
    info = library.DeviceInfo()
    call("mxGetDeviceInfo", info)
    return DeviceInfo(info.kind.decode(), info.name.decode(),
                      info.multiprocessors,
                      (info.capability_major, info.capability_minor),
                      info.shared_memory_per_block, info.global_memory)


def device_number():
    """The N of "cuda:N"; -1 elsewhere."""
    if is_host():
        return -1
    number = ctypes.c_int32()
    call("mxGetDeviceNumber", number)
    return number.value


def device_name():
    """As set_device takes it: "sim", "cuda:0", "cpu"."""
    if is_host():
        return HOST
    number = device_number()
    return "sim" if number < 0 else f"cuda:{number}"


def set_simulator_option(option, value):
    """The options of mxSetSimulatorOption: "seed", "checks", "sm-count", ..."""
    call("mxSetSimulatorOption", option.encode(), str(value).encode())


def simulator_counters():
    """What the simulator counted in all launches of the process."""
    counters = library.SimulatorCounters()
    library.library().mxGetSimulatorCounters(counters)
    return {name: getattr(counters, name) for name, _ in counters._fields_}


def synchronize():
    """Waits for everything on the device."""
    if not is_host():
        call("mxSynchronize")
