# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the modules do with tensors that are not bf16, and with the modules that they
replace."""

import copy
import sys
from collections import OrderedDict

import torch

from .._ops.checks import check_tensor

FLOATS = (torch.float32, torch.bfloat16, torch.float16)


def to_bf16(name, x):
    """x as matmuls take it: rounded to bf16, differentiable. Raises a TypeError."""
    check_tensor(name, x)
    if x.dtype not in FLOATS:
        raise TypeError(f"{name}: expected float32, bfloat16 or float16, found "
                        f"{dtype_name(x)}")
    return x.to(torch.bfloat16)


def dtype_name(x):
    return str(x.dtype).removeprefix("torch.")


def result_dtype(x):
    """Of a module's result: autocast's if it is on, else that of its input."""
    kind = x.device.type
    if kind == "meta":          # of which autocast knows nothing
        return x.dtype
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


def check_last(name, x, size, what):
    if x.dim() < 1 or x.shape[-1] != size:
        raise ValueError(f"{name}: expected [..., {size}], {what}, found shape "
                         f"{tuple(x.shape)}")


class Replacement:
    """What `convert` puts into a model, and takes out again."""

    def to_plain(self):
        """A module of PyTorch, or of the class that this one came from, with the same
        weights: the very parameters, and those dequantized that exist only quantized."""
        raise NotImplementedError


def adopt(cls, module):
    """A `cls` with the parameters, buffers and hooks of `module`: the same tensors in
    registers of its own, so that optimizers and tied weights keep theirs. Raises a
    ValueError if the module has a forward of its own, which would be called instead."""
    if "forward" in module.__dict__:
        raise ValueError("forward: expected that of the class, found one that was put on "
                         "the module (as dispatch over devices does): convert before")
    new = cls.__new__(cls)
    new.__dict__.update({name: copy.copy(value) if isinstance(value, (dict, set))
                         else value for name, value in module.__dict__.items()})
    # What Module.compile made calls the module that it was made of.
    return keep_hooks(without(new, "_compiled_call_impl"), module)


def adopt_experts(cls, module, recipe):
    """The same of experts. It remembers the class that `to_plain` gives back."""
    new = adopt(cls, module)
    new.plain_class = getattr(module, "plain_class", type(module))
    new.recipe = recipe
    return new


def without(module, *names):
    """The module without these attributes of its own."""
    for name in names:
        module.__dict__.pop(name, None)
    return module


# Those of calls. Hooks of state dicts are of the parameters that a module has.
_HOOKS = ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called",
          "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_backward_hooks",
          "_backward_pre_hooks", "_is_full_backward_hook")


def keep_hooks(new, module):
    """`new` with the hooks of `module`: the very registers, from which the handles that
    their callers hold remove them."""
    new.__dict__.update((name, module.__dict__[name]) for name in _HOOKS
                        if name in module.__dict__)
    return new


def forget_state_hooks(module):
    """Of a module whose parameters are others than those that its hooks are of."""
    for name in ("_state_dict_hooks", "_state_dict_pre_hooks",
                 "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"):
        module.__dict__[name] = OrderedDict()
    return module


def local(x):
    """This rank's part of a DTensor, differentiable; other tensors are what they are."""
    return x.to_local() if hasattr(x, "to_local") else x


def check_plain(name, x):
    """Raises a ValueError for a DTensor, where a module needs the whole of it."""
    if hasattr(x, "to_local"):
        raise ValueError(f"{name}: expected a plain tensor, found a DTensor, as "
                         "parallelize_module and fully_shard make them: convert before")


def check_parameter(module, name):
    """Raises a ValueError if a hook computes it, as weight_norm and pruning do: what is
    quantized once would miss that. Or if it is a DTensor."""
    check_plain(name, module._parameters.get(name))
    if name not in module._parameters:
        raise ValueError(f"{name}: expected a parameter, found one that a hook computes "
                         "(weight_norm, spectral_norm, prune): remove that first")


# Their from_pretrained makes a model of floats, and gives weights that it misses random
# values, with no more than a warning.
_OF_FLOATS = ("transformers", "diffusers")


def find_save_pretrained():
    """The frame of a save_pretrained of these packages that wants the state dict which is
    made now, or None. The model need not be the one that was converted, so the modules look
    for it when they are saved."""
    frame = sys._getframe(1)
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package == "peft":
            return None         # which stores adapters alone
        if package in _OF_FLOATS and frame.f_code.co_name == "save_pretrained":
            return frame
        frame = frame.f_back
    return None
