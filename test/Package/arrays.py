"""Passes NumPy, ml_dtypes, DLPack, PyTorch and JAX arrays as arguments and results, bit for bit for each element type.

RUN: env MX_DEVICE= MX_CHIP= %python_torchao -W error %s | FileCheck %s
CHECK: torch {{is not installed|agrees}}
CHECK: jax {{is not installed|agrees}}
CHECK: all is well

Covers each cell of the table in docs/guide/Python.md for installed libraries. A program that copies bits must return
the same bits with the type in the table."""

import gc
import weakref
from importlib.util import find_spec

import ml_dtypes
import mx_compiler as mx
import numpy as np
from patterns import COPIES, TYPES, bits, copy_jax, copy_tensors, dtype_of, make
from refuses import refuses

mx.set_device("sim")
program = mx.compile(COPIES, ptxas="none")
rng = np.random.default_rng(3)


# --- NumPy and DeviceArrays -------------------------------------------------------

for mlir, name, storage, _, _ in TYPES:
    entry, x = program[f"copy_{mlir}"], make(rng, mlir, name)
    value = entry.arguments[0]
    assert (value.dtype, value.storage) == (dtype_of(name), np.dtype(storage)), mlir
    for given in (x, x.view(storage), np.asfortranarray(x)):
        y, = entry(given)
        assert type(y) is np.ndarray and y.dtype == x.dtype and y.shape == x.shape
        assert bits(y) == bits(x), mlir
    for given in (mx.array(x), mx.array(x.view(storage)), mx.array(x, dtype=mlir)):
        y, = entry(given)
        assert isinstance(y, mx.DeviceArray) and y.dtype == x.dtype
        assert str(y.element) == (mlir if mlir == "f4E2M1FN" else name)
        assert bits(y.numpy()) == bits(x)
        assert y.numpy(dtype=storage).dtype == storage
    empty = entry(x[:0])[0]
    assert empty.shape == (0, x.shape[1]) and empty.dtype == x.dtype

# mx does not support masks, so masked arrays are refused as arguments even if the mask is empty. Other subclasses of
# NumPy arrays are treated like plain arrays.
entry = program["copy_f32"]
plain = np.ones((2, 8), np.float32)
entry(plain)  # prepared for the type and the shape
for masked in (np.ma.masked_array(plain, plain > 0), np.ma.masked_array(plain)):
    text = "expected an array without a mask, found a numpy.ma.MaskedArray: pass x.filled"
    for call in (lambda: mx.array(masked), lambda: mx.array(plain).copy_from(masked),
                 lambda: mx.from_dlpack(masked), lambda: mx.pack_fp4(masked)):
        refuses(TypeError, f"^{text}", call)
    refuses(TypeError, f"'copy_f32': argument 0 'x': {text}", lambda: entry(masked))
    refuses(TypeError, f"'copy_f32': argument 0 'x': {text}", lambda: entry.result_shapes(masked))
    refuses(TypeError, f"x: {text}", lambda: mx.quantize(masked))
refuses(TypeError, text, lambda: mx.route(np.ma.masked_array([[0]]), [[1.0]], 1))
refuses(TypeError, "expected a number", lambda: mx.compile(
    "func.func @f(%x: f32) -> f32 { return %x : f32 }", ptxas="none")["f"](np.ma.masked))
for kind in (np.matrix, np.memmap):
    view = plain.view(kind)
    assert np.array_equal(entry(view)[0], plain), kind

# ml_dtypes stores one float4_e2m1fn per byte; mx packs two.
entry = program["copy_f4E2M1FN"]
fp4 = rng.integers(0, 16, (3, 8), dtype="u1").view(ml_dtypes.float4_e2m1fn)
packed, = entry(fp4)
low, high = fp4.view("u1")[:, 0::2], fp4.view("u1")[:, 1::2]
assert np.array_equal(packed, low | high << 4) and packed.dtype == np.uint8
assert bits(mx.unpack_fp4(packed)) == bits(fp4) and bits(mx.pack_fp4(fp4)) == bits(packed)
assert repr(mx.array(fp4)) == "<mx_compiler.DeviceArray f4E2M1FN(3, 4)>"
refuses(ValueError, r"'x': expected an even number of float4_e2m1fn in the last dimension, "
        r"found shape \(3, 7\)", lambda: entry(fp4[:, :7]) if False else
        mx.compile("func.func @f(%x: tensor<?x?xf4E2M1FN>) -> tensor<?x?xf4E2M1FN> "
                   "{ return %x : tensor<?x?xf4E2M1FN> }", ptxas="none")["f"](fp4[:, :7]))
