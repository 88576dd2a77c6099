# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Argument checks before an operator is called. PyTorch's own errors would print the contents of
arguments that are not tensors, and would name the arguments of the operator."""

import torch
from torch import Tensor
from torch.autograd import forward_ad


def check_tensor(name, x):
    """Raises TypeError unless x is a strided tensor without a tangent."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}: expected a torch.Tensor, found {type(x).__name__}")
    if x.layout is not torch.strided or x.is_nested:
        kind = "a nested tensor" if x.is_nested else str(x.layout)
        raise TypeError(f"{name}: expected a dense tensor, found {kind}")
    # PyTorch would silently drop the tangent, because the operator is not one of its own.
    if forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None:
        raise TypeError(f"{name}: expected no tangent, as operators of mx_compiler.torch have no "
                        "derivatives in forward mode, found a tangent: use reverse mode, "
                        "or pass a detached tensor")


def check_tensors(**named):
    """Applies check_tensor to all arguments except None."""
    for name, x in named.items():
        if x is not None:
            check_tensor(name, x)


def check_names(**named):
    """Raises TypeError unless all values are strings."""
    for name, x in named.items():
        if not isinstance(x, str):
            raise TypeError(f"{name}: expected a name, found {x!r}")


def check_flag(name, x):
    """Raises TypeError unless x is True, False, 1 or 0."""
    if not isinstance(x, int) or x not in (0, 1):
        raise TypeError(f"{name}: expected True or False, found {x!r}")


def check_one_device(**named):
    """Raises ValueError if tensors are on different devices. None is skipped. Only fake kernels need
    this check, because they run even if only some tensors are fake."""
    (first, wanted), *others = ((n, x.device) for n, x in named.items() if x is not None)
    for name, found in others:
        if found != wanted:
            raise ValueError(f"{name}: expected a tensor on {wanted}, like {first}, "
                             f"found a tensor on {found}")


def assume_expert_groups(ends):
    """Lets torch.compile assume at least one expert group. The program checks this at
    run time."""
    if ends is not None and ends.dim() and isinstance(ends.shape[0], torch.SymInt):
        torch._check(ends.shape[0] >= 1)


def as_rows(x):
    """Flattens all dimensions except the last. Raises TypeError or ValueError."""
    check_tensor("x", x)
    shape = x.shape
    if not shape or not shape[-1]:
        raise ValueError(f"x: expected [..., K] with K of at least 1, found shape {tuple(shape)}")
    # A view would add a step to the forward and backward pass.
    return x if len(shape) == 2 else x.reshape(-1, shape[-1])


def like_rows(y, x):
    """Restores the dimensions of x, except the last, in `y`, the result for `as_rows(x)`."""
    return y if x.dim() == 2 else y.view(*x.shape[:-1], y.shape[-1])


def add_bias(y, bias):
    """Returns y + bias, [N], in the dtype of y. Raises TypeError or ValueError."""
    if bias is None:
        return y
    check_tensor("bias", bias)
    if bias.shape != y.shape[-1:] or not bias.is_floating_point():
        raise ValueError(f"bias: expected floating point of shape {tuple(y.shape[-1:])}, "
                         f"the outputs (N), found {bias.dtype} of shape {tuple(bias.shape)}")
    return y + bias.to(y.dtype)


def refuse_second_order(*operators):
    """Registers an error as the gradient of these backward operators, because PyTorch's own
    error is unhelpful."""
    def refuse(ctx, *gradients):
        raise RuntimeError("gradients: expected first-order gradients, as operators of "
                           "mx_compiler.torch have no double backward, found a gradient of a "
                           "gradient: omit create_graph=True, or exclude layers that need it "
                           "with a filter of convert")

    for name in operators:
        torch.library.register_autograd(f"mx::{name}", refuse)
