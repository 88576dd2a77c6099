# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training on the processes of torchrun, or in a single process. The processes divide the experts
and every batch among themselves.

The ranks compute the same results as one process with all tokens, except for the order of some
sums. With FSDP2 the processes shard all parameters instead, and gradients are averages of bf16
values. Otherwise gradients of dense parameters are averaged over ranks. Gradients of experts
already include the tokens of all ranks. The experts' balance and the clipping norm are computed
over all ranks."""

import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy

import mx_compiler.torch as mxt
from mx_compiler.torch import ep


class Ranks:
    def __init__(self, device):
        """Joins the process group. `device` is the value of --device; with several processes on
        GPUs, each process uses the GPU of its local rank instead."""
        self.count = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        self.device = torch.device(device)
        if self.count == 1:
            return
        if self.device.type == "cuda":
            self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
            torch.cuda.set_device(self.device)
        if not dist.is_initialized():
            dist.init_process_group("nccl" if self.device.type == "cuda" else "gloo")

    @property
    def is_first(self):
        return self.rank == 0

    def sum_(self, x):
        """Sums x over all ranks, in place."""
        if self.count > 1:
            dist.all_reduce(x)
        return x

    def mean_(self, x):
        return self.sum_(x).div_(self.count)

    def agree(self, flag):
        """Returns True if any rank passes True."""
        return bool(self.sum_(torch.tensor(int(flag), device=self.device)))

    def part(self, x):
        """Returns this rank's part of the first dimension."""
        return x.chunk(self.count)[self.rank]

    def gather(self, x):
        """Concatenates the parts of all ranks."""
        if self.count == 1:
            return x
        whole = x.new_empty(self.count * x.shape[0], *x.shape[1:])
        dist.all_gather_into_tensor(whole, x.contiguous())
        return whole

    # --- Experts ------------------------------------------------------------------------

    def divide(self, model, recipe, tokens):
        """Replaces the experts of each layer by this rank's part of them."""
        group = (ep.Group if self.count > 1 else ep.Group.alone)(tokens=tokens)
        for layer in model.layers:
            whole = layer.moe.experts
            own = mxt.GroupedExperts(whole.w1.shape[2], whole.w1.shape[1],
                                     whole.num_experts // self.count, device=whole.w1.device)
            with torch.no_grad():
                for name, weight in own.named_parameters():
                    weight.copy_(self.part(getattr(whole, name)))
            layer.moe.experts = ep.MXRoutedExperts.from_experts(own, group, recipe)
            layer.moe.sum_over_ranks = self.sum_

    def shard(self, model):
        """Shards all parameters, layer by layer. The model computes with bf16 copies."""
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
        for layer in model.layers:
            fully_shard(layer, mp_policy=policy)
            layer.moe.sum_over_ranks = self.sum_
        fully_shard(model, mp_policy=policy)

    def average_gradients(self, model):
        """Averages gradients over ranks, because the loss is the mean of the ranks' losses."""
        divided = set(divided_parameters(model))
        dense = [p.grad for p in model.parameters() if p not in divided]
        if self.count > 1:
            together = self.mean_(torch.cat([grad.flatten() for grad in dense]))
            for grad, found in zip(dense, together.split([grad.numel() for grad in dense])):
                grad.copy_(found.view_as(grad))
            for parameter in divided:
                parameter.grad.div_(self.count)

    def clip_gradients(self, model, most):
        """Clips like torch.nn.utils.clip_grad_norm_, with the norm of the gradients of all ranks."""
        divided = divided_parameters(model)
        known = set(divided)

        def squares(parameters):
            return sum(p.grad.square().sum() for p in parameters)

        norm = (squares(p for p in model.parameters() if p not in known)
                + self.sum_(squares(divided))).sqrt()
        torch._foreach_mul_([p.grad for p in model.parameters()],
                            (most / (norm + 1e-6)).clamp(max=1.0))

    # --- Checkpoints, which any number of ranks can read --------------------------------------

    def whole_model(self, model):
        divided = {id(p) for p in divided_parameters(model)}
        names = {name for name, p in model.named_parameters() if id(p) in divided}
        return {name: self.gather(x) if name in names else x
                for name, x in model.state_dict().items()}

    def own_model(self, model, state):
        divided = {id(p) for p in divided_parameters(model)}
        names = {name for name, p in model.named_parameters() if id(p) in divided}
        return {name: self.part(x) if name in names else x for name, x in state.items()}

    def whole_optimizer(self, model, optimizer):
        return self._each_moment(model, optimizer, optimizer.state_dict(), self.gather)

    def own_optimizer(self, model, optimizer, state):
        return self._each_moment(model, optimizer, state, self.part)

    @staticmethod
    def _each_moment(model, optimizer, state, change):
        """Returns the state with `change` applied to the optimizer's moments of experts."""
        divided = {id(p) for p in divided_parameters(model)}
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        kept = {index: {name: change(x) if id(parameters[index]) in divided and x.dim() else x
                        for name, x in moments.items()}
                for index, moments in state["state"].items()}
        return {**state, "state": kept}


def divided_parameters(model):
    """Returns the parameters of divided experts."""
    return [p for layer in model.layers if isinstance(layer.moe.experts, ep.MXRoutedExperts)
            for p in layer.moe.experts.parameters()]


def leave():
    """Ends a process of torchrun without destroying the process group, which can hang in PyTorch
    2.11. The status is 0, because torchrun treats any other status as a failure."""
    if dist.is_initialized():
        sys.stdout.flush()
        sys.stderr.flush()
        dist.barrier()
        os._exit(0)
