"""A converted model under torchrun, written like any PyTorch program: `convert_` is the only call of mx. Runs tasks
one after another. For each step, prints a line with the task, the step and the loss over all ranks.

usage: torchrun --nproc-per-node=N distributed_program.py RECIPE STEPS FOLDER TASK...

A task is a way to divide the model (ddp, fsdp1, fsdp2 or none), with optional suffixes. With `none`, a single process
processes the batch parts of two ranks one after another. The suffixes are: -recompute for activation checkpointing,
-save for a distributed checkpoint (DCP) in FOLDER after half of the steps, -load=NAME to resume from the checkpoint of
the task NAME."""

import os
import pathlib
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

import mx_compiler.torch as mxt

ROWS, WIDTH, PARTS, EXPERTS = 32, 128, 2, 4
LAYERS = mxt.MXLinear, mxt.MXGroupedExperts


class Model(nn.Module):
    def __init__(self, recomputes):
        super().__init__()
        self.first = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.experts = mxt.GroupedExperts(2 * WIDTH, WIDTH, EXPERTS)
        self.last = nn.Linear(2 * WIDTH, WIDTH)
        self.recomputes = recomputes

    def forward(self, x):
        counts = torch.tensor([5, 0, 20, 7], device=x.device)
        if self.recomputes:
            y = checkpoint(lambda x: self.first(x).relu(), x, use_reentrant=False)
            y = y + checkpoint(self.experts, y, counts, use_reentrant=False)
        else:
            y = self.first(x).relu()
            y = y + self.experts(y, counts)
        return self.last(y)


def make_model(recipe, mode, recomputes, device, world):
    torch.manual_seed(0)
    model = mxt.convert_(Model(recomputes).to(device), recipe, strict=True)
    assert all(isinstance(layer, LAYERS) for layer in model.children()), model
    if mode == "ddp":
        return DistributedDataParallel(model)
    if mode == "fsdp1":
        return FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy(LAYERS),
                                        device_id=device)
    if mode == "fsdp2":
        mesh = init_device_mesh(device.type, (world,))
        for layer in model.children():
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return model


def part(step, index, device):
    """Part of a step's batch: 32 rows, the block size of the weight gradients."""
    generator = torch.Generator().manual_seed(1000 * step + index)
    return torch.randn(ROWS, WIDTH, generator=generator).to(device)


def save(model, optimizer, folder):
    state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
    dcp.save(state, checkpoint_id=folder)


def load(model, optimizer, folder):
    state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=state["model"],
                   optim_state_dict=state["optimizer"])


def run(recipe, task, steps, folder, device, rank, world):
    mode, _, more = task.partition("-")
    model = make_model(recipe, mode, more == "recompute", device, world)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    mine, first = range(PARTS) if mode == "none" else [rank], 0
    if more.startswith("load="):
        first = steps // 2
        load(model, optimizer, folder / more.removeprefix("load="))
    for step in range(first, steps):
        if more == "save" and step == steps // 2:
            save(model, optimizer, folder / mode)
        optimizer.zero_grad()
        total = torch.zeros((), device=device)
        for index in mine:
            x = part(step, index, device)
            loss = ((model(x) - x.flip(1)) ** 2).mean()
            (loss / len(mine)).backward()
            total += loss.detach() / PARTS
        optimizer.step()
        dist.all_reduce(total)
        if rank == 0:
            print(f"loss {task} {step} {total.item():.8f}", flush=True)


def main():
    recipe, steps, folder, tasks = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4:]
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")
    dist.init_process_group("nccl" if on_gpu else "gloo")
    for task in tasks:
        run(recipe, task, steps, folder, device, rank, world)
    # Destroying the group can hang in PyTorch 2.11: the caller holds Python's lock and joins gloo's thread, which needs
    # that lock to free its last tensor. So the process ends here.
    sys.stdout.flush()
    os._exit(0)


main()
