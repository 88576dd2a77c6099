# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization method "mx" of vLLM, for linear layers in checkpoints with state dicts of mx."""

import torch
from vllm.model_executor.layers.fused_moe import RoutedExperts, UnquantizedFusedMoEMethod
from vllm.model_executor.layers.linear import (LinearBase, LinearMethodBase, UnquantizedLinearMethod,
                                               register_weight_loader_v2_supported_method)
from vllm.model_executor.layers.quantization import register_quantization_config
from vllm.model_executor.layers.quantization.base_config import QuantizationConfig
from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead
from vllm.model_executor.parameter import (BasevLLMParameter, BlockQuantScaleParameter,
                                           GroupQuantScaleParameter, ModelWeightParameter,
                                           PerTensorScaleParameter)

from .._ops import scale_tiles
from .._ops.formats import find_format
from .._ops.fp8_text import weight_format
from ..torch._modules.recipes import RECIPES, find_recipe
from ..torch._ops.token_groups import from_tiles
from .weights import CAPABILITY, multiply, multiply_fp8, store, unsupported

_STORED = tuple(name for name, recipe in RECIPES.items() if recipe.weight_only)
_PARTS = "weight_elements", "weight_scales", "weight_fp8_scales", "weight_fp8_factors"


class MxConfig(QuantizationConfig):
    """Contents of config.json, as mx_compiler.transformers writes it:

        "quantization_config": {"quant_method": "mx", "recipe": "mxfp4_weight_only",
                                "modules_to_not_convert": ["lm_head"], "batch_invariant": false}

    recipe  name of a weight-only recipe (mx_compiler.torch.RECIPES)
    modules_to_not_convert  names of unquantized modules, or parts of names between dots; default: the
            output layer. Linear layers with sizes that the recipe does not support are unquantized"""

    def __init__(self, recipe, skipped=None):
        super().__init__()
        self.recipe, self.skipped = recipe, skipped

    @classmethod
    def from_config(cls, config):
        name = config.get("recipe")
        if name not in _STORED:
            raise ValueError(f"quantization_config.recipe: expected one of {', '.join(_STORED)}, found {name!r}")
        recipe = find_recipe(name, batch_invariant=config.get("batch_invariant", False))
        return cls(recipe, config.get("modules_to_not_convert"))

    get_name = classmethod(lambda cls: "mx")
    get_supported_act_dtypes = classmethod(lambda cls: [torch.bfloat16, torch.float16])
    get_min_capability = classmethod(lambda cls: CAPABILITY)
    get_config_filenames = staticmethod(lambda: [])

    def apply_vllm_mapper(self, hf_to_vllm_mapper):
        self.skipped = self.skipped and hf_to_vllm_mapper.apply_list(self.skipped)

    def _skips(self, prefix):
        path, _, name = prefix.rpartition(".")
        found = {any(f".{skip}." in f".{path}.{part}." for skip in self.skipped or ())
                 for part in self.packed_modules_mapping.get(name, [name])}
        if len(found) > 1:
            raise ValueError(f"{prefix}: expected all matrices of the layer in modules_to_not_convert, or none")
        return found.pop()

    def get_quant_method(self, layer, prefix):
        if isinstance(layer, LinearBase):
            if layer.input_size % self.recipe.block or self._skips(prefix):
                return UnquantizedLinearMethod()
            return MxLinearMethod(self.recipe, prefix)
        if isinstance(layer, ParallelLMHead) and self.skipped is not None and not self._skips(prefix):
            return MxLinearMethod(self.recipe, prefix)
        if isinstance(layer, RoutedExperts):
            if self._skips(prefix):
                return UnquantizedFusedMoEMethod(layer.moe_config)
            raise ValueError(f"{prefix}: expected unquantized experts, which are listed in modules_to_not_convert, "
                             "found experts to quantize: in vLLM, mx supports linear layers only")
        return None


