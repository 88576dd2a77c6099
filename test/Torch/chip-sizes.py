# REQUIRES: torch
# RUN: env MX_DEVICE=sim MX_CHIP= MX_PTXAS=none %python_torch %s sm_100a
# RUN: env MX_DEVICE=sim MX_CHIP=sm_120a MX_PTXAS=none %python_torch %s sm_120a
# RUN: env MX_DEVICE=sim MX_CHIP=sm_90a MX_PTXAS=none %python_torch %s
# RUN: env MX_DEVICE=cpu MX_CHIP= %python_torch %s
"""Tests multiples of 32 that a chip does not support as K. On sm_100a, E2M1 with another format requires a multiple of
128. On sm_100a and sm_120a, E2M1 for both operands requires a multiple of 64. The error names both shapes and the
alternatives. The results of the alternatives match float64 matmuls."""

import sys

import numpy as np
import torch

import mx_compiler.torch as mxt
import reference as ref
from refuses import refuses

CHIP = "".join(sys.argv[1:])
# Required multiples for E2M1 with another format, and for E2M1 in both operands.
REFUSED = {"sm_100a": (128, 64), "sm_120a": (64,)}.get(CHIP, ())
MESSAGE = ("expected a multiple of {} for the reduction size K, with {} on {}, found {}: pad "
           "with zeros, use other formats, or set MX_CHIP=sm_90a for the simulator or "
           "MX_DEVICE=cpu for the reference path, which accept this size")


def refused_or(step, formats, found, names, call):
    """Returns the result of `call`, or None after an expected error."""
    if step not in REFUSED:
        return call()
    refuses(ValueError, f"{names}: {MESSAGE.format(step, formats, CHIP, found)}", call)


def linear(inputs, outputs, **fields):
    torch.manual_seed(2)
    plain = torch.nn.Linear(inputs, outputs, bias=False)
    return mxt.convert_(plain, mxt.Recipe(**fields), strict=True)


def check(y, x, layer):
    recipe = layer.recipe
    X, W = (ref.blocked(ref.exact(v), f) for v, f in ((x, recipe.activations),
                                                      (layer.weight, recipe.weights)))
    ref.near(y, X @ W.T, np.abs(X) @ np.abs(W).T, torch.bfloat16)


for step, formats, fields in (
        (128, "mxfp8 and mxfp4", {"weights": "mxfp4"}),
        (128, "mxfp4 and mxfp8", {"activations": "mxfp4"}),
        (64, "mxfp4", {"activations": "mxfp4", "weights": "mxfp4"})):
    layer, x = linear(step // 2, 64, **fields), ref.tensor((16, step // 2), 3, spread=1)
    y = refused_or(step, formats, f"a weight of shape (64, {step // 2}), which is summed over its columns", "x, weight",
                   lambda: layer(x))
    if y is not None:
        check(y, x, layer)
    layer, x = linear(step, 64, **fields), ref.tensor((16, step), 3, spread=1)
    check(layer(x), x, layer)

# The gradient of x is summed over the outputs.
layer, x = linear(128, 64, weights="mxfp4"), ref.tensor((16, 128), 3, spread=1).requires_grad_()
y = layer(x)
refused_or(128, "mxfp8 and mxfp4", "a weight of shape (64, 128), which is summed over its rows", "gradient, weight",
           lambda: y.float().sum().backward())

tokens, probs, ends = mxt.route(torch.tensor([[0, 1]] * 8), torch.full((8, 2), 0.5), 2)
refused_or(128, "mxfp8 and mxfp4", "64 and 64", "hidden, intermediate",
           lambda: mxt.moe_layer(ref.tensor((8, 64)), ref.tensor((2, 128, 64)),
                                 ref.tensor((2, 64, 64)), tokens, probs, ends, weights="mxfp4"))
