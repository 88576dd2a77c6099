"""Programs from models and front ends: integers, experts, formats, control flow, slices, and whole attention layers."""

import numpy as np
from formats import Codes, Quantized, Scales, numbers
from intervals import (Interval, absolute, einsum, exp, join, log1p, maximum, minimum, of_integers, rows, sigmoid, sqrt, tanh,
                       where)
from program import BF16, normal, refuses, runs, weights, whole
from rows.layers import softmax
from rows.reported import layer


@runs(lambda rng: [*weights(rng, 3, 131, 64, tiled=False), *weights(rng, 3, 150, 64, tiled=False)])
def batched_linear_scales(a, sa, b, sb):
    return [einsum("bmk,bnk->bmn", numbers(a, sa), numbers(b, sb), tensor_core=True)]


@runs(lambda rng: [weights(rng, 37, 96, element="f8E5M2")[0], Scales(rng.integers(118, 134, (37, 6)).astype(np.uint8), False)])
def strided_dequantize(e, s):
    return [numbers(e, Scales(s.bytes[:, 1::2])).to("bf16")]


@runs(lambda rng: [rng.integers(-128, 128, (13, 40)).astype(np.int8), rng.integers(-128, 128, (24, 40)).astype(np.int8),
                   normal(rng, 13, scale=0.01), normal(rng, 24)])
def int8_matmul(a, b, row, column):
    return [of_integers(a.astype(np.int64) @ b.astype(np.int64).T) * row[:, None] * column]


@runs(lambda rng: [normal(rng, 6, 13, dtype=np.float16), rng.integers(-30000, 30000, (6, 13)).astype(np.int16)])
def mixed_types(x, k):
    a, b = x.to("f64").sum(1), k.astype(np.int64).sum(1)
    return [a, b, a.to("f32") + of_integers(b)]


@runs(lambda rng: [normal(rng, 0, 64, dtype=BF16), *weights(rng, 24, 64), normal(rng, 24)])
def no_rows(x, w, s, start):
    return [Interval("f32", np.zeros((0, 24))), start]


@runs(lambda rng: [normal(rng, 1, 1, 16, dtype=BF16), normal(rng, 1, 3, 16, dtype=BF16), normal(rng, 1, 3, 1)])
def sizes_of_one(q, k, v):
    p = softmax(einsum("bmk,bnk->bmn", q, k), 2)
    return [p, einsum("bmn,bnk->bmk", p, v)]


@runs(lambda rng: [normal(rng, 7, 20), normal(rng, 20, 24, scale=0.3), normal(rng, 24), normal(rng, 7, 6)])
def lstm_cell(x, w, b, c):
    gates = einsum("mk,kn->mn", x, w, init=b.lift(lambda a: np.broadcast_to(a, (7, 24))))
    i, f, o, u = (gates[:, 6 * j:6 * j + 6] for j in range(4))
    following = sigmoid(f) * c + sigmoid(i) * tanh(u)
    return [sigmoid(o) * tanh(following), following]


@runs(lambda rng: [normal(rng, 9, 15, scale=2), rng.integers(0, 15, 9)])
def softmax_backward(x, labels):
    p = softmax(x, 1)
    return [(where(np.arange(15) == labels[:, None], p - 1.0, p) / 9.0).to("bf16")]


@runs(lambda rng: [normal(rng, 3, 4, 3, 5), normal(rng, 4), np.abs(normal(rng, 4)), normal(rng, 4), normal(rng, 4)])
def batch_norm(x, mean, var, g, b):
    factor = g / sqrt(var + 0.001)
    shift = b - mean * factor
    return [x * factor[:, None, None] + shift[:, None, None]]


@runs(lambda rng: [normal(rng, 12, 10, dtype=BF16), rng.integers(0, 5, (12, 10)) > 0])
def dropout(x, keep):
    return [where(keep, x * 1.25, 0.0)]


@runs(lambda rng: [normal(rng, 26, 64, scale=5)])
def formats_round_trip(x):
    return [Quantized(x, element, rounding).real for element, rounding in [("f8E5M2", "even"), ("f6E2M3FN", "floor"), ("i8", "floor")]]