# A view sets the type of the bits.
x = mx.array(make(rng, "bf16", "bfloat16"))
assert x.view("u2").dtype == np.uint16 and x.view("u2").pointer == x.pointer
refuses(TypeError, "expected a dtype of 2 bytes, found float32", lambda: x.view("f4"))
refuses(TypeError, "expected a numeric dtype, found 'f33'", lambda: mx.empty(3, "f33"))

# --- A hand-written DLPack exporter -----------------------------------------------


class Shows:
    """Array that implements only the DLPack protocol. Optionally uses the old protocol without versions."""

    def __init__(self, array, is_old=False):
        self.array, self.is_old, self.asked = array, is_old, []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        self.asked.append(options)
        if self.is_old and "max_version" in options:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.array.__dlpack__(**options)


for mlir, name, _, _, _ in TYPES:
    x = make(rng, mlir, name)
    on_device = mx.array(x, dtype=mlir)
    for is_old in (False, True):
        shows = Shows(on_device, is_old)
        if is_old and mlir.startswith("f6E"):
            refuses(BufferError, "expected a consumer of DLPack 1.1", lambda: mx.from_dlpack(shows))
            continue
        back = mx.from_dlpack(shows)
        assert shows.asked[0] == {"stream": None, "max_version": (1, 1)}
        assert back.element == on_device.element and back.shape == on_device.shape
        assert bits(back.numpy()) == bits(x), mlir
        y, = program[f"copy_{mlir}"](Shows(on_device, is_old))
        assert isinstance(y, mx.DeviceArray) and bits(y.numpy()) == bits(x), mlir
assert mx.from_dlpack(make(rng, "bf16", "bfloat16")).dtype == ml_dtypes.bfloat16
x = mx.array(np.arange(12, dtype=np.float32).reshape(3, 4))
assert x.__dlpack_device__() == (1, 0)
assert np.array_equal(np.from_dlpack(x), x.numpy())
# Capsules, consumed or not, are freed with their last reference.
from mx_compiler._arrays import dlpack

capsule = x.__dlpack__(max_version=(1, 1))
assert 'capsule object "dltensor_versioned"' in repr(capsule) and len(dlpack._given) == 1
del capsule
assert not dlpack._given
taken = dlpack.take_capsule(x.__dlpack__())
assert len(dlpack._given) == 1
del taken
gc.collect()
assert not dlpack._given
array = np.from_dlpack(x)
owner = weakref.ref(array)
del array
gc.collect()
assert owner() is None and not dlpack._given
capsule = x.__dlpack__()
dlpack.take_capsule(capsule)
refuses(BufferError, "a DLPack capsule that was not consumed yet, found .*used_dltensor",
        lambda: dlpack.take_capsule(capsule))
refuses(BufferError, "expected a DLPack capsule", lambda: dlpack.take_capsule(3))
refuses(BufferError, r"expected dl_device \(1, 0\) of .*, found \(2, 0\)",
        lambda: x.__dlpack__(dl_device=(2, 0)))
refuses(BufferError, "expected copy=None or True, found False", lambda: x.__dlpack__(copy=False))
refuses(BufferError, "expected no stream for memory of the host, found 1", lambda: x.__dlpack__(stream=1))
assert not hasattr(x, "__cuda_array_interface__")
complex_numbers = np.zeros((2, 8), np.complex64)


class ShowsComplex(Shows):
    pass


refuses(BufferError, "expected a supported element type, found DLPack's code 5 of 64 bits",
        lambda: mx.from_dlpack(Shows(complex_numbers)))
refuses(TypeError, "argument 0 'x': expected a numeric dtype, found dtype.'complex64'",
        lambda: program["copy_f32"](complex_numbers))
