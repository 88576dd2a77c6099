# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs compiled by mx-compile or mx.compile and loaded on a device."""

import collections
import contextlib
import ctypes
import json
import os
import pathlib
import threading

from .._runtime import library
from .._runtime.closing import Closing
from .._runtime.device import HOST, device_info, device_name, on_device, require_device
from .._runtime.internal import internal
from .._runtime.library import call
from .entry import Entry
from .rank_group import Group, GroupInfo


class Loaded:
    """Program in the runtime. Several Programs may share it, and the program is unloaded when the
    last of them is closed. HostCode is the counterpart for the device "cpu"."""
    what = "a program loaded from a directory"

    def __init__(self, load):
        self.lock = threading.Lock()
        self._load = load
        self._handle = None
        self._users = 0
        self.places = set()  # devices on which calls ran

    def open(self):
        """Adds a user and returns the handle. Loads the program on first use."""
        with self.lock:
            if self._handle is None:
                self._handle = self._load()
            self._users += 1
            return self._handle

    @staticmethod
    def entries(program, handle):
        for index in range(library.library().mxProgramEntryCount(handle)):
            entry = ctypes.c_void_p()
            call("mxProgramGetEntryAt", entry, handle, index)
            yield Entry(program, entry)

    @staticmethod
    def groups(handle):
        for index in range(library.library().mxProgramGroupCount(handle)):
            info = library.INTERFACE.mxProgramGroupInfo()
            call("mxProgramGetGroup", handle, index, info)
            yield GroupInfo(info.name.decode(), info.size, info.tokens, info.window_bytes,
                            info.rank if info.rank >= 0 else None)

    @staticmethod
    def bind(handle, name, group):
        if group.device == HOST:
            raise ValueError(f"group '{name}': expected a rank group on sim or a GPU, like the "
                             "program, found a rank group on cpu")
        with on_device(group.device):
            call("mxProgramBindGroup", handle, name.encode(), group.handle)

    @staticmethod
    def refuse(handle, name):
        """Raises an Error that lists the existing entries."""
        call("mxProgramGetEntry", ctypes.c_void_p(), handle, str(name).encode())

    def close(self):
        with self.lock:
            self._users -= 1
            if self._users:
                return
            handle, self._handle = self._handle, None
            for place in self.places or {device_name()}:
                with on_device(place):
                    call("mxSynchronize")
            call("mxProgramUnload", handle)


_ON_HOST = "compile the source with mx_compiler.compile"


def is_of_ranks(parts):
    """Returns True if the program with the files `parts` contains rank groups. Each rank must load its
    own copy of such a program, because a copy is bound to a rank."""
    return b'"groups"' in parts["manifest.json"]


def load_directory(directory):
    require_device(directory, _ON_HOST)
    handle = ctypes.c_void_p()
    call("mxProgramLoad", handle, os.fsencode(directory))
    return handle


def load_parts(parts, name):
    """Loads a program from its files. `parts` maps the names in the manifest to bytes."""
    require_device(name, _ON_HOST)
    manifest = parts["manifest.json"]
    target = json.loads(manifest)["target"].encode()
    # If no device was chosen, this call selects a device for the target.
    library.library().mxCanRunTarget(target)
    kernels = parts.get("kernels.ptx", b"")
    if device_info().kind == "cuda":  # the simulator reads only PTX
        kernels = parts.get("kernels.cubin", kernels)
    constants = parts.get("constants.bin", b"")
    given = library.INTERFACE.mxProgramParts(
        manifest, len(manifest), _address(kernels), len(kernels), _address(constants),
        len(constants), name.encode())
    handle = ctypes.c_void_p()
    call("mxProgramLoadParts", handle, given)
    return handle


def _address(data):
    return ctypes.cast(data, ctypes.c_void_p)


class Program(Closing):
    """Program loaded from a directory of mx-compile, or returned by mx.compile.
    `program[name]` is an entry, and `entries` maps names to all entries."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._begin(Loaded(lambda: load_directory(directory)),
                    os.fspath(directory))
        self._open()

    @staticmethod
    @internal
    def of(loaded, name, parts):
        """Returns a program that is loaded on first use."""
        program = Program.__new__(Program)
        program._begin(loaded, name)
        program._parts = parts
        return program

    def _begin(self, loaded, name):
        self._lock = threading.RLock()
        self._uses = collections.deque()
        self._closed = False
        self._handle = None
        self._entries = {}
        self._loaded = loaded
        self._parts = None
        self.directory = name  # for messages

    def _open(self):
        with self._lock:
            if self._closed:
                raise ValueError("the program was closed")
            if self._handle is not None:
                return
            self._handle = self._loaded.open()
            for entry in self._loaded.entries(self, self._handle):
                self._entries[entry.name] = entry

    @property
    def entries(self) -> dict[str, Entry]:
        self._open()
        return self._entries

    def __getitem__(self, name: str) -> Entry:
        if name not in self.entries:
            with self.use():
                self._loaded.refuse(self._handle, name)
        return self._entries[name]

    @property
    def groups(self) -> dict[str, GroupInfo]:
        """Rank groups of the program: GroupInfos, keyed by name."""
        self._open()
        return {group.name: group for group in self._loaded.groups(self._handle)}

    def bind(self, name: str, group: Group) -> None:
        """Binds `group`, a Group of matching size, to the program's rank group `name`. A group must
        be bound before the first call, and another group may be bound later. Collective: every rank
        must call this method, and waits for the others. All ranks must have the same program.
        Reserves memory of `group` for the program's windows."""
        if not isinstance(group, Group):
            raise TypeError(f"group: expected an mx_compiler.Group, found {group!r}")
        with self._lock:
            entries = self.entries.values()
        with self.use():
            self._loaded.bind(self._handle, name, group)
            for entry in entries:
                entry.forget_calls()  # sizes may depend on the rank

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Writes the directory that mx-compile would write. mx-launch, the C interface and
        Program(directory) can load it. Raises ValueError unless mx.compile compiled the program for
        the simulator or a GPU."""
        if self._parts is None:
            raise ValueError(f"{self.directory}: expected a program of mx_compiler.compile "
                             f"for sim or a GPU, found {self._loaded.what}")
        directory = pathlib.Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        for name, data in self._parts.items():
            (directory / name).write_bytes(data)

    @internal
    def note_place(self, place):
        self._loaded.places.add(place)

    @internal
    def enter(self):
        """Prevents unloading until `leave`. Takes no lock, because calls are short. Instead, this
        method records the use before it checks for a closed program, and `close` marks the program
        as closed before it checks for uses."""
        self._uses.append(None)
        if self._closed:
            self._uses.pop()
            raise ValueError("the program was closed")

    @internal
    def leave(self):
        self._uses.pop()

    @internal
    @contextlib.contextmanager
    def use(self):
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def close(self) -> None:
        """Waits for the device and unloads the program. Raises RuntimeError if calls are
        running."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._uses:
                self._closed = False
                raise RuntimeError(f"{self.directory}: expected no running calls, "
                                   f"found {len(self._uses)}")
            opened, self._handle = self._handle is not None, None
        if opened:
            self._loaded.close()
