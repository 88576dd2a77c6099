# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libmx_runtime and the compiler's library: where they are found, and their functions as
ctypes calls them."""

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
# In a wheel one library is the runtime and the compiler; a build, an installed
# prefix and the wheel of the runtime alone have the runtime by itself.
WHOLE = "libmx" + _SUFFIX
FILE = "libmx_runtime" + _SUFFIX
COMPILER = "libMXCAPI" + _SUFFIX


def candidates():
    """Where the library may lie: named by the environment, then in the wheel,
    beside this package and where CMake installs it, then wherever the loader
    looks."""
    named = os.environ.get("MX_RUNTIME")
    if named:
        return [named]
    here = pathlib.Path(__file__).resolve().parent.parent
    beside = [here / WHOLE, here / FILE, here.parents[1] / FILE]
    return [str(path) for path in beside if path.exists()] + [FILE]


def compiler_path():
    """Where the functions of mx-c/Compiler.h lie: named by the environment
    (MX_COMPILER), then in the library of the wheel, then beside the runtime.
    Raises ImportError where this installation cannot compile."""
    named = os.environ.get("MX_COMPILER")
    if named:
        if not os.path.exists(named):
            raise ImportError(
                f"expected the compiler of mx in {named}, found no file: set "
                f"MX_COMPILER to the path of {COMPILER} or {WHOLE}, or unset "
                "it to use the one beside the runtime")
        return named
    for path in map(pathlib.Path, candidates()):
        found = path if path.name == WHOLE else path.parent / COMPILER
        # The name alone is the loader's to find; it says nothing about folders.
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
        raise ImportError(f"{path} is no runtime for this package: {error}")
    # A prepared call has the addresses of its arrays.
    types = library.mxEntryLaunch.argtypes
    types[1] = types[3] = ctypes.c_void_p
    library.mxEntryLaunch.argtypes = types
    # An error becomes an exception and is not printed as well.
    library.mxSetErrorPolicy(INTERFACE.MX_ERRORS_RETURN)
    library.mxSetWarningHandler(_keep_warning, None)
    return library


class Told(threading.local):
    """Warnings of this thread's launches: an exception, which a filter may make of
    a warning, does not pass through C."""

    def __init__(self):
        self.texts = []


told = Told()


@INTERFACE.mxWarningHandler
def _keep_warning(text, _):
    told.texts.append(ctypes.string_at(text).decode(errors="replace").rstrip())


def warn():
    """After a launch: its warnings as Python's."""
    while told.texts:
        warnings.warn(told.texts.pop(0), SimulatorWarning,
                      stacklevel=caller_depth())


_lock = threading.Lock()
_library = None


def library():
    """The library, loaded when it is first needed."""
    global _library
    with _lock:
        if _library is None:
            _library = load()
        return _library


def call(name, *arguments):
    """Calls a function that returns a status; one other than 0 is raised with
    the text of this thread's error."""
    number = getattr(library(), name)(*arguments)
    if number:
        fail(number)


def status(number):
    """A status of the runtime, and its name: the end of an Error's arguments."""
    return number, library().mxStatusName(number).decode()


# The runtime does not know cpu, which the package has.
_DEVICES = "sim:N, cuda or cuda:N, found", "sim:N, cuda, cuda:N or cpu, found"


def fail(number, more=""):
    """Raises what this thread's last call reported; `more` follows it."""
    lib = library()
    # Before anything else can fail in this thread.
    text = lib.mxGetThreadError().decode(errors="replace").replace(*_DEVICES)
    # The exception is the error from now on.
    lib.mxClearError()
    kind = InvalidValueError if number == INVALID_VALUE else Error
    raise kind(text + more, *status(number))
