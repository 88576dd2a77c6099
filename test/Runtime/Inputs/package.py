"""Tests functions and errors of the package mx_compiler.

usage: package.py MATMUL NUMBERS
"""

import gc
import re
import sys

import ml_dtypes
import mx_compiler as mx
import numpy as np
from refuses import refuses as refuses_any
from threads import in_threads

matmul, numbers = sys.argv[1:]


def refuses(kind, text, call):
    error = refuses_any(kind, text, call)
    assert kind is not mx.Error or type(error) in (mx.Error, mx.InvalidValueError)
    return error


# --- Devices ------------------------------------------------------------------

refuses(mx.Error, "expected device auto, sim, sim:N, cuda, cuda:N or cpu, found 'tpu'",
        lambda: mx.set_device("tpu"))
mx.set_device("sim")
mx.set_simulator_option("sm-count", 3)
refuses(mx.Error, "sm-count: expected a number from 1 to 1024, found 'x'",
        lambda: mx.set_simulator_option("sm-count", "x"))
info = mx.device_info()
assert (info.kind, info.multiprocessors) == ("sim", 3)

# --- Arrays -------------------------------------------------------------------

x = np.arange(12, dtype=np.int32).reshape(3, 4)
with mx.array(x) as a, mx.empty((3, 4), "i4") as b, mx.Stream() as stream:
    assert (a.shape, a.dtype, a.size, a.nbytes) == ((3, 4), x.dtype, 12, 48)
    b.copy_from(x, stream)
    assert len(stream._read) == 1  # kept until a call waits for the stream
    b.copy_from(a, stream).numpy(stream=stream)
    assert not stream._read
    assert np.array_equal(b.numpy(stream=stream), x)
    b.copy_from(x.T.copy().T, stream)  # not contiguous
    out = np.zeros_like(x)
    assert b.numpy(out) is out and np.array_equal(out, x)
    assert (b.fill(0xFF).numpy() == -1).all()
    borrowed = mx.DeviceArray.from_pointer(a.pointer, (2, 4), "i4")
    assert np.array_equal(borrowed.numpy(), x[:2])
    borrowed.free()  # not owned
    assert np.array_equal(a.numpy(), x)
    refuses(ValueError, r"expected the source to be int32\(3, 4\), found int64",
            lambda: a.copy_from(x.astype(np.int64)))
    refuses(ValueError, r"found int32\(4, 3\)", lambda: a.copy_from(x.T))
    refuses(ValueError, "contiguous and writable",
            lambda: a.numpy(np.zeros((4, 3), np.int32).T))
    refuses(TypeError, "expected a stream", lambda: a.numpy(stream="main"))
    refuses(TypeError, "expected a numeric dtype, found object",
            lambda: mx.array(np.array(["text", None])))
refuses(ValueError, r"<mx_compiler.DeviceArray int32\(3, 4\)> was freed", a.numpy)
a.free()  # a second free does nothing
refuses(ValueError, "the stream was closed", stream.synchronize)
refuses(ValueError, r"at least 0, found shape \(-1,\)", lambda: mx.empty(-1, "u1"))
refuses(mx.Error, "bytes on sim:0 failed", lambda: mx.empty(1 << 60, "u1"))
assert mx.empty((0, 4), "f4").numpy().shape == (0, 4)
assert mx.array(np.float32(3)).numpy() == 3

# --- Programs -----------------------------------------------------------------

error = refuses(mx.Error, "none/manifest.json: cannot open: No such file",
                lambda: mx.Program(matmul + "/none"))
assert error.name == "bad module"

program = mx.Program(matmul)
assert list(program.entries) == ["main"]
main = program["main"]
refuses(mx.Error, r"expected the entry to be one of \[main\], found 'other'",
        lambda: program["other"])
argument, result = main.arguments[0], main.results[0]
assert (argument.name, argument.type) == ("x", "tensor<?x?xbf16>")
assert (argument.dtype, argument.shape) == (ml_dtypes.bfloat16, (None, None))
assert (result.dtype, result.storage) == (ml_dtypes.bfloat16, np.uint16)
assert not result.is_number

rng = np.random.default_rng(1)
x = rng.standard_normal((64, 128)).astype(ml_dtypes.bfloat16)
w = rng.standard_normal((96, 128)).astype(ml_dtypes.bfloat16)
y, = main(x, w)
exact = x.astype(np.float64) @ w.astype(np.float64).T
assert y.dtype == ml_dtypes.bfloat16
noise = y.astype(np.float64) - exact
assert (noise**2).sum() < (exact**2).sum() * 10**-2.5
assert np.array_equal(main(x.view(np.uint16), w)[0], y)

before = mx.simulator_counters()
refuses(TypeError, "argument 0 'x': expected dtype bfloat16, or uint16 for its bits, "
        "for tensor<.x.xbf16>, found float32", lambda: main(x.astype(np.float32), w))
refuses(TypeError, "found float16", lambda: main(x.astype(np.float16), w))
refuses(ValueError, r"argument 1 'w': expected 2 dimensions for .*, found shape "
        r"\(128,\)", lambda: main(x, w[0]))
refuses(ValueError, "expected 2 arguments, found 1", lambda: main(x))
error = refuses(mx.Error, "multiple of 32, found 100",
                lambda: main(x[:, :100], w[:, :100]))
