# REQUIRES: torch
# RUN: env MX_DEVICE=sim MX_CHIP=sm_90a MX_PTXAS=none %python_torch %s
# RUN: env MX_DEVICE=sim MX_CHIP=sm_100a MX_PTXAS=none %python_torch %s
# RUN: env MX_DEVICE=sim MX_CHIP=sm_120a MX_PTXAS=none %python_torch %s
"""Compares simulated kernels of forward and backward passes with float64 results of quantized values. Layers have
random sizes, may have groups, and save x unquantized or quantized. Each of a layer's first few row counts gets its own
kernels; later row counts share kernels that support any number of rows."""

import os
import random
import sys

import numpy as np
import torch

import mx_compiler.torch as mxt
import reference as ref
from mx_compiler._ops import specialize
from reference import blocked, exact, near

SEED = int((sys.argv[1:] or ["11"])[0])
CASES = int((sys.argv[2:] or ["4"])[0])
# On sm_100a, K must be a multiple of this number if only one operand is E2M1.
STEP = 128 if os.environ["MX_CHIP"] == "sm_100a" else 32
OPTIONS = (dict(), dict(), dict(gradients="mxfp8_e5m2", scale_rounding="floor"),
           dict(weights="mxfp4", activations="mxfp6_e3m2"))


def check(found, a, b, dtype, what):
    near(found, a @ b.T, np.abs(a) @ np.abs(b).T, dtype, sums=max(8, a.shape[-1] // 16), what=what)


def compare(rows, inputs, outputs, ends, kind, saves, options):
    """Checks a layer. Without `ends`, the layer is a single matrix."""
    what = rows, inputs, outputs, ends, kind, saves, options
    groups = len(ends or [rows])
    of_x, of_w, of_dy = (options.get(name, "mxfp8") for name in ("activations", "weights", "gradients"))
    rule = options.get("scale_rounding", "ceil")
    x = ref.tensor((rows, inputs), 1, spread=2).requires_grad_()
    w = ref.tensor((groups, outputs, inputs), 2, kind, spread=2)
    dy = ref.tensor((rows, outputs), 3, spread=2)
    if ends is None:
        w = w[0].requires_grad_()
        y = mxt.mxfp8_mm(x, w, save_quantized=saves, **options)
    else:
        w = w.requires_grad_()
        y = mxt.mxfp8_grouped_mm(x, w.transpose(-2, -1), ref.ends(*ends), save_quantized=saves, **options)
    y.backward(dy)
    X, W, DY, begin = exact(x), exact(w).reshape(groups, outputs, inputs), exact(dy), 0
    dw = w.grad.reshape(groups, outputs, inputs)
    for g, end in enumerate(ends or [rows]):
        own = slice(begin, end)
        check(y[own], blocked(X[own], of_x, rule), blocked(W[g], of_w, rule), x.dtype, ("y", what))
        check(x.grad[own], blocked(DY[own], of_dy, rule), blocked(W[g].T, of_w, rule), x.dtype, ("dx", what))
        check(dw[g], blocked(DY[own].T, of_dy, rule), blocked(X[own].T, of_x, rule), kind, ("dw", what))
        begin = end


source = random.Random(SEED)
for index in range(CASES):
    rows = source.choice((32 * source.randint(1, 12), source.randint(1, 400)))
    options = source.choice(OPTIONS)
    size = lambda: source.randint(1, 6 if STEP == 32 else 2) * (STEP if "weights" in options else 32)
    groups = source.choice((None, source.randint(1, 5)))
    ends = groups and sorted(source.randint(0, rows) for _ in range(groups - 1)) + [rows]
    compare(rows, size(), size(), ends, source.choice((torch.bfloat16, torch.float32)),
            bool(index % 2), options)
print("random layers right")

# Only one row count gets its own kernels. Other row counts use the kernels for any number of rows.
specialize.MOST_ROWS = 1
for rows in (64, 96, 33, 64):
    compare(rows, 64, 32, None, torch.bfloat16, False, {})
known, = (rows for (_, layer), rows in specialize._rows_of.items()
          if (layer.inputs, layer.outputs, layer.rows) == (64, 32, None))
assert known == {64}, known
print("any rows right")

# The padding in the saved quantizer result is zero, so operators with equal inputs return equal bytes.
options = ("mxfp8",) * 3 + ("ceil",)
for rows, ends in ((32, None), (160, None), (96, (10, 50, 50, 96)), (40, (40,))):
    x = ref.tensor((rows, 64), 1, spread=2)
    if ends is None:
        _, *saved = torch.ops.mx.linear_saving(x, ref.tensor((96, 64), 2, spread=2), *options)
        wanted = mxt.quantize_mxfp8(x, -2)
    else:
        w, offs = ref.tensor((len(ends), 96, 64), 2, spread=2), ref.ends(*ends)
        _, *saved = torch.ops.mx.grouped_linear_saving(x, w, offs, None, *options)
        wanted = mxt.quantize_mxfp8(x, -2, offsets=offs)
    for found, part in zip(saved, wanted):
        part = part.contiguous().view(torch.uint8)
        assert torch.equal(found.reshape(part.shape), part), (rows, ends, found.shape)
print("saved right")
