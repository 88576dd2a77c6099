"""A mixture-of-experts layer in numpy, stage by stage.

For every stage, this module computes the exact result in float64 from the device's inputs to that stage, and a bound on
the device's error (docs/guide/MoE.md). Quantized stages, including a SwiGLU before the quantization, are compared byte
by byte. The weights are W1[g] (gate above up, 2I x H) and W2[g] (H x I). rows[p] is the token of row p, prob[p] its
weight, and ends[g] the end of expert group g.
"""

import ml_dtypes
import numpy as np
from chips import count_roundings
from exponentials_model import sigmoid

import mx_reference as ref

BF16 = ml_dtypes.bfloat16
ELEMENT = "f8E4M3FN"


def groups_of(ends):
    return [slice(int(b), int(e)) for b, e in zip([0, *ends[:-1]], ends)]


def widen(bits):
    """Converts bf16 values, or their bits, to float32."""
    return np.asarray(bits).view(BF16).astype(np.float32)


def draw_inputs(rng, routing, hidden, inner):
    """Draws tokens, gradients and weights. Returns them with the routing, named as in moe_stages.py."""
    def normal(*shape, deviation=1.0):
        return (rng.standard_normal(shape) * deviation).astype(BF16)

    groups = len(routing.ends)
    return {"x": normal(routing.tokens, hidden), "dy": normal(routing.tokens, hidden),
            "rows": routing.rows, "prob": routing.prob, "ends": routing.ends,
            "w1b": normal(groups, 2 * inner, hidden, deviation=hidden**-0.5),
            "w2b": normal(groups, hidden, inner, deviation=inner**-0.5)}


# --- Quantized stages: compared byte by byte ---------------------------------------------


def swiglu(gu, prob):
    """Computes the bf16 values to quantize, in float32."""
    gate, up = np.split(widen(gu), 2, axis=1)
    with np.errstate(all="ignore"):
        silu = gate * sigmoid(gate)
        return (silu * up * prob[:, None]).astype(BF16).astype(np.float32)


def swiglu_gradient(gu, dh, prob):
    """Computes the gradients of gate and up, side by side."""
    gate, up = np.split(widen(gu), 2, axis=1)
    one = np.float32(1)
    with np.errstate(all="ignore"):
        sigma = sigmoid(gate)
        silu = gate * sigma
        dhp = widen(dh) * prob[:, None]
        dgate = dhp * up * (sigma + silu * (one - sigma))
        dup = dhp * silu
        both = np.concatenate([dgate, dup], axis=1)
        return both.astype(BF16).astype(np.float32)


