# REQUIRES: torch
# RUN: %python_torch %s
"""Tests training modules: compares results and all gradients with float64 results of quantized values, and checks
dtypes, autocast, empty inputs, copies and torch.compile."""

import copy
import io
import pickle

import numpy as np
import torch

import mx_compiler.torch as mxt
import reference as ref
from quantized_matmuls import Matmul, distance, exact_matmul
from reference import DEVICE, blocked, exact, near, near_product as check, turn
from refuses import refuses

BF16, F32 = torch.bfloat16, torch.float32


# --- MXLinear ---------------------------------------------------------------------


def operands(recipe):
    return recipe.activations, recipe.weights, recipe.gradients, recipe.scale_rounding


def linear():
    for name in ("mxfp8", "mxfp8_wgrad_with_hp", "mxfp8_e5m2_gradients", "mxfp8_floor",
                 "mxfp8_save_quantized"):
        recipe = mxt.RECIPES[name]
        layer = mxt.MXLinear(96, 64, recipe=name, device=DEVICE)
        with torch.no_grad():
            layer.weight.copy_(ref.tensor((64, 96), 1, F32, spread=2))
        x = ref.tensor((2, 3, 7, 96), 2, spread=2).requires_grad_()
        y = layer(x)
        assert y.shape == (2, 3, 7, 64) and y.dtype == BF16
        dy = ref.tensor(y.shape, 3, spread=2)
        y.backward(dy)
        of_x, of_w, of_dy, rule = operands(recipe)
        X, DY = (exact(t).reshape(-1, t.shape[-1]) for t in (x, dy))
        W = exact(layer.weight)
        layer.bias = None
        check(layer(x).reshape(42, 64), blocked(X, of_x, rule), blocked(W, of_w, rule),
              BF16, name)
        check(x.grad.reshape(X.shape), blocked(DY, of_dy, rule),
              blocked(turn(W), of_w, rule), BF16, f"{name}, dx")
        if recipe.wgrad_high_precision:
            check(layer.weight.grad, turn(DY), turn(X), BF16, f"{name}, dw")
        else:
            check(layer.weight.grad, blocked(turn(DY), of_dy, rule),
                  blocked(turn(X), of_x, rule), F32, f"{name}, dw")


def saved():
    """For the backward pass, x is saved in bytes instead of bf16, or not at all if the weight requires no gradient,
    also under activation checkpointing."""
    x = ref.tensor((320, 96), 2, spread=2).requires_grad_()
    found, plain = {}, {}
    for recipe, into in (("mxfp8_save_quantized", found), ("mxfp8", plain)):
        torch.manual_seed(3)
        layer = mxt.MXLinear(96, 64, bias=False, recipe=recipe, device=DEVICE)
        kept = []
        with torch.autograd.graph.saved_tensors_hooks(
                lambda t: kept.append((t.dtype, tuple(t.shape))) or t, lambda t: t):
            y = layer(x)
        y.backward(torch.ones_like(y))
        into["y"], into["dx"], into["dw"] = y, x.grad, layer.weight.grad
        into["kept"], x.grad = kept, None
        layer.weight.grad = None
        again = torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
        again.backward(torch.ones_like(y))
        assert torch.equal(layer.weight.grad, into["dw"]) and torch.equal(x.grad, into["dx"])
        x.grad = None
    assert torch.equal(found["y"], plain["y"]) and torch.equal(found["dx"], plain["dx"])
    near(found["dw"], exact(plain["dw"]), np.abs(exact(plain["dw"])), F32)
    assert (BF16, (320, 96)) in plain["kept"], plain["kept"]
    assert found["kept"] == [(torch.uint8, (96, 320)), (torch.uint8, (1, 3, 32, 4, 4)),
                             (F32, (64, 96))], found["kept"]


def bias():
    layer = mxt.MXLinear(32, 64, device=DEVICE)
    x, dy = ref.tensor((40, 32), 1), ref.tensor((40, 64), 2)
    y = layer(x)
    y.backward(dy)
    with torch.no_grad():
        alone = mxt.mxfp8_mm(x, layer.weight)
        assert torch.equal(y, alone + layer.bias.to(BF16))
    near(layer.bias.grad, exact(dy).sum(0), np.abs(exact(dy)).sum(0), BF16)


