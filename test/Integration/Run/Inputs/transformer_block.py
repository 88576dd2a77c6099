# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stages of examples/transformer_block.mlir, computed with numpy in float64.

Written from the definitions, without code of the compiler. Each stage is computed from the device's inputs to it, so
that errors do not accumulate, and has a separate bound:

- u = 2^-24 is the relative rounding of f32. A sum of n f32 values, in any order, has an error of at most n u
  sum|x|; products of two bf16 are exact in f32. Functions have the bounds of docs/reference/Math.md.
- Matmuls on tensor cores: docs/guide/Run.md. The simulator adds exactly within an MMA step of 16 elements along the
  reduction for bf16 and on sm_90a, of 32 otherwise; each step rounds once, by at most 2^-23 sum|a||b|.
- Values stored as bf16 or f32 are rounded once more, by half a unit in the last place.
- Integers, quantized values, and single roundings of exact numbers must be equal.
"""

import ml_dtypes
import numpy as np

import mx_reference as ref

HIDDEN, HEADS, KV_HEADS, SIZE, EXPERTS, INNER, CHOICES = 256, 4, 2, 64, 8, 128, 2
ELEMENT = "f8E4M3FN"
BF16 = ml_dtypes.bfloat16
U = 2.0**-24
EPS = float(np.float32(1e-6))

# Arguments and their shapes (T is the number of tokens). The scales of a weight follow the weight.
ARGUMENTS = [
    ("x", "bf16"), ("cos", "f32"), ("sin", "f32"), ("attention_norm", "f32"),
    ("wqkv", "mx"), ("wo", "mx"), ("expert_norm", "f32"), ("router", "bf16"),
    ("w1", "mx"), ("w2", "mx"),
]

# Values of @block to compare, in program order, with their types.
OBSERVED = {
    "n1": "!tokens", "qkv": "!qkv", "turned": "!heads", "scores": "!scores", "soft": "!scores", "probs": "!probs",
    "context": "!tokens", "o": "!sums", "a": "!tokens", "n2": "!tokens", "logits": "!logits", "weights": "!logits",
    "choice": "!choice", "chosen": "!gates", "gates": "!gates", "places": "!choice", "ends": "!ends",
    "tokens": "!rows", "gu": "!gu", "h": "!h", "z": "!sums", "mixed": "!sums",
}
# Stages with indices. If an index is wrong, later stages are not comparable.
INDICES = ["choice", "places", "ends", "tokens_"]
# Two quantizers, in the order of the imported program.
QUANTIZED = ["xq", "hq"]


def make_arguments(tokens, seed, kind="random"):
    """Creates the arguments of a call."""
    rng = np.random.default_rng(seed)
    weights = lambda *shape: rng.standard_normal(shape) / np.sqrt(shape[-1])
    angles = np.arange(tokens)[:, None] * 10000.0 ** (-np.arange(SIZE // 2) / (SIZE // 2))
    given = {
        "x": rng.standard_normal((tokens, HIDDEN)).astype(BF16),
        "cos": np.cos(angles).astype(np.float32),
        "sin": np.sin(angles).astype(np.float32),
        "attention_norm": rng.uniform(0.5, 1.5, HIDDEN).astype(np.float32),
        # Large scores, so attention selects few tokens.
        "wqkv": 1.5 * weights((HEADS + 2 * KV_HEADS) * SIZE, HIDDEN),
        "wo": weights(HIDDEN, HIDDEN),
        "expert_norm": rng.uniform(0.5, 1.5, HIDDEN).astype(np.float32),
        "router": weights(EXPERTS, HIDDEN).astype(BF16),
        "w1": weights(EXPERTS, 2 * INNER, HIDDEN),
        "w2": weights(EXPERTS, HIDDEN, INNER),
    }
    if kind == "equal":  # experts tie everywhere, so all tokens go to the first two
        given["router"] = np.zeros_like(given["router"])
    if kind == "one":  # equal tokens select the same experts
        given["x"] = np.tile(given["x"][:1], (tokens, 1))
    if kind == "nan" and tokens:  # one NaN token, which affects all later tokens; earlier tokens multiply its v by 0
        given["x"][tokens // 2] = np.nan
    arrays = {}
    for name, form in ARGUMENTS:
        if form == "mx":
            arrays[name], arrays[name + "_s"] = ref.quantize(given[name].astype(np.float32), ELEMENT)
        else:
            arrays[name] = given[name]
    return arrays


def half_unit(x, bits):
    """Returns half a unit in the last place of a `bits`-bit significand."""
    _, e = np.frexp(np.where(np.isfinite(x), x, 0.0))
    return np.exp2(np.maximum(e - 1.0, -126.0) - bits - 1)


BITS = {"bf16": 7, "f32": 23}


def stored(exact, error, to):
    """Rounds a number with the given error; returns it and its new error bound."""
    with np.errstate(invalid="ignore"):
        return exact, error + half_unit(np.abs(exact) + error, BITS[to])


def norm(x, weight):
    """Returns the error bound of RMS norm: 256 additions of exact squares, a division and an addition, whose error the
    root (1.5 ulp) halves, and two multiplications."""
    exact = x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * weight
    return stored(exact, ((256 + 2) / 2 + 3 + 2 + 1) * U * np.abs(exact), "bf16")


def matmul(a, b, step, to):
    steps = -(-a.shape[-1] // step)
    error = steps * (2.0**-23 * (np.abs(a) @ np.abs(b).T) + 2.0**-149)
    return stored(a @ b.T, error, to)


def softmax(scores, seen):
    """Computes exp(s - max) / sum. Errors: a rounding of the difference, 1.1 ulp, one addition per column, a
    division."""
    with np.errstate(invalid="ignore"):
        scores = np.where(seen, scores, -np.inf)
        below = scores - np.max(scores, -1, keepdims=True, initial=-np.inf)
        terms = np.exp(below)
        exact = terms / terms.sum(-1, keepdims=True)
        off = np.where(seen, np.abs(below), 0.0) + 2.2
        total = (exact * off).sum(-1, keepdims=True) + scores.shape[-1] + 1
        error = np.where(seen, 1.01 * exact * (off + total) * U + 2.0**-148, 0.0)
    return exact, error


def silu(x):
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(-x))


def shared(heads):
    """Repeats each key or value head for the query heads that share it: h, t, d."""
    return np.repeat(heads.transpose(1, 0, 2), HEADS // KV_HEADS, axis=0)


def same_rounding(x, to):
    return (x.astype(BF16) if to == "bf16" else x.astype(np.float32)).astype(np.float64)


class Stages:
    """Expected results of the stages. Device arrays are converted to float64 or are integers."""

    def __init__(self, arguments, found, chip):
        self.v = {**arguments, **found}
        for name in ["wqkv", "wo", "w1", "w2"]:
            self.v[name] = ref.real(arguments[name], arguments[name + "_s"], ELEMENT)
        for name, array in self.v.items():
            if array.dtype in (BF16, np.float32):
                with np.errstate(invalid="ignore"):  # NaN
                    self.v[name] = array.astype(np.float64)
        self.tokens = len(arguments["x"])
        self.step = 16 if chip == "sm_90a" else 32

    def __getitem__(self, name):
        return self.v[name]

    def n1(self):
        return norm(self["x"], self["attention_norm"])

    def qkv(self):
        return matmul(self["n1"], self["wqkv"], 16, "bf16")

    def turned(self):
        heads = self["qkv"][:, :(HEADS + KV_HEADS) * SIZE].reshape(self.tokens, HEADS + KV_HEADS, SIZE)
        low, high = heads[..., :SIZE // 2], heads[..., SIZE // 2:]
        cos, sin = self["cos"][:, None], self["sin"][:, None]
        exact = np.concatenate([low * cos - high * sin, high * cos + low * sin], -1)
        size = np.concatenate([np.abs(low * cos) + np.abs(high * sin), np.abs(high * cos) + np.abs(low * sin)], -1)
        return stored(exact, 2 * U * size * (1 + U), "bf16")

    def scores(self):
        q, k = self["turned"][:, :HEADS].transpose(1, 0, 2), shared(self["turned"][:, HEADS:])
        exact, size = q @ k.transpose(0, 2, 1), np.abs(q) @ np.abs(k).transpose(0, 2, 1)
        shape = (KV_HEADS, HEADS // KV_HEADS, self.tokens, self.tokens)
        return exact.reshape(shape), (SIZE * U * size).reshape(shape)

    def soft(self):
        return softmax(self["scores"] / np.sqrt(SIZE), np.tri(self.tokens, dtype=bool))

    def probs(self):
        return same_rounding(self["soft"], "bf16"), 0

    def context(self):
        v = shared(self["qkv"][:, (HEADS + KV_HEADS) * SIZE:].reshape(self.tokens, KV_HEADS, SIZE))
        p = self["probs"].reshape(HEADS, self.tokens, self.tokens)
        flat = lambda heads: heads.transpose(1, 0, 2).reshape(self.tokens, HEADS * SIZE)
        return stored(flat(p @ v), self.tokens * U * flat(p @ np.abs(v)), "bf16")

    def o(self):
        return matmul(self["context"], self["wo"], 16, "f32")

    def a(self):
        return same_rounding(same_rounding(self["x"] + self["o"], "f32"), "bf16"), 0

    def n2(self):
        return norm(self["a"], self["expert_norm"])

    def logits(self):
        return self["n2"] @ self["router"].T, HIDDEN * U * (np.abs(self["n2"]) @ np.abs(self["router"]).T)

    def weights(self):
        return softmax(self["logits"], np.full(self["logits"].shape, True))

    def choice(self):
        best = np.argsort(-self["weights"], axis=1, kind="stable")[:, :CHOICES]
        return np.where(np.isnan(self["weights"]).any(1, keepdims=True), 0, best), 0

    def chosen(self):
        of_choice = np.take_along_axis(self["weights"], self["choice"], 1)
        return np.where(np.isnan(of_choice), 0, of_choice), 0

    def gates(self):
        with np.errstate(invalid="ignore"):
            total = same_rounding(self["chosen"].sum(1, keepdims=True), "f32")
            return same_rounding(self["chosen"] / total, "f32"), 0

    def order(self):
        """Pairs sorted by expert, earlier tokens first."""
        return np.argsort(self["choice"].ravel(), kind="stable")

    def places(self):
        places = np.empty(CHOICES * self.tokens, np.int64)
        places[self.order()] = np.arange(CHOICES * self.tokens)
        return places.reshape(self.tokens, CHOICES), 0

    def ends(self):
        return np.cumsum(np.bincount(self["choice"].ravel(), minlength=EXPERTS)), 0

    def tokens_(self):
        return self.order() // CHOICES, 0

    def quantized(self, rows):
        elements, scales = ref.quantize(rows.astype(np.float32), ELEMENT)
        return elements, ref.tile_rows(scales, self["ends"])

    def grouped(self, quantized, weights, step, to):
        """Multiplies the rows of each expert by its matrix. The scales of each expert group begin in a new tile."""
        elements, tiles = self[quantized + "_e"], self[quantized + "_s"]
        exact = np.zeros((len(elements), weights.shape[1]))
        bound, begin = np.zeros_like(exact), 0
        for g, end in enumerate(self["ends"]):
            rows, first = end - begin, begin // 128 + g
            scales = ref.untile(tiles[first:first + -(-rows // 128)], rows, elements.shape[1] // 32)
            real = ref.real(elements[begin:end], scales, ELEMENT)
            exact[begin:end], bound[begin:end] = matmul(real, weights[g], step, to)
            begin = end
        return exact, bound

    def gu(self):
        return self.grouped("xq", self["w1"], self.step, "bf16")

    def h(self):
        """Computes silu with an error of at most 4 ulp. Large negative inputs underflow to 0 slightly early."""
        gate, up = self["gu"][:, :INNER], self["gu"][:, INNER:]
        exact = silu(gate) * up
        return stored(exact, 9.1 * U * np.abs(exact) + 2.0**-125 * np.abs(gate * up), "bf16")

    def z(self):
        return self.grouped("hq", self["w2"], self.step, "f32")

    def mixed(self):
        terms = self["z"][self["places"]] * self["gates"][..., None]
        return terms.sum(1), 3 * U * np.abs(terms).sum(1)

    def y(self):
        return same_rounding(same_rounding(self["a"] + self["mixed"], "f32"), "bf16"), 0


def compare(exact, bound, found):
    """Describes the error of an array; empty if there is none."""
    if found.shape != exact.shape:
        return f"expected the shape {exact.shape}, found {found.shape}"
    with np.errstate(invalid="ignore"):
        error = np.abs(found.astype(np.float64) - exact)
        good = (np.isnan(exact) & np.isnan(found)) | (error <= bound)
    if good.all():
        return ""
    where = tuple(int(i[0]) for i in np.nonzero(~good))
    bound = np.broadcast_to(bound, exact.shape)
    return (f"{np.count_nonzero(~good)} of {good.size} differ; at {where} expected {exact[where]} within "
            f"{bound[where]:.3g}, found {found[where]}")


def compare_quantized(stages, name, rows):
    elements, tiles = stages.quantized(rows)
    if wrong := compare(elements, 0, stages[name + "_e"]):
        return "elements: " + wrong
    begin = 0
    for g, end in enumerate(stages["ends"]):
        own = slice(begin // 128 + g, begin // 128 + g + -(-(end - begin) // 128))
        if wrong := compare(tiles[own], 0, stages[name + "_s"][own]):
            return f"scales of group {g}: {wrong}"
        begin = end
    return ""


def find_wrong(arguments, found, chip):
    """Returns the stages with wrong results for their inputs, in order, and the largest used fraction of each bound."""
    stages = Stages(arguments, found, chip)
    wrong, used = {}, {}
    for name in [*OBSERVED, "y"]:
        if name == "gu":
            wrong["xq"] = compare_quantized(stages, "xq", stages["n2"][stages["tokens_"]])
        if name == "z":
            wrong["hq"] = compare_quantized(stages, "hq", stages["h"])
        name = "tokens_" if name == "tokens" else name
        exact, bound = getattr(stages, name)()
        wrong[name] = compare(exact, bound, stages[name])
        if wrong[name] and name in INDICES:
            break
        if np.ndim(bound) and exact.size and not wrong[name]:
            with np.errstate(invalid="ignore", divide="ignore"):
                used[name] = np.nanmax(np.where(bound > 0, np.abs(stages[name] - exact) / bound, 0), initial=0)
    return {name: text for name, text in wrong.items() if text}, used


def run_model(arguments):
    """Computes the whole block in float64. Only the weights are rounded and quantized."""
    f = {n: a.astype(np.float64) for n, a in arguments.items() if a.dtype in (BF16, np.float32)}
    w = {n: ref.real(arguments[n], arguments[n + "_s"], ELEMENT) for n in ["wqkv", "wo", "w1", "w2"]}
    unit = lambda x, weight: x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * weight
    tokens = len(f["x"])
    heads = (unit(f["x"], f["attention_norm"]) @ w["wqkv"].T).reshape(tokens, HEADS + 2 * KV_HEADS, SIZE)
    turn = np.exp(1j * np.angle(f["cos"] + 1j * f["sin"]))[:, None]
    pairs = (heads[..., :SIZE // 2] + 1j * heads[..., SIZE // 2:])[:, :HEADS + KV_HEADS] * turn
    turned = np.concatenate([pairs.real, pairs.imag], -1)
    a = f["x"].copy()
    context = []
    for h in range(HEADS):
        kv = h // (HEADS // KV_HEADS)
        p, _ = softmax(turned[:, h] @ turned[:, HEADS + kv].T / np.sqrt(SIZE), np.tri(tokens, dtype=bool))
        context.append(p @ heads[:, HEADS + KV_HEADS + kv])
    a += np.concatenate(context, 1) @ w["wo"].T
    n = unit(a, f["expert_norm"])
    weights, _ = softmax(n @ f["router"].T, np.full((tokens, EXPERTS), True))
    y = a.copy()
    choice = np.argsort(-weights, axis=1, kind="stable")[:, :CHOICES]
    for t in range(tokens):
        gates = weights[t, choice[t]] / weights[t, choice[t]].sum()
        for gate, e in zip(gates, choice[t]):
            gu = w["w1"][e] @ n[t]
            y[t] += gate * (w["w2"][e] @ (silu(gu[:INNER]) * gu[INNER:]))
    return y, choice
