# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SwiGLU experts that take rows sorted by expert, as in torchtitan, and experts of Hugging Face's
Transformers (Mixtral, Qwen3-MoE and gpt-oss), which take a router's choices. The replacements keep
attributes and parameters. Only the matmuls differ: they are block-scaled."""

import functools
import os

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.types import Device

from .. import gpt_oss
from ..._ops import checks as check
from .._ops.experts import INTEGERS, group_rows
from .._ops.token_groups import rearrange_scales
from .._ops.weight_only_experts import weight_only_experts
from .parameters import (FLOATS, Replacement, adopt, adopt_experts, check_last, check_plain,
                         dtype_name, local, result_dtype, to_bf16, without)
from .recipes import Recipe, training_recipe, weight_only_recipe
from .weight_only import Quantized

# --- Rows sorted by expert ------------------------------------------------------------


class GroupedExperts(torch.nn.Module):
    """Experts that compute w2[e] (silu(w1[e] x) * w3[e] x) for the rows x of each expert e, in bf16
    with PyTorch's grouped_mm. This class is the baseline for MXGroupedExperts.

    dim, hidden_dim  multiples of 8, because of grouped_mm
    num_experts    number of experts
    device, dtype  device and dtype of the parameters

    The parameters are w1 and w3, [num_experts, hidden_dim, dim], and w2, [num_experts, dim,
    hidden_dim], as in torchtitan.

    forward(x, num_tokens_per_expert): x is [rows, dim], sorted by expert. num_tokens_per_expert is a
    tensor of integers, [num_experts]. Their sum is the number of rows; the host never reads them.
    The result has the shape and dtype of x, or autocast's dtype. With DTensor parameters, the
    arguments describe this rank's part, as in torchtitan's expert and tensor parallelism.

    Raises TypeError or ValueError. Errors name the argument."""

    w1: torch.nn.Parameter
    w2: torch.nn.Parameter
    w3: torch.nn.Parameter

    def __init__(self, dim: int, hidden_dim: int, num_experts: int, device: Device = None,
                 dtype: torch.dtype | None = None) -> None:
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
    def num_experts(self) -> int:
        return self.w1.shape[0]

    def reset_parameters(self) -> None:
        """Initializes each expert like nn.Linear."""
        for weight in (self.w1, self.w2, self.w3):
            bound = weight.shape[-1]**-0.5
            torch.nn.init.uniform_(weight, -bound, bound)

    def init_weights(self, init_std: float) -> None:
        """Initializes like torchtitan, from truncated normal distributions. The standard deviation
        is 0.02 for w1, and init_std for w2 and w3."""
        for weight, deviation in ((self.w1, 0.02), (self.w2, init_std),
                                  (self.w3, init_std)):
            torch.nn.init.trunc_normal_(weight, mean=0.0, std=deviation)

    def forward(self, x: Tensor, num_tokens_per_expert: Tensor) -> Tensor:
        # If the parameters are DTensors, the rows belong to this rank's experts.
        w1, w2, w3 = local(self.w1), local(self.w2), local(self.w3)
        rows, ends = check_rows(x, num_tokens_per_expert, w1.shape[0], w1.shape[-1])
        # Gate and up are one operation, so the gradient of x is one sum.
        gate, up = self._multiply(rows, (w1, w3), ends)
        y, = self._multiply(F.silu(gate) * up, (w2,), ends)
        return y.to(result_dtype(x))

    def _multiply(self, x, weights, ends):
        """Returns a list with the product of x and each weight."""
        weight = weights[0] if len(weights) == 1 else torch.cat(weights, 1)
        y = F.grouped_mm(x, to_bf16("weight", weight).transpose(-2, -1), offs=ends)
        return y.chunk(len(weights), -1)

    def extra_repr(self) -> str:
        experts, hidden, dim = self.w1.shape
        return f"dim={dim}, hidden_dim={hidden}, num_experts={experts}"


class MXGroupedExperts(Replacement, GroupedExperts):
    """GroupedExperts with block-scaled matmuls in the forward and backward pass.

    dim, hidden_dim  multiples of 32, or of 128 with fp8_scales
    recipe    an mx_compiler.torch.Recipe for training, or its name

    The other arguments and the parameters are described in GroupedExperts. Parameters may be float32
    (master weights), bfloat16 or float16. Experts may have any number of rows without padding."""

    plain_class = GroupedExperts

    def __init__(self, dim: int, hidden_dim: int, num_experts: int, recipe: str | Recipe = "mxfp8",
                 device: Device = None, dtype: torch.dtype | None = None, *,
                 batch_invariant: bool = False) -> None:
        recipe = training_recipe(recipe, "MXGroupedExperts", "MXWeightOnlyExperts", batch_invariant)
        check.size("dim", dim, recipe.block)
        check.size("hidden_dim", hidden_dim, recipe.block)
        super().__init__(dim, hidden_dim, num_experts, device, dtype)
        self.recipe = recipe

    @classmethod
    def from_experts(cls, module: torch.nn.Module, recipe: str | Recipe = "mxfp8", *,
                     batch_invariant: bool = False) -> "MXGroupedExperts":
        """Creates the module from a module with parameters w1, w2 and w3. The modules share
        parameters and hooks, and have the same mode."""
        recipe = training_recipe(recipe, "MXGroupedExperts", "MXWeightOnlyExperts", batch_invariant)
        check_experts(module, recipe)
        return adopt_experts(cls, module, recipe)

    def to_plain(self) -> torch.nn.Module:
        """Returns a module of the experts' original class, or GroupedExperts, with the same
        parameters, hooks and mode."""
        return without(adopt(self.plain_class, self), "recipe", "plain_class")

    def _multiply(self, x, weights, ends):
        return self.recipe.multiply_grouped(x, weights, ends, self.quantized_once)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, recipe={self.recipe}"


class QuantizedExperts(Quantized):
    """Experts with quantized weights. `added` contains functions of rows and ends, keyed by weight name.
    They return terms of the results, as in LoRA (mx_compiler.peft)."""

    added = {}

    def _matmul(self, name, x, ends):
        y = super()._matmul(name, x, ends)
        return y + self.added[name](x, ends) if name in self.added else y

    def to_plain(self) -> torch.nn.Module:
        """Returns a module of the experts' original class, or GroupedExperts, with dequantized
        weights."""
        return self._give(self.plain_class)


class MXWeightOnlyExperts(QuantizedExperts):
    """GroupedExperts with quantized weights in buffers w1_elements, w1_scales, and so on.
    Differentiable in x.

    dim, hidden_dim  multiples of 32
    recipe    an mx_compiler.torch.Recipe with weight_only, or its name
    device    device of the buffers

    Weights are zeros until a state dict is loaded. A state dict of GroupedExperts is quantized when
    loaded, and a state dict of this class is loaded directly. Elements may be packed, as in
    MXWeightOnlyLinear. forward takes the arguments of GroupedExperts.

    Raises TypeError or ValueError. Errors name the argument."""

    _weights = ("w1", "w2", "w3")
    plain_class = GroupedExperts

    def __init__(self, dim: int, hidden_dim: int, num_experts: int,
                 recipe: str | Recipe = "mxfp4_weight_only", device: Device = None, *,
                 batch_invariant: bool = False) -> None:
        recipe = weight_only_recipe(recipe, "MXWeightOnlyExperts", "MXGroupedExperts", batch_invariant)
        for name, size, multiple in (("dim", dim, recipe.block), ("hidden_dim", hidden_dim, recipe.block),
                                     ("num_experts", num_experts, 1)):
            check.size(name, size, multiple)
        super().__init__()
        self.recipe, self.float_dtype = recipe, torch.get_default_dtype()
        for name, shape in (("w1", (hidden_dim, dim)), ("w2", (dim, hidden_dim)),
                            ("w3", (hidden_dim, dim))):
            self._add(name, (num_experts, *shape), device)
        self._arrange(*self._weights)

    @classmethod
    def from_experts(cls, module: torch.nn.Module, recipe: str | Recipe = "mxfp4_weight_only", *,
                     batch_invariant: bool = False) -> "MXWeightOnlyExperts":
        """Creates the module from a module with parameters w1, w2 and w3, and quantizes them.
        Forward and backward hooks are kept."""
        recipe = weight_only_recipe(recipe, "MXWeightOnlyExperts", "MXGroupedExperts", batch_invariant)
        check_experts(module, recipe)
        return adopt_experts(cls, module, recipe)._take(cls._weights)

    @property
    def num_experts(self) -> int:
        return self.w1_elements.shape[0]

    @property
    def dim(self) -> int:
        return self._shape("w1")[-1]

    @property
    def hidden_dim(self) -> int:
        return self._shape("w2")[-1]

    def forward(self, x: Tensor, num_tokens_per_expert: Tensor) -> Tensor:
        rows, ends = check_rows(x, num_tokens_per_expert, self.num_experts, self.dim)
        gate, up = (self._matmul(name, rows, ends) for name in ("w1", "w3"))
        inner = (F.silu(gate) * up).to(torch.bfloat16)
        return self._matmul("w2", inner, ends).to(result_dtype(x))

    def extra_repr(self) -> str:
        return (f"dim={self.dim}, hidden_dim={self.hidden_dim}, "
                f"num_experts={self.num_experts}, recipe={self.recipe}{self._describe_layout()}")


def check_rows(x, num_tokens_per_expert, experts, dim):
    """Checks the arguments of forward. Returns x in bf16 and the end of each expert's rows. Raises
    TypeError or ValueError."""
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
    """Returns True if `module` contains the parameters of torchtitan's experts."""
    return all(isinstance(getattr(module, name, None), torch.nn.Parameter)
               and getattr(module, name).dim() == 3 for name in ("w1", "w2", "w3"))


