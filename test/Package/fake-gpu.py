"""Tests GPU arrays and streams with a fake driver that only records calls. Checks the calls and their order, and that a
wrong argument causes no driver calls.

RUN: env MX_DEVICE= MX_CUDA_DRIVER=%mx_obj/unittests/libMXFakeCuda%shlibext %python -W error %s %mx_obj/unittests/libMXFakeCuda%shlibext
"""

import ctypes
import sys

import ml_dtypes
import mx_compiler as mx
import numpy as np
from refuses import refuses

# The runtime loads the same library, so both share one log.
driver = ctypes.CDLL(sys.argv[1])
driver.fakeCudaTakeLog.restype = ctypes.c_char_p


def log():
    return driver.fakeCudaTakeLog().decode().splitlines()


mx.set_device("cuda")
assert mx.device_name() == "cuda:0"
# Returning an argument needs a copy but no kernel.
program = mx.compile("""
func.func @copy(%x: tensor<?x4xf32>) -> tensor<?x4xf32> { return %x : tensor<?x4xf32> }
func.func @bits(%x: tensor<4xbf16>) -> tensor<4xbf16> { return %x : tensor<4xbf16> }
func.func @two(%x: tensor<?xf32>, %n: index, %f: f32) -> tensor<?xf32> {
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  return %y : tensor<?xf32>
}
""", chip="sm_90a", ptxas="none")
copy = program["copy"]
numbers = np.arange(8, dtype=np.float32).reshape(2, 4)
STREAM = 0x50  # handle of every stream of the fake


def aligned(count):
    """Returns memory at a multiple of 256 bytes. The fake's device memory is host memory."""
    memory = np.zeros(count + 256, np.uint8)
    start = -memory.ctypes.data % 256
    return memory[start:start + count]


class Tensor:
    """Array of another library on the GPU, with its own stream 0x70."""

    def __init__(self, array, device=(2, 0)):
        self.array = aligned(array.nbytes).view(array.dtype).reshape(array.shape)
        self.array[...] = array
        self.device, self.asked = device, []


class ByDlpack(Tensor):
    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream, max_version=None):
        self.asked.append(stream)
        element = mx._arrays.elements.OF_DTYPE[self.array.dtype]
        return mx._arrays.dlpack.make_capsule(self.array.ctypes.data, self.array.shape, element,
                                      self.device, self.array, True, False)


class ByInterface(Tensor):
    strides = None

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.array.shape, "typestr": self.array.dtype.str, "strides": self.strides,
                "data": (self.array.ctypes.data, True), "version": 3, "stream": 0x70}


def values(array):
    return np.ctypeslib.as_array(ctypes.cast(array.pointer, ctypes.POINTER(ctypes.c_float)), array.shape)


# --- Arguments ------------------------------------------------------------------

for stream, handle, asked in ((None, 0, 1), (STREAM, STREAM, STREAM)):
    given = ByDlpack(numbers)
    y = copy(given, stream=stream)  # prepares the call
    del y
    log()
    y, = copy(given, stream=stream)
    # The producer receives the stream, so the memory is neither copied nor synchronized.
    assert given.asked == [asked] * 2
    assert log() == ["cuMemAlloc 32", f"cuMemcpyDtoDAsync 32 stream={handle}"]
    assert isinstance(y, mx.DeviceArray) and np.array_equal(values(y), numbers)
borrowed = mx.from_dlpack(given)
assert borrowed.pointer == given.array.ctypes.data
given = ByInterface(numbers)
log()
y, = copy(given, stream=STREAM)
# Another stream writes the contents, so our stream waits for that stream.
assert log()[:4] == ["cuEventCreate flags=2", "cuEventRecord 96 112", "cuStreamWaitEvent 80 96", "cuEventDestroy 96"]
assert np.array_equal(values(y), numbers)
given.strides = (16, 4)
copy(given, stream=STREAM)

# --- Out --------------------------------------------------------------------------

assert y.__dlpack_device__() == (2, 0)
interface = y.__cuda_array_interface__
assert interface == {"shape": (2, 4), "typestr": "<f4", "data": (y.pointer, False), "strides": None,
                     "version": 3, "stream": STREAM}
log()
for stream, expected in ((STREAM, []), (-1, []), (0x60, ["cuEventRecord 96 80", "cuStreamWaitEvent 96 96"]),
                         (1, ["cuEventRecord 96 80", "cuStreamWaitEvent 0 96"]),
                         (None, ["cuEventRecord 96 80", "cuStreamWaitEvent 0 96"])):
    tensor = mx._arrays.dlpack.take_capsule(y.__dlpack__(stream=stream, max_version=(1, 1)))
    assert tensor.address == y.pointer and tensor.device == (2, 0)
    assert [line for line in log() if "Event " in line or "cuEventRecord" in line] == expected, stream
