"""Cases of torchao's MXFP8 training for a device served by mx_compiler.torch.install(torchao=True)."""

import importlib

import numpy as np
import reference as ref
import torch
import torchao
from blocks import Matrix, check, matmul, tensor
from reference import exact, turn
from refuses import refuses
from torch.nn.functional import ScalingType, SwizzleType
from torch.nn.functional import scaled_grouped_mm, scaled_mm
from torchao.prototype.moe_training import _to_mxfp8_then_scaled_grouped_mm
from torchao.prototype.moe_training.config import (MXFP8TrainingOpConfig,
                                                   MXFP8TrainingRecipe)
from torchao.prototype.moe_training.kernels.mxfp8 import (
    torch_to_blocked_2d_K_groups, torch_to_blocked_2d_M_groups,
    torch_to_blocked_per_group_3d)
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.inference_workflow import (
    MXDynamicActivationMXWeightConfig)
from torchao.prototype.mx_formats.mx_tensor import MXTensor, to_mx
from torchao.prototype.mx_formats.nvfp4_tensor import (
    NVFP4Tensor, QuantizeTensorToNVFP4Kwargs, per_tensor_amax_to_scale)
from torchao.prototype.mx_formats.utils import to_blocked
from torchao.quantization import quantize_
from torchao.quantization.quantize_.common import KernelPreference

import mx_compiler.torch as mxt

MX, BLOCKED = ScalingType.BlockWise1x32, SwizzleType.SWIZZLE_32_4_4
RCEIL, FLOOR = ScaleCalculationMode.RCEIL, ScaleCalculationMode.FLOOR
IS_0_17 = torchao.__version__.startswith("0.17.")
REPLACED = (("moe_training.mxfp8_grouped_mm", "_MXFP8GroupedMM"),
            ("mx_formats.mx_linear" if IS_0_17 else "moe_training.mxfp8_linear", "_to_mxfp8_then_scaled_mm"),
            ("moe_training.tensor", "_to_mxfp8_then_scaled_mm"),
            ("moe_training.conversion_utils", "_get_tensor_cls_for_config"))


def replaced():
    """Returns the current values of the names replaced by `install`."""
    return [getattr(importlib.import_module(f"torchao.prototype.{module}"), name)
            for module, name in REPLACED]


def normal(shape, device, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.standard_normal(shape) * scale)
    return x.to(torch.bfloat16).to(device)


def grouped(device):
    """Compares results and gradients with matmuls of the quantized numbers."""
    for ends, rows, padded in (([64, 64, 160, 256], 256, False),
                               ([64, 64, 160, 256], 300, False),
                               ([1, 40, 40, 201], 201, True)):
        for rounding in (RCEIL, FLOOR):
            for high in (False, True):
                one_grouped(device, ends, rows, padded, rounding, high)


def one_grouped(device, ends, rows, padded, rounding, high):
    groups, n, k = len(ends), 64, 96
    a = normal((rows, k), device, 1).requires_grad_()
    w = normal((groups, n, k), device, 2).requires_grad_()
    dy = normal((rows, n), device, 3)
    offs = torch.tensor(ends, dtype=torch.int32, device=device)
    y = _to_mxfp8_then_scaled_grouped_mm(
        a, w.transpose(-2, -1), offs, wgrad_with_hp=high,
        scale_calculation_mode=rounding, pad_token_groups_for_grouped_mm=padded)
    y.backward(dy)
    name = f"{ends} {rounding.name}{' in high precision' if high else ''}"
    how = {RCEIL: "ceil", FLOOR: "floor"}[rounding]

    def quantized(x):
        return ref.blocked(x, "mxfp8", how)
    starts, last = [0, *ends[:-1]], ends[-1]
    x, g, weights = exact(a), exact(dy), exact(w)
    parts = [(x[s:e], g[s:e], weights[i]) for i, (s, e) in enumerate(zip(starts, ends))]
    forward = [matmul(quantized(p), quantized(m)) for p, _, m in parts]
    to_x = [matmul(quantized(d), quantized(turn(m))) for _, d, m in parts]
    to_w = [matmul(turn(d), turn(p)) if high else
            matmul(quantized(turn(d)), quantized(turn(p))) for p, d, _ in parts]
    check(f"y {name}", y[:last], *map(np.concatenate, zip(*forward)))
    check(f"gradient of A {name}", a.grad[:last], *map(np.concatenate, zip(*to_x)))
    check(f"gradient of B {name}", w.grad, *map(np.stack, zip(*to_w)))
    assert y.shape == (rows, n) and y.dtype == a.grad.dtype == w.grad.dtype == a.dtype


