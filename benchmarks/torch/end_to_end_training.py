# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models trained by end_to_end.py: layers of experts, and a block of Llama 3."""

import copy
import math

import mx_compiler.torch as mxt
import timing
import torch
from moe_torch.model import Gather, Permute, rotate, rotations
from torch import nn
from torch.nn import functional as F

MOE = dict(tokens=16384, layers=2, hidden=4096, inner=14336, experts=8, top=2)
TINY_MOE = dict(tokens=200, layers=2, hidden=128, inner=256, experts=4, top=2)
BLOCK = dict(batch=2, length=4096, hidden=4096, heads=32, kv_heads=8, inner=14336)
TINY_BLOCK = dict(batch=2, length=48, hidden=256, heads=4, kv_heads=2, inner=384)


class MoELayer(nn.Module):
    """Norm, router, SwiGLU experts and residual. `chosen` replaces the router's choice of experts."""

    def __init__(self, kind, hidden, inner, experts, top):
        super().__init__()
        self.top = top
        self.norm = nn.RMSNorm(hidden, **kind)
        self.router = nn.Linear(hidden, experts, bias=False, **kind)
        self.experts = mxt.GroupedExperts(hidden, inner, experts, **kind)

    def forward(self, x, chosen):
        rows = self.norm(x)
        probability = self.router(rows).float().softmax(-1)
        if chosen is None:
            chosen = probability.topk(self.top, -1).indices
        weight = probability.gather(-1, chosen)
        weight = (weight / weight.sum(-1, keepdim=True)).to(x.dtype)
        expert = chosen.flatten()
        counts = (expert[:, None] == torch.arange(probability.shape[-1], device=x.device)).sum(0)
        order = expert.argsort(stable=True)
        place = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=x.device))
        y = self.experts(Gather.apply(rows, order, place, self.top), counts)
        y = Permute.apply(y, place, order).view(*chosen.shape, -1)
        return x + (y * weight[..., None]).sum(1), chosen


class MoELayers(nn.Module):
    """Returns tokens and the chosen experts of each layer, which another call accepts."""

    def __init__(self, kind, tokens, layers, **size):
        super().__init__()
        self.shape = tokens, size["hidden"]
        self.layers = nn.ModuleList(MoELayer(kind, **size) for _ in range(layers))

    def forward(self, x, *given):
        found = []
        for layer, chosen in zip(self.layers, given or [None] * len(self.layers)):
            x, chosen = layer(x, chosen)
            found.append(chosen)
        return x, *found


class Block(nn.Module):
    """Attention with rotary positions and a SwiGLU MLP, with separate projections."""

    def __init__(self, kind, batch, length, hidden, heads, kv_heads, inner):
        super().__init__()
        self.shape, self.width = (batch, length, hidden), hidden // heads
        self.attention_norm, self.mlp_norm = (nn.RMSNorm(hidden, **kind) for _ in range(2))
        kv = kv_heads * self.width
        for name, inputs, outputs in (("q", hidden, hidden), ("k", hidden, kv), ("v", hidden, kv),
                                      ("o", hidden, hidden), ("gate", hidden, inner),
                                      ("up", hidden, inner), ("down", inner, hidden)):
            setattr(self, name, nn.Linear(inputs, outputs, bias=False, **kind))
        for name, values in zip(("cos", "sin"), rotations(length, self.width)):
            self.register_buffer(name, values.to(kind["device"]))

    def forward(self, x):
        y = self.attention_norm(x)
        q, k, v = (layer(y).view(*y.shape[:2], -1, self.width).transpose(1, 2)
                   for layer in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(rotate(q, self.cos, self.sin), rotate(k, self.cos, self.sin), v,
                                           is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(x.shape))
        y = self.mlp_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y)),


class Step:
    """Forward and backward pass of a model, for timing.py. The input exceeds the L2."""
    count = 1

    def __init__(self, name, model, x, dy):
        self.name, self.x, self.dy = name, x, dy
        self.parameters = dict(model.named_parameters())
        self.call = torch.compile(model, dynamic=False) if x.is_cuda else model

    def run(self, given=()):
        """Returns the result and all gradients by name, and the other results of the model."""
        y, *others = self.call(self.x, *given)
        gradients = torch.autograd.grad(y, (self.x, *self.parameters.values()), self.dy)
        return dict(zip(("result", "input", *self.parameters), (y.detach(), *gradients))), others

    def launch(self, index):
        return self.run()

    def peak_mib(self):
        """Returns the peak memory of a pass, with the weights of this model only."""
        self.launch(0)  # compiles the model
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated() - sum(x.nbytes for x in self.parameters.values())
        self.launch(0)
        return round((torch.cuda.max_memory_allocated() - before) / 2**20)


def measure(options, check):
    """Yields a row for the converted model and for the bf16 model."""
    torch.manual_seed(options.seed)
    kind = dict(device=options.device, dtype=torch.bfloat16)
    if options.command == "moe":
        model = MoELayers(kind, **(TINY_MOE if options.tiny else MOE))
    else:
        model = Block(kind, **(TINY_BLOCK if options.tiny else BLOCK))
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=parameter.shape[-1]**-0.5)
    x, dy = torch.randn(model.shape, **kind).requires_grad_(), torch.randn(model.shape, **kind)
    converted = mxt.convert_(copy.deepcopy(model), options.recipe, strict=True,
                             filter=lambda module, name: not name.endswith("router"))
    steps = Step(options.recipe, converted, x, dy), Step("bf16", model, x, dy)
    # Rounding may select another expert, so both models use the same choices.
    wanted, choices = steps[1].run()
    decibels = check(steps[0].run(choices)[0], wanted)
    del wanted
    if options.tiny:
        return
    peaks = [step.peak_mib() for step in steps]
    times = timing.measure_graphs(steps, options.seconds)
    for step, peak, ratio in zip(steps, peaks, (decibels, None)):
        entry = times[step.name]
        yield dict(case="forward and backward", implementation=step.name, ms=entry["sustained_us"] / 1e3,
                   spread_ms=entry["sustained_spread_us"] / 1e3, sm_mhz=entry["sm_mhz"],
                   tokens=math.prod(model.shape[:-1]), peak_mib=peak, decibels=ratio)