@runs(lambda rng: [normal(rng, 96, 64, dtype=BF16)])
def both_axes(x):
    rows_, columns = Quantized(x, "f8E5M2", tiled=False), Quantized(x.T, "f8E5M2", tiled=False)
    return [rows_.codes, rows_.scales, columns.codes, columns.scales]


@runs(lambda rng: [normal(rng, 150, 64, dtype=BF16), np.array([70, 70, 149, 150], np.int32), *weights(rng, 4, 40, 64)])
def grouped_experts(x, ends, w, s):
    real, weight = Quantized(x).real, numbers(w, s)
    starts = [0, *ends[:-1]]
    parts = [rows(real[begin:end], weight[g], tensor_core=True) for g, (begin, end) in enumerate(zip(starts, ends))]
    return [join(np.concatenate, *parts).to("bf16")]


@runs(lambda rng: [normal(rng, 11, 12), normal(rng, 12, 2), normal(rng, 2, 12, 7)])
def moe_dense(x, router, w):
    p = softmax(einsum("mk,kn->mn", x, router), 1)
    return [einsum("emn,me->mn", einsum("mk,ekn->emn", x, w), p)]


@runs(lambda rng: [normal(rng, 17, 16, dtype=BF16), np.array([5, 5, 14], np.int32), normal(rng, 3, 9, 16, dtype=BF16)])
def moe_loop(x, ends, w):
    starts = [0, *ends[:-1]]
    parts = [rows(x[begin:end], w[g]) for g, (begin, end) in enumerate(zip(starts, ends))]
    return [join(np.concatenate, *parts, Interval("f32", np.zeros((3, 9))))]


@runs(lambda rng: [normal(rng, 2, 7, 24, dtype=BF16), normal(rng, 3, 5, 24, dtype=BF16)])
def einsum_contract(x, w):
    return [einsum("bsd,hkd->bhsk", x, w)]


@runs(lambda rng: [whole(rng, 9, 14, dtype=np.float32), whole(rng, 14, dtype=np.float32), whole(rng, 9, dtype=np.float32)])
def vectors_and_matrices(a, x, z):
    p = einsum("mk,k->m", a, x)
    return [p, einsum("m,mk->k", z, a), einsum("m,m->", p, z)]


@runs(lambda rng: [normal(rng, 3, 9, 13), np.array([0.5, 0.25, 0.3], np.float32), np.int64(4)])
def alibi_bias(s, slope, window):
    i, j = np.arange(9)[:, None], np.arange(13)
    distance = np.broadcast_to(i - j, (3, 9, 13))
    return [where((distance >= 0) & (distance < window), s - of_integers(distance) * slope[:, None, None], -3.0e38)]


@runs(lambda rng: [normal(rng, 25, 6), np.float32(3)])
def clip_by_norm(g, most):
    norm = sqrt((g * g).sum((0, 1)))
    return [g * minimum(most / norm, 1.0), norm]


@runs(lambda rng: [normal(rng, 2, 5, 6, dtype=BF16)])
def upsample(x):
    return [x.lift(lambda a: a.repeat(2, 1).repeat(2, 2)), x[:, :, 1::3][:, :, ::-1]]


@runs(lambda rng: [np.concatenate([rng.integers(0, 2, (5, 9)), np.zeros((1, 9)), np.ones((1, 9))]).astype(bool)])
def any_and_all(m):
    return [m.any(1), m.all(1), m.sum(1).astype(np.int32)]


@runs(lambda rng: [rng.integers(-2**31, 2**31, 40).astype(np.int32), rng.choice([-7, 3, 100, -1000, 65537], 40).astype(np.int32)])
def integer_hash(x, m):
    bits = x.view(np.uint32)
    mixed = ((bits >> np.uint32(16)) ^ bits) * np.uint32(0x45d9f3b)
    quotient = np.trunc(x.astype(np.float64) / m).astype(np.int64)
    return [mixed.view(np.int32), quotient.astype(np.int32), (x - quotient * m).astype(np.int32)]


