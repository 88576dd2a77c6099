# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dtypes of module inputs, and transfer of parameters between modules and their replacements."""

import copy
import sys
from collections import OrderedDict
from typing import TYPE_CHECKING

import torch

from .._ops.checks import check_tensor

if TYPE_CHECKING:
    from .recipes import Recipe

FLOATS = (torch.float32, torch.bfloat16, torch.float16)


def to_bf16(name, x):
    """Rounds x to bf16, the input type of matmuls. Differentiable. Raises TypeError."""
    check_tensor(name, x)
    if x.dtype not in FLOATS:
        raise TypeError(f"{name}: expected float32, bfloat16 or float16, found {dtype_name(x)}")
    return as_dtype(x, torch.bfloat16)


def as_dtype(x, dtype):
    """Returns x.to(dtype), which takes a microsecond if x has this dtype."""
    return x if x.dtype == dtype else x.to(dtype)


def dtype_name(x):
    return str(x.dtype).removeprefix("torch.")


def result_dtype(x):
    """Returns the dtype of a module's result, which is autocast's dtype if autocast is enabled, else
    the dtype of the module's input."""
    if x.is_meta or not torch._C._is_any_autocast_enabled():  # autocast does not support meta
        return x.dtype
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


def check_last(name, x, size, what):
    if x.dim() < 1 or x.shape[-1] != size:
        raise ValueError(f"{name}: expected [..., {size}], {what}, found shape {tuple(x.shape)}")


class Replacement:
    """Module that `convert_` inserts into a model and can convert back. `quantized_once` contains the
    quantized weights of a module inside quantize_weights_once."""

    recipe: "Recipe"
    quantized_once = None

    def to_plain(self):
        """Returns a PyTorch module, or a module of the original class, with the same parameters. If
        only quantized weights exist, the parameters are the dequantized weights."""
        raise NotImplementedError


def adopt(cls, module):
    """Creates a `cls` with the parameters, buffers and hooks of `module`. Both modules refer to the
    same tensors in separate registries, so optimizers and tied weights stay valid. Raises ValueError
    if the instance overrides `forward`, because this function would be called instead."""
    if "forward" in module.__dict__:
        raise ValueError("forward: expected the method of the class, found a function that was "
                         "set on the module (for example to dispatch over devices): convert "
                         "the model before")
    new = cls.__new__(cls)
    new.__dict__.update({name: copy.copy(value) if isinstance(value, (dict, set))
                         else value for name, value in module.__dict__.items()})
    # The compiled call of Module.compile, and the twin of mx_compiler.transformers, belong to the old module.
    return keep_hooks(without(new, "_compiled_call_impl", "quantized_once", "_mx_twin"), module)


def adopt_experts(cls, module, recipe):
    """Creates a `cls` for experts like `adopt`. Records the original class for `to_plain`."""
    new = adopt(cls, module)
    new.plain_class = getattr(module, "plain_class", type(module))
    new.recipe = recipe
    return new


def without(module, *names):
    """Removes these instance attributes from the module."""
    for name in names:
        module.__dict__.pop(name, None)
    return module


# Registries of call hooks. State dict hooks depend on the parameters of a module and are not kept.
_HOOKS = ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
          "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_backward_hooks",
          "_backward_pre_hooks", "_is_full_backward_hook")


def keep_hooks(new, module):
    """Shares the registries of call hooks between `module` and `new`, so the handles of the
    hooks can still remove them."""
    new.__dict__.update((name, module.__dict__[name]) for name in _HOOKS
                        if name in module.__dict__)
    return new


def forget_state_hooks(module):
    """Removes the state dict hooks of a module, because they expect other parameters."""
    for name in ("_state_dict_hooks", "_state_dict_pre_hooks",
                 "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"):
        module.__dict__[name] = OrderedDict()
    return module


def local(x):
    """Returns this rank's part of a DTensor. Returns other tensors unchanged. Differentiable."""
    return x.to_local() if hasattr(x, "to_local") else x


def check_plain(name, x):
    """Raises ValueError if x is a DTensor, because the module needs the whole tensor."""
    if hasattr(x, "to_local"):
        raise ValueError(f"{name}: expected a plain tensor, found a DTensor, such as those of "
                         "parallelize_module and fully_shard: convert the model before")


def check_parameter(module, name):
    """Raises ValueError if the parameter is a DTensor, or if a hook computes it (weight_norm,
    pruning). In the latter case, quantizing once would ignore later updates."""
    check_plain(name, module._parameters.get(name))
    if name not in module._parameters:
        raise ValueError(f"{name}: expected a parameter, found a tensor that a hook computes "
                         "(weight_norm, spectral_norm, prune): remove the hook first")


# Packages with a from_pretrained that creates a float model and initializes missing weights randomly. It
# only warns about them.
_OF_FLOATS = ("transformers", "diffusers")


def in_save_pretrained():
    """Returns True if save_pretrained of these packages requests the current state dict. A module
    calls this function while its state dict is created, because the saved model may differ from the
    converted model."""
    frame = sys._getframe(1)
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package == "peft":
            return False        # peft stores only adapters
        if package in _OF_FLOATS and frame.f_code.co_name == "save_pretrained":
            return True
        frame = frame.f_back
    return False
