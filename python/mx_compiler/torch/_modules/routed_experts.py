# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts of Hugging Face's Transformers, which get a router's choice: Mixtral's and
Qwen3-MoE's, and those of gpt-oss. They keep the attributes and parameters of the modules
that they stand for; only the matmuls are block-scaled.

    y[t] = sum over the experts e that t chose of
           weight[t, e] (down_proj[e] inner(gate_up_proj[e] x[t]))

Rows of all experts are one grouped matmul."""

import torch

from ..._ops import checks as check
from .._ops.moe_layer import INTEGERS, sort_by_expert
from .._ops.mxfp8_mm import mxfp8_grouped_mm
from .._ops.weight_only_mm import weight_only_grouped_mm
from .parameters import (Replacement, adopt, adopt_experts, check_last, check_plain,
                         dtype_name, result_dtype, to_bf16, without)
from .weight_only import Quantized

_PROJECTIONS = ("gate_up_proj", "down_proj")


class _Routed(torch.nn.Module):
    """What all kinds share. Others say how weights lie (_k_major) and what is between
    both matmuls (_inner), or how matmuls are computed (_matmul)."""

    _weights = _PROJECTIONS

    def _compute(self, x, chosen, weights):
        rows = to_bf16("hidden_states", x)
        experts, hidden = self._sizes()
        check_last("hidden_states", x, hidden, "hidden size of the experts")
        rows = rows.reshape(-1, hidden)
        weights = _check_choice(chosen, weights, rows.shape[0], experts,
                                hasattr(self, "is_transposed"))
        count, k = chosen.shape
        tokens, order, sorted_experts, ends = sort_by_expert(chosen, experts)
        # Rows that chose no expert come last. Their results are not defined, nor are
        # their gradients.
        is_used = (sorted_experts < experts)[:, None]
        numbers = sorted_experts.clamp(max=experts - 1)
        rows = rows.index_select(0, tokens).where(is_used, 0)
        inner = self._inner(self._projected("gate_up_proj", rows, ends, numbers))
        y = self._projected("down_proj", inner.to(torch.bfloat16), ends, numbers)
        y = y.where(is_used, 0).float() * weights.reshape(-1, 1).float().index_select(
            0, order)
        back = torch.empty_like(order).index_copy(0, order.long(), torch.arange(
            order.shape[0], device=order.device, dtype=order.dtype))
        y = y.index_select(0, back).view(count, k, hidden).sum(1)
        return y.to(result_dtype(x)).view(x.shape)

    def _projected(self, name, x, ends, numbers):
        y, bias = self._matmul(name, x, ends), getattr(self, f"{name}_bias", None)
        return y if bias is None else y.float() + bias.float().index_select(0, numbers)


def _check_choice(chosen, weights, rows, experts, is_new):
    """The weights as [rows, k]. Raises a TypeError or ValueError. Releases of
    Transformers before 5 give gpt-oss a weight for each expert, those in whose modules
    `is_transposed` says how weights lie one for each choice."""
    for name, x in (("indices", chosen), ("weights", weights)):
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"{name} of experts: expected a tensor, found "
                            f"{type(x).__name__}")
    if chosen.dim() != 2 or chosen.shape[0] != rows or chosen.dtype not in INTEGERS:
        raise ValueError(f"indices of experts: expected integers of shape ({rows}, k), "
                         f"found {dtype_name(chosen)} of shape {tuple(chosen.shape)}")
    if not weights.is_floating_point():
        raise TypeError("weights of experts: expected floating point, found "
                        f"{dtype_name(weights)}")
    k, found = chosen.shape[1], tuple(weights.shape)
    if found == (rows, experts) and (k != experts or not is_new):
        return weights.gather(1, chosen.long().clamp(0, experts - 1))
    if found != (rows, k):
        raise ValueError(f"weights of experts: expected shape {(rows, k)}, one for each "
                         f"index, or {(rows, experts)}, one for each expert, found "
                         f"{found}")
    return weights


class _Concatenated(_Routed):
    """gate_up_proj [E, 2 I, H], gate before up, down_proj [E, H, I], and act_fn, as
    Mixtral and Qwen3-MoE have them."""

    def forward(self, hidden_states, top_k_index, top_k_weights):
        return self._compute(hidden_states, top_k_index, top_k_weights)

    def _inner(self, gate_up):
        gate, up = gate_up.chunk(2, -1)
        return self.act_fn(gate) * up

    @staticmethod
    def _k_major(weight):
        return weight


class _Interleaved(_Routed):
    """gate_up_proj [E, H, 2 I], gate and up taking turns, down_proj [E, I, H], biases,
    alpha and limit, as gpt-oss has them."""

    def forward(self, hidden_states, router_indices=None, routing_weights=None):
        return self._compute(hidden_states, router_indices, routing_weights)

    def _inner(self, gate_up):
        gate, up = gate_up[..., ::2].clamp(max=self.limit), gate_up[..., 1::2]
        return gate * torch.sigmoid(self.alpha * gate) * (
            up.clamp(-self.limit, self.limit) + 1)

    @staticmethod
    def _k_major(weight):
        return weight.transpose(-2, -1)


class _Trained(Replacement, torch.nn.Module):
    """With the very parameters of the module that it stands for."""

    @classmethod
    def from_experts(cls, module, recipe):
        return adopt_experts(cls, module, recipe)

    def to_plain(self):
        """The experts of Transformers with these very parameters."""
        return without(adopt(self.plain_class, self), "recipe", "plain_class")

    def _sizes(self):
        experts, _, hidden = self._k_major(self.gate_up_proj).shape
        return experts, hidden

    def _matmul(self, name, x, ends):
        weight = self._k_major(getattr(self, name))
        return mxfp8_grouped_mm(x, weight.transpose(-2, -1), ends,
                                **self.recipe.matmul_options())

    def extra_repr(self):
        return _describe(self)


class _WeightOnly(Quantized):
    """With buffers gate_up_proj_elements, gate_up_proj_scales, and so on."""

    @classmethod
    def from_experts(cls, module, recipe):
        return adopt_experts(cls, module, recipe)._take(cls._weights)

    def to_plain(self):
        """The experts of Transformers with dequantized weights and these biases."""
        return self._give(self.plain_class)

    def _sizes(self):
        experts, _, hidden = self._shape("gate_up_proj")
        return experts, hidden

    def _matmul(self, name, x, ends):
        return weight_only_grouped_mm(x, *self._parts(name), ends, self.recipe.weights,
                                      packed=self._is_packed(name))

    def extra_repr(self):
        return _describe(self) + self._describe_layout()


def _describe(module):
    experts, hidden = module._sizes()
    return f"experts={experts}, hidden={hidden}, recipe={module.recipe}"


class MXRoutedExperts(_Concatenated, _Trained):
    """Experts of Mixtral or Qwen3-MoE that train."""


class MXWeightOnlyRoutedExperts(_Concatenated, _WeightOnly):
    """Experts of Mixtral or Qwen3-MoE with quantized weights."""


class MXGptOssExperts(_Interleaved, _Trained):
    """Experts of gpt-oss that train."""


class MXWeightOnlyGptOssExperts(_Interleaved, _WeightOnly):
    """Experts of gpt-oss with quantized weights."""


# By the class of Transformers: what trains, what does not, and what modules of releases
# that say how their weights lie have to say.
_CONCATENATED = (MXRoutedExperts, MXWeightOnlyRoutedExperts, {
    "is_concatenated": True, "is_transposed": False, "has_bias": False, "has_gate": True,
    "has_post_expert_norm": False})
_INTERLEAVED = (MXGptOssExperts, MXWeightOnlyGptOssExperts, {
    "is_concatenated": False, "is_transposed": True, "has_bias": True, "has_gate": True,
    "has_post_expert_norm": False})
_KINDS = {"MixtralExperts": _CONCATENATED, "Qwen3MoeExperts": _CONCATENATED,
          "GptOssExperts": _INTERLEAVED}
CLASSES = tuple(cls for kind in (_CONCATENATED, _INTERLEAVED) for cls in kind[:2])


def is_routed(module):
    """Whether the module is experts that `from_routed` takes, by its class."""
    return type(module).__name__ in _KINDS or type(module) in CLASSES


def from_routed(module, recipe):
    """Raises a ValueError if the module is not what its class says, or if its sizes do
    not fit."""
    trains, weight_only, flags = _KINDS[getattr(module, "plain_class", type(module)).__name__]
    for name, wanted in flags.items():
        if (found := getattr(module, name, wanted)) != wanted:
            raise ValueError(f"{name}: expected {wanted}, found {found}: convert does not "
                             "know the experts of this release of Transformers")
    _check_structure(module, trains._k_major, flags["has_bias"])
    return (weight_only if recipe.weight_only else trains).from_experts(module, recipe)


def _check_structure(module, k_major, has_bias):
    names = [*_PROJECTIONS, *(f"{name}_bias" for name in _PROJECTIONS)][:4 if has_bias else 2]
    parameters = {name: module._parameters.get(name) for name in names}
    others = [name for name, x in module._parameters.items() if x is not None
              and name not in names]
    missing = [name for name, x in parameters.items() if x is None]
    if missing or others:
        raise ValueError(f"parameters: expected {', '.join(names)}, found "
                         f"{', '.join(module._parameters) or 'none'}")
    for name, parameter in parameters.items():
        check_plain(name, parameter)
    gate_up, down = (parameters[name] for name in _PROJECTIONS)
    shapes = [tuple(k_major(x).shape) if x.dim() == 3 else () for x in (gate_up, down)]
    experts, rows, hidden = shapes[0] or (0, 0, 0)
    if not shapes[0] or rows % 2 or shapes[1] != (experts, hidden, rows // 2):
        raise ValueError("gate_up_proj, down_proj: expected matrices of an expert with 2 I "
                         f"and I features, found shapes {tuple(gate_up.shape)} and "
                         f"{tuple(down.shape)}")
    for name, wanted in zip(names[2:], ((experts, rows), (experts, hidden))):
        if tuple(parameters[name].shape) != wanted:
            raise ValueError(f"{name}: expected shape {wanted}, found "
                             f"{tuple(parameters[name].shape)}")
    wanted = ("alpha", "limit") if has_bias else ("act_fn",)
    for name in wanted:
        if not hasattr(module, name):
            raise ValueError(f"{name}: expected an attribute of {type(module).__name__}, "
                             "found none")
    check.size("hidden size", hidden, 32)
    check.size("intermediate size", rows // 2, 32)


def routers(model):
    """Linear layers that choose among a list of experts, as Transformers before 5 has
    them: they stay as they are."""
    found = set()
    for module in model.modules():
        experts = getattr(module, "experts", None)
        if isinstance(experts, torch.nn.ModuleList):
            found.update(x for x in (getattr(module, "gate", None),
                                     getattr(module, "router", None))
                         if isinstance(x, torch.nn.Linear) and x.out_features == len(experts))
    return found


def looks_like_experts(module):
    """Whether the module has matrices of as many experts in two or more parameters."""
    sizes = [x.shape[0] for x in module._parameters.values()
             if x is not None and x.dim() == 3 and min(x.shape[1:]) > 1]
    return len(sizes) > 1 and len(set(sizes)) == 1
