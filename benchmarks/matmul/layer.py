# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixture-of-experts layer, forward and backward: examples/moe_layer.mlir with its quantizers,
compared with PyTorch in bf16, eager and compiled."""

import math

import implementations
import mx_compiler as mx
import numpy as np
import torch

EAGER, COMPILED = "torch bf16, eager", "torch bf16, torch.compile"
LEAST_DB = 20  # signal-to-noise ratio against bf16; docs/guide/MoE.md predicts about 23.5


def normal(*shape, deviation=1.0):
    return (torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * deviation)


class Data:
    """Random routing, rows sorted by expert."""

    def __init__(self, case):
        tokens, top, hidden, inner = case.tokens, case.top, case.hidden, case.inner
        scores = torch.randn(tokens, case.experts, device="cuda")
        best = scores.topk(top, dim=1)
        self.case = case
        flat = best.indices.flatten()
        order = torch.argsort(flat, stable=True)
        self.tokens = (order // top).int()
        self.inverse = torch.argsort(order)
        self.probs = best.values.softmax(1).flatten()[order].float().contiguous()
        self.ends = torch.bincount(flat, minlength=case.experts).cumsum(0).int()
        self.x, self.dy = normal(tokens, hidden), normal(tokens, hidden)
        self.w1 = normal(case.experts, 2 * inner, hidden, deviation=hidden**-0.5)
        self.w2 = normal(case.experts, hidden, inner, deviation=inner**-0.5)


class Gather(torch.autograd.Function):
    """Gathers token rows; gradients are summed without atomics."""

    @staticmethod
    def forward(context, x, tokens, inverse, top):
        context.save_for_backward(inverse)
        context.top = top
        return x[tokens]

    @staticmethod
    def backward(context, gradient):
        inverse, = context.saved_tensors
        rows = gradient[inverse].view(-1, context.top, gradient.shape[1])
        return rows.sum(1), None, None, None


class Combine(torch.autograd.Function):
    """Sums each token's rows."""

    @staticmethod
    def forward(context, z, tokens, inverse, top):
        context.save_for_backward(tokens)
        return z[inverse].view(-1, top, z.shape[1]).sum(1)

    @staticmethod
    def backward(context, gradient):
        tokens, = context.saved_tensors
        return gradient[tokens], None, None, None


def experts(x, w1, w2, probs, tokens, inverse, ends, top):
    rows = Gather.apply(x, tokens, inverse, top)
    gate, up = implementations.grouped_mm(rows, w1.transpose(1, 2), ends).chunk(2, dim=1)
    h = (torch.nn.functional.silu(gate.float()) * up.float() * probs[:, None]).bfloat16()
    y = implementations.grouped_mm(h, w2.transpose(1, 2), ends)
    return Combine.apply(y, tokens, inverse, top)


class TorchLayer:
    count = 1

    def __init__(self, name, data, function=experts):
        self.name, self.data, self.function = name, data, function
        self.leaves = [t.detach().requires_grad_() for t in (data.x, data.w1, data.w2, data.probs)]

    def launch(self, index):
        d = self.data
        y = self.function(*self.leaves, d.tokens, d.inverse, d.ends, d.case.top)
        self.results = (y.detach(), *torch.autograd.grad(y, self.leaves, d.dy))


class MxLayer:
    name, count = "mx", 1
    WEIGHTS = ("w1e", "w1s", "w2e", "w2s")

    def __init__(self, directory, data):
        self.program, self.memory = mx.Program(str(directory / data.case.program("mx"))), {}
        self.given = {name: self.array(getattr(data, name))
                      for name in ("x", "dy", "w1", "w2", "tokens", "probs", "ends")}

    @staticmethod
    def array(tensor):
        dtype = {torch.bfloat16: "uint16", torch.float32: "float32", torch.int32: "int32"}
        return mx.DeviceArray.from_pointer(tensor.data_ptr(), tuple(tensor.shape),
                                           np.dtype(dtype[tensor.dtype]))

    def call(self, name, given):
        """Returns results as arrays in PyTorch memory, allocated once."""
        entry = self.program[name]
        operands = [given[value.name] for value in entry.arguments]
        if name not in self.memory:
            arrays, tensors = [], []
            for value, shape in zip(entry.results, entry.result_shapes(*operands)):
                size = math.prod(shape) * value.dtype.itemsize
                tensors.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
                arrays.append(mx.DeviceArray.from_pointer(tensors[-1].data_ptr(), shape,
                                                          value.dtype))
            self.memory[name] = arrays, tensors, entry.make_workspace(*operands)
        results, _, workspace = self.memory[name]
        entry.launch(operands, results, workspace, torch.cuda.current_stream().cuda_stream)
        return results

    def launch(self, index):
        w = self.call("quantize_weights", self.given)
        along = dict(zip(self.WEIGHTS, (w[0], w[1], w[4], w[5])))
        across = dict(zip(self.WEIGHTS, (w[2], w[3], w[6], w[7])))
        _, *saved = self.call("forward", self.given | along)
        saved = dict(zip(("gu", "xte", "xts", "hte", "hts"), saved))
        self.call("backward", self.given | across | saved)

    @property
    def results(self):
        """y, dx, dw1, dw2, dprobs, all in f32."""
        forward, backward = (self.memory[name] for name in ("forward", "backward"))
        pairs = [(forward[0][0], forward[1][0]), *zip(*backward[:2])]
        return [tensor.view(torch.float32).view(array.shape) for array, tensor in pairs]


def decibel(found, expected):
    """Computes the signal-to-noise ratio piece by piece, because the tensors are large."""
    signal = noise = 0.0
    for a, b in zip(found.flatten(0, -2).split(1024) if found.dim() > 1 else [found],
                    expected.flatten(0, -2).split(1024) if found.dim() > 1 else [expected]):
        b = b.double()
        signal += b.square().sum().item()
        noise += (a.double() - b).square().sum().item()
    return 10 * torch.log10(torch.tensor(signal / max(noise, 1e-300))).item()


def compare(ours, peer):
    """Returns the number of results below the expected signal-to-noise ratio, and the ratios."""
    for implementation in (ours, peer):
        implementation.launch(0)
    torch.cuda.synchronize()
    names = ("y", "dx", "dw1", "dw2", "dprobs")
    ratios = {name: round(decibel(a, b), 2) for name, a, b in
              zip(names, ours.results, peer.results)}
    return sum(not ratio >= LEAST_DB for ratio in ratios.values()), ratios


class Problem:
    """Implementations of a case."""

    def __init__(self, case, directory):
        data = Data(case)
        compiled = torch.compile(experts, dynamic=False)
        self.ours = MxLayer(directory, data)
        self.peers = [TorchLayer(EAGER, data), TorchLayer(COMPILED, data, compiled)]
        self.implementations = [self.ours, *self.peers]
