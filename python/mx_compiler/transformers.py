# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mx for Hugging Face's Transformers (5.17 or later). Importing this module registers

- the quantization config and quantizer "mx" (`MXConfig`), for from_pretrained and save_pretrained;
- the experts implementations "mx" and "mx_RECIPE" for each name in mx_compiler.torch.RECIPES.

`load` reads checkpoints of other tools. docs/guide/Models.md describes the module."""

import os
import pathlib
import re
import warnings
from typing import Any, Sequence

import torch
from torch._dynamo.comptime import comptime

from . import torch as mxt
from .torch import checkpoints
from .torch._checkpoints import layouts, models
from .torch._modules.convert import replace, shorten
from .torch._modules.experts import from_routed, is_routed, looks_like_experts, routed_class, routers
from .torch._modules.linear import check_linear
from .torch._modules.parameters import without
from .torch._modules.recipes import RECIPES, Recipe, find_recipe
from .torch._modules.weight_only import Quantized

try:
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.core_model_loading import (ConversionOps, WeightConverter, WeightRenaming,
                                                 rename_source_key, revert_weight_conversion)
    from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS
    from transformers.quantizers.auto import register_quantization_config, register_quantizer
    from transformers.quantizers.base import HfQuantizer
    from transformers.utils.quantization_config import QuantizationConfigMixin
except ImportError as error:
    import importlib.metadata as _metadata
    try:
        _found = f"transformers {_metadata.version('transformers')}"
    except _metadata.PackageNotFoundError:
        _found = "no such package"
    raise ImportError(f"expected transformers 5.17 or later, found {_found}: pip install -U transformers "
                      f"({error})") from error

__all__ = ["load", "MXConfig"]


@register_quantization_config("mx")
class MXConfig(QuantizationConfigMixin):
    """Quantization config for from_pretrained(..., quantization_config=MXConfig(recipe)).

    recipe      name in mx_compiler.torch.RECIPES, "mxfp4_weight_only" by default. With weight-only recipes, float
                weights are quantized while they are loaded, one module at a time; save_pretrained writes the bytes
                of the modules' state dicts. With training recipes, checkpoints contain floats
    modules_to_not_convert  names of modules, or parts between dots, to keep; default: the output layer
                and tied weights
    batch_invariant  as in mx_compiler.torch.convert_

    Raises TypeError or ValueError. Errors name the argument."""

    def __init__(self, recipe: str | None = None, modules_to_not_convert: Sequence[str] | None = None,
                 batch_invariant: bool = False, *, quant_method: str = "mx",
                 source: dict[str, Any] | None = None) -> None:
        # The config of another tool, if that tool quantized the weights, and the recipe for them, if given.
        self._source, self._given = source, recipe
        recipe = "mxfp4_weight_only" if recipe is None else recipe
        if not isinstance(recipe, str):
            raise TypeError(f"recipe: expected a name in mx_compiler.torch.RECIPES, found {type(recipe).__name__}")
        if not find_recipe(recipe).weight_only and source is not None:
            raise ValueError(f"recipe: expected a weight-only recipe for quantized weights, found {recipe}")
        names = modules_to_not_convert
        if names is not None and not (isinstance(names, (list, tuple)) and all(isinstance(name, str) for name in names)):
            raise TypeError(f"modules_to_not_convert: expected a list of names or None, found {names!r}")
        if not isinstance(batch_invariant, bool):
            raise TypeError(f"batch_invariant: expected True or False, found {batch_invariant!r}")
        self.quant_method, self.recipe, self.batch_invariant = "mx", recipe, batch_invariant
        self.modules_to_not_convert = names if names is None else list(names)

    def to_dict(self) -> dict[str, Any]:
        """Returns the entry quantization_config of config.json."""
        if self._source is not None:
            return dict(self._source)
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def find_recipe(self) -> Recipe:
        """Returns the Recipe."""
        return find_recipe(self.recipe, batch_invariant=self.batch_invariant)


class _QuantizeOnLoad(ConversionOps):
    """Quantizes the weights of a module as soon as all of them are loaded."""

    def __init__(self, quantizer):
        self.quantizer = quantizer

    def convert(self, input_dict, *, model=None, full_layer_name=None, missing_keys=None, **_):
        # A tensor of a checkpoint may contain several weights.
        names = [full_layer_name] if len(input_dict) == 1 else list(input_dict)
        kept = {}
        for key, value in zip(names, input_dict.values()):
            if not self.quantizer.param_needs_quantization(model, key):
                kept[key] = value
                continue
            path, _, name = key.rpartition(".")
            module, weights = model.get_submodule(path), self.quantizer.targets[path]
            value = value[0] if isinstance(value, list) else value
            module._parameters[name] = torch.nn.Parameter(value, requires_grad=False)
            if missing_keys is not None:
                missing_keys.discard(key)
            weights.discard(name)
            if not weights:
                mxt_module = _quantize(module, self.quantizer.recipe)
                mxt_module._is_hf_initialized = True
                for weight in mxt_module._weights:
                    _stand_in(mxt_module, weight, module._parameters[weight])
                replace(model, {module: mxt_module})
        return kept


def _stand_in(module, name, weight):
    """Lets the code that initializes the parents of a module find the weight, without memory and as loaded."""
    module.__dict__[name] = torch.empty_like(weight, device="meta")
    module.__dict__[name]._is_hf_initialized = True


def _quantize(module, recipe):
    if isinstance(module, torch.nn.Linear):
        return mxt.MXWeightOnlyLinear.from_linear(module, recipe)
    return from_routed(module, recipe)


@register_quantizer("mx")
class MXHfQuantizer(HfQuantizer):
    """Inserts modules of mx while from_pretrained loads a model.

    A stored weight-only model is loaded in three steps: its quantized modules lose their
    weights, Transformers loads the other tensors, and the modules are replaced by ones with the stored bytes."""

    requires_calibration = False
    is_serializable = lambda self: True     # noqa: E731
    is_trainable = True
    is_qat_trainable = property(lambda self: not self.recipe.weight_only)   # parameters are floats
    is_compileable = True

    def __init__(self, quantization_config, **kwargs):
        super().__init__(quantization_config, **kwargs)
        self.recipe, self.source = quantization_config.find_recipe(), quantization_config._source
        self.targets, self.hidden, self.stored, self.conversions = {}, {}, {}, None

    def validate_environment(self, device_map=None, **_):
        places = device_map.values() if isinstance(device_map, dict) else [device_map]
        if "disk" in places:
            raise ValueError("device_map: expected devices with memory for quantized weights, found disk")

    # --- Before the weights are loaded ---

    def update_dtype(self, dtype):
        """Returns bf16 if the dtype is that of FP8 weights, because the config names none."""
        return dtype if dtype.itemsize > 1 else torch.bfloat16

    def _process_model_before_weight_loading(self, model, checkpoint_files=None, **_):
        names = [f".{name}." for name, _ in model.named_modules()]
        if lost := [skip for skip in self.quantization_config.modules_to_not_convert or ()
                    if not any(f".{skip}." in name for name in names)]:
            warnings.warn(f"modules_to_not_convert: expected names of modules, found no module {', '.join(lost)}",
                          stacklevel=2)
        self.skipped = self.get_modules_to_not_convert(
            model, self.quantization_config.modules_to_not_convert, getattr(model, "_keep_in_fp32_modules", None))
        if not self.recipe.weight_only:
            return
        if not self.pre_quantized:
            _refuse_fp8(checkpoint_files or [])
            self.targets = {name: set(weights) for name, weights in self._find_modules(model)}
            return
        if not checkpoint_files:
            raise ValueError("checkpoint: expected files, from which quantized weights are read, found none")
        self.checkpoint = checkpoints.Checkpoint(_common_path(checkpoint_files))
        self.rename = _renaming(model)
        modules = dict(model.named_modules())
        tied = {key.rpartition(".")[0] for pair in model.all_tied_weights_keys.items() for key in pair}
        for name in self._find_stored(model):
            if name in tied:
                raise ValueError(f"{checkpoint_files[0]}: {name}: expected floats for a weight that the model shares, found "
                                 "quantized weights: set tie_word_embeddings to False in config.json")
            module = modules[name]
            weights = ["weight"] if isinstance(module, torch.nn.Linear) else ["gate_up_proj", "down_proj"]
            self.hidden[name] = {weight: module._parameters[weight] for weight in weights}
            for weight in weights:
                _stand_in(module, weight, module._parameters[weight])
            module._parameters.update(dict.fromkeys(weights))
            module._is_hf_initialized = True
        # The stored tensors have no place in the model yet.
        patterns = {rf"^{re.sub(r'[0-9]+', '[0-9]+', re.escape(name))}\." for name in self.stored.values()}
        model._keys_to_ignore_on_load_unexpected = {*(model._keys_to_ignore_on_load_unexpected or ()), *patterns}

    def _find_modules(self, model):
        """Yields the names of modules to convert, and the names of their weights."""
        chosen_by, left = routers(model), {}
        for name, module in model.named_modules():
            if self._is_skipped(name) or module in chosen_by:
                continue
            try:
                if type(module) is torch.nn.Linear:
                    check_linear(module, self.recipe)
                    yield name, ["weight"]
                elif is_routed(module) or looks_like_experts(module):
                    routed_class(module, self.recipe)
                    yield name, ["gate_up_proj", "down_proj"]
            except ValueError as error:
                left.setdefault((type(module).__name__, str(error)), []).append(name)
        if left and not self.pre_quantized:
            warnings.warn("mx_compiler.transformers: left as they are: " + "; ".join(
                f"{shorten(names)} ({kind}: {why})" for (kind, why), names in left.items()), stacklevel=2)

    def _is_skipped(self, name):
        return any(f".{skip}." in f".{name}." for skip in self.skipped)

    def _find_stored(self, model):
        """Returns the names of modules with stored quantized weights."""
        if self.source is not None:
            found = layouts.find_weights(self.checkpoint)
            names = {module: name for name, module in model.named_modules()}
            places, others = models.find_places(model, self.checkpoint, found, self.rename)
            self._refuse_converted(model, others)
            self.stored = {names[module]: names[module] for module, _ in places}
            return self.stored.keys()
        keys, prefix = self.checkpoint.keys(), f"{model.base_model_prefix}."
        # A base model is stored without, and a model with a head with, the prefix.
        self.stored = {name: stored for name, weights in self._find_modules(model)
                       for stored in (name.removeprefix(prefix), prefix + name, name)
                       if any(f"{stored}.{weight}_elements" in keys for weight in weights)}
        return self.stored.keys()

    def _refuse_converted(self, model, names):
        """Raises ValueError for a quantized weight without a module of its own that Transformers converts, such as one of
        experts of an unsupported class. The conversion would lose the scales."""
        state, mapping = model.state_dict(), get_model_conversion_mapping(model)
        kinds = [[entry for entry in mapping if isinstance(entry, kind)] for kind in (WeightRenaming, WeightConverter)]
        for name in names:
            for key in f"{name}.weight", name:
                target, _ = rename_source_key(key, *kinds, model.base_model_prefix, state)
                if target in state:
                    raise ValueError(f"{self.checkpoint.path}: {name}: expected a weight of a linear layer or of supported "
                                     f"experts, found one that Transformers converts to {target}")

    def param_needs_quantization(self, model, param_name, **_):
        path, _, name = param_name.rpartition(".")
        return name in self.targets.get(path, ())

    def get_quantize_ops(self):
        return _QuantizeOnLoad(self)

    # --- After the weights are loaded ---

    def _process_model_after_weight_loading(self, model, **_):
        # save_pretrained would also convert the names of quantized weights.
        self.conversions = getattr(model, "_weight_conversions", None)
        if self.recipe.weight_only:
            for name, parameters in self.hidden.items():
                model.get_submodule(name)._parameters.update(parameters)
                without(model.get_submodule(name), *parameters)
            hooks = _take_hooks(model, self.hidden)
            if self.source is not None:
                checkpoints.load_(model, self.checkpoint, device=lambda name: _device_of(model, name, hooks),
                                  rename=self.rename, recipe=self.quantization_config._given)
            elif self.hidden:
                replace(model, {model.get_submodule(name): self._load_parts(model, name, hooks) for name in self.hidden})
            for name, hook in hooks.items():
                _add_hook(model.get_submodule(name), hook)
            for module in model.modules():
                if isinstance(module, Quantized):
                    without(module, *module._weights).has_config = True
                    # Transformers replaces buffers outside of state dicts, such as normalized scales.
                    module._arrange(*module._weights)
            model._weight_conversions = []
        else:
            mxt.convert_(model, self.recipe, filter=lambda module, name: not self._is_skipped(name))
        self.hidden, self.checkpoint, self.rename = {}, None, None
        return model

    def _load_parts(self, model, name, hooks):
        """Returns the module with the stored bytes of a module's state dict."""
        layer = models.replacement(model.get_submodule(name), self.recipe)
        to = _device_of(model, name, hooks)
        for weight in layer._weights:
            # The bytes of MXFP6 and MXFP8 have equal shapes.
            key, wanted = f"{self.stored[name]}.{weight}_elements", self.recipe.weights
            if (found := self.checkpoint.metadata(key).get("mx", wanted)) != wanted:
                raise ValueError(f"{self.checkpoint.file(key)}: {key}: expected {wanted}, the format of the recipe in "
                                 f"config.json, found {found}")
            shape = layer._k_major(layer._parameters[weight]).shape
            shapes = layer.part_shapes(weight, shape)
            parts = [self.checkpoint.read(f"{self.stored[name]}.{weight}_{part}", dims, (torch.uint8,), to)
                     for part, dims in zip(layer.part_names, shapes)]
            layer.hold(weight, lambda _: parts)
        return layer

    def get_state_dict_and_metadata(self, model):
        if not self.recipe.weight_only:
            return None, {}
        quantized = {name: module for name, module in model.named_modules() if isinstance(module, Quantized)}
        stored = {f"{name}.{weight}{suffix}" for name, module in quantized.items() for weight in module._weights
                  for suffix in ("", *(f"_{part}" for part in module.part_names))}
        state = model.state_dict()
        plain = {key: value for key, value in state.items() if key not in stored}
        model._weight_conversions = self.conversions
        try:
            plain = revert_weight_conversion(model, plain)
        finally:
            model._weight_conversions = []
        if self.source is not None and not quantized:
            raise ValueError("model: expected the quantized weights that its config describes, found none: call "
                             "model.dequantize() instead of mx_compiler.torch.convert_")
        if self.source is not None:
            return plain | checkpoints.tensors(model), {}
        # The names of formats in place of weights let from_pretrained refuse the files unless "mx" is registered.
        return plain | {key: state[key] for key in stored if key in state}, {"mx": self.recipe.weights}

    def _dequantize(self, model, dtype=None):
        # Buffers, and parameters of another dtype than the model's, stay as they are.
        # save_pretrained stores the name of the dtype in the config.
        old, dtype = model.dtype, getattr(torch, dtype) if isinstance(dtype, str) else dtype
        for module in model.modules():
            if isinstance(module, Quantized):
                module.float_dtype = dtype
        model = mxt.convert_(model, "bf16")
        for parameter in model.parameters():
            if parameter.dtype == old:
                parameter.data = parameter.data.to(dtype)
        return model


