# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Identification of tool builds without running them."""

import functools
import hashlib
import os
import struct

_PT_NOTE, _NT_GNU_BUILD_ID = 4, 3


def read_build_id(path):
    """Returns the linker's build id of a 64-bit ELF file, or None."""
    with open(path, "rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
            return None
        offset, = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        for index in range(count):
            file.seek(offset + index * size)
            segment = file.read(56)
            kind, = struct.unpack_from("<I", segment)
            at, = struct.unpack_from("<Q", segment, 8)
            length, = struct.unpack_from("<Q", segment, 32)
            if kind != _PT_NOTE:
                continue
            file.seek(at)
            found = _find_note(file.read(length))
            if found:
                return found.hex()
    return None


def _find_note(notes):
    place = 0
    while place + 12 <= len(notes):
        name, size, kind = struct.unpack_from("<III", notes, place)
        place += 12
        value = place + (name + 3 & ~3)
        if kind == _NT_GNU_BUILD_ID and notes[place:place + name] == b"GNU\0":
            return notes[value:value + size]
        place = value + (size + 3 & ~3)
    return None


@functools.lru_cache(None)
def _identify_library(path, size, changed):
    found = read_build_id(path)
    if found:
        return found
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def identify_library(path):
    """Returns the build id of a library, or the hash of the file if there is no build id."""
    state = os.stat(path)
    return _identify_library(path, state.st_size, state.st_mtime_ns)


def identify_tool(path):
    """Identifies a tool by path, size and modification time."""
    state = os.stat(path)
    return f"{os.path.realpath(path)} {state.st_size} {state.st_mtime_ns}"
