# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs programs on block-scaled tensors on a GPU, the simulator or the host.

    import mx_compiler as mx
    mx.set_device("sim")
    q = mx.quantize(x, "mxfp8")
    y = mx.matmul(q, mx.quantize(w, "mxfp4"))

    program = mx.compile(mx.Template(pathlib.Path("layer.mlir")), hidden=384)
    y, = program["main"](x, w)

docs/guide/Python.md describes the package.
"""

import typing

from ._arrays.array import DeviceArray, array, empty, from_dlpack
from ._arrays.elements import pack_fp4, unpack_fp4
from ._compile.compile import compile
from ._compile.templates import Template
from ._ops.formats import FORMATS, Format
from ._ops.matmuls import grouped_matmul, matmul
from ._ops.experts import (GroupedRows, group_rows, MoELayer, MoESaved, MoEWeights, moe_layer,
                           route, RoutedMoELayer, RoutedSaved)
from ._ops.pack_weights import pack_weights, unpack_weights
from ._ops.quantize import dequantize, quantize, swiglu_quantize
from ._ops.quantized import Quantized
from ._programs.entry import Entry
from ._programs.rank_group import Group, GroupFailure, GroupInfo
from ._programs.program import Program
from ._programs.values import Value
from ._runtime import library
from ._runtime.device import (DeviceInfo, device_info, device_name, set_device,
                              set_simulator_option, simulator_counters, synchronize)
from ._runtime.errors import (CapacityError, CompileError, CompileWarning, Diagnostic,
                              Error, InvalidValueError, SimulatorWarning)
from ._runtime.streams import Stream

__all__ = ["array", "CapacityError", "compile", "CompileError", "CompileWarning", "dequantize",
           "device_info", "device_name", "DeviceArray", "DeviceInfo",
           "Diagnostic", "empty", "Entry", "Error", "Format", "FORMATS",
           "from_dlpack", "Group", "group_rows", "grouped_matmul", "GroupedRows",
           "GroupFailure", "GroupInfo",
           "InvalidValueError", "matmul",
           "moe_layer", "MoELayer", "MoESaved", "MoEWeights", "pack_fp4",
           "pack_weights", "Program", "quantize", "Quantized", "route", "RoutedMoELayer",
           "RoutedSaved", "set_device", "set_simulator_option", "simulator_counters",
           "SimulatorWarning", "Stream", "swiglu_quantize", "synchronize", "Template",
           "unpack_fp4", "unpack_weights", "Value"]


# Public module names, for messages and pickles.
for _name in __all__:
    if getattr(globals()[_name], "__module__", "").startswith(f"{__name__}._"):
        globals()[_name].__module__ = __name__


__version__: str


def __dir__():
    """Lists the public names. Modules start with an underscore or are imported by name."""
    return sorted([*__all__, "__doc__", "__version__"])


if not typing.TYPE_CHECKING:  # or type checkers would accept any name
    def __getattr__(name):
        """Loads the library for `__version__`, the version of the runtime."""
        if name == "__version__":
            return library.library().mxGetVersion().decode()
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