@runs(lambda rng: [normal(rng, 8, 7, scale=80), np.float32(0.7)])
def integers_of_floats(x, scale):
    quotient = x / scale
    q = np.clip(np.rint(quotient.lo), -127, 127).astype(np.int8)
    return [q, of_integers(q) * scale]


@runs(lambda rng: [whole(rng, 9, 11, dtype=np.float32, most=6)])
def top_two(x):
    order = np.argsort(-x.lo, 1, kind="stable")[:, :2]
    return [Interval("f32", np.take_along_axis(x.lo, order, 1)), order.astype(np.int32)]


@runs(lambda rng: [normal(rng, 5, 12), normal(rng, 4, 12, 12, scale=0.3)])
def branches_in_layers(x, w):
    for i in range(4):
        y = einsum("mk,kn->mn", x, w[i])
        x = y + x if i % 2 else y
    return [x]


@runs(lambda rng: [np.int32(4), whole(rng, 5, 5, dtype=np.float32), whole(rng, 5, 5, dtype=np.float32)])
def blocks_and_branches(n, x, y):
    return [(einsum("ij,jk->ik", x, y) if n > 3 else x) + y]


@runs(lambda rng: [normal(rng, 19, 64, dtype=BF16), *weights(rng, 24, 64, element="i8", tiled=False)])
def mxint8_weights(x, w, s):
    return [rows(x, numbers(w, s).to("bf16"))]


@runs(lambda rng: [normal(rng, 30, 8), np.int64(6), np.int64(11)])
def dynamic_window(x, first, count):
    w = x[first:first + count]
    return [w, w.sum(0) / float(count)]


refuses("window_out_of_range", lambda rng: [normal(rng, 10, 8), np.int64(8)], "'memref.subview' op expected an access inside of its array: "
        "subview runs out-of-bounds along dimension 0", "the rows do not exist; the call is refused before a kernel runs")


@runs(lambda rng: [normal(rng, 29, 128, dtype=BF16), *weights(rng, 40, 128, element="f4E2M1FN")])
def packed_weights(x, w, s):
    return [rows(x, numbers(w, s), tensor_core=True).to("bf16")]


@runs(lambda rng: [normal(rng, 10, 14), normal(rng, 6, 14)])
def packed_tiles(a, b):
    return [rows(a, b)]


@runs(lambda rng: [normal(rng, 5, 6), normal(rng, 5, 6), rng.integers(0, 2, (5, 6)).astype(bool)])
def named_elementwise(x, y, m):
    return [maximum(where(m, exp(x) / (y * y), x), y), absolute(x)]


@runs(lambda rng: [*weights(rng, 20, 64, tiled=False), normal(rng, 3, 64, dtype=BF16), np.int64(13)])
def quantized_cache(e, s, new, position):
    q = Quantized(new, tiled=False)
    codes, bytes_ = e.codes.copy(), s.bytes.copy()
    codes[position:position + 3], bytes_[position:position + 3] = q.codes.ends[0], q.scales.bytes
    full = Codes(codes, "f8E4M3FN"), Scales(bytes_, False)
    return [*full, numbers(*full).to("bf16")]


@runs(lambda rng: [normal(rng, 15, 9, dtype=BF16, scale=2)])
def activations(x):
    v = x.to("f32")
    gelu = v * 0.5 * (tanh((v + v * v * v * 0.044715) * 0.7978845608) + 1.0)
    r = maximum(v, 0.0)
    return [log1p(exp(v)), gelu, r * r]


@runs(lambda rng: [normal(rng, 7, 7, dtype=np.float64)])
def diagonal(a):
    d = a[np.arange(7), np.arange(7)]
    return [d, d.sum(0), where(~np.tri(7, dtype=bool), a, 0.0)]


@runs(lambda rng: [normal(rng, 4, 5), normal(rng, 1, 5)])
def updated_and_old(x, row):
    a = x.lo.copy()
    a[1] = row.lo
    a = Interval("f32", a)
    return [a, x, a * 2.0]