def _refuse_fp8(files):
    """Raises ValueError for a weight in FP8. Transformers would convert it to the dtype of the model without scales."""
    files = [file for file in files if str(file).endswith(".safetensors")]
    checkpoint = checkpoints.Checkpoint(_common_path(files)) if files else None
    for key in checkpoint.keys() if files else ():
        if (found := checkpoint.header(key)[1]).startswith("F8"):
            raise ValueError(f"{checkpoint.file(key)}: {key}: expected floats, because config.json has no quantization_config, "
                             f"found {found}")


def _common_path(files):
    """Returns the folder of several files, or the only file."""
    paths = [pathlib.Path(file) for file in files]
    return paths[0].parent if len(paths) > 1 else paths[0]


def _renaming(model):
    """Returns a function from the name of a weight in a checkpoint to its name in the model."""
    renamings = [entry for entry in get_model_conversion_mapping(model) if isinstance(entry, WeightRenaming)]
    prefix = model.base_model_prefix
    known = {name for name, _ in model.named_modules()}

    def rename(name):
        name = rename_source_key(f"{name}.weight", renamings, [])[0].removesuffix(".weight")
        # A base model is stored without, and a model with a head with, the prefix.
        for other in (name, f"{prefix}.{name}", name.removeprefix(f"{prefix}.")):
            if other.rpartition(".")[0] in known or re.sub(r"\.[0-9]+\.\w+$", "", other) in known:
                return other
        return name
    return rename