def check_experts(module, recipe):
    """Raises TypeError or ValueError if no module of the recipe can replace `module`."""
    if not isinstance(module, torch.nn.Module) or not has_experts(module):
        raise TypeError("module: expected a module with parameters w1, w2 and w3 of 3 "
                        f"dimensions, found {type(module).__name__}")
    experts, hidden, dim = module.w1.shape
    for name, shape in (("w2", (experts, dim, hidden)), ("w3", (experts, hidden, dim))):
        found = tuple(getattr(module, name).shape)
        if found != shape:
            raise ValueError(f"{name}: expected shape {shape} for w1 of shape "
                             f"{tuple(module.w1.shape)}, found {found}")
    check.size("dim", dim, recipe.block)
    check.size("hidden_dim", hidden, recipe.block)


# --- Transformers: tokens with a router's choices --------------------------------------


class _Routed(torch.nn.Module):
    """Experts that take a router's choices. The rows of all experts are processed by grouped matmuls,
    which compute

        y[t] = sum over the experts e that t chose of
               weight[t, e] (down_proj[e] inner(gate_up_proj[e] x[t]))

    Subclasses define the weight layout (_k_major) and the function between the matmuls (_inner,
    _clamp), or the matmuls (_matmul) and the shape of a weight (_shape)."""

    _weights = gpt_oss.PROJECTIONS

    def _compute(self, x, chosen, weights):
        rows = to_bf16("hidden_states", x)
        experts, _, hidden = self._shape("gate_up_proj")
        check_last("hidden_states", x, hidden, "hidden size of the experts")
        rows = rows.reshape(-1, hidden)
        weights = _check_choice(chosen, weights, rows.shape[0], experts,
                                hasattr(self, "is_transposed"))
        count, k = chosen.shape
        if chosen.dtype != torch.int64:
            chosen = chosen.to(torch.int32)
        if weights.dtype == torch.float64:
            weights = weights.float()  # as sums are f32
        if not torch.is_grad_enabled() and isinstance(self, Quantized) and (program := self._program()):
            return weight_only_experts(rows, chosen, weights, *program, result_dtype(x)).view(x.shape)
        # Row p is choice slots[p] of all choices. Rows without an expert are last, with -1 as token
        # and slot. Matmuls leave their results and gradients undefined.
        tokens, slots, ends = group_rows(chosen, experts)
        slots = slots.long()
        is_used = (slots >= 0)[:, None] if torch.is_grad_enabled() else None
        biases = self._biases(chosen, slots)
        rows = _mask(rows.index_select(0, tokens.clamp(min=0)), is_used)
        inner = self._inner(self._projected("gate_up_proj", rows, ends, biases)).to(torch.bfloat16)
        y = self._projected("down_proj", _mask(inner, is_used), ends, biases)
        # The additional row at index -1 receives the undefined results.
        choices = y.new_zeros((count * k + 1, hidden), dtype=torch.float32)
        choices[slots] = y.float()
        y = choices[:-1].view(count, k, hidden) * weights[..., None]
        return self._sum(y).to(result_dtype(x)).view(x.shape)

    def _sum(self, choices):
        """Returns the sum over each token's choices, [T, k, H]. PyTorch's sum adds in an order that
        depends on T."""
        if not choices.shape[1] or not getattr(self, "recipe", None) or not self.recipe.batch_invariant:
            return choices.sum(1)
        return functools.reduce(torch.add, choices.unbind(1))

    def _biases(self, chosen, slots):
        """Returns the f32 biases of each row, keyed by projection."""
        if not hasattr(self, "gate_up_proj_bias"):
            return {}
        parts = self.gate_up_proj_bias, self.down_proj_bias
        numbers = chosen.reshape(-1)[slots].clamp(0, parts[0].shape[0] - 1)
        return {name: part.index_select(0, numbers).float() for name, part in zip(self._weights, parts)}

    def _projected(self, name, x, ends, biases):
        y = self._matmul(name, x, ends)
        return y + biases[name] if biases else y


