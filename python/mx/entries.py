# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of the functions, found by what they are made for."""

from .compilation import compile
from .device import device_changes

_entries = {}


def find_entry(make_text, *about):
    """The entry @main of the program that `make_text(*about)` writes: compiled when
    it is first asked for, and found in the cache on disk by other processes."""
    key = (device_changes(), make_text, about)
    entry = _entries.get(key)
    if entry is None:
        program = compile(make_text(*about))
        entry = _entries[key] = program["main"]
    return entry
