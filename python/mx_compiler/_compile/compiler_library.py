# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler in this process: mx-c/Compiler.h by ctypes."""

import ctypes
import functools
import os
from ctypes import (CFUNCTYPE, POINTER, c_char_p, c_int, c_int32,
                    c_int64, c_size_t, c_void_p)

from .._runtime import library
from .._runtime.errors import CompileError, Diagnostic

SEVERITIES = ("error", "warning", "remark", "note")
# Of mxcPart, by the names that the manifest has.
PARTS = {"manifest.json": 0, "kernels.ptx": 1, "kernels.cubin": 2, "program.h": 3,
         "constants.bin": 4}
REFUSED = 2  # MXC_REFUSED

MESSAGE = CFUNCTYPE(None, c_int, c_char_p, c_void_p)


TEXT = CFUNCTYPE(None, c_void_p, c_size_t, c_void_p)


class Options(library.Sized):
    _fields_ = [("struct_size", c_size_t), ("chip", c_char_p), ("entries", POINTER(c_char_p)),
                ("entry_count", c_size_t), ("ptxas", c_char_p),
                ("prefix", c_char_p), ("no_fusion", c_int32),
                ("tune", c_int64), ("tune_rows", POINTER(c_int64)),
                ("tune_row_count", c_size_t), ("tuned", c_char_p), ("tuned_gpu", c_char_p)]


class HostValueInfo(library.Sized):
    """An mxValueInfo of the runtime; nothing here is taken."""
    _fields_ = library.ValueInfo._fields_[:-1]
    is_taken = 0


class HostArray(library.Sized):
    _fields_ = [("struct_size", c_size_t), ("data", c_void_p), ("shape", POINTER(c_int64))]


class HostGroupInfo(library.Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("size", c_int64),
                ("tokens", c_int64)]


GET_RANK = CFUNCTYPE(c_int64, c_int64, c_void_p)
# A text is returned by its address: ctypes would not keep what it makes of bytes.
ALL_GATHER = CFUNCTYPE(c_void_p, c_int64, c_void_p, c_int64, c_void_p)
ALL_TO_ALL = CFUNCTYPE(c_void_p, c_int64, c_void_p, c_void_p, c_int64, c_void_p)


class HostCollectives(library.Sized):
    _fields_ = [("struct_size", c_size_t), ("get_rank", GET_RANK),
                ("all_gather", ALL_GATHER), ("all_to_all", ALL_TO_ALL), ("user", c_void_p)]


FUNCTIONS = {
    "mxcContextCreate": (c_void_p, [MESSAGE, c_void_p]),
    "mxcContextDestroy": (None, [c_void_p]),
    "mxcModuleParse": (c_void_p, [c_void_p, c_char_p, c_size_t, c_char_p]),
    "mxcModuleDestroy": (None, [c_void_p]),
    "mxcModuleRunPasses": (c_int, [c_void_p, c_char_p]),
    "mxcModuleListEntries": (c_int, [c_void_p, TEXT, c_void_p]),
    "mxcCompile": (c_int, [POINTER(c_void_p), c_void_p, POINTER(Options)]),
    "mxcCompiledGet": (c_void_p, [c_void_p, c_int, POINTER(c_size_t)]),
    "mxcCompiledDestroy": (None, [c_void_p]),
    "mxcHostProgramCreate": (c_int, [POINTER(c_void_p), c_void_p, c_char_p]),
    "mxcHostProgramDestroy": (None, [c_void_p]),
    "mxcHostProgramArgumentCount": (c_int32, [c_void_p]),
    "mxcHostProgramResultCount": (c_int32, [c_void_p]),
    "mxcHostProgramGetArgument": (c_int, [c_void_p, c_int32,
                                          POINTER(HostValueInfo)]),
    "mxcHostProgramGetResult": (c_int, [c_void_p, c_int32, POINTER(HostValueInfo)]),
    "mxcHostProgramCall": (c_int, [c_void_p, POINTER(HostArray), c_int32,
                                   POINTER(HostArray), c_int32]),
    "mxcHostProgramGroupCount": (c_int32, [c_void_p]),
    "mxcHostProgramGetGroup": (c_int, [c_void_p, c_int32, POINTER(HostGroupInfo)]),
    "mxcHostProgramSetCollectives": (c_int, [c_void_p, POINTER(HostCollectives)]),
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


class Module:
    """A text that was parsed, in a context of its own, after the passes of
    `pipeline`. Its calls must not overlap. Raises a CompileError."""

    def __init__(self, text, name, pipeline):
        self.library = load(library.compiler_path())
        self.diagnostics = []
        self.handle = None
        # Lives as long as C may call it. Without a cycle: it owns much memory.
        diagnostics = self.diagnostics
        self._tell = MESSAGE(lambda severity, message, _: diagnostics.append(
            Diagnostic.read(SEVERITIES[severity], message.decode(errors="replace"))))
        self._context = self.library.mxcContextCreate(self._tell, None)
        try:
            self.check(0 if self._context else REFUSED)
            self.handle = self.library.mxcModuleParse(self._context, text, len(text),
                                                      name.encode())
            self.check(0 if self.handle else REFUSED)
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
        """The names of what is compiled where nothing is named."""
        names = []
        add = TEXT(lambda text, size, _: names.append(ctypes.string_at(text, size)))
        self.check(self.library.mxcModuleListEntries(self.handle, add, None))
        return [name.decode() for name in names]

    def close(self):
        """After everything that was made of it."""
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
    """The files of a compiled program by their names, as bytes, and the
    diagnostics. `tuning` is measured first, and kept in the file `table`. Raises a
    CompileError."""
    with Module(text, name, pipeline) as module:
        names = (c_char_p * max(len(entries), 1))(*[e.encode() for e in entries])
        options = Options(chip.encode(), names, len(entries), ptxas.encode(), None, not fuse)
        if tuning:
            options.tune, options.tune_row_count = tuning.count, len(tuning.rows)
            options.tune_rows = (c_int64 * max(len(tuning.rows), 1))(*tuning.rows)
            options.tuned = os.fsencode(table)
        compiled = c_void_p()
        module.check(module.library.mxcCompile(compiled, module.handle, options))
        try:
            return (_read_parts(module.library, compiled),
                    tuple(module.diagnostics))
        finally:
            module.library.mxcCompiledDestroy(compiled)


def _read_parts(compiler, compiled):
    parts = {}
    for name, part in PARTS.items():
        size = c_size_t()
        place = compiler.mxcCompiledGet(compiled, part, size)
        if place:
            parts[name] = ctypes.string_at(place, size.value)
    return parts
