# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of a model's linear layers and grouped experts to the modules of a recipe."""

import inspect
import warnings

import torch

from . import fast_paths
from .experts import (GroupedExperts, MXGroupedExperts, MXWeightOnlyExperts, check_experts,
                      from_routed, has_experts, is_routed, looks_like_experts, routers)
from .linear import MXLinear, check_linear
from .parameters import FLOATS, Replacement, dtype_name
from .recipes import find_recipe
from .weight_only import MXWeightOnlyLinear, Quantized

PLAIN = "bf16"
_registered = {}


def register_experts(cls, from_experts):
    """Registers a conversion of a class of experts for `convert`.

    cls           a class; its subclasses are not included
    from_experts  function of a module and a Recipe that returns the replacement;
                  None unregisters the class

    If from_experts raises ValueError, the sizes of the module are unsupported: the module
    stays, and the warning names it."""
    if not (isinstance(cls, type) and issubclass(cls, torch.nn.Module)):
        raise TypeError(f"cls: expected a class of torch.nn.Module, found {cls!r}")
    if from_experts is None:
        _registered.pop(cls, None)
    elif callable(from_experts):
        _registered[cls] = from_experts
    else:
        raise TypeError("from_experts: expected a function of a module and a Recipe, or "
                        f"None, found {type(from_experts).__name__}")


