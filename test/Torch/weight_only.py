# REQUIRES: torch
# RUN: %python_torch %s
# RUN: env MX_DEVICE=sim MX_CHIP= MX_PTXAS=none %python_torch %s any_outputs
# RUN: env MX_DEVICE=sim MX_CHIP=sm_90a MX_PTXAS=none %python_torch %s any_outputs
# RUN: env MX_DEVICE=sim MX_CHIP=sm_120a MX_PTXAS=none %python_torch %s any_outputs
"""Tests weight-only modules: compares the bytes of elements and scales, results, and the gradient of x with the
definition in float64, and loads state dicts of these modules and of the modules that they replace."""

import copy
import sys

import numpy as np
import torch

import mx_compiler.torch as mxt
import reference as ref
from reference import DEVICE, blocked, exact, near
from refuses import refuses

BF16, F32 = torch.bfloat16, torch.float32
RECIPES = ("mxfp8_weight_only", "mxfp6_weight_only", "mxfp4_weight_only",
           mxt.Recipe(weights="mxfp4", scale_rounding="floor", weight_only=True))


def values(weight, recipe):
    """Returns the weight values that a module's matmul uses, which may be rounded to bf16."""
    return blocked(exact(weight.to(BF16)), recipe.weights, recipe.scale_rounding)


def check(found, a, b, what):
    near(found, a @ b.T, np.abs(a) @ np.abs(b).T, BF16, what=what)


def linear_of(rows, columns):
    linear = torch.nn.Linear(columns, rows, device=DEVICE)
    with torch.no_grad():
        linear.weight.copy_(ref.tensor((rows, columns), 1, F32, spread=2))
    return linear


def linear():
    for recipe in RECIPES:
        given = linear_of(96, 64)
        layer = mxt.MXWeightOnlyLinear.from_linear(given, recipe)
        assert layer.bias is given.bias
        W = values(given.weight, layer.recipe)
        assert (exact(layer.dequantized(dtype=F32)) == W).all(), recipe
        scales = layer.weight_scales.view(torch.float8_e8m0fnu)
        X = ref.codes(layer.weight_elements, layer.recipe.weights).reshape(96, 2, 32)
        assert (X * ref.scales(scales, 96, 2, True)[..., None] == W.reshape(
            X.shape)).all(), recipe
        x = ref.tensor((3, 5, 64), 2, spread=2).requires_grad_()
        y = layer(x)
        layer.bias = None
        plain = layer(x)
        assert torch.equal(y, plain + given.bias.to(BF16)) and y.shape == (3, 5, 96)
        check(plain.reshape(15, 96), exact(x).reshape(15, 64), W, recipe)
        dy = ref.tensor(y.shape, 3)
        y.backward(dy)
        check(x.grad.reshape(15, 64), exact(dy).reshape(15, 96), W.T, recipe)
        assert given.weight.grad is None and given.bias.grad.dtype == F32


def any_outputs():
    """Any number of outputs is valid, because outputs are not a reduction dimension. Each number needs its own
    program."""
    for recipe in RECIPES:
        for outputs in (50, 33, 1) if recipe == "mxfp4_weight_only" else (33,):
            given = linear_of(outputs, 64)
            torch.nn.init.zeros_(given.bias)
            layer = mxt.convert_(given, recipe, strict=True)
            W = values(given.weight, layer.recipe)
            assert (exact(layer.dequantized(dtype=F32)) == W).all(), (recipe, outputs)
            loaded = mxt.MXWeightOnlyLinear(64, outputs, recipe=recipe, device=DEVICE)
            loaded.load_state_dict(given.state_dict())
            for rows in (5, 130):
                x = ref.tensor((rows, 64), 2, spread=2).requires_grad_()
                y = layer(x)
                assert torch.equal(loaded(x), y)
                check(y, exact(x), W, (recipe, outputs))
                dy = ref.tensor(y.shape, 3)
                y.backward(dy)
                check(x.grad, exact(dy), W.T, (recipe, outputs))
                for blocked in (True, False):
                    q = mxt.quantize(given.weight.detach().to(BF16), layer.recipe.weights,
                                     scale_rounding=layer.recipe.scale_rounding, blocked=blocked)
                    check(mxt.weight_only_mm(x, *q, layer.recipe.weights, blocked=blocked),
                          exact(x), W, (recipe, outputs, blocked))


