# REQUIRES: torch
# RUN: %python_torch %s --count=60
# RUN: env MX_DEVICE=sim MX_CHIP=sm_90a MX_SIM_TENSOR_SUMS=truncated %python_torch %s --count=16
"""With batch_invariant a row of a result keeps its bytes in any batch, at any place, with any expert groups and after
any history; modules with stored weights repeat the bits of training.

    batch-invariance.py [--count=N] [--first=I] [--rows=N]   # random cases I to I + N - 1 of at most so many rows

The tensor core, and the simulator with truncated sums, round each step of a sum, so another order shows."""

import argparse
import copy
import functools

import numpy as np
import torch
from torch import nn

import mx_compiler.torch as mxt
from mx_compiler._ops import specialize
from reference import DEVICE

TRAINING = ["mxfp8", "mxfp8_fast", "fp8_block", "mxfp8_floor"]
STORED = ["mxfp4_weight_only", "mxfp8_weight_only", "w4a8", "mxfp8_fast_weight_only", "fp8_block_weight_only"]


def draw(rng, *shape):
    """Draws values over many binades: their sums depend on the order."""
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)
    return torch.from_numpy(x).to(torch.bfloat16).to(DEVICE)


@functools.lru_cache(64)
def layer(recipe, inputs, outputs, experts):
    """Returns a module; few sizes, so that few programs are compiled."""
    rng = np.random.default_rng(inputs + outputs)
    if not experts:
        model = nn.Sequential(nn.Linear(inputs, outputs, bias=False, device=DEVICE, dtype=torch.bfloat16))
        model[0].weight.data = draw(rng, outputs, inputs)
    else:
        model = nn.Sequential(mxt.GroupedExperts(inputs, outputs, experts, DEVICE, torch.bfloat16))
        for weight in model[0].parameters():
            weight.data = draw(rng, *weight.shape) / 16
    return mxt.convert_(model, recipe, batch_invariant=True)[0]


def run(module, x, counts=None):
    """Returns y, and dx of training modules; that of stored weights is PyTorch's matmul."""
    x = x.detach().requires_grad_(not module.recipe.weight_only)
    y = module(x) if counts is None else module(x, torch.tensor(counts, device=DEVICE))
    if module.recipe.weight_only:
        return y,
    y.backward(torch.ones_like(y) / 3)
    return y.detach(), x.grad


def compare(what, found, expected):
    for name, a, b in zip(("y", "dx"), found, expected):
        assert torch.equal(a, b), (what, name, (a != b).sum().item(), a.numel())


def case(number, most):
    rng = np.random.default_rng(number)
    recipe = (TRAINING + STORED)[number % len(TRAINING + STORED)]
    inputs, outputs = [(256, 128), (128, 640), (640, 256)][int(rng.integers(3))]
    experts = int(rng.choice([0, 0, 3]))
    module = layer(recipe, inputs, outputs, experts)
    rows = int(np.exp(rng.uniform(0, np.log(most))))
    x = draw(rng, rows, inputs)
    what = number, recipe, rows, inputs, outputs, experts
    if not experts:
        whole = run(module, x)
        first = int(rng.integers(rows))
        part = np.s_[first:first + 1 + int(rng.integers(rows - first))]
        compare(what, run(module, x[part]), [one[part] for one in whole])
        order = torch.from_numpy(rng.permutation(rows)).to(DEVICE)
        compare(what, run(module, x[order]), [one[order] for one in whole])
        return
    counts = np.bincount(rng.integers(0, experts, rows), minlength=experts)
    whole = run(module, x, counts)
    keep = np.array([rng.integers(0, count + 1) for count in counts])
    starts = np.cumsum([0, *counts[:-1]])
    index = np.concatenate([start + rng.permutation(count)[:kept] for start, count, kept in zip(starts, counts, keep)])
    if len(index):
        index = torch.from_numpy(index).to(DEVICE)
        compare(what, run(module, x[index], keep), [one[index] for one in whole])


def history():
    """After more row counts than have programs of their own, the first row counts keep their bits."""
    rng = np.random.default_rng(7)
    model = nn.Sequential(nn.Linear(256, 384, device=DEVICE, dtype=torch.bfloat16))
    module = mxt.convert_(model, "mxfp8")[0]
    x = draw(rng, 40, 256)

    def all_of(rows):
        module.zero_grad()
        return (*run(module, x[:rows]), module.weight.grad.clone())
    early = {rows: all_of(rows) for rows in (33, 5)}
    for rows in range(6, 20):
        all_of(rows)
    specialize._rows_of.clear()     # other row counts get programs of their own
    specialize._plans.clear()
    for rows in range(20, 32):
        all_of(rows)
    for rows, expected in early.items():
        for a, b in zip(all_of(rows), expected):
            assert torch.equal(a, b), rows


def policy(recipe, stored):
    """Three policy-gradient steps: the rollout, by stored weights in other batches, repeats the log
    probabilities of the training pass."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(128, 256), nn.SiLU(), nn.Linear(256, 128)).to(DEVICE, torch.bfloat16)
    rollout = mxt.convert_(copy.deepcopy(model), stored, batch_invariant=True)
    mxt.convert_(model, recipe, batch_invariant=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    states = torch.randn(48, 128, device=DEVICE, dtype=torch.bfloat16)
    for _ in range(3):
        with torch.no_grad():
            parts = [rollout(part).float().log_softmax(-1) for part in states.split([1, 17, 30])]
        behavior = torch.cat(parts)
        actions = torch.multinomial(behavior.exp(), 1)
        logits = model(states).float().log_softmax(-1)
        assert torch.equal(logits, behavior), "KL of training and rollout"
        reward = (actions % 2).float()
        loss = -(logits.gather(1, actions) * (reward - 0.5)).mean()
        optimizer.zero_grad()
        loss.backward()
        before = model[0].weight.clone()
        optimizer.step()
        assert not torch.equal(model[0].weight, before)
        for mine, theirs in zip(rollout, model):
            if hasattr(mine, "refit"):
                mine.refit(theirs.weight.detach())
                mine.bias.data.copy_(theirs.bias)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--count", type=int, default=60)
parser.add_argument("--first", type=int, default=0)
parser.add_argument("--rows", type=int, default=256)
options = parser.parse_args()
specialize.MOST_ROWS, before = 2, specialize.MOST_ROWS   # fewer programs to compile
for number in range(options.first, options.first + options.count):
    case(number, options.rows)
specialize.MOST_ROWS = before
history()
for pair in (("mxfp8_fast", "mxfp8_fast_weight_only"), ("fp8_block", "fp8_block_weight_only")):
    policy(*pair)
