"""Tests GPU-only features: CUDA graphs, streams, threads, PyTorch's compiler, and constant memory use.

REQUIRES: torch, cuda-gpu
RUN: env MX_DEVICE= MX_CHIP= %python_torch %s | FileCheck %s
CHECK: graphs right
CHECK: compiled right
CHECK: streams right
CHECK: threads right
CHECK: memory right
"""

import gc
import resource

import torch
from threads import in_threads

import mx_compiler.torch as mxt
import reference as ref

ref.DEVICE = "cuda"
torch.manual_seed(0)
G, T, H, I = 8, 1000, 256, 384


def make(seed=1):
    """Creates weights, and expert choices of rows."""
    x = ref.tensor((T, H), seed, spread=1).requires_grad_()
    w = ref.tensor((H, H), seed + 1, spread=1).requires_grad_()
    experts = ref.tensor((G, I, H), seed + 2, spread=1).requires_grad_()
    w1 = (ref.tensor((G, 2 * I, H), seed + 3, spread=0) / 16).requires_grad_()
    w2 = (ref.tensor((G, H, I), seed + 4, spread=0) / 16).requires_grad_()
    weights = torch.rand((T, 2), device="cuda").requires_grad_()
    chosen = torch.randint(0, G, (T, 2), device="cuda")
    return [x, w, experts, w1, w2, weights], chosen


def step(leaves, chosen):
    """Runs all training operators without synchronization. The order of additions in moe_layer varies, so the bitwise
    comparison excludes moe_layer."""
    x, w, experts, *_ = leaves
    offs = torch.searchsorted(chosen[:, 0].sort()[0], torch.arange(
        G, device="cuda"), right=True).to(torch.int32)
    padded, places = mxt.pad_token_groups(x, offs)
    y = mxt.mxfp8_grouped_mm(padded, experts.transpose(-2, -1), places)
    y = mxt.unpad_token_groups(y, offs, T)
    z = mxt.mxfp8_mm(x, w)
    y.float().square().mean().backward()
    z.float().square().mean().backward()
    return y.detach(), z.detach()


def layer(leaves, chosen):
    x, _, _, w1, w2, weights = leaves
    y = mxt.moe_layer(x, w1, w2, *mxt.route(chosen, weights, G))
    y.float().square().mean().backward()
    return y.detach()


def clear(leaves):
    for leaf in leaves:
        leaf.grad = None


def results(leaves, chosen, call=step):
    clear(leaves)
    found = call(leaves, chosen)
    found = list(found) if isinstance(found, tuple) else [found]
    return found + [leaf.grad.clone() for leaf in leaves if leaf.grad is not None]


def same(a, b):
    assert len(a) == len(b)
    assert all(torch.equal(p, q) for p, q in zip(a, b))


def close(a, b, most=1e-2):
    for p, q in zip(a, b):
        error = (p.float() - q.float()).norm() / q.float().norm()
        assert error < most, float(error)


def graphs():
    leaves, chosen = make()
    for call, compare in ((step, same), (layer, close)):
        wanted = results(leaves, chosen, call)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                clear(leaves)
                call(leaves, chosen)
        torch.cuda.current_stream().wait_stream(side)
        clear(leaves)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = call(leaves, chosen)
        out = list(out) if isinstance(out, tuple) else [out]
        graph.replay()
        torch.cuda.synchronize()
        compare(out + [x.grad for x in leaves if x.grad is not None], wanted)
        # Write new values, including the experts' choices, to the same memory.
        with torch.no_grad():
            leaves[0].mul_(1.5)
            chosen.copy_(torch.randint(0, G, chosen.shape, device="cuda"))
        graph.replay()
        torch.cuda.synchronize()
        found = [x.clone() for x in out + [x.grad for x in leaves if x.grad is not None]]
        compare(found, results(leaves, chosen, call))


def compiled():
    leaves, chosen = make(2)
    x, w, experts, w1, w2, weights = leaves

    def model(x, w, experts, offs, w1, w2, tokens, probs):
        h = torch.nn.functional.silu(mxt.mxfp8_mm(x, w)) + 1
        y = mxt.mxfp8_grouped_mm(h, experts.transpose(-2, -1), offs)
        q, s = mxt.quantize_mxfp8(h)
        z = mxt.moe_layer(h, w1, w2, tokens, probs, offs)
        return y.float().mean() + z.float().square().mean(), mxt.dequantize(
            q, s, "mxfp8")

    tokens, probs, offs = mxt.route(chosen[:, :1], weights[:, :1], G)
    found = []
    for call in (model, torch.compile(model, fullgraph=True),
                 torch.compile(model, fullgraph=True, mode="reduce-overhead")):
        for _ in range(4):
            clear(leaves)
            torch.compiler.cudagraph_mark_step_begin()
            loss, values = call(x, w, experts, offs, w1, w2, tokens, probs.detach())
            loss.backward()
        found.append([loss.detach().clone(), values.clone(), x.grad.clone(),
                      w.grad.clone(), experts.grad.clone(), w1.grad.clone()])
    # A fused silu(x) + 1 is rounded to bf16 once, but eager PyTorch rounds it twice, so the quantized inputs differ.
    close(found[1], found[0], 5e-2)
    same(found[2][1:2], found[1][1:2])
    close(found[2], found[1])


def streams():
    sets = [make(seed) for seed in (3, 4)]
    wanted = [results(*one) for one in sets]
    torch.cuda.synchronize()
    found = [None, None]
    sides = [torch.cuda.Stream() for _ in sets]
    for _ in range(20):
        for index, side in enumerate(sides):
            with torch.cuda.stream(side):
                found[index] = results(*sets[index])
    torch.cuda.synchronize()
    for a, b in zip(found, wanted):
        same(a, b)


def threads():
    sets = [make(seed) for seed in (5, 6)]
    wanted = [results(*one) for one in sets]
    torch.cuda.synchronize()

    def work(index):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(30):
                found = results(*sets[index])
            torch.cuda.current_stream().synchronize()
            same(found, wanted[index])

    in_threads(work, 2)


def memory():
    """Checks device and host memory over 1000 steps of changing sizes."""
    leaves, chosen = make(7)
    optimizer = torch.optim.AdamW(leaves, lr=1e-6, foreach=True)

    def one(i):
        optimizer.zero_grad()
        rows = T - 8 * (i % 7)
        x = leaves[0][:rows]
        loss = mxt.mxfp8_mm(x, leaves[1]).float().square().mean() + mxt.moe_layer(
            x, leaves[3], leaves[4], *mxt.route(chosen[:rows], leaves[5][:rows], G)
            ).float().square().mean()
        loss.backward()
        optimizer.step()

    def used():
        torch.cuda.synchronize()
        gc.collect()
        return (torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[0],
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    for i in range(50):
        one(i)
    before = used()
    for i in range(1000):
        one(i)
    after = used()
    assert after[0] <= before[0], (before, after)
    assert before[1] - after[1] < 2 ** 20 * 4, (before, after)
    assert after[2] - before[2] < 1024 * 20, (before, after)  # KiB
    print("memory before and after 1000 steps:", before, after)


if __name__ == "__main__":
    for part in (graphs, compiled, streams, threads, memory):
        part()
        print(part.__name__, "right", flush=True)
