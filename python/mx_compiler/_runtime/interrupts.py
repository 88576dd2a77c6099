# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Handles signals while the simulator runs. Python handles signals in the main thread between
bytecode instructions, so a long simulation would block Ctrl-C. Therefore another thread runs the
simulation while the main thread waits in Python."""

import _thread
import ctypes
import threading

from .device import device_name
from .library import library, told


def run_interruptibly(function, *arguments):
    """Runs `function(*arguments)`, which launches on the simulator. If a signal handler raises an
    exception, for example on Ctrl-C, the launches are interrupted. The exception is raised after
    they end."""
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

    # A signal may arrive at any point, so it is unknown whether the thread was started, and the loop
    # starts another thread. The second thread does nothing if the first thread ran.
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