def _mask(x, is_used):
    return x if is_used is None else x.where(is_used, 0)


def _check_choice(chosen, weights, rows, experts, is_new):
    """Returns the weights as [rows, k]. Raises TypeError or ValueError. Transformers before 5 passes
    a weight for each expert to the experts of gpt-oss. Releases with the attribute `is_transposed`
    pass a weight for each choice."""
    for name, x in (("indices", chosen), ("weights", weights)):
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"{name} of experts: expected a tensor, found {type(x).__name__}")
    if chosen.dim() != 2 or chosen.shape[0] != rows or not chosen.shape[1] or chosen.dtype not in INTEGERS:
        raise ValueError(f"indices of experts: expected integers of shape ({rows}, k), k at least 1, "
                         f"found {dtype_name(chosen)} of shape {tuple(chosen.shape)}")
    if weights.dtype not in (*FLOATS, torch.float64):
        raise TypeError("weights of experts: expected float32, bfloat16, float16 or float64, found "
                        f"{dtype_name(weights)}")
    k, found = chosen.shape[1], tuple(weights.shape)
    if found == (rows, experts) and (k != experts or not is_new):
        return weights.gather(1, chosen.long().clamp(0, experts - 1))
    if found != (rows, k):
        raise ValueError(f"weights of experts: expected shape {(rows, k)}, one for each "
                         f"index, or {(rows, experts)}, one for each expert, found {found}")
    return weights


