# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules and kernels on the simulator."""

import ctypes
import functools
import json
import os
import pathlib
from typing import Any, Callable, Iterable, Iterator, Optional, Union

import numpy as np

from .._runtime import library
from .._runtime.closing import Closing
from .._runtime.device import override_device
from .._runtime.errors import Error
from .._runtime.interrupts import run_interruptibly
from .._runtime.library import INTERFACE, call
from ._arguments import convert
from ._arrays import merge, view_of
from ._report import Report, collections, read_options, take


class Module(Closing):
    """PTX module on the simulator. `source` is PTX text, the bytes of a fatbin or cubin that contains
    PTX, or the path of such a file.

    `options` apply to all launches: `seed` of the order of execution, `checks` (a name, a list of names,
    "all" or "none"), `sm_count`, `threads` of the host, `time` ("h200" or "b200") to model time,
    `instruction_limit`, and `tensor_sums` ("exact" or "truncated")."""

    def __init__(self, source: Union[str, bytes, os.PathLike], **options: Any) -> None:
        self._handle, self.options, name = ctypes.c_void_p(), read_options(**options), "module.ptx"
        if isinstance(source, os.PathLike) or isinstance(source, str) and "\n" not in source:
            name, source = os.path.basename(source), pathlib.Path(source).read_bytes()
        image = source.encode() if isinstance(source, str) else bytes(source)
        with override_device("sim"):
            call("mxModuleLoad", self._handle, image, len(image), os.fsencode(name))
        found = self._describe()
        self.name: str = found["name"]
        self.target: str = found["target"]
        self.kernels = tuple(kernel["name"] for kernel in found["kernels"])
        self.globals = Globals(found["variables"])

    def _describe(self, kernel=None):
        texts = []
        call("mxModuleDescribe", self._handle, None if kernel is None else kernel.encode(), _keep(texts), None)
        return json.loads(texts[0])

    def __getitem__(self, name: str) -> "Kernel":
        """Returns a kernel by its PTX name, or by its C++ name if a single kernel matches. Namespaces,
        template arguments and parameters of a C++ name may be omitted."""
        found = self._describe(name)["kernels"]
        if len(found) != 1:
            names = ", ".join([kernel["cpp_name"] for kernel in found] or self.kernels)
            what = "is the name of several" if found else "is not"
            raise Error(f"{self.name}: expected one of the kernels {names}, found '{name}', which {what}",
                        *library.status(INTERFACE.MX_ERROR_NOT_FOUND))
        function = ctypes.c_void_p()
        call("mxModuleGetFunction", function, self._handle, found[0]["name"].encode())
        return Kernel(self, function, found[0])

    def close(self) -> None:
        """Unloads the module."""
        handle, self._handle = self._handle, ctypes.c_void_p()
        call("mxModuleUnload", handle)


class Globals:
    """Variables of a module. Reading one returns its bytes as an array of uint8, a copy. Assigning an
    array of the same size in bytes copies it in."""

    def __init__(self, variables):
        self._variables = {each["name"]: each for each in variables}

    def __getitem__(self, name: str) -> np.ndarray:
        found = np.empty(self._variables[name]["bytes"], np.uint8)
        call("mxMemcpyToHost", found.ctypes.data, self._variables[name]["address"], found.nbytes, None)
        return found

    def __setitem__(self, name: str, value: Any) -> None:
        variable, given = self._variables[name], np.ascontiguousarray(value)
        if given.nbytes != variable["bytes"]:
            raise ValueError(f"variable '{name}': expected {variable['bytes']} bytes, found {given.nbytes} bytes of "
                             f"{given.dtype}")
        call("mxMemcpyToDevice", variable["address"], given.ctypes.data, given.nbytes, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)


