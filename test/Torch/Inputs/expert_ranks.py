"""Tests experts divided among processes under torchrun: compares MXRoutedExperts with a single rank that processes all
tokens, recreates groups after failures, and checks errors.

usage: torchrun --nproc-per-node=2 expert_ranks.py FOLDER

With four processes, experts are divided between two ranks, and FSDP2 uses the other mesh dimension."""

import os
import pathlib
import re
import sys

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.fsdp import fully_shard
from torch.utils.checkpoint import checkpoint

import mx_compiler as mx
import mx_compiler.torch as mxt
from mx_compiler.torch import ep
from refuses import refuses

# Each token chooses more experts than a rank owns.
DIM, INNER, EXPERTS, K, TOKENS = 64, 32, 4, 3, 40
ON_GPU = torch.cuda.is_available()
NAMES = "w1", "w2", "w3"


def draw(seed, counts, dim=DIM):
    """Draws x, ids, weights and the gradient of y for each rank."""
    generator = torch.Generator().manual_seed(seed)
    for count in counts:
        ids = torch.rand(count, EXPERTS, generator=generator).argsort(1)[:, :K]
        ids[torch.rand(ids.shape, generator=generator) < 0.1] = -1
        yield (torch.randn(count, dim, generator=generator), ids,
               torch.rand(count, K, generator=generator), torch.randn(count, dim, generator=generator))


