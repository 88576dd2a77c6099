# REQUIRES: torch
# RUN: %python_torch %s
"""Tests the operators of mx_compiler.torch.ep on a group with one rank: runs PyTorch's own checks (fake kernels,
gradients, torch.compile), compares results with sums in PyTorch, and checks errors."""

import itertools

import torch
from refuses import refuses
from torch.library import opcheck
from torch.utils.flop_counter import FlopCounterMode

import mx_compiler as mx
import mx_compiler.torch as mxt
from mx_compiler.torch import ep
from mx_compiler.torch._modules import expert_parallel
from reference import DEVICE

DIM, INNER, EXPERTS, K, TOKENS, T = 64, 32, 4, 2, 40, 24
torch.manual_seed(0)
torch.set_default_device(DEVICE)
group = ep.Group.alone(tokens=TOKENS)
assert "rank 0 of 1" in group.describe() and "alone" in group.describe() and group.status() is None
ids = torch.rand(T, EXPERTS).argsort(1)[:, :K].to(torch.int32)
ids[3, 1] = ids[5] = -1
x = torch.randn(T, DIM).bfloat16()
weights = torch.rand(T, K)
w1, w2 = torch.randn(EXPERTS, 2 * INNER, DIM) * DIM**-0.5, torch.randn(EXPERTS, DIM, INNER) * INNER**-0.5


def needing(*tensors):
    return [a.detach().clone().requires_grad_() for a in tensors]


# PyTorch's checks.
formats = ("mxfp8",) * 3
for capacity in 0, 64:
    a, b, c, d = needing(x, weights, w1, w2)
    # The saved tensors have unwritten rows after the last pair, so on a GPU their values differ between calls.
    tests = ("test_schema", "test_autograd_registration", "test_faketensor",
             *(["test_aot_dispatch_dynamic"] if DEVICE == "cpu" else []))
    opcheck(torch.ops.mx.routed_experts, (a, ids, b, c, d, group.key, capacity, *formats), test_utils=tests)
    opcheck(torch.ops.mx.ep_dispatch, (a, ids, b, group.key, EXPERTS, capacity))
rows, probs, tokens, slots, ends, count = ep.dispatch(x, ids, weights, EXPERTS, group)
opcheck(torch.ops.mx.ep_collect, (*needing(rows), slots, ids, group.key, EXPERTS))
opcheck(torch.ops.mx.ep_dispatch_backward, (rows, probs, slots, ids, group.key, EXPERTS))
opcheck(torch.ops.mx.ep_collect_backward, (x, slots, ids, group.key, EXPERTS))
saved = torch.ops.mx.routed_experts(x, ids, weights, w1, w2, group.key, 0, *formats)[1:]
opcheck(torch.ops.mx.routed_experts_backward, (x, ids, saved, group.key, *formats, "f32"))

