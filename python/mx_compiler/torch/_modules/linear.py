# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nn.Linear with block-scaled matmuls."""

import torch
from torch import Tensor
from torch.types import Device

from ..._ops import checks as check
from .parameters import Replacement, adopt, as_dtype, check_last, result_dtype, to_bf16, without
from .recipes import Recipe, training_recipe


class MXLinear(Replacement, torch.nn.Linear):
    """Linear layer y = x weight^T + bias. The operands of its matmul, and of the matmuls for both
    gradients, are quantized according to `recipe`.

    in_features, out_features  multiples of 32, or of 128 with fp8_scales
    bias      True to add a bias in bf16
    recipe    an mx_compiler.torch.Recipe for training, or its name
    device, dtype  device and dtype (float32 for master weights, bfloat16 or float16) of
              the parameters

    The parameters have the names, shapes and dtypes of nn.Linear, so state dicts and optimizer
    states are interchangeable. x is [..., in_features], of any of these dtypes, and is rounded to
    bf16. The result has the dtype of x, or autocast's dtype. Gradients have the dtypes of their
    tensors.

    Raises TypeError or ValueError. Errors name the argument."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True,
                 recipe: str | Recipe = "mxfp8", device: Device = None, dtype: torch.dtype | None = None,
                 *, batch_invariant: bool = False) -> None:
        recipe = training_recipe(recipe, "MXLinear", "MXWeightOnlyLinear", batch_invariant)
        check.size("in_features", in_features, recipe.block)
        check.size("out_features", out_features, recipe.block)
        super().__init__(in_features, out_features, bias, device, dtype)
        self.recipe = recipe

    @classmethod
    def from_linear(cls, linear: torch.nn.Linear, recipe: str | Recipe = "mxfp8", *,
                    batch_invariant: bool = False) -> "MXLinear":
        """Creates the module from an nn.Linear. The modules share parameters and hooks, and have the
        same mode."""
        recipe = training_recipe(recipe, "MXLinear", "MXWeightOnlyLinear", batch_invariant)
        check_linear(linear, recipe)
        new = adopt(cls, linear)
        new.recipe = recipe
        return new

    def to_plain(self) -> torch.nn.Linear:
        """Returns an nn.Linear with the same parameters, hooks and mode."""
        return without(adopt(torch.nn.Linear, self), "recipe")

    def forward(self, x: Tensor) -> Tensor:
        operand = to_bf16("x", x)
        check_last("x", x, self.in_features, "in_features of the layer")
        # f32 weights are quantized without rounding to bf16, and their gradients are f32 sums.
        y = self.recipe.multiply(operand, self.weight, self.bias, self.quantized_once)
        return as_dtype(y, result_dtype(x))

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, recipe={self.recipe}"


def check_linear(linear, recipe):
    """Raises TypeError or ValueError if no module of the recipe can replace `linear`. The gradient of x
    is a sum over the outputs in blocks, so their number is checked for training."""
    if not isinstance(linear, torch.nn.Linear):
        raise TypeError(f"linear: expected a torch.nn.Linear, found {type(linear).__name__}")
    check.size("in_features", linear.in_features, recipe.block)
    check.size("out_features", linear.out_features, 1 if recipe.weight_only else recipe.block)
