# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler in this process: mx-c/Compiler.h by ctypes."""

import ctypes
import functools
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int32,
                    c_size_t, c_void_p)

from . import library
from .errors import CompileError, Diagnostic

SEVERITIES = ("error", "warning", "remark", "note")
# Of mxcPart, by the names that the manifest has.
PARTS = {"manifest.json": 0, "kernels.ptx": 1, "kernels.cubin": 2, "program.h": 3,
         "constants.bin": 4}
REFUSED = 2  # MXC_REFUSED

MESSAGE = CFUNCTYPE(None, c_int, c_char_p, c_void_p)


class Options(Structure):
    _fields_ = [("chip", c_char_p), ("entries", POINTER(c_char_p)),
                ("entry_count", c_size_t), ("ptxas", c_char_p),
                ("prefix", c_char_p), ("no_fusion", c_int32)]


FUNCTIONS = {
    "mxcContextCreate": (c_void_p, [MESSAGE, c_void_p]),
    "mxcContextDestroy": (None, [c_void_p]),
    "mxcModuleParse": (c_void_p, [c_void_p, c_char_p, c_size_t, c_char_p]),
    "mxcModuleDestroy": (None, [c_void_p]),
    "mxcModuleRunPasses": (c_int, [c_void_p, c_char_p]),
    "mxcCompile": (c_int, [POINTER(c_void_p), c_void_p, POINTER(Options)]),
    "mxcCompiledGet": (c_void_p, [c_void_p, c_int, POINTER(c_size_t)]),
    "mxcCompiledDestroy": (None, [c_void_p]),
}


@functools.lru_cache(None)
def load(path):
    """The library, loaded when something is first compiled."""
    try:
        found = ctypes.CDLL(path)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise ImportError(f"cannot load the compiler of mx: {error}") from None
    return found


def compile_parts(text, name, chip, entries, pipeline, fuse, ptxas):
    """The files of a compiled program by their names, as bytes, and the
    diagnostics. Raises a CompileError."""
    compiler, diagnostics = load(library.compiler_path()), []

    def add(severity, message, _):
        diagnostics.append(Diagnostic.read(SEVERITIES[severity],
                                           message.decode(errors="replace")))

    def check(status):
        if status:
            raise CompileError(diagnostics, status)

    tell = MESSAGE(add)  # lives as long as C may call it
    context = compiler.mxcContextCreate(tell, None)
    module, compiled = None, c_void_p()
    try:
        check(0 if context else REFUSED)
        module = compiler.mxcModuleParse(context, text, len(text), name.encode())
        check(0 if module else REFUSED)
        if pipeline:
            check(compiler.mxcModuleRunPasses(module, pipeline.encode()))
        names = (c_char_p * max(len(entries), 1))(*[e.encode() for e in entries])
        check(compiler.mxcCompile(compiled, module, Options(
            chip.encode(), names, len(entries), ptxas.encode(), None, not fuse)))
        return _read_parts(compiler, compiled), tuple(diagnostics)
    finally:
        if compiled:
            compiler.mxcCompiledDestroy(compiled)
        if module:
            compiler.mxcModuleDestroy(module)
        if context:
            compiler.mxcContextDestroy(context)


def _read_parts(compiler, compiled):
    parts = {}
    for name, part in PARTS.items():
        size = c_size_t()
        place = compiler.mxcCompiledGet(compiled, part, size)
        if place:
            parts[name] = ctypes.string_at(place, size.value)
    return parts