def convert(model, recipe="mxfp8", *, filter=None, strict=False):
    """Replaces, in place, the modules of `model` that have block-scaled counterparts.

    model   a torch.nn.Module. If `model` itself is replaced, use the result
    recipe  an mx_compiler.torch.Recipe, its name, or "bf16" to convert back
    filter  called with each such module and its name in the model ("" for the model);
            False keeps the module. Default: replace all
    strict  True: raise ValueError, and replace nothing, instead of warning

    The replaced modules are layers of the exact class nn.Linear, and experts:

    - experts of a class registered by `register_experts`;
    - experts with 3-dimensional parameters w1, w2, w3 and a forward(x, num_tokens_per_expert), as
      in torchtitan; they are assumed to compute the same as mx_compiler.torch.GroupedExperts;
    - MixtralExperts, Qwen3MoeExperts and GptOssExperts of Hugging Face's Transformers. Releases
      before 5 store the first two as a list of linear layers: each layer is replaced, and the
      router stays.

    Converted modules, and modules of mx_compiler.torch.ep, are converted again if their recipe
    differs. Parameters stay the same tensors, so an optimizer may exist before the conversion;
    weight-only recipes remove them. Forward and backward hooks are kept. PyTorch's transformer
    layers then call their linear layers in eval mode too, instead of reading the weights.

    With "bf16" converted modules become their original class, or nn.Linear and GroupedExperts
    if created directly, with the same parameters and state dicts. Matmuls are then PyTorch's,
    in the dtype of the weights. Weights that exist only quantized are dequantized to their
    former dtype, or to the dtype the module was moved to: they have the quantized values, not
    the original values. They are new parameters that require gradients and are not tied.
    Results of `register_experts` functions stay.

    Remaining parameters stay tied. A parameter shared by a quantized module and a module that
    stays, such as a head and an embedding, becomes two weights; a UserWarning names them.

    Returns the model. Modules with unsupported sizes or dtypes, subclasses of nn.Linear, and
    modules that look like experts of an unknown class stay unchanged; a UserWarning names them.
    Raises ValueError if nothing is converted, and TypeError or ValueError, naming the argument."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError("model: expected a torch.nn.Module, found "
                        f"{type(model).__name__}")
    if filter is not None and not callable(filter):
        raise TypeError("filter: expected a function of a module and its name, or None, "
                        f"found {type(filter).__name__}")
    if not isinstance(strict, bool):
        raise TypeError(f"strict: expected True or False, found {strict!r}")
    is_back = isinstance(recipe, str) and recipe == PLAIN
    recipe = None if is_back else find_recipe(recipe, others=(PLAIN,))
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
    names = "; ".join(f"{_shorten(names)} ({kind}: {why})"
                      for (kind, why), names in left.items())
    if not new and not done:
        wanted = ("modules of mx_compiler.torch to turn back" if is_back
                  else "an nn.Linear or grouped experts to convert")
        raise ValueError(f"model: expected {wanted}"
                         f"{'' if filter is None else ' that the filter lets through'}, "
                         f"found none{f'; left as they are: {names}' * bool(left)}"
                         f"{'' if is_back else _name_others(model)}")
    if left and strict:
        raise ValueError("model: expected modules that can all be converted, as strict "
                         f"says, found others: {names}; nothing was replaced")
    untied = _find_untied(model, new)
    model = _replace(model, new)
    if untied:
        warnings.warn("mx_compiler.torch.convert: expected parameters of one module each, as "
                      f"they are quantized, found the same for {_shorten(untied)}: each has a "
                      "weight of its own from now on. A filter that leaves these modules out "
                      "keeps the tie", stacklevel=2)
    if left:
        warnings.warn(f"mx_compiler.torch.convert: left as they are: {names}; they go on "
                      "working in their own dtype", stacklevel=2)
    return model


def _find_untied(model, new):
    """Returns descriptions of the tied parameters that `new` no longer ties."""
    owners = {}
    for prefix, module in model.named_modules():
        for name, x in module._parameters.items():
            if x is not None:
                owners.setdefault(x, []).append(f"{prefix}.{name}".lstrip("."))
    lost = {x for module, found in new.items()
            for x in {*module.parameters()} - {*found.parameters()}}
    return [" and ".join(names) for x, names in owners.items() if x in lost and names[1:]]


_MOST_NAMES = 8


def _shorten(names):
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + f" and {more} more" * (more > 0)


def _name_others(model):
    """Returns the end of a message: classes of layers with parameters that are not converted."""
    found = {part for module in model.modules() if _find(module) for part in module.modules()}
    others = {type(module).__name__: None for module in model.modules()
              if module not in found and any(x is not None
                                             for x in module._parameters.values())}
    return f"; no recipe converts {_shorten([*others])}" * bool(others)


def _check_module(found, module):
    """Checks the result of a `register_experts` function."""
    if not isinstance(found, torch.nn.Module):
        raise TypeError(f"from_experts of {type(module).__name__}: expected to return a "
                        f"torch.nn.Module, found {type(found).__name__}")
    return found


def _replace(model, new):
    for parent in list(model.modules()):
        for name, child in parent._modules.items():
            if child in new:
                parent._modules[name] = new[child]
    fast_paths.adjust(model)
    return new.get(model, model)


def _find(module):
    """Returns the conversion of a module, or None for unsupported modules."""
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
    """Returns the conversion back to PyTorch, or None."""
    if getattr(module, "is_divided", False):
        return _refuse_divided
    if isinstance(module, Replacement):
        return _convert_back
    return _is_done if type(module) in (torch.nn.Linear, GroupedExperts) else None


def _is_done(module, recipe):
    """Marks a module that already matches the recipe."""
    return module


def _convert_divided(module, recipe):
    """Converts experts divided among ranks (mx_compiler.torch.ep)."""
    return module.with_recipe(recipe)


def _refuse_divided(module, recipe):
    raise ValueError("experts that are divided among ranks have no module of PyTorch in their "
                     "place: to_plain() gives those of this rank, which take sorted rows")


def _convert_back(module, recipe):
    # FSDP2 derives its own class from a module's class.
    if not type(module).__module__.startswith(__package__.rpartition(".")[0]):
        raise ValueError("expected a class of mx_compiler.torch itself, found another "
                         "that is derived from it, as fully_shard makes them: convert "
                         "before")
    return module.to_plain()


def _takes_counts(module):
    names = [*inspect.signature(module.forward).parameters]
    return names[:2] == ["x", "num_tokens_per_expert"]


def _refuse_bytes(module, recipe):
    raise ValueError(f"expected weights of floats, found those of {module.recipe}: "
                     "convert the model that has floats, or convert this one to "
                     f"{PLAIN!r} first")


def _refuse_unknown(module, recipe):
    names = ", ".join(name for name, parameter in module.named_parameters(recurse=False)
                      if parameter.dim() == 3)
    raise ValueError(f"expected experts of a known class, found parameters {names} of "
                     "another: tell mx_compiler.torch.register_experts how to replace them")


def _convert_linear(module, recipe):
    if type(module) not in (torch.nn.Linear, MXLinear):
        raise ValueError(f"expected the class nn.Linear itself{_advise(module)}")
    _check_floats(module)
    check_linear(module, not recipe.weight_only)
    cls = MXWeightOnlyLinear if recipe.weight_only else MXLinear
    return cls.from_linear(module, recipe)


def _advise(module):
    """Returns a suggestion for a subclass of nn.Linear."""
    if isinstance(module, torch.nn.modules.lazy.LazyModuleMixin):
        return ": run a batch through the model first, which makes it one"
    if torch.nn.utils.parametrize.is_parametrized(module):
        return (": call torch.nn.utils.parametrize.remove_parametrizations first, which "
                "makes it one")
    return (", as a subclass may compute something else: put an nn.Linear with the same "
            "parameters in its place if it does not")


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
    check_experts(module)
    cls = MXWeightOnlyExperts if recipe.weight_only else MXGroupedExperts
    return cls.from_experts(module, recipe)
