# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SwiGLU experts that are divided among ranks."""

import torch
from torch.distributed.tensor import DTensor, Shard

from ..._ops import checks as check
from .._ops.routed_experts import check_group, routed_experts
from .experts import MXGroupedExperts
from .parameters import check_last, result_dtype, to_bf16
from .recipes import training_recipe

_NAMES = "w1", "w2", "w3"


class MXRoutedExperts(MXGroupedExperts):
    """Experts that are divided among the ranks of a group, with a router's choice of the
    tokens of each rank: what MXGroupedExperts computes, on rows that come from all ranks
    and go back there.

    dim, hidden_dim  multiples of 32
    num_experts  of all ranks, a multiple of their number: rank r has those from
              r * num_experts / ranks on
    group     an mx_compiler.torch.ep.Group
    recipe    an mx_compiler.torch.Recipe or the name of one that trains; all three
              matmuls are quantized, with scales rounded up ("ceil")
    capacity  rows of this rank's experts that have room; None: the most that can come
    mesh      a DeviceMesh of one dimension, whose ranks are the group's: parameters are
              DTensors, Shard(0) over it. Without it they are this rank's part
    device, dtype  of the parameters

    Parameters are w1 and w3, [experts, hidden_dim, dim], and w2, [experts, dim,
    hidden_dim], as in torchtitan: with `mesh` distributed checkpoints are read by any
    number of ranks, and FSDP2 divides them over other dimensions of the mesh. Their
    gradients are sums over the tokens of all ranks, whereas averages are what data
    parallelism takes: divide by the ranks where each has the mean loss of its own tokens
    (docs/guide/Ranks.md).

    forward(x, ids, weights): x is [..., dim], ids, integers, and weights, floating point,
    are [tokens, k] or [..., k]. Others than 0 to num_experts - 1 are no expert. The result
    has the shape and dtype of x, or autocast's dtype. Collective, and so is backward.

    Raises a TypeError or ValueError that names the argument, an mx_compiler.CapacityError
    if more rows came than have room, an mx_compiler.Error if the group fails."""

    is_divided = True  # for `convert`, which does not import this module

    def __init__(self, dim, hidden_dim, num_experts, group, recipe="mxfp8", *,
                 capacity=None, mesh=None, device=None, dtype=None):
        check_group(group)
        check.size("num_experts", num_experts, 1)
        if num_experts % group.size:
            raise ValueError(f"num_experts: expected a multiple of {group.size}, the ranks of "
                             f"the group, found {num_experts}")
        recipe = _routed_recipe(recipe)
        super().__init__(dim, hidden_dim, num_experts // group.size, recipe, device, dtype)
        self._set(group, capacity)
        if mesh is not None:
            self._distribute(mesh)

    @classmethod
    def from_experts(cls, module, group, recipe="mxfp8", *, capacity=None):
        """Of a module with parameters w1, w2 and w3 of this rank's experts, or DTensors of
        all of them, Shard(0) over the ranks of the group: with these very parameters,
        hooks and mode."""
        check_group(group)
        new = super().from_experts(module, _routed_recipe(recipe))
        new._set(group, capacity)
        for name in _NAMES:
            new._local(name)  # raises where it is divided otherwise
        return new

    def with_recipe(self, recipe):
        """The same of another recipe: with these very parameters, hooks and mode."""
        if type(self) is not MXRoutedExperts:
            raise ValueError("expected MXRoutedExperts itself, found a class that is derived "
                             "from it, as fully_shard makes them: convert before")
        return self.from_experts(self, self.group, recipe, capacity=self.capacity)

    def to_plain(self):
        """The experts of this rank as a module of their own, GroupedExperts if they came
        from none, which takes rows that are sorted."""
        new = super().to_plain()
        for name in ("group", "capacity"):
            new.__dict__.pop(name, None)
        return new

    def _set(self, group, capacity):
        if capacity is not None:
            check.size("capacity", capacity, 1)
        self.group, self.capacity = group, capacity

    def _distribute(self, mesh):
        if mesh.ndim != 1 or mesh.size() != self.group.size or (
                mesh.get_local_rank() != self.group.rank):
            raise ValueError(f"mesh: expected one dimension of {self.group.size} ranks in the "
                             f"order of the group, found {mesh}")
        for name in _NAMES:
            local = getattr(self, name)
            self.register_parameter(name, torch.nn.Parameter(DTensor.from_local(
                local.detach(), mesh, [Shard(0)], run_check=False), local.requires_grad))

    def __setattr__(self, name, value):
        """FSDP2 puts its DTensors here: of parameters that it takes for copies."""
        if name in _NAMES and isinstance(value, DTensor) and not isinstance(
                self._parameters.get(name), DTensor) and "group" in self.__dict__:
            mixed = set(value.device_mesh.mesh.flatten().tolist()) & set(self.group.ranks)
            if len(mixed) > 1:
                raise ValueError(f"{name}: expected a mesh of ranks that have the same experts, "
                                 f"found ranks {sorted(mixed)}, which have different ones: make "
                                 "the module with mesh=, and shard it over another dimension")
        super().__setattr__(name, value)

    @property
    def num_experts(self):
        """Of all ranks."""
        count = self.w1.shape[0]
        return count if isinstance(self.w1, DTensor) else count * self.group.size

    def _local(self, name):
        """This rank's part of a parameter."""
        weight = getattr(self, name)
        if not isinstance(weight, DTensor):
            return weight
        divided = [mesh_dim for mesh_dim, placement in enumerate(weight.placements)
                   if not placement.is_replicate()]
        mesh = weight.device_mesh
        if len(divided) > 1 or any(not weight.placements[d].is_shard(0) for d in divided) or (
                (mesh.size(divided[0]) if divided else 1) != self.group.size):
            raise ValueError(f"{name}: expected a DTensor with Shard(0) over the "
                             f"{self.group.size} ranks of the group, found placements "
                             f"{weight.placements} over {mesh}")
        local = weight.to_local()
        if local.shape[0] * self.group.size != weight.shape[0]:
            raise ValueError(f"{name}: expected a number of experts that {self.group.size} "
                             f"ranks divide, found {weight.shape[0]}")
        return local

    def forward(self, x, ids, weights):
        rows = to_bf16("x", x)
        w1, w2, w3 = (self._local(name) for name in _NAMES)
        check_last("x", x, w1.shape[-1], "dim of the experts")
        for name, given in (("ids", ids), ("weights", weights)):
            if not isinstance(given, torch.Tensor):
                raise TypeError(f"{name}: expected a tensor, found {type(given).__name__}")
            if given.dim() < 1:
                raise ValueError(f"{name}: expected [tokens, k], found shape "
                                 f"{tuple(given.shape)}")
        y = routed_experts(
            rows.reshape(-1, x.shape[-1]), ids.reshape(-1, ids.shape[-1]),
            weights.reshape(-1, weights.shape[-1]), torch.cat((w1, w3), 1), w2, self.group,
            capacity=self.capacity, activations=self.recipe.activations,
            weights_format=self.recipe.weights, gradients=self.recipe.gradients)
        return y.to(result_dtype(x)).view(x.shape)

    def extra_repr(self):
        _, hidden, dim = self.w1.shape
        return (f"dim={dim}, hidden_dim={hidden}, num_experts={self.num_experts}, "
                f"recipe={self.recipe}, rank {self.group.rank} of {self.group.size}")


def _routed_recipe(recipe):
    found = training_recipe(recipe, "MXRoutedExperts", "MXWeightOnlyExperts")
    if found.scale_rounding != "ceil" or found.wgrad_high_precision:
        raise ValueError("recipe: expected scale_rounding \"ceil\" and quantized gradients of "
                         f"weights for MXRoutedExperts, found {found}")
    return found
