# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kernels of Triton on the simulator, with tensors of the device cpu (simulator/docs/Python.md).
Triton's compiler generates PTX, without ptxas. Neither a GPU nor libcuda is needed."""

import contextlib
import re
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import torch
import triton
from triton.backends import backends
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.backends.nvidia import driver as nvidia
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime import _allocation

from .._runtime.errors import SimulatorWarning
from ._arguments import convert
from ._arrays import encode, view_of
from ._module import Module, run
from ._report import read_options

# SMs and bytes of dynamic shared memory, by the major compute capability.
_CHIPS = {9: (132, 232448), 10: (148, 232448), 12: (188, 101376)}
_FLOATS = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32, "f32": np.float32, "fp64": np.float64}


def install(chip: str = "sm_90", **options: Any) -> contextlib.ExitStack:
    """Makes the simulator the GPU of Triton. `chip` is sm_90, sm_100, sm_103 or sm_120, and `options` are
    options of sim.Module. Autotuning selects the first configuration that fits, without a launch. close()
    of the returned object, or the end of its `with` block, undoes this."""
    match = re.fullmatch(r"sm_(\d+)(\d)[af]?", chip)
    if not match or int(match[1]) not in _CHIPS:
        raise ValueError(f"chip: expected sm_90, sm_100, sm_103 or sm_120, found {chip!r}")
    driver, entry = Driver(int(match[1] + match[2]), options), backends["nvidia"]
    installed = contextlib.ExitStack()
    installed.callback(backends.__setitem__, "nvidia", entry)
    installed.callback(triton.runtime.driver.set_active, triton.runtime.driver._active)
    backends["nvidia"] = type(entry)(compiler=PtxBackend, driver=entry.driver)
    triton.runtime.driver.set_active(driver)
    return installed


class PtxBackend(CUDABackend):
    """Backend with PTX in place of the cubin."""

    def add_stages(self, stages, options, language):
        super().add_stages(stages, options, language)
        stages["cubin"] = lambda ptx, _: ptx.encode()

    def hash(self):
        return f"mx-sim-{self.target.arch}"  # Triton's cache on disk also contains cubins


