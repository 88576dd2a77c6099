# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints notices to standard error unless MX_QUIET is set (docs/guide/Python.md, Notices). The tools
use mxsim/io/Notices.h for the same purpose."""

import os
import sys
import threading

_lock = threading.Lock()
_said = set()


def say_once(text):
    """Prints a line, but only once in this process."""
    if os.environ.get("MX_QUIET", "") not in ("", "0"):
        return
    with _lock:
        if text in _said:
            return
        _said.add(text)
    if sys.stderr is not None:
        print(f"mx_compiler: {text}", file=sys.stderr, flush=True)


def say_simulated():
    """Prints a notice about the default choice of the simulator."""
    say_once("no GPU here can run programs of mx: they run on the simulator, which is far "
             "slower (programs are compiled for sm_100a unless MX_CHIP is set; MX_DEVICE=sim "
             "selects it without this notice; python -m mx_compiler reports details)")
