# REQUIRES: torch
# RUN: %python_torch %s
# RUN: env MX_DEVICE=sim MX_CHIP=sm_90a %python_torch %s small
"""Results and gradients of fp8_mm, fp8_grouped_mm and the modules of mxfp8_fast and fp8_block equal numpy bit for bit
(Inputs/promoted_sums.py of the integration tests, docs/reference/Spec.md). A row depends on no other row."""

import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Integration/Run/Inputs"))

import ml_dtypes
import mx_reference as ref
import numpy as np
import promoted_sums as sums
import torch
from torch import nn

import mx_compiler as mx
import mx_compiler.torch as mxt
from reference import DEVICE, tensor
from refuses import refuses

SMALL = "small" in sys.argv
E4, E5 = "f8E4M3FN", "f8E5M2"


def array(x):
    return x.detach().float().cpu().numpy()


def rows(x, scales, element=E4):
    """Quantizes blocks of 128 elements."""
    return quantize(np.ascontiguousarray(x), scales, element, 1)


def quantize(x, scales, element, block_rows):
    if scales == "f32":
        codes, factors = ref.quantize_f32(x, element, "exact", 128, block_rows)
        return sums.Operand(codes, factors.repeat(block_rows, 0)[:len(x)], element, 128)
    return sums.Operand(*ref.quantize(x, element, "ceil", None, block_rows > 1, 128), element, 128)


def weight(x, scales):
    """Quantizes blocks of 128 x 128."""
    return quantize(np.ascontiguousarray(x), scales, E4, 128)


def equal(what, found, expected):
    """Compares with f32 values, rounded once to the type of `found`."""
    if found.dtype == torch.bfloat16:
        expected = expected.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert np.array_equal(array(found), expected), (what, np.abs(array(found) - expected).max())


def pad(x):
    return np.pad(x, ((0, -len(x) % 128), (0, 0)))


def expect(x, weights, dys, ends, scales, element):
    """Returns the results, dx and the gradients of the weights."""
    parts = [np.s_[a:b] for a, b in zip([0, *ends], ends)]
    ys, dws = [np.zeros(dy.shape, np.float32) for dy in dys], [np.zeros(w.shape, np.float32) for w in weights]
    dx = np.zeros(x.shape, np.float32)
    for g, part in enumerate(parts):
        if part.start == part.stop:
            continue
        of_x, by_rows = rows(x[part], scales), rows(pad(x[part]).T, scales)
        for i, (w, dy) in enumerate(zip(weights, dys)):
            ys[i][part] = sums.multiply(of_x, weight(w[g], scales), 128)
            turned = weight(w[g].T, scales)
            dx[part] = dx[part] + sums.multiply(rows(dy[part], scales, element), turned, 128)
            dws[i][g] = sums.multiply(rows(pad(dy[part]).T, scales, element), by_rows, 128)
    return ys, dx, dws


def check(count, inputs, outputs, scales, gradients="mxfp8", kind=torch.bfloat16, ends=None):
    """Compares operators on `count` rows, with expert groups if `ends` are given."""
    element = {"mxfp8": E4, "mxfp8_e5m2": E5}[gradients]
    x = tensor((count, inputs), 1, spread=3).requires_grad_()
    batch = () if ends is None else (len(ends),)
    weights = [tensor((*batch, n, inputs), 2 + n, kind, spread=3).requires_grad_() for n in outputs]
    dys = [tensor((count, n), 5 + n, spread=3) for n in outputs]
    options = dict(scales=scales, gradients=gradients)
    if ends is None:
        ys = [mxt.fp8_mm(x, *weights, **options)]
    else:
        offs = torch.tensor(ends, dtype=torch.int32, device=DEVICE)
        turned = [w.transpose(-2, -1) for w in weights]
        ys = mxt.fp8_grouped_mm(x, turned if len(turned) > 1 else turned[0], offs, **options)
        ys = ys if len(turned) > 1 else [ys]
    torch.autograd.backward(ys, dys)
    of_weights = [array(w).reshape(-1, *w.shape[-2:]) for w in weights]
    expected, dx, dws = expect(array(x), of_weights, [*map(array, dys)], ends or [count], scales, element)
    used = np.s_[:ends[-1]] if ends else ()
    for i, (y, w) in enumerate(zip(ys, weights)):
        equal(f"y{i}", y[used], expected[i][used])
        equal(f"dw{i}", w.grad.reshape(dws[i].shape), dws[i])
    equal("dx", x.grad[used], dx[used])


