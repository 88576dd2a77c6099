# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m mx_compiler._doctor.probe NAME
Determines the fact NAME and prints it as JSON.

Each probe runs in its own process, because a broken driver or library may crash or hang, and a
process selects its device once."""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import sys
import time

from .._runtime.chips import CHIPS

PROGRAM = """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.addf %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
"""


def probe_driver():
    """Returns the driver's CUDA version and the version of the kernel module."""
    driver = ctypes.CDLL(os.environ.get("MX_CUDA_DRIVER") or "libcuda.so.1")
    version = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    return {"cuda": f"{version.value // 1000}.{version.value % 1000 // 10}",
            "module": _find_module()}


def _find_module():
    with contextlib.suppress(OSError):
        text = pathlib.Path("/proc/driver/nvidia/version").read_text()
        found = re.search(r"\b\d+\.\d+(\.\d+)?\b", text)
        return found and found[0]
    return None


def probe_runtime():
    """Returns the version and file of the runtime, the file of the extension for tensor calls, and
    the targets of the simulator."""
    import mx_compiler as mx
    from mx_compiler._runtime.extension import extension
    mx.set_device("sim")
    library, module = mx.library.library(), extension()
    return {"version": mx.__version__, "file": library._name,
            "calls": module and module.__file__, "simulator": _find_targets(library)}


def probe_gpus():
    """Returns the GPUs, each with its targets."""
    import mx_compiler as mx
    found = []
    while True:
        try:
            mx.set_device(f"cuda:{len(found)}")
            info = mx.device_info()
        except mx.Error as error:
            return {"gpus": found, "end": str(error)}
        found.append({"device": f"cuda:{len(found)}", "name": info.name,
                      "capability": "sm_{}{}".format(*info.capability),
                      "memory": info.global_memory,
                      "runs": _find_targets(mx.library.library())})


def _find_targets(library):
    return [target for target in CHIPS.values() if library.mxCanRunTarget(target.encode())]


def probe_default():
    """Runs a program on the default device and describes the device."""
    import numpy as np

    import mx_compiler as mx
    from mx_compiler._compile.compile import default_chip
    start, x = time.perf_counter(), np.arange(64, dtype=np.float32)
    info = mx.device_info()
    found = {"device": mx.device_name(), "kind": info.kind, "name": info.name,
             "chip": None if info.kind == "cpu" else default_chip()}
    try:
        mx.library.compiler_path()
        y, = mx.compile(PROGRAM, cache=False)["main"](x)
        works, found["did"] = np.array_equal(y, x + x), "compiled and ran a program"
    except ImportError:
        works, found["did"] = np.array_equal(mx.array(x).numpy(), x), "copied an array"
    if not works:
        raise ValueError("the results are wrong")
    return {**found, "seconds": time.perf_counter() - start}


def probe_torch():
    """Checks PyTorch against the requirements of mx_compiler.torch."""
    import torch
    found = {"version": torch.__version__, "cuda": torch.version.cuda,
             "gpus": torch.cuda.device_count()}
    from mx_compiler.torch import requirements
    requirements.check()
    return found


PROBES = {name.removeprefix("probe_"): function for name, function in list(globals().items())
          if name.startswith("probe_")}


def describe(error):
    """Describes an error in one line, without compiler remarks."""
    texts = [str(message) for message in getattr(error, "diagnostics", ())
             if message.severity == "error"]
    return " ".join("; ".join(texts or [str(error)]).split()) or type(error).__name__


def main(name):
    # Libraries print to standard error, so standard output contains only the answer.
    answer, sys.stdout = sys.stdout, sys.stderr
    try:
        found = PROBES[name]()
    except Exception as error:
        found = {"error": describe(error)}
    print(json.dumps(found), file=answer, flush=True)
    os._exit(0)  # a broken driver may crash at exit


if __name__ == "__main__":
    main(sys.argv[1])
