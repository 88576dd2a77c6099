# REQUIRES: torch
# RUN: %python_torch %s
"""Converts stand-ins for the experts of Hugging Face Transformers, in each layout of each release. Results and
gradients are compared with float64 results of the quantized values. Covers tokens without an expert, conversion back,
and unknown experts."""

import copy
import warnings

import torch
from torch import nn
from torch.nn.utils import prune

import hugging_face as hf
import mx_compiler.torch as mxt
import reference as ref
from quantized_matmuls import Matmul, distance, exact_matmul
from reference import DEVICE, blocked, exact
from refuses import refuses

HIDDEN, INNER, EXPERTS, K, TOKENS = 64, 96, 5, 2, 40
BF16, F32, F64 = torch.bfloat16, torch.float32, torch.float64
SIZES = HIDDEN, INNER, EXPERTS


def fused():
    """Returns experts with a shared parameter, keyed by name."""
    found = {"mixtral": hf.MixtralExperts(*SIZES), "qwen3": hf.Qwen3MoeExperts(*SIZES),
             "gpt-oss": hf.GptOssExperts(*SIZES),
             "gpt-oss 4": hf.GptOssExperts(*SIZES, is_new=False)}
    return {name: hf.randomize(module).to(DEVICE) for name, module in found.items()}


def inputs(name, k=K):
    """Draws tokens and their experts; expert 3 is never chosen."""
    generator = torch.Generator().manual_seed(3)
    among = torch.tensor([0, 1, 2, 4]) if k < EXPERTS else torch.arange(EXPERTS)
    chosen = torch.stack([among[torch.randperm(len(among), generator=generator)[:k]]
                          for _ in range(TOKENS)])
    weights = torch.rand(TOKENS, k, generator=generator)
    if name == "gpt-oss 4":
        weights = torch.zeros(TOKENS, EXPERTS).scatter(1, chosen, weights)
    return [x.to(DEVICE) for x in (ref.tensor((TOKENS, HIDDEN), 2, F32, spread=1), chosen,
                                   weights)]


def reference(module, x, chosen, weights, matmul, dtype, as_multiplied=lambda w: w):
    """Runs one expert after another. Returns y, and the parameters, input and weights with their gradients."""
    given = {name: torch.from_numpy(exact(p)).requires_grad_()
             for name, p in module.named_parameters()}
    rows = torch.from_numpy(exact(x)).to(dtype).requires_grad_()
    share = torch.from_numpy(exact(weights)).requires_grad_()
    is_gpt = "gate_up_proj_bias" in given
    y = torch.zeros(TOKENS, HIDDEN, dtype=F64)
    for e in range(EXPERTS):
        token, place = torch.where(chosen.cpu() == e)
        matrices = [given[name][e].T if is_gpt else given[name][e]
                    for name in ("gate_up_proj", "down_proj")]
        gate_up, down = map(as_multiplied, matrices)
        h = matmul(rows[token], gate_up)
        if is_gpt:
            h = h.double() + given["gate_up_proj_bias"][e]
            gate, up = h[:, ::2].clamp(max=7.0), h[:, 1::2].clamp(-7.0, 7.0)
            h = gate * torch.sigmoid(1.702 * gate) * (up + 1)
        else:
            gate, up = h.chunk(2, -1)
            h = module.act_fn(gate) * up
        h = matmul(h.to(dtype), down).double()
        if is_gpt:
            h = h + given["down_proj_bias"][e]
        of = share[token, e] if share.shape[1] == EXPERTS != K else share[token, place]
        y = y.index_add(0, token, h * of[:, None])
    return given, rows, share, y


def trains():
    for name, plain in fused().items():
        model = mxt.convert_(copy.deepcopy(plain), "mxfp8")
        assert type(model).__module__.startswith("mx_compiler.torch"), model
        x, chosen, weights = inputs(name)
        x, weights = x.requires_grad_(), weights.requires_grad_()
        y = model(x, chosen, weights)
        dy = ref.tensor(y.shape, 5, F32, spread=1)
        y.backward(dy)
        found = [y, x.grad, weights.grad, *(p.grad for p in model.parameters())]
        assert all(t.dtype == F32 for t in found)
        results = []
        for matmul, dtype in ((Matmul.apply, BF16), (exact_matmul, F64)):
            given, rows, share, wanted = reference(plain, x, chosen, weights, matmul, dtype)
            wanted.backward(torch.from_numpy(exact(dy)))
            results.append([wanted, rows.grad, share.grad, *(p.grad for p in given.values())])
        for what, t, near, far in zip(("y", "x", "weights", *given), found, *results):
            apart = distance(t, near), distance(t, far)
            # Between the matmuls, bf16 rounding may give an adjacent value. The gradient of the second matmul's biases
            # is the unquantized sum of dy.
            assert apart[0] < 0.01, (name, what, apart)
            assert what == "down_proj_bias" or 0.015 < apart[1] < 0.12, (name, what, apart)
        assert model.state_dict().keys() == plain.state_dict().keys()
        assert all(a is b for a, b in zip(mxt.convert_(model, "bf16").parameters(),
                                          model.parameters()))