class _Concatenated(_Routed):
    """Experts with gate_up_proj, [E, 2 I, H] (gate, then up), down_proj, [E, H, I], and act_fn, as in
    Mixtral and Qwen3-MoE."""

    def forward(self, hidden_states, top_k_index, top_k_weights):
        return self._compute(hidden_states, top_k_index, top_k_weights)

    def _clamp(self):
        """Returns the argument `clamp` of `weight_only_experts`, or None for another function."""
        if own_gate(self):
            return None
        f, silu = self.act_fn, ("torch.nn.modules.activation.SiLU", "transformers.activations.SiLUActivation")
        is_silu = f"{type(f).__module__}.{type(f).__name__}" in silu and "forward" not in f.__dict__
        return () if is_silu and not (f._forward_hooks or f._forward_pre_hooks) else None

    def _inner(self, gate_up):
        if own := own_gate(self):
            return own(self, gate_up)
        gate, up = gate_up.chunk(2, -1)
        return self.act_fn(gate) * up

    def _sections(self, name, rows):
        half = rows // 2
        return [slice(half), slice(half, rows)] if name == "gate_up_proj" else [slice(None)]

    @staticmethod
    def _k_major(weight):
        return weight


class _Interleaved(_Routed):
    """Experts with gate_up_proj, [E, H, 2 I] (gate and up interleaved), down_proj, [E, I, H], biases,
    alpha and limit, as in gpt-oss."""

    def forward(self, hidden_states: Tensor, router_indices: Tensor | None = None,
                routing_weights: Tensor | None = None) -> Tensor:
        return self._compute(hidden_states, router_indices, routing_weights)

    def _clamp(self):
        if own_gate(self):
            return None
        numbers = self.alpha, self.limit
        return numbers if all(isinstance(x, (int, float)) for x in numbers) else None

    def _inner(self, gate_up):
        if own := own_gate(self):
            return own(self, gate_up)
        gate, up = gate_up[..., ::2].clamp(max=self.limit), gate_up[..., 1::2]
        gate = gate * torch.sigmoid(self.alpha * gate)
        # gate * (up + 1) in one operation
        return torch.addcmul(gate, gate, up.clamp(-self.limit, self.limit))

    def _sections(self, name, rows):
        return [slice(0, None, 2), slice(1, None, 2)] if name == "gate_up_proj" else [slice(None)]

    @staticmethod
    def _k_major(weight):
        return weight.transpose(-2, -1)


