# REQUIRES: torch
# RUN: %python_torch %s
"""Converts models back with mx_compiler.torch.convert_(model, "bf16"). After training recipes, weights have the original
bits; after weight-only recipes, they are dequantized. Covers state dicts, optimizers, hooks, PyTorch's fast paths,
unconverted modules and errors."""

import copy
import warnings

import torch
from torch import nn

import mx_compiler.torch as mxt
import reference as ref
from reference import DEVICE, blocked, exact
from refuses import refuses

BF16, F32 = torch.bfloat16, torch.float32
TRAIN = "mxfp8", "mxfp8_wgrad_with_hp", "mxfp8_e5m2_gradients", "mxfp8_floor"
WEIGHTS = "mxfp8_weight_only", "mxfp6_weight_only", "mxfp4_weight_only"


class Experts(mxt.GroupedExperts):
    """User-defined class that needs an attribute."""

    def __init__(self):
        super().__init__(32, 64, 2)
        self.factor = 2.0

    def forward(self, x, num_tokens_per_expert):
        return self.factor * super().forward(x, num_tokens_per_expert)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(64, 32)
        self.inner = nn.Sequential(nn.Linear(32, 96, bias=False), nn.ReLU(), nn.Linear(96, 32))
        self.experts = Experts()
        self.others = mxt.GroupedExperts(32, 64, 2)
        self.head = nn.Linear(32, 64, bias=False)
        self.head.weight = self.embedding.weight  # tied

    def forward(self, symbols, counts):
        x = self.embedding(symbols)
        x = self.experts(x + self.inner(x), counts) + self.others(x, counts)
        return self.head(x.to(self.head.weight.dtype))


def make():
    torch.manual_seed(5)
    return Model().to(DEVICE)


def batch():
    return torch.arange(40, device=DEVICE) * 7 % 64, torch.tensor([13, 27], device=DEVICE)


def step(model, optimizer):
    loss = model(*batch()).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def round_trip():
    """Converts with each recipe and back, and between recipes."""
    for recipes in (*((name,) for name in TRAIN), TRAIN):
        model, plain = make(), make()
        wanted, parameters = plain(*batch()), dict(model.named_parameters())
        for recipe in recipes:
            mxt.convert_(model, recipe)
            assert not torch.equal(model(*batch()), wanted)
        assert mxt.convert_(model, "bf16", strict=True) is model
        assert [type(m) for m in model.modules()] == [type(m) for m in plain.modules()]
        assert all(vars(a).keys() == vars(b).keys()
                   for a, b in zip(model.modules(), plain.modules()))
        assert torch.equal(model(*batch()), wanted)
        after = dict(model.named_parameters())
        assert after.keys() == parameters.keys()
        assert all(after[n] is parameters[n] for n in after)
        assert model.head.weight is model.embedding.weight
        assert list(model.state_dict()) == list(plain.state_dict())
        plain.load_state_dict(model.state_dict(), strict=True)
        assert repr(model) == repr(plain)
        # Existing modules are kept.
        same = [*model.modules()]
        mxt.convert_(model, "bf16")
        assert [*model.modules()] == same


def optimizers():
    """After the conversion, an existing optimizer makes the same steps as without the conversion."""
    model, plain = make(), make()
    own, other = (torch.optim.AdamW(m.parameters(), lr=1e-2) for m in (model, plain))
    mxt.convert_(model)
    mxt.convert_(model, "bf16")
    assert [step(model, own) for _ in range(3)] == [step(plain, other) for _ in range(3)]
    # The conversion back returns the trained weights.
    mxt.convert_(model)
    step(model, own)
    state = copy.deepcopy(model.state_dict())
    mxt.convert_(model, "bf16")
    assert all(torch.equal(t, state[n]) for n, t in model.state_dict().items())


def dequantized():
    """Restores weights that exist only in quantized form."""
    for recipe in WEIGHTS:
        of = mxt.RECIPES[recipe].weights
        plain = make()
        for dtype in (F32, BF16, torch.float16):
            before = copy.deepcopy(plain).to(dtype)
            model = mxt.convert_(copy.deepcopy(before), recipe)
            bias = model.inner[2].bias
            mxt.convert_(model, "bf16", strict=True)
            assert list(model.state_dict()) == list(before.state_dict())
            assert [type(m) for m in model.modules()] == [type(m) for m in before.modules()]
            assert model.inner[2].bias is bias
            for name, p in model.named_parameters():
                w = dict(before.named_parameters(remove_duplicate=False))[name]
                assert p.dtype == w.dtype == dtype and p.shape == w.shape and p.requires_grad
                if name not in ("embedding.weight", "inner.2.bias"):
                    values = torch.from_numpy(blocked(exact(w.to(BF16)), of)).to(dtype)
                    assert torch.equal(p.cpu(), values), (recipe, dtype, name)
            assert model.head.weight is not model.embedding.weight
        # Weights follow the module to another device. A second conversion preserves the numbers, but it may halve a
        # scale if the largest number was rounded down.
        model = mxt.convert_(copy.deepcopy(plain), recipe)
        numbers = model.head.dequantized()
        mxt.convert_(model.to(BF16), "bf16")
        assert {p.dtype for p in model.parameters()} == {BF16}
        again = mxt.convert_(model, recipe).head.dequantized()
        assert torch.equal(again, numbers), recipe
        # The converted module can be trained.
        mxt.convert_(model, "bf16")
        mxt.convert_(model, "mxfp8")
        step(model, torch.optim.SGD(model.parameters()))