def _take_hooks(model, names):
    """Removes the hooks by which accelerate distributes modules over devices, and returns them by name."""
    hooks = {}
    for name in names:
        module = model.get_submodule(name)
        if hasattr(module, "_hf_hook"):
            from accelerate.hooks import remove_hook_from_module
            hooks[name] = module._hf_hook
            remove_hook_from_module(module)
    return hooks


def _add_hook(module, hook):
    from accelerate.hooks import add_hook_to_module
    add_hook_to_module(module, hook)


def _device_of(model, name, hooks):
    """Returns the device of a module."""
    if (device := getattr(hooks.get(name), "execution_device", None)) is not None:
        return torch.device(device)
    while True:
        name = name.rpartition(".")[0]
        for parameter in model.get_submodule(name).parameters():
            if not parameter.is_meta:
                return parameter.device
        if not name:
            raise ValueError("device: expected a loaded parameter in the model, found none")


# --- Experts ---


def _experts_function(trained, frozen):
    """Returns the function of an experts implementation. It computes by the recipe `trained` in calls with gradients of
    weights, and by `frozen` in others."""
    def compute(self, hidden_states, top_k_index, top_k_weights):
        has_gradients = torch.is_grad_enabled() and any(x.requires_grad for x in self._parameters.values() if x is not None)
        return _find_twin(self, trained if has_gradients else frozen).forward(hidden_states, top_k_index, top_k_weights)
    return compute