def weight_only():
    for recipe in ("mxfp8_weight_only", "mxfp4_weight_only"):
        of = mxt.RECIPES[recipe].weights
        for name, plain in fused().items():
            model = mxt.convert_(copy.deepcopy(plain), recipe)
            x, chosen, weights = inputs(name)
            x = x.to(BF16).requires_grad_()
            y = model(x, chosen, weights)
            assert y.dtype == BF16
            dy = ref.tensor(y.shape, 5)
            y.backward(dy)

            def multiplied(w):
                return torch.from_numpy(blocked(exact(w.to(BF16)), of))
            _, rows, _, wanted = reference(plain, x, chosen, weights, exact_matmul, F64,
                                           multiplied)
            wanted.backward(torch.from_numpy(exact(dy)))
            with torch.no_grad():
                quick = model(x.float(), chosen, weights.half())
            assert quick.dtype == F32
            for a, b in ((y, wanted), (quick, wanted), (x.grad, rows.grad)):
                assert distance(a, b) < 0.01, (recipe, name, distance(a, b))
            # A state dict of floats is quantized, in the layout of Transformers.
            state = copy.deepcopy(model.state_dict())
            other = mxt.convert_(_zeros(plain), recipe)
            other.load_state_dict(plain.state_dict())
            assert all(torch.equal(t, state[n]) for n, t in other.state_dict().items())
            if name == "gpt-oss":           # created without a module of Transformers
                other = mxt.MXWeightOnlyGptOssExperts(EXPERTS, HIDDEN, INNER, recipe, device=DEVICE)
                other.load_state_dict(state)
                assert distance(other(x, chosen, weights), y) < 0.01
            # The conversion back returns the dequantized weights in the original dtype.
            back = mxt.convert_(model, "bf16")
            assert type(back) is type(plain)
            assert {n: p.shape for n, p in back.named_parameters()} == {
                n: p.shape for n, p in plain.named_parameters()}
            for n in ("gate_up_proj", "down_proj"):
                p = getattr(plain, n)
                is_gpt = "gpt" in name
                k_major = p.transpose(-2, -1) if is_gpt else p
                values = blocked(exact(k_major.to(BF16)), of)
                found = exact(getattr(back, n))
                assert getattr(back, n).dtype == F32
                assert (found == (values.swapaxes(-2, -1) if is_gpt else values)).all()
            assert distance(back(x.float(), chosen, weights), wanted) < 1e-5


def _zeros(plain):
    zeros = copy.deepcopy(plain)
    with torch.no_grad():
        for p in zeros.parameters():
            p.zero_()
    return zeros


def without_experts():
    """Ids past the last expert select no expert, as with experts on several devices."""
    for name, plain in fused().items():
        if name == "gpt-oss 4":
            continue                # these experts take one weight per expert
        for recipe in ("mxfp8", "mxfp4_weight_only"):
            model = mxt.convert_(copy.deepcopy(plain), recipe)
            x, chosen, weights = inputs(name)
            chosen[:, 1] = EXPERTS
            chosen[5] = EXPERTS
            x, weights = x.requires_grad_(), weights.requires_grad_()
            y = model(x, chosen, weights)
            y.sum().backward()
            for gradients in False, True:
                with torch.set_grad_enabled(gradients):
                    y = model(x, chosen, weights)
                    alone = model(x, chosen[:, :1], weights[:, :1])
                    empty = model(x[:0], chosen[:0], weights[:0])
                assert empty.shape == (0, HIDDEN)
                assert torch.equal(y, alone) and (y[5] == 0).all()
            assert (x.grad[5] == 0).all() and (weights.grad[:, 1] == 0).all()
            assert torch.isfinite(x.grad).all() and torch.isfinite(weights.grad).all()


