# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads mx_calls, the extension that runs prepared calls with tensors without ctypes. The extension
uses Python's stable ABI, so one file supports all versions of Python. If it cannot be loaded, for
example because the interpreter is not CPython or has no GIL, calls use ctypes. Such calls are slower
and have the same results."""

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
    """Returns the path of the extension: MX_EXTENSION if set, else the file in the wheel or in the
    folder of the runtime. Returns None if there is no file or MX_EXTENSION is "none"."""
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
    """Returns the module, or None if calls must use ctypes. Raises ImportError if MX_EXTENSION names
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
    """Returns True if this interpreter supports the stable ABI. Python does not check this if a
    module is loaded by path."""
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