@register_weight_loader_v2_supported_method
class MxLinearMethod(LinearMethodBase):
    """Linear layer with a weight of mx. Parameters contain plain scales, which vLLM can divide between
    ranks and join in fused layers. The loader converts the blocked scales of checkpoints."""

    def __init__(self, recipe, prefix):
        if reason := unsupported():
            raise ValueError(f"{prefix}: {reason}")
        format = find_format(recipe.weights)
        self.recipe, self.prefix = recipe, prefix
        self.format = weight_format(format.elements, recipe.fp8_scales) if recipe.fp8_scales else format

    def create_weights(self, layer, input_size_per_partition, output_partition_sizes, input_size, output_size,
                       params_dtype, **extra):
        format, fp8 = self.format, self.recipe.fp8_scales
        widths, columns = list(output_partition_sizes), input_size_per_partition
        self._check_sizes(layer, widths, columns, output_size)
        layer.logical_widths, layer.weight_block_size = widths, [format.block] * 2 if fp8 else None
        dtype, nan = (torch.float32, torch.nan) if fp8 == "f32" else (torch.uint8, 255)

        def register(name, kind, data, convert, **dims):
            def load(param, loaded, *args, **kwargs):
                return extra["weight_loader"](param, convert(loaded), *args, **kwargs)
            layer.register_parameter(name, kind(data=data, weight_loader=load, **dims))

        def matrix(name, loaded, width):
            if loaded.dtype != torch.uint8 or loaded.dim() != 2 or loaded.shape[1] != width:
                raise ValueError(f"{self.prefix}.{name}: expected bytes of shape [N, {width}], found {loaded.dtype} "
                                 f"of shape {tuple(loaded.shape)}")
            return loaded.contiguous()

        def scales(loaded):
            blocks = input_size // format.block
            if fp8:
                return matrix("weight_scales", loaded, blocks * dtype.itemsize).view(dtype)
            tiles = matrix("weight_scales", loaded, scale_tiles.padded(1, blocks)[1])
            # Layers that join matrices read the first rows of each.
            return from_tiles(tiles, min(getattr(layer, "org_vocab_size", output_size), len(tiles)), blocks)

        rows, sides = sum(widths), {"input_dim": 1, "output_dim": 0}
        register("weight_elements", ModelWeightParameter,
                 torch.zeros(rows, columns // format.per_byte, dtype=torch.uint8),
                 lambda loaded: matrix("weight_elements", loaded, input_size // format.per_byte), **sides)
        register("weight_scales", BlockQuantScaleParameter if fp8 else GroupQuantScaleParameter,
                 torch.full((-(-rows // format.rows), columns // format.block), nan, dtype=dtype), scales, **sides)
        if format.has_global_scale:
            register("weight_global_scale", PerTensorScaleParameter, torch.full((len(widths),), torch.nan),
                     lambda loaded: matrix("weight_global_scale", loaded[None], 4)[0].view(torch.float32))
        # State dicts contain the name of the format. vLLM reads the device of this parameter.
        layer.register_parameter("weight", BasevLLMParameter(
            data=torch.empty(0, dtype=torch.uint8), weight_loader=self._check_name))

    def _check_sizes(self, layer, widths, columns, output_size):
        block, fp8 = self.format.block, self.recipe.fp8_scales
        if fp8 and isinstance(layer, ParallelLMHead):
            raise ValueError(f"{self.prefix}: expected an unquantized head, or weights with blocks of 32 or 16, found "
                             f"{self.recipe}: convert the model without it, and list it in modules_to_not_convert")
        # The last block of a matrix may be partial.
        parts = widths if sum(widths) != output_size else widths[:-1]
        if columns % block or any(size % self.format.rows for size in parts):
            raise ValueError(f"{self.prefix}: expected multiples of {block} as {'N and ' * bool(fp8)}K on each rank, "
                             f"found {widths} and {columns}: use fewer ranks")

    def _check_name(self, param, loaded, *args):
        is_name = loaded.dtype == torch.uint8 and loaded.dim() == 1
        found = bytes(loaded.tolist()).decode(errors="replace") if is_name else f"{loaded.dtype} {[*loaded.shape]}"
        if found != self.format.name:
            raise ValueError(f"{self.prefix}.weight: expected the name {self.format.name} as bytes, found {found}: "
                             "list unquantized modules in modules_to_not_convert")

    def process_weights_after_loading(self, layer):
        elements, scales = layer.weight_elements.data, layer.weight_scales.data
        factors = getattr(layer, "weight_global_scale", None)
        is_missing = (scales != scales if scales.is_floating_point() else scales == 255).any()
        if is_missing or factors is not None and factors.isnan().any():
            raise ValueError(f"{self.prefix}: expected weight_elements and scales of {self.format.name} without NaN "
                             "in the checkpoint, found none, or NaN, for some rows")
        if self.recipe.fp8_scales:
            return
        # Matrices with different global scales are multiplied one after another.
        is_one = factors is None or bool((factors == factors[0]).all())
        widths = [len(elements)] if is_one else layer.logical_widths
        parts = _PARTS[:4 if self.recipe.fp8_activations else 2]
        layer.mx_parts = [[f"{part}_{number}" if number else part for part in parts]
                          for number in range(len(widths))]
        for names, *weight in zip(layer.mx_parts, elements.split(widths), scales.split(widths)):
            store(layer, names, *weight, self.format, self.recipe.fp8_activations)

    def apply(self, layer, x, bias=None):
        if self.recipe.fp8_scales:
            y = multiply_fp8(x, layer.weight_elements, layer.weight_scales)
        else:
            factors = getattr(layer, "weight_global_scale", None)
            ys = [multiply(layer, names, x, self.format, None if factors is None else factors[number],
                           self.recipe.batch_invariant)
                  for number, names in enumerate(layer.mx_parts)]
            y = ys[0] if len(ys) == 1 else torch.cat(ys, -1)
        return y if bias is None else y + bias


def add():
    """Registers the quantization method."""
    register_quantization_config("mx")(MxConfig)
