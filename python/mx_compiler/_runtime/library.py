# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libmx_runtime: where it is found, and its functions as ctypes sees them."""

import ctypes
import os
import pathlib
import sys
import threading
import warnings
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_int, c_int32,
                    c_int64, c_size_t, c_uint8, c_uint64, c_void_p)

from .errors import Error, InvalidValueError, SimulatorWarning, caller_depth

ERRORS_RETURN = 1


class Sized(Structure):
    """A struct that begins with its size, as all of the interface do."""

    def __init__(self, *values, **named):
        super().__init__(ctypes.sizeof(type(self)), *values, **named)

    @classmethod
    def array(cls, count):
        """`count` of them, and never none: C has no such array."""
        return (cls * max(count, 1))(*[cls() for _ in range(count)])


class EntryInfo(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("argument_count", c_int32),
                ("result_count", c_int32)]


class ValueInfo(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("type", c_char_p), ("dtype", c_char_p),
                ("item_bytes", c_int32), ("is_number", c_int32),
                ("rank", c_int32), ("shape", POINTER(c_int64)),
                ("is_taken", c_int32)]


class TakenMemory(Sized):
    _fields_ = [("struct_size", c_size_t), ("data", c_void_p), ("shape", POINTER(c_int64))]


class ProgramParts(Sized):
    _fields_ = [("struct_size", c_size_t), ("manifest", c_char_p), ("manifest_bytes", c_size_t),
                ("kernels", c_char_p), ("kernel_bytes", c_size_t),
                ("constants", c_char_p), ("constant_bytes", c_size_t),
                ("name", c_char_p)]


class Argument(Sized):
    _fields_ = [("struct_size", c_size_t), ("data", c_void_p), ("shape", POINTER(c_int64))]


class DeviceInfo(Sized):
    _fields_ = [("struct_size", c_size_t), ("kind", c_char * 16), ("name", c_char * 256),
                ("multiprocessors", c_int32), ("capability_major", c_int32),
                ("capability_minor", c_int32),
                ("shared_memory_per_block", c_int64),
                ("global_memory", c_int64), ("device", c_char * 16)]


class SimulatorCounters(Sized):
    _fields_ = [("struct_size", c_size_t), ("launches", c_int64), ("warp_instructions", c_int64),
                ("mmas", c_int64), ("tma_bytes", c_int64)]


EXCHANGE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)  # mxExchange


class GroupConfig(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("rank", c_int32),
                ("size", c_int32), ("timeout", c_uint64), ("exchange", EXCHANGE),
                ("user", c_void_p), ("transport", c_char_p)]


class GroupInfo(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("rank", c_int32),
                ("size", c_int32), ("transport", c_char_p), ("nccl_version", c_int32),
                ("device", c_char * 16), ("timeout", c_uint64), ("windows", c_void_p),
                ("window_bytes", c_size_t)]


class GroupReport(Sized):
    _fields_ = [("struct_size", c_size_t), ("status", c_int32), ("rank", c_int32),
                ("step", c_int64), ("entry", c_char_p), ("text", c_char_p)]


class ProgramGroupInfo(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("size", c_int32),
                ("rank", c_int32), ("tokens", c_int64), ("window_bytes", c_size_t)]


