# REQUIRES: torch
# RUN: %python_torch %s
"""Exports converted models with torch.export, with dynamic and data-dependent numbers of rows and groups. Before and
after a save to a file, the exported program's bits, shapes and strides match the model's. compile-of-data.py covers
torch.compile."""

import io
import warnings

import torch
from torch import nn
from torch.export import Dim, export

import mx_compiler.torch as mxt
import reference as ref
from models_of_data import (HIDDEN, INNER, SIZES, Quantizers, Selected, all_layers, all_models,
                            converted, rows, same)
from reference import DEVICE

ROWS = {0: Dim("rows", min=1, max=4096)}


def through_file(program):
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")         # about read-only buffers
        torch.export.save(program, file)
        file.seek(0)
        return torch.export.load(file)


def exported(model, sizes, shapes=(ROWS,), make=lambda n: (rows(n),), saves=True):
    """Exports with the first batch of `sizes`, then runs the program on the other batches."""
    traced, *others = sizes
    for strict in (False, True):
        program = export(model, make(traced), dynamic_shapes=shapes, strict=strict)
        assert "torch.ops.mx." in str(program.graph_module.code)
        if saves and not strict:
            program = through_file(program)
        for size in sizes:
            given = make(size)
            same(program.module()(*given), model(*given))


def models():
    torch.manual_seed(1)
    for recipe in ("mxfp8", "mxfp4_weight_only"):
        for make in all_models():
            exported(converted(make(), recipe), SIZES)


def layers():
    torch.manual_seed(1)
    for make in all_layers():
        exported(make().to(DEVICE), SIZES)


def no_rows():
    """Checks a batch without selected rows."""
    for recipe in ("mxfp8", "mxfp4_weight_only"):
        model = converted(Selected(), recipe)
        with torch.no_grad():
            model.router.bias.fill_(-1e9)
        program = export(model, (rows(40),), dynamic_shapes=(ROWS,))
        same(program.module()(rows(7)), rows(7))


def quantizers():
    exported(Quantizers(), (64, 96, 256), saves=False)


def groups():
    """Checks a dynamic number of groups."""
    class Matmul(nn.Module):
        def forward(self, x, w, offs):
            return mxt.mxfp8_grouped_mm(x, w.transpose(-2, -1), offs)

    def make(size):
        count, experts = size
        ends = torch.arange(1, experts + 1, dtype=torch.int32, device=DEVICE) * count // experts
        return rows(count, dtype=torch.bfloat16), ref.tensor((experts, INNER, HIDDEN)), ends
    of_groups = {0: Dim("groups", min=1, max=64)}
    exported(Matmul(), ((40, 4), (50, 2), (8, 7)), (ROWS, of_groups, of_groups), make)


for part in (models, layers, no_rows, quantizers, groups):
    part()
    print(part.__name__, "right")
