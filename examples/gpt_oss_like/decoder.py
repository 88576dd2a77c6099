# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference decoder like gpt-oss: attention with sinks, windowed in every second layer,
and a mixture of experts. The code favors readability over speed; only the experts run on kernels
of mx.

A step never waits for the device and keeps all mutable state in tensors, so a CUDA graph can
capture it.
"""

import math

import torch
import torch.nn.functional as F

from .rope import angles, rotate
from .tensors import layer_prefix, layer_tensors, model_tensors


def read_dense(checkpoint, config, device):
    """Reads all weights except the experts. Returns a dictionary for the model, and a list with a
    dictionary for each layer."""
    dtypes = (torch.bfloat16,)
    model = {key: checkpoint.read(key, shape, dtypes, device)
             for key, shape in model_tensors(config).items()}
    layers = [{key: checkpoint.read(layer_prefix(layer) + key, shape, dtypes, device)
               for key, shape in layer_tensors(config).items()}
              for layer in range(config.num_hidden_layers)]
    return model, layers


def linear(x, weights, name):
    return F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


class Cache:
    """Keys and values of a layer, each [batch, length, heads, head_dim]."""

    def __init__(self, config, batch, length, device):
        shape = batch, length, config.num_key_value_heads, config.head_dim
        self.keys = torch.zeros(shape, dtype=torch.bfloat16, device=device)
        self.values = torch.zeros_like(self.keys)

    def append(self, positions, keys, values):
        self.keys.index_copy_(1, positions, keys)
        self.values.index_copy_(1, positions, values)


class Decoder:
    """Model with a key-value cache. `dense` is the result of read_dense. `experts` is a list with a
    callable (x, indices, weights) for each layer. Decoders with different experts can share
    `dense`."""

    def __init__(self, config, dense, experts, batch, length):
        self.config, self.experts, self.length = config, experts, length
        self.model, self.layers = dense
        device = self.model["lm_head.weight"].device
        self.caches = [Cache(config, batch, length, device) for _ in experts]
        self.cos, self.sin = angles(config, length, device)
        self.places = torch.arange(length, device=device)
        # Processes a single token. Callers may replace this function with a compiled version.
        self.step = self.forward

    def forward(self, tokens, positions):
        """Returns the logits, [batch, T, vocabulary], of tokens, [batch, T], at positions, [T], and
        stores the tokens' keys and values. All earlier positions must already be stored."""
        x = F.embedding(tokens, self.model["model.embed_tokens.weight"])
        rotation = self.cos.index_select(0, positions), self.sin.index_select(0, positions)
        for number, weights in enumerate(self.layers):
            h = self._norm(x, weights["input_layernorm.weight"])
            x = x + self._attention(number, weights, h, positions, rotation)
            h = self._norm(x, weights["post_attention_layernorm.weight"])
            x = x + self._mixture(number, weights, h)
        x = self._norm(x, self.model["model.norm.weight"])
        return F.linear(x, self.model["lm_head.weight"])

    def _norm(self, x, weight):
        y = F.rms_norm(x.float(), x.shape[-1:], eps=self.config.rms_norm_eps)
        return (y * weight).to(x.dtype)

    def _attention(self, number, weights, x, positions, rotation):
        config, cache = self.config, self.caches[number]
        batch, steps, _ = x.shape
        q, k, v = (linear(x, weights, f"self_attn.{name}_proj")
                   .view(batch, steps, -1, config.head_dim) for name in "qkv")
        cache.append(positions, rotate(k, *rotation), v)
        q = rotate(q, *rotation).view(batch, steps, config.num_key_value_heads, -1,
                                      config.head_dim)
        scores = torch.einsum("btngd,blnd->bngtl", q, cache.keys).float()
        scores = scores / math.sqrt(config.head_dim)
        scores = scores.masked_fill(self._hidden(number, positions), -math.inf)
        # A sink takes part in the softmax, but has no value.
        sinks = weights["self_attn.sinks"].float().view(config.num_key_value_heads, -1, 1, 1)
        scores = torch.cat([scores, sinks.expand(batch, -1, -1, steps, 1)], -1)
        shares = scores.softmax(-1)[..., :-1].to(x.dtype)
        y = torch.einsum("bngtl,blnd->btngd", shares, cache.values)
        return linear(y.reshape(batch, steps, -1), weights, "self_attn.o_proj")

    def _hidden(self, number, positions):
        """Returns the mask, [T, length], of the cached positions hidden from each position."""
        distance = positions[:, None] - self.places
        window = self.config.window(number)
        return (distance < 0) if window is None else (distance < 0) | (distance >= window)

    def _mixture(self, number, weights, x):
        rows = x.flatten(0, 1)
        best = linear(rows, weights, "mlp.router").topk(self.config.num_experts_per_tok)
        shares = best.values.float().softmax(-1)
        return self.experts[number](rows, best.indices, shares).view_as(x)
