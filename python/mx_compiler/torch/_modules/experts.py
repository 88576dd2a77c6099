# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SwiGLU experts on rows that are sorted by expert, in bf16 and block-scaled."""

import torch
from torch.nn import functional as F

from ..._ops import checks as check
from .._ops.mxfp8_mm import mxfp8_grouped_mm
from .parameters import (Replacement, adopt, adopt_experts, dtype_name, local,
                         result_dtype, to_bf16, without)
from .recipes import training_recipe


class GroupedExperts(torch.nn.Module):
    """w2[e] (silu(w1[e] x) * w3[e] x) for the rows x of each expert e, in bf16 by
    PyTorch's grouped_mm: what MXGroupedExperts is compared with.

    dim, hidden_dim, num_experts  sizes, the first two multiples of 8, which grouped_mm
                  wants; parameters are w1 and w3, [num_experts, hidden_dim, dim], and
                  w2, [num_experts, dim, hidden_dim], as in torchtitan
    device, dtype  of the parameters

    forward(x, num_tokens_per_expert): x is [rows, dim], sorted by expert,
    num_tokens_per_expert integers, [num_experts], on the device, which nothing waits
    for. Their sum is the number of rows. The result has the shape and dtype of x, or
    autocast's dtype. Where parameters are DTensors, all of this is of the part that this
    rank has, as torchtitan's expert and tensor parallelism give it.

    Raises a TypeError or ValueError that names the argument."""

    def __init__(self, dim, hidden_dim, num_experts, device=None, dtype=None):
        for name, size, multiple in (("dim", dim, 8), ("hidden_dim", hidden_dim, 8),
                                     ("num_experts", num_experts, 1)):
            check.size(name, size, multiple)
        super().__init__()
        for name, shape in (("w1", (hidden_dim, dim)), ("w2", (dim, hidden_dim)),
                            ("w3", (hidden_dim, dim))):
            self.register_parameter(name, torch.nn.Parameter(torch.empty(
                num_experts, *shape, device=device, dtype=dtype)))
        self.reset_parameters()

    @property
    def num_experts(self):
        return self.w1.shape[0]

    def reset_parameters(self):
        """As nn.Linear for each expert."""
        for weight in (self.w1, self.w2, self.w3):
            bound = weight.shape[-1]**-0.5
            torch.nn.init.uniform_(weight, -bound, bound)

    def init_weights(self, init_std):
        """As torchtitan: a truncated normal distribution, for w1 of deviation 0.02."""
        for weight, deviation in ((self.w1, 0.02), (self.w2, init_std),
                                  (self.w3, init_std)):
            torch.nn.init.trunc_normal_(weight, mean=0.0, std=deviation)

    def forward(self, x, num_tokens_per_expert):
        # Rows are those of this rank's experts, where these are DTensors.
        w1, w2, w3 = local(self.w1), local(self.w2), local(self.w3)
        rows, ends = check_rows(x, num_tokens_per_expert, w1.shape[0], w1.shape[-1])
        # One matmul for gate and up: the gradient of x is one sum.
        gate_up = self._matmul(rows, (w1, w3), ends)
        gate, up = gate_up.chunk(2, -1)
        y = self._matmul(F.silu(gate) * up, (w2,), ends)
        return y.to(result_dtype(x))

    def _matmul(self, x, weights, ends):
        """By weights side by side."""
        weight = weights[0] if len(weights) == 1 else torch.cat(weights, 1)
        return F.grouped_mm(x, to_bf16("weight", weight).transpose(-2, -1), offs=ends)

    def extra_repr(self):
        experts, hidden, dim = self.w1.shape
        return f"dim={dim}, hidden_dim={hidden}, num_experts={experts}"


class MXGroupedExperts(Replacement, GroupedExperts):
    """GroupedExperts whose matmuls, forward and backward, are block-scaled as `recipe`
    says.

    dim, hidden_dim  multiples of 32
    recipe    an mx_compiler.torch.Recipe or the name of one that trains

    The rest, parameters too, as in GroupedExperts; they may be float32 (master
    weights), bfloat16 or float16. Experts may have any number of rows: nothing is
    padded."""

    plain_class = GroupedExperts

    def __init__(self, dim, hidden_dim, num_experts, recipe="mxfp8", device=None,
                 dtype=None):
        check.size("dim", dim, 32)
        check.size("hidden_dim", hidden_dim, 32)
        recipe = training_recipe(recipe, "MXGroupedExperts", "MXWeightOnlyExperts")
        super().__init__(dim, hidden_dim, num_experts, device, dtype)
        self.recipe = recipe

    @classmethod
    def from_experts(cls, module, recipe="mxfp8"):
        """Of a module with parameters w1, w2 and w3: with these very parameters, hooks
        and mode."""
        check_experts(module)
        recipe = training_recipe(recipe, "MXGroupedExperts", "MXWeightOnlyExperts")
        return adopt_experts(cls, module, recipe)

    def to_plain(self):
        """The experts of the class that these came from, GroupedExperts if from none,
        with these very parameters, hooks and mode."""
        return without(adopt(self.plain_class, self), "recipe", "plain_class")

    def _matmul(self, x, weights, ends):
        return mxfp8_grouped_mm(x, [weight.transpose(-2, -1) for weight in weights], ends,
                                **self.recipe.matmul_options())

    def extra_repr(self):
        return f"{super().extra_repr()}, recipe={self.recipe}"


def check_rows(x, num_tokens_per_expert, experts, dim):
    """x in bf16, and where the rows of each expert end. Raises a TypeError or
    ValueError."""
    rows, counts = to_bf16("x", x), num_tokens_per_expert
    if x.dim() != 2 or x.shape[1] != dim:
        raise ValueError(f"x: expected [rows, {dim}], sorted by expert, found shape "
                         f"{tuple(x.shape)}")
    if not isinstance(counts, torch.Tensor):
        raise TypeError("num_tokens_per_expert: expected a tensor of integers, found "
                        f"{type(counts).__name__}")
    if counts.is_floating_point() or counts.is_complex() or counts.dtype == torch.bool:
        raise TypeError("num_tokens_per_expert: expected a tensor of integers, found "
                        f"{dtype_name(counts)}")
    if tuple(counts.shape) != (experts,):
        raise ValueError(f"num_tokens_per_expert: expected [{experts}], a number for "
                         f"each expert, found shape {tuple(counts.shape)}")
    return rows, torch.cumsum(counts, 0, dtype=torch.int32)


def has_experts(module):
    """Whether `module` is experts as torchtitan has them, by its parameters."""
    return all(isinstance(getattr(module, name, None), torch.nn.Parameter)
               and getattr(module, name).dim() == 3 for name in ("w1", "w2", "w3"))


def check_experts(module):
    """Raises a TypeError or ValueError if no MX module can stand for it."""
    if not isinstance(module, torch.nn.Module) or not has_experts(module):
        raise TypeError("module: expected a module with parameters w1, w2 and w3 of 3 "
                        f"dimensions, found {type(module).__name__}")
    experts, hidden, dim = module.w1.shape
    for name, shape in (("w2", (experts, dim, hidden)), ("w3", (experts, hidden, dim))):
        found = tuple(getattr(module, name).shape)
        if found != shape:
            raise ValueError(f"{name}: expected shape {shape}, as w1 is "
                             f"{tuple(module.w1.shape)}, found {found}")
    check.size("dim", dim, 32)
    check.size("hidden_dim", hidden, 32)
