# REQUIRES: torch
# RUN: rm -rf %t && mkdir %t
# RUN: %python_torch %s %t
"""Tests ways to store a model with weight-only modules. Either the loaded model equals the stored model bit for bit, or
loading is refused. No weight silently keeps its initial value."""

import copy
import io
import pathlib
import pickle
import sys

import safetensors.torch
import torch
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (StateDictOptions, get_model_state_dict,
                                                     set_model_state_dict)

import hugging_face as hf
import mx_compiler.torch as mxt
import reference as ref
from reference import DEVICE
from refuses import refuses

FOLDER = pathlib.Path(sys.argv[1])
RECIPES = "mxfp8_weight_only", "mxfp6_weight_only", "mxfp4_weight_only", "nvfp4_weight_only"
COUNTS = torch.tensor([5, 8, 3], device=DEVICE)


class Model(nn.Module):
    def __init__(self, seed=1):
        super().__init__()
        torch.manual_seed(seed)
        self.first = nn.Linear(64, 64)
        self.experts = mxt.GroupedExperts(64, 96, 3)
        self.routed = hf.randomize(hf.GptOssExperts(64, 96, 5))
        self.last = nn.Linear(64, 32, bias=False)
        self.to(DEVICE)

    def forward(self, x):
        y = self.experts(self.first(x), COUNTS)
        chosen = torch.arange(32, device=DEVICE).view(16, 2) % 5
        return self.last(self.routed(y, chosen, torch.full((16, 2), 0.5, device=DEVICE)))


def models(recipe):
    """Returns the model to store, and its result."""
    model = mxt.convert_(Model(), recipe)
    return model, model(ref.tensor((16, 64)))


def is_same(model, wanted):
    return torch.equal(model(ref.tensor((16, 64))), wanted)


def refuses_floats(load, *kinds):
    """Checks that models with float weights (PyTorch models and training modules) refuse the stored model."""
    for model in Model(2), mxt.convert_(Model(2), "mxfp8"):
        try:
            load(model)
        except kinds as error:
            assert "size mismatch for" in str(error).lower() or "Size mismatch" in str(error), error
        else:
            raise AssertionError(f"expected one of {kinds}, found none")


def copies():
    for recipe in RECIPES:
        model, wanted = models(recipe)
        buffer = io.BytesIO()
        torch.save(model, buffer)
        buffer.seek(0)
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)),
                      torch.load(buffer, weights_only=False)):
            assert is_same(other, wanted) and other.first.weight is None
            assert str(other) == str(model)
            back = mxt.convert_(other, "bf16", strict=True)
            assert [*back.state_dict()] == [*Model().state_dict()]


def state_dicts():
    for recipe in RECIPES:
        model, wanted = models(recipe)
        torch.save(model.state_dict(), FOLDER / "state.pt")
        state = torch.load(FOLDER / "state.pt", weights_only=True)
        for assign in False, True:
            new = mxt.convert_(Model(2), recipe)
            assert not is_same(new, wanted)
            new.load_state_dict(state, assign=assign)
            assert is_same(new, wanted)
            for strict in False, True:
                refuses_floats(lambda m, strict=strict, assign=assign: m.load_state_dict(
                    state, strict=strict, assign=assign), RuntimeError)
        other = mxt.convert_(Model(), RECIPES[RECIPES.index(recipe) - 1])
        refuses(RuntimeError, f"expected {other.first.recipe.weights}, the format of the "
                f"module's recipe, found {model.first.recipe.weights}",
                other.load_state_dict, state, strict=False)


def safetensors_files():
    for recipe in RECIPES:
        model, wanted = models(recipe)
        safetensors.torch.save_model(model, FOLDER / "a.safetensors")
        safetensors.torch.save_file(model.state_dict(), FOLDER / "b.safetensors")
        for file in FOLDER / "a.safetensors", FOLDER / "b.safetensors":
            new = mxt.convert_(Model(2), recipe)
            assert safetensors.torch.load_model(new, file) == (set(), [])
            assert is_same(new, wanted)
            for strict in False, True:
                refuses_floats(lambda m, file=file, strict=strict: safetensors.torch.load_model(
                    m, file, strict=strict), RuntimeError)


def distributed_checkpoints():
    """Tests distributed checkpoints with one process; distributed-checkpoints.py uses several."""
    for recipe in RECIPES:
        model, wanted = models(recipe)
        folder = FOLDER / recipe
        dcp.save({"model": get_model_state_dict(model)}, checkpoint_id=folder, no_dist=True)
        new = mxt.convert_(Model(2), recipe)
        state = {"model": get_model_state_dict(new)}
        dcp.load(state, checkpoint_id=folder, no_dist=True)
        set_model_state_dict(new, state["model"])
        assert is_same(new, wanted)

        def into_floats(model, folder=folder):
            dcp.load({"model": model.state_dict()}, checkpoint_id=folder, no_dist=True,
                     planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
        refuses_floats(into_floats, ValueError, dcp.CheckpointException)
        refuses_floats(lambda m: set_model_state_dict(m, get_model_state_dict(model),
                       options=StateDictOptions(strict=False)), RuntimeError)


def other_packages():
    """Packages that load weights into floats get an error instead of a state dict to save. Packages that store adapters
    get a state dict. The stand-ins have the names of the packages and functions."""
    model, wanted = models("mxfp4_weight_only")

    def saver(package):
        scope = {"__name__": package}
        exec("def save_pretrained(model):\n  return model.state_dict()", scope)
        return scope["save_pretrained"]
    for given, key in (model, "first.weight"), (model.routed, "gate_up_proj"):
        refuses(ValueError, f"{key}: expected floats, which from_pretrained reads, found "
                "mxfp4: load the model with mx_compiler.transformers.MXConfig instead",
                saver("diffusers.models.modeling_utils"), given)
    for package in "peft.peft_model", "users", "transformers_of_users":
        assert saver(package)(model).keys() == model.state_dict().keys()
    saver("transformers.modeling_utils")(mxt.convert_(copy.deepcopy(model), "bf16"))
    saver("transformers.modeling_utils")(mxt.convert_(Model(), "mxfp8"))
    scope = {"__name__": "transformers.modeling_utils", "inner": saver("peft.peft_model")}
    exec("def save_pretrained(model):\n  return inner(model)", scope)
    assert scope["save_pretrained"](model).keys() == model.state_dict().keys()


for part in copies, state_dicts, safetensors_files, distributed_checkpoints, other_packages:
    part()
    print(part.__name__, "right")
