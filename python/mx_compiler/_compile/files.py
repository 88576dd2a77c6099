# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads whole files."""

import os
import pathlib
import stat

_KINDS = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a named pipe",
          stat.S_IFSOCK: "a socket"}


def check_file(path):
    """Raises OSError if the path exists and is not a regular file, because reading a named pipe
    blocks and some devices are endless."""
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
    """Returns True if `name`, which a document contains, is a single path component. Such a name
    refers to a file in the same folder as the document."""
    return name not in ("", ".", "..") and not set(name) & set("/\\\0")