def _find_twin(module, name):
    if torch.compiler.is_dynamo_compiling():
        comptime(_make_twin)            # torch.compile cannot trace the creation of modules
        return module._mx_twin[3]
    return _twin(module, RECIPES[name])


def _make_twin(context):
    module, name = (context.get_local(local)._i_will_not_complain_if_bc_breaks_VariableTracker().value
                    for local in ("module", "name"))
    _twin(module, RECIPES[name])


def _twin(module, recipe):
    """Returns a module of the recipe with the parameters of experts. With weight-only recipes, it contains
    their quantized weights, and is made anew when they change."""
    state = [parameter for parameter in module._parameters.values() if parameter is not None]
    versions = None
    if recipe.weight_only:
        versions = [(0 if x.is_inference() else x._version, x.device, x.data_ptr()) for x in state]
        if module.training and torch.is_grad_enabled() and any(x.requires_grad and x.dim() == 3 for x in state):
            raise ValueError(f"experts_implementation: expected a training recipe for weights that require gradients, found "
                             f"{recipe}: call eval(), or requires_grad_(False) for the weights")
    known = module.__dict__.get("_mx_twin")
    if (known is None or known[0] != recipe or known[2] != versions or len(known[1]) != len(state)
            or any(a is not b for a, b in zip(known[1], state))):
        plain = object.__new__(type(module))
        # Hooks of accelerate replace forward, and already called this function.
        plain.__dict__ = {name: value for name, value in module.__dict__.items()
                          if name not in ("forward", "_hf_hook", "_old_forward", "_mx_twin")}
        try:
            with torch.inference_mode(False):
                module.__dict__["_mx_twin"] = known = recipe, state, versions, from_routed(plain, recipe)
        except ValueError as error:
            raise ValueError(f"experts_implementation: recipe {recipe}: {error}: choose another of mx_RECIPE") from error
    return known[3]


