# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Notices on standard error, disabled by MX_QUIET (docs/guide/Python.md, Notices). The tools do
the same (mxsim/io/Notices.h)."""

import os
import sys
import threading

_lock = threading.Lock()
_said = set()


def say_once(text):
    """Prints a line once in this process."""
    if os.environ.get("MX_QUIET", "") not in ("", "0"):
        return
    with _lock:
        if text in _said:
            return
        _said.add(text)
    if sys.stderr is not None:
        print(f"mx_compiler: {text}", file=sys.stderr, flush=True)


def say_simulated():
    """Notes that the simulator was selected by default."""
    say_once("no GPU here can run programs of mx: they run on the simulator, which is far "
             "slower (what is compiled is for sm_100a unless MX_CHIP is set; MX_DEVICE=sim asks "
             "for the simulator, and ends this notice; python -m mx_compiler says more)")
