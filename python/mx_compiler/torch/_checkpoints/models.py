# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized weights of checkpoints in the modules of a model."""

import os
import re
import warnings
from typing import Any, Callable

import torch

from .._modules.convert import replace
from .._modules.experts import is_routed, routed_class
from .._modules.linear import MXLinear
from .._modules.parameters import adopt, adopt_experts, check_parameter
from .._modules.recipes import RECIPES, Recipe, find_recipe
from .._modules.weight_only import MXWeightOnlyLinear, Quantized
from . import weights
from .files import Checkpoint
from .layouts import LAYOUTS, find_weights

# Weight and section of the matrices of an expert, by their names in checkpoints.
_MATRICES = {name: place for names, place in (
    (("gate_proj", "w1"), ("gate_up_proj", 0)), (("up_proj", "w3"), ("gate_up_proj", 1)),
    (("down_proj", "w2"), ("down_proj", 0))) for name in names}
_OF_EXPERT = re.compile(r"(.+)\.(\d{1,6})\.(\w+)")


def _is_experts(module):
    return module is not None and is_routed(module)


def find_places(model, checkpoint, found, rename):
    """Returns the layouts and the names by place of the weights of each module, keyed by module and name of
    the weight, and the names without a module."""
    modules, places, others = dict(model.named_modules(remove_duplicate=False)), {}, []
    for name, layout in found.items():
        to = rename(name)
        if not isinstance(to, str):
            raise TypeError(f"rename: expected a function that returns a name, found {to!r} for {name}")
        module, weight, place = modules.get(to), "weight", ()
        owner, _, last = to.rpartition(".")
        if (match := _OF_EXPERT.fullmatch(to)) and _is_experts(modules.get(match[1])) and match[3] in _MATRICES:
            module = modules[match[1]]
            weight, section = _MATRICES[match[3]]
            place = int(match[2]), section
        elif layout.is_stacked and _is_experts(modules.get(owner)):
            module, weight = modules[owner], last
        elif not isinstance(module, torch.nn.Linear):
            others.append(name)
            continue
        layouts, names = places.setdefault((module, weight), ([], {}))
        layouts.append(layout)
        if place in names:
            raise ValueError(f"{checkpoint.file(name + layout.scales[0])}: {name}: expected one weight for {to}, "
                             f"found {names[place]} too")
        names[place] = name
    return places, others


def _check_places(checkpoint, module, weight, layouts, names, sections):
    """Checks the presence of the matrices of all experts, in one layout."""
    kinds = list(dict.fromkeys(layout.name for layout in layouts))
    some = next(iter(names.values()))
    where = f"{checkpoint.file(some + layouts[0].scales[0])}: {some}"
    if len(kinds) > 1:
        raise ValueError(f"{where}: expected one layout for all matrices of {weight}, found {' and '.join(kinds)}")
    if () in names:
        return
    count = getattr(module, weight).shape[0]
    wanted = {(expert, section) for expert in range(count) for section in range(len(sections))}
    if names.keys() != wanted:
        missing, extra = sorted(wanted - names.keys()), sorted(names.keys() - wanted)
        raise ValueError(f"{where}: expected {weight} of experts 0 to {count - 1}, found "
                         + (f"none of expert {missing[0][0]}" if missing else f"expert {extra[0][0]}"))


def replacement(module, recipe):
    """Returns a module of the recipe with the parameters of a linear layer or of routed experts."""
    if isinstance(module, torch.nn.Linear):
        new = adopt(MXWeightOnlyLinear, module)
        new.recipe = recipe
        return new
    return adopt_experts(routed_class(module, recipe), module, recipe)


