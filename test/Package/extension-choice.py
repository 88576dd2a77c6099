"""Checks the search order of the mx_calls extension, and the handling of files that fail to load.

REQUIRES: python-extension
RUN: %python -W error %s %mx_obj/lib/mx_calls.abi3.so %t
"""

import os
import pathlib
import shutil
import sys
import sysconfig
from unittest import mock

from mx_compiler._runtime import extension
from refuses import refuses

library, folder = sys.argv[1], pathlib.Path(sys.argv[2])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)


def load(**environment):
    """Loads the module with these environment variables."""
    extension.extension.cache_clear()
    with mock.patch.dict(os.environ, environment):
        return extension.extension()


# The extension lies next to the runtime.
found = load()
assert found.__file__ == library and found.INTERFACE == extension.INTERFACE
assert load(MX_EXTENSION="none") is None
# MX_EXTENSION names a copy in another folder.
copy = folder / "copy.so"
shutil.copy(library, copy)
assert load(MX_EXTENSION=str(copy)).__file__ == str(copy)
# A named file that fails to load is an error; a file found by the search is skipped.
(folder / extension.FILE).write_text("no library")
missing = str(folder / "missing.so")
refuses(ImportError, "missing.so", lambda: load(MX_EXTENSION=missing))
refuses(ImportError, "invalid ELF header|file too short", lambda: load(MX_EXTENSION=str(folder / extension.FILE)))
runtime = str(folder / "libmx_runtime.so")
assert load(MX_RUNTIME=runtime) is None
(folder / extension.FILE).unlink()
assert load(MX_RUNTIME=runtime) is None
# The file belongs to another version of the package.
with mock.patch.object(extension, "INTERFACE", 77):
    assert load() is None
    refuses(ImportError, "copy.so: expected interface 77 of mx_calls, found 1: build it anew, or set MX_EXTENSION",
            lambda: load(MX_EXTENSION=str(copy)))
# The interpreter has no global lock, or is not CPython.
with mock.patch.object(sysconfig, "get_config_var", lambda name: name == "Py_GIL_DISABLED"):
    assert load() is None
with mock.patch.object(sys.implementation, "name", "pypy"):
    assert load() is None
assert load() is not None
print("all is well")