# The rows of each expert have the order of the tokens.
pairs = int((ids >= 0).sum())
assert int(count) == pairs == int(ends[-1]) and rows.shape == (TOKENS * K, DIM)
flat = ids.flatten()
order = torch.where(flat < 0, EXPERTS, flat).argsort(stable=True)[:pairs]
assert torch.equal(slots[:pairs], order.to(torch.int32)) and bool((slots[pairs:] == -1).all())
assert torch.equal(tokens[:pairs], (order // K).to(torch.int32)) and bool((tokens[pairs:] == -1).all())
assert torch.equal(rows[:pairs], x[order // K]) and not rows[pairs:].any()
assert torch.equal(probs[:pairs], weights.flatten()[order]) and not probs[pairs:].any()

# With more choices than experts, each choice gets a row.
many = torch.zeros(T, EXPERTS + 1, dtype=torch.int32)
ones = torch.ones(T, EXPERTS + 1)
opcheck(torch.ops.mx.ep_dispatch, (*needing(x), many, *needing(ones), group.key, EXPERTS, 0))
found = ep.dispatch(x, many, ones, EXPERTS, group)
assert found.rows.shape == (TOKENS * (EXPERTS + 1), DIM) and int(found.count) == found.ends[0] == T * (EXPERTS + 1)
assert torch.equal(ep.collect(found.rows, found.slots, many, EXPERTS, group), (x.float() * (EXPERTS + 1)).bfloat16())

# Compare experts in a group with the same experts without a group. Gradients are sums.
experts = mxt.GroupedExperts(DIM, INNER, EXPERTS)


def routed(x, weights):
    found = ep.dispatch(x, ids.long(), weights, EXPERTS, group)
    counts = torch.diff(found.ends, prepend=found.ends.new_zeros(1))
    n = int(found.count)
    z = experts(found.rows[:n], counts) * found.probs[:n, None].bfloat16()
    z = torch.cat((z, z.new_zeros(len(found.rows) - n, DIM)))
    return ep.collect(z, found.slots, ids, EXPERTS, group)


def plain(x, weights):
    counts = torch.bincount(flat[flat >= 0], minlength=EXPERTS)
    z = experts(x[order // K], counts) * weights.flatten()[order, None].bfloat16()
    return torch.zeros(T, DIM).index_add(0, order // K, z.float()).bfloat16()


dy = torch.randn(T, DIM).bfloat16()
results = []
for function in routed, plain:
    a, b = needing(x, weights)
    experts.zero_grad()
    y = function(a, b)
    y.backward(dy)
    results.append((y.detach(), a.grad, b.grad, *(p.grad for p in experts.parameters())))
for a, b in zip(*results):
    assert a.shape == b.shape and (a.float() - b.float()).norm() <= 2**-7 * b.float().norm(), (a, b)

# Gradients of bf16 weights are rounded once, from f32.
for call in (lambda x, *w: ep.routed_experts(x, ids, weights, *w, group), lambda x, *w: mxt.moe_layer(x, *w, *mxt.route(ids, weights, EXPERTS))):
    short = needing(x, w1.bfloat16(), w2.bfloat16())
    wide = needing(x, *(w.detach().float() for w in short[1:]))
    for inputs in short, wide:
        call(*inputs).backward(dy)
    for a, b in zip(short, wide):
        assert a.grad.dtype == a.dtype and torch.equal(a.grad, b.grad.to(a.dtype)) and a.grad.any()

# torch.compile: one graph, the same bits.
module = ep.MXRoutedExperts(DIM, INNER, EXPERTS, group)
compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
results = []
for function in module, compiled:
    a, b = needing(x, weights)
    module.zero_grad()
    y = function(a, ids, b)
    y.backward(dy)
    results.append((y.detach(), a.grad, b.grad, module.w1.grad, module.w2.grad))
assert all(torch.equal(a, b) for a, b in zip(*results))

# Inductor fuses without intermediate rounding, but operators round their results.
tokens, probs, ends = mxt.route(ids, weights, EXPERTS)
for call in (lambda x: mxt.moe_layer(x, w1, w2, tokens, probs, ends), lambda x: ep.routed_experts(x, ids, weights, w1, w2, group)):
    found = torch.compile(lambda x: call(x).float() * 1.1, fullgraph=True)(x)
    assert torch.equal(found, call(x).float() * 1.1)

# Groups of any size return the same bits. Inductor finds a graph in its cache only for the same sizes, even
# if another process gives a group the same number.
step = torch.compile(lambda x, group: ep.routed_experts(x, ids, weights, w1, w2, group), fullgraph=True)
results = []
for places in None, T, TOKENS, TOKENS + 1:
    torch._dynamo.reset()
    expert_parallel._alone = itertools.count(100)
    with ep.Group(tokens=TOKENS - (places is None), slots=places) as own:
        assert own.slots is None, own.describe()  # a single rank sends nothing
        a, = needing(x)
        y = step(a, own)
        y.backward(dy)
        results.append((y, a.grad))
assert all(torch.equal(*pair) for found in results for pair in zip(found, results[0]))
refuses(ValueError, "slots: expected at least 1, found 0", lambda: ep.Group(tokens=TOKENS, slots=0))

# Shapes, dtypes and autocast.
with torch.autocast(DEVICE, torch.bfloat16):
    y = module(x.float().view(2, 12, DIM), ids.view(2, 12, K), weights.view(2, 12, K))
assert y.shape == (2, 12, DIM) and y.dtype == torch.bfloat16
assert module(x.float(), ids.long(), weights.double()).dtype == torch.float32
empty = module(x[:0], ids[:0], weights[:0])
assert empty.shape == (0, DIM)

# Operation counts follow PyTorch's rule for matmuls: gate, up and down for each choice, and twice as many backward.
with FlopCounterMode(display=False) as counter:
    module(*needing(x), ids, weights).sum().backward()
assert counter.get_total_flops() == 3 * 2 * T * K * 3 * DIM * INNER, counter.get_total_flops()

# convert changes the recipe. Modules with an ids argument cannot be converted back.
model = mxt.convert_(torch.nn.Sequential(module), "mxfp8_e5m2_gradients", strict=True)
assert type(model[0]) is ep.MXRoutedExperts and model[0].w1 is module.w1 and model[0].recipe.gradients == "mxfp8_e5m2"
assert mxt.convert_(model, "mxfp8_e5m2_gradients", strict=True)[0].group is group
y = model[0](x, ids, weights)
assert y.shape == x.shape and not torch.equal(y, torch.zeros_like(y))
refuses(ValueError, "experts that are divided among ranks have no counterpart in PyTorch",
        lambda: mxt.convert_(model, "bf16"))
refuses(ValueError, "recipe: expected a training recipe for MXRoutedExperts",
        lambda: mxt.convert_(model, "mxfp8_weight_only", strict=True))
plain_experts = model[0].to_plain()
assert type(plain_experts) is mxt.GroupedExperts and plain_experts.w1 is module.w1

# FP8 tensor cores, with the bits of fp8_grouped_mm. Gradients differ: columns of x and dy are quantized again after rows.
if DEVICE == "cpu" or torch.cuda.get_device_capability() == (9, 0):
    x2, e1, e2 = torch.randn(T, 256).bfloat16(), torch.randn(EXPERTS, 256, 256) / 16, torch.randn(EXPERTS, 256, 128) / 8
    a, b, c, d = needing(x2, weights, e1, e2)
    fast = ("mxfp8_fast",) * 3
    opcheck(torch.ops.mx.routed_experts, (a, ids, b, c, d, group.key, 64, *fast), test_utils=tests)
    saved = torch.ops.mx.routed_experts(x2, ids, weights, e1, e2, group.key, 0, *fast)[1:]
    opcheck(torch.ops.mx.routed_experts_backward, (x2, ids, saved, group.key, *fast, "bf16"))
    model = torch.nn.Sequential(ep.MXRoutedExperts(256, 128, EXPERTS, group, dtype=torch.bfloat16))
    module, = mxt.convert_(model, "mxfp8_fast")
    one = torch.randint(EXPERTS, (T, 1))
    order = one.flatten().argsort(stable=True)
    stops = torch.bincount(one.flatten(), minlength=EXPERTS).cumsum(0).int()

    def multiplied(x):
        gate, up = mxt.fp8_grouped_mm(x, [module.w1.transpose(1, 2), module.w3.transpose(1, 2)], stops)
        h = (torch.nn.functional.silu(gate.float()) * up.float()).bfloat16()
        return mxt.fp8_grouped_mm(h, [module.w2.transpose(1, 2)], stops)[0]

    results = []
    for function in (lambda x: module(x, one, torch.ones(T, 1))[order]), (lambda x: multiplied(x[order])):
        a, = needing(x2)
        module.zero_grad()
        y = function(a)
        y.backward(dy.repeat(1, 4))
        results.append((y.detach(), a.grad, *(p.grad for p in module.parameters())))
    for i, (a, b) in enumerate(zip(*results)):
        assert (a - b).float().norm() <= 2**-5 * b.float().norm() * bool(i), (i, (a - b).float().norm() / b.float().norm())

# Errors.
for kind, text, call in (
        (ValueError, "ids: expected integers of shape (24, k)", lambda: ep.dispatch(x, ids[:5], weights, EXPERTS, group)),
        (TypeError, "ids: expected integers, found torch.float32", lambda: ep.dispatch(x, weights, weights, EXPERTS, group)),
        (TypeError, "x: expected an array of bf16, found f32", lambda: ep.dispatch(x.float(), ids, weights, EXPERTS, group)),
        (TypeError, "weights: expected floating point, found torch.int32", lambda: ep.dispatch(x, ids, ids, EXPERTS, group)),
        (TypeError, "group: expected an mx_compiler.torch.ep.Group, found str", lambda: ep.dispatch(x, ids, weights, EXPERTS, "ep")),
        (ValueError, "capacity: expected at least 1, found 0", lambda: ep.dispatch(x, ids, weights, EXPERTS, group, capacity=0)),
        (ValueError, "x: expected at most 40 tokens, the limit of the rank group, found 48 on rank 0",
         lambda: ep.dispatch(torch.cat((x, x)), torch.cat((ids, ids)), torch.cat((weights, weights)), EXPERTS, group)),
        (ValueError, "slots: expected torch.int32 of shape (80,), one for each row of z",
         lambda: ep.collect(rows, slots[:3], ids, EXPERTS, group)),
        (ValueError, "w1: expected [experts, 2 * intermediate, 64]", lambda: ep.routed_experts(x, ids, weights, w2, w2, group)),
        (ValueError, "w2: expected shape (4, 64, 32)", lambda: ep.routed_experts(x, ids, weights, w1, w1, group)),
        (ValueError, "activations: expected one of", lambda: ep.routed_experts(x, ids, weights, w1, w2, group, activations="fp8")),
        (ValueError, "weights: expected mxfp8_fast, the format of the other operands, found mxfp8",
         lambda: ep.routed_experts(x, ids, weights, w1, w2, group, activations="mxfp8_fast")),
        (mx.CapacityError, f"rank 0: expected at most 8 rows for its experts, the capacity, found {pairs}",
         lambda: (ep.dispatch(x, ids, weights, EXPERTS, group, capacity=8), group.check())),
        (mx.CapacityError, f"rank 0: expected at most 8 rows for its experts, the capacity, found {pairs}",
         lambda: (ep.routed_experts(x, ids, weights, w1, w2, group, capacity=8), group.check())),
        (RuntimeError, "gradients: expected first-order gradients", lambda: torch.autograd.grad(
            torch.autograd.grad(ep.dispatch(a, ids, weights, EXPERTS, group).rows.float().square().sum(), a,
                                create_graph=True)[0].sum(), a))):
    a, = needing(x)
    refuses(kind, text, call)
group.close()
refuses(ValueError, "expected an open rank group", lambda: ep.dispatch(x, ids, weights, EXPERTS, group))
print("right")
