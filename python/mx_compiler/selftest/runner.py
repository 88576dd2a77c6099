# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the parts of the self-test on a device."""

import ctypes
import time
import traceback

import mx_compiler as mx

from . import cache, functions, graphs, program

# Each part raises an exception on failure, and may return the reason why it was skipped. The parts
# in OF_PROGRAM take the program as an argument.
OF_PROGRAM = {"quantize": program.check_quantize, "matmul": program.check_matmul,
              "threads": program.check_threads}
PARTS = {"memory": program.check_memory, **OF_PROGRAM,
         "messages": program.check_messages, "cache": cache.check_cache,
         **functions.PARTS, "graphs": graphs.check_graphs}


# CPU time of the longest parts in seconds with an empty cache. Most of it is compilation, which also
# applies to a GPU. The other parts take less than a second.
SECONDS = {"quantizers": 5, "matmuls": 8, "grouped_matmuls": 4, "layer": 12}


def has_gpu():
    """Returns True if NVIDIA's driver reports a GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return (driver.cuInit(0) == 0 and
            driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0)


def why_no_device(device):
    """Selects the device. Returns None, or the reason for the failure with a remedy."""
    try:
        mx.set_device(device)
    except (mx.Error, ValueError) as error:
        advice = f": omit --device={device} to use the simulator"
        return f"{error}{advice * device.startswith('cuda')}"
    return None


def run(directory=None, parts=()):
    """Runs `parts`, by default all, on the current device. If `directory` contains a compiled
    program, runs the parts of this program instead. Returns True if all parts passed."""
    info = mx.device_info()
    print(f"mx {mx.__version__} on {info.kind}: {info.name}", flush=True)
    names = list(parts or PARTS)
    if directory is not None:
        names = ["memory", *OF_PROGRAM]
    else:
        try:
            mx.library.compiler_path()
        except ImportError:
            print("compile: skipped, this installation has no compiler")
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
    print(f"{name}: " + (f"skipped, {left_out}" if left_out else f"passed{took}"),
          flush=True)
    return True
