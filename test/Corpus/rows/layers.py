"""Parts of models: norms, attention, softmax, embeddings, losses."""

import numpy as np
from formats import Quantized, numbers
from intervals import (Interval, absolute, cos, einsum, exp, join, log, maximum, minimum, of_integers, rows, rsqrt, sin, sqrt,
                       where)
from program import BF16, normal, runs, weights, whole
from rows.reported import matmul


def softmax(x, axis):
    e = exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@runs(lambda rng: [normal(rng, 3, 5, 7, dtype=np.float16)])
def elementwise_alone(x):
    return [minimum(maximum(x, -0.5), 0.75)]


@runs(lambda rng: [normal(rng, 9, 11), normal(rng, 9, 11), np.ones((9, 11), np.float32)])
def tensor_arithmetic(a, b, one):
    return [(a - b) * a / (absolute(b) + one)]


@runs(lambda rng: [normal(rng, 3, 6, 10), normal(rng, 10)])
def broadcast_bias(x, b):
    return [x + b]


@runs(lambda rng: [normal(rng, 2, 9, 24, dtype=BF16)])
def transpose_heads(x):
    return [x.reshape(2, 9, 3, 8).transpose(0, 2, 1, 3), x * 2.0]


@runs(lambda rng: [normal(rng, 20, 70, dtype=BF16), *weights(rng, 24, 96)])
def pad_to_blocks(x, w, s):
    return [rows(Quantized(x.lift(lambda a: np.pad(a, ((0, 0), (0, 26))))).real, numbers(w, s), tensor_core=True)]


@runs(lambda rng: [*weights(rng, 33, 64), *weights(rng, 24, 64)])
def fill_with_one(a, sa, b, sb):
    return [matmul(a, sa, b, sb, init=Interval("f32", np.ones((33, 24))))]


@runs(lambda rng: [*weights(rng, 39, 64), *weights(rng, 48, 64)])
def slice_returned(a, sa, b, sb):
    return [matmul(a, sa, b, sb)[2:41:3, 26:48:2]]


@runs(lambda rng: [normal(rng, 2, 3, 40, 16, dtype=BF16), normal(rng, 2, 3, 5, 16, dtype=BF16), np.int64(31)])
def kv_cache_update(cache, new, position):
    result = cache.lo.copy()
    result[:, :, position:position + 5] = new.lo
    return [Interval("bf16", result)]


@runs(lambda rng: [*weights(rng, 25, 64), *weights(rng, 16, 64), *weights(rng, 16, 64), *weights(rng, 16, 64)])
def concat_heads(a, sa, b, sb, c, sc, d, sd):
    heads = [matmul(a, sa, *head).to("bf16") for head in [(b, sb), (c, sc), (d, sd)]]
    return [join(lambda parts: np.concatenate(parts, 1), *heads)]


@runs(lambda rng: [*weights(rng, 19, 64), *weights(rng, 24, 64), np.int64(7), np.int64(17)])
def extract_element(a, sa, b, sb, i, j):
    y = matmul(a, sa, b, sb)
    return [y[i, j], y]


@runs(lambda rng: [normal(rng, 2, 5, 17, scale=3), np.float32(0.7)])
def softmax_temperature(x, temperature):
    return [softmax(x / temperature, 2)]


@runs(lambda rng: [normal(rng, 8, 12), rng.integers(0, 2, (8, 12)).astype(bool), normal(rng, 8, 12)])
def bits(x, mask, other):
    both = (x > other) & mask
    return [both, where(both, x, other)]


@runs(lambda rng: [normal(rng, 11, 48, dtype=BF16), normal(rng, 48), normal(rng, 48)])
def layer_norm(x, g, b):
    x = x.to("f32")
    d = x - x.sum(1, keepdims=True) / 48.0
    variance = (d * d).sum(1, keepdims=True) / 48.0
    return [(d / sqrt(variance + 1e-5) * g + b).to("bf16")]


@runs(lambda rng: [normal(rng, 2, 6, 5, 7) + np.float32(0.5), normal(rng, 6)])
def group_norm(image, weight):
    x = image.reshape(2, 3, 2, 5, 7)
    mean = x.sum((2, 3, 4), keepdims=True) / 70.0
    square = (x * x).sum((2, 3, 4), keepdims=True) / 70.0
    r = rsqrt(square - mean * mean + 1e-5)
    return [((x - mean) * r * weight.reshape(1, 3, 2, 1, 1)).reshape(2, 6, 5, 7)]


@runs(lambda rng: [normal(rng, 3, 13, 16, dtype=BF16) for _ in range(3)])
def attention_causal(q, k, v):
    scores = einsum("bmk,bnk->bmn", q, k) * 0.25
    seen = np.broadcast_to(np.tri(13, dtype=bool), (3, 13, 13))
    p = softmax(where(seen, scores, -np.inf), 2)
    return [einsum("bmn,bnk->bmk", p.to("bf16"), v)]


@runs(lambda rng: [normal(rng, 6, 5, 16, dtype=BF16), normal(rng, 2, 11, 16, dtype=BF16)])
def grouped_query_attention(q, k):
    return [einsum("hmk,hnk->hmn", q, k.lift(lambda a: np.repeat(a, 3, 0)))]


@runs(lambda rng: [normal(rng, 21, 16, dtype=BF16), (10000.0 ** (-np.arange(8) / 8)).astype(np.float32)])
def rotary_embedding(x, frequency):
    angle = of_integers(np.arange(21)[:, None]) * frequency
    a, b = x[:, :8].to("f32"), x[:, 8:].to("f32")
    u, v = a * cos(angle) - b * sin(angle), a * sin(angle) + b * cos(angle)
    return [join(lambda parts: np.concatenate(parts, 1), u, v).to("bf16")]


@runs(lambda rng: [normal(rng, 31, 12, dtype=BF16), np.array([30, 0, -1, 7, 7, -5, 2])])
def embedding_lookup(table, tokens):
    return [Interval("bf16", np.where(tokens[:, None] < 0, 0.0, table.lo[tokens]))]


@runs(lambda rng: [normal(rng, 14, 29, scale=3), rng.integers(0, 29, 14).astype(np.int32)])
def cross_entropy(x, labels):
    top = x.max(1)
    sums = exp(x - top[:, None]).sum(1)
    loss = log(sums) + top - x[np.arange(14), labels]
    return [loss, loss.sum(0) / 14.0]


@runs(lambda rng: [whole(rng, 6, 6, dtype=np.float32, most=1), np.int32(3)])
def while_loop(x, times):
    for _ in range(times):
        x = einsum("ij,jk->ik", x, x)
    return [x, np.int32(times)]


@runs(lambda rng: [normal(rng, 7, 4), np.float32(1.3)], entry="backward")
def several_entries(dy, factor):
    return [dy * 0.5 * factor]
