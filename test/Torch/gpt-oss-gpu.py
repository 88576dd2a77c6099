"""Tests gpt-oss experts on a GPU, at gpt-oss's sizes: compares them with float64, replays a CUDA graph with changing
routing and without waiting for the device, and runs the example.

REQUIRES: torch, cuda-gpu
RUN: rm -rf %t && mkdir %t
RUN: env MX_DEVICE= MX_CHIP= %python_torch %s
RUN: env MX_DEVICE= MX_CHIP= %python_torch %examples/generate_mxfp4.py --tokens=12 --batch=2 --save=%t/model --json=%t/out.json
RUN: %python_torch %S/generate-mxfp4.py %t %examples/generate_mxfp4.py
"""

import torch

from mx_compiler.torch import gpt_oss

from gpt_oss_weights import make_experts

SIZES = gpt_oss.Sizes(experts=8, hidden=2880, intermediate=2880)
K = 4


def dequantize(blocks, scales):
    """Decodes elements to float64 with a table."""
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64, device="cuda")
    table = torch.cat([table, -table])
    codes = torch.stack([blocks & 15, blocks >> 4], -1).flatten(-2)
    return (table[codes.int()] * torch.exp2(scales.double() - 127)[..., None]).flatten(-2)


class Oracle:
    """Computes one expert after another in float64."""

    def __init__(self, tensors):
        self.tensors = tensors

    def layer(self, name, expert, x):
        weight = dequantize(self.tensors[f"{name}_blocks"][expert],
                            self.tensors[f"{name}_scales"][expert])
        return x @ weight.T + self.tensors[f"{name}_bias"][expert].double()

    def __call__(self, x, indices, weights):
        y = torch.zeros_like(x, dtype=torch.float64)
        for expert in indices.unique().tolist():
            tokens, place = torch.where(indices == expert)
            both = self.layer("gate_up_proj", expert, x[tokens].double())
            gate, up = both[:, 0::2].clamp(max=7), both[:, 1::2].clamp(-7, 7)
            inner = (up + 1) * gate / (1 + torch.exp(-1.702 * gate))
            out = self.layer("down_proj", expert, inner) * weights[tokens, place, None].double()
            y.index_add_(0, tokens, out)
        return y


def inputs(tokens, seed):
    generator = torch.Generator("cuda").manual_seed(seed)
    x = torch.randn(tokens, SIZES.hidden, generator=generator, device="cuda").bfloat16()
    scores = torch.randn(tokens, SIZES.experts, generator=generator, device="cuda").topk(K)
    return x, scores.indices, scores.values.softmax(-1)


def check(found, wanted):
    error = float((found.double() - wanted).norm() / wanted.norm())
    assert error < 6e-3, error
    return error


def test_values(experts, oracle):
    reference = experts.to_plain()
    for tokens in (1, 2, 33, 300):
        arguments = inputs(tokens, tokens)
        wanted = oracle(*arguments)
        errors = [check(kind(*arguments), wanted) for kind in (experts, reference)]
        print(f"{tokens} tokens: {errors[0]:.1e}, {errors[1]:.1e}")


def test_no_wait(experts, oracle):
    arguments = inputs(4, 5)
    experts(*arguments)  # loads programs
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        found = experts(*arguments)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    check(found, oracle(*arguments))


def test_graph(experts, oracle):
    """Replays the graph after overwriting its tokens and expert choices."""
    for kind in (experts, experts.to_plain()):
        places = inputs(4, 0)
        kind(*places)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = kind(*places)
        for seed in range(1, 6):
            fresh = inputs(4, seed)
            for place, value in zip(places, fresh):
                place.copy_(value)
            graph.replay()
            check(y, oracle(*fresh))


def test_memory(experts, _):
    """Calls leak no memory."""
    arguments = inputs(33, 1)
    experts(*arguments)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(50):
        experts(*arguments)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == before


with torch.inference_mode():
    made, tensors = make_experts(SIZES, (118, 121), "cuda")
    for test in (test_values, test_no_wait, test_graph, test_memory):
        test(made, Oracle(tensors))
        print(f"{test.__name__}: passed")
