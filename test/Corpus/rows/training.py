"""Programs with loops, imported forms of other compilers, training steps, reductions and windows."""

import numpy as np
from formats import Codes, Quantized, Scales, numbers
from intervals import Interval, einsum, join, rows, sqrt, tanh
from program import BF16, normal, nvfp4, refuses, runs, weights, whole
from rows.reported import matmul

IMPORT = ["--mx-import-scaled"]


@runs(lambda rng: [normal(rng, 7), normal(rng, 7), np.int64(5)])
def swap_in_loop(x, y, times):
    a, b = x, y
    for _ in range(times):
        a, b = a + b, a
    return [a, b, x]


@runs(lambda rng: [normal(rng, 3, 4, 6), normal(rng, 6, 5, scale=0.3), normal(rng, 5, 5, scale=0.3), normal(rng, 4, 5)])
def recurrent_network(x, wx, wh, h):
    states = []
    for t in range(3):
        h = tanh(einsum("ij,jk->ik", h, wh, init=einsum("ij,jk->ik", x[t], wx)))
        states.append(h)
    return [join(np.stack, *states), h]


@runs(lambda rng: [weights(rng, 20, 64)[0], Scales(rng.integers(120, 132, (40, 2), np.uint8), False), weights(rng, 24, 64)[0],
                   Scales(rng.integers(120, 132, (24, 4), np.uint8), False)])
def strided_scales(a, all_, b, sb):
    return [matmul(a, Scales(all_.bytes[1::2]), b, Scales(sb.bytes[:, ::2]))]


@runs(lambda rng: [normal(rng, 27, 128, dtype=BF16), *weights(rng, 48, 128, tiled=False)], passes=IMPORT)
def import_mxfp8(x, w, s):
    return [rows(x, numbers(w, s), tensor_core=True)]


@runs(lambda rng: [normal(rng, 27, 128, dtype=BF16), *weights(rng, 40, 128, element="f4E2M1FN", tiled=False)], passes=IMPORT)
def import_mxfp4(x, w, s):
    return [rows(x, numbers(w, s), tensor_core=True)]


def make_import_nvfp4(rng):
    codes, scales = nvfp4(rng, 40, 128, tiled=False)
    return [normal(rng, 23, 8, 16, dtype=BF16), Codes(codes.codes.reshape(40, 8, 16), "f4E2M1FN"), scales]


@runs(make_import_nvfp4, passes=IMPORT)
def import_nvfp4(x, w, s):
    return [rows(x.reshape(23, 128), numbers(Codes(w.codes.reshape(40, 128), w.element), s), tensor_core=True)]


def blocks_of_f4(rng, n):
    codes, scales = weights(rng, n, 128, element="f4E2M1FN", tiled=False)
    return [Codes(codes.codes.reshape(n, 4, 32), "f4E2M1FN"), scales]


@runs(lambda rng: [*blocks_of_f4(rng, 29), *blocks_of_f4(rng, 24)], passes=IMPORT)
def iree_generic(a, sa, b, sb):
    flat = lambda codes: Codes(codes.codes.reshape(-1, 128), codes.element)
    return [matmul(flat(a), sa, flat(b), sb)]


@runs(lambda rng: [normal(rng, 2, 21, 64), *weights(rng, 2, 24, 64, tiled=False)], passes=IMPORT)
def tosa_block_scaled(x, w, s):
    # TOSA's E4M3 scale is the least power of two for which no scaled element exceeds 464. mx calls this rounding `fit`.
    return [einsum("bmk,bnk->bmn", Quantized(x, rounding="fit").real, numbers(w, s), tensor_core=True)]


@runs(lambda rng: [*weights(rng, 5, 3, 64, element="f6E3M2FN", tiled=False)], passes=IMPORT)
def tosa_cast_from(e, s):
    return [numbers(e, s)]


refuses("tosa_plain", lambda rng: [normal(rng, 4, 6), normal(rng, 4, 6)], "Dialect `tosa' not found",
        "mx-run does not read TOSA; run mlir-opt --tosa-to-linalg first (block-scaled operations: mx-import-scaled)")


