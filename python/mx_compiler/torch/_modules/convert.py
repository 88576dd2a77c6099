# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converts the linear layers and the grouped experts of a model to the modules of a recipe."""

import inspect
import warnings
from typing import Any, Callable

import torch

from . import fast_paths
from .experts import (GroupedExperts, MXGroupedExperts, MXWeightOnlyExperts, check_experts,
                      from_routed, has_experts, is_routed, looks_like_experts, routers)
from .linear import MXLinear, check_linear
from .parameters import FLOATS, Replacement, dtype_name
from .recipes import Recipe, find_recipe
from .weight_only import MXWeightOnlyLinear, Quantized

PLAIN = "bf16"
_registered = {}


def register_experts(cls: type[torch.nn.Module],
                     from_experts: Callable[[Any, Recipe], torch.nn.Module] | None) -> None:
    """Registers a function that `convert_` uses for a class of experts.

    cls           a class; its subclasses are not included
    from_experts  function of a module and a Recipe that returns the replacement;
                  None unregisters the class

    from_experts raises ValueError if the sizes of the module are not supported. `convert_` then keeps
    the module and names it in a warning."""
    if not (isinstance(cls, type) and issubclass(cls, torch.nn.Module)):
        raise TypeError(f"cls: expected a class of torch.nn.Module, found {cls!r}")
    if from_experts is None:
        _registered.pop(cls, None)
    elif callable(from_experts):
        _registered[cls] = from_experts
    else:
        raise TypeError("from_experts: expected a function of a module and a Recipe, or "
                        f"None, found {type(from_experts).__name__}")