@runs(lambda rng: [normal(rng, 4, 14)])
def nested_calls(x):
    a, b = x[:, :7], x[:, 7:]
    return [a * b - b, b]


@runs(lambda rng: [normal(rng, 21, 64, dtype=BF16), *weights(rng, 128, 64), *weights(rng, 40, 128, element="f4E2M1FN")])
def weight_only_chain(x, w1, s1, w2, s2):
    h = rows(x, numbers(w1, s1), tensor_core=True).to("bf16")
    return [rows(maximum(h, 0.0), numbers(w2, s2), tensor_core=True)]


@runs(lambda rng: [normal(rng, 18, 64, dtype=BF16), *weights(rng, 16, 64, scale=0.1), *weights(rng, 16, 64, scale=0.1),
                   *weights(rng, 16, 64)])
def cross_attention_quantized(x, wq, sq, wk, sk, wv, sv):
    q, k, v = layer(x, wq, sq), layer(x, wk, sk), layer(x, wv, sv)
    return [einsum("mn,nk->mk", softmax(rows(q, k), 1), v.to("f32"))]


@runs(lambda rng: [np.bool_(True), np.bool_(False), normal(rng, 6), np.float32(0.25)])
def flags(keep, twice, x, n):
    return [x if keep else -x, x + x if twice else x, n > 0.5, np.bool_(keep ^ twice), np.int32(-int(keep))]


@runs(lambda rng: [np.array([4, -3, 70000, 2**33, 9]), np.int64(2)])
def index_tensors(x, first):
    s = x[first:]
    with np.errstate(over="ignore"):
        return [np.concatenate([s * s, np.zeros(3, np.int64)]), s, s[1]]


refuses("reshape_by_tensor", lambda rng: [normal(rng, 12), np.array([3, 4])], "'memref.reshape' op expected only mx operations on tensors",
        "the sizes are on the device; tensor.expand_shape takes sizes on the host")
refuses("gather_operation", lambda rng: [normal(rng, 9, 4), np.array([[1], [0], [8], [8], [3]])],
        "'tensor.gather' op expected an operation on tensors that bufferizes",
        "upstream does not bufferize it; a linalg.generic with tensor.extract does the same (embedding_lookup)")
refuses("arithmetic_on_f8", lambda rng: [Codes(np.zeros((6, 8), np.uint8), "f8E4M3FN") for _ in range(2)],
        "found 'f8E4M3FN'; mx.dequantize widens narrower floats",
        "8-bit numbers have no arithmetic of their own; mx.dequantize widens them")


@runs(lambda rng: [normal(rng, 7, 5), normal(rng, 5, 5)])
def shift_rows(x, a):
    k, b = x + x, a * a
    return [join(np.concatenate, k[1:], k[-1:]), b.T - b]


@runs(lambda rng: [whole(rng, 16, dtype=np.float32, most=9)])
def halving_sum(x):
    return [x.sum(0).reshape(1), np.int64(4)]


@runs(lambda rng: [normal(rng, 2, 3, dtype=BF16), normal(rng, 4, 3, dtype=BF16), np.int64(3)])
def growing_cache(x, new, times):
    return [join(np.concatenate, x, *[new] * int(times))]


@runs(lambda rng: [normal(rng, 8, 3)])
def parallel_slices(x):
    return [exp(x)]


@runs(lambda rng: [Scales(rng.integers(1, 255, (3, 131, 6)).astype(np.uint8)), Scales(rng.integers(1, 255, (140, 11)).astype(np.uint8), False),
                   np.int64(4)])
def relayout_batches(t, w, column):
    return [Scales(t.bytes, False), Scales(w.bytes[:, column:column + 5]), t]


@runs(lambda rng: [normal(rng, 4, 1, 64, dtype=BF16), *weights(rng, 4, 48, 64, tiled=False)])
def fp8_attention_cache(q, k, s):
    return [einsum("bmk,bnk->bmn", q, numbers(k, s).to("bf16")[:, 7:27])]
