# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls in several threads at once."""

import concurrent.futures
import threading


def in_threads(work, count):
    """Calls work(0), work(1), ..., each in its own thread. Returns the results, or raises the first exception."""
    start = threading.Barrier(count)

    def run(index):
        start.wait()
        return work(index)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))