class _Floats(torch.nn.Module):
    def _shape(self, name):
        return self._k_major(getattr(self, name)).shape


class _Trained(Replacement, _Floats):
    """Experts that share the parameters of the replaced module."""

    @classmethod
    def from_experts(cls, module: torch.nn.Module, recipe: Recipe) -> torch.nn.Module:
        return adopt_experts(cls, module, recipe)

    def to_plain(self) -> torch.nn.Module:
        """Returns a module of the original class in Transformers, with the same parameters."""
        return without(adopt(self.plain_class, self), "recipe", "plain_class")

    def _matmul(self, name, x, ends):
        weight = self._k_major(getattr(self, name))
        return self.recipe.multiply_grouped(x, [weight], ends, self.quantized_once)[0]

    def extra_repr(self) -> str:
        return _describe(self)


class _WeightOnly(QuantizedExperts):
    """Experts with buffers gate_up_proj_elements, gate_up_proj_scales, and so on."""

    @classmethod
    def from_experts(cls, module: torch.nn.Module, recipe: Recipe) -> torch.nn.Module:
        return adopt_experts(cls, module, recipe)._take(cls._weights)

    def _program(self):
        """Returns arguments of `weight_only_experts`, or None if operators compute the layer."""
        recipe, clamp = self.recipe, self._clamp()
        biases = [getattr(self, f"{name}_bias", None) for name in self._weights]
        has_biases = all(isinstance(bias, torch.Tensor) and bias.dtype in FLOATS
                         and bias.shape == self._shape(name)[:2] for name, bias in zip(self._weights, biases))
        # Invariant results equal those with gradients bit by bit.
        if (clamp is None or not (has_biases if clamp else biases == [None, None]) or recipe.batch_invariant
                or self.added or recipe.fp8_scales
                or recipe.fp8_activations and any(map(self._fp8, self._weights))):
            return None
        weights, factors = ([find(name) for name in self._weights] for find in (self._parts, self._factors))
        packed = [elements.dim() > scales.dim() for elements, scales in weights]
        return *weights[0], *weights[1], *biases, *factors, recipe.weights, *packed, *(clamp or (None, None))

    def extra_repr(self) -> str:
        return _describe(self) + self._describe_layout()