def without_gradients():
    """Hooks, other functions, limits and biases change results as in calls with gradients."""
    for name in "gpt-oss", "mixtral":
        plain = fused()[name].to(BF16)
        x, chosen, weights = inputs(name)
        chosen[0, 1], weights[0, 1] = -1, torch.inf

        def change(function):
            model = mxt.convert_(copy.deepcopy(plain), "mxfp4_weight_only")
            function(model)
            y = model(x.to(BF16), chosen, weights)
            with torch.no_grad():
                torch.testing.assert_close(model(x.to(BF16), chosen, weights), y, rtol=0.02, atol=0.02, equal_nan=True)

        change(lambda model: None)
        if name == "mixtral":
            change(lambda model: setattr(model, "act_fn", nn.GELU()))
            change(lambda model: model.act_fn.register_forward_hook(lambda *given: 2 * given[2]))
            continue
        for value in (0.5, -1, torch.inf, 3, torch.tensor(2.0, device=DEVICE)):
            change(lambda model: setattr(model, "limit", value))
            change(lambda model: setattr(model, "alpha", value))
        change(lambda model: [prune.identity(model, f"{part}_proj_bias") for part in ("gate_up", "down")])
        model = mxt.convert_(copy.deepcopy(plain), "mxfp4_weight_only")
        with torch.no_grad():
            compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
            for model.alpha in 1.5, 0.5:
                assert torch.equal(compiled(x, chosen, weights)[1:], model(x, chosen, weights)[1:])


def all_chosen():
    """Each token selects all experts, so only the release determines whether a weight belongs to a choice or an
    expert."""
    for name, plain in fused().items():
        model = mxt.convert_(copy.deepcopy(plain), "mxfp8")
        given = inputs(name, EXPERTS)
        assert distance(model(*given), plain(*given)) < 0.1, name
        model(*inputs(name))
    new, old = (fused()[name] for name in ("gpt-oss", "gpt-oss 4"))
    x, chosen, weights = inputs("gpt-oss", EXPERTS)
    of_experts = torch.zeros_like(weights).scatter(1, chosen, weights)
    a, b = (mxt.convert_(m, "mxfp8") for m in (new, old))
    assert torch.equal(a(x, chosen, weights), b(x, chosen, of_experts))


def more_dimensions():
    """Before release 5, gpt-oss's experts take tensors with batch and sequence dimensions."""
    model = mxt.convert_(fused()["gpt-oss 4"], "mxfp8")
    x, chosen, weights = inputs("gpt-oss 4")
    y = model(x.view(4, 10, HIDDEN), router_indices=chosen, routing_weights=weights)
    assert torch.equal(y.view(TOKENS, HIDDEN), model(x, chosen, weights))


def lists():
    """Each linear layer of an expert is replaced, but the router is not."""
    x = ref.tensor((2, 20, HIDDEN), 2, F32, spread=1)
    for cls in (hf.MixtralSparseMoeBlock, hf.Qwen3MoeSparseMoeBlock):
        # The number of experts equals the block size, so the router could also be quantized.
        plain = hf.randomize(cls(HIDDEN, INNER, 32, K)).to(DEVICE)
        for recipe, bound in (("mxfp8", 0.1), ("mxfp4_weight_only", 0.4)):
            seen = []
            model = mxt.convert_(copy.deepcopy(plain), recipe, strict=True,
                                filter=lambda module, name: not seen.append(name))
            assert type(model.gate) is nn.Linear and "gate" not in seen
            assert len(seen) == 3 * 32
            layers = [m for m in model.experts.modules() if isinstance(m, nn.Module)
                      and hasattr(m, "recipe")]
            assert len(layers) == 3 * 32
            with torch.no_grad():
                (y, logits), (wanted, same) = model(x), plain(x)
            assert torch.equal(logits, same)
            assert 0.01 < distance(y, wanted) < bound, (cls, recipe, distance(y, wanted))
        back = mxt.convert_(mxt.convert_(copy.deepcopy(plain), "mxfp8"), "bf16")
        assert torch.equal(back(x)[0], plain(x)[0])
        # Gradients reach each selected expert.
        model = mxt.convert_(copy.deepcopy(plain), "mxfp8")
        dy = ref.tensor(x.shape, 5, F32, spread=1)
        for m in (model, plain):
            m(x)[0].backward(dy)
        for (name, p), q in zip(model.named_parameters(), plain.parameters()):
            assert (p.grad is None) == (q.grad is None), name
            if q.grad is not None and q.grad.norm() > 0:
                assert distance(p.grad, q.grad) < 0.2, (name, distance(p.grad, q.grad))


def replaced():
    """Checks another recipe, copies, hooks, and the repr of a model."""
    model = nn.ModuleDict({"experts": fused()["mixtral"], "head": nn.Linear(64, 64)}).to(DEVICE)
    plain = copy.deepcopy(model)
    given = inputs("mixtral")
    calls = []
    model["experts"].register_forward_hook(lambda *_: calls.append(1))
    mxt.convert_(model, "mxfp8")
    mxt.convert_(model, "mxfp8_floor", strict=True)
    assert str(model["experts"].recipe) == "mxfp8_floor"
    assert "experts=5, hidden=64, recipe=mxfp8_floor" in repr(model)
    copied = copy.deepcopy(model)
    assert torch.equal(copied["experts"](*given), model["experts"](*given)) and len(calls) == 2
    same = [*model.modules()]
    mxt.convert_(model, "mxfp8_floor")
    assert [*model.modules()] == same
    mxt.convert_(model, "bf16")
    assert type(model["experts"]) is hf.MixtralExperts
    assert torch.equal(model["experts"](*given), plain["experts"](*given)) and len(calls) == 3
    assert vars(model["experts"]).keys() == vars(plain["experts"]).keys()


