# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The device of the process, and options of the simulator."""

import ctypes
import dataclasses

from . import library
from .library import call


def set_device(name="auto", target=None):
    """`sim`, `cuda`, `cuda:N` or `auto`. `auto` is decided by the first program
    that is loaded, or at once by `target` ("sm_100a") where that is given."""
    global _changes
    if target is None:
        call("mxSetDevice", name.encode())
    else:
        call("mxSetDeviceForTarget", name.encode(), target.encode())
    _changes += 1


_changes = 0


def device_changes():
    """How often the device was chosen: what was loaded before is on another."""
    return _changes


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    kind: str
    name: str
    multiprocessors: int
    capability: tuple
    shared_memory_per_block: int
    global_memory: int


def device_info():
    info = library.DeviceInfo()
    call("mxGetDeviceInfo", info)
    return DeviceInfo(info.kind.decode(), info.name.decode(),
                      info.multiprocessors,
                      (info.capability_major, info.capability_minor),
                      info.shared_memory_per_block, info.global_memory)


def device_number():
    """The N of "cuda:N"; -1 on the simulator."""
    number = ctypes.c_int32()
    call("mxGetDeviceNumber", number)
    return number.value


def device_name():
    """As set_device takes it: "sim", "cuda:0"."""
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
    call("mxSynchronize")
