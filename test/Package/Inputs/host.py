"""Tests the device cpu: arguments and results of all types, errors, threads, the in-memory cache, and a later change of
the device.

usage: host.py"""

import gc
import warnings
from importlib.util import find_spec

import ml_dtypes
import mx_compiler as mx
import numpy as np
from patterns import COPIES, TYPES, bits, copy_jax, copy_tensors, dtype_of, make
from refuses import refuses
from threads import in_threads

ROW = """func.func @row(%x: tensor<?x4x${dtype}>, %i: index) -> (tensor<4x${dtype}>, index) {
  %r = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<?x4x${dtype}> to tensor<4x${dtype}>
  %c = arith.constant 0 : index
  %n = tensor.dim %x, %c : tensor<?x4x${dtype}>
  return %r, %n : tensor<4x${dtype}>, index
}
"""
ADD = """func.func @add(%x: tensor<?xf32>, %y: tensor<?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %z = linalg.add ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%o : tensor<?xf32>) -> tensor<?xf32>
  return %z : tensor<?xf32>
}
"""
EXIT = """func.func private @exit(i32)
func.func @leave(%x: i32, %y: tensor<2xf32>) -> i32 {
  func.call @exit(%x) : (i32) -> ()
  return %x : i32
}
func.func @claim(%x: i1, %y: tensor<2xf32>) -> i1 {
  cf.assert %x, "100% sure"
  return %x : i1
}
"""
rng = np.random.default_rng(5)


# --- The device -------------------------------------------------------------------

# The package, not the runtime, handles MX_DEVICE=cpu.
assert mx.device_name() == "cpu"
info = mx.device_info()
assert info.kind == "cpu" and info.name and info.multiprocessors > 0
assert info.global_memory > 1 << 20 and info.capability == (0, 0)
mx.synchronize()

# --- Arrays -----------------------------------------------------------------------

program = mx.compile(COPIES)
assert list(program.entries) == [f"copy_{mlir}" for mlir, *_ in TYPES]
for mlir, name, storage, _, _ in TYPES:
    entry, x = program[f"copy_{mlir}"], make(rng, mlir, name)
    value = entry.arguments[0]
    assert (value.name, value.type) == ("x", f"tensor<?x8x{mlir}>")
    assert (value.dtype, value.storage) == (dtype_of(name), np.dtype(storage)), mlir
    assert value.shape == (None, x.shape[1]) and not value.is_number
    # Any alignment and any strides.
    odd = np.frombuffer(b"-" + x.tobytes(), "u1")[1:].view(x.dtype).reshape(x.shape)
    for given in (x, x.view(storage), np.asfortranarray(x), odd, x[::-1][::-1]):
        y, = entry(given)
        assert type(y) is np.ndarray and y.dtype == x.dtype and y.shape == x.shape
        assert bits(y) == bits(x) and not np.shares_memory(y, x), mlir
    empty = entry(x[:0])[0]
    assert empty.shape == (0, x.shape[1]) and empty.dtype == x.dtype
fp4 = rng.integers(0, 16, (3, 8), dtype="u1").view(ml_dtypes.float4_e2m1fn)
assert bits(mx.unpack_fp4(program["copy_f4E2M1FN"](fp4)[0])) == bits(fp4)
assert mx.from_dlpack(x) is x
assert repr(program["copy_bf16"]) == (
    "<mx_compiler.Entry copy_bf16(x: tensor<?x8xbf16>) -> (tensor<?x8xbf16>)>")

# Scalars, dynamic shapes, and a memref, which is a result because it is written.
row = mx.compile(ROW, dtype="bf16")["row"]
x = rng.standard_normal((3, 4)).astype(ml_dtypes.bfloat16)
y, count = row(x, np.int64(2))
assert bits(y) == bits(x[2]) and type(count) is np.int64 and count == 3
zero = mx.compile("func.func @zero(%m: memref<3xi32>) {\n %c = arith.constant 0 : i32\n"
                  "linalg.fill ins(%c : i32) outs(%m : memref<3xi32>)\n return }")["zero"]
given = np.arange(3, dtype=np.int32)
assert not zero(given)[0].any() and given[2] == 2

# --- Errors -------------------------------------------------------------------------

add = mx.compile(ADD)["add"]
ones = np.ones(3, np.float32)
ends = mx.compile(EXIT)
square = np.ones((64, 64), np.float32)
for _ in range(2):  # calls leave no state behind
    refuses(mx.InvalidValueError, r"^entry 'row': text:2:8: .*access.*; called with x: bfloat16\(3, 4\), i: 3$",
            lambda: row(x, 3))
    refuses(mx.InvalidValueError, r"^entry 'add': text:2:8: .*found 4; called with x: float32\(3,\), y: float32\(4,\)",
            lambda: add(ones, np.ones(4, np.float32), ones))
    assert bits(row(x, 1)[0]) == bits(x[1])
    assert np.array_equal(add(ones, ones, ones)[0], 2 * ones)


class Elsewhere:
    def __dlpack_device__(self):
        return 2, 3

    def __dlpack__(self, **_):
        raise AssertionError("it was asked")


