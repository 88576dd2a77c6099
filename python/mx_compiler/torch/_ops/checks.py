# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of what is given to the functions, before an operator is called: PyTorch's own
refusal of what is no tensor prints its contents and names arguments of the operator."""

import torch
from torch import Tensor
from torch.autograd import forward_ad


def check_tensor(name, x):
    """Raises a TypeError if x is no tensor with strides, or has a tangent."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}: expected a torch.Tensor, found {type(x).__name__}")
    if x.layout is not torch.strided or x.is_nested:
        kind = "a nested tensor" if x.is_nested else str(x.layout)
        raise TypeError(f"{name}: expected a dense tensor, found {kind}")
    # PyTorch would give none, without a word, for an operator that it does not know.
    if forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None:
        raise TypeError(f"{name}: expected no tangent, as operators of mx_compiler.torch have no "
                        "derivatives in forward mode, found one: use those in reverse "
                        "mode, or pass a detached tensor")


def check_tensors(**named):
    """The same of several; those that are None are not there."""
    for name, x in named.items():
        if x is not None:
            check_tensor(name, x)


def check_names(**named):
    """Raises a TypeError if one is no string."""
    for name, x in named.items():
        if not isinstance(x, str):
            raise TypeError(f"{name}: expected a name, found {x!r}")


def check_flag(name, x):
    """Raises a TypeError if x is neither True nor False, nor 1 or 0."""
    if not isinstance(x, int) or x not in (0, 1):
        raise TypeError(f"{name}: expected True or False, found {x!r}")


def check_one_device(**named):
    """For fake kernels, which are asked if any tensor is without contents. Raises a
    ValueError if others are elsewhere; None is not there."""
    (first, wanted), *others = ((n, x.device) for n, x in named.items() if x is not None)
    for name, found in others:
        if found != wanted:
            raise ValueError(f"{name}: expected a tensor on {wanted}, as {first} is, "
                             f"found one on {found}")


def assume_expert_groups(ends):
    """For what is traced: as many expert groups as the data say are one at least. The program
    checks it when it runs."""
    if ends is not None and ends.dim() and isinstance(ends.shape[0], torch.SymInt):
        torch._check(ends.shape[0] >= 1)


def as_rows(x):
    """All dimensions but the last as one. Raises a TypeError or ValueError."""
    check_tensor("x", x)
    if not x.shape or not x.shape[-1]:
        raise ValueError("x: expected [..., K] with K of at least 1, found shape "
                         f"{tuple(x.shape)}")
    # A view would be one more step forward and backward.
    return x if x.dim() == 2 else x.reshape(-1, x.shape[-1])


def like_rows(y, x):
    """The result for `as_rows(x)` with the dimensions of x, but the last."""
    return y if x.dim() == 2 else y.view(*x.shape[:-1], y.shape[-1])


def add_bias(y, bias):
    """y + bias, [N], in the dtype of y. Raises a TypeError or ValueError."""
    if bias is None:
        return y
    check_tensor("bias", bias)
    if bias.shape != y.shape[-1:] or not bias.is_floating_point():
        raise ValueError(f"bias: expected floating point of shape {tuple(y.shape[-1:])}, "
                         f"the outputs (N), found {bias.dtype} of shape "
                         f"{tuple(bias.shape)}")
    return y + bias.to(y.dtype)


def refuse_second_order(*operators):
    """Gives these operators of backward passes a gradient that is an error: PyTorch's own
    names its functions that register one."""
    def refuse(ctx, *gradients):
        raise RuntimeError("gradients: expected those of first order, as operators of "
                           "mx_compiler.torch have no double backward, found a gradient of a "
                           "gradient: leave out create_graph=True, or let layers that need "
                           "it stay as they are by a filter of convert")

    for name in operators:
        torch.library.register_autograd(f"mx::{name}", refuse)
