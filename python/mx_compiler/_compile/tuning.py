# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tuning requests of mx.compile and the table of results."""

import contextlib
import operator
import pathlib
import tempfile
from typing import NamedTuple

from .._runtime.device import device_info, is_host
from . import cache as disk

TABLE = "tuned-schedules.json"  # beside the programs; the tools use the same name
COUNT = 8  # schedules measured for each matmul by default
MOST = 1000


class Tuning(NamedTuple):
    count: int
    rows: tuple
    gpu: str


def read(tune, rows):
    """Returns the Tuning requested by the arguments, or None."""
    count = _read_count(tune)
    if rows is not None and not count:
        raise TypeError("tune_rows: expected tune=True with it, found tune=False")
    sizes = _read_rows(rows)
    if not count:
        return None
    if is_host():
        raise ValueError("tune: expected a GPU to tune on, found cpu: "
                         "mx_compiler.set_device(\"cuda\") chooses one")
    return Tuning(count, sizes, device_info().name)


def _read_count(tune):
    if isinstance(tune, bool):
        return COUNT if tune else 0
    try:
        count = operator.index(tune)
    except TypeError:
        raise TypeError("tune: expected True, False or how many schedules are timed, "
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
    """Yields the table of measured schedules in the cache folder; without a cache, a temporary
    file."""
    if cache is not False:
        yield disk.directory(None if cache is True else cache) / TABLE
        return
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder) / TABLE
