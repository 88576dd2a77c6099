"""Reference matmuls for experts and layers with their gradients, and the error of results. Does not
call mx."""

import numpy as np
import torch

from reference import blocked, exact


class Matmul(torch.autograd.Function):
    """Returns x * w^T and its gradients, computed in float64 from quantized values. As in the modules, x and the
    results are bf16."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (quantized(x) @ quantized(w).T).to(x.dtype)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        dx = quantized(dy) @ quantized(w.T).T
        return dx.to(x.dtype), quantized(dy.T) @ quantized(x.T).T


def quantized(x):
    return torch.from_numpy(blocked(np.ascontiguousarray(exact(x))))


def exact_matmul(x, w):
    return x @ w.T


def distance(found, wanted):
    wanted = exact(wanted)
    return np.linalg.norm(exact(found) - wanted) / np.linalg.norm(wanted)
