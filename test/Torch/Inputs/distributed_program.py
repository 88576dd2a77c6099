"""A converted model under torchrun, written as any program of PyTorch: no word to mx but
`convert`. Prints the loss of each step, of all ranks together.

usage: torchrun --nproc-per-node=N distributed_program.py ddp|fsdp2|none STEPS

`none` is one process: it takes the parts of the batch of two ranks one after another."""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import mx_compiler.torch as mxt

ROWS, WIDTH, PARTS = 32, 64, 2


def make_model(device):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH, bias=False), nn.ReLU(),
                          nn.Linear(2 * WIDTH, WIDTH, bias=False)).to(device)
    mxt.convert(model, "mxfp8")
    assert isinstance(model[0], mxt.MXLinear), model
    return model


def part(step, index, device):
    """Of the batch of a step: 32 rows, as many as a block of the weights' gradients."""
    generator = torch.Generator().manual_seed(1000 * step + index)
    return torch.randn(ROWS, WIDTH, generator=generator).to(device)


def main():
    mode, steps = sys.argv[1], int(sys.argv[2])
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    device = torch.device("cuda", torch.cuda.current_device()) if on_gpu else torch.device("cpu")
    dist.init_process_group("nccl" if on_gpu else "gloo")
    model = make_model(device)
    if mode == "ddp":
        model = DistributedDataParallel(model)
    elif mode == "fsdp2":
        mesh = init_device_mesh(device.type, (world,))
        for layer in model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    mine = range(PARTS) if mode == "none" else [rank]
    for step in range(steps):
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
            print(f"{step} {total.item():.8f}", flush=True)
    # To destroy the group can hang in PyTorch 2.11: the caller holds Python's lock and joins
    # gloo's thread, which needs that lock to free its last tensor. So the process ends here.
    sys.stdout.flush()
    os._exit(0)


main()