def quantize_rows(x, ends):
    """Quantizes float32 x along its rows, and quantizes each expert group's transpose. Returns elements and scale
    tiles, each with the index of its defined part."""
    last = int(ends[-1])
    known = np.where(np.arange(len(x))[:, None] < last, x, np.float32(0))
    elements, scales = ref.quantize(known, ELEMENT)
    yield elements, slice(0, last)
    yield ref.tile_rows(scales, ends), ref.defined_tiles(ends)

    elements, scales = ref.quantize_groups(known, ends, lambda part: ref.quantize(part, ELEMENT))
    end = ref.group_starts(ends)[-1]
    yield elements, (slice(None), slice(0, end))
    yield ref.tile(scales), (slice(None), slice(0, end // 128))


def quantize_weights(w):
    """Quantizes the weights of all experts along the last axis, and along the axis before it. Returns elements and
    scale tiles of both."""
    for y in (w, w.transpose(0, 2, 1)):
        elements, scales = ref.quantize(np.ascontiguousarray(y, np.float32),
                                        ELEMENT)
        yield elements
        yield ref.tile(scales)


# --- Values of quantized arrays ------------------------------------------------


def read(elements, tiles):
    scales = ref.untile(tiles, elements.shape[-2], elements.shape[-1] // 32)
    return ref.real(elements, scales, ELEMENT)


def read_rows(elements, tiles, ends):
    """Returns a matrix for each expert group."""
    out = []
    for g, part in enumerate(groups_of(ends)):
        first = part.start // 128 + g
        out.append(read(elements[part], tiles[first:]))
    return out


def read_reduction(elements, tiles, ends):
    """Returns a matrix for each expert group, without padding."""
    scales = ref.untile(tiles, len(elements), elements.shape[1] // 32)
    values = ref.real(elements, scales, ELEMENT)
    return [values[:, start:start + part.stop - part.start] for start, part in
            zip(ref.group_starts(ends), groups_of(ends))]


# --- Matmuls and sums: compared within a bound --------------------------------------------


class Bounded:
    """Exact results, and the error bound of f32 accumulation."""

    def __init__(self, exact, bound):
        self.exact, self.bound = exact, bound

    @staticmethod
    def matmul(a, b):
        """Multiplies matrices. Every MMA step may lose 2^-23 of the largest possible sum."""
        steps = count_roundings(a.shape[1])
        return Bounded(a @ b.T, steps * 2.0**-23 * (np.abs(a) @ np.abs(b).T))

    @staticmethod
    def stack(parts, join=np.concatenate):
        return Bounded(join([p.exact for p in parts]),
                       join([p.bound for p in parts]))

    def compare(self, found, mantissa):
        """Returns the number of elements beyond the bound plus half a unit of the result's type, and the largest error
        as a fraction of that limit."""
        found = found.astype(np.float64)
        size = np.maximum(np.abs(found), np.abs(self.exact))
        exponent = np.maximum(np.frexp(size)[1] - 1, -126)
        bound = self.bound + np.ldexp(0.5, exponent - mantissa) * (1 + 1e-9)
        ratio = np.abs(found - self.exact) / bound
        wrong = int((~(ratio <= 1)).sum())  # NaN is wrong
        return wrong, float(ratio.max()) if ratio.size else 0.0


def matmul_rows(a, b):
    """Multiplies each A[g] by the transpose of B[g] and stacks the results."""
    return Bounded.stack([Bounded.matmul(x, y) for x, y in zip(a, b)])


def matmul_reduction(a, b):
    return Bounded.stack([Bounded.matmul(x, y) for x, y in zip(a, b)], np.stack)


def combine(z, rows, tokens):
    """Computes y[rows[p]] += z[p] in f32, in ascending order of p."""
    y = np.zeros((tokens, z.shape[1]), np.float32)
    for row, term in zip(rows, z):
        if 0 <= row < tokens:
            y[row] += term
    return y


def prob_gradient(gu, dh, last):
    """Sums dh * silu(gate) * up over columns, in any order. The terms are f32 values."""
    gate, up = np.split(widen(gu)[:last], 2, axis=1)
    terms = gate * sigmoid(gate) * up * widen(dh)[:last]
    terms = terms.astype(np.float64)
    n = terms.shape[1]
    return Bounded(terms.sum(axis=1),
                   n * 2.0**-24 * np.abs(terms).sum(axis=1))


# --- The layer without quantization ----------------------------------------------


def exact_layer(v):
    """Returns y, dX, dW1, dW2 and dprob in float64, from the same bf16 inputs."""
    x, dy, prob, w1, w2 = (v[name].astype(np.float64) for name in ("x", "dy", "prob", "w1b", "w2b"))
    rows, ends = v["rows"], v["ends"]
    y, dx = np.zeros_like(x), np.zeros_like(x)
    dw1, dw2, dprob = np.zeros_like(w1), np.zeros_like(w2), np.zeros(len(rows))
    for g, part in enumerate(groups_of(ends)):
        token, p = rows[part], prob[part, None]
        xg, dyg = ref.gather(x, token), ref.gather(dy, token)
        gate, up = np.split(xg @ w1[g].T, 2, axis=1)
        sigma = 1 / (1 + np.exp(-gate))
        silu = gate * sigma
        h = silu * up * p
        known = token >= 0
        np.add.at(y, token[known], (h @ w2[g].T)[known])
        dh = dyg @ w2[g]
        dprob[part] = (dh * silu * up).sum(axis=1)
        dgate = dh * p * up * (sigma + silu * (1 - sigma))
        dgu = np.concatenate([dgate, dh * p * silu], axis=1)
        np.add.at(dx, token[known], (dgu @ w1[g])[known])
        dw1[g], dw2[g] = dgu.T @ xg, dyg.T @ h
    return {"y": y, "dX": dx, "dW1": dw1, "dW2": dw2, "dprob": dprob}


def decibels(found, exact):
    """Returns the signal-to-noise ratio in decibels, which is infinite without noise."""
    noise = ((found.astype(np.float64) - exact)**2).sum()
    signal = (exact**2).sum()
    return 10 * np.log10(signal / noise) if noise else np.inf
