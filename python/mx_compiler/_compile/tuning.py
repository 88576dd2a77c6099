# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuning arguments of mx.compile, and the table of measured schedules."""

import contextlib
import operator
import pathlib
import tempfile
from typing import NamedTuple

from .._runtime.device import device_info, is_host
from . import cache as disk

TABLE = "tuned-schedules.json"  # in the cache folder; the tools use the same name
COUNT = 8  # schedules measured for each matmul by default
MOST = 1000


class Tuning(NamedTuple):
    count: int
    rows: tuple
    gpu: str


def read(tune, rows):
    """Returns the requested Tuning, or None."""
    count = _read_count(tune)
    if rows is not None and not count:
        raise TypeError("tune_rows requires tune=True, found tune=False")
    sizes = _read_rows(rows)
    if not count:
        return None
    if is_host():
        raise ValueError("tuning requires a GPU, found the device cpu: "
                         "mx_compiler.set_device(\"cuda\") selects a GPU")
    return Tuning(count, sizes, device_info().name)


def _read_count(tune):
    if isinstance(tune, bool):
        return COUNT if tune else 0
    try:
        count = operator.index(tune)
    except TypeError:
        raise TypeError("tune: expected True, False or a number of schedules, "
                        f"found {tune!r}") from None
    if not 1 <= count <= MOST:
        raise ValueError(f"tune: expected a number of schedules from 1 to {MOST}, found {count}")
    return count


def _read_rows(rows):
    try:
        sizes = tuple(operator.index(size) for size in rows or ())
    except TypeError:
        raise TypeError(f"tune_rows: expected a list of numbers, found {rows!r}") from None
    if any(size < 1 for size in sizes):
        raise ValueError(f"tune_rows: expected numbers of at least 1, found {rows!r}")
    return sizes


@contextlib.contextmanager
def table(cache):
    """Yields the path of the table of measured schedules. The table is in the cache folder, or is a
    temporary file if there is no cache."""
    if cache is not False:
        yield disk.directory(None if cache is True else cache) / TABLE
        return
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder) / TABLE
