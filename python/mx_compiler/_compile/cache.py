# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Disk cache of compiled programs. Each program is a file. Any number of processes can share it.

A file contains a hash, followed by a zip of mx-compile's output. The cache writes a file under a
temporary name and renames it, so processes never read a partial file. A file with a wrong hash is
treated as missing. If the size limit is exceeded, the least recently used files are removed."""

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
HOUR = 3600  # age in seconds at which unfinished files are removed
DEFAULT_MEGABYTES = 1024
ROOT = 0  # may write everywhere

_warned = set()
_replaced = {}  # replacement for each folder that another user owns


def directory(asked=None):
    """Returns the cache folder: `asked` if given, else MX_CACHE_DIR, else the user's cache."""
    asked = asked or os.environ.get("MX_CACHE_DIR")
    if asked:
        return pathlib.Path(asked)
    try:
        import platformdirs  # imported on demand
        place = platformdirs.user_cache_dir("mx_compiler")
    except (ImportError, RuntimeError):  # RuntimeError: no home directory
        # This is the folder of platformdirs on Linux, so programs are found with and without the
        # package.
        base = os.environ.get("XDG_CACHE_HOME", "")
        place = os.path.join(base if os.path.isabs(base) else os.path.expanduser("~/.cache"),
                             "mx_compiler")
    if not os.path.isabs(place):  # no home directory
        place = _temporary_folder()
    return pathlib.Path(place)


def _temporary_folder():
    """Returns a folder owned and writable only by this user: mx_compiler-UID, or a new folder for
    this process if another user created a file of that name."""
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
    """Returns the size limit in bytes, from MX_CACHE_MEGABYTES (default 1024)."""
    text = os.environ.get("MX_CACHE_MEGABYTES") or str(DEFAULT_MEGABYTES)
    try:
        megabytes = float(text)
    except ValueError:
        megabytes = -1.0
    if not 0 <= megabytes < float("inf"):
        raise ValueError(f"MX_CACHE_MEGABYTES: expected a number of at least 0, found {text!r}")
    return int(megabytes * 1e6)


def pack(parts):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as file:
        for name, data in parts.items():
            file.writestr(zipfile.ZipInfo(name), data)
    data = memory.getvalue()
    return hashlib.sha256(data).digest() + data


def unpack(data):
    """Returns the packed parts, or None if `data` is damaged."""
    head, rest = data[:32], data[32:]
    if hashlib.sha256(rest).digest() != head:
        return None
    # The hash proves only that the file is complete, so the contents are checked.
    try:
        with zipfile.ZipFile(io.BytesIO(rest)) as file:
            parts = {name: file.read(name) for name in file.namelist()}
        if not isinstance(json.loads(parts["manifest.json"])["target"], str):
            return None
        if not all(map(is_beside, parts)):  # Program.save writes files with these names
            return None
        return parts
    except Exception:  # zipfile, zlib and json raise many types
        return None


def load(folder, key):
    """Returns the parts of the program with that key, or None."""
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
            os.utime(path)  # marks the file as recently used
    except OSError:
        pass  # the file belongs to another user or was removed
    return parts


def store(folder, key, parts):
    """Stores a program. Warns once for each folder if that fails."""
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
                          "set MX_CACHE_DIR to another folder, or call mx_compiler.compile(..., "
                          "cache=False)", RuntimeWarning, caller_depth())
        return
    _evict(folder, most)


@functools.lru_cache(None)
def _find_others(folder):
    """Returns the reason why other users can add programs to the folder, or None. A parent folder
    with the sticky bit, such as /tmp, is safe."""
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
    """Returns True if the Unix group is the private group of this user and has no other member."""
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
    """Warns once about a folder writable by other users, because this process runs the programs
    in the folder."""
    try:
        others = _find_others(folder.resolve(strict=True))
    except OSError:  # missing folder
        return
    if others and (folder, others) not in _warned:
        _warned.add((folder, others))
        warnings.warn(f"mx_compiler: {folder}: expected a program folder that no other user can "
                      f"write, because its programs are run, found that {others}. "
                      "Change the permissions (chmod go-w), or set "
                      "MX_CACHE_DIR to another folder", RuntimeWarning, caller_depth())


def _evict(folder, most):
    """Removes the least recently used programs until at most `most` bytes remain, and removes
    abandoned temporary files."""
    files, total = [], 0
    try:
        listed = list(os.scandir(folder))
    except OSError:
        return
    for entry in listed:
        try:
            state = entry.stat()
        except OSError:  # the file was removed meanwhile
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
