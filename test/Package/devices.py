"""Tests several devices in one process. Arrays record their device, calls run on the device of their arrays, and
threads choose devices independently. If a call mixes devices, the error names them.

RUN: env MX_DEVICE= MX_SIM_DEVICES=4 MX_CACHE_DIR=%t %python -W error %s
RUN: env MX_DEVICE= MX_SIM_DEVICES=17 not %python -c "import mx_compiler as mx; mx.set_device('sim')" 2>&1 | FileCheck %s
CHECK: MX_SIM_DEVICES: expected a number of simulated devices from 1 to 16, found '17'
"""

import mx_compiler as mx
import numpy as np
from threads import in_threads

ADD = """func.func @main(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %e = tensor.empty() : tensor<1xf32>
  %0 = arith.addf %x, %y : tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}"""
NAMES = ["sim", "sim:1", "sim:2", "sim:3"]
found, arrays = {}, {}


def work(number):
    name = NAMES[number]
    mx.set_device(f"sim:{number}")
    array = arrays[number] = mx.array(np.full((64, 64), number + 1, np.float32))
    quantized = mx.quantize(array, "mxfp8")
    values = mx.dequantize(quantized).numpy().astype(np.float32)
    found[number] = (mx.device_name() == array.device == quantized.elements.device == name,
                     np.array_equal(values, np.full((64, 64), number + 1)))


mx.set_device("sim")
in_threads(work, 4)
assert found == {number: (True, True) for number in range(4)}, found
assert mx.device_name() == "sim"
# A thread that chooses no device uses the device that was chosen first in the process.
assert in_threads(lambda _: mx.device_name(), 1) == ["sim"]

# One program on each device, independent of the current device.
add = mx.compile(ADD, cache=False)["main"]
for number in (2, 0, 3, 1, 2):
    result = add(arrays[number], arrays[number])[0]
    assert result.device == NAMES[number], result.device
    assert np.array_equal(result.numpy(), np.full((64, 64), 2 * number + 2)), number
assert add.make_results(arrays[1], arrays[1])[0].device == "sim:1"
assert add.make_workspace(arrays[1], arrays[1]).device == "sim:1"
# NumPy arrays are copied to the device of another argument, or else to the current device.
ones = np.ones((64, 64), np.float32)
assert add(ones, arrays[3])[0].device == "sim:3"
copied = []  # destination of a call's first array
copy_from = mx.DeviceArray.copy_from
mx.DeviceArray.copy_from = lambda self, *given: copied.append(self.device) or copy_from(self, *given)
for name in NAMES + NAMES[:1]:
    mx.set_device(name)
    assert np.array_equal(add(ones, ones)[0], ones + ones)
assert copied == [name for name in NAMES + NAMES[:1] for _ in range(2)], copied
mx.DeviceArray.copy_from = copy_from
for call in (lambda: add(arrays[1], arrays[2]),
             lambda: add.launch([arrays[1], arrays[1]], add.make_results(arrays[2], arrays[2]),
                                add.make_workspace(arrays[1], arrays[1]))):
    try:
        call()
    except ValueError as error:
        assert "expected memory of sim:1" in str(error) and "found sim:2" in str(error), error
    else:
        raise AssertionError("expected an error for arrays of two devices")
view = arrays[2].view("i4")
assert view.device == "sim:2" and mx.DeviceArray.from_pointer(
    arrays[3].pointer, (64, 64), "f4").device == "sim:3"
