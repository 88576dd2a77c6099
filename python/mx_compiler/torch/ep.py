# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expert parallelism. The experts of a layer are divided among the ranks of torch.distributed:

    group = ep.Group(mesh["ep"], tokens=8192)
    experts = ep.MXRoutedExperts(dim, hidden_dim, num_experts, group)
    y = experts(x, ids, weights)

`dispatch` and `collect` exchange rows without computing experts, for use with other experts.
docs/guide/Ranks.md describes the module."""

from ._modules.expert_parallel import (collect, dispatch, Dispatched, Group, MXRoutedExperts,
                                       routed_experts)

__all__ = ["collect", "dispatch", "Dispatched", "Group", "MXRoutedExperts", "routed_experts"]
