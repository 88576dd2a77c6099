# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the parts of the self-test on one device."""

import ctypes
import time
import traceback

import mx_compiler as mx

from . import cache, functions, graphs, program

# Each raises an exception where something is wrong, and may return why it left
# something out. Those of a program get one.
OF_PROGRAM = {"quantize": program.check_quantize, "matmul": program.check_matmul,
              "threads": program.check_threads}
PARTS = {"memory": program.check_memory, **OF_PROGRAM,
         "messages": program.check_messages, "cache": cache.check_cache,
         **functions.PARTS, "graphs": graphs.check_graphs}


# Processor time of the longest parts, in seconds, with an empty cache: most of it compiles,
# for a GPU too. Others take less than one.
SECONDS = {"quantizers": 5, "matmuls": 8, "grouped_matmuls": 4, "layer": 12}


def has_gpu():
    """Whether NVIDIA's driver is there, with a GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return (driver.cuInit(0) == 0 and
            driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0)


def why_no_device(device):
    """Sets the device; why it cannot be used, and what to do, else None."""
    try:
        mx.set_device(device)
    except (mx.Error, ValueError) as error:
        advice = f": leave out --device={device}, and the simulator is used"
        return f"{error}{advice * device.startswith('cuda')}"
    return None


def run(directory=None, parts=()):
    """Runs the parts, all if none is named, or those of the compiled program in
    `directory`, on the device that was set; whether they passed."""
    info = mx.device_info()
    print(f"mx {mx.__version__} on {info.kind}: {info.name}", flush=True)
    names = list(parts or PARTS)
    if directory is not None:
        names = ["memory", *OF_PROGRAM]
    else:
        try:
            mx.library.compiler_path()
        except ImportError:
            print("compile: left out, this installation has no compiler")
            names = ["memory"]
    count = len(names)
    seconds = sum(SECONDS.get(name, 0.5) for name in names)
    print(f"{count} part{'s' * (count > 1)}, about {max(1, round(seconds))} s of processor time",
          flush=True)
    return all([_run(name, directory) for name in names])


def _run(name, directory):
    check, arguments = PARTS[name], []
    start = time.perf_counter()
    try:
        if name in OF_PROGRAM:
            arguments = [mx.compile(program.SOURCE) if directory is None
                         else mx.Program(directory)]
        left_out = check(*arguments)
    except Exception as error:
        if not isinstance(error, AssertionError):
            traceback.print_exc()
        print(f"{name}: FAILED: {error}", flush=True)
        return False
    took = f" ({time.perf_counter() - start:.1f} s)"
    print(f"{name}: " + (f"left out, {left_out}" if left_out else f"passed{took}"),
          flush=True)
    return True
