# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes. They describe how modules quantize the operands of their matmuls."""

import dataclasses
import difflib

from ..._ops import checks as check
from ..._ops.quantize import ROUNDINGS
from ..._runtime.internal import internal


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Quantization of the operands of a module's matmuls.

    activations, weights, gradients
                    formats with blocks of 32 (mx.FORMATS). `gradients` is the format of
                    the results' gradients, which are operands of the backward matmuls
    scale_rounding  "ceil" (torchao's RCEIL), "floor" (OCP MX 1.0), "even" or "fit"
    wgrad_high_precision
                    True: compute weight gradients with bf16 matmuls
    save_quantized  True: save x for the backward pass in the form that the matmul of the
                    weight gradient reads. With MXFP8, this form takes 33 bytes for 32
                    values. The results do not change
    weight_only     True: quantize weights once, when the module is created. Activations
                    stay bf16, and weights have no gradient
    fp8_activations True: weight-only matmuls of MXFP4 with many rows quantize activations to
                    FP8 (docs/guide/TorchTraining.md, FP8 activations)

    Raises TypeError or ValueError. Errors name the field."""
    activations: str = "mxfp8_e4m3"
    weights: str = "mxfp8_e4m3"
    gradients: str = "mxfp8_e4m3"
    scale_rounding: str = "ceil"
    wgrad_high_precision: bool = False
    weight_only: bool = False
    save_quantized: bool = False
    fp8_activations: bool = False

    def __post_init__(self):
        for field in ("activations", "weights", "gradients"):
            format = check.training_format(field, getattr(self, field))
            object.__setattr__(self, field, format.name)
        check.one_of("scale_rounding", self.scale_rounding, ROUNDINGS)
        for field in ("wgrad_high_precision", "weight_only", "save_quantized", "fp8_activations"):
            if not isinstance(getattr(self, field), bool):
                raise TypeError(f"{field}: expected True or False, found "
                                f"{getattr(self, field)!r}")
        if self.weight_only and self.wgrad_high_precision:
            raise ValueError("wgrad_high_precision: expected False, because weight_only has "
                             "no gradients of weights, found True")
        for other in ("weight_only", "wgrad_high_precision"):
            if self.save_quantized and getattr(self, other):
                raise ValueError(f"save_quantized: expected False with {other}, which does "
                                 "not quantize x along its rows, found True")

        if self.fp8_activations and not (self.weight_only and self.weights == "mxfp4"):
            raise ValueError("fp8_activations: expected False without weight_only and weights of "
                             f"mxfp4, which are exact in FP8, found True with {self.weights}")

    @internal
    def matmul_options(self):
        """Returns the keyword arguments of mxfp8_mm and mxfp8_grouped_mm."""
        return {"activations": self.activations, "weights": self.weights,
                "gradients": self.gradients, "scale_rounding": self.scale_rounding,
                "wgrad_high_precision": self.wgrad_high_precision,
                "save_quantized": self.save_quantized}

    def __str__(self):
        """Returns the name of the recipe, or its non-default fields if it is unnamed."""
        for name, recipe in RECIPES.items():
            if recipe == self:
                return name
        others = [f"{field.name}={getattr(self, field.name)!r}"
                  for field in dataclasses.fields(self)
                  if getattr(self, field.name) != field.default]
        return f"Recipe({', '.join(others)})"


RECIPES = {
    "mxfp8": Recipe(),
    "mxfp8_wgrad_with_hp": Recipe(wgrad_high_precision=True),
    "mxfp8_e5m2_gradients": Recipe(gradients="mxfp8_e5m2"),
    "mxfp8_save_quantized": Recipe(save_quantized=True),
    "mxfp8_floor": Recipe(scale_rounding="floor"),
    "mxfp8_weights": Recipe(weight_only=True),
    "mxfp6_weights": Recipe(weights="mxfp6_e2m3", weight_only=True),
    "mxfp4_weights": Recipe(weights="mxfp4", weight_only=True),
    "mxfp4_weights_fp8": Recipe(weights="mxfp4", weight_only=True, fp8_activations=True),
}
"""Recipes by name. `convert` and the modules accept these names."""


def find_recipe(recipe, argument="recipe", others=()):
    """Returns a Recipe, which is given directly or by name. Raises TypeError or ValueError. The error also
    lists `others`, names that the caller handles."""
    if isinstance(recipe, Recipe):
        return recipe
    if not isinstance(recipe, str):
        raise TypeError(f"{argument}: expected an mx_compiler.torch.Recipe or the name of one, "
                        f"found {type(recipe).__name__}")
    if recipe not in RECIPES:
        known = (*RECIPES, *others)
        raise ValueError(f"{argument}: expected an mx_compiler.torch.Recipe or one of "
                         f"{', '.join(known)}, found {recipe!r}{_suggest(recipe, known)}")
    return RECIPES[recipe]


def _suggest(name, known):
    """Returns the end of a message with names of this prefix, or with a similar
    spelling."""
    name = name.lower()
    close = ([full for full in known if name and full.startswith(name)]
             or difflib.get_close_matches(name, known, 2))
    return f": did you mean {' or '.join(close)}?" if close else ""


def training_recipe(recipe, module, weight_only):
    """Returns a training Recipe for the class `module`. Raises an error that suggests the class
    `weight_only` if the recipe is weight-only."""
    found = find_recipe(recipe)
    if found.weight_only:
        raise ValueError(f"recipe: expected a training recipe for {module}, found "
                         f"{found}: use mx_compiler.torch.{weight_only}")
    return found


def weight_only_recipe(recipe, module, training):
    """Returns a weight-only Recipe for the class `module`. Raises an error that suggests the class
    `training` if the recipe is for training."""
    found = find_recipe(recipe)
    if not found.weight_only:
        raise ValueError(f"recipe: expected a weight-only recipe for {module}, found "
                         f"{found}: use mx_compiler.torch.{training}")
    return found
