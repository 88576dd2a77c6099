# REQUIRES: torch
# RUN: %python_torch %s
"""torch.export of converted models: any number of rows, numbers of rows and of groups that
depend on data, and programs that went through a file give the bits, shapes and strides of the
model. The same of torch.compile, with gradients."""

import io
import warnings

import torch
from torch import nn
from torch.export import Dim, export

import mx_compiler.torch as mxt
import reference as ref
from reference import DEVICE

HIDDEN, INNER, EXPERTS = 64, 96, 4
ROWS = {0: Dim("rows", min=1, max=4096)}


def rows(count, seed=1, dtype=torch.float32):
    return ref.tensor((count, HIDDEN), seed + count, dtype, spread=1)


def counts_of(chosen, experts=EXPERTS):
    zeros = torch.zeros(experts, dtype=torch.int64, device=chosen.device)
    return zeros.index_add(0, chosen, torch.ones_like(chosen))


class Sorted(nn.Module):
    """Each row has an expert: groups have sizes that depend on data."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(HIDDEN, EXPERTS)
        self.experts = mxt.GroupedExperts(HIDDEN, INNER, EXPERTS)

    def forward(self, x):
        chosen = self.router(x).argmax(-1)
        order = chosen.argsort(stable=True)
        y = self.experts(x[order], counts_of(chosen))
        return torch.zeros_like(y).index_copy(0, order, y)


class Selected(nn.Module):
    """Only some rows go through the layers: as many as the data say."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(HIDDEN, 1)
        self.layers = nn.Sequential(nn.Linear(HIDDEN, INNER), nn.ReLU(), nn.Linear(INNER, HIDDEN))

    def forward(self, x):
        chosen = (self.router(x)[:, 0] > 0).nonzero()[:, 0]
        return x.index_copy(0, chosen, self.layers(x[chosen]))


class AnyExperts(Sorted):
    """A row has as many experts as the data say."""

    def pairs(self, x):
        row, expert = (self.router(x) > 0).nonzero(as_tuple=True)
        order = expert.argsort(stable=True)
        return row[order], counts_of(expert)

    def forward(self, x):
        row, counts = self.pairs(x)
        return torch.zeros_like(x).index_add(0, row, self.experts(x[row], counts))


class Layer(AnyExperts):
    """The same, as the operator of a whole layer."""

    def __init__(self):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(EXPERTS, 2 * INNER, HIDDEN) / 8)
        self.w2 = nn.Parameter(torch.randn(EXPERTS, HIDDEN, INNER) / 8)

    def forward(self, x):
        row, counts = self.pairs(x)
        return mxt.moe_layer(x.bfloat16(), self.w1, self.w2, row.int(),
                             torch.ones_like(row, dtype=torch.float32), counts.cumsum(0).int())


class Used(nn.Module):
    """Only matrices of experts that have rows: as many groups as the data say."""

    def __init__(self, is_quantized):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(EXPERTS + 2, INNER, HIDDEN) / 8)
        self.is_quantized = is_quantized
        for name, part in zip(("elements", "scales"), mxt.quantize_mxfp4(self.weight.bfloat16())):
            self.register_buffer(name, part.view(torch.uint8))

    def forward(self, x):
        chosen = (x[:, 0].abs() * 3).long() % EXPERTS
        counts = counts_of(chosen, EXPERTS + 2)
        used = counts.nonzero()[:, 0]
        ends, x = counts[used].cumsum(0).int(), x[chosen.argsort(stable=True)].bfloat16()
        if self.is_quantized:
            return mxt.weight_only_grouped_mm(x, self.elements[used], self.scales[used], ends,
                                              "mxfp4")
        return mxt.mxfp8_grouped_mm(x, self.weight[used].transpose(-2, -1), ends)


