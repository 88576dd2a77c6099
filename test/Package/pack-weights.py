"""Tests packed weights: compares every byte with the formula in docs/reference/Spec.md, compares matmuls with any
number of rows with float64, unpacks weights, and checks errors for wrong arguments.

RUN: rm -rf %t && mkdir %t
RUN: env MX_CACHE_DIR=%t MX_CHIP= %python -W error %s %S/../Integration/Run/Inputs cpu
RUN: env MX_CACHE_DIR=%t MX_CHIP=sm_90a MX_PTXAS=none %python -W error %s %S/../Integration/Run/Inputs sim
RUN: env MX_CACHE_DIR=%t MX_CHIP= MX_PTXAS=none %python -W error %s %S/../Integration/Run/Inputs sim short
"""

import sys

import ml_dtypes
import mx_compiler as mx
import numpy as np
from refuses import refuses

folder, device, *short = sys.argv[1:]
sys.path.append(folder)
from packed_weights import pack_tiles  # noqa: E402

mx.set_device(device)
rng = np.random.default_rng(11)
TYPES = {"mxfp8": ml_dtypes.float8_e4m3fn, "mxfp8_e5m2": ml_dtypes.float8_e5m2,
         "mxfp6_e3m2": ml_dtypes.float6_e3m2fn, "mxfp6_e2m3": ml_dtypes.float6_e2m3fn}


def matrix(*shape):
    return rng.standard_normal(shape).astype(ml_dtypes.bfloat16)


def read(q):
    """Returns the element codes, one per byte, and the float64 matrix of a Quantized with linear scales."""
    bits = q.elements.view(np.uint8)
    if q.format.per_byte == 2:
        codes = np.stack([bits & 15, bits >> 4], -1).reshape(q.shape)
        numbers = codes.view(ml_dtypes.float4_e2m1fn)
    else:
        codes, numbers = bits, bits.view(TYPES[q.format.name])
    factor = 1.0 if q.global_scale is None else float(q.global_scale)
    scales = np.repeat(q.scales.astype(np.float64), q.format.block, -1)
    return codes, numbers.astype(np.float64) * scales * factor


def as_array(codes, format):
    return codes[..., ::2] | codes[..., 1::2] << 4 if format.per_byte == 2 else codes


def check(found, a, w, what):
    """Compares with float64. Terms are exact, and each addition rounds to f32 (docs/reference/Spec.md)."""
    a, found = a.astype(np.float64), np.asarray(found).astype(np.float64)
    bound = a.shape[-1] * 2.0 ** -23 * (np.abs(a) @ np.abs(w).swapaxes(-2, -1))
    assert (np.abs(found - a @ w.swapaxes(-2, -1)) <= bound).all(), what


def bytes_both_ways():
    for name in ("mxfp8", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4", "nvfp4"):
        for shape in ((130, 96), (2, 64, 192)):
            q = mx.quantize(matrix(*shape), name, layout="linear")
            p = mx.pack_weights(q)
            assert p.packed and p.scales is q.scales and p.shape == q.shape
            assert repr(p) == repr(q)[:-1] + ", packed>"
            codes, numbers = read(q)
            wanted = as_array(pack_tiles(codes), q.format)
            assert p.elements.shape == wanted.shape
            assert (p.elements.view(np.uint8) == wanted).all(), (name, shape)
            back = mx.unpack_weights(p)
            assert not back.packed and back.elements.dtype == q.elements.dtype
            assert back.elements.tobytes() == q.elements.tobytes(), (name, shape)
            assert (np.asarray(mx.dequantize(p, "float32")) == numbers.astype(np.float32)).all()


def any_rows(name, rows, columns):
    q = mx.quantize(matrix(rows, columns), name, layout="linear")
    _, w = read(q)
    p = mx.pack_weights(q)
    for count in (1, 2, 7, 16, 17, 64, 65, 129, 300):
        x = matrix(count, columns)
        check(mx.matmul(x, p, "float32"), x, w, (name, count))


def groups():
    q = mx.quantize(matrix(3, 96, 128), "mxfp4", layout="linear" if device == "cpu" else "sf_128x4")
    p = mx.pack_weights(q)
    w = np.asarray(mx.dequantize(q, "float32")).astype(np.float64)
    for ends in ((1, 1, 2), (5, 17, 17), (0, 64, 65), (100, 229, 300)):
        x = matrix(ends[-1], 128)
        found = mx.grouped_matmul(x, p, np.array(ends, np.int32), "float32")
        for g, (begin, end) in enumerate(zip((0, *ends), ends)):
            check(found[begin:end], x[begin:end], w[g], ends)
    x, counts = matrix(3, 40, 128), np.array([7, 0, 33], np.int32)
    found = mx.grouped_matmul(x, p, counts, "float32", mode="masked")
    for g, count in enumerate(counts):
        check(found[g, :count], x[g, :count], w[g], "masked")
    check(mx.matmul(x, p, "float32"), x, w, "a batch")


def errors():
    x, q = matrix(64, 64), mx.quantize(matrix(64, 64))
    p, int8 = mx.pack_weights(q), mx.quantize(matrix(64, 64), "mxint8")
    ends = np.array([3, 64], np.int32)
    grouped = mx.quantize(x, offsets=ends)
    for kind, text, call in (
            (TypeError, "q: expected an mx_compiler.Quantized, found ndarray", lambda: mx.pack_weights(x)),
            (ValueError, "q: expected weights that are not packed, found <.* packed>", lambda: mx.pack_weights(p)),
            (ValueError, "q: expected packed weights, found <", lambda: mx.unpack_weights(q)),
            (ValueError, "q: expected a format that supports matmuls, found mxint8", lambda: mx.pack_weights(int8)),
            (ValueError, "q: expected weights without expert groups, found 2 expert groups of rows", lambda: mx.pack_weights(grouped)),
            (ValueError, "a: expected a matrix that is not packed, found packed weights: pass them as b", lambda: mx.matmul(p, q)),
            (ValueError, "b: expected weights that are not packed if 'a' is quantized, .*: pass 'a' as bf16", lambda: mx.matmul(q, p)),
            (ValueError, "b: expected weights that are not packed if 'a' is quantized", lambda: mx.grouped_matmul(grouped, p, ends)),
            (ValueError, "b.elements: expected shape \\(1, 1, 128, 32\\) for <.*, found \\(64, 64\\)", lambda: mx.matmul(x, q._replace(packed=True))),
            (ValueError, "b.elements: expected shape \\(64, 64\\) for <.*, found \\(1, 1, 128, 32\\)", lambda: mx.matmul(x, p._replace(packed=False))),
            (ValueError, "q: expected packed weights without expert groups", lambda: mx.unpack_weights(grouped._replace(packed=True))),
    ):
        refuses(kind, text, call)


if not short:
    bytes_both_ways()
    errors()
any_rows("mxfp4", 130, 96)
any_rows("nvfp4", 64, 96)
groups()