assert (error.status, error.name) == (1, "invalid value")
assert isinstance(error, ValueError)
assert str(error).endswith("called with x: bfloat16(64, 100), w: bfloat16(96, 100)")
refuses(mx.Error, "matmul.mlir", lambda: main(x, w[:, :64]))
refuses(TypeError, "argument 1 'w': expected an array for .*, found None", lambda: main(x, None))
# Kernels cannot read a misaligned address.
shifted = mx.empty(64 * 128 * 2 + 16, "u1")
for by in (2, 8):
    wrong = mx.DeviceArray.from_pointer(shifted.pointer + by, x.shape, x.dtype)
    refuses(ValueError, "argument 0 'x': expected memory aligned to 16 bytes, found "
            f"address 0x.*{by}: copy it", lambda: main(wrong, mx.array(w)))
assert mx.simulator_counters() == before  # no kernel was launched
right = mx.DeviceArray.from_pointer(shifted.pointer + 16, x.shape, x.dtype).copy_from(x)
assert np.array_equal(main(right, mx.array(w))[0].numpy(), y)

operands = [mx.array(x), mx.array(w)]
results, workspace = main.make_results(*operands), main.make_workspace(*operands)
assert main.result_shapes(*operands) == [(64, 96)]
assert main.workspace_bytes(*operands) == workspace.nbytes > 0
for byte in (0, 0xFF):  # fill memory with arbitrary bytes
    workspace.fill(byte)
    with mx.Stream() as stream:
        before = mx.simulator_counters()["launches"]
        main.launch(operands, results, workspace, stream)
        assert mx.simulator_counters()["launches"] == before + 3
        assert np.array_equal(results[0].numpy(stream=stream), y)
refuses(TypeError, "expected an mx_compiler.DeviceArray, found a host array",
        lambda: main.launch([x, w], results, workspace))
refuses(TypeError, "result 0 '.*': expected an mx_compiler.DeviceArray, found str",
        lambda: main.launch(operands, ["y"], workspace))
refuses(ValueError, "expected 1 results, found 0",
        lambda: main.launch(operands, [], workspace))
refuses(ValueError, r"result 0 '.*': expected shape \(64, 96\), found \(96, 64\)",
        lambda: main.launch(operands, [mx.empty((96, 64), "u2")], workspace))
refuses(TypeError, "result 0 '.*': expected dtype bfloat16",
        lambda: main.launch(operands, [mx.empty((64, 96), "f4")], workspace))
refuses(mx.InvalidValueError, f"workspace of at least {workspace.nbytes} bytes, found 0",
        lambda: main.launch(operands, results))
refuses(ValueError, "found 256", lambda: main.launch(operands, results,
                                                     mx.empty(256, "u1")))
refuses(TypeError, "expected the workspace", lambda: main.launch(
    operands, results, b"bytes"))
results[0].free()
refuses(ValueError, "was freed",
        lambda: main.launch(operands, results, workspace))

# --- Threads ------------------------------------------------------------------


def repeat(index):
    """Alternates valid and invalid calls: errors are per thread."""
    columns = 33 + index
    for _ in range(3):
        assert np.array_equal(main(x, w)[0], y)
        refuses(mx.Error, f"multiple of 32, found {columns}",
                lambda: main(x[:, :columns], w[:, :columns]))


in_threads(repeat, 4)

program.close()
program.close()
refuses(ValueError, "the program was closed", lambda: main(x, w))
refuses(ValueError, "the program was closed", lambda: program["other"])

# --- Outside of NumPy ---------------------------------------------------------

with mx.empty((2, 3), "f4") as on_device:
    for read in (np.asarray, np.array, lambda a: np.add(a, 1)):
        refuses(TypeError, r"x\.numpy\(\) copies it to the host", lambda: read(on_device))
assert re.fullmatch(r"\d+\.\d+\.\d+(\+[0-9a-f]{12}(\.changed)?)?", mx.__version__), mx.__version__
refuses(AttributeError, "no attribute 'nonsense'", lambda: mx.nonsense)

# --- Numbers ------------------------------------------------------------------

with mx.Program(numbers) as program:
    assert set(program.entries) == {"scale", "nothing"}
    assert program["nothing"]() == []
    scale = program["scale"]
    assert [v.is_number for v in scale.arguments] == [False, True, True, True]
    assert scale.arguments[0].shape == (None, 64)
    z = rng.standard_normal((3, 64)).astype(np.float32)
    one = ml_dtypes.bfloat16(1)
    assert np.array_equal(scale(z, 2.5, -7, one)[0], z)
    assert np.array_equal(scale(z, 2, np.int64(7), np.uint16(0x3F80))[0], z)
    refuses(TypeError, "argument 1 'factor': expected a number of dtype float32 "
            "for f32, found 'many'", lambda: scale(z, "many", 1, one))
    refuses(TypeError, "argument 2 'count'.*found 1.5",
            lambda: scale(z, 1.0, 1.5, one))
    refuses(ValueError, "number of -2147483648 to 2147483647, found 2147483648",
            lambda: scale(z, 1.0, 2**31, one))
    assert np.array_equal(scale(z, 2, 7, 1.5)[0], z)
    refuses(TypeError, "argument 3 'b'.*dtype bfloat16.*found 1j",
            lambda: scale(z, 1.0, 1, 1j))
    refuses(ValueError, "'x': expected dimension 1 to be 64 for .*, found 32",
            lambda: scale(z[:, :32], 1.0, 1, one))

# Objects that were never closed are released.
mx.Program(matmul)["main"](x, w)
gc.collect()
print("all is well")
