# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that are read whole."""

import os
import pathlib
import stat

_KINDS = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a named pipe",
          stat.S_IFSOCK: "a socket"}


def check_file(path):
    """Raises an OSError for what cannot be read to its end: a named pipe waits for a
    writer, and some devices have no end. What is missing is open's to tell."""
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
    """Whether a name that a document stores is that of a file beside it, as manifests want:
    one part of a path, which leads nowhere else."""
    return name not in ("", ".", "..") and not set(name) & set("/\\\0")
