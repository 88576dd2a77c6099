# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mx_calls, the extension for prepared calls with tensors without ctypes. Built against
Python's stable ABI, so a single file serves all versions. If it cannot be loaded, as on
interpreters other than CPython or without a GIL, calls use ctypes: slower, with the same
results."""

import functools
import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import sysconfig

from .library import candidates

INTERFACE = 1  # equals MX_CALLS_INTERFACE in python/extension/CMakeLists.txt
FILE = "mx_calls.abi3.so"
_NONE = "none"


def path():
    """Returns the path: MX_EXTENSION, in the wheel, or beside the runtime. None if missing or
    if MX_EXTENSION is "none"."""
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
    """Returns the module, or None if calls use ctypes. Raises ImportError if MX_EXTENSION names
    a module that cannot be loaded or has another version."""
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
    """Returns True if this interpreter has the stable ABI; loading by path skips Python's own
    check."""
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
