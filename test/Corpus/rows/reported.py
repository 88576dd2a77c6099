"""Programs reported by users. At that time, mx accepted some of them and refused others."""

import numpy as np
from formats import Quantized, Scales, numbers
from intervals import Interval, einsum, erf, maximum, rows, rsqrt, silu, where
from program import BF16, normal, nvfp4, refuses, runs, weights, whole

# Follows the definition: the tensor core multiplies rows of a by rows of b.


def matmul(a, sa, b, sb, **options):
    return rows(numbers(a, sa), numbers(b, sb), tensor_core=True, **options)


@runs(lambda rng: [normal(rng, 37, 96, dtype=BF16), *weights(rng, 160, 96), normal(rng, 160), *weights(rng, 72, 160, scale=0.1),
                   normal(rng, 72)])
def mlp_gelu(x, w1, s1, b1, w2, s2, b2):
    h = rows(Quantized(x).real, numbers(w1, s1), tensor_core=True) + b1
    gelu = h * 0.5 * (erf(h * 0.70710678) + 1.0)
    return [rows(Quantized(gelu.to("bf16")).real, numbers(w2, s2), tensor_core=True) + b2]


@runs(lambda rng: [*weights(rng, 43, 128, element="f8E5M2"), *weights(rng, 88, 128, element="f6E3M2FN"),
                   normal(rng, 43, 88, dtype=BF16)])
def residual_add(a, sa, w, sw, residual):
    return [(matmul(a, sa, w, sw) + residual.to("f32")).to("bf16")]


@runs(lambda rng: [*weights(rng, 21, 192, tiled=False, scale=3)])
def dequantize_silu_requantize(e, s):
    q = Quantized(silu(numbers(e, s)), "f4E2M1FN", "floor", tiled=False)
    return [q.codes, q.scales]


def layer(x, w, s):
    return rows(Quantized(x).real, numbers(w, s), tensor_core=True).to("bf16")


@runs(lambda rng: [normal(rng, 52, 64, dtype=BF16), *weights(rng, 64, 64, scale=0.1), *weights(rng, 64, 64, scale=0.1)])
def private_functions(x, w1, s1, w2, s2):
    return [layer(layer(x, w1, s1), w2, s2)]


@runs(lambda rng: [normal(rng, 39, 160, dtype=BF16), *weights(rng, 96, 160), *weights(rng, 40, 160), *weights(rng, 40, 160)])
def shared_quantization(x, wq, sq, wk, sk, wv, sv):
    return [layer(x, wq, sq), layer(x, wk, sk), layer(x, wv, sv)]


@runs(lambda rng: [normal(rng, 33, 128, dtype=BF16), *weights(rng, 96, 128, scale=0.2), *weights(rng, 96, 128, scale=0.2)])
def gate_and_up(x, wg, sg, wu, su):
    q = Quantized(x).real
    g, u = rows(q, numbers(wg, sg), tensor_core=True), rows(q, numbers(wu, su), tensor_core=True)
    p = Quantized((silu(g) * u).to("bf16"))
    return [p.codes, p.scales]


@runs(lambda rng: [*weights(rng, 45, 96), *weights(rng, 56, 96), normal(rng, 45, 56)])
def accumulate_argument(a, sa, b, sb, acc):
    return [matmul(a, sa, b, sb, init=acc)]


@runs(lambda rng: [*weights(rng, 17, 64), *weights(rng, 24, 64, element="f8E5M2"), normal(rng, 5)])
def same_result_twice(a, sa, b, sb, other):
    y = matmul(a, sa, b, sb)
    return [y, other, y]


@runs(lambda rng: [normal(rng, 4, 3, dtype=BF16), np.int32(-7), np.array([True, False])])
def identity(x, n, y):
    return [y, x, n]


@runs(lambda rng: [np.bool_(False), *weights(rng, 31, 64), *weights(rng, 40, 64), *weights(rng, 40, 64), normal(rng, 40)])
def if_around_matmuls(flag, a, sa, b, sb, c, sc, bias):
    return [matmul(a, sa, b, sb) if flag else matmul(a, sa, c, sc) + bias]


@runs(lambda rng: [*weights(rng, 37, 64), *weights(rng, 96, 64), *weights(rng, 96, 64), *weights(rng, 48, 64)])
def matmul_of_matmuls(a, sa, b, sb, c, sc, d, sd):
    p, r = matmul(a, sa, b, sb).to("bf16"), matmul(c, sc, d, sd).to("bf16")
    return [rows(Quantized(p).real, Quantized(r.T).real, tensor_core=True)]


@runs(lambda rng: [*weights(rng, 50, 64), *weights(rng, 50, 64)])
def causal_mask(q, sq, k, sk):
    return [where(np.tri(50, dtype=bool), matmul(q, sq, k, sk) * 0.125, -3.0e38)]


@runs(lambda rng: [*weights(rng, 28, 64), *weights(rng, 36, 64), normal(rng, 28, dtype=BF16), normal(rng, 28, dtype=BF16)])
def row_bias(a, sa, b, sb, bias, factor):
    return [matmul(a, sa, b, sb) * factor.to("f32")[:, None] + bias.to("f32")[:, None]]


@runs(lambda rng: [normal(rng, 35, 128, dtype=BF16), normal(rng, 128, dtype=BF16)])
def rms_norm_quantize(x, w):
    x = x.to("f32")
    mean = (x * x).sum(1, keepdims=True) * 0.0078125
    q = Quantized((x * rsqrt(mean + 1e-5) * w.to("f32")).to("bf16"))
    return [q.codes, q.scales]


