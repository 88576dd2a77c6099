"""Compares MXLinear and MXGroupedExperts with DTensor parameters, under torchrun, with the same layers with plain
parameters.

usage: torchrun --nproc-per-node=2 tensor_parallel.py"""

import itertools
import os
import sys
import warnings

import torch
import torch.distributed as dist
from refuses import refuses
from torch import nn
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import mx_compiler.torch as mxt

ON_GPU = torch.cuda.is_available()
PLACEMENTS = Replicate(), Shard(0), Shard(1)


def same(found, wanted, exact):
    """The tolerance allows for rounding each rank's partial sum to the result dtype."""
    found = found.full_tensor() if hasattr(found, "full_tensor") else found
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    if exact:
        assert torch.equal(found, wanted), (found - wanted).abs().max()
    else:
        assert (found - wanted).norm() <= 2**-7 * wanted.norm(), (found - wanted).norm() / wanted.norm()


def divided(layer, weight, bias):
    new = mxt.MXLinear(layer.in_features, layer.out_features, recipe=layer.recipe, device=DEVICE)
    new.weight = nn.Parameter(distribute_tensor(layer.weight.detach(), MESH, [weight]))
    new.bias = nn.Parameter(distribute_tensor(layer.bias.detach(), MESH, [bias]))
    return new


def check_linear(recipe, rows, inputs, outputs):
    layer = mxt.MXLinear(inputs, outputs, recipe=recipe, device=DEVICE)
    x, dy = (torch.randn(rows, size, device=DEVICE) for size in (inputs, outputs))
    wanted_x = x.clone().requires_grad_()
    y = layer(wanted_x)
    y.backward(dy)
    for of_weight, of_x in itertools.product(PLACEMENTS, PLACEMENTS):
        other = divided(layer, of_weight, of_weight if of_weight.is_shard(0) else Replicate())
        given = distribute_tensor(x, MESH, [of_x]).requires_grad_()
        found = other(given)
        # If summed columns are divided, the result is a partial sum.
        summed = [p.is_partial() for p in (found.placements[0], given.placements[0])]
        found.backward(distribute_tensor(dy, MESH, [Replicate()]))
        same(found, y.detach(), not summed[0])
        for a, b in ((given.grad, wanted_x.grad), (other.weight.grad, layer.weight.grad),
                     (other.bias.grad, layer.bias.grad)):
            same(a, b, not a.placements[0].is_partial())
        blocks = 128 if layer.recipe.save_quantized or layer.recipe.fp8_scales else 32
        # Saved f32 scales are not divided by columns of x.
        is_row_wise = of_weight.is_shard(1) and inputs % (blocks * SIZE) == 0 and layer.recipe.fp8_scales != "f32"
        if of_weight.is_shard(0) and of_x.is_replicate():  # no gather
            assert found.placements == (Shard(1),) and other.weight.grad.placements == (Shard(0),)
        if is_row_wise and of_x.is_shard(1):
            assert found.placements == (Partial(),) and given.grad.placements == (Shard(1),)


def check_needs(recipe, outputs=64):
    """A gradient that is not requested has a placeholder shape, which PyTorch must not use as a real shape."""
    layer = mxt.MXLinear(256, outputs, recipe=recipe, device=DEVICE)
    x, dy = torch.randn(64, 256, device=DEVICE), torch.randn(64, outputs, device=DEVICE)
    for needs_x, needs_weight in itertools.product((True, False), repeat=2):
        results = []
        for one in layer, divided(layer, Shard(0), Shard(0)):
            one.weight.requires_grad_(needs_weight)
            is_plain = one is layer
            a = (x if is_plain else distribute_tensor(x, MESH, [Replicate()])).detach().requires_grad_(needs_x)
            one.zero_grad()
            one(a).backward(dy if is_plain else distribute_tensor(dy, MESH, [Replicate()]))
            results.append((a.grad, one.weight.grad))
        for found, wanted, needed in zip(results[1], results[0], (needs_x, needs_weight)):
            assert (found is not None) == (wanted is not None) == needed
            if needed:
                same(found, wanted, not found.placements[0].is_partial())


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(64, 256, bias=False), nn.Linear(256, 64)

    def forward(self, x):
        return self.down(self.up(x).relu())


