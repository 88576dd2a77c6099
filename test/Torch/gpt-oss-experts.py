"""Compares gpt-oss experts with MXFP4 weights, and the same experts converted to bf16, with float64 results. Covers
experts with many, few and no tokens, sizes that are not multiples of 128, and errors for wrong arguments. The test
takes 25 s.

REQUIRES: torch
RUN: %python_torch %s

Kernels on the simulator:
RUN: env MX_DEVICE=sim MX_CHIP=sm_90a MX_PTXAS=none %python_torch %s short
RUN: env MX_DEVICE=sim MX_CHIP=sm_120a MX_PTXAS=none %python_torch %s short
"""

import sys

import numpy as np
import torch

import mx_compiler.torch as mxt
from mx_compiler.torch import gpt_oss
from torch.utils.flop_counter import FlopCounterMode

from gpt_oss_oracle import Experts
from gpt_oss_weights import make_experts
from reference import DEVICE, exact
from refuses import refuses

SIZES = gpt_oss.Sizes(experts=5, hidden=192, intermediate=160)
# gpt-oss's 2880 is 22.5 tiles of 128.
WIDE = gpt_oss.Sizes(experts=2, hidden=2880, intermediate=96)


def make(sizes, **options):
    """Creates experts with random weights. Returns them and their tensors. Rows are unit vectors, and some elements
    exceed the limits of the SwiGLU."""
    experts, tensors = make_experts(sizes, (120, 127), DEVICE, **options)
    return experts, {name: x.cpu().float().numpy() if name.endswith("_bias") else x.cpu().numpy()
                     for name, x in tensors.items()}


def inputs(sizes, tokens, k, seed=0, only=None):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(tokens, sizes.hidden, generator=generator).bfloat16()
    among = torch.tensor(only if only else range(sizes.experts))
    chosen = torch.stack([torch.randperm(len(among), generator=generator)[:k]
                          for _ in range(tokens)]) if tokens else torch.zeros(0, k, dtype=torch.long)
    weights = torch.randn(tokens, k, generator=generator).softmax(-1)
    return tuple(part.to(DEVICE) for part in (x, among[chosen], weights))


def check(experts, oracle, arguments, bound=6e-3):
    """Compares with float64. Four steps round to bf16, each by at most 2^-9 of a value. Sums of values with both signs
    are several times more accurate than this bound."""
    x, indices, weights = arguments
    wanted = oracle(exact(x), indices.cpu().numpy(), exact(weights))
    for gradients in True, False:
        with torch.set_grad_enabled(gradients):
            found = experts(*arguments)
        assert found.dtype == torch.bfloat16 and found.shape == x.shape
        error = np.linalg.norm(exact(found) - wanted) / np.linalg.norm(wanted)
        assert error < bound, (gradients, error)
    return error


def test_values():
    experts, tensors = make(SIZES)
    oracle = Experts(tensors)
    reference = mxt.convert_(torch.nn.Sequential(experts), "bf16")[0]
    assert type(reference).__name__ == "GptOssExperts" and reference.gate_up_proj.dtype == torch.bfloat16
    limits = Experts(tensors, limit=1e9)
    for tokens, k, only in ((1, 4, None), (1, 1, None), (7, 2, None), (150, 4, None),
                            (9, 2, [1, 3]), (3, 1, [4]), (3, 1, [0])):
        arguments = inputs(SIZES, tokens, k, seed=tokens, only=only)
        errors = [check(kind, oracle, arguments) for kind in (experts, reference)]
        print(f"{tokens} tokens, {k} of {only or SIZES.experts}: {errors[0]:.1e}, {errors[1]:.1e}")
    # These values exceed the limits, so results would differ without limits.
    x, indices, weights = arguments = inputs(SIZES, 150, 4)
    unlimited = limits(exact(x), indices.cpu().numpy(), exact(weights))
    found = exact(experts(*arguments))
    assert np.linalg.norm(found - unlimited) > 0.05 * np.linalg.norm(found)
    # Other types of indices and weights.
    for gradients in True, False:
        with torch.set_grad_enabled(gradients):
            other = experts(x, indices.int(), weights.double())
            assert torch.equal(other, experts(*arguments))
    # The order of a token's experts does not matter.
    turned = experts(x, indices.flip(1), weights.flip(1))
    assert np.linalg.norm(exact(turned) - found) < 4e-3 * np.linalg.norm(found)


def test_limit():
    low, tensors = make(SIZES, alpha=1.0, limit=0.5)
    check(low, Experts(tensors, limit=0.5, alpha=1.0), inputs(SIZES, 9, 2))


def test_wide():
    experts, tensors = make(WIDE)
    check(experts, Experts(tensors), inputs(WIDE, 3, 2))


def test_no_tokens():
    experts, _ = make(SIZES)
    assert experts(*inputs(SIZES, 0, 2)).shape == (0, SIZES.hidden)


