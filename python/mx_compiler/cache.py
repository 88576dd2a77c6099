# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs on disk, a file each, for any number of processes.

A file begins with the hash of the rest, a zip file of what mx-compile writes. It is
written beside its place and renamed, so that no process sees a part of it; a file that does
not have its hash counts as missing. The file that was used longest ago goes first
where there are too many bytes."""

import hashlib
import io
import os
import pathlib
import tempfile
import time
import warnings
import zipfile

from .errors import caller_depth
from .files import read_bytes

SUFFIX = ".mxp"
BEGUN = ".tmp"
HOUR = 3600  # after which what was begun has been given up
DEFAULT_MEGABYTES = 1024

_warned = set()


def directory(asked=None):
    """Where programs are kept: `asked`, MX_CACHE_DIR, or the user's cache."""
    asked = asked or os.environ.get("MX_CACHE_DIR")
    if asked:
        return pathlib.Path(asked)
    import platformdirs  # only where it is needed
    return pathlib.Path(platformdirs.user_cache_dir("mx_compiler"))


def limit():
    """Bytes that may be kept: MX_CACHE_MEGABYTES, 1024 without it."""
    text = os.environ.get("MX_CACHE_MEGABYTES") or str(DEFAULT_MEGABYTES)
    try:
        megabytes = float(text)
    except ValueError:
        megabytes = -1.0
    if not 0 <= megabytes < float("inf"):
        raise ValueError("MX_CACHE_MEGABYTES: expected a number of at least 0, "
                         f"found {text!r}")
    return int(megabytes * 1e6)


def pack(parts):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as file:
        for name, data in parts.items():
            file.writestr(zipfile.ZipInfo(name), data)
    data = memory.getvalue()
    return hashlib.sha256(data).digest() + data


def unpack(data):
    """What was packed; None if it is damaged."""
    head, rest = data[:32], data[32:]
    if hashlib.sha256(rest).digest() != head:
        return None
    with zipfile.ZipFile(io.BytesIO(rest)) as file:
        return {name: file.read(name) for name in file.namelist()}


def load(folder, key):
    """The parts of the program with that key; None if it is not there."""
    path = folder / (key + SUFFIX)
    try:
        data = read_bytes(path)
    except OSError:
        return None
    parts = unpack(data)
    try:
        if parts is None:
            path.unlink()
        else:
            os.utime(path)  # used now
    except OSError:
        pass  # another user's, or gone already
    return parts


def store(folder, key, parts):
    """Keeps a program. Where that is not possible, warns once."""
    data, most = pack(parts), limit()
    if len(data) > most:
        return
    begun = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, begun = tempfile.mkstemp(BEGUN, "", folder)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(begun, folder / (key + SUFFIX))
    except OSError as error:
        if begun:
            _remove(begun)
        if folder not in _warned:
            _warned.add(folder)
            warnings.warn(f"mx: {folder}: cannot keep compiled programs: {error}; "
                          "MX_CACHE_DIR names another folder, mx_compiler.compile(..., "
                          "cache=False) keeps none", RuntimeWarning, caller_depth())
        return
    _evict(folder, most)


def _evict(folder, most):
    """Removes what was used longest ago, and what others began and left."""
    files, total = [], 0
    try:
        listed = list(os.scandir(folder))
    except OSError:
        return
    for entry in listed:
        try:
            state = entry.stat()
        except OSError:  # gone meanwhile
            continue
        if entry.name.endswith(BEGUN) and time.time() - state.st_mtime > HOUR:
            _remove(entry.path)
        elif entry.name.endswith(SUFFIX):
            files.append((state.st_mtime_ns, state.st_size, entry.path))
            total += state.st_size
    for _, size, path in sorted(files):
        if total <= most:
            break
        _remove(path)
        total -= size


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass
