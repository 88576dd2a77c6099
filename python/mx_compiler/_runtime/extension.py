# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mx_calls, the extension that makes prepared calls with tensors without ctypes. It is
compiled against the part of Python's interface that stays, so one file serves all
versions. Where it cannot be loaded, as by an interpreter that is not CPython or has no
global lock, calls go by ctypes: they are slower and do the same."""

import functools
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import sysconfig

from .library import candidates

INTERFACE = 1  # MX_CALLS_INTERFACE of python/extension/CMakeLists.txt
FILE = "mx_calls.abi3.so"
_NONE = "none"


def path():
    """Where it lies: named by the environment (MX_EXTENSION), in the wheel, or beside the
    runtime. None where there is none, or the environment says "none"."""
    named = os.environ.get("MX_EXTENSION")
    if named:
        return None if named == _NONE else named
    folders = [pathlib.Path(__file__).resolve().parent.parent]
    folders += [pathlib.Path(found).parent for found in candidates()
                if os.path.dirname(found)]
    return next((str(folder / FILE) for folder in folders if (folder / FILE).exists()),
                None)


@functools.lru_cache(None)
def extension():
    """The module; None where calls go by ctypes. Raises an ImportError if the environment
    names one that cannot be loaded or is of another version."""
    found = path() if _is_served() else None
    if found is None:
        return None
    try:
        return _load(found)
    except ImportError:
        if os.environ.get("MX_EXTENSION"):
            raise
        return None


def _is_served():
    """Whether this interpreter has the interface: a file is loaded by its path, which
    Python does not compare with what it can load."""
    return (sys.implementation.name == "cpython" and sys.maxsize > 2**32
            and not sysconfig.get_config_var("Py_GIL_DISABLED"))


def _load(found):
    loader = importlib.machinery.ExtensionFileLoader("mx_calls", found)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_file_location("mx_calls", found, loader=loader))
    loader.exec_module(module)
    if module.INTERFACE != INTERFACE:
        raise ImportError(f"{found}: expected interface {INTERFACE} of mx_calls, found "
                          f"{module.INTERFACE}: build it anew, or set MX_EXTENSION to "
                          f'"{_NONE}"')
    return module
