# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signals while the simulator runs. Python handles them in the main thread, and only
between its own instructions: a call that simulates for minutes would keep Ctrl-C
waiting. So another thread makes the call, and the main thread waits in Python."""

import _thread
import ctypes
import threading

from .device import device_name
from .library import library, told


def run_interruptibly(function, *arguments):
    """`function(*arguments)`, which launches on the simulator. If a signal handler
    raises meanwhile, as that of Ctrl-C does, the launches end, and its exception is
    raised when they have."""
    if threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    set_flag, flag = library().mxSetThreadInterrupt, ctypes.c_int32(0)
    turn, done = threading.Lock(), threading.Event()
    found = raised = thrown = None
    texts = []  # warnings of the launches
    device = device_name().encode()

    def work():
        nonlocal found, thrown
        with turn:
            if done.is_set():
                return
            set_flag(flag)
            library().mxSetThreadDevice(device)
            try:
                if not flag.value:
                    found = function(*arguments)
            except BaseException as error:
                thrown = error
            finally:
                set_flag(None)
                texts.extend(told.texts)
                done.set()

    # A signal can come at any point of this, so it is not known whether a thread was
    # started. Another one does nothing if the first has begun.
    while not done.is_set():
        try:
            try:
                _thread.start_new_thread(work, ())
            except RuntimeError:  # there are no more threads
                work()
            done.wait()
        except BaseException as error:
            flag.value, raised = 1, error
    if raised or thrown:
        raise raised or thrown
    told.texts.extend(texts)
    return found
