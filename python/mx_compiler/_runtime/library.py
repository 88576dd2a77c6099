# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds libmx_runtime and the compiler library, and binds the runtime with ctypes."""

import ctypes
import os
import pathlib
import sys
import threading
import warnings

from .errors import Error, InvalidValueError, SimulatorWarning, caller_depth
from .headers import Interface

INTERFACE = Interface("mx_runtime.h", "mx_group.h", "mx_program.h")
INVALID_VALUE = INTERFACE.MX_ERROR_INVALID_VALUE

_SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
# A wheel contains one library with both the runtime and the compiler. A build folder, an
# installation and the runtime-only wheel contain the runtime as a separate library.
WHOLE = "libmx" + _SUFFIX
FILE = "libmx_runtime" + _SUFFIX
COMPILER = "libMXCAPI" + _SUFFIX


def candidates():
    """Returns the paths of the runtime to try in order. If MX_RUNTIME is set, only this path is
    tried. Otherwise, these are the existing libraries in the wheel and in the installation, and the
    name for the loader's search path."""
    named = os.environ.get("MX_RUNTIME")
    if named:
        return [named]
    here = pathlib.Path(__file__).resolve().parent.parent
    beside = [here / WHOLE, here / FILE, here.parents[1] / FILE]
    return [str(path) for path in beside if path.exists()] + [FILE]


def compiler_path():
    """Returns the path of the library with the functions of mx-c/Compiler.h: MX_COMPILER if set, else
    the library in the wheel or in the folder of the runtime. Raises ImportError if this installation
    has no compiler."""
    named = os.environ.get("MX_COMPILER")
    if named:
        if not os.path.exists(named):
            raise ImportError(
                f"expected the compiler of mx in {named}, found no file: set "
                f"MX_COMPILER to the path of {COMPILER} or {WHOLE}, or unset "
                "MX_COMPILER to use the library beside the runtime")
        return named
    for path in map(pathlib.Path, candidates()):
        found = path if path.name == WHOLE else path.parent / COMPILER
        # A bare name, for the loader, is without a folder.
        if path.name != str(path) and found.exists():
            return str(found)
    raise ImportError(
        "this installation of mx runs compiled programs and has no compiler: "
        f"expected {WHOLE} in the package or {COMPILER} beside {FILE}, found "
        "neither. Install the wheel mx-compiler in place of "
        "mx-compiler-runtime, or set MX_COMPILER to the path of the library")


def load():
    reasons = []
    for path in candidates():
        try:
            library = ctypes.CDLL(path)
            break
        except OSError as error:
            reasons.append(str(error))
    else:
        raise ImportError(
            "cannot load the runtime of mx: " + "; ".join(reasons) +
            f". Set MX_RUNTIME to the path of {FILE}")
    try:
        INTERFACE.bind(library)
    except AttributeError as error:
        raise ImportError(f"{path} is not a runtime for this package: {error}")
    # Prepared calls pass the addresses of their arrays as integers.
    types = library.mxEntryLaunch.argtypes
    types[1] = types[3] = ctypes.c_void_p
    library.mxEntryLaunch.argtypes = types
    # Errors become exceptions, so the runtime must not print them.
    library.mxSetErrorPolicy(INTERFACE.MX_ERRORS_RETURN)
    library.mxSetWarningHandler(_keep_warning, None)
    return library


class Told(threading.local):
    """Warnings of this thread's launches. They are stored and issued later, because a filter may
    turn a warning into an exception, which must not pass through C."""

    def __init__(self):
        self.texts = []


told = Told()


@INTERFACE.mxWarningHandler
def _keep_warning(text, _):
    told.texts.append(ctypes.string_at(text).decode(errors="replace").rstrip())


def warn():
    """Issues the stored warnings."""
    while told.texts:
        warnings.warn(told.texts.pop(0), SimulatorWarning,
                      stacklevel=caller_depth())


_lock = threading.Lock()
_library = None


def library():
    """Returns the runtime library. Loads it on first use."""
    global _library
    with _lock:
        if _library is None:
            _library = load()
        return _library


def call(name, *arguments):
    """Calls a function that returns a status. If the status is not 0, raises the error of this
    thread."""
    number = getattr(library(), name)(*arguments)
    if number:
        fail(number)


def status(number):
    """Returns the (status, name) arguments of an Error."""
    return number, library().mxStatusName(number).decode()


# Adds cpu, which the runtime does not support, to device lists in messages.
_DEVICES = "sim:N, cuda or cuda:N, found", "sim:N, cuda, cuda:N or cpu, found"


def fail(number, more=""):
    """Raises the error of this thread's last call, with `more` appended."""
    lib = library()
    # The text must be read before another call of this thread can fail.
    text = lib.mxGetThreadError().decode(errors="replace").replace(*_DEVICES)
    # The exception replaces the runtime's error, so the error is cleared.
    lib.mxClearError()
    kind = InvalidValueError if number == INVALID_VALUE else Error
    raise kind(text + more, *status(number))