def dtypes():
    """Results have the dtype of x or of autocast. Gradients have the dtype of their tensor."""
    for of_weight in (F32, BF16):
        layer = mxt.MXLinear(32, 64, device=DEVICE, dtype=of_weight)
        for of_x in (F32, BF16, torch.float16):
            x = ref.tensor((8, 32), 1, of_x, spread=1).requires_grad_()
            y = layer(x)
            y.sum().backward()
            assert (y.dtype, x.grad.dtype, layer.weight.grad.dtype,
                    layer.bias.grad.dtype) == (of_x, of_x, of_weight, of_weight)
            near(y.to(BF16), exact(layer(x.detach().to(BF16))), 0)
        with torch.autocast(torch.device(DEVICE).type, BF16):
            assert layer(ref.tensor((8, 32), 1, F32)).dtype == BF16
    x = torch.zeros((0, 5, 32), device=DEVICE, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert y.shape == (0, 5, 64) and x.grad.shape == x.shape
    assert not layer.weight.grad.isnan().any()


# --- Experts ----------------------------------------------------------------------


def reference_experts(x, weights, counts, matmul):
    """Computes one expert after another, with PyTorch's activations."""
    w1, w2, w3 = weights
    parts = []
    for i, rows in enumerate(x.split(counts)):
        gate, up = matmul(rows, torch.cat((w1[i], w3[i]))).chunk(2, -1)
        parts.append(matmul(torch.nn.functional.silu(gate) * up, w2[i]))
    return torch.cat(parts)


def experts():
    """Sums in f32 and f64 may round to different bf16 neighbors. Results must be much nearer to the quantized reference
    than to the exact reference."""
    for counts in ([17, 0, 40, 7], [0, 64, 0, 0], [32, 1, 30, 1]):
        layer = mxt.MXGroupedExperts(64, 96, 4, device=DEVICE)
        torch.manual_seed(1)
        layer.init_weights(0.1)
        x = ref.tensor((64, 64), 2, spread=1).requires_grad_()
        y = layer(x, torch.tensor(counts, device=DEVICE))
        dy = ref.tensor(y.shape, 3, spread=1)
        y.backward(dy)
        found = [y, x.grad, layer.w1.grad, layer.w2.grad, layer.w3.grad]
        assert [t.dtype for t in found] == [BF16, BF16, F32, F32, F32]
        results = []
        for matmul, dtype in ((Matmul.apply, BF16), (exact_matmul, torch.float64)):
            rows = torch.from_numpy(exact(x)).to(dtype).requires_grad_()
            weights = [torch.from_numpy(exact(w)).requires_grad_()
                       for w in (layer.w1, layer.w2, layer.w3)]
            wanted = reference_experts(rows, weights, counts, matmul)
            wanted.backward(dy.cpu().to(dtype))
            results.append([wanted, rows.grad, *(w.grad for w in weights)])
        for name, t, near_one, far in zip("y x w1 w2 w3".split(), found, *results):
            to_quantized, to_exact = distance(t, near_one), distance(t, far)
            assert to_quantized < 0.006, (counts, name, to_quantized)
            assert 0.02 < to_exact < 0.12, (counts, name, to_exact)


def bf16_experts():
    """Checks GroupedExperts, the baseline of the other modules."""
    layer = mxt.GroupedExperts(48, 80, 3, device=DEVICE)
    x, counts = ref.tensor((30, 48), 2, spread=1).requires_grad_(), [11, 0, 19]
    y = layer(x, torch.tensor(counts, device=DEVICE))
    y.square().sum().backward()
    given = [torch.from_numpy(exact(t)).requires_grad_()
             for t in (x, layer.w1, layer.w2, layer.w3)]
    wanted = reference_experts(given[0], given[1:], counts, exact_matmul)
    wanted.square().sum().backward()
    for a, b in zip((y, x.grad, layer.w1.grad, layer.w2.grad, layer.w3.grad),
                    (wanted, *(t.grad for t in given))):
        assert distance(a, b) < 0.01, distance(a, b)


def no_rows():
    layer = mxt.MXGroupedExperts(32, 64, 2, device=DEVICE)
    x = torch.zeros((0, 32), device=DEVICE, requires_grad=True)
    y = layer(x, torch.tensor([0, 0], device=DEVICE))
    y.sum().backward()
    assert y.shape == x.grad.shape == (0, 32)
    for weight in (layer.w1, layer.w2, layer.w3):
        assert (weight.grad == 0).all()


# --- Copies, files, torch.compile -------------------------------------------------


def through_file(layer):
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def copies():
    linear = mxt.MXLinear(64, 32, recipe="mxfp8_floor", device=DEVICE)
    grouped = mxt.MXGroupedExperts(32, 64, 2, "mxfp8_e5m2_gradients", device=DEVICE)
    counts = torch.tensor([3, 5], device=DEVICE)
    for layer, given in ((linear, (ref.tensor((8, 64)),)),
                         (grouped, (ref.tensor((8, 32)), counts))):
        for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)),
                       through_file(layer)):
            assert copied.recipe == layer.recipe
            assert torch.equal(copied(*given), layer(*given))
    assert repr(linear) == ("MXLinear(in_features=64, out_features=32, bias=True, "
                            "recipe=mxfp8_floor)")
    assert repr(grouped) == ("MXGroupedExperts(dim=32, hidden_dim=64, num_experts=2, "
                             "recipe=mxfp8_e5m2_gradients)")


