# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs programs on block-scaled tensors, on a GPU or the simulator.

    import mx
    mx.set_device("sim")
    program = mx.compile(mx.Template(pathlib.Path("layer.mlir")), hidden=384)
    y, = program["main"](x, w)

docs/Python.md describes the package.
"""

from . import library
from .array import DeviceArray, array, empty, from_dlpack
from .compilation import compile
from .device import (DeviceInfo, device_info, device_name, set_device,
                     set_simulator_option, simulator_counters, synchronize)
from .elements import pack_fp4, unpack_fp4
from .entry import Entry
from .errors import (CompileError, CompileWarning, Diagnostic, Error,
                     InvalidValueError)
from .program import Program
from .streams import Stream
from .templates import Template
from .values import Value

__all__ = ["CompileError", "CompileWarning", "DeviceArray", "DeviceInfo",
           "Diagnostic", "Entry", "Error", "InvalidValueError", "Program",
           "Stream", "Template", "Value", "array", "compile", "device_info",
           "device_name", "empty", "from_dlpack", "pack_fp4", "set_device",
           "set_simulator_option", "simulator_counters", "synchronize",
           "unpack_fp4"]


def __getattr__(name):
    """`__version__`, which is the runtime's: the library is loaded for it."""
    if name == "__version__":
        return library.library().mxGetVersion().decode()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
