"""Whose choice of a device threads follow that have made none: that of the thread which chose first,
also where it chose cpu, which the runtime does not know.

RUN: env MX_DEVICE= MX_SIM_DEVICES=4 %python -W error %s
"""

import mx_compiler as mx
from threads import in_threads


def in_thread(function):
    return in_threads(lambda _: function(), 1)[0]


def describe():
    """What is in use, and what memory made now says and is of."""
    array = mx.empty((4,), "f4")
    real = mx.DeviceArray.from_pointer(array.pointer, (4,), "f4").device
    return mx.device_name(), array.device, real


mx.set_device("cpu")
in_thread(lambda: mx.set_device("sim:1"))
assert in_thread(mx.device_name) == "cpu"
mx.set_device("sim:2")
assert describe() == ("sim:2",) * 3
assert in_thread(describe) == ("sim:2",) * 3, in_thread(describe)
