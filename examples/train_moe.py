#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small network with two MoE layers twice. The experts are first computed in bf16 by
NumPy, then in MXFP8, forward and backward, by a program that mx compiled.

    mx-compile examples/moe_layer.mlir -o moe_layer
    python3 examples/train_moe.py moe_layer --device=sim --steps=300 --out=losses.json
    python3 examples/plot_losses.py losses.json -o losses.svg

The network learns a table that maps each pair of symbols to a random class. One label in five is
drawn again for each token, so the loss cannot reach 0. A token is the sum of the embeddings of its
two symbols. Two MoE layers with residual connections and a linear head predict its class. NumPy
computes the router, norms, head, Adam and all random numbers in both runs, so only the experts
differ.
"""

import argparse
import json
import time

import ml_dtypes
import mx_compiler as mx
import numpy as np

HIDDEN, INNER, EXPERTS, TOP = 384, 256, 8, 2  # sizes of moe_layer.mlir
LAYERS, SYMBOLS, CLASSES, NOISE = 2, 64, 64, 0.2

# --- Small functions -----------------------------------------------------------


def to_bf16(x):
    return np.asarray(x, np.float32).astype(ml_dtypes.bfloat16)


def from_bf16(x):
    return x.astype(np.float32)


def round_bf16(x):
    return from_bf16(to_bf16(x))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def norm(x):
    """Returns each row divided by its root mean square, and the factors of the rows."""
    factor = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)
    return x * factor, factor


def norm_gradient(dy, y, factor):
    return factor * (dy - y * (dy * y).mean(axis=-1, keepdims=True))


# --- Experts ----------------------------------------------------------------------
#
# A row is a pair of a token and one of its experts. Rows are sorted by expert. `rows` holds the
# token of each row, `prob` its weight, and `ends` the end of each expert's rows.


class Bf16Experts:
    """Experts with bf16 operands and storage, and f32 sums."""

    def set_weights(self, w1, w2):
        self.w1, self.w2 = round_bf16(w1), round_bf16(w2)

    def forward(self, x, rows, prob, ends):
        x = from_bf16(x)
        y = np.zeros_like(x)
        saved = []
        for g, part in enumerate(self._parts(ends)):
            xg, p = x[rows[part]], prob[part, None]
            gate, up = np.split(round_bf16(xg @ self.w1[g].T), 2, axis=1)
            h = round_bf16(gate * sigmoid(gate) * up * p)
            np.add.at(y, rows[part], h @ self.w2[g].T)
            saved.append((xg, gate, up, h))
        return y, saved

    def backward(self, dy, rows, prob, ends, saved):
        dy = from_bf16(dy)
        dx, dprob = np.zeros_like(dy), np.zeros(len(rows), np.float32)
        dw1, dw2 = np.zeros_like(self.w1), np.zeros_like(self.w2)
        for g, part in enumerate(self._parts(ends)):
            xg, gate, up, h = saved[g]
            dyg, p = dy[rows[part]], prob[part, None]
            s = sigmoid(gate)
            silu = gate * s
            dh = round_bf16(dyg @ self.w2[g])
            dprob[part] = (dh * silu * up).sum(axis=1)
            dgate = dh * p * up * (s + silu * (1 - s))
            dgu = round_bf16(np.concatenate([dgate, dh * p * silu], axis=1))
            np.add.at(dx, rows[part], dgu @ self.w1[g])
            dw1[g], dw2[g] = dgu.T @ xg, dyg.T @ h
        return dx, dw1, dw2, dprob

    @staticmethod
    def _parts(ends):
        return [slice(b, e) for b, e in zip([0, *ends[:-1]], ends)]


class CompiledExperts:
    """Experts computed by the entries of moe_layer.mlir. Memory is allocated once, because all
    steps have the same number of tokens."""

    def __init__(self, program, stream):
        self.program, self.stream = program, stream
        self.memory = {}

    def _call(self, entry, **arguments):
        """Launches an entry. The named arguments are device arrays, or NumPy arrays, which are
        copied to device memory that later calls reuse."""
        entry = self.program[entry]
        operands = []
        for value in entry.arguments:
            given = arguments[value.name]
            if isinstance(given, np.ndarray):
                key = (entry.name, value.name)
                if key not in self.memory:
                    self.memory[key] = mx.empty(given.shape, given.dtype)
                given = self.memory[key].copy_from(given, self.stream)
            operands.append(given)
        if entry.name not in self.memory:
            self.memory[entry.name] = (entry.make_results(*operands),
                                       entry.make_workspace(*operands))
        results, workspace = self.memory[entry.name]
        entry.launch(operands, results, workspace, self.stream)
        return results

    def set_weights(self, w1, w2):
        w = self._call("quantize_weights", w1=to_bf16(w1), w2=to_bf16(w2))
        names = ("w1e", "w1s", "w2e", "w2s")
        # `along` is quantized for the forward matmuls, and `across` for the backward matmuls.
        self.along = dict(zip(names, (w[0], w[1], w[4], w[5])))
        self.across = dict(zip(names, (w[2], w[3], w[6], w[7])))

    def forward(self, x, rows, prob, ends):
        y, *saved = self._call("forward", x=x, tokens=rows, probs=prob,
                               ends=ends, **self.along)
        return y.numpy(stream=self.stream), saved

    def backward(self, dy, rows, prob, ends, saved):
        saved = dict(zip(("gu", "xte", "xts", "hte", "hts"), saved))
        results = self._call("backward", dy=dy, tokens=rows, probs=prob,
                             ends=ends, **saved, **self.across)
        return [result.numpy(stream=self.stream) for result in results]


# --- Network ----------------------------------------------------------------------


def route(scores):
    """Returns the best experts of each token, their weights, and the rows sorted by expert.
    `order[p]` is the position of row p in token order."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :TOP]
    weights = softmax(np.take_along_axis(scores, best, axis=1))
    order = np.argsort(best.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(best.ravel(), minlength=EXPERTS))
    return {"best": best, "weights": weights, "order": order,
            "rows": (order // TOP).astype(np.int32),
            "prob": weights.ravel()[order].astype(np.float32),
            "ends": ends.astype(np.int32)}


def make_parameters(rng):
    def normal(*shape, deviation):
        return (rng.standard_normal(shape) * deviation).astype(np.float32)

    parameters = {"head": normal(CLASSES, HIDDEN, deviation=HIDDEN**-0.5)}
    for i in range(LAYERS):
        parameters[f"router{i}"] = normal(EXPERTS, HIDDEN, deviation=HIDDEN**-0.5)
        parameters[f"w1_{i}"] = normal(EXPERTS, 2 * INNER, HIDDEN,
                                       deviation=HIDDEN**-0.5)
        parameters[f"w2_{i}"] = normal(EXPERTS, HIDDEN, INNER,
                                       deviation=INNER**-0.5)
    return parameters


class Network:
    def __init__(self, parameters, experts):
        self.parameters, self.experts = parameters, experts

    def gradients(self, x, labels):
        """Returns the loss and a dictionary of its gradients by parameter name."""
        p, kept = self.parameters, []
        for i, experts in enumerate(self.experts):
            experts.set_weights(p[f"w1_{i}"], p[f"w2_{i}"])
            y, factor = norm(x)
            y = round_bf16(y)
            r = route(y @ p[f"router{i}"].T)
            out, saved = experts.forward(to_bf16(y), r["rows"], r["prob"],
                                         r["ends"])
            kept.append((y, factor, r, saved))
            x = x + out
        y, factor = norm(x)
        q = softmax(y @ p["head"].T)
        count = np.arange(len(x))
        loss = -np.log(q[count, labels]).mean()
        q[count, labels] -= 1
        q /= len(x)
        grads = {"head": q.T @ y}
        dx = norm_gradient(q @ p["head"], y, factor)
        for i in reversed(range(LAYERS)):
            y, factor, r, saved = kept[i]
            dy, dw1, dw2, dprob = self.experts[i].backward(
                to_bf16(dx), r["rows"], r["prob"], r["ends"], saved)
            grads[f"w1_{i}"], grads[f"w2_{i}"] = dw1, dw2
            dscores = self._route_gradient(r, dprob)
            grads[f"router{i}"] = dscores.T @ y
            dy = dy + dscores @ p[f"router{i}"]
            dx = dx + norm_gradient(dy, y, factor)
        return loss, grads

    @staticmethod
    def _route_gradient(r, dprob):
        """Returns the gradient of the scores, given the gradient of each row's weight."""
        weights = r["weights"]
        dweights = np.empty(weights.size, np.float32)
        dweights[r["order"]] = dprob
        dweights = dweights.reshape(weights.shape)
        inner = (weights * dweights).sum(axis=1, keepdims=True)
        dscores = np.zeros((len(weights), EXPERTS), np.float32)
        np.put_along_axis(dscores, r["best"], weights * (dweights - inner), axis=1)
        return dscores


class Adam:
    def __init__(self, parameters, rate, warmup=20):
        self.parameters, self.rate, self.warmup = parameters, rate, warmup
        self.moments = {name: (np.zeros_like(v), np.zeros_like(v))
                        for name, v in parameters.items()}
        self.step = 0

    def update(self, grads, b1=0.9, b2=0.99):
        self.step += 1
        rate = self.rate * min(1, self.step / self.warmup)
        rate *= np.sqrt(1 - b2**self.step) / (1 - b1**self.step)
        for name, gradient in grads.items():
            m, v = self.moments[name]
            m += (1 - b1) * (gradient - m)
            v += (1 - b2) * (gradient * gradient - v)
            self.parameters[name] -= rate * m / (np.sqrt(v) + 1e-8)


def train(make_experts, args):
    """Returns the loss of every step. All random values come from the seed."""
    rng = np.random.default_rng(args.seed)
    embeddings = rng.standard_normal((2, SYMBOLS, HIDDEN)).astype(np.float32)
    facts = rng.integers(0, CLASSES, (SYMBOLS, SYMBOLS))
    parameters = make_parameters(rng)
    network = Network(parameters, [make_experts() for _ in range(LAYERS)])
    adam = Adam(parameters, args.rate)
    losses, begin = [], time.time()
    for step in range(args.steps):
        a, b = rng.integers(0, SYMBOLS, (2, args.tokens))
        noise = rng.integers(0, CLASSES, args.tokens)
        labels = np.where(rng.random(args.tokens) < NOISE, noise, facts[a, b])
        loss, grads = network.gradients(embeddings[0, a] + embeddings[1, b],
                                        labels)
        adam.update(grads)
        losses.append(float(loss))
        if args.verbose and step % 10 == 9:
            print(f"step {step + 1}: {np.mean(losses[-10:]):.4f}, "
                  f"{(time.time() - begin) / (step + 1):.2f} s a step",
                  flush=True)
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", help="the directory that mx-compile wrote for moe_layer.mlir")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="a JSON file for the losses")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    losses = {"bf16": train(Bf16Experts, args)}
    mx.set_device(args.device)
    with mx.Program(args.directory) as program, mx.Stream() as stream:
        losses["mxfp8"] = train(lambda: CompiledExperts(program, stream), args)
        device = mx.device_info().name
    for name, values in losses.items():
        print(f"{name}: {values[0]:.4f} at first, {np.mean(values[-10:]):.4f} over the last steps")
    if args.out:
        with open(args.out, "w") as file:
            json.dump({"device": device, "tokens": args.tokens,
                       "seed": args.seed, "losses": losses}, file)


if __name__ == "__main__":
    main()