for _name in RECIPES:
    ALL_EXPERTS_FUNCTIONS.register(f"mx_{_name}", _experts_function(_name, _name))
ALL_EXPERTS_FUNCTIONS.register("mx", _experts_function("mxfp8", "mxfp8_weight_only"))

# --- Checkpoints of other tools ---


def load(path: str | os.PathLike[str], *, recipe: str | None = None, model_class: Any = AutoModelForCausalLM,
         **options: Any) -> torch.nn.Module:
    """Loads a model with weights quantized by another tool, unchanged. save_pretrained writes them
    again in the layout of this tool.

    path     folder, or name on the hub, of a checkpoint in a layout of mx_compiler.torch.checkpoints.LAYOUTS
    recipe   name of a recipe with the formats of the checkpoint, such as "w4a8"; default: by layout
    model_class  class with from_pretrained
    options  arguments of from_pretrained, such as device_map and dtype

    Returns the model. Checkpoints of floats and of the method "mx" are loaded by from_pretrained. Raises the errors
    of from_pretrained and of mx_compiler.torch.checkpoints.load_."""
    about = {name: options[name] for name in ("trust_remote_code", "revision", "token", "cache_dir", "subfolder",
                                              "local_files_only") if name in options}
    config = options.pop("config", None) or AutoConfig.from_pretrained(path, **about)
    holders = [holder for holder in (config, config.get_text_config()) if getattr(holder, "quantization_config", None)]
    if not holders and (file := pathlib.Path(path) / layouts.MODELOPT).is_file():
        config.quantization_config, holders = layouts.read_modelopt(file), [config]
    if holders:
        source = holders[0].quantization_config
        source = source if isinstance(source, dict) else source.to_dict()
        if source.get("quant_method") != "mx":
            for holder in holders:
                holder.__dict__.pop("quantization_config", None)
            config.quantization_config = {"quant_method": "mx", "source": source}
            if recipe is not None:
                config.quantization_config["recipe"] = recipe
    else:
        _refuse_fp8(sorted(pathlib.Path(path).glob("model*.safetensors")))
    return model_class.from_pretrained(path, config=config, **options)
