# REQUIRES: torch, torchtitan
# RUN: %python_torch %s
"""Converts models of torchtitan's registry by mx_compiler.torchtitan. Results and gradients must have the same bits
as with mxt.MXLinear and mxt.MXGroupedExperts. Covers initialization, kept modules, torch.compile, LoRA, conversion back,
and errors."""

import importlib
import sys

import titan_models as titan
import torch
from reference import DEVICE
from refuses import refuses
from torchtitan.components.lora import LoRAConverter
from torchtitan.models import deepseek_v3, gpt_oss, llama3
from torchtitan.models.common.linear import Linear
from torchtitan.models.common.moe import GroupedExperts

import mx_compiler.torch as mxt
from mx_compiler.torchtitan import MXGroupedExpertsConverter, MXLinear, MXLinearConverter

TOKENS = titan.tokens()


def config(family, *converters):
    return titan.shorten(family.model_registry("debugmodel", converters=[*converters]).model)


def direct(model, recipe, skipped):
    """Replaces modules by modules of mx_compiler.torch with the same parameters."""
    for name, module in [*model.named_modules()]:
        if type(module) is Linear and name.startswith("layers.") and not any(s in name for s in skipped):
            new = mxt.MXLinear.from_linear(module, recipe)
        elif type(module) is GroupedExperts:
            new = mxt.MXGroupedExperts(*module.w2_EDF.shape[1:], module.num_experts, recipe)
            new.w1, new.w2, new.w3 = module.w1_EFD, module.w2_EDF, module.w3_EFD
        else:
            continue
        parent, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(parent), attribute, new)
    return model


def step(model):
    y = model(TOKENS)
    y.square().mean().backward()
    return y.detach()


def gradients(parameters):
    found = {name: p.grad for name, p in parameters.items()}
    for p in parameters.values():
        p.grad = None
    return found


def compare(family, recipe, *converters, skipped=()):
    """Returns the converted model."""
    model = titan.initialize(titan.build(config(family, *converters)))
    plain = titan.initialize(titan.build(config(family)))
    parameters = dict(plain.named_parameters())
    for name, p in model.named_parameters(remove_duplicate=False):
        assert torch.equal(p, parameters[name]), name
    assert model.state_dict().keys() == plain.state_dict().keys()
    before = plain(TOKENS).detach()
    wanted = step(direct(plain, recipe, skipped))
    assert torch.equal(step(model), wanted) and not torch.equal(wanted, before)
    found, wanted = gradients(dict(model.named_parameters())), gradients(parameters)
    for name, gradient in found.items():
        assert torch.equal(gradient, wanted[name]), name

    y = model(TOKENS)
    for block in model.layers.values():
        block.compile(backend="aot_eager", fullgraph=True)
    assert torch.equal(model(TOKENS), y)
    back = mxt.convert_(titan.initialize(titan.build(config(family, *converters))), "bf16")
    assert not [m for m in back.modules() if hasattr(m, "recipe")] and torch.equal(back(TOKENS), before)
    back.verify_module_protocol()
    return model


# --- Dense and routed models.
model = compare(llama3, "mxfp8_fast", MXLinearConverter.Config(recipe_name="mxfp8_fast", fqns=["layers."]))
assert type(model.lm_head) is Linear and type(model.layers["0"].attention.wo) is MXLinear
model = compare(
    deepseek_v3, "mxfp8", MXLinearConverter.Config(fqns=["layers."], filter_fqns=["wkv_a", "shared"]),
    MXGroupedExpertsConverter.Config(), skipped=("wkv_a", "shared", "router"))
moe = model.layers["1"].moe
assert {type(m) for m in (moe.router.gate, moe.shared_experts.w1, model.layers["1"].attention.wkv_a)} == {Linear}
x = torch.randn(40, 256, device=DEVICE)
counts = torch.tensor([5, 0, 7, 8, 1, 9, 10, 0], device=DEVICE)
experts = moe.routed_experts.inner_experts
y = experts(x, counts)
with torch.autocast(DEVICE, torch.bfloat16):       # combine() needs the dtype of x
    again = experts(x, counts)