def load_(model: torch.nn.Module, checkpoint: Checkpoint | str | os.PathLike[str], *,
          device: str | torch.device | Callable[[str], Any] | None = None,
          rename: Callable[[str], str] | None = None, recipe: Recipe | str | None = None) -> set[str]:
    """Loads the quantized weights of a checkpoint into `model`, in place: their linear layers and experts become
    weight-only modules with exactly these weights. One weight at a time is in memory besides the model.

    model       a torch.nn.Module with layers nn.Linear and experts of Transformers, which may be on the device meta
    checkpoint  a safetensors file, a folder of them with config.json, or a `Checkpoint`
    device      device of the weights, or a function of the name of a module; default: as in the model
    rename      function from the name of a weight in the checkpoint to its name in the model
    recipe      recipe instead of the one in `LAYOUTS`, with the same formats, such as "w4a8"

    Returns the set of other keys, of tensors without quantization. A warning names quantized
    weights without a module. Raises TypeError, FileNotFoundError, or ValueError. The error names the file, the key,
    and the expected and found values. The model then stays as it was."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model: expected a torch.nn.Module, found {type(model).__name__}")
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    names = {module: name for name, module in model.named_modules()}
    places, others = find_places(model, checkpoint, find_weights(checkpoint), rename or (lambda name: name))
    if not places:
        raise ValueError(f"{checkpoint.path}: expected quantized weights of modules of the model, found "
                         + (f"weights of other modules, such as {others[0]}" if others else "none"))
    new, read = {}, set()
    for (module, weight), (layouts, bases) in places.items():
        of = _find_recipe(recipe, layouts[0])
        if module not in new:
            if module is model:
                raise ValueError(f"model: expected a module that contains {type(model).__name__}, found this module itself")
            if isinstance(module, torch.nn.Linear) and type(module) not in (torch.nn.Linear, MXLinear):
                raise ValueError(f"{names[module]}: expected the class nn.Linear itself, found {type(module).__name__}, "
                                 "which may compute something else")
            try:
                new[module] = replacement(module, of)
            except ValueError as error:
                raise ValueError(f"{checkpoint.path}: {names[module]}: {error}") from error
            new[module].sources = {}
        layer = new[module]
        if layer.recipe != of:
            raise ValueError(f"{checkpoint.path}: {names[module]}: expected one layout for all weights of the module, found "
                             f"{' and '.join(source.layout.name for source in layer.sources.values())} and {layouts[0].name}")
        check_parameter(layer, weight)
        shape = tuple(layer._k_major(layer._parameters[weight]).shape)
        sections = layer._sections(weight, shape[-2])
        _check_places(checkpoint, module, weight, layouts, bases, sections)
        to = device(names[module]) if callable(device) else device or layer._parameters[weight].device
        parts, layer.sources[weight] = weights.read(checkpoint, layouts[0], bases, shape, sections, to)
        layer.hold(weight, lambda _: parts)
        read.update(key for base in bases.values() for key in _keys(base, layouts[0]))
    for module, layer in new.items():
        if missing := [weight for weight in layer._weights if weight not in layer.sources]:
            raise ValueError(f"{checkpoint.path}: expected quantized weights {' and '.join(layer._weights)} of "
                             f"{names[module]}, found none for {' and '.join(missing)}")
    if others:
        warnings.warn(f"mx_compiler.torch.checkpoints: {checkpoint.path}: no module of the model for {len(others)} "
                      f"quantized weights, such as {others[0]}: they are not loaded", stacklevel=2)
    replace(model, new)
    return checkpoint.keys() - read


def _keys(base, layout):
    return [base + suffix for suffix in (layout.elements[0], layout.scales[0], layout.factor, *layout.kept) if suffix]


def _find_recipe(recipe, layout):
    """Returns the recipe for weights of a layout. Raises ValueError."""
    own = RECIPES[layout.recipe]
    if recipe is None:
        return own
    found = find_recipe(recipe)
    fields = "weights", "weight_only", "fp8_scales"
    if any(getattr(found, field) != getattr(own, field) for field in fields):
        raise ValueError(f"recipe: expected a recipe with the weights of {layout.recipe} for {layout.name}, found {found}")
    return found


def tensors(model: torch.nn.Module, layout: str | None = None) -> dict[str, torch.Tensor]:
    """Returns the tensors of a model's quantized weights in the layout of a tool, by key.

    layout  a name in `LAYOUTS` for all weights; default: for each weight the layout of its checkpoint. Unchanged
            weights then give the bytes of the checkpoint

    Raises TypeError or ValueError. Errors name the module."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model: expected a torch.nn.Module, found {type(model).__name__}")
    if layout is not None and layout not in LAYOUTS:
        raise ValueError(f"layout: expected one of {', '.join(LAYOUTS)}, found {layout!r}")
    found = {}
    for name, module in model.named_modules():
        if isinstance(module, Quantized):
            for weight in module._weights:
                found |= weights.write(module, weight, _find_source(module, name, weight, layout))
    if not found:
        raise ValueError("model: expected modules with quantized weights, found none")
    return found


def _find_source(module, name, weight, layout):
    source = module.__dict__.get("sources", {}).get(weight)
    if source and layout in (None, source.layout.name):
        return source
    if layout is None:
        raise ValueError(f"layout: expected a name of LAYOUTS for {name}, which was not loaded from a checkpoint, "
                         "found None")
    of = LAYOUTS[layout]
    if of.format != module._format:
        raise ValueError(f"layout: expected one with weights of {module._format.name} for {name}, found {layout}")
    shape, prefix = module._shape(weight), f"{name}." if name else ""
    if len(shape) == 2:
        bases = {(): name}
    elif of.is_stacked:
        bases = {(): prefix + weight}
    else:
        named = {place: matrix for matrix, place in reversed(_MATRICES.items())}
        if (weight, 0) not in named:
            raise ValueError(f"layout: expected experts of Transformers, found {type(module).__name__} as {name}: "
                             "save its state dict")
        bases = {(expert, section): f"{prefix}{expert}.{named[weight, section]}" for expert in range(shape[0])
                 for section in range(len(module._sections(weight, shape[-2])))}
    return weights.Source(of, bases, (of.elements[1], of.scales[1]))


def describe(checkpoint: Checkpoint | str | os.PathLike[str]) -> dict[str, str]:
    """Returns the layout in `LAYOUTS` of each quantized weight of a checkpoint, by the name of the weight.
    Reads only headers. Raises the errors of `load_`."""
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    return {name: layout.name for name, layout in find_weights(checkpoint).items()}
