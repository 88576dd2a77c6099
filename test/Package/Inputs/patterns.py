"""Arrays of all types with all kinds of bit patterns."""

import ml_dtypes
import mx_compiler as mx
import numpy as np


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


# MLIR name, NumPy dtype, dtype of the bits, PyTorch name, and JAX name.
TYPES = [
    ("i1", "bool", "bool", "bool", "bool"), ("i8", "int8", "int8", "int8", "int8"),
    ("i16", "int16", "int16", "int16", "int16"), ("i32", "int32", "int32", "int32", "int32"),
    ("i64", "int64", "int64", "int64", None), ("f16", "float16", "float16", "float16", "float16"),
    ("f32", "float32", "float32", "float32", "float32"),
    ("f64", "float64", "float64", "float64", None),
    ("bf16", "bfloat16", "uint16", "bfloat16", "bfloat16"),
    ("f8E4M3FN", "float8_e4m3fn", "uint8", "float8_e4m3fn", "float8_e4m3fn"),
    ("f8E5M2", "float8_e5m2", "uint8", "float8_e5m2", "float8_e5m2"),
    ("f8E8M0FNU", "float8_e8m0fnu", "uint8", "float8_e8m0fnu", "float8_e8m0fnu"),
    ("f6E2M3FN", "float6_e2m3fn", "uint8", None, None),
    ("f6E3M2FN", "float6_e3m2fn", "uint8", None, None),
    ("f4E2M1FN", "uint8", "uint8", "float4_e2m1fn_x2", "float4_e2m1fn"),
]
COPIES = "".join(f"func.func @copy_{mlir}(%x: tensor<?x8x{mlir}>) -> tensor<?x8x{mlir}> "
                 f"{{ return %x : tensor<?x8x{mlir}> }}\n" for mlir, *_ in TYPES)


def make(rng, mlir, name):
    """Returns all kinds of bit patterns, including NaNs."""
    columns = 4 if mlir == "f4E2M1FN" else 8
    top = 2 if mlir == "i1" else 64 if mlir.startswith("f6E") else 256
    size = dtype_of(name).itemsize
    return rng.integers(0, top, (5, columns * size), dtype="u1").view(dtype_of(name))


def bits(array):
    return np.ascontiguousarray(array).view("u1").tobytes()


def copy_tensors(program, rng):
    """Copies a PyTorch tensor of each type with the program in COPIES. Yields the type, its bits and the tensors."""
    import torch

    for mlir, name, storage, kind, _ in TYPES:
        x = make(rng, mlir, name)
        raw = torch.from_numpy(x.view("u1").copy())
        tensor = raw.view(getattr(torch, kind)) if kind else raw
        y, = program[f"copy_{mlir}"](tensor)
        assert isinstance(y, torch.Tensor) and y.device.type == "cpu"
        assert y.dtype == tensor.dtype and y.shape == tensor.shape, (mlir, y.dtype)
        assert bits(y.view(torch.uint8).numpy()) == bits(x), mlir
        yield mlir, storage, kind, x, raw, tensor


def copy_jax(program, rng):
    """Copies an array of each type supported by JAX. Yields the type, its bits, the array and the copy."""
    import jax.numpy as jnp

    for mlir, name, _, _, kind in TYPES:
        if kind:
            x = make(rng, mlir, name)
            given = jnp.asarray(mx.unpack_fp4(x) if mlir == "f4E2M1FN" else x)
            assert given.dtype == kind
            yield mlir, x, given, *program[f"copy_{mlir}"](given)
