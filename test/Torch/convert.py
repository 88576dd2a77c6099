# REQUIRES: torch
# RUN: %python_torch %s
"""Tests mx_compiler.torch.convert_: replaced and unconverted modules, errors, preserved parameters and optimizers, and
state dicts in both directions."""

import copy
import warnings

import torch
from torch import nn

import mx_compiler.torch as mxt
import reference as ref
from reference import DEVICE
from refuses import refuses


class Experts(nn.Module):
    """Experts like torchtitan's. `convert_` recognizes them by their parameters and their forward method."""

    def __init__(self, dim=32, hidden=64):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(2, hidden, dim) / 8)
        self.w2 = nn.Parameter(torch.randn(2, dim, hidden) / 8)
        self.w3 = nn.Parameter(torch.randn(2, hidden, dim) / 8)

    def forward(self, x, num_tokens_per_expert):
        return mxt.GroupedExperts.forward(self, x, num_tokens_per_expert)

    num_experts, _multiply = mxt.GroupedExperts.num_experts, mxt.GroupedExperts._multiply


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(64, 32)
        self.inner = nn.Sequential(nn.Linear(32, 96, bias=False), nn.ReLU(),
                                   nn.Linear(96, 32))
        self.experts = Experts()
        self.head = nn.Linear(32, 64, bias=False)
        self.head.weight = self.embedding.weight  # tied

    def forward(self, symbols, counts):
        x = self.embedding(symbols)
        return self.head(self.experts(x + self.inner(x), counts))


def make():
    torch.manual_seed(5)
    return Model().to(DEVICE)


def batch():
    symbols = torch.arange(40, device=DEVICE) * 7 % 64
    return symbols, torch.tensor([13, 27], device=DEVICE)


def step(model, optimizer):
    loss = model(*batch()).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def kinds(model):
    return [type(m).__name__ for m in (model.inner[0], model.inner[2], model.experts,
                                       model.head)]


def replaced():
    model = make()
    parameters = dict(model.named_parameters())
    assert mxt.convert_(model) is model
    assert kinds(model) == ["MXLinear", "MXLinear", "MXGroupedExperts", "MXLinear"]
    after = dict(model.named_parameters())
    assert after.keys() == parameters.keys()
    assert all(after[n] is parameters[n] for n in after)
    assert model.head.weight is model.embedding.weight
    # A second conversion changes nothing; another recipe replaces the first.
    same = [*model.modules()]
    mxt.convert_(model, mxt.Recipe())
    assert [*model.modules()] == same
    mxt.convert_(model, "mxfp8_e5m2_gradients")
    assert str(model.experts.recipe) == str(model.head.recipe) == "mxfp8_e5m2_gradients"
    assert model.head.weight is parameters["embedding.weight"]
    step(model, torch.optim.SGD(model.parameters()))
    mxt.convert_(model, "mxfp4_weight_only")
    assert kinds(model) == ["MXWeightOnlyLinear", "MXWeightOnlyLinear",
                            "MXWeightOnlyExperts", "MXWeightOnlyLinear"]
    assert [*dict(model.named_parameters())] == ["embedding.weight", "inner.2.bias"]
    with torch.no_grad():
        assert model(*batch()).shape == (40, 64)
    same = [*model.modules()]
    mxt.convert_(model, "mxfp4_weight_only")
    assert [*model.modules()] == same
    refuses(ValueError, "expected floating-point weights, found weights of mxfp4_weight_only",
            mxt.convert_, model, "mxfp8")


def of_the_root():
    linear = nn.Linear(32, 64, device=DEVICE).eval()
    calls = []
    linear.register_forward_hook(lambda *_: calls.append(1))
    new = mxt.convert_(linear)
    assert type(new) is mxt.MXLinear and new.weight is linear.weight
    assert not new.training
    new(ref.tensor((3, 32)))
    assert calls == [1]
    assert type(linear) is nn.Linear


def hooks():
    """Hooks survive the conversion with every recipe, and handles created before the conversion still remove them."""
    for recipe in ("mxfp8", "mxfp4_weight_only"):
        model, x = make(), ref.tensor((3, 32), dtype=torch.float32, spread=0)
        of_linear = model.inner[2].register_forward_hook(lambda m, i, o: o + 100)
        of_inputs = model.inner[0].register_forward_pre_hook(lambda m, i: (i[0] * 0,))
        of_experts = model.experts.register_forward_hook(lambda m, i, o: o + 100)
        mxt.convert_(model, recipe)
        y = model.inner(x)
        assert (y > 50).all() and torch.equal(y[0], y[1])
        counts = torch.tensor([1, 2], device=DEVICE)
        assert (model.experts(x, counts) > 50).all()
        for handle in (of_linear, of_inputs, of_experts):
            handle.remove()
        y = model.inner(x)
        assert (y < 50).all() and not torch.equal(y[0], y[1])
        assert (model.experts(x, counts) < 50).all()


