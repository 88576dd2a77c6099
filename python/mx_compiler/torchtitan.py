# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of torchtitan model configs to block-scaled linear layers and experts, for training on
Hopper GPUs. They replace torchtitan's MXFP8 converters, which need compute capability 10.0:

    from mx_compiler.torchtitan import MXGroupedExpertsConverter, MXLinearConverter
    spec = model_registry("16B", converters=[
        MXLinearConverter.Config(recipe_name="mxfp8", fqns=["layers."]),
        MXGroupedExpertsConverter.Config(recipe_name="mxfp8")])

Importing this module needs torchtitan 0.3, which needs PyTorch 2.12 or newer."""

import functools
import importlib.metadata
import inspect
from dataclasses import dataclass, field, fields

from . import torch as mxt
from .torch._modules.convert import shorten
from .torch._modules.parameters import Replacement, adopt, as_dtype, result_dtype, to_bf16, without
from .torch._modules.recipes import find_recipe
from .torch._ops import sharding  # noqa: F401  for spmd_typechecking, which reads the sharding rules


def _refuse(why):
    try:
        found = importlib.metadata.version("torchtitan")
    except importlib.metadata.PackageNotFoundError:
        found = "none"
    return ImportError("mx_compiler.torchtitan: expected torchtitan 0.3 with its dependencies, found "
                       f"{found} ({why}): pip install torchtitan==0.3.0")


try:
    from torchtitan.components.quantization import QuantizationConverter
    from torchtitan.models.common.linear import Linear
    from torchtitan.models.common.moe import GroupedExperts, TokenChoiceTopKRouter
    from torchtitan.protocols.module import Module
    from torchtitan.tools.logging import logger
except ImportError as error:
    raise _refuse(error) from error

if not hasattr(GroupedExperts, "_grouped_mm") or [*inspect.signature(GroupedExperts.forward).parameters] != [
        "self", "x_RD", "num_tokens_per_expert_E"]:
    raise _refuse("GroupedExperts has another interface")


class MXLinear(mxt.MXLinear, Module):
    """mx_compiler.torch.MXLinear, built from a config of torchtitan."""

    @dataclass(kw_only=True, slots=True)
    class Config(Linear.Config):
        recipe_name: str = "mxfp8"

    def __init__(self, config):
        super().__init__(config.in_features, config.out_features, config.bias, config.recipe_name)

    def forward(self, input):
        # torchtitan's sharding finds the argument by its name. The last dimension of input and weight
        # may be this rank's part of in_features, so only the operator checks it.
        y = self.recipe.multiply(to_bf16("input", input), self.weight, self.bias, self.quantized_once)
        return as_dtype(y, result_dtype(input))

    def to_plain(self):
        """Returns torchtitan's Linear with the same parameters, hooks and mode."""
        return without(adopt(Linear, self), "recipe")


@functools.cache
def _experts_class(base):
    """Returns a subclass of `base`, a class of torchtitan's experts, with block-scaled matmuls."""

    class MXGroupedExperts(Replacement, base):
        plain_class = base

        @dataclass(kw_only=True, slots=True)
        class Config(base.Config):
            recipe_name: str = "mxfp8"

        def __init__(self, config):
            super().__init__(config)
            self.recipe = find_recipe(config.recipe_name)

        def _grouped_mm(self, *, A, B_t, offs):
            return self.recipe.multiply_grouped(A, [B_t.transpose(-2, -1)], offs)[0]

        def extra_repr(self):
            return f"recipe={self.recipe}"

        def to_plain(self):
            """Returns a module of torchtitan's class with the same parameters, hooks and mode."""
            return without(adopt(base, self), "recipe")

    if base.forward is GroupedExperts.forward:
        # Gate and up are one matmul, and float32 weights are quantized without rounding to bf16.
        def forward(self, x_RD, num_tokens_per_expert_E):
            return mxt.MXGroupedExperts.forward(self, x_RD, num_tokens_per_expert_E).type_as(x_RD)

        MXGroupedExperts.forward = forward
        MXGroupedExperts._multiply = mxt.MXGroupedExperts._multiply
        for name in ("w1_EFD", "w2_EDF", "w3_EFD"):
            setattr(MXGroupedExperts, name[:2], property(lambda self, name=name: getattr(self, name)))
    MXGroupedExperts.__name__ = MXGroupedExperts.__qualname__ = f"MX{base.__name__}"
    return MXGroupedExperts