def compiled():
    """Compiles without a graph break. The host skips inductor's code generation because it is slow. On a GPU, inductor
    rounds less often between matmuls."""
    backend, apart = ("aot_eager", 0) if DEVICE == "cpu" else ("inductor", 0.02)
    linear = mxt.MXLinear(64, 32, device=DEVICE)
    grouped = mxt.MXGroupedExperts(32, 64, 2, device=DEVICE)
    counts = torch.tensor([3, 5], device=DEVICE)
    for layer, given in ((linear, (ref.tensor((8, 64)),)),
                         (grouped, (ref.tensor((8, 32)), counts))):
        found = []
        for call in (layer, torch.compile(layer, backend=backend, fullgraph=True)):
            layer.zero_grad()
            x = given[0].clone().requires_grad_()
            y = call(x, *given[1:])
            y.square().sum().backward()
            found.append([y, x.grad, *(p.grad.clone() for p in layer.parameters())])
        for a, b in zip(*found):
            assert a.dtype == b.dtype and distance(a, b) <= apart, distance(a, b)


# --- Errors -----------------------------------------------------------------------


def without_contents():
    """On the device meta, modules return tensors with shapes and dtypes."""
    counts = torch.tensor([3, 5], device="meta")
    for layer, given in ((mxt.MXLinear(64, 32, device="meta"), ()),
                         (mxt.MXGroupedExperts(64, 32, 2, device="meta"), (counts,)),
                         (mxt.MXWeightOnlyLinear(64, 32, device="meta"), ()),
                         (mxt.MXWeightOnlyExperts(64, 32, 2, device="meta"), (counts,))):
        x = torch.empty((8, 64), device="meta", dtype=BF16)
        y = layer(x, *given)
        assert y.is_meta and y.dtype == BF16
        assert y.shape == (8, 64 if given else 32)