def left_alone():
    """Experts of unknown classes, and of known classes with unexpected contents."""
    def changed(**attributes):
        module = fused()["mixtral"]
        for name, value in attributes.items():
            setattr(module, name, value)
        return module
    shifted = nn.Parameter(torch.zeros(EXPERTS, INNER + 32, HIDDEN))
    without = fused()["gpt-oss"]
    del without.limit
    thin = hf.MixtralExperts(48, 96, 2)
    patched = fused()["mixtral"]
    patched.forward = patched.forward
    for module, text in (
        (hf.UnknownExperts(*SIZES), "UnknownExperts: expected experts of a known class, found an unknown class with "
         f"parameters {', '.join(hf.UnknownExperts(*SIZES)._parameters)}: register it with mx_compiler.torch.register_experts"),
        (changed(is_transposed=True), "is_transposed: expected False, found True"),
        (changed(has_gate=False), "has_gate: expected True, found False"),
        (changed(down_proj=shifted), "gate_up_proj, down_proj: expected matrices"),
        (changed(down_proj_bias=nn.Parameter(torch.zeros(5, 64))), "parameters: expected "
         "gate_up_proj, down_proj, found gate_up_proj, down_proj, down_proj_bias"),
        (without, "limit: expected an attribute of GptOssExperts, found none"),
        (thin, "hidden size: expected a multiple of 32, at least 32, found 48"),
        (patched, "forward: expected the method of the class, found a function that was set on"),
    ):
        model = nn.ModuleDict({"mlp": module, "head": nn.Linear(32, 32)})
        refuses(ValueError, "nothing was replaced", mxt.convert_, model, strict=True)
        assert type(model["head"]) is nn.Linear
        refuses(ValueError, text, mxt.convert_, model, strict=True)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            mxt.convert_(model)
        assert len(found) == 1 and f"mlp ({type(module).__name__}" in str(found[0].message)
        assert text in str(found[0].message), found[0].message
        assert model["mlp"] is module and type(model["head"]) is mxt.MXLinear
    # A module is not an expert module just because its parameters have 3 dimensions.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)      # the function is deprecated
        convolution = nn.utils.weight_norm(nn.Conv1d(8, 8, 3))
    model = nn.ModuleList([convolution, nn.Linear(32, 32)])
    mxt.convert_(model, strict=True)
    # A filter silences the warning, and register_experts replaces the modules.
    model = nn.ModuleDict({"mlp": hf.UnknownExperts(*SIZES), "head": nn.Linear(32, 32)})
    mxt.convert_(copy.deepcopy(model), strict=True, filter=lambda module, name: name != "mlp")
    mxt.register_experts(hf.UnknownExperts, lambda module, recipe: nn.Identity())
    mxt.convert_(model, strict=True)
    mxt.register_experts(hf.UnknownExperts, None)
    assert type(model["mlp"]) is nn.Identity


def errors():
    model = mxt.convert_(fused()["gpt-oss"], "mxfp8")
    x, chosen, weights = inputs("gpt-oss")
    for kind, text, call in (
        (ValueError, "hidden_states: expected [..., 64]", lambda: model(x[:, :32], chosen, weights)),
        (TypeError, "hidden_states: expected a torch.Tensor", lambda: model([1], chosen, weights)),
        (TypeError, "indices of experts: expected a tensor, found NoneType", lambda: model(x)),
        (ValueError, "indices of experts: expected integers of shape (40, k), k at least 1, found float32",
         lambda: model(x, weights, weights)),
        (ValueError, "shape (40, k), k at least 1, found int64 of shape (39, 2)",
         lambda: model(x, chosen[1:], weights)),
        (ValueError, "found int64 of shape (40, 0)", lambda: model(x, chosen[:, :0], weights[:, :0])),
        (TypeError, "weights of experts: expected float32, bfloat16, float16 or float64, found int64",
         lambda: model(x, chosen, chosen)),
        (ValueError, "weights of experts: expected shape (40, 2), one for each index, or "
         "(40, 5), one for each expert, found (40, 3)",
         lambda: model(x, chosen, torch.ones(40, 3, device=DEVICE))),
    ):
        refuses(kind, text, call)


for part in (trains, weight_only, without_experts, without_gradients, all_chosen, more_dimensions, lists,
             replaced, left_alone, errors):
    part()
    print(part.__name__, "right")
