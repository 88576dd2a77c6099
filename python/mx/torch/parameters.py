# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the modules do with tensors that are not bf16, and with the modules that they
replace."""

import copy

import torch

FLOATS = (torch.float32, torch.bfloat16, torch.float16)


def to_bf16(name, x):
    """x as products take it: rounded to bf16, differentiable. Raises a TypeError."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name}: expected a tensor, found {type(x).__name__}")
    if x.dtype not in FLOATS:
        raise TypeError(f"{name}: expected float32, bfloat16 or float16, found "
                        f"{dtype_name(x)}")
    return x.to(torch.bfloat16)


def dtype_name(x):
    return str(x.dtype).removeprefix("torch.")


def result_dtype(x):
    """Of a module's result: autocast's if it is on, else that of its input."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype


def check_last(name, x, size, what):
    if x.dim() < 1 or x.shape[-1] != size:
        raise ValueError(f"{name}: expected [..., {size}], {what}, found shape "
                         f"{tuple(x.shape)}")


def adopt(cls, module):
    """A `cls` with the parameters, buffers and hooks of `module`: the same tensors in
    registers of its own, so that optimizers and tied weights keep theirs."""
    new = cls.__new__(cls)
    new.__dict__.update({name: copy.copy(value) if isinstance(value, (dict, set))
                         else value for name, value in module.__dict__.items()})
    return new
