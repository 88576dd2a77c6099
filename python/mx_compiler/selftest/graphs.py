# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks CUDA graphs that capture calls on PyTorch tensors."""

from importlib.util import find_spec

import mx_compiler as mx
import numpy as np


def check_graphs():
    """Checks that a captured layer, replayed with new tokens, returns the same bits as calls."""
    if mx.device_info().kind != "cuda":
        return "there is no GPU"
    if not find_spec("torch"):
        return "PyTorch is not installed"
    import torch

    device, sizes = mx.device_name(), (4, 256, 128)
    rng = np.random.default_rng(11)

    def tensor(*shape):
        numbers = rng.standard_normal(shape).astype(np.float32)
        return torch.tensor(numbers, device=device).to(torch.bfloat16)

    routing = mx.route(np.stack([rng.permutation(4)[:2] for _ in range(64)]),
                       rng.random((64, 2)), 4)
    tokens, probs, ends = (torch.tensor(array, device=device) for array in routing)
    layer = mx.MoELayer(*sizes)
    weights = layer.quantize_weights(tensor(4, 256, 256), tensor(4, 256, 128))

    def step(x):
        y, saved = layer.forward(x, weights, tokens, probs, ends)
        return [y, *layer.backward(y.to(torch.bfloat16), weights, saved, tokens,
                                   probs, ends)]

    x = tensor(64, 256)
    step(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # Other threads may allocate during the capture, and may capture on PyTorch's default capture
    # stream. All threads of the process share it.
    with torch.cuda.graph(graph, stream=torch.cuda.Stream(),
                          capture_error_mode="thread_local"):
        captured = step(x)
    for _ in range(3):
        fresh = tensor(64, 256)
        x.copy_(fresh)
        graph.replay()
        for a, b in zip(captured, step(fresh)):
            assert torch.equal(a, b), "results of a graph differ from results of calls"