def convert_(model: torch.nn.Module, recipe: str | Recipe = "mxfp8", *,
             filter: Callable[[torch.nn.Module, str], bool] | None = None, strict: bool = False,
             batch_invariant: bool = False) -> torch.nn.Module:
    """Replaces, in place, the modules of `model` that have block-scaled counterparts.

    model   a torch.nn.Module. If `model` itself is replaced, the result is the new module
    recipe  an mx_compiler.torch.Recipe, its name, or "bf16" to convert back
    filter  function of such a module and its name in the model ("" for the model). If
            the function returns False, the module is kept. Default: replace all
    strict  True: instead of issuing a warning, raise ValueError and replace nothing
    batch_invariant  True: set this field of the recipe

    The replaced modules are layers of the exact class nn.Linear, and these experts:

    - experts of a class registered by `register_experts`;
    - experts with 3-dimensional parameters w1, w2, w3 and a method forward(x, num_tokens_per_expert),
      as in torchtitan; they are assumed to compute the same as mx_compiler.torch.GroupedExperts;
    - MixtralExperts, Qwen3MoeExperts and GptOssExperts of Hugging Face's Transformers. Releases
      before 5 store the experts of Mixtral and Qwen3-MoE as a list of linear layers. In these
      releases, each layer is replaced, and the router is kept.

    Converted modules, and modules of mx_compiler.torch.ep, are converted again if their recipe
    differs. Training recipes keep the parameters, so an optimizer may exist before the conversion;
    weight-only recipes remove the parameters. Forward and backward hooks are kept. PyTorch's
    transformer layers then call their linear layers even in eval mode, instead of reading the
    weights.

    With "bf16", a converted module becomes a module of its original class, or an nn.Linear or
    GroupedExperts if it was created directly. The parameters and state dicts stay the same. PyTorch
    then computes the matmuls in the dtype of the weights. Weights that exist only quantized are
    dequantized to their former dtype, or to the dtype to which the module was moved. They have the
    quantized values, not the original values. They become new parameters; these require gradients
    and are not tied. Modules that a `register_experts` function returned are kept.

    Parameters that still exist stay tied. If a quantized module and an unconverted module share a
    parameter, such as a head and an embedding, the parameter becomes two weights, and a UserWarning
    names them.

    Returns the model. Modules with unsupported sizes or dtypes, subclasses of nn.Linear, and modules
    that look like experts of an unknown class are kept, and a UserWarning names them. Raises
    ValueError if nothing is converted. Other errors, TypeError or ValueError, name the argument."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model: expected a torch.nn.Module, found {type(model).__name__}")
    if filter is not None and not callable(filter):
        raise TypeError("filter: expected a function of a module and its name, or None, "
                        f"found {type(filter).__name__}")
    for name, flag in (("strict", strict), ("batch_invariant", batch_invariant)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name}: expected True or False, found {flag!r}")
    is_back = isinstance(recipe, str) and recipe == PLAIN
    recipe = None if is_back else find_recipe(recipe, others=(PLAIN,),
                                              batch_invariant=batch_invariant)
    find = _find_back if is_back else _find
    new, left, done, inside = {}, {}, 0, set() if is_back else routers(model)
    # A module with several names is replaced by the same module under all of them.
    for name, module in model.named_modules():
        found = None if module in inside else find(module)
        if found is None or filter is not None and not filter(module, name):
            continue
        if found is _is_done or recipe and getattr(module, "recipe", None) == recipe:
            done += 1
            continue
        try:
            new[module] = _check_module(found(module, recipe), module)
            inside.update(module.modules())
        except ValueError as error:
            left.setdefault((type(module).__name__, str(error)), []).append(name or "the model")
    names = "; ".join(f"{shorten(names)} ({kind}: {why})"
                      for (kind, why), names in left.items())
    if not new and not done:
        wanted = ("modules of mx_compiler.torch to convert back" if is_back
                  else "an nn.Linear or grouped experts to convert")
        raise ValueError(f"model: expected {wanted}"
                         f"{'' if filter is None else ' that the filter accepts'}, "
                         f"found none{f'; left as they are: {names}' * bool(left)}"
                         f"{'' if is_back else _name_others(model)}")
    if left and strict:
        raise ValueError("model: expected modules that can all be converted, as strict "
                         f"requires, found others: {names}; nothing was replaced")
    untied = _find_untied(model, new)
    model = replace(model, new)
    if untied:
        warnings.warn("mx_compiler.torch.convert_: expected each quantized parameter to "
                      f"belong to one module, found shared parameters of {shorten(untied)}: each "
                      "module now has its own weight. A filter that excludes these modules "
                      "keeps them tied", stacklevel=2)
    if left:
        warnings.warn(f"mx_compiler.torch.convert_: left as they are: {names}; they "
                      "keep their own dtype", stacklevel=2)
    return model


def _find_untied(model, new):
    """Returns descriptions of the tied parameters no longer tied by the replacements `new`."""
    owners = {}
    for prefix, module in model.named_modules():
        for name, x in module._parameters.items():
            if x is not None:
                owners.setdefault(x, []).append(f"{prefix}.{name}".lstrip("."))
    lost = {x for module, found in new.items()
            for x in {*module.parameters()} - {*found.parameters()}}
    return [" and ".join(names) for x, names in owners.items() if x in lost and names[1:]]


_MOST_NAMES = 8


def shorten(names):
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + f" and {more} more" * (more > 0)


def _name_others(model):
    """Returns the end of a message. It lists the classes of layers with parameters that are not
    converted."""
    found = {part for module in model.modules() if _find(module) for part in module.modules()}
    others = {type(module).__name__: None for module in model.modules()
              if module not in found and any(x is not None
                                             for x in module._parameters.values())}
    return f"; no recipe converts {shorten([*others])}" * bool(others)


def _check_module(found, module):
    """Checks the result of a `register_experts` function."""
    if not isinstance(found, torch.nn.Module):
        raise TypeError(f"from_experts of {type(module).__name__}: expected to return a "
                        f"torch.nn.Module, found {type(found).__name__}")
    return found


def replace(model, new):
    for parent in list(model.modules()):
        for name, child in parent._modules.items():
            if child in new:
                parent._modules[name] = new[child]
    fast_paths.adjust(model)
    return new.get(model, model)


def _find(module):
    """Returns the function to convert a module, or None for unsupported modules."""
    if type(module) in _registered:
        return _registered[type(module)]
    if isinstance(module, Quantized):
        return _refuse_bytes
    if getattr(module, "is_divided", False):
        return _convert_divided
    if isinstance(module, torch.nn.Linear):
        return _convert_linear
    if has_experts(module) and _takes_counts(module):
        return _convert_experts
    if is_routed(module):
        return _convert_routed
    if looks_like_experts(module):
        return _refuse_unknown
    return None


def _find_back(module):
    """Returns the function to convert a module back to PyTorch, or None."""
    if getattr(module, "is_divided", False):
        return _refuse_divided
    if isinstance(module, Replacement):
        return _convert_back
    return _is_done if type(module) in (torch.nn.Linear, GroupedExperts) else None


def _is_done(module, recipe):
    """Marks a module that needs no conversion."""
    return module


def _convert_divided(module, recipe):
    """Converts experts divided among ranks (mx_compiler.torch.ep)."""
    return module.with_recipe(recipe)


def _refuse_divided(module, recipe):
    raise ValueError("experts that are divided among ranks have no counterpart in PyTorch: "
                     "to_plain() returns this rank's experts, which take sorted rows")


def _convert_back(module, recipe):
    # FSDP2 derives its own class from a module's class.
    if not type(module).__module__.startswith(__package__.rpartition(".")[0]):
        raise ValueError("expected a class of mx_compiler.torch itself, found a derived "
                         "class, such as those of fully_shard: convert the model before")
    return module.to_plain()


def _takes_counts(module):
    names = [*inspect.signature(module.forward).parameters]
    return names[:2] == ["x", "num_tokens_per_expert"]


def _refuse_bytes(module, recipe):
    raise ValueError(f"expected floating-point weights, found weights of {module.recipe}: "
                     f"convert the original model, or convert this model to {PLAIN!r} first")


def _refuse_unknown(module, recipe):
    names = ", ".join(name for name, parameter in module.named_parameters(recurse=False)
                      if parameter.dim() == 3)
    raise ValueError("expected experts of a known class, found an unknown class with "
                     f"parameters {names}: register it with mx_compiler.torch.register_experts")


def _convert_linear(module, recipe):
    if type(module) not in (torch.nn.Linear, MXLinear):
        raise ValueError(f"expected the class nn.Linear itself{_advise(module)}")
    _check_floats(module)
    check_linear(module, recipe)
    cls = MXWeightOnlyLinear if recipe.weight_only else MXLinear
    return cls.from_linear(module, recipe)


def _advise(module):
    """Returns the end of a message with a remedy for a subclass of nn.Linear."""
    if isinstance(module, torch.nn.modules.lazy.LazyModuleMixin):
        return ": run a batch through the model first, which initializes the layer"
    if torch.nn.utils.parametrize.is_parametrized(module):
        return (": call torch.nn.utils.parametrize.remove_parametrizations first, which "
                "restores the class")
    return (", because a subclass may compute something else: if it does not, replace it "
            "with an nn.Linear that has the same parameters")


def _check_floats(module):
    """Raises ValueError if matmuls do not support the dtype of the parameters."""
    for name, x in module._parameters.items():
        if x is not None and x.dtype not in FLOATS:
            raise ValueError(f"{name}: expected float32, bfloat16 or float16, found "
                             f"{dtype_name(x)}: call .float() on the model before")


def _convert_routed(module, recipe):
    _check_floats(module)
    return from_routed(module, recipe)


def _convert_experts(module, recipe):
    _check_floats(module)
    check_experts(module, recipe)
    cls = MXWeightOnlyExperts if recipe.weight_only else MXGroupedExperts
    return cls.from_experts(module, recipe)
