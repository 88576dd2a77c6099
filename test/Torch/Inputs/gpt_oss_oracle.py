"""gpt-oss in float64, written from its definition: experts, and a decoder that recomputes every position. Does not use
mx or PyTorch."""

import math

import numpy as np

# E2M1 values, indexed by code: a sign bit, two exponent bits and a mantissa bit.
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def unpack(blocks, scales):
    """Decodes [..., rows, blocks, 16] bytes and [..., rows, blocks] scales to [..., rows, columns]."""
    codes = np.stack([blocks & 15, blocks >> 4], -1)
    values = E2M1[codes].reshape(*blocks.shape[:-1], 32)
    values = values * np.exp2(scales.astype(np.float64) - 127)[..., None]
    return values.reshape(*values.shape[:-2], -1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Experts:
    """Experts from the checkpoint `tensors`. Keys are the last components of the tensors' names."""

    def __init__(self, tensors, limit=7.0, alpha=1.702):
        self.limit, self.alpha = limit, alpha
        self.weight = {name: unpack(tensors[f"{name}_blocks"], tensors[f"{name}_scales"])
                       for name in ("gate_up_proj", "down_proj")}
        self.bias = {name: tensors[f"{name}_bias"].astype(np.float64) for name in self.weight}

    def one(self, x, expert):
        """Applies an expert to a token."""
        both = self.weight["gate_up_proj"][expert] @ x + self.bias["gate_up_proj"][expert]
        gate, up = both[0::2], both[1::2]
        gate = np.minimum(gate, self.limit)
        up = np.clip(up, -self.limit, self.limit)
        inner = (up + 1) * gate * sigmoid(self.alpha * gate)
        return self.weight["down_proj"][expert] @ inner + self.bias["down_proj"][expert]

    def __call__(self, x, indices, weights):
        return np.array([sum(w * self.one(row, e) for e, w in zip(chosen, shares))
                         for row, chosen, shares in zip(x, indices, weights)])


class Model:
    """Decoder from `tensors`, a dict of tensors, and `config`, the contents of config.json."""

    def __init__(self, tensors, config):
        self.config = config
        self.tensors = {key: x.astype(np.float64) if x.dtype != np.uint8 else x
                        for key, x in tensors.items()}
        prefix = "model.layers.{}.mlp.experts."
        self.experts = []
        for layer in range(config["num_hidden_layers"]):
            start = prefix.format(layer)
            self.experts.append(Experts({key.removeprefix(start): x for key, x in tensors.items()
                                         if key.startswith(start)}, config["swiglu_limit"]))

    def logits(self, tokens):
        """Returns the logits at each position of a sequence."""
        x = self.tensors["model.embed_tokens.weight"][tokens]
        for layer in range(self.config["num_hidden_layers"]):
            start = f"model.layers.{layer}."
            x = x + self._attention(start, layer, self._norm(x, start + "input_layernorm.weight"))
            h = self._norm(x, start + "post_attention_layernorm.weight")
            x = x + self._mixture(start, layer, h)
        return self._norm(x, "model.norm.weight") @ self.tensors["lm_head.weight"].T

    def _norm(self, x, key):
        size = np.sqrt((x * x).mean(-1, keepdims=True) + self.config["rms_norm_eps"])
        return x / size * self.tensors[key]

    def _linear(self, x, key):
        return x @ self.tensors[key + ".weight"].T + self.tensors[key + ".bias"]

    def _mixture(self, start, layer, x):
        scores = self._linear(x, start + "mlp.router")
        best = np.argsort(-scores, -1)[:, : self.config["num_experts_per_tok"]]
        return self.experts[layer](x, best, softmax(np.take_along_axis(scores, best, -1)))

    def _attention(self, start, layer, x):
        size, queries = self.config["head_dim"], self.config["num_attention_heads"]
        groups = queries // self.config["num_key_value_heads"]
        q, k, v = (self._linear(x, f"{start}self_attn.{name}_proj").reshape(len(x), -1, size)
                   for name in "qkv")
        q, k = self._turn(q), self._turn(k)
        y = np.zeros_like(q)
        for t in range(len(x)):
            first = max(0, t + 1 - self.config["sliding_window"]) if layer % 2 == 0 else 0
            for head in range(queries):
                keys, values = k[first : t + 1, head // groups], v[first : t + 1, head // groups]
                scores = keys @ q[t, head] / math.sqrt(size)
                sink = self.tensors[start + "self_attn.sinks"][head]
                y[t, head] = softmax(np.append(scores, sink))[:-1] @ values
        return self._linear(y.reshape(len(x), -1), start + "self_attn.o_proj")

    def _turn(self, x):
        """Rotary position embedding with YaRN scaling: arXiv 2309.00071, sections 3.2 to 3.4."""
        size, base, yarn = x.shape[-1], self.config["rope_theta"], self.config["rope_scaling"]
        y = np.empty_like(x)
        for i in range(size // 2):
            frequency = base ** (-2 * i / size)
            turns = yarn["original_max_position_embeddings"] * frequency / (2 * math.pi)
            # The ramp is linear in i between the index with beta_fast turns and the index with beta_slow turns.
            place = [size * math.log(yarn["original_max_position_embeddings"] / (2 * math.pi * b))
                     / (2 * math.log(base)) for b in (yarn["beta_fast"], yarn["beta_slow"])]
            kept = min(max((place[1] - i) / (place[1] - place[0]), 0), 1)
            assert (turns > yarn["beta_fast"]) <= (kept == 1)
            frequency = frequency * kept + frequency / yarn["factor"] * (1 - kept)
            magnitude = 0.1 * math.log(yarn["factor"]) + 1
            angle = np.arange(len(x))[:, None] * frequency
            cos, sin = np.cos(angle) * magnitude, np.sin(angle) * magnitude
            a, b = x[..., i], x[..., i + size // 2]
            y[..., i], y[..., i + size // 2] = a * cos - b * sin, b * cos + a * sin
        return y