def made_here():
    """Modules created directly become nn.Linear and GroupedExperts."""
    x, counts = ref.tensor((8, 64)), torch.tensor([3, 5], device=DEVICE)
    for module, given, kind in (
        (mxt.MXLinear(64, 32, device=DEVICE, dtype=BF16), (x,), nn.Linear),
        (mxt.MXGroupedExperts(64, 32, 2, device=DEVICE), (x, counts), mxt.GroupedExperts),
        (mxt.MXWeightOnlyLinear(64, 32, device=DEVICE, dtype=BF16), (x,), nn.Linear),
        (mxt.MXWeightOnlyExperts(64, 32, 2, device=DEVICE), (x, counts), mxt.GroupedExperts),
    ):
        module.eval()
        wanted = module(*given)
        plain = mxt.convert_(copy.deepcopy(module), "bf16")
        assert type(plain) is kind and not plain.training
        y = plain(*given)
        assert y.dtype == wanted.dtype and (y - wanted).norm() <= 0.1 * wanted.norm()
        new = kind(64, 32) if kind is nn.Linear else kind(64, 32, 2)
        assert {n: p.shape for n, p in new.named_parameters()} == {
            n: p.shape for n, p in plain.named_parameters()}
        assert vars(new).keys() == vars(plain).keys()


def hooks():
    for recipe in ("mxfp8", "mxfp4_weight_only"):
        model, x = make(), ref.tensor((3, 32), dtype=F32, spread=0)
        before = model.inner[2].register_forward_hook(lambda m, i, o: o + 100)
        mxt.convert_(model, recipe)
        between = model.experts.register_forward_hook(lambda m, i, o: o + 100)
        mxt.convert_(model, "bf16")
        counts = torch.tensor([1, 2], device=DEVICE)
        assert (model.inner(x) > 50).all() and (model.experts(x, counts) > 50).all()
        before.remove()
        between.remove()
        assert (model.inner(x) < 50).all() and (model.experts(x, counts) < 50).all()


def fast_paths():
    """PyTorch's layers read the weights again in eval mode and return the original bits."""
    x = ref.tensor((2, 5, 32), dtype=F32, spread=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")         # warns about unconverted attention
        layer = nn.TransformerEncoderLayer(32, 2, 64, 0.0, batch_first=True)
        plain = nn.TransformerEncoder(layer, 2).to(DEVICE).eval()
        model = copy.deepcopy(plain)
        for recipe in ("mxfp8", "mxfp8_floor", "bf16"):
            mxt.convert_(model, recipe)
            is_back = recipe == "bf16"
            assert model.use_nested_tensor == is_back
            assert all((m.activation_relu_or_gelu > 0) == is_back for m in model.layers)
    with torch.no_grad():
        assert torch.equal(model(x), plain(x))
    assert all(vars(a).keys() == vars(b).keys()
               for a, b in zip(model.modules(), plain.modules()))


def filtered():
    model = mxt.convert_(make())
    mxt.convert_(model, "bf16", filter=lambda module, name: name.startswith("inner"))
    assert type(model.inner[0]) is nn.Linear and type(model.head) is mxt.MXLinear


def errors():
    class Derived(mxt.MXLinear):
        pass

    class Others(nn.Module):
        pass
    derived = nn.Sequential(nn.Linear(32, 32), Derived(32, 32))
    for kind, text, call in (
        (ValueError, "model: expected modules of mx_compiler.torch to convert back, found none",
         lambda: mxt.convert_(nn.Sequential(nn.ReLU()), "bf16")),
        (ValueError, "that the filter accepts, found none",
         lambda: mxt.convert_(mxt.convert_(make()), "bf16", filter=lambda m, name: False)),
        (ValueError, "1 (Derived: expected a class of mx_compiler.torch itself",
         lambda: mxt.convert_(derived, "bf16", strict=True)),
        (ValueError, "w4a8, bf16, found 'bfloat16'",
         lambda: mxt.convert_(make(), "bfloat16")),
        (ValueError, "w4a8, found 'bf16'", lambda: mxt.MXLinear(32, 32, recipe="bf16")),
        (ValueError, "convert this model to 'bf16' first", lambda: mxt.convert_(
            mxt.convert_(make(), "mxfp4_weight_only"), "mxfp8")),
        (TypeError, "strict: expected True or False, found 1",
         lambda: mxt.convert_(make(), strict=1)),
    ):
        refuses(kind, text, call)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        mxt.convert_(derived, "bf16")
    assert len(found) == 1 and type(derived[1]) is Derived
    # Results of register_experts functions are kept.
    mxt.register_experts(Others, lambda module, recipe: nn.Identity())
    model = mxt.convert_(nn.Sequential(Others(), nn.Linear(32, 32)))
    mxt.register_experts(Others, None)
    assert type(mxt.convert_(model, "bf16")[0]) is nn.Identity


for part in (round_trip, optimizers, dequantized, made_here, hooks, fast_paths, filtered,
             errors):
    part()
    print(part.__name__, "right")
