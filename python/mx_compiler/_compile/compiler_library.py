# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ctypes bindings of the compiler library, mx-c/Compiler.h."""

import ctypes
import functools
import os

from .._runtime import library
from .._runtime.errors import CompileError, Diagnostic
from .._runtime.headers import Interface

SEVERITIES = ("error", "warning", "remark", "note")
# The mxcPart constant of each file that the manifest names.
PARTS = {"manifest.json": "MXC_MANIFEST", "kernels.ptx": "MXC_PTX",
         "kernels.cubin": "MXC_CUBIN", "program.h": "MXC_HEADER",
         "constants.bin": "MXC_CONSTANTS"}


@functools.lru_cache(None)
def interface():
    """Returns the declarations of the compiler. Requires an installation with the compiler."""
    return Interface("mx-c/Compiler.h")


@functools.lru_cache(None)
def load(path):
    """Loads the compiler library. Raises ImportError if that fails."""
    try:
        found = ctypes.CDLL(path)
        interface().bind(found)
    except (OSError, AttributeError) as error:
        raise ImportError(f"cannot load the compiler of mx: {error}") from None
    found.mxcCompiledGet.restype = ctypes.c_void_p  # returns bytes that may contain zeros
    return found


class Module:
    """Module parsed in its own context and transformed by the passes of `pipeline`. Calls
    must not overlap. All methods raise CompileError on failure."""

    def __init__(self, text, name, pipeline):
        self.library = load(library.compiler_path())
        self.diagnostics = []
        self.handle = None
        # The callback must live as long as C may call it. It must not refer to the module, because
        # a reference cycle would delay the release of the module's memory.
        diagnostics = self.diagnostics
        self._tell = interface().mxcMessageCallback(
            lambda severity, message, _: diagnostics.append(Diagnostic.read(
                SEVERITIES[severity], ctypes.string_at(message).decode(errors="replace"))))
        self._context = self.library.mxcContextCreate(self._tell, None)
        try:
            self.check(0 if self._context else interface().MXC_REFUSED)
            self.handle = self.library.mxcModuleParse(self._context, text, len(text),
                                                      name.encode())
            self.check(0 if self.handle else interface().MXC_REFUSED)
            if pipeline:
                self.check(self.library.mxcModuleRunPasses(self.handle,
                                                           pipeline.encode()))
        except BaseException:
            self.close()
            raise

    def check(self, status):
        if status:
            raise CompileError(self.diagnostics, status)

    def entries(self):
        """Returns the names of the entries that are compiled by default."""
        names = []
        add = interface().mxcTextCallback(
            lambda text, size, _: names.append(ctypes.string_at(text, size)))
        self.check(self.library.mxcModuleListEntries(self.handle, add, None))
        return [name.decode() for name in names]

    def close(self):
        """Frees the module. All objects derived from the module must be destroyed first."""
        if self.handle:
            self.library.mxcModuleDestroy(self.handle)
        if self._context:
            self.library.mxcContextDestroy(self._context)
        self.handle = self._context = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def compile_parts(text, name, chip, entries, pipeline, fuse, ptxas, tuning=None, table=None):
    """Compiles a program. Returns a dictionary with the bytes of its files, and the diagnostics. If
    `tuning` is given, schedules are measured first, and the times are stored in the file `table`.
    Raises CompileError."""
    with Module(text, name, pipeline) as module:
        names = (ctypes.c_char_p * max(len(entries), 1))(*[e.encode() for e in entries])
        options = interface().mxcCompileOptions(
            chip.encode(), names, len(entries), ptxas.encode(), None, not fuse)
        if tuning:
            options.tune, options.tune_row_count = tuning.count, len(tuning.rows)
            options.tune_rows = (ctypes.c_int64 * max(len(tuning.rows), 1))(*tuning.rows)
            options.tuned = os.fsencode(table)
        compiled = ctypes.c_void_p()
        module.check(module.library.mxcCompile(compiled, module.handle, options))
        try:
            return (_read_parts(module.library, compiled),
                    tuple(module.diagnostics))
        finally:
            module.library.mxcCompiledDestroy(compiled)


def _read_parts(compiler, compiled):
    parts = {}
    for name, part in PARTS.items():
        size = ctypes.c_size_t()
        place = compiler.mxcCompiledGet(compiled, getattr(interface(), part), size)
        if place:
            parts[name] = ctypes.string_at(place, size.value)
    return parts
