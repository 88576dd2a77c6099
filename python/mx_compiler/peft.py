# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LoRA of Hugging Face's peft on quantized weights. Requires only an import:

    import mx_compiler.peft, mx_compiler.torch as mxt, peft

    mxt.convert_(model, "mxfp4_weight_only")
    model = peft.get_peft_model(model, peft.LoraConfig(
        target_modules="all-linear",
        target_parameters=["experts.gate_up_proj", "experts.down_proj"]))

The registered tuner also adapts the weight-only modules of mx_compiler.torch: linear layers by
`target_modules`, weights of experts by `target_parameters`. Names and shapes of the adapters are the
same as with float weights, so quantized and float models share stored adapters.
Weights stay quantized: experts add two grouped matmuls of their sorted rows by the factors, in bf16.

Merging dequantizes, adds, and quantizes with the recipe of the module. Unmerging restores the bytes.
For a merge in floats, call `mx_compiler.torch.convert_(model, "bf16")` on the model with adapters
first."""

import contextlib
import dataclasses

try:
    import peft
except ModuleNotFoundError as error:
    if error.name != "peft":
        raise
    raise ImportError("expected the package peft, release 0.21 or later, found no such package: "
                      "pip install peft") from error
import torch
from peft.tuners.lora import layer
from peft.tuners.tuners_utils import BaseTunerLayer, _maybe_include_all_linear_layers
from torch import Tensor
from torch.nn import functional as F

from .torch._modules.experts import QuantizedExperts
from .torch._modules.weight_only import MXWeightOnlyLinear, Quantized
from .torch._ops import tensors
from .torch._ops.checks import refuse_second_order

__all__ = []

if tuple(map(int, peft.__version__.split(".")[:2])) < (0, 21):
    raise ImportError(f"peft: expected release 0.21 or later, found {peft.__version__}: "
                      "pip install --upgrade peft")

_REMEDY = 'convert the model with mx_compiler.torch.convert_(model, "bf16") before'


@contextlib.contextmanager
def _with_weights(module, weights):
    """Sets float weights of a quantized module as parameters. Outside of this context they are None."""
    module._parameters.update(weights)
    try:
        yield
    finally:
        module._parameters.update(dict.fromkeys(weights))


def _without_memory(module, name):
    """Returns an f32 tensor with the shape of a weight before quantization."""
    return module._k_major(torch.empty(module._shape(name), dtype=torch.float32, device="meta"))


class _OnQuantized:
    """Overrides for a base layer without the float weight `parameter_name`."""

    parameter_name = "weight"

    def resolve_lora_variant(self, *, config, **kwargs):
        """Refuses variants and initial values of adapters that depend on the base weight."""
        found = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)
                 if field.metadata.get("is_lora_variant") and getattr(config, field.name)}
        if config.init_lora_weights not in (True, False, "gaussian"):
            found["init_lora_weights"] = config.init_lora_weights
        for name, value in found.items():
            raise ValueError(f"{name}: expected plain LoRA for quantized weights, found {value!r}: {_REMEDY}")

    def _get_base_layer_device_and_dtype(self, base):
        if isinstance(base, Quantized):
            return base._parts(self.parameter_name)[0].device, base.float_dtype
        weight = getattr(base, self.parameter_name)
        return weight.device, weight.dtype

    def merge(self, safe_merge=False, adapter_names=None):
        base, name, before = self.get_base_layer(), self.parameter_name, [*self.merged_adapters]
        if not isinstance(base, Quantized):
            return super().merge(safe_merge, adapter_names)
        weight = base._k_major(base.dequantized(name, torch.float32)).contiguous()
        with _with_weights(base, {name: weight}):
            super().merge(safe_merge, adapter_names)
        if self.merged_adapters == before:
            return
        if not before:
            self._unmerged = {key: x.clone() for key, x in base.state_dict().items()
                              if key.startswith(name) or key == "bias"}
        try:
            base.refit(**{name: weight})
        except ValueError:
            self.merged_adapters = before
            raise

    def unmerge(self):
        base = self.get_base_layer()
        if not isinstance(base, Quantized) or not self.merged:
            return super().unmerge()
        base.load_state_dict(self._unmerged, strict=False)
        self.merged_adapters.clear()
        del self._unmerged


class MXLoraLinear(_OnQuantized, layer.Linear):
    """LoRA for MXWeightOnlyLinear."""

    def _get_in_out_features(self, module):
        return module.in_features, module.out_features


class ParamWrapper(_OnQuantized, layer.ParamWrapper):
    """LoRA for a weight of quantized experts. peft compares the name of this class."""

    _move_adapter_to_device_of_base_layer = BaseTunerLayer._move_adapter_to_device_of_base_layer

    def get_param(self):
        found = super().get_param()
        return _without_memory(self.get_base_layer(), self.parameter_name) if found is None else found

    @contextlib.contextmanager
    def _activate_lora(self, active_adapters):
        """Adds the active adapters to the matmuls of the base layer in a call."""
        base = self.get_base_layer()
        adapters = [name for name in active_adapters if name in self.lora_A]
        if not adapters or not isinstance(base, Quantized):
            with super()._activate_lora(active_adapters):
                yield
            return
        factors = [self._k_major_factors(name) for name in adapters]
        a, b = (torch.cat(parts, axis) for parts, axis in zip(zip(*factors), (2, 1)))
        before = base.added
        base.added = {**before, self.parameter_name: lambda x, ends: _multiply(x, a, b, ends)}
        try:
            yield
        finally:
            base.added = before

    def _k_major_factors(self, adapter):
        """Returns bf16 matrices a, [E, K, r], and b, [E, r, N]. The adapter adds x a b to x w^T."""
        a, b, scaling = self.get_delta_factors(adapter)
        if self.get_base_layer()._k_major(torch.empty(1, 2, device="meta")).shape[0] == 1:
            a, b = b.mT, a.mT       # the weight is [E, N, K], not [E, K, N]
        more = -a.shape[-1] % 8     # grouped_mm requires rows with a multiple of 16 bytes
        return F.pad(a, (0, more)).to(torch.bfloat16), F.pad(b * scaling, (0, 0, 0, more)).to(torch.bfloat16)


# Operators, because inductor changes strides and grouped_mm then refuses them.
@tensors.operator("grouped_lora")
def _multiply(x: Tensor, a: Tensor, b: Tensor, ends: Tensor) -> Tensor:
    """Returns x a b for rows sorted by expert. Rows past the last expert are undefined."""
    if not x.shape[0]:          # grouped_mm does not support matrices without rows
        return x.new_empty(0, b.shape[-1])
    x, a, b = x.contiguous(), a.contiguous(), b.contiguous()
    return F.grouped_mm(F.grouped_mm(x, a, offs=ends), b, offs=ends)


@tensors.operator("grouped_lora_backward")
def _differentiate(dy: Tensor, x: Tensor, a: Tensor, b: Tensor, ends: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the gradients of x, a and b."""
    if not x.shape[0]:
        return torch.empty_like(x), torch.zeros_like(a), torch.zeros_like(b)
    dy, x, a, b = dy.contiguous(), x.contiguous(), a.contiguous(), b.contiguous()
    y, dx = F.grouped_mm(x, a, offs=ends), F.grouped_mm(dy, b.mT, offs=ends)
    return (F.grouped_mm(dx, a.mT, offs=ends), F.grouped_mm(x.mT, dx, offs=ends),
            F.grouped_mm(y.mT, dy, offs=ends))


