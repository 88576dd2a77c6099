"""Checks the default device of threads that choose no device. They use the device of the first thread that chooses one,
even if the device is cpu, which the runtime does not support.

RUN: env MX_DEVICE= MX_SIM_DEVICES=4 %python -W error %s
"""

import mx_compiler as mx
from threads import in_threads


def in_thread(function):
    return in_threads(lambda _: function(), 1)[0]


def describe():
    """Describes the current device, the device that new memory reports, and the device that it belongs to."""
    array = mx.empty((4,), "f4")
    real = mx.DeviceArray.from_pointer(array.pointer, (4,), "f4").device
    return mx.device_name(), array.device, real


mx.set_device("cpu")
in_thread(lambda: mx.set_device("sim:1"))
assert in_thread(mx.device_name) == "cpu"
mx.set_device("sim:2")
assert describe() == ("sim:2",) * 3
assert in_thread(describe) == ("sim:2",) * 3, in_thread(describe)