# Functions that return a status, with the types of their arguments.
CHECKED = {
    "mxSetDevice": [c_char_p],
    "mxSetDeviceForTarget": [c_char_p, c_char_p],
    "mxSetThreadDevice": [c_char_p],
    "mxGetDeviceInfo": [POINTER(DeviceInfo)],
    "mxGetMemoryDevice": [c_void_p, POINTER(DeviceInfo)],
    "mxGetDeviceNumber": [POINTER(c_int32)],
    "mxSetSimulatorOption": [c_char_p, c_char_p],
    "mxStreamCreate": [POINTER(c_void_p)],
    "mxStreamDestroy": [c_void_p],
    "mxStreamSynchronize": [c_void_p],
    "mxStreamWait": [c_void_p, c_void_p],
    "mxSynchronize": [],
    "mxMemAlloc": [POINTER(c_void_p), c_size_t],
    "mxMemFree": [c_void_p],
    "mxMemcpyToDevice": [c_void_p, c_void_p, c_size_t, c_void_p],
    "mxMemcpyToHost": [c_void_p, c_void_p, c_size_t, c_void_p],
    "mxMemcpyOnDevice": [c_void_p, c_void_p, c_size_t, c_void_p],
    "mxMemset": [c_void_p, c_uint8, c_size_t, c_void_p],
    "mxProgramLoad": [POINTER(c_void_p), c_char_p],
    "mxProgramLoadParts": [POINTER(c_void_p), POINTER(ProgramParts)],
    "mxProgramUnload": [c_void_p],
    "mxProgramGetEntry": [POINTER(c_void_p), c_void_p, c_char_p],
    "mxProgramGetEntryAt": [POINTER(c_void_p), c_void_p, c_int32],
    "mxProgramGetGroup": [c_void_p, c_int32, POINTER(ProgramGroupInfo)],
    "mxProgramBindGroup": [c_void_p, c_char_p, c_void_p],
    "mxGroupCreate": [POINTER(c_void_p), POINTER(GroupConfig)],
    "mxGroupConnect": [POINTER(c_void_p), POINTER(GroupConfig), c_char_p],
    "mxGroupGetInfo": [c_void_p, POINTER(GroupInfo)],
    "mxGroupGetStatus": [c_void_p, POINTER(GroupReport)],
    "mxGroupAllGather": [c_void_p, c_void_p, c_size_t, c_void_p],
    "mxGroupAllToAll": [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p],
    "mxGroupAbort": [c_void_p, c_char_p],
    "mxGroupDestroy": [c_void_p],
    "mxEntryGetInfo": [c_void_p, POINTER(EntryInfo)],
    "mxEntryGetArgument": [c_void_p, c_int32, POINTER(ValueInfo)],
    "mxEntryGetResult": [c_void_p, c_int32, POINTER(ValueInfo)],
    "mxEntryIsSizeArgument": [c_void_p, c_int32, POINTER(c_int32)],
    "mxEntryGetResultShape": [c_void_p, POINTER(Argument), c_int32, c_int32,
                              POINTER(c_int64)],
    "mxEntryGetWorkspaceBytes": [c_void_p, POINTER(Argument), c_int32,
                                 POINTER(c_size_t)],
    # Addresses of arrays of mxArgument and of pointers.
    "mxEntryLaunch": [c_void_p, c_void_p, c_int32, c_void_p, c_int32, c_void_p,
                      c_size_t, c_void_p],
}
WARNING = CFUNCTYPE(None, c_char_p, c_void_p)  # mxWarningHandler

# The others, with the types of result and arguments.
OTHERS = {
    "mxGetVersion": (c_char_p, []),
    "mxGetInterfaceVersion": (c_int, []),
    "mxStatusName": (c_char_p, [c_int]),
    "mxGetThreadError": (c_char_p, []),
    "mxClearError": (None, []),
    "mxSetErrorPolicy": (c_int, [c_int]),
    "mxSetWarningHandler": (None, [WARNING, c_void_p]),
    "mxProgramEntryCount": (c_int32, [c_void_p]),
    "mxProgramGroupCount": (c_int32, [c_void_p]),
    "mxSetThreadInterrupt": (None, [POINTER(c_int32)]),
    "mxCanRunTarget": (c_int, [c_char_p]),
    "mxGetSimulatorCounters": (c_int, [POINTER(SimulatorCounters)]),
}

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
        for name, types in CHECKED.items():
            function = getattr(library, name)
            function.argtypes, function.restype = types, c_int
        for name, (result, types) in OTHERS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = types, result
    except AttributeError as error:
        raise ImportError(f"{path} is no runtime for this package: {error}")
    # An error becomes an exception and is not printed as well.
    library.mxSetErrorPolicy(ERRORS_RETURN)
    library.mxSetWarningHandler(_keep_warning, None)
    return library


class Told(threading.local):
    """Warnings of this thread's launches: an exception, which a filter may make of
    a warning, does not pass through C."""

    def __init__(self):
        self.texts = []


told = Told()


@WARNING
def _keep_warning(text, _):
    told.texts.append(text.decode(errors="replace").rstrip())


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


INVALID_VALUE = 1  # MX_ERROR_INVALID_VALUE


def call(name, *arguments):
    """Calls a function that returns a status; one other than 0 is raised with
    the text of this thread's error."""
    lib = library()
    status = getattr(lib, name)(*arguments)
    if status:
        fail(status)


# The runtime does not know cpu, which the package has.
_DEVICES = "sim:N, cuda or cuda:N, found", "sim:N, cuda, cuda:N or cpu, found"


def fail(status, more=""):
    """Raises what this thread's last call reported; `more` follows it."""
    lib = library()
    # Before anything else can fail in this thread.
    text = lib.mxGetThreadError().decode(errors="replace").replace(*_DEVICES)
    # The exception is the error from now on.
    lib.mxClearError()
    kind = InvalidValueError if status == INVALID_VALUE else Error
    raise kind(text + more, status, lib.mxStatusName(status).decode())