def options(device):
    """Tests a bias, f32 operands, a prequantized activation, and errors."""
    a, w = normal((96, 64), device, 4), normal((2, 32, 64), device, 5)
    offs = torch.tensor([32, 96], dtype=torch.int32, device=device)
    bias = normal((32,), device, 6)

    def run(x=a, **others):
        return _to_mxfp8_then_scaled_grouped_mm(x, w.transpose(-2, -1), offs, **others)
    y = run()
    assert IS_0_17 or torch.equal(run(bias=bias), y + bias)
    wide = run(out_dtype=torch.float32)
    assert wide.dtype == torch.float32 and torch.equal(wide.to(torch.bfloat16), y)
    before = MXTensor.to_mx(a, torch.float8_e4m3fn, 32, RCEIL)
    assert torch.equal(run(before, wgrad_with_hp=True), y)
    refuses(ValueError, ("A", "MXTensor", "RCEIL", "floor"), lambda: run(
        before, wgrad_with_hp=True, scale_calculation_mode=FLOOR))
    refuses(ValueError, ("scale_calculation_mode", "RCEIL", "found CEIL"), lambda: run(
        scale_calculation_mode=ScaleCalculationMode.CEIL))
    for mode in (RCEIL, FLOOR, ScaleCalculationMode.EVEN):
        elements, scales = mxt.quantize_mxfp8(
            a, scale_rounding={"rceil": "ceil"}.get(mode.value, mode.value),
            blocked=False)
        wanted_scales, wanted = to_mx(a, torch.float8_e4m3fn, 32, mode)
        assert torch.equal(elements.view(torch.uint8), wanted.view(torch.uint8)), mode
        assert torch.equal(scales.view(torch.uint8), wanted_scales.view(torch.uint8))
    refuses(ValueError, ("out_dtype", "float16"), lambda: run(out_dtype=torch.float16))
    refuses(ValueError, ("B_t", "K = 64"), lambda: _to_mxfp8_then_scaled_grouped_mm(
        a, w[..., :32].transpose(-2, -1), offs))


class Experts(torch.nn.Module):
    """A router's gate and two matrices for each expert."""

    def __init__(self, device):
        super().__init__()
        self.gate = torch.nn.Linear(64, 64, bias=False, dtype=torch.bfloat16,
                                    device=device)
        self.gate.weight.data = normal((64, 64), device, 15, 0.1)
        self.up = torch.nn.Parameter(normal((3, 96, 64), device, 7, 0.1))
        self.down = torch.nn.Parameter(normal((3, 64, 96), device, 8, 0.1))

    def forward(self, x, offs):
        h = torch._grouped_mm(self.gate(x), self.up.transpose(-2, -1), offs=offs)
        return torch._grouped_mm(torch.relu(h), self.down.transpose(-2, -1), offs=offs)


def modules(device):
    """Applies the training recipes to a module. Each matmul must call `grouped`, torch.compile must trace the whole
    module, and optimizer steps must reduce the loss."""
    x = normal((128, 64), device, 9)
    offs = torch.tensor([32, 32, 128], dtype=torch.int32, device=device)
    for recipe in (MXFP8TrainingRecipe.MXFP8_RCEIL,
                   MXFP8TrainingRecipe.MXFP8_RCEIL_WGRAD_WITH_HP):
        model = Experts(device)
        plain = {name: p.detach().clone() for name, p in model.named_parameters()}
        quantize_(model, MXFP8TrainingOpConfig.from_recipe(recipe),
                  filter_fn=lambda module, name: True)
        y = model(x, offs)
        h = ref.blocked(exact(x)), ref.blocked(exact(plain["gate.weight"]))
        check("gate", model.gate(x), *matmul(*h))
        high = recipe is MXFP8TrainingRecipe.MXFP8_RCEIL_WGRAD_WITH_HP
        h = _to_mxfp8_then_scaled_grouped_mm(
            model.gate(x), plain["up"].transpose(-2, -1), offs, wgrad_with_hp=high)
        h = _to_mxfp8_then_scaled_grouped_mm(
            torch.relu(h), plain["down"].transpose(-2, -1), offs, wgrad_with_hp=high)
        assert torch.equal(y, h)
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        assert torch.equal(compiled(x, offs), y)
        optimizer = torch.optim.SGD(model.parameters(), lr=2)
        losses = []
        for _ in range(4):
            loss = compiled(x, offs).float().square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.8 * losses[0], losses
        torch._dynamo.reset()


