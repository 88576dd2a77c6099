# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what mx-compile wrote, on a GPU or on the simulator.

    import mx
    mx.set_device("sim")
    with mx.Program("matmul") as program:
        y, = program["main"](x, w)

docs/Python.md describes the package.
"""

from . import library
from .array import DeviceArray, array, empty
from .device import (DeviceInfo, Stream, device_info, set_device,
                     set_simulator_option, simulator_counters, synchronize)
from .errors import Error
from .program import Entry, Program, Value

__all__ = ["DeviceArray", "DeviceInfo", "Entry", "Error", "Program", "Stream",
           "Value", "array", "device_info", "empty", "set_device",
           "set_simulator_option", "simulator_counters", "synchronize"]


def __getattr__(name):
    """`__version__`, which is the runtime's: the library is loaded for it."""
    if name == "__version__":
        return library.library().mxGetVersion().decode()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