def test_memory():
    """Weights need 4 bits plus 8/32 bits for scales, slightly more than an eighth of f32."""
    experts, _ = make(gpt_oss.Sizes(2, 512, 256))
    elements = 2 * 3 * 512 * 256
    assert sum(x.nbytes for x in experts.buffers()) == elements // 2 + elements // 32
    assert sum(x.nbytes for x in experts.parameters()) == 2 * (512 + 512) * 2


def test_training():
    """The plain module trains with mx. Choices without an expert change neither results nor gradients, although
    matmuls leave their rows undefined."""
    experts = mxt.convert_(make(SIZES)[0].to_plain(), "mxfp8")
    x, indices, weights = inputs(SIZES, 9, 2)
    multiply = experts._matmul

    def undefined(name, rows, ends):
        unused = torch.arange(int(ends[-1]), len(rows), device=DEVICE)
        rows.register_hook(lambda gradient: gradient.index_fill(0, unused, np.nan))
        return multiply(name, rows, ends).index_fill(0, unused, 1)

    found = []
    for chosen in indices[:, :1], torch.cat((indices[:, :1], torch.full_like(indices[:, :1], -1)), 1):
        given = x.clone().requires_grad_()
        experts.zero_grad()
        y = experts(given, chosen, weights[:, :chosen.shape[1]])
        y.float().square().sum().backward()
        found.append([y, given.grad, *(p.grad.clone() for p in experts.parameters())])
        experts._matmul = undefined
    for a, b in zip(*found):
        assert a.any() and (a - b).norm() < 4e-3 * a.norm()


def test_tracing():
    """Compiles the experts without a graph break, and traces shapes on meta tensors."""
    experts, _ = make(SIZES)
    arguments = inputs(SIZES, 7, 2)
    compiled = torch.compile(experts, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(*arguments), experts(*arguments))
    with torch.no_grad():
        assert torch.equal(compiled(*arguments), experts(*arguments))
        with FlopCounterMode(display=False) as counter:
            experts(*arguments)
    assert counter.get_flop_counts()["Global"] == {
        torch.ops.mx.weight_only_experts: 6 * 7 * 2 * SIZES.hidden * SIZES.intermediate}
    from torch._subclasses import FakeTensorMode
    for gradients in True, False:
        with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.set_grad_enabled(gradients):
            fake = experts(*map(mode.from_tensor, arguments))
        assert fake.shape == (7, SIZES.hidden) and fake.dtype == torch.bfloat16


def test_errors():
    experts, _ = make(SIZES)
    x, indices, weights = inputs(SIZES, 7, 2)
    cases = [
        (TypeError, (x.double(), indices, weights), "hidden_states", "bfloat16", "float64"),
        (ValueError, (x[:, :160], indices, weights), "hidden_states", "[..., 192]", "(7, 160)"),
        (ValueError, (x[0], indices, weights), "indices", "(1, k)", "(7, 2)"),
        (ValueError, (x, indices.flatten(), weights), "indices", "(14,)"),
        (TypeError, (x, indices.tolist(), weights), "indices", "a tensor", "list"),
        (TypeError, (x, indices, weights.float().cpu().numpy()), "weights", "a tensor", "ndarray"),
    ]
    for kind, arguments, *parts in cases:
        refuses(kind, parts, lambda: experts(*arguments))
    create = mxt.MXWeightOnlyGptOssExperts
    refuses(ValueError, ("experts", "at least 1", "0"), lambda: create(0, 64, 64))
    refuses(ValueError, ("hidden", "multiple of 32", "100"), lambda: create(4, 100, 64))
    refuses(ValueError, ("intermediate", "multiple of 32", "48"), lambda: create(4, 64, 48))
    refuses(ValueError, ("limit", "above 0", "None"), lambda: create(4, 64, 64, limit=None))
    refuses(ValueError, ("alpha", "above 0", "-1"), lambda: create(4, 64, 64, alpha=-1))
    refuses(ValueError, ("recipe", "weight-only", "mxfp8"), lambda: create(4, 64, 64, "mxfp8"))
    refuses(ValueError, ("hidden", "multiple of 32", "100"), lambda: gpt_oss.Sizes(4, 100, 64))
    refuses(ValueError, ("intermediate", "48"), lambda: gpt_oss.Sizes(4, 64, 48))
    refuses(ValueError, ("experts", "at least 1", "0"), lambda: gpt_oss.Sizes(0, 64, 64))
    refuses(ValueError, ("experts", "'4'"), lambda: gpt_oss.Sizes("4", 64, 64))


def test_short():
    """Runs the smallest case, which takes seconds on the simulator."""
    experts, tensors = make(SIZES)
    error = check(experts, Experts(tensors), inputs(SIZES, 3, 2))
    print(f"3 tokens: {error:.1e}")
    test_wide()


everything = (test_values, test_limit, test_wide, test_no_tokens, test_memory, test_training, test_tracing, test_errors)
for test in (test_short,) if sys.argv[1:] == ["short"] else everything:
    test()
    print(f"{test.__name__}: passed")
