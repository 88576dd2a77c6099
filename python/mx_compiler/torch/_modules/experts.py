# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SwiGLU experts on rows that are sorted by expert, as torchtitan has them, and experts of
Hugging Face's Transformers, which get a router's choice: Mixtral's, Qwen3-MoE's and those of
gpt-oss. In place of these, modules keep their attributes and parameters; only the matmuls
are block-scaled."""

import torch
from torch.nn import functional as F

from ..._ops import checks as check
from .._ops.experts import INTEGERS, sort_by_expert
from .._ops.mxfp8_mm import mxfp8_grouped_mm
from .._ops.weight_only_mm import weight_only_grouped_mm
from .parameters import (Replacement, adopt, adopt_experts, check_last, check_plain,
                         dtype_name, local, result_dtype, to_bf16, without)
from .recipes import training_recipe, weight_only_recipe
from .weight_only import Quantized

_PROJECTIONS = ("gate_up_proj", "down_proj")


# --- Rows that are sorted by expert ---------------------------------------------------


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


class _Quantized(Quantized):
    """Experts with quantized weights."""

    def to_plain(self):
        """The experts of the class that these came from, GroupedExperts if from none,
        with dequantized weights."""
        return self._give(self.plain_class)

    def _matmul(self, name, x, ends):
        return weight_only_grouped_mm(x, *self._parts(name), ends, self.recipe.weights,
                                      packed=self._is_packed(name))


class MXWeightOnlyExperts(_Quantized):
    """GroupedExperts with quantized weights: buffers w1_elements, w1_scales, and so on.
    Differentiable in x.

    dim, hidden_dim  multiples of 32
    recipe    an mx_compiler.torch.Recipe with weight_only, or the name of one
    device    of the buffers

    Weights are zeros until a state dict is loaded: one of this class, or one of
    GroupedExperts, which is quantized. Elements may be packed, as in MXWeightOnlyLinear.
    Arguments of forward as in GroupedExperts.

    Raises a TypeError or ValueError that names the argument."""

    _weights = ("w1", "w2", "w3")
    plain_class = GroupedExperts

    def __init__(self, dim, hidden_dim, num_experts, recipe="mxfp4_weights",
                 device=None):
        for name, size, multiple in (("dim", dim, 32), ("hidden_dim", hidden_dim, 32),
                                     ("num_experts", num_experts, 1)):
            check.size(name, size, multiple)
        recipe = weight_only_recipe(recipe, "MXWeightOnlyExperts", "MXGroupedExperts")
        super().__init__()
        self.recipe, self.float_dtype = recipe, torch.get_default_dtype()
        for name, shape in (("w1", (hidden_dim, dim)), ("w2", (dim, hidden_dim)),
                            ("w3", (hidden_dim, dim))):
            self._add(name, (num_experts, *shape), device)
        self._arrange(*self._weights)

    @classmethod
    def from_experts(cls, module, recipe="mxfp4_weights"):
        """Of a module with parameters w1, w2 and w3, which are quantized now. Hooks of
        calls are kept."""
        check_experts(module)
        recipe = weight_only_recipe(recipe, "MXWeightOnlyExperts", "MXGroupedExperts")
        return adopt_experts(cls, module, recipe)._take(cls._weights)

    @property
    def num_experts(self):
        return self.w1_elements.shape[0]

    @property
    def dim(self):
        return self._shape("w1")[-1]

    @property
    def hidden_dim(self):
        return self._shape("w2")[-1]

    def forward(self, x, num_tokens_per_expert):
        rows, ends = check_rows(x, num_tokens_per_expert, self.num_experts, self.dim)
        gate, up = (self._matmul(name, rows, ends) for name in ("w1", "w3"))
        return self._matmul("w2", F.silu(gate) * up, ends).to(result_dtype(x))

    def extra_repr(self):
        return (f"dim={self.dim}, hidden_dim={self.hidden_dim}, "
                f"num_experts={self.num_experts}, recipe={self.recipe}"
                f"{self._describe_layout()}")


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


# --- Transformers: tokens with a router's choice --------------------------------------


class _Routed(torch.nn.Module):
    """Experts that get a router's choice. Rows of all experts are one grouped matmul:

        y[t] = sum over the experts e that t chose of
               weight[t, e] (down_proj[e] inner(gate_up_proj[e] x[t]))

    Others say how weights lie (_k_major) and what is between both matmuls (_inner), or how
    matmuls are computed (_matmul)."""

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


class _WeightOnly(_Quantized):
    """With buffers gate_up_proj_elements, gate_up_proj_scales, and so on."""

    @classmethod
    def from_experts(cls, module, recipe):
        return adopt_experts(cls, module, recipe)._take(cls._weights)

    def _sizes(self):
        experts, _, hidden = self._shape("gate_up_proj")
        return experts, hidden

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