refuses(ValueError, "argument 0 'x': expected a supported element type",
        lambda: program["copy_f32"](Shows(complex_numbers)))
strided = np.zeros((16, 5), np.float32).T[:, ::2]
refuses(ValueError, r"argument 0 'x': expected a dense row-major array, found shape \(5, 8\) with "
        r"strides \(1, 10\)", lambda: program["copy_f32"](Shows(strided)))


class Elsewhere(Shows):
    def __dlpack_device__(self):
        return 2, 3


refuses(ValueError, r"argument 0 'x': expected memory of the host \(cpu\), found cuda:3",
        lambda: program["copy_f32"](Elsewhere(x)))


class OnGpu:
    __cuda_array_interface__ = {"shape": (5, 8), "typestr": "<f4", "data": (4096, False), "version": 3}


refuses(ValueError, "argument 0 'x': expected memory of sim, found memory of a GPU",
        lambda: program["copy_f32"](OnGpu()))

# --- PyTorch ------------------------------------------------------------------------

if not find_spec("torch"):
    print("torch is not installed")
else:
    import torch

    for mlir, storage, kind, x, raw, tensor in copy_tensors(program, rng):
        if storage != x.dtype.name and kind:  # the argument contains untyped bits, but the result is typed
            y, = program[f"copy_{mlir}"](raw.view(getattr(torch, storage)))
            assert y.dtype == tensor.dtype and bits(y.view(torch.uint8).numpy()) == bits(x)
        if kind:
            on_device = mx.from_dlpack(tensor)
            assert on_device.dtype == x.dtype and bits(on_device.numpy()) == bits(x)
            back = torch.from_dlpack(mx.array(x, dtype=mlir))
            assert back.dtype == tensor.dtype and bits(back.view(torch.uint8).numpy()) == bits(x)
    entry = program["copy_f32"]
    y, = entry(torch.ones(2, 8))
    assert (y == 1).all()
    refuses(ValueError, r"'x': expected a contiguous tensor, found strides \(1, 3\) of shape "
            r"\(3, 8\): pass x.contiguous", lambda: entry(torch.ones(8, 3).T))
    refuses(ValueError, "'x': expected a tensor without requires_grad",
            lambda: entry(torch.ones(2, 8, requires_grad=True)))
    with torch.no_grad():
        entry(torch.ones(2, 8, requires_grad=True))
    refuses(ValueError, "'x': expected a tensor without requires_grad",
            lambda: entry(torch.ones(2, 8, requires_grad=True)))
    refuses(TypeError, "'x': expected a supported dtype, found torch.complex64",
            lambda: entry(torch.ones(2, 8, dtype=torch.complex64)))
    refuses(ValueError, "'x': expected memory of sim, the device of the call, found meta",
            lambda: entry(torch.ones(2, 8, device="meta")))
    assert isinstance(entry(torch.nn.Parameter(torch.ones(2, 8), requires_grad=False))[0], torch.Tensor)
    # A call with NumPy and PyTorch arguments returns PyTorch tensors.
    add = mx.compile("func.func @add(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {"
                     "%z = arith.addf %x, %y : tensor<?xf32> return %z : tensor<?xf32> }",
                     ptxas="none")["add"]
    z, = add(torch.ones(3), np.ones(3, np.float32))
    assert isinstance(z, torch.Tensor) and (z == 2).all()
    assert isinstance(add(torch.ones(3), mx.array(np.ones(3, np.float32)))[0], mx.DeviceArray)
    print("torch agrees")

# --- JAX ----------------------------------------------------------------------------

if not find_spec("jax"):
    print("jax is not installed")
else:
    import jax

    for mlir, x, given, y in copy_jax(program, rng):
        assert isinstance(y, mx.DeviceArray) and bits(y.numpy()) == bits(x), mlir
        if mlir != "f4E2M1FN":
            back = jax.dlpack.from_dlpack(y)
            assert back.dtype == given.dtype and bits(np.asarray(back)) == bits(x), mlir
    print("jax agrees")
refuses(ValueError, "expected a size that fits into 64 bits", lambda: mx.empty((2**62, 4), "f32"))
print("all is well")
