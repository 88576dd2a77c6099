# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoder with a mixture of experts in each layer. Steps never wait for the device, because the
experts' rows are sorted and counted on the device."""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from mx_compiler.torch import GroupedExperts, ep


class Size(NamedTuple):
    symbols: int
    length: int
    layers: int
    dim: int
    heads: int
    experts: int
    hidden: int  # hidden size of an expert
    chosen: int = 2  # number of experts for each token


SIZES = {
    "tiny": Size(symbols=64, length=64, layers=2, dim=64, heads=2, experts=4, hidden=64),
    "base": Size(symbols=128, length=1024, layers=6, dim=512, heads=8, experts=16,
                 hidden=512),
    "large": Size(symbols=128, length=1024, layers=6, dim=768, heads=12, experts=16,
                  hidden=768),
    "wide": Size(symbols=128, length=1024, layers=2, dim=4096, heads=32, experts=8,
                 hidden=2048),
}


class Model(nn.Module):
    """Language model. Its inputs are symbols [sequences, length] and the symbols that follow them.
    Returns the cross entropy of the logits and the imbalance of the experts."""

    def __init__(self, size):
        super().__init__()
        self.size = size
        self.embedding = nn.Embedding(size.symbols, size.dim)
        self.layers = nn.ModuleList(Layer(size) for _ in range(size.layers))
        self.norm = nn.RMSNorm(size.dim)
        self.head = nn.Linear(size.dim, size.symbols, bias=False)
        cos, sin = rotations(size.length, size.dim // size.heads)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def reset_parameters(self):
        """Draws the weights from normal distributions. The last weights of each residual branch get
        a smaller deviation."""
        small = (2 * self.size.layers)**-0.5
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                factor = small if name.endswith(("w2", "output.weight")) else 1
                nn.init.normal_(weight, std=0.02 if weight is self.embedding.weight
                                else factor * weight.shape[-1]**-0.5)

    def forward(self, symbols, following):
        x = self.embedding(symbols)
        uneven = 0
        for layer in self.layers:
            x, one = layer(x, self.cos, self.sin)
            uneven = uneven + one
        logits = self.head(self.norm(x))
        loss = F.cross_entropy(logits.float().flatten(0, 1), following.flatten())
        return loss, uneven / self.size.layers


class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.attention_norm, self.attention = nn.RMSNorm(size.dim), Attention(size)
        self.experts_norm, self.moe = nn.RMSNorm(size.dim), MoE(size)

    def forward(self, x, cos, sin):
        x = x + self.attention(self.attention_norm(x), cos, sin)
        y, uneven = self.moe(self.experts_norm(x))
        return x + y, uneven


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.heads = size.heads
        self.input = nn.Linear(size.dim, 3 * size.dim, bias=False)
        self.output = nn.Linear(size.dim, size.dim, bias=False)

    def forward(self, x, cos, sin):
        batch, length, dim = x.shape
        q, k, v = self.input(x).view(batch, length, 3, self.heads, -1).permute(
            2, 0, 3, 1, 4)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(y.transpose(1, 2).reshape(batch, length, dim))


def rotations(length, width):
    """Returns cosines and sines of rotary positions, [length, width / 2]."""
    rates = 10000.0**(-torch.arange(0, width, 2) / width)
    angles = torch.arange(length)[:, None] * rates
    return angles.cos(), angles.sin()


def rotate(x, cos, sin):
    a, b = x.float().chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1).to(x.dtype)


class MoE(nn.Module):
    """Mixture of experts with an f32 router. Returns the weighted sum of each token's best experts,
    and the imbalance: experts * sum(share * probability), which is 1 if all experts are used
    equally. The share of an expert is its part of the rows of all ranks."""

    def __init__(self, size):
        super().__init__()
        self.size = size
        self.router = nn.Linear(size.dim, size.experts, bias=False)
        self.experts = GroupedExperts(size.dim, size.hidden, size.experts)
        self.sum_over_ranks = lambda counts: counts

    def forward(self, x):
        count, chosen = self.size.experts, self.size.chosen
        rows = x.reshape(-1, self.size.dim)
        with torch.autocast(x.device.type, enabled=False):
            scores = F.linear(rows.float(), self.router.weight.float())
            probability = scores.softmax(-1)
            weight, expert = probability.topk(chosen, -1)
            weight = weight / weight.sum(-1, keepdim=True)
        rows = rows.to(torch.bfloat16)
        counts = (expert.flatten()[:, None] == torch.arange(count, device=x.device)).sum(0)
        if isinstance(self.experts, ep.MXRoutedExperts):
            y = self.experts(rows, expert, weight)
        else:
            y = self._sorted(rows, expert.flatten(), weight, counts)
        counts = self.sum_over_ranks(counts)
        uneven = count * (probability.mean(0) * (counts / counts.sum())).sum()
        return y.view(x.shape), uneven

    def _sorted(self, rows, expert, weight, counts):
        """Runs experts that take sorted rows."""
        chosen = self.size.chosen
        order = expert.argsort(stable=True)
        place = torch.empty_like(order).scatter_(
            0, order, torch.arange(len(order), device=order.device))
        y = self.experts(Gather.apply(rows, order, place, chosen), counts)
        y = Permute.apply(y, place, order).view(-1, chosen, self.size.dim)
        return (y * weight[..., None].to(y.dtype)).sum(1)


class Gather(torch.autograd.Function):
    """Returns a tensor with row i copied from row order[i] // copies of `x`. `place` is the inverse
    of `order`. The backward pass gathers through `place`, so it needs no atomic additions."""

    @staticmethod
    def forward(ctx, x, order, place, copies):
        ctx.save_for_backward(place)
        ctx.copies = copies
        return x[order // copies]

    @staticmethod
    def backward(ctx, dy):
        place, = ctx.saved_tensors
        return dy[place].view(-1, ctx.copies, dy.shape[-1]).sum(1), None, None, None


class Permute(torch.autograd.Function):
    """Returns x[order]. `inverse` is the inverse permutation of `order`."""

    @staticmethod
    def forward(ctx, x, order, inverse):
        ctx.save_for_backward(inverse)
        return x[order]

    @staticmethod
    def backward(ctx, dy):
        inverse, = ctx.saved_tensors
        return dy[inverse], None, None