def rows_alone(scales):
    """A row keeps its bits in any batch."""
    x, w = tensor((150, 256), 1), tensor((128, 256), 2)
    y = mxt.fp8_mm(x, w, scales=scales)
    for part in (np.s_[:1], np.s_[7:72], np.s_[149:]):
        assert torch.equal(mxt.fp8_mm(x[part], w, scales=scales), y[part])
    offs = torch.tensor([0, 40, 150], dtype=torch.int32, device=DEVICE)
    grouped = mxt.fp8_grouped_mm(x, torch.stack((w, w, w)).transpose(-2, -1), offs, scales=scales)
    assert torch.equal(grouped, y)


def modules(recipe):
    """Modules equal the operators, also compiled, checkpointed and with stored weights."""
    scales = mxt.RECIPES[recipe].fp8_scales
    model = nn.Sequential(nn.Linear(256, 128), nn.GELU(), nn.Linear(128, 256, bias=False)).to(DEVICE)
    x = tensor((70, 256), 3, torch.float32)
    mxt.convert_(model, recipe)
    assert recipe in repr(model)
    y = model(x)
    y.square().sum().backward()
    inner = mxt.fp8_mm(x.bfloat16(), model[0].weight, model[0].bias, scales=scales).float()
    assert torch.equal(y, mxt.fp8_mm(nn.functional.gelu(inner).bfloat16(), model[2].weight, scales=scales).float())
    found = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False).square().sum().backward()
    assert all(map(torch.equal, found, [p.grad for p in model.parameters()]))
    if not SMALL:
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
        assert torch.equal(compiled(x), y)
        exported = torch.export.export(model, (x,), dynamic_shapes={"input": {0: torch.export.Dim("rows")}})
        assert torch.equal(exported.module()(x[:33]), model(x[:33]))
    experts = mxt.MXGroupedExperts(256, 128, 3, recipe, device=DEVICE)
    counts = torch.tensor([20, 0, 50], device=DEVICE)
    y = experts(x, counts)
    y.sum().backward()
    gate, up = mxt.fp8_grouped_mm(x.bfloat16(), [w.transpose(-2, -1) for w in (experts.w1, experts.w3)],
                                  counts.cumsum(0).int(), scales=scales)
    h = nn.functional.silu(gate) * up
    assert torch.equal(y, mxt.fp8_grouped_mm(h, experts.w2.transpose(-2, -1), counts.cumsum(0).int(),
                                             scales=scales).float())
    assert all(p.grad.abs().sum() > 0 for p in experts.parameters())


def once():
    """In the context a weight is quantized once, until it changes."""
    model = nn.Sequential(nn.Linear(128, 128), mxt.GroupedExperts(128, 128, 2)).to(DEVICE, torch.bfloat16)
    mxt.convert_(model, "fp8_block")
    x, counts = tensor((40, 128), 1), torch.tensor([10, 30], device=DEVICE)

    def run(x):
        model.zero_grad()
        y = model[1](model[0](x), counts)
        y.float().square().sum().backward()
        return y, *[p.grad for p in model.parameters()]

    wanted = [run(x), run(2 * x)]
    with mxt.quantize_weights_once(model):
        for batch, expected in zip((x, 2 * x), wanted):
            assert all(map(torch.equal, run(batch), expected))
            kept = [module.quantized_once for module in model]
            assert [len(one) for one in kept] == [1, 3]
        before = {**kept[0]}
        with torch.no_grad():
            model[0].weight.mul_(2)
        assert not torch.equal(run(x)[0], wanted[0][0])
        assert all(before[key] is not value for key, value in kept[0].items())
    wrapped = torch.nn.Module()
    wrapped._fsdp_wrapped_module = model[0]
    with mxt.quantize_weights_once(wrapped):
        assert model[0].quantized_once is None
    assert model[0].quantized_once is None and "quantized_once" not in model[0].state_dict()
    refuses(TypeError, "model: expected a torch.nn.Module, found list", lambda: mxt.quantize_weights_once([]).__enter__())


