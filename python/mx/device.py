# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The device of the process, its streams, and options of the simulator."""

import ctypes
import dataclasses

from . import library
from .library import call


def set_device(name="auto", target=None):
    """`sim`, `cuda`, `cuda:N` or `auto`. `auto` is decided by the first program
    that is loaded, or at once by `target` ("sm_100a") where that is given."""
    if target is None:
        call("mxSetDevice", name.encode())
    else:
        call("mxSetDeviceForTarget", name.encode(), target.encode())


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


class Stream:
    """A stream of its own. `handle` is what the runtime calls it, on a GPU the
    driver's CUstream."""

    def __init__(self):
        self._handle = ctypes.c_void_p()
        # Memory of the host that copies may still read.
        self._read = []
        call("mxStreamCreate", self._handle)

    @property
    def handle(self):
        if self._handle is None:
            raise ValueError("the stream was closed")
        return self._handle

    def keep(self, memory):
        """Keeps memory of the host until the stream has been waited for."""
        self._read.append(memory)

    def synchronize(self):
        read = len(self._read)
        call("mxStreamSynchronize", self.handle)
        del self._read[:read]

    def close(self):
        """Waits and destroys the stream."""
        if self._handle is None:
            return
        self.synchronize()
        handle, self._handle = self._handle, None
        call("mxStreamDestroy", handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        try:
            self.close()
        except Exception:  # the process may be ending
            pass


def stream_handle(stream):
    """Of a Stream, None (the default stream) or a CUstream as a number."""
    if stream is None:
        return None
    if isinstance(stream, Stream):
        return stream.handle
    if isinstance(stream, int):
        return ctypes.c_void_p(stream)
    raise TypeError("expected a stream to be a mx.Stream, None or the number "
                    f"of a CUstream, found {type(stream).__name__}")


def wait(stream):
    """Waits for a stream; copies of the default stream are complete already."""
    if isinstance(stream, Stream):
        stream.synchronize()
    elif stream is not None:
        call("mxStreamSynchronize", stream_handle(stream))
