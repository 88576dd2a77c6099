# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading of whole files."""

import os
import pathlib
import stat

_KINDS = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a named pipe",
          stat.S_IFSOCK: "a socket"}


def check_file(path):
    """Raises OSError unless the path is a regular file: named pipes block and some devices are
    endless. A missing file is reported by open."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode):
        found = _KINDS.get(stat.S_IFMT(mode), "a device")
        raise OSError(f"{os.fspath(path)}: expected a file, found {found}")


def read_bytes(path):
    check_file(path)
    return pathlib.Path(path).read_bytes()


def is_beside(name):
    """Returns True if a stored name refers to a file beside the document: a single path
    component."""
    return name not in ("", ".", "..") and not set(name) & set("/\\\0")
