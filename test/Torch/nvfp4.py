# REQUIRES: torch, transformers
# RUN: %python_torch %s
# RUN: env MX_DEVICE=sim MX_CHIP=sm_90a MX_PTXAS=none %python_torch %s
"""Tests modules with weights in NVFP4 against their stored bytes in float64: results, gradients of x, and global scales of
matrices with different magnitudes."""

import copy

import numpy as np
import torch
from transformers import GptOssConfig, MixtralConfig
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssExperts
from transformers.models.mixtral.modeling_mixtral import MixtralExperts

import mx_compiler.torch as mxt
import reference as ref
from reference import DEVICE, exact
from refuses import refuses

RECIPE = "nvfp4_weight_only"
HIDDEN, INNER, EXPERTS = 128, 192, 3


def stored(module, name):
    """Returns a weight in float64, [..., N, K], from the bytes of a state dict."""
    elements, scales, factors = (module.state_dict()[f"{name}_{part}"] for part in ("elements", "scales", "global_scale"))
    *outer, rows, half = elements.shape
    factors = factors.view(torch.float32).double().cpu().numpy()
    values = ref.codes(elements, "nvfp4").reshape(*outer, rows, half // 8, 16) * ref.scales(
        scales.view(torch.float8_e4m3fn), rows, half // 8, True)[..., None]
    count = factors.shape[-1]
    number = (np.arange(rows) % count if hasattr(module, "alpha") else np.arange(rows) * count // rows)
    return torch.from_numpy(values.reshape(*outer, rows, 2 * half) * factors[..., number][..., None])


def distance(a, b):
    return float((torch.from_numpy(exact(a.detach())) - b).norm() / b.norm())


def linear():
    plain = torch.nn.Linear(HIDDEN, INNER, device=DEVICE)
    layer = mxt.MXWeightOnlyLinear.from_linear(copy.deepcopy(plain), RECIPE)
    weight = stored(layer, "weight")
    *_, factor = mxt.quantize_nvfp4(plain.weight.to(torch.bfloat16))
    assert torch.equal(layer.weight_global_scale.view(torch.float32)[0], factor)
    assert distance(layer.dequantized(dtype=torch.float32), weight) < 1e-7
    x = ref.tensor((9, HIDDEN), 2).requires_grad_()
    y = layer(x)
    y.backward(torch.ones_like(y))
    assert distance(y, torch.from_numpy(exact(x)) @ weight.T + torch.from_numpy(exact(plain.bias))) < 4e-3
    assert distance(x.grad, weight.sum(0).expand(9, -1)) < 4e-3
    layer.to(torch.float16)
    assert distance(layer.dequantized(dtype=torch.float32), weight) < 1e-7
    refuses(ValueError, "weights: expected a format with blocks of 32", lambda: mxt.Recipe(weights="nvfp4"))
    refuses(ValueError, "scale_rounding: expected ceil with weights of nvfp4, found floor",
            lambda: mxt.Recipe(weights="nvfp4", weight_only=True, scale_rounding="floor"))


def magnify(module):
    """Gives experts, and gate and up, different magnitudes."""
    torch.manual_seed(3)
    for name, parameter in module.named_parameters():
        torch.nn.init.normal_(parameter, std=0.1)
        if parameter.dim() == 3:
            parameter.data[1] *= 100
            if name == "gate_up_proj":
                part = parameter.data[..., ::2] if hasattr(module, "alpha") else parameter.data[:, :INNER]
                part *= 2**-10
    return module.to(DEVICE)


def sorted_experts():
    layer = mxt.MXWeightOnlyExperts.from_experts(magnify(mxt.GroupedExperts(HIDDEN, INNER, EXPERTS)), RECIPE)
    w1, w2, w3 = (stored(layer, name) for name in ("w1", "w2", "w3"))
    counts = [4, 0, 7]
    x = ref.tensor((11, HIDDEN), 5).requires_grad_()
    y = layer(x, torch.tensor(counts, device=DEVICE))
    rows = torch.from_numpy(exact(x)).requires_grad_()
    wanted = torch.cat([(torch.nn.functional.silu(part @ w1[e].T) * (part @ w3[e].T)) @ w2[e].T
                        for e, part in enumerate(rows.split(counts))])
    y.sum().backward()
    wanted.sum().backward()
    assert distance(y, wanted.detach()) < 0.01 and distance(x.grad, rows.grad) < 0.01


def routed_experts():
    sizes = dict(hidden_size=HIDDEN, intermediate_size=INNER, num_local_experts=EXPERTS)
    for cls, config in (MixtralExperts, MixtralConfig(**sizes)), (GptOssExperts, GptOssConfig(**sizes)):
        config._experts_implementation = "eager"
        plain = magnify(cls(config))
        layer = mxt.convert_(copy.deepcopy(plain), RECIPE)
        is_transposed = cls is GptOssExperts
        oracle = copy.deepcopy(plain).double().cpu()
        for name in "gate_up_proj", "down_proj":
            weight = stored(layer, name)
            getattr(oracle, name).data = weight.transpose(-2, -1) if is_transposed else weight
            for found, given in zip(getattr(oracle, name), getattr(plain, name)):
                assert distance(given, found.detach()) < 0.12
        chosen = torch.stack([torch.randperm(EXPERTS)[:2] for _ in range(20)])
        weights, x = torch.rand(20, 2), ref.tensor((20, HIDDEN), 7).requires_grad_()
        rows = torch.from_numpy(exact(x)).requires_grad_()
        wanted = oracle(rows, chosen, weights.double())
        wanted.sum().backward()
        given = chosen.to(DEVICE), weights.to(DEVICE)
        y = layer(x, *given)
        y.sum().backward()
        with torch.no_grad():
            quick = layer(x, *given)
        for a, b in (y, wanted.detach()), (quick, wanted.detach()), (x.grad, rows.grad):
            assert distance(a, b) < 0.01, (cls, distance(a, b))


linear()
sorted_experts()
routed_experts()