def errors():
    linear = mxt.MXLinear(64, 32, device=DEVICE)
    grouped = mxt.MXGroupedExperts(32, 64, 2, device=DEVICE)
    x, counts = ref.tensor((8, 32)), torch.tensor([3, 5], device=DEVICE)
    for kind, text, call in (
        (ValueError, "in_features: expected a multiple of 32, at least 32, found 48",
         lambda: mxt.MXLinear(48, 32)),
        (ValueError, "out_features: expected a multiple of 32, at least 32, found 0",
         lambda: mxt.MXLinear(32, 0)),
        (TypeError, "in_features: expected a number of at least 1, found float",
         lambda: mxt.MXLinear(32.0, 32)),
        (ValueError, "recipe: expected an mx_compiler.torch.Recipe or one of mxfp8,",
         lambda: mxt.MXLinear(32, 32, recipe="mxfp9")),
        (TypeError, "recipe: expected an mx_compiler.torch.Recipe or the name of one, found int",
         lambda: mxt.MXLinear(32, 32, recipe=8)),
        (ValueError, "use mx_compiler.torch.MXWeightOnlyLinear",
         lambda: mxt.MXLinear(32, 32, recipe="mxfp4_weight_only")),
        (ValueError, "use mx_compiler.torch.MXWeightOnlyExperts",
         lambda: mxt.MXGroupedExperts(32, 32, 2, recipe="mxfp4_weight_only")),
        (TypeError, "linear: expected a torch.nn.Linear, found GroupedExperts",
         lambda: mxt.MXLinear.from_linear(mxt.GroupedExperts(32, 32, 1))),
        (TypeError, "module: expected a module with parameters w1, w2 and w3",
         lambda: mxt.MXGroupedExperts.from_experts(torch.nn.Linear(32, 32))),
        (ValueError, "hidden_dim: expected a multiple of 32, at least 32, found 40",
         lambda: mxt.MXGroupedExperts.from_experts(mxt.GroupedExperts(32, 40, 1))),
        (ValueError, "num_experts: expected at least 1, found 0",
         lambda: mxt.MXGroupedExperts(32, 32, 0)),
        (ValueError, "x: expected [..., 64], in_features of the layer, found shape "
         "(8, 32)", lambda: linear(x)),
        (TypeError, "x: expected float32, bfloat16 or float16, found int64",
         lambda: linear(torch.zeros((8, 64), dtype=torch.int64))),
        (TypeError, "x: expected a torch.Tensor, found list", lambda: linear([1.0])),
        (TypeError, "x: expected a dense tensor, found a nested tensor",
         lambda: linear(torch.nested.nested_tensor([x[:3], x[3:]]))),
        (TypeError, "x: expected a dense tensor, found a nested tensor",
         lambda: grouped(torch.nested.nested_tensor([x[:3], x[3:]],
                                                    layout=torch.jagged), counts)),
        (ValueError, "x: expected [rows, 32], sorted by expert, found shape (1, 8, 32)",
         lambda: grouped(x[None], counts)),
        (ValueError, "num_tokens_per_expert: expected [2], a number for each expert, "
         "found shape (3,)", lambda: grouped(x, torch.tensor([1, 2, 5]))),
        (TypeError, "num_tokens_per_expert: expected a tensor of integers, found list",
         lambda: grouped(x, [3, 5])),
        (TypeError, "num_tokens_per_expert: expected a tensor of integers, found float32",
         lambda: grouped(x, counts.float())),
        (ValueError, "weights: expected a format with blocks of 32 that supports matmuls, "
         "found nvfp4", lambda: mxt.Recipe(weights="nvfp4")),
        (ValueError, "gradients: expected one of mxfp8,",
         lambda: mxt.Recipe(gradients="e4m3")),
        (ValueError, "scale_rounding", lambda: mxt.Recipe(scale_rounding="up")),
        (TypeError, "weight_only: expected True or False, found 1",
         lambda: mxt.Recipe(weight_only=1)),
        (ValueError, "wgrad_high_precision: expected False, because weight_only",
         lambda: mxt.Recipe(weight_only=True, wgrad_high_precision=True)),
        (ValueError, "save_quantized: expected False with weight_only",
         lambda: mxt.Recipe(weight_only=True, save_quantized=True)),
        (ValueError, "save_quantized: expected False with wgrad_high_precision",
         lambda: mxt.Recipe(wgrad_high_precision=True, save_quantized=True)),
    ):
        refuses(kind, text, call)


for part in (linear, saved, bias, dtypes, experts, bf16_experts, no_rows, copies, compiled,
             without_contents, errors):
    part()
    print(part.__name__, "right")
