# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Systems compared by expert_parallel.py: a layer of SwiGLU experts divided among ranks,
forward and backward, in mx and in PyTorch with bf16.

A system has `forward()`, which returns y and the input of `backward`, and `backward(kept)`,
which returns the gradients of x, w1, w2 and the weights. `wire()` returns the bytes that this
rank sends to others in each pass."""

import functools

import torch
import torch.distributed as dist
from torch.nn import functional as F

import mx_compiler as mx
from mx_compiler.torch import ep


class Problem:
    """Random tokens, router choices and experts of this rank, determined by the rank and a
    seed."""

    def __init__(self, args, rank, ranks, device):
        self.rank, self.ranks, self.device = rank, ranks, device
        self.tokens, self.hidden, self.inner = args.tokens, args.hidden, args.intermediate
        self.experts, self.choices, self.capacity = args.experts, args.choices, args.capacity
        self.own, self.format = self.experts // ranks, args.format
        generator = torch.Generator(device).manual_seed(1000 * args.seed + rank)

        def normal(*shape, deviation=1.0):
            values = torch.randn(shape, device=device, generator=generator, dtype=torch.bfloat16)
            return values.mul_(deviation)

        self.x, self.dy = normal(self.tokens, self.hidden), normal(self.tokens, self.hidden)
        self.w1 = normal(self.own, 2 * self.inner, self.hidden, deviation=self.hidden**-0.5)
        self.w2 = normal(self.own, self.hidden, self.inner, deviation=self.inner**-0.5)
        self.ids, self.weights = self._choose(generator, self.experts)
        # Choices among this rank's experts only, for the measurement on one GPU.
        self.own_ids, _ = self._choose(generator, self.own)

    def _choose(self, generator, experts):
        """Returns different, equally likely experts for each token, and weights that sum to 1."""
        scores = torch.rand(self.tokens, experts, device=self.device, generator=generator)
        weights, ids = scores.topk(min(self.choices, experts), 1)
        return ids.to(torch.int32), (weights / weights.sum(1, keepdim=True)).float()

    @property
    def others(self):
        return self.ranks - 1


class Autograd:
    """System differentiated by PyTorch."""

    def __init__(self, problem):
        self.problem = problem
        self.inputs = [a.detach().requires_grad_() for a in (
            problem.x, problem.w1, problem.w2, problem.weights)]

    def forward(self):
        return (y := self.compute(*self.inputs)), y

    def backward(self, y):
        return torch.autograd.grad(y, self.inputs, self.problem.dy)


class Mx(Autograd):
    """Operator of mx_compiler.torch.ep; gradients of weights are bf16, like the weights."""
    name = "mx"

    def __init__(self, problem, group, ids):
        super().__init__(problem)
        self.group, self.ids = group, ids

    def compute(self, x, w1, w2, weights):
        p = self.problem
        return ep.routed_experts(x, self.ids, weights[:, :self.ids.shape[1]], w1, w2, self.group,
                                 capacity=p.capacity, activations=p.format, weights_format=p.format,
                                 gradients=p.format)

    def wire(self):
        return mx_wire(self.problem) if self.group.size > 1 else (0, 0)


class MxAlone(Mx):
    """The operator on one GPU, with as many experts, about as many rows, and no communication."""
    name = "mx on one GPU"


class MxPrograms:
    """Compiled programs without autograd: gradients of weights are the f32 accumulators.
    Weights are quantized in the forward pass."""
    name = "mx programs"

    def __init__(self, problem, group, ids):
        self.problem, self.group, self.ids = problem, group, ids
        self.layer = group.find_layer(problem.own * group.size, problem.hidden, problem.inner,
                                      ids.shape[1], (problem.format,) * 3)

    def forward(self):
        p = self.problem
        quantized = self.layer.quantize_weights(p.w1, p.w2)
        y, saved = self.layer.forward(p.x, self.ids, p.weights[:, :self.ids.shape[1]].contiguous(),
                                      quantized, capacity=p.capacity)
        return y, (quantized, saved)

    def backward(self, kept):
        dx, dw1, dw2, dweights = self.layer.backward(self.problem.dy, self.ids, *kept)
        return dx, dw1, dw2, dweights

    wire = Mx.wire


class MxProgramsAlone(MxPrograms):
    name = "mx programs on one GPU"


def mx_wire(p):
    """Returns the bytes of ids, elements and scales along H, weights, and sums in bf16; the
    backward pass sends no ids, and gradients of weights instead of weights."""
    scales = p.hidden // (128 if p.format == "mxfp8_fast" else 32)
    row = p.hidden + scales + 4 * p.choices + 2 * p.hidden
    return p.others * p.tokens * (4 * p.choices + row), p.others * p.tokens * row


def experts_bf16(rows, w1, w2, ends):
    gate, up = F.grouped_mm(rows, w1.transpose(-2, -1), offs=ends).chunk(2, -1)
    return F.grouped_mm(F.silu(gate) * up, w2.transpose(-2, -1), offs=ends)


class _Exchange(torch.autograd.Function):
    """Exchange of rows by `there`, with the gradient by `back`."""

    @staticmethod
    def forward(ctx, x, there, back):
        ctx.back = back
        return there(x)

    @staticmethod
    def backward(ctx, dy):
        return ctx.back(dy), None, None


def exchange(x, out_splits, in_splits):
    out = x.new_empty(sum(out_splits), *x.shape[1:])
    dist.all_to_all_single(out, x.contiguous(), out_splits, in_splits)
    return out


class AllToAll(Autograd):
    """Sends a bf16 row for each choice of a token with all_to_all_single. Rows are sorted by
    expert, sent, sorted again by expert, and returned. Sizes pass through the host."""
    name = "torch all_to_all"

    def compute(self, x, w1, w2, weights):
        p = self.problem
        flat = p.ids.flatten()
        order = flat.argsort(stable=True)
        counts = torch.bincount(flat, minlength=p.experts)
        theirs = torch.empty_like(counts)
        dist.all_to_all_single(theirs, counts)
        by_rank = torch.stack((counts.view(p.ranks, -1).sum(1), theirs.view(p.ranks, -1).sum(1)))
        in_splits, out_splits = by_rank.tolist()  # waits on the host
        self.sent = sum(in_splits) - in_splits[p.rank]
        send = functools.partial(exchange, out_splits=out_splits, in_splits=in_splits)
        send_back = functools.partial(exchange, out_splits=in_splits, in_splits=out_splits)
        rows = _Exchange.apply(x[order // p.choices], send, send_back)
        # From [rank, expert] to [expert, rank].
        expert = torch.repeat_interleave(
            torch.arange(p.own, device=x.device).repeat(p.ranks), theirs,
            output_size=sum(out_splits))
        local = expert.argsort(stable=True)
        ends = theirs.view(p.ranks, -1).sum(0).cumsum(0).to(torch.int32)
        z = experts_bf16(rows[local], w1, w2, ends)
        z = z[_inverse(local)]
        z = _Exchange.apply(z, send_back, send)[_inverse(order)]
        z = z.view(-1, p.choices, p.hidden) * weights[..., None].to(z.dtype)
        return z.sum(1)

    def wire(self):
        return (2 * 2 * self.sent * self.problem.hidden,) * 2


def _inverse(order):
    return torch.empty_like(order).scatter_(
        0, order, torch.arange(len(order), device=order.device))


def gather(x):
    out = x.new_empty(dist.get_world_size() * x.shape[0], *x.shape[1:])
    dist.all_gather_into_tensor(out, x.contiguous())
    return out


def scatter(x):
    out = x.new_empty(x.shape[0] // dist.get_world_size(), *x.shape[1:])
    dist.reduce_scatter_tensor(out, x.contiguous())
    return out


def local_sums(tokens, ids, weights, w1, w2, count=None):
    """Returns for each token the weighted sum over this rank's experts in `ids`; other ids
    equal the number of experts. `count` is the number of valid ids, if the host knows it."""
    own, flat = w1.shape[0], ids.flatten()
    ends = torch.bincount(flat, minlength=own + 1)[:own].cumsum(0).to(torch.int32)
    if count is None:
        count = int(ends[-1])  # waits on the host
    order = flat.argsort(stable=True)[:count]
    rows = order // ids.shape[1]
    z = experts_bf16(tokens[rows], w1, w2, ends)
    z = z * weights.flatten()[order, None].to(z.dtype)
    return torch.zeros_like(tokens).index_add(0, rows, z)


class AllGather(Autograd):
    """Gathers bf16 tokens of all ranks with all_gather, and sums with reduce_scatter. The number
    of rows passes through the host."""
    name = "torch all_gather, reduce_scatter"

    def compute(self, x, w1, w2, weights):
        p = self.problem
        ids = gather(p.ids) - p.rank * p.own
        ids = torch.where((ids >= 0) & (ids < p.own), ids, p.own)
        tokens, weights = (_Exchange.apply(a, gather, scatter) for a in (x, weights))
        return _Exchange.apply(local_sums(tokens, ids, weights, w1, w2), scatter, gather)

    def wire(self):
        p = self.problem
        row = 2 * p.hidden + 2 * p.hidden + 8 * p.choices
        return (p.others * p.tokens * row,) * 2


class AllToAllOnDevice(Autograd):
    """Sends a bf16 row for each choice with all_to_all_vdev_2d of torch.ops.symm_mem (NVSHMEM),
    which reads sizes on the device and sorts rows by expert. At most 16 experts a rank. The number
    of rows passes through the host."""
    name = "torch all_to_all_vdev_2d"

    def __init__(self, problem):
        import torch.distributed._symmetric_memory as symm_mem
        super().__init__(problem)
        symm_mem.set_backend("NVSHMEM")
        self.sent_rows = problem.tokens * problem.choices
        capacity = problem.capacity or problem.ranks * self.sent_rows

        def symmetric(*shape, dtype=torch.bfloat16):
            made = symm_mem.empty(*shape, dtype=dtype, device=problem.device)
            symm_mem.rendezvous(made, dist.group.WORLD)
            return made.zero_()

        # An operation reads the buffers of other ranks until they finish: each has its own.
        self.buffers = [[symmetric(rows, problem.hidden) for rows in shape] for shape in (
            (self.sent_rows, capacity), (capacity, self.sent_rows)) for _ in range(2)]
        self.splits = symmetric(problem.experts, dtype=torch.int64)
        self.there, self.back = (symmetric(2, problem.experts, dtype=torch.int64)
                                 for _ in range(2))

    def exchange(self, buffers, is_dispatch, rows):
        """Brings rows from tokens' to experts' order with all_to_all_vdev_2d, or back with its
        reverse. `buffers` are (input, output)."""
        (source, target), group = buffers, dist.group.WORLD.group_name
        source[:len(rows)].copy_(rows)
        if is_dispatch:
            torch.ops.symm_mem.all_to_all_vdev_2d(source, target, self.splits, self.there, group)
            if self.count is None:
                # An empty expert takes a row.
                rows = self.there[0].view(-1, self.problem.ranks).sum(1).clamp(min=1)
                self.ends = rows.cumsum(0).to(torch.int32)
                self.count = int(self.ends[-1])  # waits on the host
            return target[:self.count]
        torch.ops.symm_mem.all_to_all_vdev_2d_offset(
            source, target, self.there, self.back, group)
        return target[:self.sent_rows]

    def compute(self, x, w1, w2, weights):
        p = self.problem
        flat = p.ids.flatten()
        order = flat.argsort(stable=True)
        self.splits.copy_(torch.bincount(flat, minlength=p.experts))
        self.count = None
        send, send_gradients, collect, collect_gradients = (
            functools.partial(self.exchange, buffers, is_dispatch)
            for buffers, is_dispatch in zip(self.buffers, (True, True, False, False)))
        rows = _Exchange.apply(x[order // p.choices], send, collect_gradients)
        z = _Exchange.apply(experts_bf16(rows, w1, w2, self.ends), collect, send_gradients)
        z = z[_inverse(order)].view(-1, p.choices, p.hidden) * weights[..., None].to(z.dtype)
        return z.sum(1)

    def wire(self):
        p = self.problem
        own = int(self.splits.view(p.ranks, -1)[p.rank].sum())
        return (2 * 2 * (self.sent_rows - own) * p.hidden,) * 2


class _DeepDispatch(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weights, buffer, ids, experts):
        to_rank, _, to_expert, is_on_rank, _ = buffer.get_dispatch_layout(ids, experts)
        rows, found, chosen, counts, handle, _ = buffer.dispatch(
            x, topk_idx=ids, topk_weights=weights, num_tokens_per_rank=to_rank,
            is_token_in_rank=is_on_rank, num_tokens_per_expert=to_expert)
        ctx.buffer, ctx.handle = buffer, handle
        ctx.mark_non_differentiable(found)
        return rows, chosen, found, handle, counts, is_on_rank

    @staticmethod
    def backward(ctx, drows, dweights, *_):
        dx, dweights, _ = ctx.buffer.combine(drows, ctx.handle, topk_weights=dweights)
        return dx, dweights, None, None, None


class DeepEP(Autograd):
    """DeepEP's kernels within a host, through its first interface (Buffer, 1.2). A bf16 row is sent
    per token and rank, and each rank returns its sums. The number of rows passes through the host."""
    name = "DeepEP, bf16"

    def __init__(self, problem):
        from deep_ep import Buffer
        super().__init__(problem)
        ranks, row = problem.ranks, 2 * problem.hidden
        size = max(make(ranks).get_nvl_buffer_size_hint(row, ranks)
                   for make in (Buffer.get_dispatch_config, Buffer.get_combine_config))
        self.buffer, self.ids = Buffer(dist.group.WORLD, size), problem.ids.long()

    def compute(self, x, w1, w2, weights):
        p = self.problem
        rows, chosen, ids, handle, counts, is_on_rank = _DeepDispatch.apply(
            x, weights, self.buffer, self.ids, p.experts)
        self.is_on_rank, self.received = is_on_rank, len(rows)
        ids = torch.where(ids >= 0, ids, p.own)
        sums = local_sums(rows, ids, chosen, w1, w2, sum(counts))
        return _Exchange.apply(sums, lambda rows: self.buffer.combine(rows, handle)[0],
                               lambda dy: self.buffer.dispatch(dy.contiguous(), handle=handle)[0])

    def wire(self):
        p, to = self.problem, self.is_on_rank.sum(0)
        own = int(to[p.rank])
        sent, back = int(to.sum()) - own, self.received - own
        row, chosen = 2 * p.hidden, 12 * p.choices
        return sent * (row + chosen) + back * row, sent * row + back * (row + 4 * p.choices)


def make_systems(problem, group, alone, only):
    """Yields (name, maker) of the systems in `only`, or of all."""
    makers = [
        (Mx, lambda cls: cls(problem, group, problem.ids)),
        (MxPrograms, lambda cls: cls(problem, group, problem.ids)),
        (MxAlone, lambda cls: cls(problem, alone, problem.own_ids)),
        (MxProgramsAlone, lambda cls: cls(problem, alone, problem.own_ids)),
        (AllToAll, lambda cls: cls(problem)), (AllGather, lambda cls: cls(problem)),
        (AllToAllOnDevice, lambda cls: cls(problem)), (DeepEP, lambda cls: cls(problem))]
    for cls, make in makers:
        if not only or any(word in cls.name for word in only):
            yield cls.name, lambda cls=cls, make=make: make(cls)


def nccl_version():
    return ".".join(map(str, torch.cuda.nccl.version())) if torch.cuda.is_available() else None


def mx_version():
    return mx.__version__
