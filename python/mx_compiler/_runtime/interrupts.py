# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signals while the simulator runs. Python handles signals in the main thread between bytecode
instructions, so a long simulation would block Ctrl-C. Another thread therefore makes the call
while the main thread waits in Python."""

import _thread
import ctypes
import threading

from .device import device_name
from .library import library, told


def run_interruptibly(function, *arguments):
    """Runs `function(*arguments)`, which launches on the simulator. If a signal handler raises,
    as for Ctrl-C, the launches are interrupted and the exception is raised after they end."""
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

    # A signal may arrive at any point, so it is unknown whether a thread was started. A second
    # thread does nothing if the first has begun.
    while not done.is_set():
        try:
            try:
                _thread.start_new_thread(work, ())
            except RuntimeError:  # no more threads
                work()
            done.wait()
        except BaseException as error:
            flag.value, raised = 1, error
    if raised or thrown:
        raise raised or thrown
    told.texts.extend(texts)
    return found