_multiply.register_fake(lambda x, a, b, ends: x.new_empty(x.shape[0], b.shape[-1]))
_differentiate.register_fake(lambda dy, x, a, b, ends: tuple(t.new_empty(t.shape) for t in (x, a, b)))
_multiply.register_autograd(
    lambda ctx, dy: (*torch.ops.mx.grouped_lora_backward(dy, *ctx.saved_tensors), None),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
refuse_second_order("grouped_lora_backward")


class MXLoraModel(peft.LoraModel):
    """peft's LoRA, also for quantized modules."""

    def inject_adapter(self, model, adapter_name, *args, **kwargs):
        # peft replaces "all-linear" by names of nn.Linear for some models of Transformers.
        self._is_all = str(self.peft_config[adapter_name].target_modules).lower() == "all-linear"
        super().inject_adapter(model, adapter_name, *args, **kwargs)

    def _prepare_model(self, peft_config, model):
        super()._prepare_model(peft_config, model)
        modules = dict(model.named_modules())
        if next(model.parameters(), None) is None:
            raise ValueError("model: expected a parameter, for its device, found only buffers: "
                             "adapt a model with more modules")
        for name in peft_config.modules_to_save or ():
            for key, module in modules.items():
                if key.endswith(name) and any(isinstance(x, Quantized) for x in module.modules()):
                    raise ValueError(f"modules_to_save: expected modules with float weights, found {key} with "
                                     "quantized weights: exclude it by a filter of convert_")
        if self._is_all:
            _maybe_include_all_linear_layers(peft_config, model)
            head = getattr(model, "get_output_embeddings", lambda: None)()
            peft_config.target_modules |= {
                key for key, module in modules.items() if isinstance(module, MXWeightOnlyLinear)
                and module is not head and not key.endswith(".base_layer")}

    @staticmethod
    def _create_new_module(lora_config, adapter_name, target, *, parameter_name=None, **kwargs):
        base = target.get_base_layer() if isinstance(target, BaseTunerLayer) else target
        if not isinstance(base, Quantized):
            return peft.LoraModel._create_new_module(lora_config, adapter_name, target,
                                                     parameter_name=parameter_name, **kwargs)
        if parameter_name is not None:
            return ParamWrapper(target, adapter_name, parameter_name, lora_config, **kwargs)
        if isinstance(base, QuantizedExperts):
            raise ValueError(f"target_modules: expected linear layers, found {type(base).__name__}: name its "
                             f"weights in target_parameters, such as {kwargs['target_name']}.{base._weights[0]}")
        return MXLoraLinear(target, adapter_name, lora_config, **kwargs)

    def _replace_module(self, parent, child_name, new_module, child):
        if any(isinstance(module, _OnQuantized) for module in (new_module, child)):
            setattr(parent, child_name, new_module)     # adapters are on the device of the base layer
        else:
            super()._replace_module(parent, child_name, new_module, child)

    def _inject_parameters(self, peft_config, model, adapter_name, low_cpu_mem_usage):
        with contextlib.ExitStack() as stack:
            for module in model.modules():
                if isinstance(module, QuantizedExperts):
                    stack.enter_context(_with_weights(module, {
                        name: _without_memory(module, name) for name in module._weights}))
            return super()._inject_parameters(peft_config, model, adapter_name, low_cpu_mem_usage)


peft.PEFT_TYPE_TO_TUNER_MAPPING[peft.PeftType.LORA] = MXLoraModel