def _describe(module):
    experts, _, hidden = module._shape("gate_up_proj")
    return f"experts={experts}, hidden={hidden}, recipe={module.recipe}"


class MXRoutedExperts(_Concatenated, _Trained):
    """Experts of Mixtral or Qwen3-MoE for training."""


class MXWeightOnlyRoutedExperts(_Concatenated, _WeightOnly):
    """Experts of Mixtral or Qwen3-MoE with quantized weights."""


class MXGptOssExperts(_Interleaved, _Trained):
    """Experts of gpt-oss for training."""


class GptOssExperts(_Interleaved, _Floats):
    """Experts of gpt-oss in bf16, with PyTorch's grouped_mm and the parameters of the class in
    Transformers."""

    def _matmul(self, name, x, ends):
        return F.grouped_mm(x, to_bf16(name, getattr(self, name)), offs=ends)


class MXWeightOnlyGptOssExperts(_Interleaved, _WeightOnly):
    """Experts of gpt-oss with quantized weights in buffers gate_up_proj_elements,
    gate_up_proj_scales, and so on. The biases are parameters. With the outputs gate (even columns)
    and up (odd columns) of gate_up_proj, down_proj multiplies

        gate * sigmoid(alpha * gate) * (up + 1)

    after gate is clamped to at most `limit` and up to [-limit, limit].

    experts   number of experts
    hidden, intermediate  multiples of 32
    recipe    an mx_compiler.torch.Recipe with weight_only, or its name
    alpha, limit  numbers above 0
    device    device of the buffers and biases

    Weights are zeros until a state dict is loaded. A state dict of GptOssExperts of Transformers is
    quantized when loaded, and a state dict of this class is loaded directly.

    forward(hidden_states, router_indices, routing_weights): hidden states, [..., hidden], and for
    each token, [tokens, k], the numbers of its experts and their weights. Indices outside
    [0, experts) are ignored. The host never reads them, so CUDA graphs can replay with other indices.
    The result has the shape and dtype of hidden_states. Differentiable in hidden states, weights and
    biases.

    Raises TypeError or ValueError. Errors name the argument."""

    plain_class = GptOssExperts

    def __init__(self, experts: int, hidden: int, intermediate: int,
                 recipe: str | Recipe = "mxfp4_weight_only", alpha: float = 1.702, limit: float = 7.0,
                 device: Device = None) -> None:
        for name, size, multiple in (("experts", experts, 1), ("hidden", hidden, 32),
                                     ("intermediate", intermediate, 32)):
            check.size(name, size, multiple)
        for name, number in (("alpha", alpha), ("limit", limit)):
            if isinstance(number, bool) or not isinstance(number, (int, float)) or number <= 0:
                raise ValueError(f"{name}: expected a number above 0, found {number!r}")
        recipe = weight_only_recipe(recipe, "MXWeightOnlyGptOssExperts", "convert_")
        super().__init__()
        self.recipe, self.float_dtype = recipe, torch.bfloat16
        self.alpha, self.limit = alpha, limit
        self.is_transposed = True           # weights of choices, as in Transformers 5
        for name, shape in (("gate_up_proj", (2 * intermediate, hidden)),
                            ("down_proj", (hidden, intermediate))):
            self._add(name, (experts, *shape), device)
            self.register_parameter(f"{name}_bias", torch.nn.Parameter(torch.zeros(
                experts, shape[0], device=device, dtype=torch.bfloat16)))
        self._arrange(*self._weights)

    @classmethod
    def from_checkpoint(cls, checkpoint: gpt_oss.Checkpoint | str | os.PathLike[str], layer: int, *,
                        recipe: str | Recipe = "mxfp4_weight_only",
                        device: torch.device | str | None = None,
                        **options: float) -> "MXWeightOnlyGptOssExperts":
        """Creates the experts of a layer from a gpt-oss checkpoint with its exact weights.

        checkpoint  an mx_compiler.torch.gpt_oss.Checkpoint, or its path
        layer       number of the layer
        recipe      a weight-only recipe with weights in MXFP4
        options     alpha and limit

        Raises the errors of gpt_oss.read_experts."""
        if not isinstance(checkpoint, gpt_oss.Checkpoint):
            checkpoint = gpt_oss.Checkpoint(checkpoint)
        sizes = checkpoint.sizes(layer)
        new = cls(sizes.experts, sizes.hidden, sizes.intermediate, recipe, device="meta", **options)
        if new.recipe.weights != gpt_oss.FORMAT:
            raise ValueError(f"recipe: expected weights in {gpt_oss.FORMAT}, the format of the "
                             f"checkpoint, found {new.recipe}")
        state = gpt_oss.read_experts(checkpoint, layer, device or torch.get_default_device())
        for name in cls._weights:
            state[f"{name}_elements"] = state.pop(f"{name}_blocks").flatten(2)
            state[f"{name}_scales"] = rearrange_scales(state[f"{name}_scales"])
        # Tensors are assigned, so an f32 bias stays f32.
        new.load_state_dict(state, assign=True)
        return new