class Quantizers(nn.Module):
    """All results of quantizers and of what arranges rows, of rows and groups that depend on
    data. Types of bits leave as bytes: torch.export cannot write the type of their scales."""

    def forward(self, x):
        chosen = (x[:, 0].abs() * 3).long() % EXPERTS
        counts = counts_of(chosen)
        ends = counts[counts.nonzero()[:, 0]].cumsum(0).int()
        x = x[(x[:, 0] > -9).nonzero()[:, 0]].bfloat16()
        both = mxt.quantize_mxfp8(x, (-1, -2), offsets=ends)
        values = mxt.dequantize(*both[:2], "mxfp8_e4m3", offsets=ends)
        plain = mxt.quantize_mxfp8(x, blocked=False)[1].view(torch.uint8)
        padded, _ = mxt.pad_token_groups(x, ends)
        back = mxt.unpad_token_groups(padded, ends, x.shape[0])
        return (*(part.view(torch.uint8) for part in both), values, padded, back,
                mxt.rearrange_scales(plain, ends, "rows"))


def same(found, wanted):
    found, wanted = ([t] if isinstance(t, torch.Tensor) else [*t] for t in (found, wanted))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride()), (a, b)
        assert torch.equal(a, b), (a - b).abs().max()


def through_file(program):
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")         # of buffers that cannot be written to
        torch.export.save(program, file)
        file.seek(0)
        return torch.export.load(file)


def exported(model, sizes, shapes=(ROWS,), make=lambda n: (rows(n),), saves=True):
    """`sizes`: of the batch that is traced, then of others."""
    traced, *others = sizes
    for strict in (False, True):
        program = export(model, make(traced), dynamic_shapes=shapes, strict=strict)
        assert "torch.ops.mx." in str(program.graph_module.code)
        if saves and not strict:
            program = through_file(program)
        for size in sizes:
            given = make(size)
            same(program.module()(*given), model(*given))


def compiled(model, sizes, make=lambda n: (rows(n),)):
    call = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=True)
    for size in sizes:
        results = []
        for function in (call, model):
            x, *others = make(size)
            x = x.requires_grad_()
            model.zero_grad()
            y = function(x, *others)
            y.float().square().sum().backward()
            results.append([y, x.grad, *(p.grad.clone() for p in model.parameters()
                                         if p.grad is not None)])
        same(*results)


def converted(model, recipe):
    torch.manual_seed(2)
    return mxt.convert(model.to(DEVICE), recipe, filter=lambda m, name: name != "router")


SIZES = 40, 7, 130


def models():
    torch.manual_seed(1)
    for recipe in ("mxfp8", "mxfp4_weights"):
        dense = nn.Sequential(nn.Linear(HIDDEN, INNER), nn.ReLU(), nn.Linear(INNER, 32))
        for model in (dense, Sorted(), Selected(), AnyExperts()):
            model = converted(model, recipe)
            exported(model, SIZES)
            with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
                compiled(model, SIZES)
        print(type(model).__name__, recipe)


def layers():
    torch.manual_seed(1)
    for model in (Layer(), Used(False), Used(True)):
        model.to(DEVICE)
        exported(model, SIZES)
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
            compiled(model, SIZES)


def no_rows():
    """Of a batch from which nothing is chosen."""
    for recipe in ("mxfp8", "mxfp4_weights"):
        model = converted(Selected(), recipe)
        with torch.no_grad():
            model.router.bias.fill_(-1e9)
        program = export(model, (rows(40),), dynamic_shapes=(ROWS,))
        same(program.module()(rows(7)), rows(7))


def quantizers():
    exported(Quantizers(), (64, 96, 256), saves=False)


def groups():
    """Any number of groups that is known when the program runs."""
    class Product(nn.Module):
        def forward(self, x, w, offs):
            return mxt.mxfp8_grouped_mm(x, w.transpose(-2, -1), offs)

    def make(size):
        count, experts = size
        ends = torch.arange(1, experts + 1, dtype=torch.int32, device=DEVICE) * count // experts
        return rows(count, dtype=torch.bfloat16), ref.tensor((experts, INNER, HIDDEN)), ends
    of_groups = {0: Dim("groups", min=1, max=64)}
    exported(Product(), ((40, 4), (50, 2), (8, 7)), (ROWS, of_groups, of_groups), make)


for part in (models, layers, no_rows, quantizers, groups):
    part()
    print(part.__name__, "right")
