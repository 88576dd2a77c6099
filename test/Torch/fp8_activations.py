# REQUIRES: torch
# RUN: %python_torch %s
# RUN: env MX_DEVICE=sim MX_CHIP=sm_90a MX_PTXAS=none %python_torch %s layers experts
"""Tests MXFP4 weights by activations that are quantized to FP8. Normalized scales represent the same weights; results
have the bits of docs/reference/Spec.md, Expanded operands; small M and layers with wide scales multiply in bf16."""

import copy
import os
import sys

import numpy as np
import torch

import mx_compiler.torch as mxt
import mx_reference as ref
import reference
from mx_compiler.torch._ops.weight_only_mm import LEAST_FP8_ROWS
from reference import DEVICE
from refuses import refuses

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "Integration", "Run", "Inputs"))
import promoted_sums as sums

BF16, F32 = torch.bfloat16, torch.float32
RECIPE = "w4a8"


def multiply(x, elements, scales, factors):
    """Returns the result for normalized weights [N, K]."""
    codes = ref.unpack(reference.to_bytes(elements), "f4E2M1FN")
    a = sums.fold(reference.exact(x), "f8E4M3FN", 128)
    b = sums.Operand(codes, reference.blocked_bytes(scales, np.s_[:len(codes)], codes.shape[1] // 32), "f4E2M1FN", 32)
    y = sums.multiply(a, b, 128) * factors.cpu().numpy()
    return torch.from_numpy(y).to(BF16)


def layer_of(rows, columns, recipe=RECIPE, spread=2):
    linear = torch.nn.Linear(columns, rows, device=DEVICE)
    with torch.no_grad():
        linear.weight.copy_(reference.tensor((rows, columns), 1, F32, spread=spread))
        linear.bias.copy_(reference.tensor((rows,), 6, F32))
    return mxt.MXWeightOnlyLinear.from_linear(linear, recipe)


def normalization():
    rng = np.random.default_rng(3)
    for batch in ((), (3,)):
        rows, blocks = 130, 6
        elements = rng.integers(0, 256, (*batch, rows, 16 * blocks)).astype(np.uint8)
        elements[..., 0, :] = 0x80                      # a row of zeros, with signs
        elements[..., 1, 16:32] = 0x08
        scales = np.broadcast_to(rng.integers(14, 240, (rows, 1)), (*batch, rows, blocks))
        scales = scales + rng.integers(0, 15, scales.shape)
        scales[..., 1, 1] = 0                           # of a block of zeros
        scales[..., 2, 3] = 255
        given = torch.from_numpy(ref.tile(scales.astype(np.uint8)).reshape(*batch, 256, 8))
        parts = torch.from_numpy(elements), given.view(torch.float8_e8m0fnu)
        found, factors = mxt.normalize_scales(*parts)
        assert found.shape == given.shape and factors.shape == (rows,)
        bytes_ = reference.blocked_bytes(found, np.s_[:rows], blocks)
        assert ((bytes_ >= 119) & (bytes_ <= 133) | (scales == 255)).all()
        assert ((bytes_ == 255) == (scales == 255)).all()
        codes = ref.unpack(elements, "f4E2M1FN")
        wanted = ref.real(codes, scales.astype(np.uint8), "f4E2M1FN")
        same = ref.real(codes, bytes_, "f4E2M1FN") * factors.double().numpy()[:, None]
        assert np.array_equal(same, wanted, equal_nan=True)
        # A row may span 14 powers of two, not 15; blocks of zeros do not count.
        scales[..., 5, :], elements[..., 5, :32] = (100, 115, 110, 110, 110, 110), 0x11
        given.copy_(torch.from_numpy(ref.tile(scales.astype(np.uint8)).reshape(*batch, 256, 8)))
        assert mxt.normalize_scales(*parts) is None
        elements[..., 5, :16] = 0x88
        assert mxt.normalize_scales(*parts) is not None


def layers():
    for rows, columns in ((72, 256), (64, 128)):
        layer = layer_of(rows, columns)
        assert "fp8=weight" in repr(layer) and not layer._is_packed("weight")
        plain = layer_of(rows, columns, "mxfp4_weight_only")
        bias, layer.bias = layer.bias, None
        x = reference.tensor((LEAST_FP8_ROWS, columns), 2, spread=2)
        found = layer(x)
        wanted = multiply(x, layer.weight_elements, *layer._fp8("weight"))
        assert torch.equal(found.cpu(), wanted)
        layer.bias = bias
        assert torch.equal(layer(x), found + bias.to(BF16))
        few = x[:LEAST_FP8_ROWS - 1]
        if not plain._is_packed("weight"):              # another order of sums
            assert torch.equal(layer(few), plain(few))


def gradients():
    x = reference.tensor((LEAST_FP8_ROWS, 256), 2, spread=2)
    found = []
    for recipe in (RECIPE, "mxfp4_weight_only"):
        own = x.clone().requires_grad_()
        layer_of(64, 256, recipe)(own).backward(reference.tensor((len(x), 64), 3))
        found.append(own.grad)
    assert torch.equal(*found)


def experts():
    given = mxt.GroupedExperts(128, 256, 3, device=DEVICE)
    layer = mxt.MXWeightOnlyExperts.from_experts(given, RECIPE)
    assert "fp8=w1+w2+w3" in repr(layer)
    counts = [300, 0, 3 * LEAST_FP8_ROWS - 300]
    x, ends = reference.tensor((sum(counts), 128), 2, spread=1), torch.tensor(counts, device=DEVICE).cumsum(0)
    elements, own, factors = layer.w1_elements, *layer._fp8("w1")
    found = mxt.weight_only_grouped_mm(x, elements, layer.w1_scales, ends, "mxfp4", fp8=(own, factors))
    wanted = [multiply(part, elements[i], own[i], factors) for i, part in enumerate(x.split(counts)) if len(part)]
    assert torch.equal(found.cpu(), torch.cat(wanted))
    y, plain = (one(x, torch.tensor(counts, device=DEVICE)) for one in (
        layer, mxt.MXWeightOnlyExperts.from_experts(given, "mxfp4_weight_only")))
    assert 0 < (y - plain).float().norm() / plain.float().norm() < 0.1


def modules():
    layer, plain = layer_of(96, 256), layer_of(96, 256, "mxfp4_weight_only")
    state = layer.state_dict()
    assert state.keys() == plain.state_dict().keys()
    assert all(torch.equal(value, plain.state_dict()[key]) for key, value in state.items())
    x = reference.tensor((LEAST_FP8_ROWS, 256), 4, spread=2)
    new = mxt.MXWeightOnlyLinear(256, 96, recipe=RECIPE, device=DEVICE)
    new.load_state_dict(state)
    for other in (new, copy.deepcopy(layer)):
        assert torch.equal(other(x), layer(x))
    assert torch.equal(layer.to_plain().weight, plain.to_plain().weight)
    # Layers with other sizes or wide scales multiply in bf16.
    for other in (layer_of(96, 96), layer_of(64, 256, spread=12)):
        assert "fp8" not in repr(other).replace(RECIPE, "")
        rows = reference.tensor((LEAST_FP8_ROWS, other.in_features), 5, spread=1)
        assert torch.isfinite(other(rows)).all()


def refusals():
    refuses(ValueError, "fp8_activations: expected False without weight_only and weights of mxfp4, which are exact",
            mxt.Recipe, weights="mxfp8", weight_only=True, fp8_activations=True)
    x = reference.tensor((LEAST_FP8_ROWS, 128), 2, spread=1)
    elements, scales = mxt.quantize_mxfp4(reference.tensor((64, 128), 1, spread=1))
    fp8 = mxt.normalize_scales(elements, scales)
    values, of_values, factor = mxt.quantize_nvfp4(x)
    mm = mxt.weight_only_mm
    refuses(ValueError, "format: expected mxfp4 with fp8, found nvfp4", mm, x, values, of_values, "nvfp4",
            global_scale=factor, fp8=fp8)
    packed = mxt.pack_weights(elements, "mxfp4")
    refuses(ValueError, "fp8: expected None with packed = True", mm, x, packed, scales, "mxfp4", packed=True, fp8=fp8)
    refuses(ValueError, r"fp8: expected factors of torch.float32 and shape \(64,\)", mm, x, elements, scales, "mxfp4",
            fp8=(fp8[0], fp8[1][1:]))
    refuses(TypeError, "fp8: expected a result of mx_compiler.torch.normalize_scales or None, found Tensor", mm, x,
            elements, scales, "mxfp4", fp8=fp8[0])


for test in sys.argv[1:] or ("normalization", "layers", "gradients", "experts", "modules", "refusals"):
    globals()[test]()