# Training class, weight-only class, and the values of the layout attributes, which releases of Transformers
# from 5 have. In these releases, any class of experts with one of these layouts is supported.
_CONCATENATED = (MXRoutedExperts, MXWeightOnlyRoutedExperts, {
    "is_concatenated": True, "is_transposed": False, "has_bias": False, "has_gate": True,
    "has_post_expert_norm": False})
_INTERLEAVED = (MXGptOssExperts, MXWeightOnlyGptOssExperts, {
    "is_concatenated": False, "is_transposed": True, "has_bias": True, "has_gate": True,
    "has_post_expert_norm": False})
_KINDS = {"MixtralExperts": _CONCATENATED, "Qwen3MoeExperts": _CONCATENATED,
          "GptOssExperts": _INTERLEAVED}
CLASSES = tuple(cls for kind in (_CONCATENATED, _INTERLEAVED) for cls in kind[:2])


def _find_kind(module):
    """Returns the entry of _KINDS for a module, or None."""
    name = getattr(module, "plain_class", type(module)).__name__
    if name in _KINDS:
        return _KINDS[name]
    layouts = [kind for kind in (_CONCATENATED, _INTERLEAVED) if all(
        module.__dict__.get(flag) == wanted for flag, wanted in kind[2].items() if flag != "has_post_expert_norm")]
    return layouts[0] if layouts else None


def own_gate(module):
    """Returns the function between the matmuls that the class of experts in Transformers defines, or None."""
    cls = getattr(module, "plain_class", type(module))
    own = None if cls.__name__ == "GptOssExperts" else getattr(cls, "_apply_gate", None)
    return None if getattr(own, "__module__", "").startswith("transformers.integrations.") else own


def is_routed(module):
    """Returns True if `from_routed` supports the class of the module."""
    return type(module) in CLASSES or _find_kind(module) is not None


def from_routed(module, recipe):
    """Converts routed experts. Raises ValueError if the module does not match the known structure of
    its class, or if its sizes are not supported."""
    return routed_class(module, recipe).from_experts(module, recipe)


