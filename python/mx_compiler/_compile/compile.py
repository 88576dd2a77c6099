# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mx.compile. Compiles text to a program and caches programs in memory and on disk."""

import collections
import hashlib
import json
import logging
import os
import threading
import warnings
import weakref
from typing import Any, Sequence

from .._programs.host import HostCode
from .._programs.program import Loaded, Program, is_of_ranks, load_parts
from .._runtime import library
from .._runtime.chips import chip_of
from .._runtime.device import device_key, device_info, is_host
from .._runtime.errors import CompileWarning, caller_depth
from . import cache as disk
from . import ptxas as _ptxas
from . import tuning
from .compiler_library import compile_parts
from .files import read_bytes
from .identity import identify_library
from .templates import Template, is_template

# Format version of cached files.
FORMAT = 1
# Limits of the memory cache. The bytes are limited because constants may be large.
MOST_IN_MEMORY = 64
MOST_BYTES = 256 << 20
# Default chip if there is no GPU, as in mx-run.
DEFAULT_CHIP = "sm_100a"

log = logging.getLogger("mx_compiler.compile")

_lock = threading.Lock()
_locks = weakref.WeakValueDictionary()  # a lock for each key, held by the thread that compiles
_memory = collections.OrderedDict()  # parts of a program, or a HostCode, for each key
_loaded = weakref.WeakValueDictionary()


class _Lock:
    """Lock that supports weak references."""

    def __init__(self):
        self.lock = threading.Lock()


def compile(source: str | os.PathLike[str] | Template, *, chip: str | None = None,
            entries: list[str] | tuple[str, ...] | set[str] | None = None, pipeline: str | None = None,
            ptxas: str | os.PathLike[str] | None = None, fuse: bool = True,
            cache: bool | str | os.PathLike[str] = True, tune: bool | int = False,
            tune_rows: Sequence[int] | None = None, **sizes: Any) -> Program:
    """Returns a Program that is compiled or read from the cache. The first access to an entry
    loads the program on the device. On "cpu", the program is compiled to host code, which is cached
    in memory only.

    source    MLIR text, a pathlib.Path of a file with text or bytecode, or a
              Template. Text that contains `${name}` is a template.
    chip      "sm_100a", ...; default: MX_CHIP, else the chip of the current GPU,
              else sm_100a
    entries   names of the functions to compile; default: all public functions
    pipeline  passes to run first, such as "builtin.module(mx-quantize-matmuls)"
    ptxas     path of the assembler, or "none"; default: the first ptxas found
    fuse      False: do not fuse operations
    cache     False: do not cache; a folder: cache programs in that folder
    tune      True: for each matmul, measure the 8 schedules with the best predicted
              times on the current GPU, and use the fastest; a number: measure that
              many schedules. The cache folder stores the times
              (docs/guide/Tuning.md) and the tuned program
    tune_rows row counts at which matmuls with a dynamic number of rows are
              measured; default: one size for each range with its own schedule
    sizes     values for the names of the template

    On "cpu", chip, ptxas, fuse and cache folders have no effect, and tune must be False.

    Raises CompileError with the compiler's messages and their locations, TypeError or ValueError for
    a wrong argument, and ImportError if no compiler is installed. If the compiler runs, its warnings
    become Python warnings (CompileWarning), and its remarks are sent to the logger
    "mx_compiler.compile"."""
    for argument, value, kinds, wanted in (
            ("chip", chip, str, 'a name such as "sm_90a"'),
            ("pipeline", pipeline, str, 'text such as "builtin.module(...)"'),
            ("ptxas", ptxas, (str, os.PathLike), 'a path or "none"'),
            ("cache", cache, (bool, str, os.PathLike), "True, False or a folder")):
        if value is not None and not isinstance(value, kinds):
            raise TypeError(f"{argument}: expected {wanted}, found {value!r}")
    asked = tuning.read(tune, tune_rows)
    text, name = _read(source, sizes)
    entries = _read_entries(entries)
    if is_host():
        return _compile_for_host(text, name, entries, pipeline, cache)
    chip = chip or default_chip()
    places, is_asked = _ptxas.candidates(ptxas)
    options = {"chip": chip, "entries": entries, "pipeline": pipeline,
               "fuse": bool(fuse)}

    def make():
        assembler = _ptxas.choose(places, is_asked, chip)
        with tuning.table(cache) as table:
            parts, diagnostics = compile_parts(text, name, ptxas=assembler, tuning=asked,
                                               table=table, **options)
        _tell(diagnostics)
        return parts

    if cache is False:
        parts = make()
        return Program.of(Loaded(lambda: load_parts(parts, name)), name, parts)
    # Tuning results belong to the GPU that was measured.
    key = _make_key(text, name, dict(options, tuning=asked) if asked else options, places)
    folder = disk.directory(None if cache is True else cache)

    def find():
        parts = disk.load(folder, key)
        if parts is None:
            parts = make()
            disk.store(folder, key, parts)
        return parts

    parts = _recall(key, find)
    if is_of_ranks(parts):
        return Program.of(Loaded(lambda: load_parts(parts, name)), name, parts)
    with _lock:
        where = key, device_key()
        loaded = _loaded.get(where)
        if loaded is None:
            loaded = Loaded(lambda: load_parts(parts, name))
            _loaded[where] = loaded
    return Program.of(loaded, name, parts)