class Driver(DriverBase):
    """Driver, which is also its `utils` and the key of compiled kernels."""

    def __init__(self, arch, options):
        read_options(**options)  # raises for unknown options
        self.utils, self.launcher_cls, self._arch, self._options = self, Launcher, arch, options
        self.is_trial = self.is_tuned = False

    @classmethod
    def is_active(cls):
        return False  # only by install()

    def get_current_target(self):
        return GPUTarget("cuda", self._arch, 32)

    def get_current_device(self):
        return self

    def get_current_stream(self, _):
        return 0

    def get_active_torch_device(self):
        return torch.device("cpu")

    def map_python_to_cpp_type(self, type):
        return nvidia.ty_to_cpp(type)

    def get_benchmarker(self):
        return self._rate

    def _rate(self, call, quantiles=(0,), **kwargs):
        """Prefers the first configuration that compiles and fits, and compiles no others until the next launch."""
        seconds = float(self.is_tuned)
        if not self.is_tuned:
            self.is_trial = True
            try:
                call()
            finally:
                self.is_trial = False
            self.is_tuned = True
        return [seconds] * len(quantiles)

    def get_device_properties(self, _):
        count, shared = _CHIPS[self._arch // 10]
        return {"multiprocessor_count": self._options.get("sm_count", count), "max_shared_mem": shared,
                "max_num_regs": 65536, "warpSize": 32}

    def load_binary(self, name, ptx, *_):
        module = Module(ptx, **self._options)
        module.lines = ptx.decode().splitlines()
        return module, module[name], 0, 0, 1024  # registers, spills, largest block

    unload_module = staticmethod(Module.close)

    def fill_tma_descriptor(self, address, swizzle, size, number, box, shape, strides, fill):
        return encode(number, address, shape, [n * size for n in strides], box, None, 0, swizzle, 2, fill)

    fill_tma_descriptor_tiled = fill_tma_descriptor  # since Triton 3.9


class Launcher:
    """Launcher of a compiled kernel."""

    def __init__(self, source, metadata):
        self._metadata, self._signature = metadata, source.signature

    def __call__(self, x, y, z, stream, kernel, packed, launch_metadata, enter, exit, *arguments):
        metadata, ranges, given, scratch = self._metadata, [], [], []
        driver = triton.runtime.driver.active
        if driver.is_trial:
            return
        driver.is_tuned = False
        if not x * y * z:
            return
        maps = iter(getattr(metadata, "tensordesc_meta", None) or ())
        for (name, type), value in zip(self._signature.items(), arguments, strict=True):
            given += [(name, *each) for each in _flatten(type, value, maps, ranges, name)]
        for name, allocator in ("global_scratch", _allocation._allocator), (
                "profile_scratch", _allocation._profile_allocator):
            size, align = (getattr(metadata, f"{name}_{what}") for what in ("size", "align"))
            size, address = size * x * y * z * metadata.num_ctas, 0
            if size:  # PyTorch aligns host memory to 64 bytes only
                scratch.append(allocator.get()(size + align, align, stream))
                address = -(-scratch[-1].data_ptr() // align) * align
                ranges.append((address, address + size, name))
            given.append((name, None, address))
        values = []
        for (name, type, value), parameter in zip(given, kernel.parameters, strict=True):
            value = _FLOATS[type](value) if type in _FLOATS else _address(value, name, ranges)
            values.append(convert(value, parameter, name, ranges))
        if enter:
            enter(launch_metadata)
        ctas = metadata.num_ctas
        report = run(kernel, {
            "grid": (x * ctas, y, z), "block": (32 * metadata.num_warps, 1, 1),
            "cluster": (ctas, 1, 1) if ctas > 1 else (0, 0, 0), "dynamic_shared_memory": metadata.shared,
        }, values, ranges, None, metadata.launch_cooperative_grid, metadata.launch_pdl,
            lambda finding: _is_repetition(finding, kernel.module.lines))
        if exit:
            exit(launch_metadata)
        for finding in report.findings:
            if finding.is_warning:
                warnings.warn(finding.text, SimulatorWarning, stacklevel=4)


def _is_repetition(finding, ptx):
    """Returns True for the race of a load with a later store of the same block. If a tensor has fewer elements
    than the block has threads, all threads load, and the guard of the store selects threads by their index."""
    race = re.match(r"the (read|write) of global .* races with the (read|write) at line \d+ by warp", finding["message"])
    if finding["kind"] != "race" or not race or race[1] == race[2]:
        return False
    load, store = (finding, finding["other"])[::1 if race[1] == "read" else -1]
    guard = re.match(r"\s*@(%p\d+) st", ptx[store["line"] - 1])
    return load["source"]["line"] <= store["source"]["line"] and bool(guard) and _selects_threads(
        guard[1], "\n".join(ptx))


def _selects_threads(predicate, ptx):
    """Returns True if a predicate compares the index of the thread with a constant, or bits of it with 0."""
    if both := re.search(rf"and\.pred\s+{predicate}, (%p\d+), (%p\d+);", ptx):
        return any(_selects_threads(each, ptx) for each in both.groups())
    compared = re.search(rf"setp\.(?:lt\.u32\s+{predicate}, (%r\d+), \d+|eq\.b32\s+{predicate}, (%r\d+), 0);", ptx)
    index = compared and (compared[1] or compared[2])
    bits = compared and compared[2] and re.search(rf"and\.b32\s+{index}, (%r\d+), \d+;", ptx)
    return re.search(rf"mov\.u32\s+{bits[1] if bits else index}, %tid\.x;", ptx) is not None


def _flatten(type, value, maps, ranges, name):
    """Yields the type and the value of each parameter of an argument."""
    if isinstance(type, tuple):
        for inner, each in zip(type, value, strict=True):
            yield from _flatten(inner, each, maps, ranges, name)
    elif type.startswith("tensordesc"):
        _address(value.base, name, ranges)
        count = nvidia.make_tensordesc_arg.__code__.co_argcount  # 3 since Triton 3.9
        yield from ((None, each) for each in nvidia.make_tensordesc_arg(*(value, next(maps, None), None)[:count]))
    elif type != "constexpr":
        yield type, value


def _address(value, name, ranges):
    """Returns the address of a tensor with any strides, and adds its memory to `ranges`. Returns other
    values, with 0 for None."""
    while not isinstance(value, torch.Tensor) and hasattr(value, "data_ptr"):
        value = value.base  # triton.reinterpret
    view = view_of(value, name)
    if view is None:
        return 0 if value is None else value
    ranges.append((*view.range, name))
    return view.address
