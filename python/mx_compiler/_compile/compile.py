# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mx.compile: text in, a program out, by way of two caches."""

import collections
import hashlib
import json
import logging
import os
import threading
import warnings
import weakref

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

# Of what a file in the cache has.
FORMAT = 1
# Programs whose parts stay in memory, and their bytes: some have large constants.
MOST_IN_MEMORY = 64
MOST_BYTES = 256 << 20
# The chip where there is no GPU, as in mx-run.
DEFAULT_CHIP = "sm_100a"

log = logging.getLogger("mx_compiler.compile")

_lock = threading.Lock()
_locks = weakref.WeakValueDictionary()  # of keys: one thread compiles
_memory = collections.OrderedDict()  # parts, or HostCode, by key
_loaded = weakref.WeakValueDictionary()


class _Lock:
    """A lock that can be referred to weakly."""

    def __init__(self):
        self.lock = threading.Lock()


def compile(source, *, chip=None, entries=None, pipeline=None, ptxas=None,
            fuse=True, cache=True, tune=False, tune_rows=None, **sizes):
    """Compiles a program, or finds it in the cache, and returns a Program, which is
    loaded onto the device when an entry is first asked for. Where the device is
    "cpu" it is compiled to code of this process, and kept in memory alone.

    source    text of MLIR, a pathlib.Path of a file with text or bytecode, or a
              Template. A text or file in which `${name}` stands is a template.
    chip      "sm_100a", ...; without it MX_CHIP, else the GPU that is the device of
              the process, else sm_100a
    entries   names of the functions to compile; without it all that are public
    pipeline  passes to run first: "builtin.module(mx-quantize-matmuls)"
    ptxas     the assembler, or "none"; without it one that is found
    fuse      False: operations stay apart
    cache     False: compiles, and keeps nothing; a folder: keeps programs there
    tune      True: times the 8 schedules of each matmul that should be fastest on
              the GPU that is the device, and takes the fastest; a number: as many.
              The times are kept beside the programs (docs/guide/Tuning.md); a program that
              was tuned before is found in the cache
    tune_rows numbers of rows at which matmuls are timed whose rows each call
              decides; without it one size of each range that has a schedule
    sizes     values of the template's names (Template)

    chip, ptxas, fuse and folders say nothing on "cpu", which cannot be tuned for.

    Raises a CompileError with the compiler's messages and their places; a TypeError
    or ValueError where an argument is wrong; an ImportError where there is no
    compiler. Warnings of the compiler are warnings of Python (CompileWarning), its
    remarks go to the logger "mx_compiler.compile"; both only when it really compiles."""
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
    # What was tuned is of the GPU that it was tuned on.
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
    """The text as bytes, and its name in messages."""
    if isinstance(source, Template):
        return _substitute(source, sizes), source.name
    name = "text"
    if isinstance(source, os.PathLike):
        name = os.fspath(source)
        data = read_bytes(source)
        if data[:4] == b"ML\xefR":  # bytecode
            if sizes:
                raise TypeError(f"{name}: expected no sizes for bytecode, found "
                                f"{', '.join(sizes)}")
            return data, name
        source = data.decode()
    if not isinstance(source, str):
        raise TypeError("expected a source to be text, a pathlib.Path or a "
                        f"mx_compiler.Template, found {type(source).__name__}")
    if sizes or is_template(source):
        return _substitute(Template(source, name), sizes), name
    return source.encode(), name


# Arguments of `compile` that cannot be names of a template.
_TAKEN = {"source", "chip", "entries", "pipeline", "ptxas", "fuse", "cache", "tune",
          "tune_rows"}


def _substitute(template, sizes):
    taken = sorted(_TAKEN.intersection(template.names))
    if taken:
        raise TypeError(f"{template.name}: expected names that are no arguments of "
                        f"mx_compiler.compile, found {', '.join(taken)}: pass it the text of "
                        "template.substitute(...)")
    return template.substitute(**sizes).encode()


def _read_entries(entries):
    if entries is None:
        return ()
    if not isinstance(entries, (list, tuple, set)) or not all(
            isinstance(e, str) for e in entries):
        raise TypeError("expected entries to be a list of names, found "
                        f"{entries!r}")
    return tuple(entries)


def default_chip():
    """The chip that programs are compiled for where none is named."""
    if os.environ.get("MX_CHIP"):
        return os.environ["MX_CHIP"]
    info = device_info()
    if info.kind != "cuda":
        return DEFAULT_CHIP
    return chip_of(info.capability)


def _make_key(text, name, options, places):
    """All that a compiled program depends on. Names of files are in messages and in
    the program's own."""
    about = json.dumps([FORMAT, name, options, _ptxas.identify(places),
                        identify_library(library.compiler_path())])
    return hashlib.sha256(about.encode() + b"\0" + text).hexdigest()


def _recall(key, find):
    """What was found last for the key, by `find()` the first time: in one thread,
    others that ask for the same wait."""
    with _lock:
        lock = _locks.setdefault(key, _Lock())
    with lock.lock:
        with _lock:
            found = _memory.get(key)
        if found is None:
            found = find()
        if isinstance(found, HostCode) and found.is_of_ranks:
            return found  # of one rank, as it is bound to a rank group
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