assert again.dtype == x.dtype and torch.equal(again, y)

# --- Later converters replace the recipe of earlier converters. Configs accept every recipe for training.
for name in (name for name, recipe in mxt.RECIPES.items() if not recipe.weight_only):
    found = config(llama3, MXLinearConverter.Config(), MXLinearConverter.Config(recipe_name=name, fqns=["wo"]))
    recipes = [layer.attention.wo.build().recipe for layer in found.layers]
    assert recipes == [mxt.RECIPES[name]] * 2 and found.lm_head.recipe_name == "mxfp8"

# --- Classes with other functions: experts of gpt-oss call _grouped_mm, and some linear layers are kept.
found = config(gpt_oss, MXLinearConverter.Config(fqns=["attention"]), MXGroupedExpertsConverter.Config())
plain = config(gpt_oss)
assert type(found.layers[0].attention.wo) is type(plain.layers[0].attention.wo)
experts, plain = (c.layers[0].moe.routed_experts.inner_experts.build().to(DEVICE) for c in (found, plain))
plain.load_state_dict({name: torch.nn.init.normal_(p.detach(), std=0.05) for name, p in experts.named_parameters()})
plain._grouped_mm = lambda A, B_t, offs: mxt.mxfp8_grouped_mm(A, B_t, offs)
assert torch.equal(experts(x, counts), plain(x, counts))

# --- LoRA on converted layers.
model = titan.initialize(titan.build(config(
    llama3, MXLinearConverter.Config(fqns=["layers."]), LoRAConverter.Config(target_modules=["wo"]))))
step(model)
assert isinstance(model.layers["0"].attention.wo, mxt.MXLinear)
assert {name.split(".")[-2] for name, p in model.named_parameters() if p.grad is not None} == {"lora_a", "lora_b"}

# --- Errors. Nothing is replaced.
for kind, words, values in (
        (ValueError, ("recipe_name", "did you mean mxfp8_fast"), {"recipe_name": "mxfp8_fsat"}),
        (ValueError, ("recipe_name", "for training", "fp8_block, ", "found w4a8"), {"recipe_name": "w4a8"}),
        (TypeError, ("fqns", "list", "found 'layers'"), {"fqns": "layers"}),
        (TypeError, ("filter_fqns", "list", "found [1]"), {"filter_fqns": [1]})):
    for converter in (MXLinearConverter, MXGroupedExpertsConverter):
        refuses(kind, words, converter.Config(**values).build)
refuses(ValueError, ("multiples of 128", "mxfp8_fast", "layers.0.attention.wkv_a (out_features 576)", "filter_fqns"),
        config, deepseek_v3, MXLinearConverter.Config(recipe_name="mxfp8_fast"))
given = config(gpt_oss)
given.layers[1].moe.routed_experts.inner_experts.dim = 200
refuses(ValueError, ("multiples of 32", "found layers.1.moe.routed_experts.inner_experts (dim 200)"),
        MXGroupedExpertsConverter.Config().build().convert, given)
assert "recipe_name" not in given.layers[0].moe.routed_experts.inner_experts.to_dict()
refuses(ValueError, ("GroupedExperts", "found none"), config, llama3, MXGroupedExpertsConverter.Config())
refuses(ValueError, ("Linear", "fqns=['atention']", "none"), config, llama3, MXLinearConverter.Config(fqns=["atention"]))
refuses(ValueError, ("none but layers.0.attention.wo (ScaledBiasRowwiseLinear)",), config, gpt_oss,
        MXLinearConverter.Config(fqns=["wo"]))


def reload():
    sys.modules.pop("mx_compiler.torchtitan")
    return importlib.import_module("mx_compiler.torchtitan")


grouped_mm = GroupedExperts._grouped_mm
del GroupedExperts._grouped_mm
refuses(ImportError, ("expected torchtitan 0.3", "another interface", "pip install"), reload)
GroupedExperts._grouped_mm = grouped_mm
sys.modules["mx_compiler.torchtitan"] = sys.modules["torchtitan.models.common.linear"] = None
refuses(ImportError, ("expected torchtitan 0.3", "common.linear", "pip install"), reload)
