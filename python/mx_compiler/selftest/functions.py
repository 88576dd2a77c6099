# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the package's functions against NumPy in float64.

The scales of quantizers are compared with the formula, and their elements with the nearest code of
the type. The results of matmuls are compared with float64 sums of the dequantized operands."""

import itertools
import threading

import mx_compiler as mx
import numpy as np

from . import reference as ref
from .reference import BF16, code_values, codes, group_starts, largest, scales, values


class Local(threading.local):
    """Random generator of a thread. All threads draw the same values."""

    def __init__(self):
        self.rng = np.random.default_rng(7)


local = Local()

def matrix(*shape):
    """Returns a bf16 matrix with blocks of 16 of widely different magnitudes."""
    sizes = 2.0 ** local.rng.integers(-6, 6, (*shape[:-1], -(-shape[-1] // 16)))
    sizes = np.repeat(sizes, 16, axis=-1)[..., :shape[-1]]
    return (local.rng.standard_normal(shape) * sizes).astype(BF16)


def check_quantized(x, q, starts=None, zeros=None):
    """Checks the Quantized `q` against `x`, a float64 matrix in the orientation of `q`. `zeros` marks
    padding, which is not checked."""
    block, format = scales(q, starts), q.format
    blocks = x.reshape(*x.shape[:-1], -1, format.block)
    most = np.abs(blocks).max(axis=-1)
    if format.has_global_scale:
        # The scale is the E4M3 value nearest to most / 6 / decode, so it is within half an ulp.
        decode = float(np.asarray(q.global_scale))
        wanted = np.minimum(most / 6 / decode, 448)
        assert (np.abs(block - wanted) <= np.maximum(wanted / 16, 2.0 ** -10) *
                1.0001).all()
        unit = block * decode
    else:
        mantissa, exponent = np.frexp(most / largest(format.elements))
        wanted = np.exp2(np.maximum(exponent - (mantissa == 0.5), -127))
        used = most > 0
        assert (block == wanted)[used].all(), (block, wanted)
        unit = block
    possible = code_values(format.elements)
    possible = np.unique(possible[np.isfinite(possible)])
    if format.elements == "i8":
        possible = possible[possible > -2]
    unit = np.repeat(unit, format.block, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.where(unit > 0, x / unit, 0.0)
    found = codes(q)
    place = np.clip(np.searchsorted(possible, wanted), 1, len(possible) - 1)
    nearest = np.minimum(np.abs(possible[place] - wanted),
                         np.abs(possible[place - 1] - wanted))
    miss = np.abs(found - wanted)
    wrong = ~(miss <= nearest * (1 + 1e-5) + 1e-12)
    if zeros is not None:
        wrong &= ~zeros
    assert not wrong.any(), (format.name, int(wrong.sum()), wrong.size)


def near(found, left, right, count, dtype="bf16", sums="mk,nk->mn", factor=1.0):
    """Checks a matmul with `count` terms in each sum against its error bound."""
    expected, terms = (factor * np.einsum(sums, *pair, optimize=True)
                       for pair in ((left, right), (np.abs(left), np.abs(right))))
    found = np.asarray(found).astype(np.float64)
    bound = ref.matmul_bound(terms, count, expected, dtype)
    wrong = ~(np.abs(found - expected) <= bound)
    assert found.shape == expected.shape, (found.shape, expected.shape)
    assert not wrong.any(), (dtype, int(wrong.sum()), wrong.size,
                             (np.abs(found - expected) - bound).max())


def segments(ends):
    """Returns the begin and the length of each expert group in a reduction."""
    counts = np.diff(ends, prepend=0)
    return np.cumsum(-(-counts // 128) * 128) - (-(-counts // 128) * 128), counts


# --- Parts ----------------------------------------------------------------------------


def quantizers():
    for name, layout in itertools.product(mx.FORMATS, ("sf_128x4", "linear")):
        x = matrix(160, 288)
        rows, columns = mx.quantize(x, name, axis=(-1, -2), layout=layout)
        assert rows.shape == (160, 288) and columns.shape == (288, 160)
        exact = x.astype(np.float64)
        check_quantized(exact, rows)
        check_quantized(exact.T, columns)
        back = mx.dequantize(rows, "float32")
        assert back.dtype == np.float32
        assert np.allclose(back, values(rows), rtol=2e-7, atol=0)
    # Checks other input types, batches and another rounding mode.
    for dtype in (np.float32, np.float16):
        x = matrix(7, 64).astype(dtype)
        check_quantized(x.astype(np.float64), mx.quantize(x))
    x = matrix(3, 40, 96)
    check_quantized(x.astype(np.float64), mx.quantize(x, "mxfp4"))
    floor = mx.quantize(x[0], scale_rounding="floor", layout="linear")
    most = np.abs(x[0].astype(np.float64).reshape(40, 3, 32)).max(axis=-1)
    assert (scales(floor) == np.exp2(np.floor(np.log2(most)) - 8)).all()
    # Checks an explicit global scale, and a matrix of zeros.
    given = mx.quantize(x[0], "nvfp4", global_scale=0.03125)
    check_quantized(x[0].astype(np.float64), given)
    assert not np.asarray(mx.dequantize(mx.quantize(np.zeros((4, 32), BF16),
                                                    "nvfp4"))).any()
    # Checks a matrix without rows.
    assert mx.quantize(np.zeros((0, 64), BF16)).shape == (0, 64)


def grouped_quantizers():
    ends = np.array([0, 5, 140, 141, 200], np.int32)
    x = matrix(90, 96)
    gather = local.rng.integers(-1, 90, 203).astype(np.int64)
    rows, columns = mx.quantize(x, offsets=ends, gather=gather, axis=(-1, -2))
    exact = np.where(gather[:, None] < 0, 0, x[gather].astype(np.float64))[:200]
    starts = group_starts(ends, 200)
    whole = rows._replace(elements=np.asarray(rows.elements)[:200])
    check_quantized(exact, whole, starts)
    found = codes(columns) * np.repeat(scales(columns), 32, axis=-1)
    assert columns.shape[0] == 96 and columns.shape[1] % 128 == 0
    for begin, (place, count) in zip(np.concatenate([[0], ends]),
                                     zip(*segments(ends))):
        padded = np.zeros((96, -(-count // 128) * 128))
        padded[:, :count] = exact[begin:begin + count].T
        part = columns._replace(
            elements=np.asarray(columns.elements)[:, place:place + padded.shape[1]],
            scales=scales(columns)[:, place // 32:(place + padded.shape[1]) // 32],
            layout="linear")
        if not count:
            continue
        exponents = np.where(part.scales > 0, np.log2(np.maximum(part.scales, 1e-99)),
                             0) + 127
        part = part._replace(scales=exponents.astype(np.uint8))
        check_quantized(padded, part, zeros=padded == 0)
        assert not found[:, place + count:place + padded.shape[1]].any()
    back = np.asarray(mx.dequantize(rows, "float32", offsets=ends))[:200]
    assert np.allclose(back, values(whole, starts), rtol=2e-7, atol=0)
    assert (np.asarray(mx.dequantize(columns, "float32"))[:, :141] ==
            found[:, :141]).all()


def matmuls():
    x, w = matrix(70, 256), matrix(90, 256)
    names = [name for name, format in mx.FORMATS.items() if format.has_matmul]
    quantized = {name: (mx.quantize(x, name), mx.quantize(w, name)) for name in names}
    pairs = [(a, b) for a, b in itertools.product(names, names)
             if (a == "nvfp4") == (b == "nvfp4")]
    for number, (left, right) in enumerate(pairs):
        dtype = ("bf16", "f32", "f16")[number % 3]
        a, b = quantized[left][0], quantized[right][1]
        alpha = 2.0 ** -10 if dtype == "f16" else None
        near(mx.matmul(a, b, dtype, alpha=alpha), values(a), values(b), 256, dtype,
             factor=alpha or 1.0)
    exact = x.astype(np.float64)
    for name in names:  # weight-only
        b = quantized[name][1]
        near(mx.matmul(x, b), exact, values(b), 256)
    b = quantized["mxfp4"][1]
    packed = mx.pack_weights(b)
    assert (np.asarray(mx.unpack_weights(packed).elements) == np.asarray(b.elements)).all()
    near(mx.matmul(x, packed), exact, values(b), 256)
    # Checks a batch, and scales in the linear layout.
    x, w = matrix(3, 20, 64), matrix(3, 40, 64)
    a, b = mx.quantize(x), mx.quantize(w)
    near(mx.matmul(a, b), values(a), values(b), 64, sums="gmk,gnk->gmn")
    a, b = (mx.quantize(v[0], layout="linear") for v in (x, w))
    near(mx.matmul(a, b, "f32"), values(a), values(b), 64, "f32")


def grouped_matmuls():
    groups, ends = 4, np.array([10, 10, 150, 170], np.int32)
    for name in ("mxfp8", "mxfp4", "nvfp4"):
        x, w = matrix(180, 128), matrix(groups, 64, 128)
        a = mx.quantize(x, name, offsets=ends)
        b = mx.quantize(w, name)
        starts = group_starts(ends, 170)
        left = values(a._replace(elements=np.asarray(a.elements)[:170]), starts)
        right = values(b)
        y = np.asarray(mx.grouped_matmul(a, b, ends))[:170]
        group = np.searchsorted(ends, np.arange(170), side="right")
        near(y, left, right[group], 128, sums="tk,tnk->tn")
        counts = np.array([5, 40, 0, 17], np.int64)
        x = matrix(groups, 40, 128)
        a = mx.quantize(x, name)
        y = np.asarray(mx.grouped_matmul(a, b, counts, "float32", mode="masked"))
        for g, count in enumerate(counts):
            near(y[g, :count], values(a)[g, :count], right[g], 128, "f32")
        x, z = matrix(180, 64), matrix(180, 96)
        a, b = (mx.quantize(v, name, axis=-2, offsets=ends) for v in (x, z))
        y = mx.grouped_matmul(a, b, ends, "float32", mode="reduction")
        assert np.asarray(y).shape == (groups, 64, 96)
        left, right = values(a), values(b)
        for g, (place, count) in enumerate(zip(*segments(ends))):
            rows = slice(place, place + count)
            near(np.asarray(y)[g], left[:, rows], right[:, rows], max(count, 1), "f32")
    # Checks bf16 activations.
    x = matrix(170, 128)
    y = np.asarray(mx.grouped_matmul(x, mx.quantize(w, "mxfp4"), ends))
    right = values(mx.quantize(w, "mxfp4"))
    near(y, x.astype(np.float64), right[group], 128, sums="tk,tnk->tn")


def swiglu():
    def check(x, probs=None, starts=None, **given):
        q = mx.swiglu_quantize(x, probs=probs, **given)
        wanted, bound = ref.swiglu(x, q, 1.0 if probs is None else probs, starts)
        assert (np.abs(values(q, starts) - wanted) <= bound).all()

    for dtype in (BF16, np.float32):
        x = local.rng.standard_normal((50, 256)).astype(dtype)
        probs = local.rng.random(50).astype(np.float32)
        check(x)
        check(x, probs)
    ends = np.array([20, 50], np.int32)
    check(x, probs, group_starts(ends, 50), offsets=ends)


def layer():
    """Checks that the signal-to-noise ratios of MoE layers reach the values of docs/guide/MoE.md, for
    several sizes and formats."""
    for sizes, formats, least in (
            ((4, 128, 64), {}, 22.0),
            ((2, 96, 160), {"gradients": "mxfp8_e5m2"}, 18.0),
            ((2, 128, 128), {"weights": "mxfp4"}, 11.0)):
        experts, hidden, intermediate = sizes
        moe = mx.MoELayer(*sizes, **formats)
        x, dy = (local.rng.standard_normal((24, hidden)).astype(BF16) for _ in range(2))
        w1 = (local.rng.standard_normal((experts, 2 * intermediate, hidden)) /
              hidden ** 0.5).astype(BF16)
        w2 = (local.rng.standard_normal((experts, hidden, intermediate)) /
              intermediate ** 0.5).astype(BF16)
        chosen = np.stack([local.rng.permutation(experts)[:2] for _ in range(24)])
        tokens, probs, ends = mx.route(chosen, local.rng.random((24, 2)), experts)
        weights = moe.quantize_weights(w1, w2)
        y, saved = moe.forward(x, weights, tokens, probs, ends)
        found = y, *moe.backward(dy, weights, saved, tokens, probs, ends)
        exact = ref.layer(x, dy, w1, w2, tokens, probs, ends)
        names = ("y", "dx", "dw1", "dw2", "dprobs")
        ratios = ref.by_ratio(dict(zip(names, found)), dict(zip(names, exact)), least)
        for name, ratio in ratios["found_db"].items():
            # The ratio of dprobs, with only 48 values, varies by 1 dB. The others vary by
            # 0.3 dB.
            few = 3.0 if name == "dprobs" else 0.0
            assert ratio is not None and ratio > least - few, (sizes, formats, name, ratio)
        one_call = mx.moe_layer(x, w1, w2, tokens, probs, ends,
                                **{"weights": formats.get("weights", "mxfp8")})
        # There are two rows for each token, so the order of additions does not matter.
        assert np.array_equal(np.asarray(one_call), np.asarray(y))


PARTS = {part.__name__: part for part in (quantizers, grouped_quantizers, matmuls,
                                          grouped_matmuls, swiglu, layer)}