@runs(lambda rng: [normal(rng, 3, 7, 64, dtype=BF16), *weights(rng, 40, 64)])
def reshapes(x, w, s):
    return [rows(Quantized(x.reshape(21, 64)).real, numbers(w, s), tensor_core=True).reshape(3, 7, 40)]


@runs(lambda rng: [normal(rng, 29, 64, dtype=BF16), normal(rng, 4, 56, 64, dtype=BF16)])
def sliced_stacked_weights(x, weights):
    return [rows(Quantized(x).real, Quantized(weights[2]).real, tensor_core=True)]


@runs(lambda rng: [normal(rng, 47, 96)])
def gram_matrix(x):
    q = Quantized(x).real
    return [rows(q, q, tensor_core=True)]


@runs(lambda rng: [*weights(rng, 3, 21, 64), *weights(rng, 3, 40, 64)])
def batched_matmul(a, sa, b, sb):
    return [einsum("bmk,bnk->bmn", numbers(a, sa), numbers(b, sb), tensor_core=True)]


@runs(lambda rng: [normal(rng, 26, 64, dtype=BF16), *weights(rng, 24, 64)])
def weight_only_linalg(x, w, s):
    return [rows(x, numbers(w, s).to("bf16"))]


@runs(lambda rng: [normal(rng, 26, 64, dtype=BF16), *weights(rng, 40, 64), normal(rng, 64, 5, dtype=BF16)])
def bf16_matmul_beside(x, w, s, router):
    return [rows(Quantized(x).real, numbers(w, s), tensor_core=True), einsum("mk,kn->mn", x, router)]


refuses("nvfp4_times_mxfp8", lambda rng: [*nvfp4(rng, 37, 64), *weights(rng, 40, 64)],
        "expected b_scales of type 'f8E4M3FN' like a_scales, found 'f8E8M0FNU'",
        "the tensor core requires the same scale type for both operands; quantize both to one format")


@runs(lambda rng: [normal(rng, 23, 64, dtype=BF16), *weights(rng, 3, 64, 64, scale=0.12)])
def layers_in_for(x, weights, scales):
    for i in range(3):
        x = layer(x, weights[i], Scales(scales.bytes[i]))
    return [x]


# Final contents of memrefs are results.
@runs(lambda rng: [normal(rng, 19, 64, dtype=BF16), normal(rng, 64, 24, dtype=BF16), normal(rng, 19, 24)])
def memref_arguments(a, b, y):
    return [a, b, einsum("mk,kn->mn", a, b, init=y)]


@runs(lambda rng: [normal(rng, 19, 64, dtype=BF16), normal(rng, 64, 24, dtype=BF16)])
def host_code(a, b):
    return [einsum("mk,kn->mn", a, b)]


@runs(lambda rng: [*weights(rng, 21, 64)])
def constant_splat(a, sa):
    w = Interval("f32", np.full((40, 64), 1.5 * 0.25))
    return [rows(numbers(a, sa), w, tensor_core=True)]


@runs(lambda rng: [normal(rng, 5, 3)])
def constant_weights(x):
    return [einsum("mk,kn->mn", x, Interval("f32", np.array([[1.0, -2.0], [0.5, 3.0], [-1.25, 4.0]])))]


@runs(lambda rng: [normal(rng, 5, 4)])
def resource_weights(x):
    return [x + Interval("f32", np.array([1.0, 2.0, 3.0, 4.0]))]


@runs(lambda rng: [normal(rng, 34, 64, dtype=BF16), *weights(rng, 5, 40, 64, element="f4E2M1FN"), np.int64(3)])
def stacked_scales_slice(x, w, s, layer):
    return [rows(x, numbers(w[layer], Scales(s.bytes[layer])), tensor_core=True).to("bf16")]


@runs(lambda rng: [*weights(rng, 30, 96, tiled=False), *weights(rng, 56, 96, tiled=False)])
def linear_scales(a, sa, b, sb):
    return [matmul(a, sa, b, sb)]


@runs(lambda rng: [normal(rng, 38, 64, dtype=BF16)])
def nvfp4_factor_of_amax(x):
    amax = np.abs(x.lo).max()
    q = Quantized(x, "f4E2M1FN", tiled=False, factor=np.float32(2688) / np.float32(amax))
    return [q.codes, q.scales, Interval("f32", amax)]


@runs(lambda rng: [*weights(rng, 41, 64), *weights(rng, 24, 64)])
def relu_and_itself(a, sa, b, sb):
    y = matmul(a, sa, b, sb)
    return [y, maximum(y, 0.0)]


@runs(lambda rng: [*weights(rng, 22, 64), *weights(rng, 24, 64), normal(rng, 22, 24)])
def accumulate_relu(a, sa, b, sb, acc):
    return [maximum(matmul(a, sa, b, sb, init=acc), 0.0)]


@runs(lambda rng: [normal(rng, 9, 7), normal(rng, 9, 7)])
def reads_outs(new, average):
    return [average * 0.9 + new * 0.1]


@runs(lambda rng: [*weights(rng, 27, 64), *weights(rng, 40, 64)])
def transposed_copy(a, sa, b, sb):
    return [matmul(a, sa, b, sb).T.to("bf16")]


@runs(lambda rng: [*weights(rng, 18, 96, element="f6E2M3FN"), np.float32(1.7)])
def dequantize_scale(e, s, factor):
    return [numbers(e, s) * factor]
