# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expert parallelism: experts of a layer divided among ranks of torch.distributed.

    group = ep.Group(mesh["ep"], tokens=8192)
    experts = ep.MXRoutedExperts(dim, hidden_dim, num_experts, group)
    y = experts(x, ids, weights)

docs/TorchTraining.md describes it."""

from ._modules.rank_experts import MXRoutedExperts
from ._ops.expert_groups import Group
from ._ops.routed_experts import routed_experts

__all__ = ["Group", "MXRoutedExperts", "routed_experts"]