copied = mx._arrays.dlpack.take_capsule(y.__dlpack__(stream=STREAM, max_version=(1, 1), copy=True))
assert copied.address != y.pointer
half = mx.array(np.zeros(4, ml_dtypes.bfloat16))
assert half.__cuda_array_interface__["typestr"] == "<u2"
assert half.__cuda_array_interface__["stream"] == 1  # the default stream
own = mx.Stream()
half.copy_from(np.zeros(4, ml_dtypes.bfloat16), own)
own.close()  # close waits for completion, so later calls need not wait
log()
half.__dlpack__(stream=0x60)
assert half.__cuda_array_interface__["stream"] == 1

# --- Streams ----------------------------------------------------------------------


class TorchStream:
    cuda_stream = STREAM


class CupyStream:
    ptr = STREAM


class Protocol:
    def __cuda_stream__(self):
        return 0, STREAM


class Attribute:
    __cuda_stream__ = 0, STREAM


arguments = [mx.array(numbers)]
results = copy.make_results(*arguments)
for stream in (STREAM, TorchStream(), CupyStream(), Protocol(), Attribute()):
    log()
    copy.launch(arguments, results, stream=stream)
    assert log() == ["cuMemcpyDtoDAsync 32 stream=80"], stream
with mx.Stream() as stream:
    assert stream.__cuda_stream__() == (0, stream.handle.value)
    log()
    copy.launch(arguments, results, stream=stream)
    stream.wait(0x70)
    assert log()[0] == "cuMemcpyDtoDAsync 32 stream=80"
refuses(TypeError, "expected a stream to be an mx_compiler.Stream, None, the number .*, found str",
        lambda: copy.launch(arguments, results, stream="main"))
refuses(TypeError, "expected a stream", lambda: copy(*arguments, stream=True))

# --- Errors before any launch ---------------------------------------------------

good = ByDlpack(numbers)
copy(good)
unaligned = mx.DeviceArray.from_pointer(arguments[0].pointer + 4, (1, 4), "f4")
long = ByDlpack(np.zeros((2, 8), np.float32))
transposed = ByInterface(numbers)
transposed.strides = (4, 8)
log()
for kind, text, given in (
        (ValueError, r"argument 0 'x': expected memory of cuda:0, found the host \(cpu\)", ByDlpack(numbers, (1, 0))),
        (ValueError, "argument 0 'x': expected memory of cuda:0, found DLPack's device", ByDlpack(numbers, (10, 0))),
        (TypeError, "argument 0 'x': expected dtype float32 for tensor<.x4xf32>, found float64",
         ByDlpack(numbers.astype(np.float64))),
        (ValueError, r"argument 0 'x': expected dimension 1 to be 4 .*, found 8 in shape \(2, 8\)", long),
        (ValueError, r"argument 0 'x': expected 2 dimensions .*, found shape \(8,\)", ByDlpack(numbers.ravel())),
        (ValueError, r"argument 0 'x': expected a dense row-major array, .* strides \(4, 8\)", transposed),
        (TypeError, "argument 0 'x': expected an array for tensor<.x4xf32>, found 3", 3),
        (TypeError, "argument 0 'x': expected an array .* found None", None)):
    refuses(kind, "entry 'copy': " + text, lambda: copy(given))
refuses(mx.Error, "expected a GPU number below 1, found 1", lambda: copy(ByDlpack(numbers, (2, 1))))
refuses(ValueError, "argument 0 'x': expected memory aligned to 16 bytes, found address 0x.*4: copy it",
        lambda: copy.launch([unaligned], [mx.DeviceArray.from_pointer(results[0].pointer, (1, 4), "f4")]))
refuses(ValueError, "result 0 'result0': expected memory aligned to 16 bytes",
        lambda: copy.launch([results[0].view("f4")], [mx.DeviceArray.from_pointer(results[0].pointer + 8, (2, 4), "f4")]))
assert log() == []

# --- Sizes that depend on a scalar ----------------------------------------------

two, x = program["two"], mx.array(np.arange(8, dtype=np.float32))
assert two._size_arguments == [1]
for n in (3, 8, 3, 0):
    assert two.result_shapes(x, n, 1.0) == [(n,)]
    assert np.array_equal(two(x, n, 1.0)[0].numpy(), np.arange(n))
prepared = len(two._prepared)
for factor in (1.0, 2.0, 3.5):  # does not affect a size
    two(x, 3, factor)
assert len(two._prepared) == prepared
refuses(mx.InvalidValueError, r"; called with x: float32\(8,\), n: 9, f: 1.0$", lambda: two(x, 9, 1.0))
# The number of cached signatures is bounded.
for n in range(300):
    copy.result_shapes(mx.DeviceArray.from_pointer(0, (n, 4), "f4"))
assert len(copy._prepared) == 256