@runs(lambda rng: [normal(rng, 64, 96, dtype=BF16), normal(rng, 64, 128, dtype=BF16), normal(rng, 96, 128, dtype=BF16)],
      passes=["--mx-quantize-matmuls=recipe=mxfp8", "--cse"])
def linear_backward(dy, x, w):
    dx = rows(Quantized(dy, "f8E5M2").real, Quantized(w.T).real, tensor_core=True)
    dw = rows(Quantized(dy.T, "f8E5M2").real, Quantized(x.T).real, tensor_core=True)
    return [dx, dw]


@runs(lambda rng: [normal(rng, 3, 64, 48, dtype=BF16), normal(rng, 3, 64, 80, dtype=BF16), normal(rng, 48, 80)])
def gradient_accumulation(dy, x, dw):
    for i in range(3):
        dw = rows(Quantized(dy[i].T, "f8E5M2").real, Quantized(x[i].T).real, tensor_core=True, init=dw)
    return [dw]


@runs(lambda rng: [normal(rng, 6, 9), normal(rng, 6, 9), normal(rng, 6, 9), np.float32(0.03)])
def sgd_momentum(w, g, m, rate):
    m = m * 0.9 + (g + w * 0.01)
    return [w - m * rate, m]


@runs(lambda rng: [normal(rng, 301), normal(rng, 301, dtype=BF16), normal(rng, 301), np.abs(normal(rng, 301)), np.float32(0.003)])
def adam_step(w, g, m, v, correction):
    g = g.to("f32")
    first = m * 0.9 + g * 0.1
    second = v * 0.99 + g * g * 0.01
    w = w - first / (sqrt(second) + 1e-8) * correction
    return [w, first, second, w.to("bf16")]


@runs(lambda rng: [whole(rng, 14, 23, dtype=np.float32, most=5)])
def argmax(x):
    return [x.max(1), np.argmax(x.lo, 1)]


@runs(lambda rng: [rng.integers(-1, 9, (2, 9)).astype(np.int32)])
def one_hot(labels):
    return [Interval("bf16", (labels[:, :, None] == np.arange(7)).astype(np.float64))]


@runs(lambda rng: [normal(rng, 5, 9)])
def cumulative_sum(x):
    sums = [Interval("f32", np.zeros(5)) + x[:, 0]]
    for j in range(1, 9):
        sums.append(sums[-1] + x[:, j])
    return [join(lambda parts: np.stack(parts, 1), *sums)]


def windows(x, size, step, axes):
    """Turns window offsets into separate trailing dimensions."""
    for axis, length, by in zip(axes, size, step):
        x = x.lift(lambda a: np.lib.stride_tricks.sliding_window_view(a, length, axis))
        x = x[tuple(slice(None, None, by) if i == axis else slice(None) for i in range(len(x.shape)))]
    return x


@runs(lambda rng: [normal(rng, 2, 9, 8, 3), normal(rng, 3, 3, 3, 5)])
def convolution(x, w):
    padded = x.lift(lambda a: np.pad(a, ((0, 0), (1, 1), (1, 1), (0, 0))))
    return [einsum("nxycij,ijcf->nxyf", windows(padded, (3, 3), (2, 2), (1, 2)), w)]


@runs(lambda rng: [normal(rng, 2, 11, 6, dtype=BF16), normal(rng, 4, 6, dtype=BF16)])
def depthwise_convolution(x, w):
    padded = x.lift(lambda a: np.pad(a, ((0, 0), (3, 0), (0, 0))))
    return [einsum("btck,kc->btc", windows(padded, (4,), (1,), (1,)), w)]


@runs(lambda rng: [normal(rng, 2, 8, 9, 3)])
def pooling(x):
    parts = windows(x, (2, 3), (2, 3), (1, 2))
    return [parts.max((4, 5)), parts.sum((4, 5)) / 6.0]


@runs(lambda rng: [normal(rng, 6, 5), np.array([3, 8, 3, 0, 5, 8], np.int32), normal(rng, 9, 5)])
def scatter_rows(x, places, y):
    result = [y[i] for i in range(9)]
    for i, place in enumerate(places):
        result[place] = x[i] + result[place]
    return [join(np.stack, *result)]