class Kernel:
    """Kernel of a module: kernel[grid, block](*arguments), or kernel[grid, block, cluster, smem] with the
    cluster shape and the bytes of dynamic shared memory. Shapes are ints or tuples, x first."""

    def __init__(self, module: Module, function: ctypes.c_void_p, description: dict) -> None:
        self.module, self._function = module, function
        self.name: str = description["name"]
        self.parameters: list = description["parameters"]

    def __getitem__(self, shape: tuple) -> Callable[..., Report]:
        """Returns the function `launch` for a grid, a block, a cluster and shared memory."""
        if not isinstance(shape, tuple) or not 2 <= len(shape) <= 4:
            raise TypeError("expected kernel[grid, block], kernel[grid, block, cluster] or kernel[grid, block, "
                            f"cluster, smem], found {shape!r}")
        grid, block, cluster, smem = (*shape, *(None, 0)[len(shape) - 2:])
        return functools.partial(self.launch, {
            "grid": _extent("grid", grid), "block": _extent("block", block),
            "cluster": (0, 0, 0) if cluster is None else _extent("cluster", cluster), "dynamic_shared_memory": smem})

    def launch(self, shape: dict, *arguments: Any, check: Optional[bool] = None, cooperative: bool = False,
               programmatic: bool = False, memory: Iterable[Any] = ()) -> Report:
        """Runs the kernel to its end, and returns its Report. Arrays of NumPy and CPU tensors of
        PyTorch are shared with the kernel; `memory` lists arrays that a kernel reaches through structs.
        Raises FindingsError for errors among the findings unless check=False."""
        if len(arguments) != len(self.parameters):
            raise TypeError(f"kernel '{self.name}': expected {len(self.parameters)} arguments, found {len(arguments)}")
        ranges: list = []
        values = [convert(value, parameter, f"argument {i}", ranges)
                  for i, (value, parameter) in enumerate(zip(arguments, self.parameters))]
        for i, array in enumerate(memory):
            if (view := view_of(array, f"memory[{i}]")) is None:
                raise TypeError(f"memory[{i}]: expected an array, found {array.__class__.__name__}")
            ranges.append((*view.range, f"memory[{i}]"))
        return run(self, shape, values, ranges, check, cooperative, programmatic)


def run(kernel, shape, values, ranges, check, cooperative, programmatic, is_harmless=lambda finding: False):
    """Launches a kernel with the bytes of its parameters and with memory (begin, end, name)."""
    shared, texts = merge(ranges), []
    count, buffers = len(shared), [ctypes.create_string_buffer(value, len(value)) for value in values]
    options = {**collections.stack[-1][1], **kernel.module.options}
    # `time` sets the number of SMs, so it comes first.
    words = [word.encode() for name in sorted(options, key="time".__ne__) for word in (name, options[name])] + [None]
    reported = INTERFACE.mxReportedLaunch(
        options=(ctypes.c_char_p * len(words))(*words), memory_count=count, report=_keep(texts),
        memory=(ctypes.c_void_p * count)(*(begin for begin, _, _ in shared)),
        memory_bytes=(ctypes.c_int64 * count)(*(end - begin for begin, end, _ in shared)),
        memory_names=(ctypes.c_char_p * count)(*(name.encode() for _, _, name in shared)))
    config = INTERFACE.mxLaunchConfig(
        flags=INTERFACE.MX_LAUNCH_COOPERATIVE * bool(cooperative) + INTERFACE.MX_LAUNCH_PROGRAMMATIC * bool(programmatic),
        **{name: (ctypes.c_int64 * 3)(*value) if isinstance(value, tuple) else value for name, value in shape.items()})
    with override_device("sim"):
        run_interruptibly(call, "mxLaunchReported", kernel._function, config,
                          (ctypes.c_void_p * len(buffers))(*map(ctypes.addressof, buffers)), len(buffers), reported)
    if not texts:
        raise ValueError(f"kernel '{kernel.name}': expected a grid of at least one block, found {shape['grid']}")
    return take(texts[0], check, is_harmless)


def _keep(texts):
    return INTERFACE.mxTextHandler(lambda text, _: texts.append(ctypes.string_at(text).decode(errors="replace")))


def _extent(what, value):
    values = value if isinstance(value, tuple) else (value,)
    if not 1 <= len(values) <= 3 or not all(isinstance(n, (int, np.integer)) and n >= 0 for n in values):
        raise TypeError(f"{what}: expected an int or a tuple of up to three ints, found {value!r}")
    return (*map(int, values), 1, 1)[:3]