def draw_repeated(seed):
    """Draws integers with exact sums for each rank: x, ids with repeated and invalid values, weights, and the gradient
    of y. The last rank receives more rows than it could if the experts of each token were distinct."""
    generator = torch.Generator().manual_seed(seed)

    def integers(*shape):
        return torch.randint(-4, 5, shape, generator=generator).float()

    for _ in range(SIZE):
        ids = torch.randint(-1, EXPERTS + 1, (TOKENS, K), generator=generator)
        ids[:TOKENS * 3 // 4] = EXPERTS - 1
        ids[-4:] = torch.tensor([-2**40, 2**40, 0])
        yield integers(TOKENS, DIM), ids, integers(TOKENS, K), integers(TOKENS, DIM)


def step(experts, x, ids, weights, dy):
    """Returns y and the gradients of x, the weights and the parameters."""
    x, ids, weights, dy = (a.to(DEVICE) for a in (x, ids, weights, dy))
    x, weights = x.detach().requires_grad_(), weights.detach().requires_grad_()
    experts.zero_grad()
    y = experts(x, ids, weights)
    assert y.shape == x.shape and y.dtype == x.dtype
    y.backward(dy)
    return y.detach(), x.grad, weights.grad, [getattr(experts, name).grad for name in NAMES]


class Recomputed(torch.nn.Module):
    """Runs experts under activation checkpointing."""

    def __init__(self, experts):
        super().__init__()
        self.experts = experts
        self.w1, self.w2, self.w3 = experts.w1, experts.w2, experts.w3

    def forward(self, *arguments):
        return checkpoint(self.experts, *arguments, use_reentrant=False)


def near(found, wanted):
    """Compares within the bf16 rounding of each rank's partial sum."""
    assert (found - wanted).norm() <= 2**-7 * wanted.norm(), (found - wanted).norm() / wanted.norm()


def compare(experts, alone, given):
    counts = [len(part[0]) for part in given]
    y, dx, dweights, gradients = step(experts, *given[RANK])
    first = sum(counts[:RANK])
    part = slice(first, first + counts[RANK])
    all_y, all_dx, all_dweights, all_gradients = step(
        alone, *(torch.cat(parts) for parts in zip(*given)))
    near(y, all_y[part])
    near(dx, all_dx[part])
    assert torch.equal(dweights, all_dweights[part])
    own = EXPERTS // SIZE
    for mine, whole in zip(gradients, all_gradients):
        if isinstance(mine, dist.tensor.DTensor):
            assert mine.shape == whole.shape and mine.placements == (dist.tensor.Shard(0),)
            mine = mine.to_local()
        assert torch.equal(mine, whole[RANK * own:(RANK + 1) * own])


def copy_weights(experts, whole):
    own = EXPERTS // SIZE
    with torch.no_grad():
        for name in NAMES:
            weight = getattr(experts, name)
            local = weight.to_local() if isinstance(weight, dist.tensor.DTensor) else weight
            local.copy_(getattr(whole, name)[RANK * own:(RANK + 1) * own])


def check_layer(mesh, whole, alone):
    with ep.Group(mesh["ep"], tokens=TOKENS, timeout=60) as group:
        assert group.size == SIZE and group.rank == RANK and group.status() is None
        assert f"rank {RANK} of {SIZE}" in group.describe()
        for divided in (mesh["ep"], None):
            experts = ep.MXRoutedExperts(DIM, INNER, EXPERTS, group, mesh=divided, device=DEVICE)
            assert experts.num_experts == EXPERTS
            copy_weights(experts, whole)
            for seed, counts in enumerate(([TOKENS] * SIZE, [TOKENS // 2, *[TOKENS] * (SIZE - 1)],
                                           [0, *[5] * (SIZE - 1)])):
                compare(experts, alone, list(draw(seed, counts)))
            compare(experts, alone, list(draw_repeated(9)))
        # Recomputation for the backward pass, with its collectives, gives the same bits.
        given = [a.to(DEVICE) for a in list(draw(7, [TOKENS] * SIZE))[RANK]]
        for a, b in zip(step(experts, *given), step(Recomputed(experts), *given)):
            assert all(map(torch.equal, a, b)) if isinstance(a, list) else torch.equal(a, b)
        # A group that sends only the tokens that a rank needs gives the same bits.
        with ep.Group(mesh["ep"], tokens=TOKENS, slots=TOKENS // 2, timeout=60) as few:
            assert f", {few.slots} slots" in few.describe()
            packed = ep.MXRoutedExperts(DIM, INNER, EXPERTS, few, device=DEVICE)
            copy_weights(packed, whole)
            given = [a.to(DEVICE) for a in list(draw(8, [TOKENS // 2] * SIZE))[RANK]]
            for a, b in zip(step(experts, *given), step(packed, *given)):
                assert all(map(torch.equal, a, b)) if isinstance(a, list) else torch.equal(a, b)
            few.check()
        # Created from the same parameters.
        again = ep.MXRoutedExperts.from_experts(experts, group)
        assert again.w1 is experts.w1 and again.to_plain().w1 is experts.w1
        x, ids, weights, _ = (a.to(DEVICE) for a in list(draw(5, [8] * SIZE))[RANK])
        assert torch.equal(again(x.view(2, 4, DIM), ids.view(2, 4, K), weights.view(2, 4, K)),
                           experts(x, ids, weights).view(2, 4, DIM))
        group.check()


def check_fast(mesh):
    """Compares experts on FP8 tensor cores with a single rank."""
    dim, inner, recipe = 256, 128, "mxfp8_fast"
    whole = mxt.GroupedExperts(dim, inner, EXPERTS, device=DEVICE)
    alone = ep.MXRoutedExperts.from_experts(whole, ep.Group.alone(tokens=SIZE * TOKENS), recipe)
    with ep.Group(mesh["ep"], tokens=TOKENS, slots=TOKENS - 1, timeout=60) as group:
        experts = ep.MXRoutedExperts(dim, inner, EXPERTS, group, recipe, mesh=mesh["ep"], device=DEVICE)
        copy_weights(experts, whole)
        for seed, counts in enumerate(([TOKENS - 1] * SIZE, [0, *[5] * (SIZE - 1)])):
            compare(experts, alone, list(draw(seed, counts, dim)))
        group.check()


def check_refused(mesh, whole):
    group = ep.Group(mesh["ep"], tokens=TOKENS, timeout=60)
    refuses(TypeError, "group: expected an mx_compiler.torch.ep.Group, found NoneType",
            lambda: ep.MXRoutedExperts(DIM, INNER, EXPERTS, None))
    refuses(ValueError, f"num_experts: expected a multiple of {SIZE}, the number of ranks, found 5",
            lambda: ep.MXRoutedExperts(DIM, INNER, 5, group))
    refuses(ValueError, "recipe: expected scale_rounding \"ceil\"",
            lambda: ep.MXRoutedExperts(DIM, INNER, EXPERTS, group, "mxfp8_floor"))
    for recipe in "fp8_block", mxt.Recipe(gradients="mxfp8_e5m2", fp8_scales="e8m0"):
        refuses(ValueError, "recipe: expected mxfp8_fast or no fp8_scales",
                lambda recipe=recipe: ep.MXRoutedExperts(256, 128, EXPERTS, group, recipe))
    refuses(ValueError, "hidden_dim: expected a multiple of 128, at least 128, found 32",
            lambda: ep.MXRoutedExperts(256, 32, EXPERTS, group, "mxfp8_fast"))
    refuses(TypeError, "process_group: expected a ProcessGroup, a DeviceMesh or None, found int",
            lambda: ep.Group(3, tokens=8))
    divided = mxt.GroupedExperts(DIM, INNER, EXPERTS, device=DEVICE)
    divided.w1 = torch.nn.Parameter(dist.tensor.distribute_tensor(
        divided.w1.detach(), mesh["ep"], [dist.tensor.Shard(1)]))
    refuses(ValueError, "w1: expected a DTensor with Shard(0) over the 2 ranks of the rank group",
            lambda: ep.MXRoutedExperts.from_experts(divided, group))
    experts = ep.MXRoutedExperts(DIM, INNER, EXPERTS, group, device=DEVICE)
    x, ids, weights = (a.to(DEVICE) for a in next(draw(0, [TOKENS]))[:3])
    for error, text, call in (
            (TypeError, "ids: expected integers, found torch.float32", lambda other: other(x, weights, weights)),
            (ValueError, "expected shape (40, 3)", lambda other: other(x, ids, weights[:, :1])),
            (TypeError, "ids: expected a tensor, found list", lambda other: other(x, [1], weights)),
            (ValueError, "dim of the experts", lambda other: other(x[:, 1:], ids, weights)),
            (ValueError, "mxfp9", lambda other: ep.routed_experts(
                x.bfloat16(), ids, weights, torch.cat((other.w1, other.w3), 1), other.w2, other.group,
                activations="mxfp9")),
            (TypeError, "x: expected", lambda other: ep.dispatch(x.float(), ids, weights, EXPERTS, other.group))):
        with ep.Group(mesh["ep"], tokens=TOKENS, timeout=60) as told:
            dist.barrier()  # otherwise a slow rank would get the error during creation
            refuses(error, text,
                    lambda: call(ep.MXRoutedExperts(DIM, INNER, EXPERTS, told, device=DEVICE)))
            assert text in told.status().text  # so the other ranks need not wait for the timeout
    # An error on one rank ends the group on all ranks, with the reason.
    if RANK == 0:
        refuses(ValueError, "x: expected at most 40 tokens, the limit of the rank group, found 80 on rank 0",
                lambda: experts(torch.cat((x, x)), torch.cat((ids, ids)), torch.cat((weights, weights))))
    else:
        refuses(mx.Error, "rank 0 gave up", lambda: (experts(x, ids, weights), group.check()))
    refuses(mx.Error, "found 80 on rank 0", lambda: group.check())
    assert group.status().rank == 0
    group.close()
    refuses(ValueError, "expected an open rank group, found a closed one", lambda: experts(x, ids, weights))
    # A rank group that one rank refuses to create does not disturb the next.
    refuses((mx.Error, RuntimeError) if RANK == 0 else ValueError, "rank 1 did not join" if RANK == 0 else "tokens: ",
            lambda: ep.Group(mesh["ep"], tokens=TOKENS if RANK == 0 else 0, timeout=1))
    ep.Group(mesh["ep"], tokens=TOKENS, timeout=60).close()


def check_capacity(mesh, whole):
    """Only the last rank lacks room for a row."""
    group, needed = ep.Group(mesh["ep"], tokens=TOKENS, timeout=60), SIZE * TOKENS
    experts = ep.MXRoutedExperts(DIM, INNER, EXPERTS, group, device=DEVICE, capacity=needed - 1)
    x, _, weights = (a.to(DEVICE) for a in next(draw(0, [TOKENS]))[:3])
    ids = torch.full((TOKENS, K), -1, device=DEVICE)
    ids[:, 0] = EXPERTS - 1
    check_overflow(group, needed, lambda: experts(x, ids, weights))


def check_repeated(mesh):
    """Checks tokens that name an expert several times, if the room for rows is about sufficient: either all rows, sums
    and gradients match NumPy, or a CapacityError is raised."""
    own, most, given = EXPERTS // SIZE, SIZE * TOKENS * K, list(draw_repeated(8))
    x, ids, weights, dy = (a.to(DEVICE) for a in given[RANK])
    all_ids = np.concatenate([part[1] for part in given]).reshape(-1)
    slots = np.argsort(all_ids, kind="stable")
    slots = slots[all_ids[slots] // own == RANK]
    all_x = np.concatenate([part[0] for part in given])
    mine = [a.numpy().astype(np.float64) for a in given[RANK]]
    is_expert = (mine[1] >= 0) & (mine[1] < EXPERTS)
    sums = (mine[2] * is_expert).sum(1, keepdims=True)
    wanted = sums * mine[0], sums * mine[3], is_expert * (mine[0] * mine[3]).sum(1, keepdims=True)
    group = ep.Group(mesh["ep"], tokens=TOKENS, timeout=60)
    for capacity in len(slots), len(slots) + 1, most - 1, most, most + 1, None:
        a, w = (part.clone().requires_grad_() for part in (x, weights))
        found = ep.dispatch(a.bfloat16(), ids, w, EXPERTS, group, capacity=capacity)
        count, room = int(found.count), min(capacity or most, most)
        assert found.rows.shape == (room, DIM) and count == len(slots)
        assert np.array_equal(found.slots.cpu(), np.pad(slots, (0, room - count), constant_values=-1))
        assert np.array_equal(found.rows[:count].float().detach().cpu(), all_x[slots // K])
        assert not found.rows[count:].any()
        z = (found.rows.float() * found.probs[:, None]).bfloat16()
        y = ep.collect(z, found.slots, ids, EXPERTS, group)
        y.backward(dy.bfloat16())
        for b, c in zip((y.detach().float(), a.grad, w.grad), wanted):
            assert np.array_equal(b.cpu(), c), capacity
    group.check()
    needed = int((all_ids // own == SIZE - 1).sum())
    assert needed > SIZE * TOKENS * own
    check_overflow(group, needed, lambda: ep.dispatch(x.bfloat16(), ids, weights, EXPERTS, group, capacity=needed - 1))


def check_overflow(group, needed, call):
    """Checks a call in which the last rank lacks room for one row."""
    try:
        call()
        group.check()
        assert RANK != SIZE - 1
    except mx.CapacityError as error:
        assert (error.rank, error.needed, error.available) == (SIZE - 1, needed, needed - 1) and RANK == SIZE - 1
    except mx.Error as error:
        assert f"expected at most {needed - 1} rows" in str(error) and RANK != SIZE - 1, error
    group.close()


def check_graph(mesh):
    """Checks the forward and backward pass in a CUDA graph: replays with other values return the same bits as direct
    calls, and check() reports excess rows."""
    group, room = ep.Group(mesh["ep"], tokens=TOKENS, timeout=60), K * SIZE * TOKENS - 1
    experts = ep.MXRoutedExperts(DIM, INNER, EXPERTS, group, device=DEVICE, capacity=room)

    def compute(x, ids, weights, dy):
        x, weights = (a.detach().requires_grad_() for a in (x, weights))
        y = experts(x, ids, weights)
        return y, *torch.autograd.grad(y, (x, weights, *experts.parameters()), dy)

    fixed = [a.to(DEVICE) for a in list(draw(50, [TOKENS] * SIZE))[RANK]]
    for _ in range(3):
        compute(*fixed)
    group.check()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = compute(*fixed)
    for seed in range(51, 71):
        for place, values in zip(fixed, list(draw(seed, [TOKENS] * SIZE))[RANK]):
            place.copy_(values)
        if seed % 4 == 0:  # all tokens to one expert
            fixed[1][:, 0], fixed[1][:, 1] = seed // 4 % EXPERTS, -1
        graph.replay()
        group.check()
        kept = [a.clone() for a in found]
        assert all(torch.equal(a, b) for a, b in zip(kept, compute(*fixed))), seed
    fixed[1].zero_()  # an expert of rank 0
    graph.replay()
    try:
        group.check()
        assert RANK
    except mx.CapacityError as error:
        assert (error.rank, error.needed, error.available) == (0, room + 1, room) and RANK == 0
    except mx.Error as error:
        assert RANK and f"expected at most {room} rows" in str(error), error
    group.close()


def check_page(mesh):
    """Runs the example from the documentation page."""
    page = (pathlib.Path(__file__).parents[3] / "docs/guide/Ranks.md").read_text()
    shown = {}
    exec(re.search("expert_ranks.py -->\n```python\n(.*?)```", page, re.DOTALL)[1], shown)
    experts = shown["make"](mesh, DIM, INNER, EXPERTS).to(DEVICE)
    router = torch.nn.Linear(DIM, EXPERTS, device=DEVICE)
    y = shown["forward"](experts, router, torch.randn(8 + RANK, DIM, device=DEVICE))
    y.sum().backward()
    assert y.shape == (8 + RANK, DIM) and router.weight.grad.abs().max() > 0
    experts.group.close()


def check_rows(mesh, whole):
    """Tests experts from another library: mx sends the rows and adds the results, and PyTorch multiplies."""
    own, counts = EXPERTS // SIZE, [TOKENS, *[TOKENS - 7] * (SIZE - 1)]
    given = [[a.to(DEVICE) for a in part] for part in draw(3, counts)]
    x, ids, weights, dy = given[RANK]
    experts = mxt.GroupedExperts(DIM, INNER, own, device=DEVICE)
    copy_weights(experts, whole)

    def run(group, experts, x, ids, weights, dy):
        x, weights = (a.detach().requires_grad_() for a in (x, weights))
        experts.zero_grad()
        found = ep.dispatch(x.bfloat16(), ids, weights, EXPERTS, group)
        n = int(found.count)
        z = experts(found.rows[:n], torch.diff(found.ends, prepend=found.ends.new_zeros(1)))
        z = z * found.probs[:n, None].bfloat16()
        z = torch.cat((z, z.new_zeros(len(found.slots) - n, DIM)))
        y = ep.collect(z, found.slots, ids, EXPERTS, group)
        y.backward(dy.bfloat16())
        return y.detach(), x.grad, weights.grad, [p.grad for p in experts.parameters()]

    with ep.Group(mesh["ep"], tokens=TOKENS, timeout=60) as group:
        y, dx, dweights, gradients = run(group, experts, x, ids, weights, dy)
    part = slice(sum(counts[:RANK]), sum(counts[:RANK + 1]))
    all_y, all_dx, all_dweights, all_gradients = run(
        ep.Group.alone(tokens=SIZE * TOKENS), whole, *(torch.cat(parts) for parts in zip(*given)))
    near(y.float(), all_y[part].float())
    near(dx, all_dx[part])
    near(dweights, all_dweights[part])
    for mine, of_all in zip(gradients, all_gradients):
        near(mine, of_all[RANK * own:(RANK + 1) * own])


def save(mesh, whole, folder):
    """Saves divided experts as a distributed checkpoint. Any number of ranks can read this checkpoint."""
    group = ep.Group(mesh["ep"], tokens=TOKENS, timeout=60)
    experts = ep.MXRoutedExperts(DIM, INNER, EXPERTS, group, mesh=mesh["ep"], device=DEVICE)
    copy_weights(experts, whole)
    dcp.save(experts.state_dict(), checkpoint_id=folder)
    if RANK == 0:
        torch.save(whole.state_dict(), f"{folder}.whole")


def check_fsdp(whole, alone):
    """Divides parameters with FSDP2 over dp, and experts over ep. Gradients match a single rank's, averaged over dp."""
    mesh = dist.init_device_mesh(DEVICE.type, (2, SIZE // 2), mesh_dim_names=("dp", "ep"))
    group = ep.Group(mesh["ep"], tokens=TOKENS, timeout=60)
    experts = ep.MXRoutedExperts(DIM, INNER, EXPERTS, group, mesh=mesh["ep"], device=DEVICE)
    own, first = EXPERTS // group.size, group.rank * (EXPERTS // group.size)
    with torch.no_grad():
        for name in NAMES:
            getattr(experts, name).to_local().copy_(getattr(whole, name)[first:first + own])
    fully_shard(experts, mesh=mesh["dp"])
    assert experts.num_experts == EXPERTS and f"num_experts={EXPERTS}" in repr(experts)
    given = list(draw(6, [TOKENS] * SIZE))
    optimizer = torch.optim.AdamW(experts.parameters(), lr=0.1)
    y, dx, dweights, gradients = step(experts, *given[RANK])
    together = [torch.cat(parts) for parts in zip(*given)]
    together[3] = together[3] / 2  # exact
    all_y, all_dx, all_dweights, all_gradients = step(alone, *together)
    part = slice(RANK * TOKENS, (RANK + 1) * TOKENS)
    near(y, all_y[part])
    near(dx, 2 * all_dx[part])
    for mine, of_all in zip(gradients, all_gradients):
        mine = mine.full_tensor()  # a sum of dp ranks in f32
        assert (mine - of_all).norm() <= 1e-5 * of_all.norm()
    optimizer.step()
    assert not torch.equal(experts(*(a.to(DEVICE) for a in given[RANK][:3])), y)
    # Parameters of the ranks must differ.
    local = ep.MXRoutedExperts(DIM, INNER, EXPERTS, group, device=DEVICE)
    refuses(ValueError, "w1: expected a mesh of ranks that have the same experts, found ranks",
            lambda: fully_shard(local, mesh=dist.init_device_mesh(DEVICE.type, (SIZE,))))
    fully_shard(ep.MXRoutedExperts(DIM, INNER, EXPERTS, group, device=DEVICE), mesh=mesh["dp"])


def main():
    torch.manual_seed(0)
    whole = mxt.GroupedExperts(DIM, INNER, EXPERTS, device=DEVICE)
    alone = ep.MXRoutedExperts.from_experts(whole, ep.Group.alone(tokens=SIZE * TOKENS))
    if SIZE == 4:
        return check_fsdp(whole, alone)
    mesh = dist.init_device_mesh(DEVICE.type, (SIZE,), mesh_dim_names=("ep",))
    check_layer(mesh, whole, alone)
    if not ON_GPU or torch.cuda.get_device_capability() == (9, 0):
        check_fast(mesh)
    check_page(mesh)
    check_rows(mesh, whole)
    check_refused(mesh, whole)
    check_capacity(mesh, whole)
    check_repeated(mesh)
    if ON_GPU:
        check_graph(mesh)
    save(mesh, whole, sys.argv[1])


if ON_GPU:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
DEVICE = torch.device("cuda", torch.cuda.current_device()) if ON_GPU else torch.device("cpu")
dist.init_process_group("nccl" if ON_GPU else "gloo")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
if __name__ == "__main__":
    main()
    print(f"rank {RANK}: right", flush=True)
    # Destroying the process group can hang in PyTorch 2.11 (distributed_program.py).
    os._exit(0)
