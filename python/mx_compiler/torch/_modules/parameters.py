# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dtypes of module inputs, and the transfer of parameters between replaced modules and
replacements."""

import copy
import sys
from collections import OrderedDict

import torch

from .._ops.checks import check_tensor

FLOATS = (torch.float32, torch.bfloat16, torch.float16)


def to_bf16(name, x):
    """Rounds x to bf16, the input of matmuls; differentiable. Raises TypeError."""
    check_tensor(name, x)
    if x.dtype not in FLOATS:
        raise TypeError(f"{name}: expected float32, bfloat16 or float16, found "
                        f"{dtype_name(x)}")
    return x.to(torch.bfloat16)


def dtype_name(x):
    return str(x.dtype).removeprefix("torch.")


def result_dtype(x):
    """Returns the dtype of a module's result: autocast's if enabled, else that of its input."""
    kind = x.device.type
    if kind == "meta":          # not supported by autocast
        return x.dtype
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


def check_last(name, x, size, what):
    if x.dim() < 1 or x.shape[-1] != size:
        raise ValueError(f"{name}: expected [..., {size}], {what}, found shape "
                         f"{tuple(x.shape)}")


class Replacement:
    """Module that `convert` inserts into a model and can convert back."""

    def to_plain(self):
        """Returns a PyTorch module or a module of the original class, with the same weights:
        shared parameters, or dequantized ones if only quantized weights exist."""
        raise NotImplementedError


def adopt(cls, module):
    """Creates a `cls` with the parameters, buffers and hooks of `module`. Tensors are shared,
    in separate registries, so optimizers and tied weights stay valid. Raises ValueError if the
    instance overrides forward, which would be called instead."""
    if "forward" in module.__dict__:
        raise ValueError("forward: expected that of the class, found one that was put on "
                         "the module (as dispatch over devices does): convert before")
    new = cls.__new__(cls)
    new.__dict__.update({name: copy.copy(value) if isinstance(value, (dict, set))
                         else value for name, value in module.__dict__.items()})
    # The compiled call of Module.compile is bound to the old module.
    return keep_hooks(without(new, "_compiled_call_impl"), module)


def adopt_experts(cls, module, recipe):
    """Creates a `cls` like `adopt` for experts, and records the class for `to_plain`."""
    new = adopt(cls, module)
    new.plain_class = getattr(module, "plain_class", type(module))
    new.recipe = recipe
    return new


def without(module, *names):
    """Removes these instance attributes from the module."""
    for name in names:
        module.__dict__.pop(name, None)
    return module


# Call hooks. State dict hooks depend on the parameters of a module and are not kept.
_HOOKS = ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
          "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_backward_hooks",
          "_backward_pre_hooks", "_is_full_backward_hook")


def keep_hooks(new, module):
    """Shares the call hooks of `module` with `new`, so that the callers' handles can still
    remove them."""
    new.__dict__.update((name, module.__dict__[name]) for name in _HOOKS
                        if name in module.__dict__)
    return new


def forget_state_hooks(module):
    """Removes the state dict hooks of a module with other parameters than the hooks expect."""
    for name in ("_state_dict_hooks", "_state_dict_pre_hooks",
                 "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"):
        module.__dict__[name] = OrderedDict()
    return module


def local(x):
    """Returns this rank's part of a DTensor, differentiably; returns other tensors unchanged."""
    return x.to_local() if hasattr(x, "to_local") else x


def check_plain(name, x):
    """Raises ValueError for a DTensor where a module needs the whole tensor."""
    if hasattr(x, "to_local"):
        raise ValueError(f"{name}: expected a plain tensor, found a DTensor, as "
                         "parallelize_module and fully_shard make them: convert before")


def check_parameter(module, name):
    """Raises ValueError for a DTensor, or if a hook computes the parameter (weight_norm,
    pruning), because quantizing once would ignore later updates."""
    check_plain(name, module._parameters.get(name))
    if name not in module._parameters:
        raise ValueError(f"{name}: expected a parameter, found one that a hook computes "
                         "(weight_norm, spectral_norm, prune): remove that first")


# Their from_pretrained creates a float model and fills missing weights randomly, with only a
# warning.
_OF_FLOATS = ("transformers", "diffusers")


def find_save_pretrained():
    """Returns the frame of a save_pretrained of these packages that requests the current state
    dict, or None. Modules check this while being saved, because the saved model may differ from
    the converted model."""
    frame = sys._getframe(1)
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package == "peft":
            return None         # stores only adapters
        if package in _OF_FLOATS and frame.f_code.co_name == "save_pretrained":
            return frame
        frame = frame.f_back
    return None
