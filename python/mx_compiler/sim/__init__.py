# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs PTX kernels on the simulator and returns their findings.

    report = sim.Module("halves.ptx")["halves"][2, 64](x, y)

simulator/docs/Python.md describes the package."""

from ._arrays import TensorMap, tensor_map
from ._module import Kernel, Module
from ._report import Finding, FindingsError, Report, collect

__all__ = ["Finding", "FindingsError", "Kernel", "Module", "Report", "TensorMap", "collect", "tensor_map"]

for _name in __all__:
    globals()[_name].__module__ = __name__
