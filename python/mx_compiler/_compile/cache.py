# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs on disk, a file each, for any number of processes.

A file begins with the hash of the rest, a zip file of what mx-compile writes. It is
written beside its place and renamed, so that no process sees a part of it; a file that does
not have its hash counts as missing. The file that was used longest ago goes first
where there are too many bytes."""

import functools
import grp
import hashlib
import io
import json
import os
import pathlib
import pwd
import stat
import tempfile
import time
import warnings
import zipfile

from .._runtime.errors import caller_depth
from .files import is_beside, read_bytes

SUFFIX = ".mxp"
BEGUN = ".tmp"
HOUR = 3600  # after which what was begun has been given up
DEFAULT_MEGABYTES = 1024
ROOT = 0  # the user who may write everything anyway

_warned = set()
_replaced = {}  # folders of other users, and the folder taken instead


def directory(asked=None):
    """Where programs are kept: `asked`, MX_CACHE_DIR, or the user's cache."""
    asked = asked or os.environ.get("MX_CACHE_DIR")
    if asked:
        return pathlib.Path(asked)
    try:
        import platformdirs  # only where it is needed
        place = platformdirs.user_cache_dir("mx_compiler")
    except (ImportError, RuntimeError):  # the latter of a user without a home
        # Its folder on Linux, so that programs are found with and without it.
        base = os.environ.get("XDG_CACHE_HOME", "")
        place = os.path.join(base if os.path.isabs(base) else os.path.expanduser("~/.cache"),
                             "mx_compiler")
    if not os.path.isabs(place):  # without a home
        place = _temporary_folder()
    return pathlib.Path(place)


def _temporary_folder():
    """Returns a folder that only this user made and may write, since others may make
    one of the same name: mx_compiler-UID, or a new one for this process."""
    place = os.path.join(tempfile.gettempdir(), f"mx_compiler-{os.getuid()}")
    try:
        os.mkdir(place, 0o700)
    except FileExistsError:
        state = os.lstat(place)
        if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or state.st_mode & 0o022:
            if place not in _replaced:
                _replaced[place] = tempfile.mkdtemp(prefix="mx_compiler-")
            return _replaced[place]
    return place


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
    # The hash proves no more than that whoever wrote the file had finished.
    try:
        with zipfile.ZipFile(io.BytesIO(rest)) as file:
            parts = {name: file.read(name) for name in file.namelist()}
        if not isinstance(json.loads(parts["manifest.json"])["target"], str):
            return None
        if not all(map(is_beside, parts)):  # which Program.save makes files of
            return None
        return parts
    except Exception:  # zipfile, zlib and json have many for what is no program
        return None


def load(folder, key):
    """The parts of the program with that key; None if it is not there."""
    path = folder / (key + SUFFIX)
    _warn_of_others(folder)
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
        _warn_of_others(folder)
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
            warnings.warn(f"mx_compiler: {folder}: cannot keep compiled programs: {error}; "
                          "MX_CACHE_DIR names another folder, mx_compiler.compile(..., "
                          "cache=False) keeps none", RuntimeWarning, caller_depth())
        return
    _evict(folder, most)


@functools.lru_cache(None)
def _find_others(folder):
    """What lets others put programs into the folder; None if nothing does. Where they
    can write but not remove other users' files (/tmp), folders are safe."""
    for place in (folder, *folder.parents):
        state = place.stat()
        if state.st_uid not in (ROOT, os.getuid()):
            return f"{place} belongs to the user {_name_of(pwd.getpwuid, state.st_uid)}"
        if place != folder and state.st_mode & stat.S_ISVTX:
            continue
        if state.st_mode & stat.S_IWOTH:
            return f"the permissions of {place} let everyone write it"
        if state.st_mode & stat.S_IWGRP and not _is_own_unix_group(state.st_gid):
            name = _name_of(grp.getgrgid, state.st_gid)
            return f"the permissions of {place} let the Unix group {name} write it"
    return None


def _is_own_unix_group(group):
    """Whether a Unix group has this user alone: many systems make one for each user, and let
    it write what the user makes."""
    try:
        found, user = grp.getgrgid(group), pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return found.gr_gid == user.pw_gid and found.gr_name == user.pw_name and \
        set(found.gr_mem) <= {user.pw_name}


def _name_of(find, number):
    try:
        return find(number)[0]
    except KeyError:
        return str(number)


def _warn_of_others(folder):
    """Warns once of a folder that others can write: what they put there runs here."""
    try:
        others = _find_others(folder.resolve(strict=True))
    except OSError:  # it does not exist yet
        return
    if others and (folder, others) not in _warned:
        _warned.add((folder, others))
        warnings.warn(f"mx_compiler: {folder}: expected a folder for compiled programs that "
                      f"no one else can write, as they run as they are, found that {others}. "
                      "Change its permissions (chmod go-w), or name "
                      "another one in MX_CACHE_DIR", RuntimeWarning, caller_depth())


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