def layouts(device):
    """Tests scales rearranged by torchao's reference functions."""
    rng = np.random.default_rng(10)
    a, b = (Matrix(rng, rows, 128, "mxfp8", device) for rows in (224, 48))
    wanted, bound = matmul(a.values, b.values)
    scales = [to_blocked(m.scales) for m in (a, b)]
    y = scaled_mm(a.elements, b.elements.t(), scales[0], MX, scales[1], MX, BLOCKED,
                  BLOCKED, output_dtype=torch.float32)
    check("to_blocked", y, wanted, bound)

    ends = [32, 32, 192, 224]
    offs = torch.tensor(ends, dtype=torch.int32, device=device)
    experts = [Matrix(rng, 48, 128, "mxfp8", device) for _ in ends]
    weights = tensor(np.stack([m.elements.view(torch.uint8).cpu() for m in experts]),
                     torch.float8_e4m3fn, device)
    weight_scales = torch_to_blocked_per_group_3d(
        tensor(np.stack([m.scale_bits for m in experts]), torch.float8_e8m0fnu, device))
    y = scaled_grouped_mm(
        a.elements, weights.transpose(-2, -1),
        torch_to_blocked_2d_M_groups(a.scales, offs)[0], MX, weight_scales, MX, BLOCKED,
        BLOCKED, offs=offs, output_dtype=torch.float32)
    parts = [matmul(a.values[s:e], m.values)
             for s, e, m in zip([0, *ends[:-1]], ends, experts)]
    check("to_blocked of M groups", y, *map(np.concatenate, zip(*parts)))

    c, d = (Matrix(rng, rows, 224, "mxfp8", device) for rows in (130, 48))
    scales = [torch_to_blocked_2d_K_groups(m.scales, offs // 32)[0] for m in (c, d)]
    y = torch._scaled_grouped_mm(c.elements, d.elements.t(), *scales, offs=offs,
                                 out_dtype=torch.bfloat16)
    parts = [matmul(c.values[:, s:e], d.values[:, s:e])
             for s, e in zip([0, *ends[:-1]], ends)]
    check("to_blocked of K groups", y, *map(np.stack, zip(*parts)))


def tensors(device):
    """Tests matmuls of torchao tensors, which call torch._scaled_mm."""
    a, b = normal((70, 96), device, 11), normal((48, 96), device, 12)
    left, right = (MXTensor.to_mx(x, torch.float8_e4m3fn, 32, RCEIL,
                                  KernelPreference.AUTO) for x in (a, b))
    wanted, bound = matmul(*(ref.blocked(exact(x)) for x in (a, b)))
    check("MXTensor", torch.mm(left, right.t()), wanted, bound)
    # In f32, because torchao 0.17 rounds scales to the dtype of x when it dequantizes.
    left, right = (NVFP4Tensor.to_nvfp4(
        x.float(), per_tensor_scale=per_tensor_amax_to_scale(x.abs().max()),
        is_swizzled_scales=True, act_quant_kwargs=QuantizeTensorToNVFP4Kwargs(
            is_swizzled_scales=True)) for x in (a, b))
    values = [exact(x.dequantize(torch.float32)) for x in (left, right)]
    wanted, bound = matmul(*values)
    # torchao multiplies the rounded result by the rounded factor.
    check("NVFP4Tensor", torch.mm(left, right.t()), wanted,
          bound + 2.0 ** -8 * np.abs(wanted))


def inference(device):
    """Tests linear layers with weights quantized once by torchao."""
    x = normal((40, 128), device, 16)
    for dtype, format in ((torch.float8_e4m3fn, "mxfp8"),
                          (torch.float4_e2m1fn_x2, "mxfp4")):
        model = torch.nn.Sequential(torch.nn.Linear(128, 64, dtype=torch.bfloat16,
                                                    device=device))
        model[0].weight.data = normal((64, 128), device, 17)
        weight, bias = exact(model[0].weight), exact(model[0].bias)
        quantize_(model, MXDynamicActivationMXWeightConfig(
            activation_dtype=dtype, weight_dtype=dtype))
        y = model(x)
        wanted, bound = matmul(ref.blocked(exact(x), format), ref.blocked(weight, format))
        check(f"a layer in {format}", y, wanted + bias,
              bound + 2.0 ** -23 * np.abs(wanted))
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        assert torch.equal(compiled(x), y)
        torch._dynamo.reset()


CASES = (grouped, options, modules, layouts, tensors, inference)


def run(device):
    for case in CASES:
        case(device)
        print("ok", case.__name__, flush=True)


def emulated(device):
    """Tests torchao's own emulation."""
    a, w = normal((64, 64), device, 13), normal((2, 32, 64), device, 14)
    offs = torch.tensor([32, 64], dtype=torch.int32, device=device)
    return _to_mxfp8_then_scaled_grouped_mm(
        a, w.transpose(-2, -1), offs, kernel_preference=KernelPreference.EMULATED)


def refused(device):
    """Checks torchao's errors without kernels."""
    a, w = normal((64, 64), device, 13), normal((2, 32, 64), device, 14)
    offs = torch.tensor([32, 64], dtype=torch.int32, device=device)
    return str(refuses(AssertionError, "SM100", _to_mxfp8_then_scaled_grouped_mm, a, w.transpose(-2, -1), offs))