for kind, text, call in (
        # Calls that would end the process.
        (mx.InvalidValueError, r"^entry 'leave': the program called exit\(3\); called with x: 3, ", lambda: ends["leave"](3, ones[:2])),
        (mx.InvalidValueError, "^entry 'claim': text:7:3: 100% sure; called with x: False", lambda: ends["claim"](False, ones[:2])),
        (ValueError, "entry 'row': expected 2 arguments, found 1", lambda: row(x)),
        (TypeError, "argument 0 'x': expected dtype bfloat16, or uint16 for its bits, for tensor<.x4xbf16>, "
         "found float32", lambda: row(x.astype(np.float32), 0)),
        (ValueError, r"argument 0 'x': expected dimension 1 to be 4 .* found 3 in shape \(4, 3\)", lambda: row(x.T, 0)),
        (TypeError, "argument 0 'x': expected an array for tensor<.x4xbf16>, found 1", lambda: row(1, 0)),
        (TypeError, "argument 1 'i': expected a number of dtype int64", lambda: row(x, 0.5)),
        (ValueError, r"argument 0 'x': expected memory of the host \(cpu\), found cuda:3", lambda: row(Elsewhere(), 0)),
        (ValueError, "entry 'row': expected no stream on cpu, .* found 7", lambda: row(x, 0, stream=7)),
        (ValueError, "mx_compiler.DeviceArray: expected the device sim or a GPU, found cpu: pass arrays", lambda: mx.empty(3, "f32")),
        (ValueError, "mx_compiler.DeviceArray: expected the device sim", lambda: mx.array(ones)),
        (ValueError, "mx_compiler.DeviceArray: expected the device sim", lambda: mx.DeviceArray.from_pointer(64, 3, "f32")),
        (ValueError, "mx_compiler.Stream: expected the device sim or a GPU, found cpu: omit", mx.Stream),
        (ValueError, "entry 'row': expected the device sim or a GPU for the steps", lambda: row.result_shapes(x, 0)),
        (ValueError, "entry 'row': expected the device sim", lambda: row.launch([x, 0], [None, None])),
        (ValueError, "nowhere: expected the device sim or a GPU, found cpu: compile the source", lambda: mx.Program("nowhere")),
        (ValueError, "text: expected a program of mx_compiler.compile for sim .* found a program for cpu", lambda: program.save("nowhere")),
        (mx.Error, r"^expected the entry to be one of \[row\], found 'main'", lambda: mx.compile(ROW, dtype="bf16")["main"]),
        (mx.CompileError, r"^text:2:8: error: ", lambda: mx.compile("func.func @f() {\n return 1\n}")),
        (mx.CompileError, r"^error: expected the entry to be one of \[row\], found 'f'", lambda: mx.compile(ROW, dtype="bf16", entries=["f"])),
        (mx.CompileError, "'mx-no' does not refer to a registered pass", lambda: mx.compile(ROW, dtype="bf16", pipeline="builtin.module(mx-no)")),
):
    refuses(kind, text, call)
assert ends["claim"](True, ones[:2]) == [True]
row(x, 0, stream=0)  # the default stream

# --- Programs -----------------------------------------------------------------------

# Each text is compiled only once, even if several threads compile it. Concurrent calls are serialized.
made, begin = [], mx._programs.host.HostCode.__init__
mx._programs.host.HostCode.__init__ = lambda code, *about: made.append(about) or begin(code, *about)
entries = [None] * 4


def work(index):
    entries[index] = mx.compile(ROW, dtype="f32")["row"]
    for rows in range(1, 60):
        given = np.full((rows, 4), rows + 100 * index, np.float32)
        found, count = entries[index](given, rows - 1)
        assert (found == given[0]).all() and count == rows
        refuses(mx.InvalidValueError, rf"i: {rows}$", lambda: entries[index](given, rows))


in_threads(work, 4)
assert len(made) == 1, made
mx.compile(ROW, dtype="f32", cache=False)
assert len(made) == 2
# A closed program, and a program kept alive only by an entry.
with mx.compile(ROW, dtype="f32") as closed:
    entry = closed["row"]
refuses(ValueError, "the program was closed", lambda: entry(given, 0))
entry = mx.compile(ROW, dtype="f64", cache=False)["row"]
gc.collect()
assert entry(np.ones((1, 4)), 0)[0].dtype == np.float64
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    found = mx.compile("func.func @g(%x: f32) -> f32 { return %x : f32 }",
                       pipeline="builtin.module(canonicalize)")["g"](2.5)
assert found == [np.float32(2.5)] and not caught

# --- Other libraries ------------------------------------------------------------------

if not find_spec("torch"):
    print("torch is not installed")
else:
    import torch

    list(copy_tensors(program, rng))
    z, = add(torch.ones(3), ones, ones)
    assert isinstance(z, torch.Tensor) and (z == 2).all()
    refuses(ValueError, "'x': expected a contiguous tensor", lambda: add(torch.ones(6)[::2], ones, ones))
    refuses(ValueError, "'x': expected a tensor without requires_grad",
            lambda: add(torch.ones(3, requires_grad=True), ones, ones))
    refuses(ValueError, "'x': expected memory of cpu, the device of the call, found meta",
            lambda: add(torch.ones(3, device="meta"), ones, ones))
    print("torch agrees")

if not find_spec("jax"):
    print("jax is not installed")
else:
    for mlir, x, _, y in copy_jax(program, rng):
        assert type(y) is np.ndarray and bits(y) == bits(x), mlir
    print("jax agrees")

# --- Another device -------------------------------------------------------------------

mx.set_device("sim")
assert mx.device_name() == mx.device_info().kind == "sim"
on_device = mx.array(ones)
entry = mx.compile(ADD, ptxas="none")["add"]
assert entry is not add and isinstance(
    entry(on_device, on_device, mx.array(ones))[0], mx.DeviceArray)
assert np.array_equal(add(ones, ones, ones)[0], 2 * ones)  # an entry compiled for cpu still works
mx.set_device("cpu")
refuses(TypeError, r"'x': expected a host array, found <mx_compiler.DeviceArray float32\(3,\)>: pass x.numpy",
        lambda: add(on_device, ones, ones))
assert np.array_equal(mx.compile(ADD)["add"](on_device.numpy(), ones, ones)[0], 2 * ones)
print("all is well")
