# REQUIRES: torch
# RUN: %python_torch %s
# RUN: env MX_DEVICE=sim MX_CHIP=sm_90a %python_torch %s
# RUN: env MX_DEVICE=sim MX_CHIP=sm_120a %python_torch %s
"""Routes match numpy's stable sort of the chosen experts, on the host and in simulated kernels. Covers integers of
every width, values beyond 32 bits, tokens without experts, zero and one choices, up to 512 experts, and strided
tensors. Also covers compiled and exported versions with static and dynamic token counts, and the gradient of the
weights."""

import numpy as np
import torch

import mx_compiler.torch as mxt
from reference import DEVICE

random = np.random.default_rng(5)


def draw(tokens, choices, experts, dtype=np.int64):
    """Draws choices. Some ids are in the range of the type but select no expert."""
    lowest = -1 if np.dtype(dtype).kind == "i" else 0
    highest = min(experts + 1, int(np.iinfo(dtype).max))
    return random.integers(lowest, highest, (tokens, choices), endpoint=True).astype(dtype)


def expect(name, chosen, experts, route=mxt.route):
    ids = chosen.cpu().numpy().astype(object).ravel()
    ids = np.array([i if 0 <= i < experts else experts for i in ids], np.int64)
    order = np.argsort(ids, kind="stable")
    weights = torch.rand(chosen.shape, device=DEVICE, requires_grad=True)
    tokens, probs, ends = route(chosen, weights, experts)
    expected = (order // max(chosen.shape[1], 1), weights.detach().cpu().numpy().ravel()[order],
                np.searchsorted(ids[order], np.arange(experts), side="right"))
    for what, found, array, dtype in zip(("tokens", "probs", "ends"), (tokens, probs, ends), expected,
                                         (torch.int32, torch.float32, torch.int32)):
        assert found.dtype == dtype, f"{name}: {what} of {found.dtype}"
        assert np.array_equal(found.detach().cpu().numpy(), array), f"{name}: {what} {found}, expected {array}"
    factors = torch.rand_like(probs)
    (probs * factors).sum().backward()
    gradient = np.zeros(len(order), np.float32)
    gradient[order] = factors.cpu().numpy()
    assert np.array_equal(weights.grad.cpu().numpy().ravel(), gradient), f"{name}: gradient"


for dtype in (np.uint8, np.int8, np.int16, np.int32, np.int64):
    expect(dtype.__name__, torch.from_numpy(draw(50, 3, 8, dtype)).to(DEVICE), 8)
expect("more experts than 8 bits count", torch.from_numpy(draw(300, 8, 300, np.uint8)).to(DEVICE), 300)
expect("512 experts", torch.from_numpy(draw(300, 8, 512)).to(DEVICE), 512)
expect("one expert", torch.from_numpy(draw(40, 2, 1)).to(DEVICE), 1)
expect("one choice", torch.from_numpy(draw(77, 1, 8)).to(DEVICE), 8)
expect("no choice", torch.from_numpy(draw(5, 0, 8)).to(DEVICE), 8)
expect("no token", torch.from_numpy(draw(0, 4, 8)).to(DEVICE), 8)
expect("no expert", torch.full((30, 4), -1, device=DEVICE), 8)
expect("transposed", torch.from_numpy(draw(4, 50, 8)).to(DEVICE).t(), 8)
expect("columns", torch.from_numpy(draw(50, 8, 8)).to(DEVICE)[:, 1:4], 8)
wide = draw(40, 4, 8)
wide[::3] = random.integers(-2**63, 2**63 - 1, wide[::3].shape)
# The lower 32 bits are valid ids, but the values are not.
wide[1] = [2**32, 2**32 + 3, -2**32, 2**33 + 7]
expect("beyond 32 bits", torch.from_numpy(wide).to(DEVICE), 8)

for dynamic in (False, True):
    torch._dynamo.reset()
    compiled = torch.compile(mxt.route, dynamic=dynamic, fullgraph=True, backend="aot_eager")
    for tokens in (50, 33, 1, 0):
        expect(f"compiled, {dynamic}, {tokens}", torch.from_numpy(draw(tokens, 3, 8)).to(DEVICE), 8, compiled)


class Router(torch.nn.Module):
    def forward(self, chosen, weights):
        return mxt.route(chosen, weights, 8)


tokens = torch.export.Dim("tokens")
exported = torch.export.export(Router(), (torch.from_numpy(draw(50, 3, 8)).to(DEVICE), torch.rand(50, 3, device=DEVICE)),
                               dynamic_shapes=({0: tokens}, {0: tokens})).module()
for count in (50, 7, 600):
    expect(f"exported, {count}", torch.from_numpy(draw(count, 3, 8)).to(DEVICE), 8,
           lambda chosen, weights, experts: exported(chosen, weights))