def _compile_for_host(text, name, entries, pipeline, cache):
    def make():
        code = HostCode(text, name, entries, pipeline)
        _tell(code.diagnostics)
        return code

    key = text, name, entries, pipeline, library.compiler_path()
    return Program.of(make() if cache is False else _recall(key, make), name, None)


def _read(source, sizes):
    """Returns the text or bytecode as bytes, and its name for messages."""
    if isinstance(source, Template):
        return _substitute(source, sizes), source.name
    name = "text"
    if isinstance(source, os.PathLike):
        name = os.fspath(source)
        data = read_bytes(source)
        if data[:4] == b"ML\xefR":  # bytecode
            if sizes:
                raise TypeError(f"{name}: expected no sizes for bytecode, found {', '.join(sizes)}")
            return data, name
        source = data.decode()
    if not isinstance(source, str):
        raise TypeError("expected a source to be text, a pathlib.Path or a "
                        f"mx_compiler.Template, found {type(source).__name__}")
    if sizes or is_template(source):
        return _substitute(Template(source, name), sizes), name
    return source.encode(), name


# Arguments of `compile`, which templates must not use as names.
_TAKEN = {"source", "chip", "entries", "pipeline", "ptxas", "fuse", "cache", "tune",
          "tune_rows"}


def _substitute(template, sizes):
    taken = sorted(_TAKEN.intersection(template.names))
    if taken:
        raise TypeError(f"{template.name}: expected names that are not arguments of "
                        f"mx_compiler.compile, found {', '.join(taken)}: pass the text that "
                        "template.substitute(...) returns")
    return template.substitute(**sizes).encode()


def _read_entries(entries):
    if entries is None:
        return ()
    if not isinstance(entries, (list, tuple, set)) or not all(
            isinstance(e, str) for e in entries):
        raise TypeError(f"expected entries to be a list of names, found {entries!r}")
    return tuple(entries)


def default_chip():
    """Returns the default chip of `compile`."""
    if os.environ.get("MX_CHIP"):
        return os.environ["MX_CHIP"]
    info = device_info()
    if info.kind != "cuda":
        return DEFAULT_CHIP
    return chip_of(info.capability)


def _make_key(text, name, options, places):
    """Returns the cache key, which covers every input of the compilation. The file name is an input,
    because messages and the program's name contain it."""
    about = json.dumps([FORMAT, name, options, _ptxas.identify(places),
                        identify_library(library.compiler_path())])
    return hashlib.sha256(about.encode() + b"\0" + text).hexdigest()


def _recall(key, find):
    """Returns the cached result for the key, or the result of `find()`. Only one thread calls
    `find`; other threads with the same key wait."""
    with _lock:
        lock = _locks.setdefault(key, _Lock())
    with lock.lock:
        with _lock:
            found = _memory.get(key)
        if found is None:
            found = find()
        if isinstance(found, HostCode) and found.is_of_ranks:
            return found  # not cached, because the code is bound to one rank
        with _lock:
            _memory[key] = found
            _memory.move_to_end(key)
            while len(_memory) > MOST_IN_MEMORY or \
                    sum(map(_count_bytes, _memory.values())) > MOST_BYTES:
                _memory.popitem(last=False)
        return found


def _count_bytes(found):
    if isinstance(found, HostCode):
        return found.size
    return sum(map(len, found.values()))


def _tell(diagnostics):
    for found in diagnostics:
        if found.severity == "warning":
            warnings.warn(str(found), CompileWarning, caller_depth())
        else:
            log.info("%s", found)
