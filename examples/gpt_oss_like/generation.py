# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Greedy generation, whose steps run eagerly or as a CUDA graph."""

import time

import torch


class Generator:
    """Continues a prompt, [batch, T]. `tokens` holds the tokens generated so far."""

    def __init__(self, decoder, prompt):
        self.decoder = decoder
        device = prompt.device
        self.position = torch.tensor([prompt.shape[1]], device=device)
        logits = decoder.forward(prompt, torch.arange(prompt.shape[1], device=device))
        self.token = logits[:, -1:].argmax(-1)
        self.tokens = torch.zeros(prompt.shape[0], decoder.length, dtype=torch.int64,
                                  device=device)
        self.first = prompt.shape[1]
        self.tokens.index_copy_(1, self.position, self.token)
        self.run = self._step

    def _step(self):
        logits = self.decoder.step(self.token, self.position)
        self.token.copy_(logits[:, -1:].argmax(-1))
        self.position.add_(1)
        self.tokens.index_copy_(1, self.position, self.token)

    def capture(self):
        """Captures a step as a graph, which later steps replay. The position does not advance."""
        kept = [x.clone() for x in (self.token, self.position, self.tokens)]
        self.run = capture(self._step).replay
        for x, old in zip((self.token, self.position, self.tokens), kept):
            x.copy_(old)

    def generated(self, count):
        return self.tokens[:, self.first : self.first + count].cpu()


def capture(run):
    """Returns a CUDA graph of `run`. Calls `run` once before the capture, so that its programs are
    compiled and loaded."""
    run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph


def measure(run, steps, device):
    """Returns the duration of each of `steps` calls in milliseconds. Does not wait between calls on
    a CUDA device."""
    if device.type != "cuda":
        times = []
        for _ in range(steps):
            start = time.perf_counter()
            run()
            times.append((time.perf_counter() - start) * 1e3)
        return times
    events = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    events[0].record()
    for event in events[1:]:
        run()
        event.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) for a, b in zip(events, events[1:])]
