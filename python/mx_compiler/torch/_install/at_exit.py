# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Works around an abort at process exit after a backward pass on a GPU. PyTorch's autograd threads
release tensors after `backward` has returned, and need the interpreter for that. If the interpreter
ends meanwhile, CPython ends the thread inside a C++ destructor, and the process aborts with
"terminate called without an active exception"."""

import atexit
import pathlib
import time

_NAMES = "pt_autograd"  # followed by the device number
_TASKS = pathlib.Path("/proc/self/task")


def _threads():
    """Returns the state and the numbers of context switches of each autograd thread."""
    found = {}
    for task in _TASKS.glob("*/status"):
        try:
            fields = dict(line.split(":", 1) for line in task.read_text().splitlines())
        except (OSError, ValueError):  # the thread has just ended
            continue
        if fields.get("Name", "").strip().startswith(_NAMES):
            found[task] = [fields.get(key, "").strip() for key in
                           ("State", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")]
    return found


def wait_for_autograd(limit=2.0):
    """Yields the interpreter to autograd threads until all of them sleep, but for at most `limit`
    seconds. Returns immediately if there are no such threads."""
    end = time.monotonic() + limit
    before, calm = None, 0
    while time.monotonic() < end and calm < 3:
        now = _threads()
        if not now:
            return
        is_asleep = all(state[0].startswith("S") for state in now.values())
        calm = calm + 1 if is_asleep and now == before else 0
        before = now
        time.sleep(0.001)


def register():
    atexit.register(wait_for_autograd)