def compiled_layers():
    """After Module.compile, a layer would still call the replaced layer, so the conversion must update it."""
    x = ref.tensor((3, 32))
    for recipe in ("mxfp8", "mxfp4_weight_only"):
        plain = nn.Sequential(nn.Linear(32, 64)).to(DEVICE)
        wanted = mxt.convert_(copy.deepcopy(plain), recipe)(x)
        plain[0].compile(backend="eager")
        assert torch.equal(mxt.convert_(plain, recipe)(x), wanted)


def computed_weights():
    """Weights computed by a hook before each call are not quantized at conversion."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")         # the function is deprecated
        plain, other = (nn.Sequential(nn.utils.weight_norm(nn.Linear(32, 32))).to(DEVICE)
                        for _ in range(2))
    x = ref.tensor((3, 32), dtype=torch.float32)
    wanted = plain(x)
    trains = mxt.convert_(plain)
    assert (trains(x) - wanted).norm() < 0.1 * wanted.norm()
    with torch.no_grad():
        trains[0].weight_g.mul_(4)
    assert (trains(x) - wanted).norm() > wanted.norm()
    refuses(ValueError, "weight: expected a parameter, found a tensor that a hook computes",
            mxt.convert_, other, "mxfp4_weight_only")


def transformer():
    """In eval mode, PyTorch's fast paths must not read the weights instead of calling the converted layers."""
    x = ref.tensor((2, 5, 32), dtype=torch.float32, spread=0)
    mask = torch.zeros((2, 5), dtype=torch.bool, device=DEVICE)
    mask[1, 3:] = True
    for recipe in ("mxfp8", "mxfp4_weight_only"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")     # warns about unconverted attention
            layer = nn.TransformerEncoderLayer(32, 2, 64, 0.0, batch_first=True)
            plain = nn.TransformerEncoder(layer, 2).to(DEVICE)
            model = mxt.convert_(copy.deepcopy(plain), recipe)
            for how in ({}, {"src_key_padding_mask": mask}):
                with torch.no_grad():
                    trains = model.train()(x, **how)[0]
                    floats = plain.eval()(x, **how)[0]
                    found = model.eval()(x, **how)[0]
                # Attention is computed in another order in eval mode.
                apart = [(found - other).norm() / found.norm()
                         for other in (trains, floats)]
                assert apart[0] < apart[1] / 4 and apart[1] > 0.003, (recipe, apart)


def shared():
    linear = nn.Linear(32, 32, device=DEVICE)
    model = mxt.convert_(nn.ModuleList([linear, nn.Sequential(linear)]))
    assert model[0] is model[1][0] and type(model[0]) is mxt.MXLinear


def filtered():
    model, seen = make(), []

    def filter(module, name):
        seen.append((type(module).__name__, name))
        return name != "head"
    mxt.convert_(model, filter=filter)
    assert seen == [("Linear", "inner.0"), ("Linear", "inner.2"), ("Experts", "experts"),
                    ("Linear", "head")]
    assert kinds(model) == ["MXLinear", "MXLinear", "MXGroupedExperts", "Linear"]


def left_alone():
    model = nn.ModuleDict({"fits": nn.Linear(32, 32), "thin": nn.Linear(32, 10),
                           "attention": nn.MultiheadAttention(32, 2),
                           "experts": Experts(32, 40)})
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        mxt.convert_(model)
    assert len(found) == 1 and found[0].category is UserWarning
    assert found[0].filename == __file__
    message = str(found[0].message)
    for text in ("thin (Linear: out_features: expected a multiple of 32, at least 32, "
                 "found 10)", "attention.out_proj (NonDynamicallyQuantizableLinear: "
                 "expected the class nn.Linear itself",
                 "experts (Experts: hidden_dim: expected a multiple of 32"):
        assert text in message, (text, message)
    assert message.endswith("; they keep their own dtype"), message
    assert "fits" not in message and type(model["fits"]) is mxt.MXLinear
    assert type(model["thin"]) is nn.Linear and type(model["experts"]) is Experts


def reasons():
    """Each reason is reported once, with a remedy and the names of the first affected modules."""
    ones = nn.ModuleList([nn.Linear(32, 32), nn.Linear(32, 32).double(), nn.LazyLinear(32),
                          nn.utils.parametrizations.weight_norm(nn.Linear(32, 32)),
                          *(nn.Linear(33, 32) for _ in range(40))])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        mxt.convert_(ones)
    message = str(found[0].message)
    for text in ("1 (Linear: weight: expected float32, bfloat16 or float16, found float64: call "
                 ".float() on the model before)",
                 "2 (LazyLinear: expected the class nn.Linear itself: run a batch through the "
                 "model first", "3 (ParametrizedLinear: expected the class nn.Linear itself: "
                 "call torch.nn.utils.parametrize.remove_parametrizations first",
                 "4, 5, 6, 7, 8, 9, 10, 11 and 32 more (Linear: in_features: expected a "
                 "multiple of 32, at least 32, found 33)"):
        assert message.count(text) == 1, (text, message)
    # The remedy works.
    ones[1].float()
    ones[2](torch.zeros(1, 32))
    nn.utils.parametrize.remove_parametrizations(ones[3], "weight")
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        mxt.convert_(ones)
    assert [type(m) for m in ones[:5]] == [mxt.MXLinear] * 4 + [nn.Linear]
    experts = Experts().double()
    refuses(ValueError, "(Experts: w1: expected float32, bfloat16 or float16, found "
            "float64", mxt.convert_, experts)


def registered():
    class Others(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(32, 32)
            self.bank = nn.Parameter(torch.zeros(2, 3, 4))

    def from_others(module, recipe):
        assert type(module) is Others and recipe == mxt.RECIPES["mxfp8"]
        return nn.Identity()

    mxt.register_experts(Others, from_others)
    model = nn.ModuleDict({"a": Others(), "b": nn.Linear(32, 32)})
    mxt.convert_(model)
    assert type(model["a"]) is nn.Identity and type(model["b"]) is mxt.MXLinear
    mxt.register_experts(Others, lambda module, recipe: None)
    refuses(TypeError, "from_experts of Others: expected to return a torch.nn.Module, "
            "found NoneType", mxt.convert_, nn.ModuleDict({"a": Others()}))
    mxt.register_experts(Others, None)
    other = nn.ModuleDict({"a": Others()})
    mxt.convert_(other)
    assert type(other["a"]) is Others and type(other["a"].gate) is mxt.MXLinear


def other_experts():
    """Experts with other parameter names stay unconverted, and the message tells how to register them."""
    class Bank(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate_up_proj = nn.Parameter(torch.zeros(2, 64, 32))
            self.down_proj = nn.Parameter(torch.zeros(2, 32, 32))
            self.down_bias = nn.Parameter(torch.zeros(2, 32))

    advice = ("(Bank: expected experts of a known class, found an unknown class with "
              "parameters gate_up_proj, down_proj: register it with mx_compiler.torch.register_experts)")
    refuses(ValueError, f"found none; left as they are: the model {advice}", mxt.convert_, Bank())
    model = nn.ModuleDict({"bank": Bank(), "linear": nn.Linear(32, 32)})
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        mxt.convert_(model, filter=lambda module, name: name != "bank")
        assert not found
        mxt.convert_(model)
    assert len(found) == 1 and f"bank {advice}" in str(found[0].message), found
    # Modules that are not experts are not mistaken for experts.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mxt.convert_(nn.ModuleList([nn.Linear(32, 32), nn.Conv1d(4, 4, 3), nn.Bilinear(3, 4, 5), nn.RReLU()]))
    model = nn.ModuleList([nn.Linear(32, 32), nn.MultiheadAttention(32, 2, add_bias_kv=True)])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        mxt.convert_(model)
    assert "register_experts" not in str([str(w.message) for w in found])
    mxt.register_experts(Bank, lambda module, recipe: nn.Identity())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert type(mxt.convert_(Bank())) is nn.Identity
    mxt.register_experts(Bank, None)


def state_dicts():
    plain, converted = make(), mxt.convert_(make())
    assert plain.state_dict().keys() == converted.state_dict().keys()
    optimizers = [torch.optim.AdamW(m.parameters(), lr=1e-2) for m in (plain, converted)]
    for a, b in ((0, 1), (1, 0)):
        models = (plain, converted)
        step(models[a], optimizers[a])
        models[b].load_state_dict(models[a].state_dict(), strict=True)
        optimizers[b].load_state_dict(copy.deepcopy(optimizers[a].state_dict()))
        for x, y in zip(plain.parameters(), converted.parameters()):
            assert torch.equal(x, y) and x.dtype == y.dtype and x.shape == y.shape
        # The optimizer state still belongs to the same parameters: equal gradients change both models equally.
        twins = copy.deepcopy(plain), copy.deepcopy(converted)
        for twin, optimizer in zip(twins, optimizers):
            again = torch.optim.AdamW(twin.parameters(), lr=1e-2)
            again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
            for p in twin.parameters():
                p.grad = torch.ones_like(p)
            again.step()
        for x, y in zip(*(twin.parameters() for twin in twins)):
            assert torch.equal(x, y)


def trains():
    """An existing optimizer updates the parameters, and losses decrease as before."""
    plain, converted = make(), make()
    optimizers = [torch.optim.AdamW(m.parameters(), lr=3e-3)
                  for m in (plain, converted)]
    mxt.convert_(converted)
    losses = [[step(m, o) for _ in range(20)]
              for m, o in zip((plain, converted), optimizers)]
    for found in losses:
        assert found[-1] < 0.6 * found[0], found
    assert losses[0] != losses[1]
    for a, b in zip(*losses):
        assert abs(a - b) < 0.05 * losses[0][0], losses


def errors():
    for kind, text, call in (
        (TypeError, "model: expected a torch.nn.Module, found dict",
         lambda: mxt.convert_({})),
        (TypeError, "filter: expected a function", lambda: mxt.convert_(make(), filter=1)),
        (ValueError, "recipe: expected an mx_compiler.torch.Recipe or one of",
         lambda: mxt.convert_(make(), "fp8")),
        (ValueError, "model: expected an nn.Linear or grouped experts to convert, found "
         "none", lambda: mxt.convert_(nn.Sequential(nn.ReLU()))),
        (ValueError, "found none; no recipe converts Conv1d, LSTM", lambda: mxt.convert_(
            nn.Sequential(nn.Conv1d(4, 4, 3), nn.ReLU(), nn.LSTM(4, 4), nn.Conv1d(4, 4, 3)))),
        (ValueError, "bf16, found 'mxfp4': did you mean mxfp4_weight_only?",
         lambda: mxt.convert_(make(), "mxfp4")),
        (ValueError, "found 'mxfp8-floor': did you mean mxfp8_floor",
         lambda: mxt.convert_(make(), "mxfp8-floor")),
        (ValueError, "that the filter accepts, found none",
         lambda: mxt.convert_(make(), filter=lambda module, name: False)),
        (ValueError, "found none; left as they are: 0 (Linear: in_features: expected a "
         "multiple of 32, at least 32, found 31)",
         lambda: mxt.convert_(nn.Sequential(nn.Linear(31, 32)))),
        (TypeError, "cls: expected a class of torch.nn.Module",
         lambda: mxt.register_experts(dict, mxt.convert_)),
        (TypeError, "from_experts: expected a function",
         lambda: mxt.register_experts(Experts, 3)),
    ):
        refuses(kind, text, call)


def warned(model, recipe, **options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        mxt.convert_(model, recipe, **options)
    return [str(each.message) for each in found]


def tied():
    """Training recipes keep tied weights. A weight-only recipe cannot share bytes with an embedding, so it warns. It
    keeps other ties."""
    for recipe in (name for name in mxt.RECIPES if not mxt.RECIPES[name].fp8_scales):
        model = make()
        model.other = nn.Linear(32, 64, bias=False, device=DEVICE)
        model.other.weight = model.embedding.weight
        model.again = model.head            # one module replaces both uses
        model.inner[2].bias = nn.Parameter(torch.zeros(32, device=DEVICE))
        model.norm = nn.LayerNorm(32, device=DEVICE)
        model.norm.bias = model.inner[2].bias
        messages = warned(model, recipe, strict=True)
        assert model.again is model.head and model.norm.bias is model.inner[2].bias
        if not mxt.RECIPES[recipe].weight_only:
            assert not messages and model.head.weight is model.other.weight is model.embedding.weight
            continue
        assert len(messages) == 1 and ("found shared parameters of embedding.weight and head.weight and "
                                       "other.weight: each module") in messages[0], messages
        assert torch.equal(model.head.weight_elements, model.other.weight_elements)
        assert torch.equal(model.embedding.weight, make().embedding.weight)
        # No other weight becomes untied, not even by the conversion back.
        assert not warned(model, recipe) and not warned(model, "bf16")
        # With a filter, the tie remains; a module used twice is not a tie.
        kept = make()
        kept.again = kept.inner
        assert not warned(kept, recipe, filter=lambda module, name: name != "head")
        assert kept.head.weight is kept.embedding.weight
        # A conversion from a training recipe also warns.
        assert not warned(kept, "bf16") and not warned(kept, "mxfp8")
        assert "embedding.weight and head.weight" in warned(kept, recipe)[0]
        # Without a replacement there is no warning about ties.
        refuses(ValueError, "nothing was replaced", warned, nn.ModuleDict({
            "tied": make(), "thin": nn.Linear(33, 33)}), recipe, strict=True)


for part in (replaced, of_the_root, hooks, compiled_layers, computed_weights, transformer, shared,
             filtered, left_alone, reasons, registered, other_experts, state_dicts, trains, tied,
             errors):
    part()
    print(part.__name__, "right")
