# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes. They describe how modules quantize the operands of their matmuls."""

import dataclasses
import difflib
from typing import Optional

from ..._ops import checks as check
from ..._ops.fp8_text import BLOCK, SCALES
from ..._ops.quantize import ROUNDINGS
from ..._runtime.internal import internal
from .._ops.fp8_mm import ELEMENTS, fp8_grouped_mm, fp8_mm
from .._ops.mxfp8_mm import mxfp8_grouped_mm, mxfp8_mm
from .weights_once import find_quantized


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Quantization of the operands of a module's matmuls.

    activations, weights, gradients
                    formats with blocks of 32 (mx.FORMATS); with weight_only, weights may be
                    nvfp4, with a global scale for each matrix. `gradients` is the format of the
                    results' gradients, which are operands of the backward matmuls
    scale_rounding  "ceil" (torchao's RCEIL), "floor" (OCP MX 1.0), "even" or "fit"
    wgrad_high_precision
                    True: compute weight gradients with bf16 matmuls
    save_quantized  True: save x for the backward pass in the form that the matmul of the
                    weight gradient reads. With MXFP8, this form takes 33 bytes for 32
                    values. The results do not change
    weight_only     True: quantize weights once, when the module is created. Activations
                    stay bf16 without fp8_scales, and weights have no gradient
    fp8_activations True: weight-only matmuls of MXFP4 with many rows quantize activations to
                    FP8 (docs/guide/TorchTraining.md, FP8 activations)
    fp8_scales      "e8m0" or "f32": multiply with FP8 tensor cores, with these scales for 128
                    elements of activations and gradients and for 128 x 128 weights, and with a
                    bound on sums (`fp8_mm`); x is always saved quantized. With weight_only,
                    weights are stored this way, and modules have the bits of training. None:
                    multiply blocks of 32 exactly
    batch_invariant  True: a row of a result has the same bits in any batch, at any place and with
                    any expert groups. Training recipes always do (docs/guide/TorchTraining.md)

    Raises TypeError or ValueError. Errors name the field."""
    activations: str = "mxfp8"
    weights: str = "mxfp8"
    gradients: str = "mxfp8"
    scale_rounding: str = "ceil"
    wgrad_high_precision: bool = False
    weight_only: bool = False
    save_quantized: bool = False
    fp8_activations: bool = False
    fp8_scales: Optional[str] = None
    batch_invariant: bool = False

    def __post_init__(self):
        for field in ("activations", "weights", "gradients"):
            is_stored = field == "weights" and self.weight_only is True
            format = (check.matmul_format if is_stored else check.training_format)(field, getattr(self, field))
            object.__setattr__(self, field, format.name)
        check.one_of("scale_rounding", self.scale_rounding, ROUNDINGS)
        for field in ("wgrad_high_precision", "weight_only", "save_quantized", "fp8_activations",
                      "batch_invariant"):
            if not isinstance(getattr(self, field), bool):
                raise TypeError(f"{field}: expected True or False, found {getattr(self, field)!r}")
        if self.weight_only and self.wgrad_high_precision:
            raise ValueError("wgrad_high_precision: expected False, because weight_only has "
                             "no gradients of weights, found True")
        for other in ("weight_only", "wgrad_high_precision"):
            if self.save_quantized and getattr(self, other):
                raise ValueError(f"save_quantized: expected False with {other}, which does "
                                 "not quantize x along its rows, found True")

        if self.weights == "nvfp4" and self.scale_rounding != "ceil":
            raise ValueError("scale_rounding: expected ceil with weights of nvfp4, found "
                             f"{self.scale_rounding}")
        if self.fp8_activations and not (self.weight_only and self.weights == "mxfp4"):
            raise ValueError("fp8_activations: expected False without weight_only and weights of "
                             f"mxfp4, which are exact in FP8, found True with {self.weights}")
        if self.fp8_scales is not None:
            self._check_fp8()

    def _check_fp8(self):
        check.one_of("fp8_scales", self.fp8_scales, (None, *SCALES))
        for field, known in (("activations", ELEMENTS[:1]), ("weights", ELEMENTS[:1]),
                             ("gradients", ELEMENTS), ("scale_rounding", ("ceil",)),
                             ("wgrad_high_precision", (False,)), ("save_quantized", (False,)),
                             ("fp8_activations", (False,))):
            if (found := getattr(self, field)) not in known:
                raise ValueError(f"{field}: expected {' or '.join(map(str, known))} with fp8_scales, "
                                 f"found {found}")

    @property
    @internal
    def block(self):
        """Number that divides the sizes of layers."""
        return BLOCK if self.fp8_scales else 32

    @internal
    def multiply(self, x, weight, bias, kept=None):
        """Computes x weight^T + bias, [..., N]. `kept` is that of quantize_weights_once."""
        if self.fp8_scales:
            return fp8_mm(x, weight, bias, scales=self.fp8_scales, gradients=self.gradients,
                          quantized=find_quantized(kept, weight, self.fp8_scales))
        return mxfp8_mm(x, weight, bias, **self._options())

    @internal
    def multiply_grouped(self, x, weights, ends, kept=None):
        """Multiplies the rows of each expert by its matrix in each of `weights`, [G, N, K]. Returns a
        list of results, [T, N]."""
        transposed = [weight.transpose(-2, -1) for weight in weights]
        if self.fp8_scales:
            return fp8_grouped_mm(
                x, transposed, ends, scales=self.fp8_scales, gradients=self.gradients,
                quantized=kept if kept is None else [
                    find_quantized(kept, weight, self.fp8_scales) for weight in weights])
        y = mxfp8_grouped_mm(x, transposed, ends, **self._options())
        return y.split([weight.shape[-2] for weight in weights], -1)

    def _options(self):
        return {"activations": self.activations, "weights": self.weights,
                "gradients": self.gradients, "scale_rounding": self.scale_rounding,
                "wgrad_high_precision": self.wgrad_high_precision,
                "save_quantized": self.save_quantized}

    def __str__(self):
        """Returns the name of the recipe, or its non-default fields if it is unnamed."""
        plain = dataclasses.replace(self, batch_invariant=False)
        for name, recipe in RECIPES.items():
            if recipe == plain:
                return name + ", batch_invariant" * self.batch_invariant
        others = [f"{field.name}={getattr(self, field.name)!r}"
                  for field in dataclasses.fields(self)
                  if getattr(self, field.name) != field.default]
        return f"Recipe({', '.join(others)})"


RECIPES = {
    "mxfp8": Recipe(),
    "mxfp8_fast": Recipe(fp8_scales="e8m0"),
    "fp8_block": Recipe(fp8_scales="f32"),
    "mxfp8_wgrad_with_hp": Recipe(wgrad_high_precision=True),
    "mxfp8_e5m2_gradients": Recipe(gradients="mxfp8_e5m2"),
    "mxfp8_save_quantized": Recipe(save_quantized=True),
    "mxfp8_floor": Recipe(scale_rounding="floor"),
    "mxfp8_weight_only": Recipe(weight_only=True),
    "mxfp6_weight_only": Recipe(weights="mxfp6_e2m3", weight_only=True),
    "mxfp8_fast_weight_only": Recipe(fp8_scales="e8m0", weight_only=True),
    "fp8_block_weight_only": Recipe(fp8_scales="f32", weight_only=True),
    "mxfp4_weight_only": Recipe(weights="mxfp4", weight_only=True),
    "nvfp4_weight_only": Recipe(weights="nvfp4", weight_only=True),
    "w4a8": Recipe(weights="mxfp4", weight_only=True, fp8_activations=True),
}
"""Recipes by name. `convert_` and the modules accept these names."""


def find_recipe(recipe, argument="recipe", others=(), batch_invariant=False):
    """Returns a Recipe, which is given directly or by name. Raises TypeError or ValueError. The error also
    lists `others`, names that the caller handles. `batch_invariant` sets this field."""
    if batch_invariant:
        return dataclasses.replace(find_recipe(recipe, argument, others), batch_invariant=batch_invariant)
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


def training_recipe(recipe, module, weight_only, batch_invariant=False):
    """Returns a training Recipe for the class `module`. Raises an error that suggests the class
    `weight_only` if the recipe is weight-only."""
    found = find_recipe(recipe, batch_invariant=batch_invariant)
    if found.weight_only:
        raise ValueError(f"recipe: expected a training recipe for {module}, found "
                         f"{found}: use mx_compiler.torch.{weight_only}")
    return found


def weight_only_recipe(recipe, module, training, batch_invariant=False):
    """Returns a weight-only Recipe for the class `module`. Raises an error that suggests the class
    `training` if the recipe is for training."""
    found = find_recipe(recipe, batch_invariant=batch_invariant)
    if not found.weight_only:
        raise ValueError(f"recipe: expected a weight-only recipe for {module}, found "
                         f"{found}: use mx_compiler.torch.{training}")
    return found
