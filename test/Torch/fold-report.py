# REQUIRES: torch
# RUN: %python_torch %s
"""Tests mx_compiler.torch.fold_report: spreads agree with numpy's quantizers, and folded elements satisfy the
bound."""

import re

import numpy as np
import torch
from torch import nn

import mx_compiler.torch as mxt
import mx_reference as ref
import reference
from reference import DEVICE
from refuses import refuses


def make_matrix(rows, columns, seed):
    """Returns a matrix with blocks of all magnitudes, of zeros, NaN and infinities."""
    source = np.random.default_rng(seed)
    blocks = source.standard_normal((rows, columns // 32, 32)) * 2.0 ** source.integers(-9, 3, (rows, columns // 32, 1))
    blocks[source.random((rows, columns // 32)) < 0.1] = 0
    blocks[1, 0, 3], blocks[2, -1, 5] = np.nan, -np.inf
    blocks[3, 0] = 2.0 ** -140
    blocks[4, 0, 0], blocks[4, 1, 0] = 448, 449
    return torch.tensor(blocks.reshape(rows, columns), dtype=torch.float32)


def find_spreads(x, format, width):
    """Returns the spreads of wider blocks, [rows, blocks]."""
    size = x.shape[-1] if width == "row" else width
    with np.errstate(all="ignore"):
        return ref.spreads(x.numpy(), reference.ELEMENTS[format], "ceil", size).astype(int)


def check(found, x, format):
    x = x.reshape(-1, x.shape[-1])
    assert (found.rows, found.columns) == x.shape
    assert list(found.widths) == [w for w in (128, 256, 512) if x.shape[1] % w == 0] + ["row"]
    for width, spreads in found.widths.items():
        wanted = find_spreads(x, format, width)
        assert spreads.largest == wanted.max()
        for limit in (0, 4, 8, 14):
            assert spreads.share(limit) == (wanted <= limit).mean(), (width, limit)
            assert spreads.row_share(limit) == (wanted.max(1) <= limit).mean()


def linear_layers():
    model = nn.Sequential(nn.Linear(1024, 40), nn.ReLU(), nn.Linear(40, 24)).to(DEVICE)
    weight, x = make_matrix(40, 1024, 1), make_matrix(2 * 9, 1024, 2)
    model[0].weight.data.copy_(weight)
    for format in ("mxfp8", "mxfp8_e5m2", "mxfp4"):
        report = mxt.fold_report(model, x.to(DEVICE).reshape(2, 9, 1024), format=format)
        # 40 columns are no operand of a block-scaled matmul.
        assert [operand.name for operand in report.operands] == ["0.weight", "0.input"]
        check(report.operands[0], weight, format)
        check(report.operands[1], x, format)
    assert model[0]._forward_pre_hooks == {}


def calls_add_up():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(256, 256)

        def forward(self, x, *, scale):
            return self.inner(self.inner(x) * scale)

    model = Twice().to(DEVICE)
    x = make_matrix(8, 256, 3).to(DEVICE)
    only = mxt.fold_report(model, dict(x=x, scale=0.0)).operands[1]
    twice = [x.cpu(), torch.zeros_like(model.inner(x)).cpu()]
    assert only.name == "inner.input" and only.rows == 16
    wanted = find_spreads(twice[0], "mxfp8", 128)
    rows = only.widths[128].rows
    assert int(rows.sum()) == 16 and int(rows[0]) >= 8 and only.widths[128].largest == wanted.max()


def experts():
    torch.manual_seed(7)
    model = mxt.GroupedExperts(128, 256, 3).to(DEVICE)
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    plain = mxt.fold_report(model)
    assert [(x.name, x.rows, x.columns) for x in plain.operands] == [
        ("w1", 768, 128), ("w2", 384, 256), ("w3", 768, 128)]
    check(plain.operands[1], model.w2.detach().cpu(), "mxfp8")
    # Weights that exist only quantized are dequantized.
    model = mxt.convert_(model, "mxfp8_weight_only")
    converted = mxt.fold_report(model)
    assert [x.name for x in converted.operands] == ["w1", "w2", "w3"]
    check(converted.operands[1], mxt.convert_(model, "bf16").w2.detach().cpu(), "mxfp8")


def bound_holds():
    """Folds elements in float64: rounds them to multiples of 2^-9 of the largest scale."""
    x = make_matrix(60, 512, 5)[5:]
    found = mxt.fold_report(nn.Sequential(linear := nn.Linear(512, 55, bias=False, device=DEVICE)),
                            x.to(DEVICE)).operands[1]
    assert linear.weight.shape == x.shape
    elements, scales = (part.cpu() for part in mxt.quantize_mxfp8(x.to(DEVICE), blocked=False))
    values = elements.float().double().reshape(55, -1, 32).numpy()
    scale = 2.0 ** (scales.view(torch.uint8).double().numpy().reshape(55, -1, 1) - 127)
    exact, top = values * scale, scale.reshape(55, -1, 4, 1).max(2, keepdims=True).repeat(4, 2).reshape(55, -1, 1)
    folded = torch.tensor(exact / top).to(torch.float8_e4m3fn).double().numpy() * top
    loss = np.abs(folded - exact).max(-1) / np.maximum(np.abs(exact).max(-1), 1e-300)
    spreads = found.widths[128]
    assert 0 < loss.max() <= spreads.bound() and spreads.bound(0) == 0
    rows = find_spreads(x, "mxfp8", 128).max(1) <= 4
    assert rows.any() and loss[rows].max() <= spreads.bound(4)


def text():
    report = mxt.fold_report(linear := nn.Linear(256, 32, device=DEVICE))
    shares = [f"{100 * report.operands[0].widths[width].row_share(0):.4g} % (0.0e+00)" for width in (128, 256, "row")]
    for limit, wanted in ((0, [*shares[:2], "-", shares[2]]), (255, None)):
        head, line = (re.split("  +", line) for line in report.table(limit).splitlines())
        assert head == ["operand", "rows", "columns", "to 128", "to 256", "to 512", "to row"]
        assert line[:3] == ["weight", "32", "256"] and (not wanted or line[3:] == wanted)
    assert str(report) == report.table(8)
    linear.weight.data.zero_()
    assert str(mxt.fold_report(linear)).endswith("100 % (0.0e+00)")


def errors():
    model = nn.Linear(256, 32)
    refuses(TypeError, "model: expected a torch.nn.Module, found int", mxt.fold_report, 3)
    refuses(ValueError, "format: expected", mxt.fold_report, model, format="nvfp4")
    refuses(TypeError, "filter: expected a function", mxt.fold_report, model, filter="x")
    refuses(ValueError, "model: expected linear layers or experts that the filter accepts, found none",
            mxt.fold_report, model, filter=lambda module, name: False)
    refuses(ValueError, "model: expected linear layers or experts, found none", mxt.fold_report, nn.ReLU())
    refuses(ValueError, "model: expected weight with values, found a tensor on the meta device",
            mxt.fold_report, nn.Linear(256, 32, device="meta"))


for test in (linear_layers, calls_add_up, experts, bound_holds, text, errors):
    test()