class _Converter(QuantizationConverter):
    """Converts configs of the class `_kind`. `_sizes` are their fields with sizes of matmuls."""

    @dataclass(kw_only=True, slots=True)
    class Config(QuantizationConverter.Config):
        recipe_name: str = "mxfp8"
        """Name of a training recipe of mx_compiler.torch.RECIPES."""

        fqns: list[str] = field(default_factory=list)
        """Parts of the names of converted modules. If empty, all modules are converted."""

        filter_fqns: list[str] = field(default_factory=list)
        """Parts of the names of modules to keep unchanged."""

    def __init__(self, config):
        self.config = config
        self.recipe = find_recipe(config.recipe_name, "recipe_name")
        if self.recipe.weight_only:
            training = [name for name, recipe in mxt.RECIPES.items() if not recipe.weight_only]
            raise ValueError("recipe_name: expected a recipe for training, one of "
                             f"{', '.join(training)}, found {config.recipe_name}")
        for name in ("fqns", "filter_fqns"):
            found = getattr(config, name)
            if not isinstance(found, (list, tuple)) or not all(isinstance(x, str) for x in found):
                raise TypeError(f"{name}: expected a list of parts of module names, found {found!r}")

    def convert(self, model_config):
        """Replaces the selected configs, and returns the config of the model. Raises ValueError if
        none is selected, or if the sizes of a selected config are unsupported; then nothing is
        replaced."""
        places, wrong, left = [], [], []
        for name, config, parent, attribute in [*model_config.traverse(self._kind.Config)]:
            if not self._selects(name, parent):
                continue
            if (converted := self._converted(type(config)._owner)) is None:
                left.append(f"{name} ({type(config)._owner.__name__})")
                continue
            wrong += [f"{name} ({size} {getattr(config, size)})" for size in self._sizes
                      if getattr(config, size) % self.recipe.block]
            places.append((converted, config, parent, attribute))
        if wrong:
            raise ValueError(f"model_config: expected multiples of {self.recipe.block} with the recipe "
                             f"{self.recipe}, found {shorten(wrong)}: name these modules in filter_fqns")
        if not places:
            raise ValueError(f"model_config: expected a {self._kind.__name__} that fqns="
                             f"{self.config.fqns} and filter_fqns={self.config.filter_fqns} select, found "
                             f"none{f' but {shorten(left)}' * bool(left)}")
        for converted, config, parent, attribute in places:
            values = {f.name: getattr(config, f.name) for f in fields(config) if f.init}
            new = converted.Config(**{**values, "recipe_name": self.config.recipe_name})
            if parent is None:
                model_config = new
            elif isinstance(parent, list):
                parent[attribute] = new
            else:
                setattr(parent, attribute, new)
        if left:
            logger.warning(f"mx_compiler.torchtitan: left as they are: {shorten(left)}, since these "
                           "classes may compute something else")
        logger.info(f"Converted {len(places)} {self._kind.__name__} to the recipe {self.recipe}")
        return model_config

    def _selects(self, name, parent):
        fqns, others = self.config.fqns, self.config.filter_fqns
        return ((not fqns or any(part in name for part in fqns))
                and not any(part in name for part in others))


class MXLinearConverter(_Converter):
    """Replaces torchtitan's Linear by MXLinear. Keeps routers, and subclasses of Linear."""

    _kind, _sizes = Linear, ("in_features", "out_features")

    @dataclass(kw_only=True, slots=True)
    class Config(_Converter.Config):
        pass

    def _selects(self, name, parent):
        return not isinstance(parent, TokenChoiceTopKRouter.Config) and super()._selects(name, parent)

    def _converted(self, owner):
        return MXLinear if owner in (Linear, MXLinear) else None


class MXGroupedExpertsConverter(_Converter):
    """Replaces the matmuls of torchtitan's GroupedExperts, and of subclasses with calls of
    `_grouped_mm`, such as the experts of gpt-oss. They may have any number of rows, so token
    dispatchers stay the same."""

    _kind, _sizes = GroupedExperts, ("dim", "hidden_dim")

    @dataclass(kw_only=True, slots=True)
    class Config(_Converter.Config):
        pass

    def _converted(self, owner):
        return _experts_class(getattr(owner, "plain_class", owner))


__all__ = ["MXGroupedExpertsConverter", "MXLinear", "MXLinearConverter"]