def only_needed():
    """Gradients that are not needed are not computed, and x is then not saved."""
    x, w = tensor((32, 128), 1), tensor((128, 128), 2)
    kept = []

    def keep(t):
        kept.append(0 if t.data_ptr() == w.data_ptr() else t.untyped_storage().nbytes())
        return t

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        y = mxt.fp8_mm(x.requires_grad_(), w)
    assert sum(kept) <= 128 * 128 + 128, kept
    y.sum().backward()
    assert x.grad is not None
    y = mxt.fp8_mm(x.detach(), w.requires_grad_())
    y.sum().backward()
    assert w.grad is not None
    q = mxt.fp8_quantize_weight(w.detach())
    assert torch.equal(mxt.fp8_mm(x.detach(), w, quantized=q), y)
    assert mxt.fp8_mm(x[:0], w).shape == (0, 128)


def errors():
    x, w = tensor((32, 128)), tensor((128, 128))
    refuses(ValueError, "weight: expected a multiple of 128 columns", mxt.fp8_mm, x[:, :96], w[:, :96])
    refuses(ValueError, "scales: expected one of e8m0, f32, found 'f16'", mxt.fp8_mm, x, w, scales="f16")
    refuses(ValueError, "gradients: expected one of mxfp8, mxfp8_e5m2, found 'mxfp4'", mxt.fp8_mm, x, w,
            gradients="mxfp4")
    refuses(ValueError, "in_features: expected a multiple of 128", mxt.MXLinear, 96, 128, recipe="mxfp8_fast")
    refuses(ValueError, "weights: expected mxfp8 with fp8_scales, found mxfp4",
            lambda: mxt.Recipe(fp8_scales="e8m0", weights="mxfp4"))
    q, grouped, u8 = mxt.fp8_quantize_weight(w), w.repeat(2, 1, 1).mT, torch.uint8
    expected = f"quantized: expected {[(u8, (128, 128)), (u8, (1, 1))]}, found ["
    for found, given in (("'tuple', 'tuple'", (q, q)), ("(torch.bfloat16, (128, 128))]: pass", w),
                         ("(torch.uint8, (256, 128))", mxt.fp8_quantize_weight(w.repeat(2, 1))),
                         (f"({u8}, (128, 128)), (torch.float32, (1, 1))", mxt.fp8_quantize_weight(w, scales="f32"))):
        for _ in range(2):
            refuses(ValueError, expected + found, mxt.fp8_mm, x, w, quantized=given)
    refuses(ValueError, f"{(u8, (0,))}]: pass fp8_quantize_weight(weight, scales='e8m0', both=True)", mxt.fp8_mm,
            x.requires_grad_(), w, quantized=mxt.fp8_quantize_weight(w, both=False))
    refuses(TypeError, "quantized: expected a pair, like B_t, found Tensor", mxt.fp8_grouped_mm, x,
            [grouped, grouped], torch.tensor([3, 32]), quantized=w)
    refuses(TypeError, "weight: expected an array of f32, bf16, f16", mxt.fp8_mm, x, w.double())
    os.environ.pop("MX_CHIP", None)
    mx.set_device("sim")
    refuses(ValueError, "scales: expected a chip with FP8 sums in reduced precision, sm_90a", mxt.fp8_mm, x, w)


for scales in ("e8m0", "f32"):
    check(50, 256, (128,), scales)
    rows_alone(scales)
    check(150, 128, (128, 256), scales, ends=[13, 13, 140])
    if not SMALL:
        check(256, 384, (256,), scales, "mxfp8_e5m2", torch.float32)
        check(300, 256, (384,), scales, kind=torch.float32, ends=[0, 128, 128, 300])
for recipe in ("mxfp8_fast", "fp8_block"):
    modules(recipe)
only_needed()
once()
if DEVICE == "cpu":
    errors()