def experts():
    for recipe in RECIPES:
        given = mxt.GroupedExperts(64, 96, 3, device=DEVICE)
        layer = mxt.MXWeightOnlyExperts.from_experts(given, recipe)
        x, counts = ref.tensor((30, 64), 2, spread=1).requires_grad_(), [11, 0, 19]
        y = layer(x, torch.tensor(counts, device=DEVICE))
        dy = ref.tensor(y.shape, 3)
        y.backward(dy)
        w1, w2, w3 = (torch.from_numpy(values(w, layer.recipe))
                      for w in (given.w1, given.w2, given.w3))
        rows = torch.from_numpy(exact(x)).requires_grad_()
        parts = [(torch.nn.functional.silu(part @ w1[i].T) * (part @ w3[i].T)) @ w2[i].T
                 for i, part in enumerate(rows.split(counts))]
        wanted = torch.cat(parts)
        wanted.backward(torch.from_numpy(exact(dy)))
        for a, b in ((y, wanted.detach()), (x.grad, rows.grad)):
            distance = (torch.from_numpy(exact(a)) - b).norm() / b.norm()
            assert distance < 0.01, (recipe, distance)


def nvfp4():
    """The forward pass multiplies the result by the global scale in f32. The gradient of x uses weights that are
    rounded to bf16 after multiplication by the global scale (docs/guide/Torch.md). A power of two causes no
    rounding."""
    def apart(a, b):
        return np.linalg.norm(exact(a) - b) / np.linalg.norm(b)
    for seed, (rows, n, k) in enumerate(((64, 64, 128), (5, 96, 64), (96, 160, 256), (33, 32, 96))):
        w = ref.tensor((n, k), seed, spread=1)
        for power in False, True:
            if power:
                factor = torch.tensor(2.0**-9, device=DEVICE)
                q, s, _ = mxt.quantize_nvfp4(w, global_scale=factor)
            else:
                q, s, factor = mxt.quantize_nvfp4(w)
            plain = (ref.codes(q, "nvfp4").reshape(n, k // 16, 16) * ref.scales(
                s, n, k // 16, True)[..., None]).reshape(n, k)
            W = plain * float(factor)
            x, dy = (ref.tensor((rows, size), seed + 9 + size, spread=1) for size in (k, n))
            x.requires_grad_()
            one = torch.tensor([rows], dtype=torch.int32, device=DEVICE)
            for y in (mxt.weight_only_mm(x, q, s, "nvfp4", global_scale=factor),
                      mxt.weight_only_grouped_mm(x, q[None], s[None], one, "nvfp4",
                                                 global_scale=factor)):
                x.grad = None
                y.backward(dy)
                check(y, exact(x), W, "forward")
                rounded = exact(torch.from_numpy(W).float().to(BF16))
                check(x.grad, exact(dy), rounded.T, "of rounded weights")
                errors = apart(y, exact(x) @ W.T), apart(x.grad, exact(dy) @ W)
                assert errors[0] < 0.0019 and errors[1] < (0.0019 if power else 0.0028), errors
                assert (rounded == W).all() or not power


def state_dicts():
    linear, experts = linear_of(64, 96), mxt.GroupedExperts(64, 96, 3, device=DEVICE)
    counts = torch.tensor([2, 3, 1], device=DEVICE)
    for recipe in RECIPES:
        for plain, quantized, make, given in (
            (linear, mxt.MXWeightOnlyLinear.from_linear(copy.deepcopy(linear), recipe),
             lambda device: mxt.MXWeightOnlyLinear(96, 64, True, recipe, device),
             (ref.tensor((6, 96)),)),
            (experts, mxt.MXWeightOnlyExperts.from_experts(experts, recipe),
             lambda device: mxt.MXWeightOnlyExperts(64, 96, 3, recipe, device),
             (ref.tensor((6, 64)), counts))):
            own = quantized.state_dict()
            assert all(t.dtype == torch.uint8 for n, t in own.items() if n != "bias")
            for state in (plain.state_dict(), own):
                for device, assign in ((DEVICE, False), ("meta", True)):
                    loaded = make(device)
                    loaded.load_state_dict(state, strict=True, assign=assign)
                    assert torch.equal(loaded(*given), quantized(*given)), recipe
                    again = loaded.state_dict()
                    assert again.keys() == own.keys()
                    assert all(torch.equal(again[n], own[n]) for n in own)
            # Conversion of the module to another float dtype does not change the bytes.
            moved = copy.deepcopy(quantized).to(BF16)
            assert torch.equal(moved.state_dict()[next(n for n in own if n != "bias")],
                               own[next(n for n in own if n != "bias")])


def in_a_model():
    """The state dict of a float model is quantized module by module, without changing the state dict."""
    def make():
        return torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.ReLU(),
                                   torch.nn.Linear(96, 32)).to(DEVICE)
    plain = make()
    state = plain.state_dict()
    names = list(state)
    converted = mxt.convert_(make(), "mxfp4_weight_only")
    converted.load_state_dict(state)
    assert list(state) == names and state["0.weight"].dtype == F32
    same = mxt.convert_(copy.deepcopy(plain), "mxfp4_weight_only")
    x = ref.tensor((4, 64))
    assert torch.equal(converted(x), same(x))
    assert [p.shape for p in converted.parameters()] == [(96,), (32,)]


def errors():
    layer = mxt.MXWeightOnlyLinear(64, 32, device=DEVICE)
    for kind, text, call in (
        (ValueError, "use mx_compiler.torch.MXLinear",
         lambda: mxt.MXWeightOnlyLinear(64, 32, recipe="mxfp8")),
        (ValueError, "use mx_compiler.torch.MXGroupedExperts",
         lambda: mxt.MXWeightOnlyExperts(64, 32, 2, recipe="mxfp8")),
        (ValueError, "in_features: expected a multiple of 32, at least 32, found 33",
         lambda: mxt.MXWeightOnlyLinear(33, 64)),
        (RuntimeError, "Missing key(s) in state_dict: \"weight_elements\"",
         lambda: layer.load_state_dict({"bias": torch.zeros(32)})),
        (RuntimeError, "size mismatch for weight: expected floats of shape (32, 64), to "
         "quantize, found float32 of shape (64, 32)",
         lambda: layer.load_state_dict({"bias": torch.zeros(32),
                                        "weight": torch.zeros((64, 32))})),
        (RuntimeError, "size mismatch for weight_scales",
         lambda: layer.load_state_dict({**layer.state_dict(), "weight_scales":
                                        torch.zeros((32, 2), dtype=torch.uint8)})),
        (ValueError, "name: expected one of weight, found 'w1'",
         lambda: layer.dequantized("w1")),
        # Shapes are the same, but formats differ.
        (RuntimeError, "weight: expected mxfp8, the format of the module's "
         "recipe, found mxfp6_e2m3",
         lambda: mxt.MXWeightOnlyLinear(64, 32, recipe="mxfp8_weight_only").load_state_dict(
             mxt.MXWeightOnlyLinear(64, 32, recipe="mxfp6_weight_only").state_dict())),
        (RuntimeError, "weight: expected a torch.Tensor, found list",
         lambda: layer.load_state_dict({"bias": torch.zeros(32), "weight": [1.0]})),
        (ValueError, "x: expected [..., 64], in_features of the layer",
         lambda: layer(ref.tensor((4, 32)))),
    ):
        refuses(kind, text, call)


for part in (linear, any_outputs, experts, nvfp4, state_dicts, in_a_model, errors):
    if part.__name__ in (sys.argv[1:] or part.__name__):
        part()
        print(part.__name__, "right")
