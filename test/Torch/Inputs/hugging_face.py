"""Stand-ins for the experts of Transformers, with the same names, parameters and arguments. They allow tests without
Transformers and tests of other releases. Each expert computes all tokens; tokens of other experts have weight 0.
"""

import torch
from torch import nn
from torch.nn import functional as F


def weight_of(expert, chosen, weights):
    """Returns the expert's weight for each token."""
    return (weights * (chosen == expert)).sum(1, keepdim=True)


def randomize(module):
    with torch.no_grad():
        for i, parameter in enumerate(module.parameters()):
            generator = torch.Generator().manual_seed(i)
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 8)
    return module


class Described(nn.Module):
    """Attributes describing experts in release 5 and later."""

    def describe(self, is_concatenated, is_transposed, has_bias):
        self.is_concatenated, self.is_transposed = is_concatenated, is_transposed
        self.has_bias, self.has_gate, self.has_post_expert_norm = has_bias, True, False


class MixtralExperts(Described):
    def __init__(self, hidden, inner, experts):
        super().__init__()
        self.num_experts, self.hidden_dim, self.intermediate_dim = experts, hidden, inner
        self.gate_up_proj = nn.Parameter(torch.empty(experts, 2 * inner, hidden))
        self.down_proj = nn.Parameter(torch.empty(experts, hidden, inner))
        self.act_fn = nn.SiLU()
        self.describe(True, False, False)

    def forward(self, hidden_states, top_k_index, top_k_weights):
        y = 0
        for e in range(self.num_experts):
            gate, up = F.linear(hidden_states, self.gate_up_proj[e]).chunk(2, -1)
            found = F.linear(self.act_fn(gate) * up, self.down_proj[e])
            y = y + found * weight_of(e, top_k_index, top_k_weights)
        return y.to(hidden_states.dtype)


class Qwen3MoeExperts(MixtralExperts):
    """Same as Mixtral's experts, but with another activation."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.act_fn = nn.GELU()


class GptOssExperts(Described):
    """Experts of gpt-oss. Tokens take one weight per choice since release 5, and one weight per expert before."""

    def __init__(self, hidden, inner, experts, is_new=True):
        super().__init__()
        self.num_experts, self.hidden_size, self.intermediate_size = experts, hidden, inner
        self.gate_up_proj = nn.Parameter(torch.empty(experts, hidden, 2 * inner))
        self.gate_up_proj_bias = nn.Parameter(torch.empty(experts, 2 * inner))
        self.down_proj = nn.Parameter(torch.empty(experts, inner, hidden))
        self.down_proj_bias = nn.Parameter(torch.empty(experts, hidden))
        self.alpha, self.limit = 1.702, 7.0
        if is_new:
            self.describe(False, True, True)

    def forward(self, hidden_states, router_indices=None, routing_weights=None):
        x, y = hidden_states.reshape(-1, self.hidden_size), 0
        is_new = hasattr(self, "has_bias")
        for e in range(self.num_experts):
            gate_up = x @ self.gate_up_proj[e] + self.gate_up_proj_bias[e]
            gate, up = gate_up[:, ::2].clamp(max=self.limit), gate_up[:, 1::2]
            inner = gate * torch.sigmoid(gate * self.alpha) * (
                up.clamp(-self.limit, self.limit) + 1)
            found = inner @ self.down_proj[e] + self.down_proj_bias[e]
            y = y + found * (weight_of(e, router_indices, routing_weights) if is_new
                             else routing_weights[:, e, None])
        return y.view(hidden_states.shape)


class MixtralBlockSparseTop2MLP(nn.Module):
    names = "w1", "w3", "w2"

    def __init__(self, hidden, inner):
        super().__init__()
        for name, sizes in zip(self.names, ((hidden, inner), (hidden, inner), (inner, hidden))):
            setattr(self, name, nn.Linear(*sizes, bias=False))

    def forward(self, x):
        gate, up, down = (getattr(self, name) for name in self.names)
        return down(F.silu(gate(x)) * up(x))


class Qwen3MoeMLP(MixtralBlockSparseTop2MLP):
    names = "gate_proj", "up_proj", "down_proj"


class MixtralSparseMoeBlock(nn.Module):
    """Block of releases before 5, which contains a list of experts and a linear router."""

    expert = MixtralBlockSparseTop2MLP

    def __init__(self, hidden, inner, experts, k):
        super().__init__()
        self.gate, self.k = nn.Linear(hidden, experts, bias=False), k
        self.experts = nn.ModuleList(self.expert(hidden, inner) for _ in range(experts))

    def forward(self, hidden_states):
        x = hidden_states.view(-1, hidden_states.shape[-1])
        logits = self.gate(x)
        weights, chosen = logits.softmax(1, torch.float).topk(self.k, -1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        y = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            token, place = torch.where(chosen == e)
            y.index_add_(0, token, (expert(x[token]) * weights[token, place, None]).to(y.dtype))
        return y.view(hidden_states.shape), logits


class Qwen3MoeSparseMoeBlock(MixtralSparseMoeBlock):
    expert = Qwen3MoeMLP


class UnknownExperts(nn.Module):
    """Typical experts with an unknown class name."""

    def __init__(self, hidden, inner, experts):
        super().__init__()
        self.up = nn.Parameter(torch.zeros(experts, inner, hidden))
        self.down = nn.Parameter(torch.zeros(experts, hidden, inner))

    def forward(self, x):
        return x
