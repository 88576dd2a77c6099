"""Models with data-dependent numbers of rows and groups, for tests of tracing."""

import torch
from torch import nn

import hugging_face as hf
import mx_compiler.torch as mxt
import reference as ref
from reference import DEVICE

HIDDEN, INNER, EXPERTS = 64, 96, 4
SIZES = 40, 7, 130


def rows(count, seed=1, dtype=torch.float32):
    return ref.tensor((count, HIDDEN), seed + count, dtype, spread=1)


def counts_of(chosen, experts=EXPERTS):
    zeros = torch.zeros(experts, dtype=torch.int64, device=chosen.device)
    return zeros.index_add(0, chosen, torch.ones_like(chosen))


class Sorted(nn.Module):
    """Chooses an expert for each row, so group sizes depend on data."""

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
    """Selects a data-dependent number of rows for the layers."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(HIDDEN, 1)
        self.layers = nn.Sequential(nn.Linear(HIDDEN, INNER), nn.ReLU(), nn.Linear(INNER, HIDDEN))

    def forward(self, x):
        chosen = (self.router(x)[:, 0] > 0).nonzero()[:, 0]
        return x.index_copy(0, chosen, self.layers(x[chosen]))


class AnyExperts(Sorted):
    """Uses a data-dependent number of experts per row."""

    def pairs(self, x):
        row, expert = (self.router(x) > 0).nonzero(as_tuple=True)
        order = expert.argsort(stable=True)
        return row[order], counts_of(expert)

    def forward(self, x):
        row, counts = self.pairs(x)
        return torch.zeros_like(x).index_add(0, row, self.experts(x[row], counts))


class Routed(nn.Module):
    """Calls Transformers experts on a data-dependent number of rows."""

    def __init__(self, cls):
        super().__init__()
        self.router = nn.Linear(HIDDEN, EXPERTS)
        self.experts = hf.randomize(cls(HIDDEN, INNER, EXPERTS))

    def forward(self, x):
        row = (x[:, 0] > 0).nonzero()[:, 0]
        weights, chosen = self.router(x[row]).softmax(-1).topk(2)
        return x.index_copy(0, row, self.experts(x[row], chosen, weights))


class Layer(AnyExperts):
    """Same, with the operator for a whole layer."""

    def __init__(self):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(EXPERTS, 2 * INNER, HIDDEN) / 8)
        self.w2 = nn.Parameter(torch.randn(EXPERTS, HIDDEN, INNER) / 8)

    def forward(self, x):
        row, counts = self.pairs(x)
        return mxt.moe_layer(x.bfloat16(), self.w1, self.w2, row.int(),
                             torch.ones_like(row, dtype=torch.float32), counts.cumsum(0).int())


class Used(nn.Module):
    """Passes only the matrices of experts with rows, so the number of groups depends on data."""

    def __init__(self, is_quantized):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(EXPERTS + 2, INNER, HIDDEN).to(DEVICE) / 8)
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
    """Returns all results of quantizers and row rearrangements for data-dependent rows and groups. Narrow types are
    returned as bytes, because torch.export cannot serialize the type of the scales."""

    def forward(self, x):
        chosen = (x[:, 0].abs() * 3).long() % EXPERTS
        counts = counts_of(chosen)
        ends = counts[counts.nonzero()[:, 0]].cumsum(0).int()
        x = x[(x[:, 0] > -9).nonzero()[:, 0]].bfloat16()
        both = mxt.quantize_mxfp8(x, (-1, -2), offsets=ends)
        values = mxt.dequantize(*both[:2], "mxfp8", offsets=ends)
        plain = mxt.quantize_mxfp8(x, blocked=False)[1].view(torch.uint8)
        padded, _ = mxt.pad_token_groups(x, ends)
        back = mxt.unpad_token_groups(padded, ends, x.shape[0])
        return (*(part.view(torch.uint8) for part in both), values, padded, back,
                mxt.rearrange_scales(plain, ends, "rows"))


def same(found, wanted):
    """Checks dtypes, shapes and strides. Checks bits of byte tensors everywhere, and of other tensors only on the host:
    on a GPU, PyTorch's own sums between the operators use no fixed order."""
    found, wanted = ([t] if isinstance(t, torch.Tensor) else [*t] for t in (found, wanted))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride()), (a, b)
        if DEVICE == "cpu" or not a.is_floating_point():
            assert torch.equal(a, b), (a, b)
        else:
            assert (a.double() - b.double()).norm() <= 1e-3 * b.double().norm(), (a, b)


def converted(model, recipe):
    torch.manual_seed(2)
    return mxt.convert_(model.to(DEVICE), recipe, filter=lambda m, name: name != "router")


def all_models():
    """Returns factories of models to convert."""
    def dense():
        return nn.Sequential(nn.Linear(HIDDEN, INNER), nn.ReLU(), nn.Linear(INNER, 32))
    return (dense, Sorted, Selected, AnyExperts, lambda: Routed(hf.MixtralExperts),
            lambda: Routed(hf.GptOssExperts))


def all_layers():
    """Returns factories of models with operator calls."""
    return Layer, lambda: Used(False), lambda: Used(True)