def routed_class(module, recipe):
    """Returns the class that replaces routed experts. Raises ValueError."""
    kind = _find_kind(module)
    if kind is None:
        flags = {flag: module.__dict__.get(flag) for flag in _CONCATENATED[2]}
        raise ValueError(f"experts: expected the layout of Mixtral or of gpt-oss, found {type(module).__name__} with "
                         + ", ".join(f"{flag}={value}" for flag, value in flags.items()))
    trains, weight_only, flags = kind
    for name, wanted in flags.items():
        if (found := getattr(module, name, wanted)) != wanted:
            raise ValueError(f"{name}: expected {wanted}, found {found}: convert does not "
                             "support the experts of this release of Transformers")
    _check_structure(module, trains._k_major, flags["has_bias"], recipe.block)
    return weight_only if recipe.weight_only else trains


def k_major_weights(module):
    """Yields the names and the weights, [experts, N, K], of experts with float parameters."""
    if has_experts(module):
        yield from ((name, getattr(module, name)) for name in ("w1", "w2", "w3"))
    else:
        cls = _find_kind(module)[0]
        yield from ((name, cls._k_major(getattr(module, name))) for name in gpt_oss.PROJECTIONS)


def _check_structure(module, k_major, has_bias, block):
    names = [*gpt_oss.PROJECTIONS, *(f"{name}_bias" for name in gpt_oss.PROJECTIONS)][:4 if has_bias else 2]
    parameters = {name: module._parameters.get(name) for name in names}
    others = [name for name, x in module._parameters.items() if x is not None
              and name not in names]
    missing = [name for name, x in parameters.items() if x is None]
    if missing or others:
        raise ValueError(f"parameters: expected {', '.join(names)}, found "
                         f"{', '.join(module._parameters) or 'none'}")
    for name, parameter in parameters.items():
        check_plain(name, parameter)
    gate_up, down = (parameters[name] for name in gpt_oss.PROJECTIONS)
    shapes = [tuple(k_major(x).shape) if x.dim() == 3 else () for x in (gate_up, down)]
    experts, rows, hidden = shapes[0] or (0, 0, 0)
    if not shapes[0] or rows % 2 or shapes[1] != (experts, hidden, rows // 2):
        raise ValueError("gate_up_proj, down_proj: expected matrices for each expert with 2 I "
                         f"and I features, found shapes {tuple(gate_up.shape)} and "
                         f"{tuple(down.shape)}")
    for name, wanted in zip(names[2:], ((experts, rows), (experts, hidden))):
        if tuple(parameters[name].shape) != wanted:
            raise ValueError(f"{name}: expected shape {wanted}, found "
                             f"{tuple(parameters[name].shape)}")
    wanted = () if own_gate(module) else ("alpha", "limit") if has_bias else ("act_fn",)
    for name in wanted:
        if not hasattr(module, name):
            raise ValueError(f"{name}: expected an attribute of {type(module).__name__}, "
                             "found none")
    check.size("hidden size", hidden, block)
    check.size("intermediate size", rows // 2, block)


def routers(model):
    """Returns the linear layers that choose among experts. These layers are not converted."""
    found = set()
    for module in model.modules():
        experts = getattr(module, "experts", None)
        if isinstance(experts, torch.nn.ModuleList):
            count = len(experts)
        elif isinstance(experts, torch.nn.Module):
            weights = experts._parameters.get("down_proj"), experts._buffers.get("down_proj_elements")
            count = next((x.shape[0] for x in weights if x is not None), 0)
        else:
            count = 0
        if count:
            found.update(x for router in (getattr(module, "gate", None), getattr(module, "router", None))
                         if isinstance(router, torch.nn.Module) for x in router.modules()
                         if isinstance(x, torch.nn.Linear) and x.out_features == count)
    return found


def looks_like_experts(module):
    """Returns True if at least two parameters consist of matrices for the same number of experts."""
    sizes = [x.shape[0] for x in module._parameters.values()
             if x is not None and x.dim() == 3 and min(x.shape[1:]) > 1]
    return len(sizes) > 1 and len(set(sizes)) == 1