def check_parallelize(is_first):
    """Calls parallelize_module before and after convert, and makes three optimizer steps."""
    torch.manual_seed(5)
    plain = mxt.convert_(MLP().to(DEVICE), "mxfp8")
    torch.manual_seed(5)
    model = MLP().to(DEVICE)
    model = mxt.convert_(model, "mxfp8") if is_first else model
    parallelize_module(model, MESH, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    weight = model.up.weight
    model = model if is_first else mxt.convert_(model, "mxfp8")
    assert model.up.weight is weight and type(model.up) is mxt.MXLinear and weight.placements == (Shard(0),)
    for one in plain, model:
        optimizer = torch.optim.AdamW(one.parameters(), lr=1e-3, foreach=False)
        for step in range(3):
            x = torch.randn(2, 16, 64, generator=torch.Generator().manual_seed(step)).to(DEVICE)
            optimizer.zero_grad()
            loss = ((one(x) - x) ** 2).mean()
            loss.backward()
            optimizer.step()
        one.loss = loss.item()
    assert abs(plain.loss - model.loss) < 2e-3 * plain.loss, (plain.loss, model.loss)
    assert (plain.up.weight - model.up.weight.full_tensor()).norm() < 2e-2 * plain.up.weight.norm()


def check_experts():
    """Experts as in torchtitan. Each rank computes with its own part."""
    whole = mxt.GroupedExperts(64, 64, 4, device=DEVICE)
    experts = mxt.GroupedExperts(64, 64, 4, device=DEVICE)
    for name, weight in whole.named_parameters():
        setattr(experts, name, nn.Parameter(distribute_tensor(weight.detach(), MESH, [Shard(0)])))
    experts, own = mxt.convert_(experts, "mxfp8"), slice(RANK * 4 // SIZE, (RANK + 1) * 4 // SIZE)
    part = mxt.MXGroupedExperts(64, 64, 4 // SIZE, device=DEVICE)
    with torch.no_grad():
        for name, weight in part.named_parameters():
            weight.copy_(getattr(whole, name)[own])
    x, counts = torch.randn(32, 64, device=DEVICE), torch.tensor([20, 12], device=DEVICE)
    for one in experts, part:
        one.y = one(x, counts)
        one.y.square().sum().backward()
    assert torch.equal(experts.y, part.y)
    for name, weight in experts.named_parameters():
        assert weight.grad.placements == (Shard(0),) and weight.grad.shape == weight.shape
        assert torch.equal(weight.grad.to_local(), getattr(part, name).grad)


def check_refused():
    linear = nn.Linear(64, 64, device=DEVICE)
    linear.weight = nn.Parameter(distribute_tensor(linear.weight.detach(), MESH, [Shard(0)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refuses(ValueError, "weight: expected a plain tensor, found a DTensor, such as those of parallelize_module and fully_shard",
                lambda: mxt.convert_(linear, "mxfp4_weight_only"))


def main():
    for recipe in "mxfp8", "mxfp8_save_quantized":
        check_linear(recipe, 64, 256, 64)
        check_linear(recipe, 40, 96, 128)   # blocks that cross ranks are gathered
        check_needs(recipe)
    check_linear("mxfp8_wgrad_with_hp", 64, 256, 64)
    for recipe in "mxfp8_fast", "fp8_block":
        check_linear(recipe, 64, 256, 256)
        check_needs(recipe, 256)
    check_parallelize(True)
    check_parallelize(False)
    check_experts()
    check_refused()


if ON_GPU:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
DEVICE = torch.device("cuda", torch.cuda.current_device()) if ON_GPU else torch.device("cpu")
dist.init_process_group("nccl" if ON_GPU else "gloo")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
MESH = dist.init_device_mesh(DEVICE.type, (SIZE,))
torch.manual_seed(0)
main()
print(f"rank {RANK}: right", flush=True)
dist.barrier()
# Destroying the process group can hang in PyTorch 2.11 (distributed_program.py).
sys.stdout.flush()
os._exit(0)
